//! Pages: together they hold what one large page holds, also while rows are added.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value as Json, json};

use crate::api::{Api, SERIES, run, series_and, with};
use crate::model::{Dice, Question, Stored, added_run, fill};
use crate::support::harness::Context;

/// The questions whose pages are walked: one metric, several with gaps, all dimensions of one, everything.
const QUESTIONS: [&[(&str, &str)]; 7] = [
    &[("metric_key", "always")],
    &[("metric_key", "mostly"), ("dim_key", "")],
    &[
        ("metric_key", "always"),
        ("metric_key", "rare"),
        ("metric_key", "mostly"),
        ("metric_key", "never"),
    ],
    &[("metric_key", "dims")],
    &[
        ("metric_key", "dims"),
        ("metric_key", "other"),
        ("dim_key", "threads=1"),
        ("dim_key", "threads=16"),
        ("tag", "*"),
        ("pipeline", "*"),
        ("include_failed", "true"),
    ],
    &[],
    &[
        ("tag", "*"),
        ("repo", "drizzle"),
        ("include_failed", "true"),
        ("since", "2026-01-01T00:30:00Z"),
    ],
];

type Points = BTreeMap<(String, String), Vec<Json>>;

fn collect(points: &mut Points, page: &Json) {
    for metric in page["metrics"].as_array().unwrap() {
        let name = ["metric_key", "dim_key"].map(|part| metric[part].as_str().unwrap().to_owned());
        let found = metric["points"].as_array().unwrap();
        assert!(!found.is_empty(), "{page}");
        points
            .entry(name.into())
            .or_default()
            .extend(found.iter().cloned());
    }
}

/// The points of all pages; `between` is called after each.
async fn walk(
    api: &Api,
    path: &str,
    params: &[(&str, &str)],
    limit: &str,
    between: impl AsyncFn(usize),
) -> Points {
    let mut points = Points::new();
    let mut cursor: Option<String> = None;
    for number in 0.. {
        let mut params = [params, &[("limit", limit)]].concat();
        params.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page = api.read(path, &params).await;
        collect(&mut points, &page);
        between(number).await;
        match page.get("next") {
            Some(next) => cursor = Some(next.as_str().unwrap().to_owned()),
            None => return points,
        }
        assert!(number < 200, "no end of pages: {page}");
        // Servers and proxies take addresses of eight thousand characters; some no more.
        assert!(
            cursor.as_ref().is_none_or(|cursor| cursor.len() < 8_000),
            "{} is too long",
            cursor.unwrap_or_default().len()
        );
    }
    points
}

async fn one_page(api: &Api, path: &str, params: &[(&str, &str)]) -> Points {
    let page = api
        .read(path, &[params, &[("limit", "10000")]].concat())
        .await;
    assert_eq!(page.get("next"), None, "{page}");
    let mut points = Points::new();
    collect(&mut points, &page);
    points
}

pub(crate) async fn lead_through_a_history_without_gap_or_repeat(context: &Context) {
    let api = Api::start(context).await;
    fill(&api, 60).await;
    for (path, questions) in [
        ("/v1/history", &QUESTIONS[..]),
        ("/v1/baseline", &QUESTIONS[2..6]),
    ] {
        for question in questions {
            let params = series_and(question);
            let whole = one_page(&api, path, &params).await;
            assert!(!whole.is_empty(), "{path} {question:?}");
            for limit in ["1", "2", "3", "7"] {
                let pages = walk(&api, path, &params, limit, async |_| ()).await;
                assert_eq!(pages, whole, "{path} {question:?} by {limit}");
            }
        }
    }
}

pub(crate) async fn of_random_questions_lead_through_all_their_points(context: &Context) {
    let api = Api::start(context).await;
    let stored = fill(&api, 60).await;
    let mut dice = Dice::new(23);
    for _ in 0..30 {
        let mut question = Question::random(&mut dice);
        question.params.retain(|(name, _)| *name != "limit");
        let params: Vec<(&str, &str)> = question
            .params
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let limit = *dice.pick(&["1", "2", "4", "9"]);
        let pages = walk(
            &api,
            "/v1/history",
            &series_and(&params),
            limit,
            async |_| (),
        )
        .await;
        let mut all = question.clone();
        all.params.push(("limit", "10000".to_owned()));
        let mut whole = Points::new();
        collect(&mut whole, &json!({"metrics": all.answer(&stored, false)}));
        assert_eq!(pages, whole, "{params:?} by {limit}");
    }
}

