use proptest::collection::vec;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::*;

#[derive(Deserialize)]
struct Reference {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    history_oldest_first: Vec<Value>,
    candidate: Value,
    k: Box<RawValue>,
    floor_rel: f64,
    windows: std::collections::BTreeMap<String, Expected>,
    any_window_fails: bool,
    all_windows_fail: bool,
}

#[derive(Deserialize)]
struct Expected {
    n: u32,
    mean: f64,
    sigma: f64,
    threshold_abs: f64,
    limit: f64,
    delta: f64,
    delta_pct: Option<f64>,
    fails: bool,
}

fn value(text: &str) -> Value {
    text.parse().unwrap()
}

fn values(texts: &[&str]) -> Vec<Value> {
    texts.iter().copied().map(value).collect()
}

fn rule(k: &str, floor: &str) -> Rule {
    Rule {
        k: k.parse().unwrap(),
        floor: floor.parse().unwrap(),
        floor_absolute: value("0"),
        worse: Worse::Higher,
    }
}

fn level(candidate: &str, history: &[&str], rule: &Rule) -> Option<Level> {
    Comparison::new(value(candidate), &values(history), 20, rule).map(|c| c.level)
}

/// Within a few units in the last place of the numbers that went in.
fn assert_close(found: f64, expected: f64, scale: f64, what: &str) {
    let tolerance = scale.abs() * 4.0 * f64::EPSILON;
    assert!(
        (found - expected).abs() <= tolerance,
        "{what}: {found} is not {expected}"
    );
}

#[test]
fn every_reference_case_is_met() {
    let text = include_str!("../../tests/fixtures/reference/trailing_window.json");
    let reference: Reference = serde_json::from_str(text).unwrap();
    assert_eq!(reference.cases.len(), 10);
    for case in reference.cases {
        let percent = format!("{} %", case.floor_rel * 100.0);
        let rule = rule(case.k.get(), &percent);
        let newest_first: Vec<Value> = case.history_oldest_first.iter().rev().copied().collect();
        let mut fails = Vec::new();
        for (size, expected) in &case.windows {
            let what = format!("{} over {size}", case.name);
            let size = size.parse().unwrap();
            let found = Comparison::new(case.candidate, &newest_first, size, &rule).unwrap();
            assert_eq!((found.size, found.n), (size, expected.n), "{what}");
            assert_close(found.mean, expected.mean, expected.mean, &what);
            assert_close(
                found.standard_deviation.unwrap(),
                expected.sigma,
                expected.sigma,
                &what,
            );
            assert_close(found.limit, expected.limit, expected.limit, &what);
            assert_close(
                found.limit - found.mean,
                expected.threshold_abs,
                expected.limit,
                &what,
            );
            assert_close(found.change, expected.delta, expected.mean, &what);
            match (found.change_percent, expected.delta_pct) {
                (Some(found), Some(expected)) => assert_close(found, expected, 100.0, &what),
                (found, expected) => assert_eq!(found, expected, "{what}"),
            }
            fails.push(found.level == Level::Worse);
            assert_eq!(found.level == Level::Worse, expected.fails, "{what}");
        }
        assert_eq!(
            fails.contains(&true),
            case.any_window_fails,
            "{}",
            case.name
        );
        assert_eq!(
            !fails.contains(&false),
            case.all_windows_fail,
            "{}",
            case.name
        );
    }
}

#[test]
fn no_history_has_no_comparison() {
    assert_eq!(level("1", &[], &rule("3", "3 %")), None);
}

#[test]
fn one_value_is_judged_by_the_floors_alone() {
    let rule = rule("3", "3 %");
    assert_eq!(level("103", &["100"], &rule), Some(Level::Within));
    assert_eq!(level("103.0001", &["100"], &rule), Some(Level::Worse));
    let found = Comparison::new(value("103"), &values(&["100"]), 5, &rule).unwrap();
    assert_eq!((found.n, found.standard_deviation), (1, None));
}

