use super::*;
use crate::domain::{DimKey, MetricName};

fn faults(text: &str) -> Vec<String> {
    let faults = Policy::parse(text).expect_err("the text does not fit");
    faults.lines().collect()
}

fn name(key: &str, dim: &str) -> MetricName {
    MetricName {
        metric_key: key.parse().unwrap(),
        dim_key: if dim.is_empty() {
            DimKey::scalar()
        } else {
            dim.parse().unwrap()
        },
    }
}

fn rule(policy: &Policy, key: &str) -> String {
    let rule = policy.rule(&name(key, ""));
    format!("{} {}", rule.pattern, rule.floor)
}

#[test]
fn the_default_text_says_what_an_empty_one_means() {
    let written = Policy::parse(DEFAULT_TEXT).unwrap();
    let empty = Policy::parse("").unwrap();
    assert_eq!(written.windows, empty.windows);
    assert_eq!(written.parameters, empty.parameters);
    assert_eq!(written.wallclock_host_classes, empty.wallclock_host_classes);
    for key in [
        "callgrind.ir",
        "callgrind.estimated_cycles",
        "callgrind.l1_misses",
        "callgrind.global_bus_events",
        "massif.peak_heap_bytes",
        "size.drizzled_bytes",
        "size.plugin_count",
        "locust.p99",
    ] {
        let said = [&written, &empty].map(|policy| {
            let terms = policy.terms(&name(key, ""));
            let floor = terms.rule.floor;
            (floor, terms.floor_absolute, terms.gating, terms.worse)
        });
        assert_eq!(said[0], said[1], "{key}");
    }
    for (event, gating) in [
        ("wait/synch/mutex/sql/LOCK_table_cache", Gating::Fail),
        ("wait/synch/rwlock/sql/MDL_lock::rwlock", Gating::Fail),
        ("wait/synch/mutex/innodb/buf_pool_mutex", Gating::Show),
    ] {
        for policy in [&written, &empty] {
            let terms = policy.terms(&name("waits.count", &format!("event={event}")));
            assert_eq!(terms.gating, gating, "{event}");
        }
    }
    assert_eq!(written.rules.len(), empty.rules.len() + 6);
}

#[test]
fn what_is_commented_out_in_the_default_text_fits_too() {
    let commented = |line: &str| {
        let tables = ["[parameters]", "[[accepted]]", "[[renamed]]"];
        tables.contains(&line) || line.contains(" = ")
    };
    let text: String = DEFAULT_TEXT
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| commented(line))
        .map(|line| format!("{line}\n"))
        .collect();
    let policy = Policy::parse(&text).unwrap_or_else(|faults| panic!("{faults:?}\n{text}"));
    assert_eq!(policy.parameters.unwrap().len(), 3);
    assert_eq!(policy.accepted[0].min_runs, Some(1));
    assert_eq!(
        policy.accepted[0].up_to,
        "+8 %".parse().ok().map(UpTo::Change)
    );
    assert_eq!(policy.renamed.len(), 1);
    assert_eq!(
        policy.accepted[0].series.branch.as_ref().unwrap().as_str(),
        "main"
    );
}

#[test]
fn the_built_in_floors_hold_where_nothing_is_said() {
    let policy = Policy::default();
    for (key, expected) in [
        ("callgrind.ir", "callgrind.ir 3 %"),
        (
            "callgrind.estimated_cycles",
            "callgrind.estimated_cycles 3 %",
        ),
        (
            "callgrind.global_bus_events",
            "callgrind.global_bus_events 5 %",
        ),
        ("massif.peak_heap_bytes", "massif.peak_heap_bytes 1 %"),
        ("size.plugin_count", "size.plugin_count 0 %"),
        (
            "callgrind.l1_misses",
            "callgrind.{l1_misses,llc_misses,branch_mispredicts} 5 %",
        ),
        ("locust.p99", "* 0 %"),
    ] {
        assert_eq!(rule(&policy, key), expected);
    }
}

