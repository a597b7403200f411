//! `perf-tracking gate`, as a shell sees it.
//!
//! After a change that is meant: `INSTA_UPDATE=always cargo test --test gate`, and read the
//! difference.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on ends; helpers of tests do not count as tests yet"
)]

#[path = "../support/mod.rs"]
mod support;
mod trust;

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

use support::service::{Service, ServiceOptions};

/// A folder of its own, and the binary run in it with a clean environment.
struct Place {
    folder: tempfile::TempDir,
    variables: Vec<(&'static str, String)>,
}

/// What a command left.
struct Left {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            // Nothing listens there: whatever is fetched after all fails.
            variables: vec![
                ("PERF_TRACKING_URL", "http://127.0.0.1:1".to_owned()),
                ("PERF_TRACKING_RETRY_FOR", "0s".to_owned()),
            ],
        }
    }

    /// A change of the sample project, with `values` for its metrics.
    fn with_change(values: &[(&str, &str)]) -> Self {
        let place = Self::new();
        place.write("gate.toml", RULES);
        place.write("metrics.json", &document(values).to_string());
        place.write("history.json", &history().to_string());
        place
    }

    fn at(mut self, service: &Service, token: &str) -> Self {
        self.variables[0].1 = service.url();
        self.variables
            .push(("PERF_TRACKING_TOKEN", token.to_owned()));
        self
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.folder.path().join(name), content).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn run(&self, args: &[&str], stdin: &str) -> Left {
        let mut child = Command::new(env!("CARGO_BIN_EXE_perf-tracking"))
            .args(args)
            .current_dir(self.folder.path())
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (*name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that reads no input may be gone before it is written.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        Left {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The gate on the document, with no service.
    fn gate(&self, args: &[&str]) -> Left {
        let offline = ["gate", "--document=metrics.json", "--history=history.json"];
        self.run(&[&offline[..], args].concat(), "")
    }

    /// The gate on the document, with a service.
    fn gate_online(&self, args: &[&str]) -> Left {
        let online = [
            "gate",
            "--document=metrics.json",
            "--repo=sample",
            "--branch=main",
        ];
        self.run(&[&online[..], args].concat(), "")
    }
}

impl Left {
    /// Everything, as a snapshot holds it.
    fn shown(&self) -> String {
        let Self {
            code,
            stdout,
            stderr,
        } = self;
        format!("exit code: {code}\n--- stdout ---\n{stdout}--- stderr ---\n{stderr}")
    }

    #[track_caller]
    fn assert_refused(&self, said: &[&str]) {
        assert_eq!(
            (self.code, self.stdout.as_str()),
            (2, ""),
            "{}",
            self.stderr
        );
        for part in said {
            assert!(self.stderr.contains(part), "no {part:?} in {}", self.stderr);
        }
    }
}

macro_rules! assert_snapshot {
    ($name:literal, $text:expr) => {
        insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(concat!("gate-", $name), $text);
        });
    };
}

const RULES: &str = r#"
[window]
k = 3

[parameters]
script = "oltp_read_write"
threads = 1

[[metric]]
pattern = "sysbench.tps"
worse = "lower"
"#;

fn document(values: &[(&str, &str)]) -> Json {
    let metric = |(key, value): &(&str, &str)| {
        let value: Json = serde_json::from_str(value).unwrap();
        let wallclock = key.starts_with("sysbench.");
        json!({"metric_key": key, "dim_key": "", "value": value, "wallclock": wallclock})
    };
    json!({
        "format_version": 1, "workload": "perf", "arch": "amd64", "distro": "trixie",
        "host_class": "callgrind", "succeeded": true,
        "parameters": {"script": "oltp_read_write", "threads": 1},
        "metrics": values.iter().map(metric).collect::<Vec<_>>(),
    })
}