#[test]
fn on_the_limit_passes_and_the_smallest_step_above_it_fails() {
    // 0.1 and 0.3 have no float of their own, and a floor of 3 % of their mean has none either.
    let floor = rule("3", "3 %");
    assert_eq!(level("0.309", &["0.3"; 5], &floor), Some(Level::Within));
    assert_eq!(level("0.3091", &["0.3"; 5], &floor), Some(Level::Worse));
    // s of these is 1 to the digit, and 3·s is 3: once by the deviation alone …
    let deviation = rule("3", "0 %");
    assert_eq!(
        level("103.1", &["99.1", "100.1", "101.1"], &deviation),
        Some(Level::Within)
    );
    assert_eq!(
        level("103.1001", &["99.1", "100.1", "101.1"], &deviation),
        Some(Level::Worse)
    );
    // … and once at the far end of what a value can be.
    let largest = ["9999999999999996.9999"; 5];
    let exact = Rule {
        floor_absolute: value("2.9999"),
        ..rule("3", "0 %")
    };
    assert_eq!(
        level("9999999999999999.9998", &largest, &exact),
        Some(Level::Within)
    );
    assert_eq!(
        level("9999999999999999.9999", &largest, &exact),
        Some(Level::Worse)
    );
}

#[test]
fn equal_values_have_no_special_case() {
    let exact = rule("3", "0 %");
    assert_eq!(level("5000", &["5000"; 20], &exact), Some(Level::Within));
    assert_eq!(level("5001", &["5000"; 20], &exact), Some(Level::Worse));
    assert_eq!(level("4999", &["5000"; 20], &exact), Some(Level::Better));
}

#[test]
fn a_mean_of_zero_is_judged_on_absolute_values_without_a_percentage() {
    let found = Comparison::new(value("1"), &values(&["0"; 5]), 5, &rule("3", "3 %")).unwrap();
    assert_eq!(
        (found.level, found.change, found.change_percent),
        (Level::Worse, 1.0, None)
    );
    let lenient = Rule {
        floor_absolute: value("1"),
        ..rule("3", "3 %")
    };
    assert_eq!(level("1", &["0"; 5], &lenient), Some(Level::Within));
    assert_eq!(
        level("1.0001", &["-1", "1", "0", "0", "0"], &lenient),
        Some(Level::Within)
    );
}

#[test]
fn negative_values_are_worse_towards_the_worse_side() {
    let rule = rule("3", "3 %");
    assert_eq!(level("-97", &["-100"; 5], &rule), Some(Level::Within));
    assert_eq!(level("-96.9999", &["-100"; 5], &rule), Some(Level::Worse));
    assert_eq!(level("-103.0001", &["-100"; 5], &rule), Some(Level::Better));
    let found = Comparison::new(value("-90"), &values(&["-100"; 5]), 5, &rule).unwrap();
    assert_eq!((found.change_percent, found.limit), (Some(10.0), -97.0));
}

#[test]
fn where_lower_is_worse_everything_is_mirrored() {
    let rule = Rule {
        worse: Worse::Lower,
        ..rule("3", "3 %")
    };
    assert_eq!(level("97", &["100"; 5], &rule), Some(Level::Within));
    assert_eq!(level("96.9999", &["100"; 5], &rule), Some(Level::Worse));
    assert_eq!(level("103.0001", &["100"; 5], &rule), Some(Level::Better));
    let found = Comparison::new(value("90"), &values(&["100"; 5]), 5, &rule).unwrap();
    assert_eq!((found.limit, found.change), (97.0, -10.0));
}

#[test]
fn the_largest_term_sets_the_limit() {
    let by = |rule: &Rule| {
        let history = values(&["100", "120", "80", "110", "90"]);
        Comparison::new(value("100"), &history, 5, rule)
            .unwrap()
            .limit_by
    };
    assert_eq!(by(&rule("3", "3 %")), Term::Deviation);
    assert_eq!(by(&rule("3", "50 %")), Term::Floor);
    let absolute = Rule {
        floor_absolute: value("60"),
        ..rule("3", "50 %")
    };
    assert_eq!(by(&absolute), Term::FloorAbsolute);
}

#[test]
fn numbers_of_a_rule_are_read_and_shown_exactly() {
    for (text, shown) in [
        ("3 %", "3 %"),
        ("0%", "0 %"),
        ("0.5 %", "0.5 %"),
        ("12.3400 %", "12.34 %"),
    ] {
        assert_eq!(text.parse::<Fraction>().unwrap().to_string(), shown);
    }
    for text in [
        "3",
        "0.03",
        "-1 %",
        "1001 %",
        "0.00001 %",
        "%",
        "1. %",
        ".5 %",
        "3 %%",
        "NaN %",
    ] {
        assert_eq!(
            text.parse::<Fraction>(),
            Err(RuleNumberError::Fraction),
            "{text}"
        );
    }
    assert_eq!("2.5".parse::<Multiple>().unwrap().to_string(), "2.5");
    for text in ["", "-1", "1000.001", "0.0001", "1e1", "inf"] {
        assert_eq!(
            text.parse::<Multiple>(),
            Err(RuleNumberError::Multiple),
            "{text}"
        );
    }
}