#[test]
fn the_last_rule_that_matches_holds_alone() {
    let text = r#"
[[metric]]
pattern = "callgrind.ir"
floor = "7 %"
floor_absolute = 12.5
[[metric]]
pattern = "callgrind.*"
worse = "lower"
[[metric]]
pattern = "*"
dim = "threads=*"
ignore = true
"#;
    let policy = Policy::parse(text).unwrap();
    let found = policy.rule(&name("callgrind.ir", ""));
    assert_eq!((found.floor, found.floor_absolute), (Fraction::ZERO, None));
    assert_eq!(
        (found.worse, found.ignore, found.origin),
        (Some(Worse::Lower), false, RuleOrigin::Line(6))
    );
    assert!(policy.rule(&name("callgrind.ir", "threads=16")).ignore);
    let all: Vec<RuleOrigin> = policy
        .matching(&name("callgrind.ir", ""))
        .map(|rule| rule.origin)
        .collect();
    assert_eq!(
        all,
        [
            RuleOrigin::BuiltIn,
            RuleOrigin::BuiltIn,
            RuleOrigin::Line(2),
            RuleOrigin::Line(6)
        ]
    );
}

#[test]
fn every_fault_is_told_at_once_each_with_its_place() {
    let text = r#"
colour = "red"
[window]
sizes = [0, 5, "x"]
k = "3"
min_runs = 9
combine = "some"
on_insufficent = "pass"
[wallclock]
host_classes = ["metal", 4, " "]
[[metric]]
floor = 3
[[metric]]
pattern = "a[b"
floor = "0.03"
floor_absolute = -1
worse = "up"
ignore = "no"
[[accepted]]
metric = "é*"
series = { branch = "", host = "x" }
why = " "
[[accepted]]
metric = "*"
since_commit = "abc"
since_date = 2026-13-01
why = "w"
by = "b"
min_runs = 0
up_to = "1"
"#;
    // A text that does not parse is told of by itself.
    assert_eq!(faults(text).len(), 1);
    let text = text.replace("2026-13-01", "2026-12-01");
    assert_eq!(
        faults(&text),
        [
            "2:1: `colour` is no key of this table; it knows accepted, metric, parameters, renamed, wallclock, window",
            "4:10: `sizes` must be a whole number from 1 to 10000",
            "4:16: `sizes` must be a whole number from 1 to 10000",
            "5:5: `k` must be a number, or \"auto\"",
            "6:12: `min_runs` is 9, which a window of 5 can never hold",
            "7:11: `combine` must be \"any\" or \"all\"",
            "8:1: `on_insufficent` is no key of this table; it knows combine, false_alarms, k, min_runs, on_insufficient, outliers, sizes",
            "10:26: `host_classes` must be a string, the name of a class of hosts",
            "10:29: `host_classes` must not start or end with white space",
            "11:1: `pattern` is missing",
            "12:9: `floor` must be a string, is a number",
            "14:11: `pattern` is no pattern: unclosed character class; missing ']'",
            "15:9: `floor` must be a percentage from 0 % to 1000 % with at most four decimals and its sign, such as \"3 %\"",
            "16:18: `floor_absolute` must not be negative",
            "17:9: `worse` must be \"higher\" or \"lower\"",
            "18:10: `ignore` must be true or false, is a string",
            "19:1: `by` is missing",
            "19:1: needs `since_commit` or `since_date`, the first run of the accepted level",
            "21:21: `branch` must not be empty",
            "21:25: `host` is no key of this table; it knows arch, branch, distro, workload",
            "22:7: `why` must say something",
            "25:16: `since_commit` must be 40 hexadecimal digits, the whole name of a commit",
            "26:14: `since_date` stands beside `since_commit`; keep one of them",
            "29:12: `min_runs` must be a whole number from 1 to 10000",
            "30:9: `up_to` must be a number, or a change in percent with its sign, such as \"+8 %\"",
        ]
    );
}

#[test]
fn a_text_that_is_no_toml_is_told_of_with_every_place() {
    let found = faults("[window]\nk =\nsizes = [5, 20]\nk = 3\ncombine = any\n");
    let lines: Vec<&str> = found.iter().map(|fault| &fault[..2]).collect();
    assert_eq!(lines, ["2:", "4:", "5:"], "{found:?}");
}