fn runs_of(points: &[Json]) -> Vec<i64> {
    points
        .iter()
        .map(|point| point["run_id"].as_i64().unwrap())
        .collect()
}

pub(crate) async fn lose_and_repeat_nothing_while_runs_are_added(context: &Context) {
    let api = Api::start(context).await;
    fill(&api, 40).await;
    let mut number = 1_000;
    for question in QUESTIONS {
        let params = series_and(question);
        let before = one_page(&api, "/v1/history", &params).await;
        let first = number;
        // After each page: a run newer than all, one older than all, and some in between.
        let pages = walk(&api, "/v1/history", &params, "3", async |page| {
            for (offset, dated) in [(0, 1_200), (1, 0), (2, 21), (3, 140), (4, 210)] {
                if page < 5 {
                    api.create(&added_run(first + page as u64 * 5 + offset, dated))
                        .await;
                }
            }
        })
        .await;
        number += 25;
        for (name, points) in &before {
            let found = &pages[name];
            let kept: Vec<&Json> = found
                .iter()
                .filter(|point| points.contains(point))
                .collect();
            assert_eq!(
                kept,
                points.iter().collect::<Vec<_>>(),
                "{question:?} {name:?}"
            );
        }
        for (name, points) in &pages {
            let mut ids = runs_of(points);
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(
                ids.len(),
                points.len(),
                "{question:?} {name:?} repeats a point"
            );
        }
    }
}

async fn walk_runs(
    api: &Api,
    params: &[(&str, &str)],
    limit: &str,
    between: impl AsyncFn(usize),
) -> Vec<i64> {
    let mut ids = Vec::new();
    let mut cursor: Option<String> = None;
    for number in 0..200 {
        let mut params = [params, &[("limit", limit)]].concat();
        params.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page = api.read("/v1/runs", &params).await;
        ids.extend(runs_of(page["runs"].as_array().unwrap()));
        between(number).await;
        match page.get("next") {
            Some(next) => cursor = Some(next.as_str().unwrap().to_owned()),
            None => return ids,
        }
    }
    panic!("no end of pages");
}

pub(crate) async fn lead_through_the_list_of_runs(context: &Context) {
    let api = Api::start(context).await;
    let stored: Vec<Stored> = fill(&api, 40).await;
    for params in [
        &[][..],
        &[("tag", "")],
        &[("repo", "fork"), ("workload", "perf")],
    ] {
        let whole = walk_runs(&api, params, "10000", async |_| ()).await;
        for limit in ["1", "4", "40"] {
            assert_eq!(walk_runs(&api, params, limit, async |_| ()).await, whole);
        }
    }
    let before = walk_runs(&api, &[], "10000", async |_| ()).await;
    assert_eq!(before.len(), stored.len());
    let during = walk_runs(&api, &[], "3", async |page| {
        for (offset, dated) in [(0, 1_200), (1, 0), (2, 70)] {
            if page < 4 {
                api.create(&added_run(1_000 + page as u64 * 3 + offset, dated))
                    .await;
            }
        }
    })
    .await;
    let kept: Vec<i64> = during
        .iter()
        .copied()
        .filter(|id| before.contains(id))
        .collect();
    assert_eq!(kept, before);
}

pub(crate) async fn are_absent_at_the_end(context: &Context) {
    let api = Api::start(context).await;
    for number in 0..4 {
        let metrics = json!([{"metric_key": "a", "value": 1}, {"metric_key": "b", "value": 1}]);
        api.create(&with(run(number), json!({"metrics": metrics})))
            .await;
    }
    let questions: [&[(&str, &str)]; 4] = [
        &[],
        &[("metric_key", "a")],
        &[("metric_key", "a"), ("dim_key", "")],
        &[("metric_key", "a"), ("metric_key", "b")],
    ];
    for question in questions {
        for (limit, has_next) in [("3", true), ("4", false), ("5", false)] {
            let params = series_and(&[question, &[("limit", limit)]].concat());
            let page = api.read("/v1/history", &params).await;
            assert_eq!(page.get("next").is_some(), has_next, "{question:?} {limit}");
        }
        let params = series_and(&[question, &[("limit", "2")]].concat());
        let first = api.read("/v1/history", &params).await;
        let next = first["next"].as_str().unwrap();
        let second = api
            .read("/v1/history", &[&params[..], &[("cursor", next)]].concat())
            .await;
        assert_eq!(second.get("next"), None, "{question:?}");
    }
    for (limit, has_next) in [("3", true), ("4", false)] {
        let page = api.read("/v1/runs", &[("limit", limit)]).await;
        assert_eq!(page.get("next").is_some(), has_next);
    }
}