/// Twenty runs of three metrics; the newest one is of the commit `ffff…`.
fn history() -> Json {
    let noise = [
        0, 3, -3, 1, -1, 12, 8, -9, 5, 2, -2, 0, -1, 4, -4, 1, 0, 7, -7, 2,
    ];
    let points = |value: &dyn Fn(i64) -> i64| {
        let point = |(index, noise): (usize, &i64)| {
            let age = noise_age(index);
            json!({
                "run_id": age, "commit_sha": commit(age), "run_date": date(age),
                "value": value(*noise), "tag": "", "change": null, "patchset": null,
                "repo": "sample", "pipeline": "promote", "host_class": "callgrind",
                "succeeded": true,
            })
        };
        noise.iter().enumerate().map(point).collect::<Vec<_>>()
    };
    let metric = |key: &str, value: &dyn Fn(i64) -> i64| json!({"metric_key": key, "dim_key": "", "wallclock": false, "points": points(value)});
    json!({
        "series": {"workload": "perf", "branch": "main", "arch": "amd64", "distro": "trixie"},
        "metrics": [
            metric("callgrind.ir", &|noise| 1_000_000_000 + noise * 1_000_000),
            metric("massif.peak_heap_bytes", &|noise| 64_000_000 + noise * 1000),
            metric("size.drizzled_bytes", &|_| 5_242_880),
        ],
    })
}

/// Newest first.
fn noise_age(index: usize) -> i64 {
    20 - i64::try_from(index).unwrap()
}

fn commit(age: i64) -> String {
    if age == 20 {
        "f".repeat(40)
    } else {
        format!("{age:040x}")
    }
}

fn date(age: i64) -> String {
    format!("2026-11-{age:02}T09:00:00Z")
}

const UNCHANGED: [(&str, &str); 3] = [
    ("callgrind.ir", "1002000000"),
    ("massif.peak_heap_bytes", "64001000"),
    ("size.drizzled_bytes", "5242880"),
];

const WORSE: [(&str, &str); 4] = [
    ("callgrind.ir", "1080000000"),
    ("massif.peak_heap_bytes", "60000000"),
    ("size.drizzled_bytes", "5242881"),
    ("sysbench.tps", "1234.5"),
];

#[test]
fn nothing_worse_is_0() {
    let place = Place::with_change(&UNCHANGED);
    assert_snapshot!("passed", place.gate(&[]).shown());
}

#[test]
fn a_regression_is_1_and_improvements_stand_in_the_table() {
    let place = Place::with_change(&WORSE);
    let commit = format!("--commit={}", "f".repeat(40));
    assert_snapshot!("regression", place.gate(&[&commit]).shown());
}

#[test]
fn every_report_is_written_at_once() {
    let place = Place::with_change(&WORSE);
    let left = place.gate(&[
        "--markdown=gate.md",
        "--json=gate.json",
        "--junit",
        "gate.xml",
        "--openmetrics=gate.prom",
    ]);
    assert_eq!((left.code, left.stderr.as_str()), (1, ""));
    let first = "regression: 2 of 3 metrics got worse, 1 improved; 1 not judged (1 wall-clock)\n";
    assert!(left.stdout.starts_with(first), "{}", left.stdout);
    assert_snapshot!("markdown", place.read("gate.md"));
    assert_snapshot!("json", place.read("gate.json"));
    assert_snapshot!("junit", place.read("gate.xml"));
    assert_snapshot!("openmetrics", place.read("gate.prom"));
}

#[test]
fn a_report_without_a_file_stands_in_place_of_the_table() {
    let place = Place::with_change(&WORSE);
    let left = place.gate(&["--json"]);
    let report: Json = serde_json::from_str(&left.stdout).unwrap();
    assert_eq!(
        (left.code, &report["conclusion"]),
        (1, &json!("regression"))
    );
    let left = place.gate(&["--json", "--markdown"]);
    left.assert_refused(&["two reports on standard output"]);
}

#[test]
fn a_comment_for_a_thousand_regressions_fits_a_comment() {
    let names: Vec<String> = (0..1000).map(|n| format!("callgrind.{n:065}")).collect();
    let values: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "200")).collect();
    let place = Place::with_change(&values);
    let mut history = history();
    let points = history["metrics"][2]["points"].clone();
    let metric = |key: &String| json!({"metric_key": key, "dim_key": "", "wallclock": false, "points": points.clone()});
    let mut metrics: Vec<Json> = names.iter().map(metric).collect();
    for metric in &mut metrics {
        for point in metric["points"].as_array_mut().unwrap() {
            point["value"] = json!(100);
        }
    }
    history["metrics"] = json!(metrics);
    place.write("history.json", &history.to_string());
    let left = place.gate(&["--markdown"]);
    assert_eq!(left.code, 1);
    assert!(left.stdout.len() <= 60_000, "{}", left.stdout.len());
    assert!(
        left.stdout.contains("more, left out for their length."),
        "{}",
        left.stdout
    );
    assert!(left.stdout.contains("\n- and "), "{}", left.stdout);
}