#[test]
fn dates_and_numbers_are_read_as_toml_writes_them() {
    let text = |since: &str, k: &str| {
        format!(
            "window.k = {k}\nwindow.sizes = [20, 0x5, 20]\n[[accepted]]\nmetric = \"*\"\nwhy = \"w\"\nby = \"b\"\nsince_date = {since}"
        )
    };
    for since in [
        "2026-11-30",
        "2026-11-30T00:00:00Z",
        "2026-11-30 01:00:00+01:00",
        "\"2026-11-30T00:00:00Z\"",
    ] {
        let policy = Policy::parse(&text(since, "2.5")).unwrap();
        let expected = Since::Date("2026-11-30T00:00:00Z".parse().unwrap());
        assert_eq!(policy.accepted[0].since, expected, "{since}");
        assert_eq!(policy.windows.sizes, [5, 20]);
    }
    for since in [
        "2026-11-30T00:00:00",
        "10:00:00",
        "1969-01-01",
        "\"yesterday\"",
        "3",
    ] {
        assert_eq!(faults(&text(since, "3")).len(), 1, "{since}");
    }
    for k in ["nan", "inf", "-1", "+1001", "1e400", "true"] {
        assert_eq!(faults(&text("2026-11-30", k)).len(), 1, "{k}");
    }
}

#[test]
fn parameters_are_scalars() {
    let policy = Policy::parse("[parameters]\na = 1_000\nb = 1.5\nc = \"x\"\nd = true").unwrap();
    let parameters = serde_json::to_string(&policy.parameters.unwrap()).unwrap();
    assert_eq!(parameters, r#"{"a":1000,"b":1.5,"c":"x","d":true}"#);
    assert_eq!(
        faults("[parameters]\na = [1]\nb = 2026-11-30\nc = inf"),
        [
            "2:5: `a` must be a string, a number, true or false",
            "3:5: `b` must be a string, a number, true or false",
            "4:5: `c` must be a string, a number, true or false",
        ]
    );
}

#[test]
fn control_characters_reach_no_terminal() {
    let text = "\"\\u001b[31m\" = 1\n[[accepted]]\nmetric = \"a\\tb\"\nsince_date = 2026-11-30\nwhy = \"a\\nb\"\nby = \"b\"";
    assert_eq!(
        faults(text),
        [
            "1:1: `\\u{1b}[31m` is no key of this table; it knows accepted, metric, parameters, renamed, wallclock, window",
            "3:10: `metric` must not hold control characters, which no name does",
            "5:7: `why` must be one line, without control characters",
        ]
    );
}

#[test]
fn an_automatic_k_needs_values_and_a_share() {
    let policy = Policy::parse("window.k = \"auto\"\nwindow.false_alarms = \"0.1 %\"").unwrap();
    assert_eq!(policy.windows.k, K::Auto);
    assert_eq!(policy.windows.false_alarms.to_string(), "0.1 %");
    assert_eq!(
        faults("[window]\nk = \"auto\"\nmin_runs = 2\nfalse_alarms = \"100 %\""),
        [
            "3:12: `min_runs` is 2, and k = \"auto\" needs at least 3 values to know their deviation",
            "4:16: `false_alarms` must be more than 0 % and less than 100 %",
        ]
    );
}

#[test]
fn a_rename_has_two_names_of_one_shape() {
    let text = "[[renamed]]\nmetric = \"a.*\"\nto = \"b\"\n[[renamed]]\nto = \"x\"\n\
                [[renamed]]\nworkload = \"perf\"\n[[renamed]]\nmetric = \"a?\"\nto = \"b?\"";
    let shape = "`to` must have one `*` where `metric` has one, which stands for the same text in \
                 both, and no other wildcard";
    assert_eq!(
        faults(text),
        [
            format!("3:6: {shape}"),
            "4:1: needs `metric` or `workload`, the name before, and not both".to_owned(),
            "6:1: `to` is missing".to_owned(),
            format!("10:6: {shape}"),
        ]
    );
}