/// A value out of its ten-thousandths.
fn of_units(units: i64) -> Value {
    Value::try_from(rust_decimal::Decimal::new(units, 4)).unwrap()
}

/// Small numbers bring ties, large ones bring everything else.
fn any_units() -> impl Strategy<Value = i64> {
    prop_oneof![-30_i64..30, -1_000_000_000_000..1_000_000_000_000_i64]
}

fn any_rule() -> impl Strategy<Value = Rule> {
    (0..6000_u32, 0..200_000_u32, any::<bool>()).prop_map(|(k, floor, higher)| Rule {
        k: Multiple(k),
        floor: Fraction(floor),
        floor_absolute: of_units(0),
        worse: if higher { Worse::Higher } else { Worse::Lower },
    })
}

fn found(candidate: i64, history: &[i64], rule: &Rule) -> Level {
    let history: Vec<Value> = history.iter().copied().map(of_units).collect();
    Comparison::new(of_units(candidate), &history, 20, rule)
        .unwrap()
        .level
}

fn badness(level: Level) -> i8 {
    match level {
        Level::Better => -1,
        Level::Within => 0,
        Level::Worse => 1,
    }
}

proptest! {
    #[test]
    fn a_candidate_that_gets_worse_is_never_judged_better(
        history in vec(any_units(), 1..25),
        candidate in any_units(),
        step in 0..1_000_000_000_i64,
        rule in any_rule(),
    ) {
        let worse = match rule.worse {
            Worse::Higher => candidate + step,
            Worse::Lower => candidate - step,
        };
        let before = badness(found(candidate, &history, &rule));
        prop_assert!(badness(found(worse, &history, &rule)) >= before);
    }

    #[test]
    fn scaling_all_values_changes_no_verdict_of_a_relative_rule(
        history in vec(any_units(), 1..25),
        candidate in any_units(),
        factor in 1..1000_i64,
        rule in any_rule(),
    ) {
        let scaled: Vec<i64> = history.iter().map(|x| x * factor).collect();
        prop_assert_eq!(
            found(candidate, &history, &rule),
            found(candidate * factor, &scaled, &rule)
        );
    }

    #[test]
    fn mirroring_values_and_direction_changes_no_verdict(
        history in vec(any_units(), 1..25),
        candidate in any_units(),
        rule in any_rule(),
    ) {
        let mirrored: Vec<i64> = history.iter().map(|x| -x).collect();
        let other = Rule {
            worse: match rule.worse {
                Worse::Higher => Worse::Lower,
                Worse::Lower => Worse::Higher,
            },
            ..rule.clone()
        };
        prop_assert_eq!(
            found(candidate, &history, &rule),
            found(-candidate, &mirrored, &other)
        );
    }

    #[test]
    fn the_order_of_the_values_of_a_window_changes_nothing(
        history in vec(any_units(), 1..20).prop_shuffle(),
        candidate in any_units(),
        rule in any_rule(),
    ) {
        let mut sorted = history.clone();
        sorted.sort_unstable();
        let compare = |history: &[i64]| {
            let history: Vec<Value> = history.iter().copied().map(of_units).collect();
            Comparison::new(of_units(candidate), &history, 20, &rule)
        };
        prop_assert_eq!(compare(&history), compare(&sorted));
    }

    #[test]
    fn what_people_read_agrees_with_the_verdict_away_from_the_limit(
        history in vec(any_units(), 2..25),
        candidate in any_units(),
        rule in any_rule(),
    ) {
        let history: Vec<Value> = history.iter().copied().map(of_units).collect();
        let candidate = of_units(candidate);
        let seen = Comparison::new(candidate, &history, 20, &rule).unwrap();
        for number in [seen.mean, seen.limit, seen.change] {
            prop_assert!(number.is_finite());
        }
        let over = match rule.worse {
            Worse::Higher => candidate.to_f64() - seen.limit,
            Worse::Lower => seen.limit - candidate.to_f64(),
        };
        if over.abs() > 1e-9 * seen.limit.abs().max(candidate.to_f64().abs()) {
            prop_assert_eq!(seen.level == Level::Worse, over > 0.0);
        }
    }
}
