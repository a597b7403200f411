use proptest::prelude::*;

use super::super::finding::Conclusion;
use super::super::history::Nearby;
use super::*;
use crate::domain::{DimKey, MetricKey, Parameter, RunDate};

/// The judgement with a history that nothing is left out of.
fn judge(policy: &Policy, candidate: &Candidate, metrics: &[MetricHistory]) -> Judgement {
    super::judge(policy, candidate, &History::from(metrics.to_vec()))
}

const OWN: &str = "ffffffffffffffffffffffffffffffffffffffff";

fn name(key: &str) -> MetricName {
    MetricName {
        metric_key: key.parse::<MetricKey>().unwrap(),
        dim_key: DimKey::scalar(),
    }
}

fn metric(key: &str, value: &str) -> Metric {
    Metric {
        name: name(key),
        value: value.parse().unwrap(),
        wallclock: false,
    }
}

fn candidate(metrics: Vec<Metric>) -> Candidate {
    Candidate {
        series: Series {
            workload: "perf".parse().unwrap(),
            branch: "main".parse().unwrap(),
            arch: "amd64".parse().unwrap(),
            distro: "trixie".parse().unwrap(),
        },
        commit: Some(OWN.parse().unwrap()),
        base: None,
        host_class: "callgrind".parse().unwrap(),
        succeeded: true,
        parameters: Parameters::new(),
        metrics,
    }
}

fn day(number: i64) -> RunDate {
    format!("2026-01-{:02}T12:00:00Z", number + 1)
        .parse()
        .unwrap()
}

fn sha(number: i64) -> CommitSha {
    format!("{number:040x}").parse().unwrap()
}

fn point(number: i64, value: &str) -> HistoryPoint {
    HistoryPoint {
        run_id: number,
        run_date: day(number),
        commit: sha(number),
        host_class: "callgrind".parse().unwrap(),
        parameters: None,
        value: value.parse().unwrap(),
    }
}

/// One point a day, oldest first.
fn history(key: &str, oldest_first: &[&str]) -> MetricHistory {
    let points = oldest_first
        .iter()
        .zip(0..)
        .map(|(value, number)| point(number, value));
    MetricHistory {
        name: name(key),
        wallclock: false,
        points: points.collect(),
    }
}

fn policy(text: &str) -> Policy {
    Policy::parse(text).unwrap()
}

fn finding(policy: &Policy, value: &str, oldest_first: &[&str]) -> Finding {
    let found = judge(
        policy,
        &candidate(vec![metric("callgrind.ir", value)]),
        &[history("callgrind.ir", oldest_first)],
    );
    assert_eq!(found.metrics.len(), 1);
    found.metrics[0].finding
}

#[test]
fn the_windows_of_a_step_disagree_and_the_policy_combines_them() {
    // The newest five know the new level, the newest twenty do not yet.
    let step: Vec<&str> = [["5000"; 19].as_slice(), &["5100"]].concat();
    let found = |policy: &Policy| {
        let candidate = candidate(vec![metric("size.bytes", "5100")]);
        judge(policy, &candidate, &[history("size.bytes", &step)]).metrics[0].finding
    };
    assert_eq!(found(&Policy::default()), Finding::Regression);
    // Of these, the newest is a spike until a second run confirms it.
    let all = "window.combine = \"all\"";
    assert_eq!(found(&policy(all)), Finding::Unsteady);
    let kept = format!("{all}\nwindow.outliers = \"keep\"");
    assert_eq!(found(&policy(&kept)), Finding::Pass);
}

#[test]
fn too_few_values_are_told_with_how_many_there_are_and_how_many_are_needed() {
    let policy = Policy::default();
    for runs in 0..5_u32 {
        let values = vec!["100"; runs as usize];
        let expected = Finding::Insufficient { runs, needed: 5 };
        assert_eq!(finding(&policy, "1000", &values), expected);
    }
    assert_eq!(finding(&policy, "1000", &["100"; 5]), Finding::Regression);
}