#[test]
fn too_little_history_is_3_and_says_how_much_there_is() {
    let place = Place::with_change(&UNCHANGED);
    let mut short = history();
    for metric in short["metrics"].as_array_mut().unwrap() {
        metric["points"].as_array_mut().unwrap().truncate(3);
    }
    place.write("history.json", &short.to_string());
    assert_snapshot!("insufficient", place.gate(&[]).shown());
    place.write(
        "gate.toml",
        &RULES.replace("k = 3", "on_insufficient = \"pass\""),
    );
    assert_eq!(place.gate(&[]).code, 0);
}

#[test]
fn a_metric_that_is_gone_is_3() {
    let place = Place::with_change(&UNCHANGED[..2]);
    assert_snapshot!("missing", place.gate(&[]).shown());
}

#[test]
fn other_parameters_are_3_and_nothing_is_fetched() {
    let place = Place::with_change(&UNCHANGED);
    place.write(
        "gate.toml",
        &RULES.replace("threads = 1", "threads = 2\nevents = 200"),
    );
    assert_snapshot!("parameters", place.gate(&[]).shown());
    assert_eq!(place.gate_online(&[]).code, 3);
}

#[test]
fn an_accepted_step_lets_the_change_pass_that_makes_it() {
    let place = Place::with_change(&[("callgrind.ir", "1080000000"), UNCHANGED[1], UNCHANGED[2]]);
    let accepted = "[[accepted]]\nmetric = \"callgrind.ir\"\nsince_date = 2026-11-30\nup_to = 1_081_000_000\nwhy = \"checksums on every page\"\nby = \"Ada Lovelace\"\n";
    place.write("gate.toml", &format!("{RULES}\n{accepted}"));
    assert_snapshot!("accepted", place.gate(&[]).shown());
    place.write(
        "metrics.json",
        &document(&[("callgrind.ir", "1081000001"), UNCHANGED[1], UNCHANGED[2]]).to_string(),
    );
    assert_snapshot!("beyond-a-step", place.gate(&[]).shown());
}

#[test]
fn runs_that_are_no_merged_history_do_not_count() {
    for (field, value) in [
        ("tag", json!("baseline")),
        ("pipeline", json!("gate")),
        ("succeeded", json!(false)),
        ("repo", json!("fork")),
    ] {
        let place = Place::with_change(&UNCHANGED);
        let mut other = history();
        for metric in other["metrics"].as_array_mut().unwrap() {
            for point in metric["points"].as_array_mut().unwrap() {
                point[field] = value.clone();
            }
        }
        place.write("history.json", &other.to_string());
        let left = place.gate(&["--repo=sample"]);
        assert_eq!(left.code, 3, "{field}: {}", left.stdout);
        assert!(
            left.stdout.contains("no run is there, 5 are needed"),
            "{}",
            left.stdout
        );
    }
}

