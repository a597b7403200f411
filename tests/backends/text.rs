//! Text is kept byte for byte, in every field and every filter, or refused by name: no engine's rule for case,
//! accents, padding or escapes makes two texts one, and none can leave its quotes.

use std::sync::LazyLock;

use proptest::prelude::{Just, Strategy, any, prop};
use proptest::prop_oneof;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use regex::Regex;
use serde_json::{Value as Json, json};

use crate::api::{Answer, Api, content, run, with};
use crate::support::harness::Context;

/// Every text field of a run but those that are neither free text nor a filter: the commit and the date.
const FIELDS: [&str; 10] = [
    "workload",
    "repo",
    "branch",
    "change",
    "patchset",
    "pipeline",
    "distro",
    "arch",
    "host_class",
    "tag",
];
/// What `/v1/runs` filters by.
const FILTERS: [&str; 8] = [
    "workload",
    "repo",
    "branch",
    "pipeline",
    "distro",
    "arch",
    "host_class",
    "tag",
];

/// Texts that engines, drivers or escapes have been known to trip over; none longer than the shortest column.
const NASTY: [&str; 58] = [
    "'",
    "''",
    "\"",
    "`",
    "\\",
    "\\\\",
    "\\'",
    "'\\",
    "\\\"",
    "a\\",
    "\\0",
    "\\n",
    "\\Z",
    "\\x27",
    "\\u0027",
    "' OR '1'='1",
    "'; DROP TABLE runs;",
    "') --",
    "' -- -",
    "' #",
    "--",
    "-- x",
    "a--b",
    "#",
    "/*",
    "*/",
    "/*!99999 x*/",
    "/* '*/",
    ";",
    "a;b",
    "%",
    "_",
    "%%",
    "a%",
    "a_b",
    "100%",
    "?",
    "??",
    "$1",
    ":a",
    "@a",
    "@@version",
    "{}",
    "NULL",
    "null",
    "0",
    "00",
    "0.0",
    "1e0",
    "true",
    "😀",
    "😁",
    "𝔐ain",
    "a😀b",
    "日本語",
    "עברית",
    "\u{fffd}",
    "\u{10ffff}",
];

/// Texts that only some engine's collation takes for the same.
const ALIKE: [&str; 26] = [
    "main",
    "Main",
    "MAIN",
    "maïn",
    "mai\u{308}n",
    "ma in",
    "ma  in",
    "ma\u{a0}in",
    "ｍain",
    "é",
    "e\u{301}",
    "E",
    "e",
    "è",
    "ß",
    "ss",
    "SS",
    "ﬁ",
    "fi",
    "İ",
    "i",
    "ı",
    "I",
    "ö",
    "oe",
    "o\u{308}",
];

/// A run all of whose text fields are `text`.
fn all_fields(text: &str) -> Json {
    let mut sent = with(
        run(1),
        json!({"metrics": [{"metric_key": text, "dim_key": text, "value": 1}]}),
    );
    for field in FIELDS {
        sent[field] = json!(text);
    }
    sent
}