#[test]
fn a_metric_that_no_run_has_is_new_and_one_that_is_gone_is_missing() {
    let candidate = candidate(vec![metric("callgrind.ir", "100"), metric("new", "1")]);
    let known = vec![
        history("callgrind.ir", &["100"; 6]),
        history("gone", &["1", "2"]),
    ];
    let found = judge(&Policy::default(), &candidate, &known);
    let found: Vec<_> = found
        .metrics
        .iter()
        .map(|m| (m.name.metric_key.as_str(), m.finding))
        .collect();
    assert_eq!(
        found,
        [
            ("callgrind.ir", Finding::Pass),
            ("gone", Finding::Missing { runs: 2 }),
            ("new", Finding::New { runs: 0, needed: 5 }),
        ]
    );
}

#[test]
fn the_candidates_own_commit_is_left_out() {
    let mut known = history("callgrind.ir", &["100"; 5]);
    let own = HistoryPoint {
        commit: OWN.parse().unwrap(),
        ..point(9, "200")
    };
    known.points.push(own);
    let candidate = candidate(vec![metric("callgrind.ir", "200")]);
    let found = judge(&Policy::default(), &candidate, &[known]);
    assert_eq!(found.metrics[0].finding, Finding::Regression);
    assert_eq!(found.metrics[0].windows[0].all.mean, 100.0);
}

#[test]
fn an_accepted_step_starts_the_windows_anew() {
    let step: Vec<&str> = [["100"; 10].as_slice(), &["120"; 5]].concat();
    let strict = "window = { sizes = [20] }";
    assert_eq!(finding(&policy(strict), "120", &step), Finding::Pass);
    assert_eq!(finding(&policy(strict), "90", &step), Finding::Pass);
    for since in [
        format!("since_commit = \"{}\"", sha(10)),
        "since_date = 2026-01-11".to_owned(),
    ] {
        let accepted = format!(
            "{strict}\n[[accepted]]\nmetric = \"callgrind.*\"\nwhy = \"w\"\nby = \"b\"\n{since}"
        );
        let accepted = policy(&accepted);
        assert_eq!(
            finding(&accepted, "90", &step),
            Finding::Improved,
            "{since}"
        );
        assert_eq!(
            finding(&accepted, "124", &step),
            Finding::Regression,
            "{since}"
        );
        let early = finding(&accepted, "120", &step[..12]);
        assert_eq!(
            early,
            Finding::Insufficient { runs: 2, needed: 5 },
            "{since}"
        );
    }
}

/// A policy with one accepted step of every metric.
fn accepting(keys: &str) -> Policy {
    policy(&format!(
        "[[accepted]]\nmetric = \"*\"\nwhy = \"w\"\nby = \"b\"\n{keys}"
    ))
}

#[test]
fn an_accepted_step_may_ask_for_fewer_runs() {
    let step: Vec<&str> = [["100"; 10].as_slice(), &["120"]].concat();
    let merged = accepting("min_runs = 1\nsince_date = 2026-01-11");
    assert_eq!(finding(&merged, "123", &step), Finding::Pass);
    assert_eq!(finding(&merged, "124", &step), Finding::Regression);
    // The change that makes the step: there is none to judge by.
    let own = accepting(&format!("min_runs = 1\nsince_commit = \"{OWN}\""));
    let expected = Finding::Insufficient { runs: 0, needed: 1 };
    assert_eq!(finding(&own, "120", &step[..10]), expected);
    // Without a step in the windows the general number holds.
    let long_ago = accepting("min_runs = 1\nsince_date = 2000-01-01");
    let expected = Finding::Insufficient { runs: 1, needed: 5 };
    assert_eq!(finding(&long_ago, "1", &["1"]), expected);
}

#[test]
fn a_young_level_lets_pass_what_its_step_goes_up_to_and_nothing_worse() {
    let accepted = accepting("up_to = 121\nsince_date = 2026-01-11");
    let step: Vec<&str> = [["100"; 10].as_slice(), &["120"; 5]].concat();
    for runs in 0..5_u32 {
        let young = YoungLevel {
            runs,
            needed: 5,
            up_to: "121".parse().unwrap(),
        };
        let known = &step[..10 + runs as usize];
        assert_eq!(finding(&accepted, "1", known), Finding::Accepted(young));
        assert_eq!(finding(&accepted, "121", known), Finding::Accepted(young));
        let beyond = finding(&accepted, "121.0001", known);
        assert_eq!(beyond, Finding::BeyondStep(young));
        assert_eq!(beyond.status(), Status::Regression);
    }
    // Then its own runs say what passes.
    assert_eq!(finding(&accepted, "123", &step), Finding::Pass);
    assert_eq!(finding(&accepted, "124", &step), Finding::Regression);
    // A series that has no older level has no step: its history is short, and that is said.
    let expected = Finding::Insufficient { runs: 0, needed: 5 };
    assert_eq!(finding(&accepted, "120", &[]), expected);
}