pub(crate) async fn of_another_question_or_nobodys_are_refused(context: &Context) {
    let api = Api::start(context).await;
    for number in 0..4 {
        api.create(&run(number)).await;
        api.create(&with(run(number), json!({"tag": "baseline"})))
            .await;
    }
    let next = async |path: &str, params: &[(&str, &str)]| {
        let page = api.read(path, &[params, &[("limit", "1")]].concat()).await;
        page["next"].as_str().unwrap().to_owned()
    };
    let one_metric = series_and(&[("metric_key", "callgrind.ir")]);
    let history = next("/v1/history", &SERIES).await;
    let cursors = [
        history.clone(),
        next("/v1/baseline", &SERIES).await,
        next("/v1/runs", &SERIES).await,
        next("/v1/history", &one_metric).await,
        next("/v1/history", &series_and(&[("tag", "*")])).await,
    ];
    // Of its own question a cursor is good at any page size, in any order and spelling of the parameters.
    let query =
        format!("distro=tr%69xie&arch=amd64&branch=main&workload=perf&limit=3&cursor={history}");
    api.get(&format!("/v1/history?{query}")).await.ok();
    for (index, cursor) in cursors.iter().enumerate() {
        for (other, (path, params)) in [
            ("/v1/history", &SERIES[..]),
            ("/v1/baseline", &SERIES),
            ("/v1/runs", &SERIES),
            ("/v1/history", &one_metric),
        ]
        .into_iter()
        .enumerate()
        {
            let answer = api
                .query(path, &[params, &[("cursor", cursor)]].concat())
                .await;
            if index == other {
                answer.ok();
            } else {
                answer.problem(400, "invalid-query");
                assert_eq!(answer.fault_places(), ["cursor"]);
            }
        }
    }
    let content: Json =
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(&history).unwrap()).unwrap();
    let forged = |change: &dyn Fn(&mut Json)| {
        let mut content = content.clone();
        change(&mut content);
        BASE64_URL_SAFE_NO_PAD.encode(content.to_string())
    };
    let injection = json!("2026-01-01T00:00:00Z' OR '1'='1");
    let garbled = [
        String::new(),
        "x".to_owned(),
        history[1..].to_owned(),
        history[..history.len() - 1].to_owned(),
        format!("{history}A"),
        "💥".to_owned(),
        "%".to_owned(),
        BASE64_URL_SAFE_NO_PAD.encode("null"),
        forged(&|content| content["p"][0] = injection.clone()),
        forged(&|content| content["p"][1] = json!("1")),
        forged(&|content| content["p"][1] = json!(1e30)),
        forged(&|content| content["more"] = json!(1)),
        forged(&|content| content["o"] = json!([[content["p"], "AAAA"]])),
    ];
    for cursor in &garbled {
        for path in ["/v1/history", "/v1/runs"] {
            let answer = api.query(path, &series_and(&[("cursor", cursor)])).await;
            answer.problem(400, "invalid-query");
            assert_eq!(answer.fault_places(), ["cursor"], "{cursor}");
        }
    }
}

pub(crate) async fn of_many_metrics_are_short_enough_to_be_sent_back(context: &Context) {
    let api = Api::start(context).await;
    // Hundreds of functions, each measured in its own three of the runs.
    let key = "callgrind.ir.of_one_function";
    for number in 0..12_u64 {
        let metrics: Vec<Json> = (0..400_u64)
            .filter(|function| (function + number) % 4 == 0)
            .map(|function| json!({"metric_key": key, "dim_key": format!("function=a_rather_long_name_{function}"), "value": number}))
            .collect();
        api.create(&with(run(number), json!({"metrics": metrics})))
            .await;
    }
    let params = series_and(&[("metric_key", key)]);
    let whole = one_page(&api, "/v1/history", &params).await;
    assert_eq!(whole.len(), 400);
    assert_eq!(
        walk(&api, "/v1/history", &params, "1", async |_| ()).await,
        whole
    );
}
