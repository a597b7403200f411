//! Verdicts that can be trusted: nothing passes unjudged, no wrong run blinds the gate, and a report
//! says what to do.

use serde_json::{Value as Json, json};

use super::support::service::{Service, ServiceOptions};
use super::{Left, Place, RULES, UNCHANGED, commit, date, document, history, run};

/// A history in which every metric has the same value in as many runs.
fn constant(keys: &[&str], values: &[i64], wallclock: bool) -> Json {
    let newest = i64::try_from(values.len()).unwrap();
    let point = |(index, value): (usize, &i64)| {
        let age = newest - i64::try_from(index).unwrap();
        json!({
            "run_id": age, "commit_sha": commit(age), "run_date": date(age), "value": value,
            "tag": "", "change": null, "patchset": null, "repo": "sample", "pipeline": "promote",
            "host_class": "callgrind", "succeeded": true,
        })
    };
    let points: Vec<Json> = values.iter().enumerate().map(point).collect();
    let metric = |key: &&str| json!({"metric_key": key, "dim_key": "", "wallclock": wallclock, "points": points});
    json!({
        "series": {"workload": "perf", "branch": "main", "arch": "amd64", "distro": "trixie"},
        "metrics": keys.iter().map(metric).collect::<Vec<_>>(),
    })
}

/// A place with one metric, whose history is `newest_first`.
fn one_metric(value: &str, newest_first: &[i64]) -> Place {
    let place = Place::with_change(&[("callgrind.ir", value)]);
    let history = constant(&["callgrind.ir"], newest_first, false);
    place.write("history.json", &history.to_string());
    place
}

impl Left {
    #[track_caller]
    fn is(&self, code: i32, first: &str) {
        let line = self.stdout.lines().next().unwrap_or_default();
        assert_eq!(
            (self.code, line),
            (code, first),
            "{}{}",
            self.stdout,
            self.stderr
        );
    }

    #[track_caller]
    fn says(&self, parts: &[&str]) -> &Self {
        // A sentence may go on in the next line.
        let text = self.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in parts {
            assert!(text.contains(part), "no {part:?} in\n{}", self.stdout);
        }
        self
    }
}