#[test]
fn a_step_that_never_comes_lets_pass_no_more_than_it_names() {
    let typing_error = accepting("up_to = 121\nsince_date = 2062-01-11");
    let known = ["100"; 30];
    assert_eq!(
        finding(&typing_error, "120", &known).status(),
        Status::Accepted
    );
    assert_eq!(
        finding(&typing_error, "200", &known).status(),
        Status::Regression
    );
}

#[test]
fn a_step_down_goes_down_to_its_value() {
    let text = "[[metric]]\npattern = \"*\"\nworse = \"lower\"\n[[accepted]]\nmetric = \"*\"\nwhy = \"w\"\nby = \"b\"\nup_to = 80\nsince_date = 2026-01-11";
    let status = |value| finding(&policy(text), value, &["100"; 10]).status();
    assert_eq!(status("80"), Status::Accepted);
    assert_eq!(status("79.9999"), Status::Regression);
    assert_eq!(status("200"), Status::Accepted);
}

#[test]
fn a_young_level_is_shown_beside_the_one_before_it() {
    let accepted = accepting("up_to = 121\nsince_date = 2026-01-11");
    let step: Vec<&str> = [["100"; 10].as_slice(), &["120"]].concat();
    let found = judge(
        &accepted,
        &candidate(vec![metric("callgrind.ir", "120")]),
        &[history("callgrind.ir", &step[..10])],
    );
    let shown = &found.metrics[0].windows[0].all;
    assert_eq!((shown.n, shown.mean, shown.change), (5, 100.0, 20.0));
    assert_eq!(found.conclusion(), Conclusion::Passed);
}

#[test]
fn an_accepted_step_of_another_metric_or_series_changes_nothing() {
    for (metric, series) in [("size.*", ""), ("*", "series.branch = \"14.04\"\n")] {
        let policy = policy(&format!(
            "[[accepted]]\nmetric = \"{metric}\"\nwhy = \"w\"\nby = \"b\"\nsince_date = 2026-02-01\n{series}"
        ));
        assert_eq!(finding(&policy, "100", &["100"; 6]), Finding::Pass);
    }
}

#[test]
fn a_step_at_a_commit_that_no_run_has_cuts_nothing_and_is_told_of_where_it_might_matter() {
    let policy = policy(&format!(
        "[[accepted]]\nmetric = \"*\"\nwhy = \"w\"\nby = \"b\"\nsince_commit = \"{}\"",
        sha(99)
    ));
    let unknown = |value| {
        let candidate = candidate(vec![metric("callgrind.ir", value)]);
        let found = judge(&policy, &candidate, &[history("callgrind.ir", &["100"; 6])]);
        (found.metrics[0].finding, found.unknown_steps.len())
    };
    assert_eq!(unknown("120"), (Finding::Regression, 1));
    assert_eq!(unknown("100"), (Finding::Pass, 0));
}

#[test]
fn clocks_gate_only_on_named_hosts_and_against_their_own_class() {
    let on = |class: &str, policy_text: &str| {
        let mut candidate = candidate(vec![Metric {
            wallclock: true,
            ..metric("tps", "100")
        }]);
        candidate.host_class = class.parse().unwrap();
        let mut known = history(
            "tps",
            &["100", "100", "100", "100", "100", "7", "7", "7", "7", "7"],
        );
        known.wallclock = true;
        for (index, point) in known.points.iter_mut().enumerate() {
            point.host_class = if index < 5 { "metal-1" } else { "metal-2" }
                .parse()
                .unwrap();
        }
        judge(&policy(policy_text), &candidate, &[known]).metrics[0].finding
    };
    let named = "wallclock.host_classes = [\"metal-1\", \"metal-3\"]";
    assert_eq!(on("metal-1", named), Finding::Pass);
    assert_eq!(on("metal-2", named), Finding::Skipped(Skip::HostClass));
    assert_eq!(
        on("metal-3", named),
        Finding::Insufficient { runs: 0, needed: 5 }
    );
    assert_eq!(on("metal-1", ""), Finding::Skipped(Skip::HostClass));
}