/// The run that one read of it gives back must be the one that was sent.
async fn assert_kept(api: &Api, run_id: i64, sent: &Json) {
    let kept = api.get(&format!("/v1/runs/{run_id}")).await.ok();
    for field in FIELDS {
        assert_eq!(kept[field], sent[field], "{field} of {sent}");
    }
    for (kept, sent) in kept["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .zip(sent["metrics"].as_array().unwrap())
    {
        assert_eq!(
            [&kept["metric_key"], &kept["dim_key"]],
            [&sent["metric_key"], &sent["dim_key"]]
        );
    }
}

fn run_ids(answer: &Json) -> Vec<i64> {
    let runs = answer["runs"].as_array().unwrap();
    runs.iter()
        .map(|run| run["run_id"].as_i64().unwrap())
        .collect()
}

/// Every filter on `text` finds the run and no other.
async fn assert_found_alone(api: &Api, text: &str, run_id: i64) {
    for filter in FILTERS {
        let found = api.read("/v1/runs", &[(filter, text)]).await;
        assert_eq!(run_ids(&found), [run_id], "{filter}={text:?}");
    }
    let window = [
        "workload",
        "branch",
        "arch",
        "distro",
        "repo",
        "host_class",
        "tag",
        "pipeline",
        "metric_key",
        "dim_key",
    ];
    let params: Vec<(&str, &str)> = window.into_iter().map(|name| (name, text)).collect();
    for more in [&[][..], &[("metric_key", "another")]] {
        let params = [&params[..], more].concat();
        for path in ["/v1/history", "/v1/baseline"] {
            let answer = api.read(path, &params).await;
            let metrics = answer["metrics"].as_array().unwrap();
            assert_eq!(metrics.len(), 1, "{text:?}: {answer}");
            assert_eq!(
                [&metrics[0]["metric_key"], &metrics[0]["dim_key"]],
                [&json!(text), &json!(text)]
            );
            assert_eq!(metrics[0]["points"].as_array().unwrap().len(), 1);
            assert_eq!(metrics[0]["points"][0]["run_id"], json!(run_id));
        }
    }
    let series: Vec<(&str, &str)> = ["workload", "branch", "arch", "distro", "repo"]
        .into_iter()
        .map(|name| (name, text))
        .collect();
    let answer = api.read("/v1/series", &series).await;
    assert_eq!(
        answer["series"].as_array().unwrap().len(),
        1,
        "{text:?}: {answer}"
    );
    assert_eq!(answer["series"][0]["repos"], json!([text]));
}

pub(crate) async fn is_kept_byte_for_byte_and_found_by_itself_alone(context: &Context) {
    let api = Api::start(context).await;
    let mut stored = Vec::new();
    for text in NASTY.into_iter().chain(ALIKE) {
        let sent = all_fields(text);
        let run_id = api.create(&sent).await;
        assert_kept(&api, run_id, &sent).await;
        stored.push((text, run_id));
    }
    for (text, run_id) in &stored {
        assert_found_alone(&api, text, *run_id).await;
    }
    let series = api.get("/v1/series").await.ok();
    assert_eq!(series["series"].as_array().unwrap().len(), stored.len());
    // Each is its own identity by one field alone, and its own metric within one run.
    for field in ["workload", "branch", "distro", "arch", "tag"] {
        for text in ALIKE {
            api.create(&with(run(2), json!({field: text}))).await;
        }
    }
    let metrics: Vec<Json> = ALIKE
        .into_iter()
        .flat_map(|text| {
            [
                json!({"metric_key": text, "value": 1}),
                json!({"metric_key": "one", "dim_key": text, "value": 1}),
            ]
        })
        .collect();
    let run_id = api.create(&with(run(3), json!({"metrics": metrics}))).await;
    let kept = api.get(&format!("/v1/runs/{run_id}")).await.ok();
    assert_eq!(kept["metrics"].as_array().unwrap().len(), metrics.len());
}

fn assert_every_field_refused(answer: &Answer, text: &str) {
    answer.problem(422, "invalid-run");
    let mut places = answer.fault_places();
    places.sort();
    let mut expected: Vec<String> = FIELDS.iter().map(|field| format!("/{field}")).collect();
    expected.extend(["/metrics/0/metric_key", "/metrics/0/dim_key"].map(str::to_owned));
    expected.sort();
    assert_eq!(places, expected, "{text:?}");
}

pub(crate) async fn with_control_characters_or_white_space_around_is_refused(context: &Context) {
    let api = Api::start(context).await;
    let controls = (0..=0x1f).chain(0x7f..=0x9f).filter_map(char::from_u32);
    let inside: Vec<String> = controls
        .flat_map(|control| {
            [
                format!("a{control}b"),
                control.to_string(),
                format!("a{control}"),
            ]
        })
        .collect();
    let padded = [" a", "a ", " ", "a\u{a0}", "\u{3000}a", "\u{2003}", "*"].map(str::to_owned);
    for text in inside.into_iter().chain(padded) {
        assert_every_field_refused(&api.post(&all_fields(&text)).await, &text);
        let filters = [
            ("/v1/runs", &FILTERS[..6]),
            (
                "/v1/series",
                &["workload", "branch", "arch", "distro", "repo"],
            ),
            (
                "/v1/history",
                &[
                    "workload",
                    "branch",
                    "arch",
                    "distro",
                    "repo",
                    "host_class",
                    "metric_key",
                    "dim_key",
                ],
            ),
        ];
        for (path, names) in filters {
            let names: Vec<&str> = names
                .iter()
                .copied()
                .filter(|name| !(text == "*" && *name == "pipeline"))
                .collect();
            let params: Vec<(&str, &str)> =
                names.iter().map(|&name| (name, text.as_str())).collect();
            let answer = api.query(path, &params).await;
            answer.problem(400, "invalid-query");
            assert_eq!(
                answer.fault_places().len(),
                names.len(),
                "{path} {text:?} {}",
                answer.text
            );
        }
        if text != "*" {
            let answer = api
                .query("/v1/runs", &[("tag", &text), ("pipeline", &text)])
                .await;
            answer.problem(400, "invalid-query");
            assert_eq!(answer.fault_places(), ["tag", "pipeline"]);
        }
    }
    assert_eq!(api.get("/v1/runs").await.ok()["runs"], json!([]));
}

pub(crate) async fn with_characters_that_are_not_seen_is_refused(context: &Context) {
    let api = Api::start(context).await;
    let invisible = [
        '\u{ad}',
        '\u{200b}',
        '\u{200d}',
        '\u{202e}',
        '\u{2028}',
        '\u{2029}',
        '\u{2066}',
        '\u{feff}',
        '\u{e0061}',
    ];
    for c in invisible {
        let text = format!("a{c}b");
        assert_every_field_refused(&api.post(&all_fields(&text)).await, &text);
        // An older version may have stored such a name, which can still be asked for.
        let found = api.query("/v1/runs", &[("workload", &text)]).await;
        assert_eq!(found.ok()["runs"], json!([]));
    }
}

/// A text of a field, made of what is hard to carry and of anything else.
fn hard_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(NASTY.to_vec()).prop_map(str::to_owned),
        2 => prop::sample::select(ALIKE.to_vec()).prop_map(str::to_owned),
        1 => (0_u8..=0x7f).prop_map(|byte| char::from(byte).to_string()),
        2 => prop::sample::select(vec!['\'', '"', '\\', '`', '%', '_', '-', '/', '*', ';', '\u{301}', '\u{200d}', '😀'])
            .prop_map(|c| c.to_string()),
        2 => any::<char>().prop_map(|c| c.to_string()),
        1 => Just(" ".to_owned()),
    ];
    prop::collection::vec(piece, 1..5).prop_map(|pieces| pieces.concat())
}