#[test]
fn an_empty_history_is_never_said_to_be_judged() {
    let place = Place::with_change(&UNCHANGED);
    let mut empty = history();
    empty["metrics"] = json!([]);
    place.write("history.json", &empty.to_string());
    let first = "not judged: 3 of 3 metrics have no history; this series has no runs";
    place.gate(&[]).is(3, first);
    // The series is young, and the project has said what that is to mean.
    place.write("gate.toml", "window.on_insufficient = \"pass\"");
    place.gate(&[]).is(0, first);
    // These runs are of another repository: the series is not young.
    place.write("history.json", &history().to_string());
    let left = place.gate(&["--repo=smaple"]);
    let nearest = "the nearest series with runs is perf on main, amd64, trixie of sample";
    let first =
        format!("not judged: 3 of 3 metrics have no history; {nearest} (repo sample, not smaple)");
    left.is(3, &first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slip_in_a_name_is_told_and_does_not_pass() {
    let service = Service::start(ServiceOptions::default()).await;
    let token = service.token("runs:read runs:write").await;
    let place = Place::with_change(&UNCHANGED[..1]).at(&service, &token);
    place.write("gate.toml", "window.on_insufficient = \"pass\"");
    for age in 1..=6 {
        let left = place.run(&["upload"], &run(age, 1_000_000_000, &[]));
        assert_eq!(left.code, 0, "{}", left.stderr);
    }
    let gate = |repo: &str, branch: &str| {
        let args = ["gate", "--document=metrics.json", repo, branch];
        place.run(&args, "")
    };
    let nearest = "the nearest series with runs is perf on main, amd64, trixie of sample";
    assert_eq!(gate("--repo=sample", "--branch=main").code, 0);
    for (repo, branch, differs) in [
        ("--repo=sample", "--branch=mian", "(branch main, not mian)"),
        ("--repo=sample", "--branch=Main", "(branch main, not Main)"),
        (
            "--repo=Sample",
            "--branch=main",
            "(repo sample, not Sample)",
        ),
        (
            "--repo=owner/sample",
            "--branch=main",
            "(repo sample, not owner/sample)",
        ),
    ] {
        let left = gate(repo, branch);
        assert_eq!(left.code, 3, "{repo} {branch}: {}", left.stdout);
        left.says(&[nearest, differs]);
        assert!(
            left.stdout.starts_with("not judged: 1 of 1 metric"),
            "{}",
            left.stdout
        );
    }
    // Another branch is no slip: it is young.
    let left = gate("--repo=sample", "--branch=15.04");
    assert_eq!(left.code, 0, "{}", left.stdout);
    left.says(&[nearest]);
    let other_arch = document(&UNCHANGED[..1])
        .to_string()
        .replace("amd64", "x86_64");
    place.write("metrics.json", &other_arch);
    let left = gate("--repo=sample", "--branch=main");
    assert_eq!(left.code, 3, "{}", left.stdout);
    left.says(&["(arch amd64, not x86_64)"]);
}

#[test]
fn a_new_metric_passes_and_is_told() {
    let values = [
        UNCHANGED[0],
        UNCHANGED[1],
        UNCHANGED[2],
        ("callgrind.new", "7"),
    ];
    let place = Place::with_change(&values);
    let left = place.gate(&[]);
    left.is(
        0,
        "passed: none of 3 metrics got worse; 1 not judged (1 new)",
    );
    assert!(left.stdout.contains("\nnew "), "{}", left.stdout);
}

#[test]
fn what_can_never_be_judged_is_told_with_the_lines_that_let_it_be() {
    let place = Place::with_change(&[]);
    let hyperfine = ["mean", "median", "max"].map(|stat| format!("hyperfine.sleep 0.{stat}_ns"));
    let metrics = hyperfine.iter().map(
        |key| json!({"metric_key": key, "dim_key": "", "value": 1_000_000, "wallclock": true}),
    );
    let mut document = document(&[]);
    document["metrics"] = metrics.collect();
    document["host_class"] = json!("metal");
    place.write("metrics.json", &document.to_string());
    place.write("gate.toml", "");
    let keys: Vec<&str> = hyperfine.iter().map(String::as_str).collect();
    let known = constant(&keys, &[1_000_000; 6], true);
    place.write(
        "history.json",
        &known
            .to_string()
            .replace("\"host_class\":\"callgrind\"", "\"host_class\":\"metal\""),
    );
    let left = place.gate(&[]);
    left.is(
        3,
        "not judged: all 3 metrics are read off a clock, and hosts of this class do not gate",
    );
    let lines = left.stdout.split("add to gate.toml:").nth(1).unwrap();
    assert!(lines.contains("host_classes = [\"metal\"]"), "{lines}");
    place.write("gate.toml", lines);
    place.gate(&[]).is(
        0,
        "passed: none of 2 metrics got worse; 1 not judged (1 only shown)",
    );
}

#[test]
fn a_wrong_run_is_named_and_what_helps() {
    let mut values = [1_000_000_000; 20];
    values[2] = 10_000_000_000;
    let place = one_metric("2000000000", &values);
    let left = place.gate(&[]);
    left.is(3, "not judged: 1 of 1 metric (1 unsteady)");
    left.says(&[
        "run 18 of 000000000000 (2026-11-18) has 10,000,000,000 instr",
        "+100 % without it, within the noise with it",
        "perf-tracking run void",
        "outliers = \"keep\"",
    ]);
    let report: Json = serde_json::from_str(&place.gate(&["--json"]).stdout).unwrap();
    let metric = &report["metrics"][0];
    assert_eq!(metric["status"], "unsteady");
    assert_eq!(
        metric["values"][2],
        json!({"run_id": 18, "value": 10_000_000_000_i64, "outlier": true})
    );
    assert!(
        metric["windows"][1]["without_outliers"]["mean"] == json!(1e9),
        "{metric}"
    );
    // What did not get worse passes beside it.
    let place = one_metric("1000000000", &values);
    assert_eq!(place.gate(&[]).code, 0);
}

#[test]
fn misses_warn() {
    let keys = ["callgrind.ir", "callgrind.llc_misses"];
    let place = Place::with_change(&[(keys[0], "1000000"), (keys[1], "2000000")]);
    place.write("gate.toml", "");
    place.write(
        "history.json",
        &constant(&keys, &[1_000_000; 6], false).to_string(),
    );
    let left = place.gate(&["--junit=gate.xml"]);
    left.is(
        0,
        "passed: none of 2 metrics got worse, 1 worse but only warned about",
    );
    left.says(&["callgrind.llc_misses: +100 %; up to +5 % is allowed by the built-in rule"]);
    assert!(
        place.read("gate.xml").contains("warning: +100 %"),
        "{}",
        place.read("gate.xml")
    );
}

#[test]
fn a_rule_that_matches_nothing_is_told() {
    let place = Place::with_change(&UNCHANGED);
    place.write(
        "gate.toml",
        "[[metric]]\npattern = \"calgrind.*\"\nfloor = \"9 %\"\n",
    );
    let left = place.gate(&[]);
    assert_eq!(left.code, 0);
    left.says(&["note: a rule in gate.toml matches no metric: `calgrind.*` (line 1)"]);
    let checked = place.run(&["gate", "check", "--document=metrics.json"], "");
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    checked.says(&["gate.toml:1: the rule `calgrind.*` matches no metric of the documents"]);
    place.write(
        "gate.toml",
        "[[metric]]\npattern = \"a\"\n[[metric]]\npattern = \"*\"\n",
    );
    place
        .run(&["gate", "check"], "")
        .says(&["gate.toml:1: the rule `a` never holds"]);
    place.write("gate.toml", "[[metrc]]\n");
    place
        .run(&["gate", "check"], "")
        .assert_refused(&["`metrc` is no key"]);
}

#[test]
fn several_documents_are_judged_by_their_medians() {
    let place = one_metric("1000", &[1000; 6]);
    for (name, value) in [("2.json", "9000"), ("3.json", "1002")] {
        place.write(name, &document(&[("callgrind.ir", value)]).to_string());
    }
    let left = place.gate(&["--document=2.json", "--document=3.json"]);
    assert_eq!(left.code, 0, "{}", left.stdout);
    left.says(&["medians of 3 documents", "1,002 instr"]);
    place.write("3.json", &document(&[("callgrind.other", "1")]).to_string());
    place
        .gate(&["--document=3.json"])
        .assert_refused(&["only one of `metrics.json` and `3.json` has the metric"]);
    let other = document(&[("callgrind.ir", "1")])
        .to_string()
        .replace("\"threads\":1", "\"threads\":2");
    place.write("3.json", &other);
    place
        .gate(&["--document=3.json"])
        .assert_refused(&["measured with other parameters"]);
}

#[test]
fn nothing_measured_passes_and_says_so() {
    let place = Place::new();
    let args = [
        "gate",
        "--nothing-measured",
        "only the manual changed",
        "--markdown=c.md",
        "--junit=g.xml",
    ];
    let left = place.run(&args, "");
    left.is(
        0,
        "not judged: nothing was measured on purpose: only the manual changed",
    );
    assert!(
        place
            .read("c.md")
            .contains("nothing was measured on purpose")
    );
    assert!(
        place.read("g.xml").contains("<skipped"),
        "{}",
        place.read("g.xml")
    );
    place
        .run(&["gate", "--nothing-measured", " "], "")
        .assert_refused(&["wants the reason"]);
}

#[test]
fn the_windows_may_end_at_the_base() {
    let mut values = [1000; 12];
    values[..6].fill(500);
    let place = one_metric("1000", &values);
    assert_eq!(place.gate(&[]).code, 1);
    let base = format!("--base={}", commit(6));
    let left = place.gate(&[&base, "--explain"]);
    assert_eq!(left.code, 0, "{}", left.stdout);
    left.says(&[
        "500 instr left out: newer than the base of the change",
        "newest 6",
    ]);
    let unknown = format!("--base={}", commit(77));
    place
        .gate(&[&unknown])
        .assert_refused(&["has no run in this series, and"]);
}

#[test]
fn every_run_of_a_window_can_be_seen() {
    let place = Place::with_change(&UNCHANGED);
    let mut known = history();
    known["metrics"][0]["points"][4]["succeeded"] = json!(false);
    known["metrics"][0]["points"][5]["repo"] = json!("fork");
    place.write("history.json", &known.to_string());
    let own = format!("--commit={}", commit(20));
    let left = place.gate(&[&own, "--repo=sample", "--explain"]);
    left.says(&[
        "2026-11-20 ffffffffffff run 20 1,000,000,000 instr left out: the commit that is judged",
        "2026-11-19 000000000000 run 19 1,003,000,000 instr",
        "2026-11-16 000000000000 run 16 the run failed",
        "2026-11-15 000000000000 run 15 another repository, fork",
    ]);
    let report: Json =
        serde_json::from_str(&place.gate(&[&own, "--repo=sample", "--json"]).stdout).unwrap();
    assert_eq!(report["left_out_runs"][0]["why"], "the run failed");
    assert_eq!(
        report["metrics"][0]["left_out"][0]["why"],
        "the commit that is judged"
    );
    assert_eq!(report["runs"]["19"]["run_date"], date(19));
}

#[test]
fn accepting_a_step_is_one_line() {
    let worse = [
        ("callgrind.ir", "1080000000"),
        UNCHANGED[1],
        ("size.drizzled_bytes", "5300000"),
    ];
    let place = Place::with_change(&worse);
    let left = place.gate(&[]);
    assert_eq!(left.code, 1);
    // What the report shows can be pasted as it is.
    let lines = left
        .stdout
        .split(
            "):

",
        )
        .nth(1)
        .unwrap();
    place.write("pasted.toml", &format!("{RULES}{lines}"));
    assert_eq!(place.gate(&["--config=pasted.toml"]).code, 0, "{lines}");

    let accept = [
        "gate",
        "accept",
        "--document=metrics.json",
        "--history=history.json",
        "--why=checksums",
        "--by=Ada \"L\"",
    ];
    let dry = place.run(&[&accept[..], &["--dry-run"]].concat(), "");
    assert_eq!((dry.code, place.read("gate.toml").as_str()), (0, RULES));
    let left = place.run(&accept, "");
    assert_eq!(left.code, 0, "{}", left.stderr);
    let rules = place.read("gate.toml");
    assert!(
        rules.starts_with(RULES) && rules.contains("why = \"checksums\""),
        "{rules}"
    );
    let accepted = place.gate(&[]);
    accepted.is(
        0,
        "passed: none of 3 metrics got worse, 2 within an accepted step",
    );
    let more = [("callgrind.ir", "1090000000"), worse[1], worse[2]];
    place.write("metrics.json", &document(&more).to_string());
    assert_eq!(place.gate(&[]).code, 1);
    place.write("metrics.json", &document(&UNCHANGED).to_string());
    place
        .run(&accept, "")
        .says(&["nothing got worse, and nothing is added"]);
}

#[test]
fn a_bisection_skips_what_cannot_be_judged() {
    let place = one_metric("2000", &[1000; 6]);
    assert_eq!(place.gate(&["--bisect"]).code, 1);
    place.write(
        "metrics.json",
        &document(&[("callgrind.ir", "1000")]).to_string(),
    );
    assert_eq!(place.gate(&["--bisect"]).code, 0);
    place.write(
        "history.json",
        &constant(&["callgrind.ir"], &[1000; 2], false).to_string(),
    );
    assert_eq!(place.gate(&["--bisect"]).code, 125);
    place.write("gate.toml", "window.on_insufficient = \"pass\"");
    assert_eq!(place.gate(&["--bisect"]).code, 125);
    place.write("metrics.json", "{");
    assert_eq!(place.gate(&["--bisect"]).code, 125);
}

#[test]
fn a_renamed_metric_keeps_its_history() {
    let place = Place::with_change(&[("callgrind.instructions", "2000")]);
    place.write(
        "history.json",
        &constant(&["callgrind.ir"], &[1000; 6], false).to_string(),
    );
    assert_eq!(place.gate(&[]).code, 3);
    place.write(
        "gate.toml",
        "[[renamed]]\nmetric = \"callgrind.ir\"\nto = \"callgrind.instructions\"\n",
    );
    place.gate(&[]).is(1, "regression: 1 of 1 metric got worse");
    // A workload too: the history is that of the name before.
    let place = Place::with_change(&[("callgrind.ir", "2000")]);
    let known = constant(&["callgrind.ir"], &[1000; 6], false);
    place.write(
        "history.json",
        &known.to_string().replace("\"perf\"", "\"oltp\""),
    );
    place
        .gate(&["--branch=main"])
        .assert_refused(&["is the history of oltp on main"]);
    place.write(
        "gate.toml",
        "[[renamed]]\nworkload = \"oltp\"\nto = \"perf\"\n",
    );
    assert_eq!(place.gate(&["--branch=main"]).code, 1);
}

#[test]
fn five_thousand_metrics_that_pass_are_twenty_lines() {
    let keys: Vec<String> = (0..5000)
        .map(|n| format!("callgrind.function_with_a_rather_long_name_{n:04}"))
        .collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let values: Vec<(&str, &str)> = keys.iter().map(|key| (*key, "1000")).collect();
    let place = Place::with_change(&values);
    place.write(
        "history.json",
        &constant(&keys, &[1000; 6], false).to_string(),
    );
    let left = place.gate(&[]);
    left.is(0, "passed: none of 5000 metrics got worse");
    let lines: Vec<&str> = left.stdout.lines().collect();
    assert!(lines.len() <= 20, "{}", left.stdout);
    assert!(
        lines.iter().all(|line| line.chars().count() <= 80),
        "{}",
        left.stdout
    );
    left.says(&["… and 4,990 more unchanged"]);
}

#[test]
fn no_line_of_a_report_is_wider_than_eighty_columns() {
    let long = "callgrind.a_function_whose_name_is_as_long_as_names_may_be_in_this_project_0123";
    let place = Place::with_change(&[
        (long, "9000000000"),
        ("callgrind.::error::x ##[group]y", "1"),
    ]);
    let keys = [long, "callgrind.::error::x ##[group]y", "::warning::gone"];
    place.write(
        "history.json",
        &constant(&keys, &[1_000_000_000; 6], false).to_string(),
    );
    let left = place.gate(&[]);
    assert_eq!(left.code, 1);
    for line in left.stdout.lines() {
        // What is to be pasted stays whole.
        let is_toml = line.starts_with("metric = ") || line.starts_with("series = ");
        assert!(is_toml || line.chars().count() <= 80, "{line}");
        assert!(!line.trim_start().starts_with("::"), "{line}");
        assert!(!line.contains("##["), "{line}");
    }
}

#[test]
fn a_history_can_be_replayed_under_two_rule_files() {
    let mut newest_first = [1000; 12];
    newest_first[3] = 1100;
    let place = one_metric("1000", &newest_first);
    place.write("gate.toml", "");
    place.write(
        "lenient.toml",
        "[[metric]]\npattern = \"*\"\nfloor = \"20 %\"\n",
    );
    let replay = ["gate", "replay", "--history=history.json"];
    let left = place.run(&replay, "");
    assert_eq!(left.code, 0, "{}", left.stderr);
    left.says(&[
        "2026-11-09 000000000000 failed callgrind.ir +10.0 %",
        "2026-11-10 000000000000 passed",
        "gate.toml: 1 of 7 judged commits would have failed (14.3 %)",
    ]);
    let left = place.run(&[&replay[..], &["--rules=lenient.toml"]].concat(), "");
    left.says(&[
        "failed passed differs callgrind.ir",
        "they differ in 1 of 12 commits",
    ]);
}

#[test]
fn calibrated_rules_are_a_gate_toml() {
    let mut newest_first = [1000; 20];
    newest_first[3] = 1043;
    newest_first[9] = 1021;
    let place = one_metric("1000", &newest_first);
    place.write("gate.toml", "");
    for (name, value) in [("1.json", "1000"), ("2.json", "1003")] {
        place.write(name, &document(&[("callgrind.ir", value)]).to_string());
    }
    let args = [
        "gate",
        "calibrate",
        "--history=history.json",
        "--document=1.json",
        "--document=2.json",
    ];
    let left = place.run(&args, "");
    assert_eq!(left.code, 0, "{}", left.stderr);
    left.says(&[
        "largest change of 20 runs that came back: +4.30 % (000000000000, 2026-11-17)",
        "passes of one commit differ by +0.30 %",
        "floor = \"5 %\"",
        "gate.toml as it is 1 of 15 commits (6.7 %)",
        "these rules, k = 3 0 of 15 commits (0.0 %)",
        "these rules, k = \"auto\"",
    ]);
    place.write("gate.toml", &left.stdout);
    assert_eq!(place.run(&["gate", "check"], "").code, 0);
    place.write(
        "metrics.json",
        &document(&[("callgrind.ir", "1049")]).to_string(),
    );
    assert_eq!(place.gate(&[]).code, 0);
}

#[test]
fn runs_of_other_parameters_are_left_out_of_the_windows() {
    let place = Place::with_change(&[("callgrind.ir", "1180")]);
    place.write("gate.toml", "");
    let mut changed = document(&[("callgrind.ir", "1180")]);
    changed["parameters"] = json!({"rounds": 9});
    place.write("metrics.json", &changed.to_string());
    let mut history = constant(&["callgrind.ir"], &[1000; 6], false);
    history["parameter_sets"] = json!([{"rounds": 8}]);
    for point in history["metrics"][0]["points"].as_array_mut().unwrap() {
        point["parameter_set"] = json!(0);
    }
    place.write("history.json", &history.to_string());
    let left = place.gate(&["--explain"]);
    assert_eq!(left.code, 3, "{}", left.stdout);
    left.says(&["other parameters: rounds"]);
    // With the same parameters it is a regression.
    history["parameter_sets"] = json!([{"rounds": 9}]);
    place.write("history.json", &history.to_string());
    assert_eq!(place.gate(&[]).code, 1);
}