#[test]
fn a_clock_that_is_gone_is_missed_only_where_it_would_gate() {
    let mut known = history("tps", &["100"]);
    known.wallclock = true;
    let count = |policy_text| {
        let candidate = candidate(vec![metric("callgrind.ir", "1")]);
        judge(&policy(policy_text), &candidate, &[known.clone()])
            .metrics
            .len()
    };
    assert_eq!(count(""), 1);
    assert_eq!(count("wallclock.host_classes = [\"callgrind\"]"), 2);
}

#[test]
fn an_ignored_metric_is_neither_judged_nor_missed() {
    let policy = policy("[[metric]]\npattern = \"*.ir\"\nignore = true");
    assert_eq!(
        finding(&policy, "900", &["100"; 6]),
        Finding::Skipped(Skip::Ignored)
    );
    let none = judge(
        &policy,
        &candidate(vec![metric("x", "1")]),
        &[history("callgrind.ir", &["100"; 6])],
    );
    assert_eq!(none.metrics.len(), 1);
}

/// Parameters out of a JSON object.
fn parameters_of(text: &str) -> Parameters {
    use serde_json::value::RawValue;
    let object: std::collections::BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(text).unwrap();
    let read = |(name, value): (String, Box<RawValue>)| {
        (name.parse().unwrap(), Parameter::from_words(value.get()))
    };
    object.into_iter().map(read).collect()
}