#[test]
fn what_cannot_be_read_is_2() {
    let place = Place::with_change(&UNCHANGED);
    place
        .run(&["gate"], "")
        .assert_refused(&["--document <FILE>"]);
    place
        .run(&["gate", "--document=metrics.json"], "")
        .assert_refused(&["--branch", "--repo"]);
    place
        .gate(&["--config=none.toml"])
        .assert_refused(&["none.toml", "gate init"]);
    place
        .gate(&["--history=none.json"])
        .assert_refused(&["none.json"]);
    place
        .gate(&["--branch=14.04"])
        .assert_refused(&["is the history of perf on main"]);
    place
        .gate(&["--markdown=no/folder.md"])
        .assert_refused_but_told(&["no/folder.md"]);

    place.write("history.json", "{}");
    place
        .gate(&[])
        .assert_refused(&["is no history as `perf-tracking history --format json`"]);
    place.write("history.json", "");
    place.gate(&[]).assert_refused(&["holds no history"]);

    place.write("metrics.json", "{");
    place
        .gate(&[])
        .assert_refused(&["`metrics.json` is not JSON"]);
    let twice = document(&UNCHANGED)
        .to_string()
        .replace(r#""value":"#, r#""value":1,"value":"#);
    place.write("metrics.json", &twice);
    place
        .gate(&[])
        .assert_refused(&["/metrics/0/value: stands here more than once"]);
    let mut broken = document(&UNCHANGED);
    broken["metrics"][1]["value"] = json!("1");
    broken["arch"] = json!("");
    broken["branch"] = json!("main");
    broken["parameters"]["threads"] = json!(null);
    place.write("metrics.json", &broken.to_string());
    place.gate(&[]).assert_refused(&[
        "\n  /arch: must not be empty",
        "\n  /branch: is not a field",
        "\n  /metrics/1/value: must be a number",
        "\n  /parameters/threads: must be",
    ]);
}

#[test]
fn what_has_no_end_is_given_up() {
    let place = Place::with_change(&UNCHANGED);
    place
        .run(&["gate", "--document=/dev/zero"], "")
        .assert_refused(&["cannot read `/dev/zero`: it holds more than "]);
    for (flag, said) in [
        ("--history=/dev/zero", "cannot read the history `/dev/zero`"),
        ("--config=/dev/zero", "cannot read the rules in `/dev/zero`"),
    ] {
        place
            .gate(&[flag])
            .assert_refused(&[said, ": it holds more than "]);
    }
}

#[test]
fn two_histories_that_contradict_each_other_are_2() {
    let place = Place::with_change(&[("callgrind.ir", "1000")]);
    let other = history().to_string().replace("\"value\":1", "\"value\":2");
    place.write("other.json", &other);
    let twice = place.gate(&["--history=history.json"]);
    assert_ne!(twice.code, 2, "{}", twice.stderr);
    let left = place.gate(&["--history=other.json"]);
    left.assert_refused(&["two values of", "for run"]);
}

#[test]
fn a_report_takes_the_place_of_nothing_that_is_needed() {
    let place = Place::with_change(&WORSE);
    let both = place.gate(&["--markdown=out", "--json=./out"]);
    both.assert_refused(&["two reports in", "name a file for each"]);
    for needed in ["metrics.json", "./history.json", "gate.toml"] {
        let before = place.read(needed);
        let left = place.gate(&[&format!("--junit={needed}")]);
        left.assert_refused(&["would take the place of what is judged"]);
        assert_eq!(place.read(needed), before);
    }
}

#[test]
fn a_report_takes_the_place_of_an_older_one_at_once() {
    let place = Place::with_change(&[("callgrind.ir", "1000")]);
    let before = "an older comment";
    place.write("comment.md", before);
    let metadata = || fs::metadata(place.folder.path().join("comment.md")).unwrap();
    let inode = std::os::unix::fs::MetadataExt::ino(&metadata());
    place.gate(&["--markdown=comment.md"]);
    // Another file stands in its place: it was never half of either.
    assert_ne!(std::os::unix::fs::MetadataExt::ino(&metadata()), inode);
    assert_ne!(place.read("comment.md"), before);
}

/// A service that answers every question with the same text, once.
fn answers_once(body: String) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = std::io::Read::read(&mut stream, &mut request).unwrap();
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
    });
    url
}

#[test]
fn a_service_that_answers_with_another_series_is_2() {
    let mut place = Place::with_change(&[("callgrind.ir", "1000")]);
    let other = history().to_string().replace("\"main\"", "\"topic\"");
    place.variables[0].1 = answers_once(other);
    let left = place.gate_online(&[]);
    assert_eq!(left.code, 2, "{}{}", left.stdout, left.stderr);
    assert!(
        left.stderr.contains("answered with the history of"),
        "{}",
        left.stderr
    );
}

#[test]
fn every_fault_of_the_rules_is_told_with_its_place() {
    let place = Place::with_change(&UNCHANGED);
    place.write(
        "gate.toml",
        "[window]\nk = \"x\"\nsize = 5\n[[metric]]\nfloor = 3\n",
    );
    assert_snapshot!("rules", place.gate(&[]).shown());
}

#[test]
fn a_document_may_come_on_standard_input() {
    let place = Place::with_change(&WORSE);
    let document = document(&UNCHANGED).to_string();
    let left = place.run(
        &["gate", "--document=-", "--history=history.json"],
        &document,
    );
    assert_eq!(left.code, 0, "{}", left.stderr);
}

#[test]
fn init_writes_rules_that_the_gate_takes_and_never_overwrites_any() {
    let place = Place::with_change(&UNCHANGED);
    place
        .run(&["gate", "init"], "")
        .assert_refused(&["`gate.toml` is there already"]);
    assert_eq!(place.read("gate.toml"), RULES);
    let left = place.run(&["gate", "init", "rules.toml"], "");
    assert_eq!((left.code, left.stderr.as_str()), (0, ""));
    assert_eq!(place.gate(&["--config=rules.toml"]).code, 0);
    let printed = place.run(&["gate", "init", "-"], "");
    assert_eq!(printed.stdout, place.read("rules.toml"));
}