/// Characters that are not seen, by Unicode's names of their categories.
static INVISIBLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]").unwrap());

/// The same rule in other words: what a field takes.
fn fits(text: &str, max_chars: usize, may_be_empty: bool) -> bool {
    let is_space_or_control =
        |c: Option<char>| c.is_some_and(|c| c.is_whitespace() || c.is_control());
    (may_be_empty || !text.is_empty())
        && text != "*"
        && text.chars().count() <= max_chars
        && !INVISIBLE.is_match(text)
        && !is_space_or_control(text.chars().next())
        && !is_space_or_control(text.chars().last())
}

const LENGTHS: [(&str, usize); 10] = [
    ("workload", 40),
    ("repo", 80),
    ("branch", 120),
    ("change", 40),
    ("patchset", 20),
    ("pipeline", 40),
    ("distro", 40),
    ("arch", 20),
    ("host_class", 40),
    ("tag", 80),
];

pub(crate) async fn of_any_kind_is_kept_or_refused_by_name(context: &Context) {
    let api = Api::start(context).await;
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let texts = prop::collection::vec(hard_text(), 10 + 16);
    let mut accepted: Vec<(i64, Json)> = Vec::new();
    for number in 0..64 {
        let texts = texts.new_tree(&mut runner).unwrap().current();
        let mut sent = run(number);
        let mut expected = Vec::new();
        for ((field, max), text) in LENGTHS.into_iter().zip(&texts) {
            sent[field] = json!(text);
            if !fits(text, max, field == "tag") {
                expected.push(format!("/{field}"));
            }
        }
        let mut metrics = Vec::new();
        for (index, pair) in texts[10..].chunks(2).enumerate() {
            // A suffix keeps names apart, which a generator does not promise.
            let (key, dim) = (format!("{}{index}", pair[0]), pair[1].clone());
            for (text, name, max, may_be_empty) in [
                (&key, "metric_key", 80, false),
                (&dim, "dim_key", 120, true),
            ] {
                if !fits(text, max, may_be_empty) {
                    expected.push(format!("/metrics/{index}/{name}"));
                }
            }
            metrics.push(
                json!({"metric_key": key, "dim_key": dim, "value": index, "wallclock": false}),
            );
        }
        sent["metrics"] = json!(metrics);
        let answer = api.post(&sent).await;
        if !expected.is_empty() {
            answer.problem(422, "invalid-run");
            let mut places = answer.fault_places();
            places.sort();
            expected.sort();
            assert_eq!(places, expected, "{sent}");
            mend(&mut sent);
        }
        let run_id = if expected.is_empty() {
            answer.json()["run_id"].as_i64().unwrap()
        } else {
            api.create(&sent).await
        };
        let kept = content(api.get(&format!("/v1/runs/{run_id}")).await.ok());
        let by_name = |metric: &Json| {
            (
                metric["metric_key"].as_str().unwrap().to_owned(),
                metric["dim_key"].as_str().unwrap().to_owned(),
            )
        };
        sent["metrics"].as_array_mut().unwrap().sort_by_key(by_name);
        assert_eq!(kept, sent);
        accepted.push((run_id, sent));
    }
    for filter in FILTERS {
        for (_, sent) in &accepted {
            let text = sent[filter].as_str().unwrap();
            let mut expected: Vec<i64> = accepted
                .iter()
                .filter(|(_, run)| run[filter] == text)
                .map(|(id, _)| *id)
                .collect();
            expected.reverse();
            let found = api
                .read("/v1/runs", &[(filter, text), ("limit", "100")])
                .await;
            assert_eq!(run_ids(&found), expected, "{filter}={text:?}");
        }
    }
    for (run_id, sent) in &accepted {
        let text = |field: &str| sent[field].as_str().unwrap().to_owned();
        for metric in sent["metrics"].as_array().unwrap().iter().take(3) {
            let mut params = [
                "workload",
                "branch",
                "arch",
                "distro",
                "repo",
                "host_class",
                "tag",
                "pipeline",
            ]
            .map(|name| (name, text(name)))
            .to_vec();
            params.extend(
                ["metric_key", "dim_key"]
                    .map(|name| (name, metric[name].as_str().unwrap().to_owned())),
            );
            let params: Vec<(&str, &str)> = params
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            let answer = api.read("/v1/history", &params).await;
            assert_eq!(
                answer["metrics"][0]["points"][0]["run_id"],
                json!(run_id),
                "{params:?}"
            );
            assert_eq!(answer["metrics"][0]["points"][0]["value"], metric["value"]);
        }
    }
}

/// Leaves out what no field takes, so that what is left of the text is tried too.
fn mend(sent: &mut Json) {
    let mended = |text: &str, max: usize| {
        let text: String = INVISIBLE.replace_all(text, "").chars().take(max).collect();
        match text.trim() {
            "" | "*" => "mended".to_owned(),
            text => text.to_owned(),
        }
    };
    for (field, max) in LENGTHS {
        sent[field] = json!(mended(sent[field].as_str().unwrap(), max));
    }
    for (index, metric) in sent["metrics"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .enumerate()
    {
        let key = mended(metric["metric_key"].as_str().unwrap(), 70);
        metric["metric_key"] = json!(format!("{key}{index}"));
        metric["dim_key"] = json!(mended(metric["dim_key"].as_str().unwrap(), 120));
    }
}