#[test]
fn other_parameters_keep_a_document_from_being_judged() {
    let policy = policy("[parameters]\nthreads = 1\nscript = \"a\"\nrate = 0.5");
    let obstacles = |parameters: &str| {
        let mut candidate = candidate(vec![metric("x", "1")]);
        candidate.parameters = parameters_of(parameters);
        let found = judge(&policy, &candidate, &[]);
        assert_eq!(found.metrics.is_empty(), !found.obstacles.is_empty());
        let names = found.obstacles.iter().map(|obstacle| match obstacle {
            Obstacle::OtherParameter { name, .. } => name.to_string(),
            other => panic!("{other:?}"),
        });
        names.collect::<Vec<_>>()
    };
    assert!(obstacles(r#"{"threads": 1.0, "script": "a", "rate": 5e-1}"#).is_empty());
    assert_eq!(
        obstacles(r#"{"threads": 2, "script": "a", "rate": 0.5}"#),
        ["threads"]
    );
    assert_eq!(
        obstacles(r#"{"threads": "1", "script": "a", "rate": 0.5}"#),
        ["threads"]
    );
    assert_eq!(
        obstacles(r#"{"script": "a", "more": true}"#),
        ["more", "rate", "threads"]
    );
}

#[test]
fn a_failed_or_empty_document_is_never_passed() {
    let failed = Candidate {
        succeeded: false,
        ..candidate(vec![metric("x", "1")])
    };
    for (candidate, obstacle) in [
        (failed, Obstacle::NotSucceeded),
        (candidate(Vec::new()), Obstacle::NoMetrics),
    ] {
        let found = judge(
            &policy("window.on_insufficient = \"pass\""),
            &candidate,
            &[],
        );
        assert_eq!(found.obstacles, [obstacle]);
        assert_eq!(found.conclusion(), Conclusion::Undecided);
    }
}

#[test]
fn the_worst_finding_concludes() {
    let conclusion = |text: &str, runs: usize, metrics: &[(&str, &str)]| {
        let metrics = metrics
            .iter()
            .map(|(key, value)| metric(key, value))
            .collect();
        let known = [history("a", &["100"; 9][..runs])];
        judge(&policy(text), &candidate(metrics), &known).conclusion()
    };
    let lenient = "window.on_insufficient = \"pass\"";
    assert_eq!(
        conclusion("", 6, &[("a", "200"), ("b", "1")]),
        Conclusion::Regression
    );
    // `b` is new in a series that has runs enough.
    assert_eq!(
        conclusion("", 6, &[("a", "100"), ("b", "1")]),
        Conclusion::Passed
    );
    assert_eq!(conclusion("", 3, &[("a", "100")]), Conclusion::Undecided);
    assert_eq!(conclusion(lenient, 3, &[("a", "100")]), Conclusion::Passed);
    assert_eq!(
        conclusion(lenient, 6, &[("b", "1")]),
        Conclusion::Undecided,
        "a is missing"
    );
    assert_eq!(conclusion(lenient, 0, &[("a", "100")]), Conclusion::Passed);
}

#[test]
fn too_little_history_passes_only_while_the_series_is_young() {
    let lenient = policy("window.on_insufficient = \"pass\"");
    let candidate = candidate(vec![Metric {
        wallclock: false,
        ..metric("a", "100")
    }]);
    let nearby = |is_slip| Nearby {
        series: candidate.series.clone(),
        repos: Vec::new(),
        differs: Vec::new(),
        is_slip,
    };
    for (is_slip, expected) in [(true, Conclusion::Undecided), (false, Conclusion::Passed)] {
        let history = History {
            nearby: vec![nearby(is_slip)],
            ..History::default()
        };
        let found = super::judge(&lenient, &candidate, &history);
        assert_eq!(found.conclusion(), expected, "{is_slip}");
        assert_eq!(found.judged(), 0);
    }
}

#[test]
fn one_wrong_run_does_not_blind_the_gate() {
    // Ten times too high in one run of the newest five; doubled, and unchanged.
    for place in 15..20 {
        let mut values = vec!["100"; 20];
        values[place] = "1000";
        let found = |text: &str, value: &str| finding(&policy(text), value, &values);
        assert_eq!(found("", "200"), Finding::Unsteady, "{place}");
        assert_eq!(found("", "100"), Finding::Pass, "{place}");
        let kept = "window.outliers = \"keep\"";
        assert_eq!(found(kept, "200"), Finding::Pass, "{place}");
        let of_metric = "[[metric]]\npattern = \"*.ir\"\noutliers = \"keep\"";
        assert_eq!(found(of_metric, "200"), Finding::Pass, "{place}");
    }
    // The window that it is not in sees the change as before.
    let old: Vec<&str> = [["1000"].as_slice(), &["100"; 19]].concat();
    assert_eq!(
        finding(&Policy::default(), "200", &old),
        Finding::Regression
    );
    let young = ["100", "101", "200", "99", "100"];
    assert_eq!(
        finding(&Policy::default(), "200", &young),
        Finding::Unsteady
    );
    assert_eq!(finding(&Policy::default(), "100", &young), Finding::Pass);
}

#[test]
fn a_second_run_confirms_a_step() {
    let spike: Vec<&str> = [["100"; 19].as_slice(), &["120"]].concat();
    assert_eq!(
        finding(&Policy::default(), "108", &spike),
        Finding::Unsteady
    );
    let step: Vec<&str> = [["100"; 18].as_slice(), &["120"; 2]].concat();
    assert_eq!(finding(&Policy::default(), "108", &step), Finding::Pass);
}

#[test]
fn a_metric_that_warns_never_fails() {
    let known = [history("callgrind.l1_misses", &["10000"; 6])];
    let found = |text: &str, value: &str| {
        let candidate = candidate(vec![metric("callgrind.l1_misses", value)]);
        let found = judge(&policy(text), &candidate, &known);
        (found.metrics[0].finding, found.conclusion())
    };
    assert_eq!(found("", "20000"), (Finding::Warning, Conclusion::Passed));
    // Fewer than a hundred more are nothing.
    let rule = "[[metric]]\npattern = \"callgrind.l1_misses\"\nfloor = \"0 %\"";
    assert_eq!(
        found(rule, "20000"),
        (Finding::Regression, Conclusion::Regression)
    );
    assert_eq!(found(rule, "10100").0, Finding::Pass);
    assert_eq!(found(rule, "10101").0, Finding::Regression);
    // A rule for everything says nothing of this metric.
    let all = "[[metric]]\npattern = \"*\"\nfloor = \"1 %\"";
    assert_eq!(found(all, "20000").0, Finding::Warning);
    let warns = "[[metric]]\npattern = \"*\"\ngate = \"fail\"";
    assert_eq!(found(warns, "20000").0, Finding::Regression);
}

#[test]
fn a_handful_of_few_is_noise() {
    let known = [history("callgrind.global_bus_events", &["46"; 6])];
    let candidate = candidate(vec![metric("callgrind.global_bus_events", "56")]);
    assert_eq!(
        judge(&Policy::default(), &candidate, &known).metrics[0].finding,
        Finding::Pass
    );
}

#[test]
fn a_rate_is_worse_when_it_falls() {
    let mut known = history("jmh.Queue.offer.thrpt_ops_per_second", &["1000"; 6]);
    known.wallclock = true;
    let found = |value: &str| {
        let candidate = candidate(vec![Metric {
            wallclock: true,
            ..metric("jmh.Queue.offer.thrpt_ops_per_second", value)
        }]);
        let policy = policy(
            "wallclock.host_classes = [\"callgrind\"]\n[[metric]]\npattern = \"*\"\nfloor = \"5 %\"",
        );
        judge(&policy, &candidate, std::slice::from_ref(&known)).metrics[0].finding
    };
    assert_eq!(found("2130"), Finding::Improved);
    assert_eq!(found("500"), Finding::Regression);
}

#[test]
fn a_step_may_go_up_to_a_change_of_each_metric() {
    let text = "[[accepted]]\nmetric = [\"a\", \"b\"]\nwhy = \"w\"\nby = \"b\"\nsince_date = 2026-02-01\nup_to = \"+8 %\"";
    let known = [history("a", &["100"; 6]), history("b", &["5000"; 6])];
    let found = |a: &str, b: &str| {
        let candidate = candidate(vec![metric("a", a), metric("b", b)]);
        let found = judge(&policy(text), &candidate, &known);
        found
            .metrics
            .iter()
            .map(|m| m.finding.status())
            .collect::<Vec<_>>()
    };
    assert_eq!(found("108", "5400"), [Status::Accepted, Status::Accepted]);
    assert_eq!(
        found("108.0001", "5400.0001"),
        [Status::Regression, Status::Regression]
    );
}

#[test]
fn windows_end_at_the_base_of_the_change() {
    let mut candidate = candidate(vec![metric("a", "100")]);
    let values: Vec<&str> = [["100"; 6].as_slice(), &["50"; 6]].concat();
    let known = [history("a", &values)];
    let found = judge(&Policy::default(), &candidate, &known);
    assert_eq!(found.metrics[0].finding, Finding::Regression);
    candidate.base = Some(point(5, "100").position());
    let found = judge(&Policy::default(), &candidate, &known);
    assert_eq!(found.metrics[0].finding, Finding::Pass);
    assert_eq!(found.series_runs, 6);
    let left_out = found.metrics[0].left_out.iter();
    assert_eq!(
        left_out
            .filter(|left| left.why == LeftOut::NewerThanBase)
            .count(),
        6
    );
}

#[test]
fn a_metric_keeps_its_history_under_its_new_name() {
    let text = "[[renamed]]\nmetric = \"old.*\"\nto = \"new.*\"\nsince_date = 2026-01-06";
    let known = [history("old.a", &["100"; 9])];
    let found = |text: &str| {
        let candidate = candidate(vec![metric("new.a", "120")]);
        let found = judge(&policy(text), &candidate, &known);
        let findings = found.metrics.iter().map(|m| m.finding);
        (findings.collect::<Vec<_>>(), found.metrics[0].values.len())
    };
    // The runs from the rename on are of something else that has the old name.
    assert_eq!(found(text), (vec![Finding::Regression], 5));
    assert_eq!(
        found("").0,
        [
            Finding::New { runs: 0, needed: 5 },
            Finding::Missing { runs: 9 }
        ]
    );
}

#[test]
fn runs_of_other_parameters_are_left_out() {
    let mut known = history("a", &["100"; 6]);
    let parameters = std::sync::Arc::new(parameters_of(r#"{"rounds": 8}"#));
    for point in &mut known.points {
        point.parameters = Some(std::sync::Arc::clone(&parameters));
    }
    let found = |rounds: &str| {
        let mut candidate = candidate(vec![metric("a", "120")]);
        candidate.parameters = parameters_of(rounds);
        let lenient = policy("window.on_insufficient = \"pass\"");
        judge(&lenient, &candidate, std::slice::from_ref(&known))
    };
    assert_eq!(
        found(r#"{"rounds": 8.0}"#).conclusion(),
        Conclusion::Regression
    );
    let other = found(r#"{"rounds": 9}"#);
    assert_eq!(other.conclusion(), Conclusion::Undecided);
    let why = LeftOut::OtherParameters(vec!["rounds".to_owned()]);
    assert!(other.metrics[0].left_out.iter().all(|left| left.why == why));
}

#[test]
fn what_no_rule_lets_judge_is_no_pass() {
    let clock = Metric {
        wallclock: true,
        ..metric("hyperfine.a.mean_ns", "1")
    };
    let conclusion =
        |text: &str| judge(&policy(text), &candidate(vec![clock.clone()]), &[]).conclusion();
    assert_eq!(conclusion(""), Conclusion::Undecided);
    // Whoever says so is taken by his word.
    let ignored = "[[metric]]\npattern = \"*\"\nignore = true";
    assert_eq!(conclusion(ignored), Conclusion::Passed);
}

#[test]
fn an_automatic_k_fails_one_of_a_hundred_builds() {
    // s of these is 1, so that the distance from the mean is counted in deviations.
    let known: Vec<MetricHistory> = (0..100)
        .map(|n| history(&format!("m{n}"), &["99", "101", "100", "99", "101"]))
        .collect();
    let worst = |value: &str| {
        let metrics =
            (0..100).map(|n| metric(&format!("m{n}"), if n == 0 { value } else { "100" }));
        let found = judge(
            &policy("window.k = \"auto\""),
            &candidate(metrics.collect()),
            &known,
        );
        found.conclusion()
    };
    assert_eq!(worst("110"), Conclusion::Passed);
    assert_eq!(worst("130"), Conclusion::Regression);
}

fn any_value() -> impl Strategy<Value = String> {
    (0..2000_u32).prop_map(|number| format!("{}.{}", number / 10, number % 10))
}

proptest! {
    #[test]
    fn the_order_of_arrival_changes_nothing(
        values in proptest::collection::vec((any_value(), 0..6_i64), 1..30),
        shuffled in Just((0..30_usize).collect::<Vec<_>>()).prop_shuffle(),
        value in any_value(),
    ) {
        // Several runs of one date, and one of them told twice.
        let points = values.iter().zip(0..).map(|((value, date), number)| {
            HistoryPoint { run_date: day(*date), ..point(number, value) }
        });
        let mut in_order: Vec<HistoryPoint> = points.collect();
        in_order.push(in_order[0].clone());
        let picked = shuffled.iter().filter_map(|&index| in_order.get(index).cloned());
        let mut arrived: Vec<HistoryPoint> = picked.collect();
        arrived.extend(in_order.get(30).cloned());
        let found = |points: Vec<HistoryPoint>| {
            let known = MetricHistory { points, ..history("callgrind.ir", &[]) };
            let found = judge(
                &Policy::default(),
                &candidate(vec![metric("callgrind.ir", &value)]),
                &[known],
            );
            (found.metrics[0].finding, found.metrics[0].windows.clone())
        };
        prop_assert_eq!(found(in_order), found(arrived));
    }

    #[test]
    fn a_candidate_that_gets_worse_never_turns_from_fail_to_pass(
        values in proptest::collection::vec(any_value(), 0..30),
        candidate in 0..2000_u32,
        step in 0..2000_u32,
        all in any::<bool>(),
        accepted in proptest::option::of((0..30_i64, 1..6_u32, proptest::option::of(any_value()))),
    ) {
        let combine = if all { "all" } else { "any" };
        let accepted = accepted.map_or_else(String::new, |(since, min_runs, up_to)| {
            let up_to = up_to.map_or_else(String::new, |value| format!("up_to = {value}\n"));
            format!(
                "[[accepted]]\nmetric = \"*\"\nwhy = \"w\"\nby = \"b\"\nmin_runs = {min_runs}\n\
                 {up_to}since_date = {}",
                day(since)
            )
        });
        let policy = policy(&format!("window.combine = \"{combine}\"\n{accepted}"));
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let status = |value: u32| finding(&policy, &value.to_string(), &values).status();
        let (before, after) = (status(candidate), status(candidate + step));
        prop_assert!(before != Status::Regression || after == Status::Regression);
    }
}