#[test]
fn explain_names_the_rule_that_holds_and_those_it_overrules() {
    let place = Place::new();
    let rules = "[[metric]]\npattern = \"callgrind.*\"\nfloor = \"4 %\"\nfloor_absolute = 1000\n[[metric]]\npattern = \"*.ir\"\nfloor = \"2 %\"\n[[accepted]]\nmetric = \"*\"\nsince_date = 2026-11-30\nup_to = 2_000_000\nwhy = \"a new compiler\"\nby = \"Ada Lovelace\"\n";
    place.write("gate.toml", rules);
    let explained: String = ["callgrind.ir", "callgrind.l1_misses", "size.plugin_count"]
        .iter()
        .map(|metric| place.run(&["gate", "explain", metric], "").stdout)
        .collect();
    assert_snapshot!("explain", explained);
}

/// A run of the sample project, `age` days old.
fn run(age: i64, ir: i64, more: &[(&str, i64)]) -> String {
    let metric = |(key, value): (&str, i64)| json!({"metric_key": key, "value": value});
    let metrics = std::iter::once(("callgrind.ir", ir)).chain(more.iter().copied());
    json!({
        "workload": "perf", "repo": "sample", "branch": "main", "commit_sha": commit(age),
        "pipeline": "promote", "distro": "trixie", "arch": "amd64", "host_class": "callgrind",
        "run_date": date(age), "succeeded": true,
        "metrics": metrics.map(metric).collect::<Vec<_>>(),
    })
    .to_string()
}

/// How often windows were read from the service.
async fn reads(service: &Service) -> u64 {
    let url = format!("{}/metrics", service.url());
    let answer = support::service::http_client()
        .get(url)
        .send()
        .await
        .unwrap();
    let text = answer.text().await.unwrap();
    let lines = text
        .lines()
        .filter(|line| line.starts_with("perf_tracking_window_reads_total{"));
    let counts = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_request_brings_whole_windows_of_every_metric() {
    let service = Service::start(ServiceOptions::default()).await;
    let token = service.token("runs:read runs:write").await;
    let place = Place::with_change(&UNCHANGED).at(&service, &token);
    for age in 1..=22 {
        let more = [
            ("massif.peak_heap_bytes", 64_000_000),
            ("size.drizzled_bytes", 5_242_880),
        ];
        let left = place.run(&["upload"], &run(age, 1_000_000_000 + age * 1000, &more));
        assert_eq!(left.code, 0, "{}", left.stderr);
    }
    let left = place.gate_online(&[]);
    assert_eq!(
        (left.code, reads(&service).await),
        (0, 1),
        "{}",
        left.stdout
    );
    // A metric that only the history has is known by the same request.
    place.write("metrics.json", &document(&UNCHANGED[..2]).to_string());
    let left = place.gate_online(&[]);
    assert_eq!(
        (left.code, reads(&service).await),
        (3, 2),
        "{}",
        left.stdout
    );
    assert!(left.stdout.contains("\nmissing"), "{}", left.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_windows_come_from_a_service() {
    let service = Service::start(ServiceOptions::default()).await;
    let all = service.token("runs:read runs:write").await;
    let rare: [(&str, &str); 2] = [
        ("callgrind.ir", "1002000000"),
        ("massif.peak_heap_bytes", "64000000"),
    ];
    let place = Place::with_change(&rare).at(&service, &all);
    place.write("gate.toml", &RULES.replace("k = 3", "sizes = [5]"));
    // The second metric is not in the newest runs, and is found all the same.
    for age in 1..=16 {
        let heap: &[(&str, i64)] = if age <= 6 {
            &[("massif.peak_heap_bytes", 64_000_000)]
        } else {
            &[]
        };
        let left = place.run(&["upload"], &run(age, 1_000_000_000 + age * 1000, heap));
        assert_eq!(left.code, 0, "{}", left.stderr);
    }
    let left = place.gate_online(&[]);
    assert_eq!(
        reads(&service).await,
        2,
        "one for all, one for the rare one"
    );
    assert_eq!(
        (left.code, left.stderr.as_str()),
        (0, ""),
        "{}",
        left.stdout
    );
    assert!(
        left.stdout.contains("none of 2 metrics got worse"),
        "{}",
        left.stdout
    );
    let rows = left.stdout.lines().filter(|line| line.starts_with("pass "));
    assert_eq!(rows.count(), 2, "{}", left.stdout);

    place.write(
        "metrics.json",
        &document(&[("callgrind.ir", "1040000000"), rare[1]]).to_string(),
    );
    assert_eq!(place.gate_online(&[]).code, 1);
    let elsewhere = place.run(
        &[
            "gate",
            "--document=metrics.json",
            "--repo=sample",
            "--branch=14.04",
        ],
        "",
    );
    assert_eq!(elsewhere.code, 3, "{}", elsewhere.stdout);

    // What was saved is judged as what was fetched.
    let saved = place.run(
        &[
            "history",
            "--workload=perf",
            "--branch=main",
            "--arch=amd64",
            "--distro=trixie",
            "--format=json",
        ],
        "",
    );
    place.write("history.json", &saved.stdout);
    assert_eq!(place.gate(&[]).stdout, place.gate_online(&[]).stdout);

    let writer = service.token("runs:write").await;
    for (token, said) in [("", "401"), ("a.b.c", "401"), (writer.as_str(), "403")] {
        let place = Place::with_change(&rare).at(&service, token);
        place.gate_online(&[]).assert_refused(&[said]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_ci_says_of_the_change_needs_no_flag() {
    let service = Service::start(ServiceOptions::default()).await;
    let all = service.token("runs:read runs:write").await;
    let mut place = Place::with_change(&UNCHANGED[..1]).at(&service, &all);
    for age in 1..=6 {
        let left = place.run(&["upload"], &run(age, 1_000_000_000, &[]));
        assert_eq!(left.code, 0, "{}", left.stderr);
    }
    let event = json!({"pull_request": {"number": 7, "head": {"sha": commit(6)}}});
    place.write("event.json", &event.to_string());
    place.variables.extend([
        ("GITHUB_ACTIONS", "true".to_owned()),
        ("GITHUB_REPOSITORY", "sample".to_owned()),
        ("GITHUB_EVENT_NAME", "pull_request".to_owned()),
        ("GITHUB_BASE_REF", "main".to_owned()),
        ("GITHUB_REF_NAME", "7/merge".to_owned()),
        ("GITHUB_SHA", commit(99)),
        ("GITHUB_EVENT_PATH", "event.json".to_owned()),
    ]);
    let left = place.run(&["gate", "--document=metrics.json"], "");
    assert_eq!(left.code, 0, "{}{}", left.stdout, left.stderr);
    assert_eq!(
        left.stderr,
        format!(
            "the change: repo sample (from GITHUB_REPOSITORY), branch main (from \
             GITHUB_BASE_REF), commit {} (from pull_request.head.sha in GITHUB_EVENT_PATH)\n",
            commit(6)
        )
    );
    // A flag wins, and what a flag says needs no word.
    let left = place.run(
        &[
            "gate",
            "--document=metrics.json",
            "--branch=14.04",
            "--repo=sample",
            &format!("--commit={}", commit(5)),
        ],
        "",
    );
    assert_eq!((left.code, left.stderr.as_str()), (3, ""));
    // A saved history says what it is of, whatever the CI says.
    place.write("history.json", &history().to_string());
    let left = place.gate(&["--repo=sample"]);
    assert_eq!(
        (left.code, left.stderr.as_str()),
        (3, ""),
        "{}",
        left.stdout
    );

    place.write("event.json", "{}");
    place
        .run(&["gate", "--document=metrics.json"], "")
        .assert_refused(&[
            "error: what is judged is not known\n  commit: GITHUB_SHA is not the commit of the change",
            "give --commit SHA",
        ]);
}

#[test]
fn a_service_that_cannot_be_reached_is_2() {
    let place = Place::with_change(&WORSE);
    place
        .gate_online(&[])
        .assert_refused(&["http://127.0.0.1:1"]);
}

impl Left {
    /// Exit code 2, though the table may be there.
    #[track_caller]
    fn assert_refused_but_told(&self, said: &[&str]) {
        assert_eq!(self.code, 2, "{}", self.stderr);
        for part in said {
            assert!(self.stderr.contains(part), "no {part:?} in {}", self.stderr);
        }
    }
}
