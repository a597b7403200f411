//! The two rules against numbers that numpy, scipy and plain enumeration computed, and against
//! what must hold for any numbers.

use perf_tracking::judge::Worse;
use perf_tracking::judge::comparison::budget::{self, Budget, Found};
use perf_tracking::judge::comparison::randomization::{self, Distribution, LEVEL};
use perf_tracking::judge::comparison::ranks;
use perf_tracking::judge::comparison::sample::{median, relative_mad};
use proptest::prelude::*;
use serde_json::Value;

const CASES: &str = include_str!("../fixtures/comparison/reference_cases.json");

/// The reference cases of one group, of which there must be this many.
fn cases(group: &str, count: usize) -> Vec<Value> {
    let all: Value = serde_json::from_str(CASES).unwrap();
    let cases = all[group].as_array().unwrap().clone();
    assert_eq!(cases.len(), count, "{group}");
    cases
}

fn number(case: &Value, key: &str) -> f64 {
    case[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} in {case}"))
}

fn numbers(case: &Value, key: &str) -> Vec<f64> {
    let items = case[key].as_array().unwrap();
    items.iter().map(|item| item.as_f64().unwrap()).collect()
}

fn near(found: f64, expected: f64, what: &str) {
    let error = (found - expected).abs();
    assert!(
        error <= 1e-9 * expected.abs().max(1.0),
        "{what}: {found}, and not {expected}"
    );
}

#[test]
fn the_budget_rule_is_that_of_the_reference() {
    for case in cases("budget_median_mad", 5) {
        let name = case["name"].as_str().unwrap();
        let (reference, candidate) = (numbers(&case, "reference"), numbers(&case, "candidate"));
        let worse = if case["higher_is_better"] == true {
            Worse::Lower
        } else {
            Worse::Higher
        };
        let budget = Budget {
            floor: number(&case, "floor"),
            variance: case["variance_budget"].as_f64().unwrap_or(1.0),
        };
        let judged = budget::judge(&reference, &candidate, worse, &budget).unwrap();
        near(
            judged.reference.median,
            number(&case, "reference_median"),
            name,
        );
        near(
            judged.candidate.median,
            number(&case, "candidate_median"),
            name,
        );
        near(
            judged.reference.spread,
            number(&case, "reference_rel_mad"),
            name,
        );
        near(
            judged.candidate.spread,
            number(&case, "candidate_rel_mad"),
            name,
        );
        near(judged.tolerance, number(&case, "tolerance"), name);
        near(judged.worse_change, number(&case, "worse_change"), name);
        near(
            judged.candidate.median / judged.reference.median,
            number(&case, "ratio"),
            name,
        );
        assert_eq!(
            judged.found == Found::Worse,
            case["regressed"] == true,
            "{name}"
        );
        match case["status"].as_str() {
            Some("noisy") => assert_eq!(judged.found, Found::Noisy, "{name}"),
            Some(_) => assert_eq!(judged.found, Found::Within, "{name}"),
            None => {}
        }
    }
}

#[test]
fn the_randomization_distribution_is_that_of_the_reference() {
    for case in cases("randomization_distribution", 10) {
        let name = case["name"].as_str().unwrap();
        let (left, right) = (numbers(&case, "left"), numbers(&case, "right"));
        let all = Distribution::of(&left, &right).unwrap();
        assert_eq!(all.splits() as f64, number(&case, "splits"), "{name}");
        assert_eq!(
            all.distinct() as f64,
            number(&case, "distinct_values"),
            "{name}"
        );
        assert!(all.is_exact());
        let expected = case["distribution"].as_array().unwrap();
        assert_eq!(all.distinct(), expected.len(), "{name}");
        for ((value, count), step) in all.steps().zip(expected) {
            near(value, step[0].as_f64().unwrap(), name);
            assert_eq!(count, step[1].as_u64().unwrap(), "{name}: {value}");
        }
        near(
            all.percentile(LEVEL),
            number(&case, "q95_smallest_reaching"),
            name,
        );
        near(all.percentile(1.0), number(&case, "max"), name);
        near(all.share_of_largest(), number(&case, "p_max_mass"), name);
        let observed = number(&case, "observed_abs_diff");
        assert_eq!(
            all.count_reaching(observed) as f64,
            number(&case, "count_ge_observed"),
            "{name}"
        );
    }
}

#[test]
fn the_randomization_rule_is_that_of_the_reference() {
    for case in cases("randomization_distribution", 10) {
        let name = case["name"].as_str().unwrap();
        let (left, right) = (numbers(&case, "left"), numbers(&case, "right"));
        let judged = randomization::judge(&left, &right, Worse::Higher, 0.05).unwrap();
        near(judged.reference.median, number(&case, "left_median"), name);
        near(judged.candidate.median, number(&case, "right_median"), name);
        near(judged.worse_change, number(&case, "relative_diff"), name);
        near(judged.p, number(&case, "p_ge_observed"), name);
        let is_changed = matches!(judged.found, Found::Worse | Found::Better);
        assert_eq!(
            is_changed,
            case["readme_significant_strict"] == true,
            "{name}"
        );
        let is_unstable = judged.found == Found::TooVaried;
        assert_eq!(is_unstable, case["readme_unstable"] == true, "{name}");
    }
}

#[test]
fn the_steps_of_the_distribution_are_those_of_the_reference() {
    for case in cases("randomization_generic_spacing", 3) {
        let size = case["N"].as_u64().unwrap() as usize;
        let share = randomization::share_of_largest(size);
        assert!(
            (share - number(&case, "p_max")).abs() < 1e-5,
            "{size}: {share}"
        );
        let values = |from: usize| -> Vec<f64> {
            (0..size)
                .map(|index| 2_f64.powi((2 * index + from) as i32))
                .collect()
        };
        let all = Distribution::of(&values(0), &values(1)).unwrap();
        assert_eq!(all.splits(), case["splits"].as_u64().unwrap());
        assert_eq!(all.distinct() as u64, case["distinct"].as_u64().unwrap());
    }
}

#[test]
fn the_second_opinions_are_those_of_scipy() {
    for case in cases("two_sample_tests", 6) {
        let name = case["name"].as_str().unwrap();
        let (a, b) = (numbers(&case, "a"), numbers(&case, "b"));
        let test = ranks::mann_whitney(&a, &b).unwrap();
        near(test.u, number(&case, "U1_scipy"), name);
        let p = case["p_exact_scipy"]
            .as_f64()
            .unwrap_or_else(|| number(&case, "p_asymptotic_cc_scipy"));
        near(test.p, p, name);
        let p = ranks::permutation_of_means(&a, &b).unwrap();
        near(p, number(&case, "perm_mean_p_exact"), name);
    }
}

fn sides() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    let value = prop_oneof![
        4 => 90.0..110.0,
        1 => Just(100.0),
        1 => Just(0.0),
        1 => -1e3..1e3,
        1 => 1e280..1e290,
    ];
    let side = prop::collection::vec(value, 1..=5);
    (side.clone(), side)
}

const BUDGET: Budget = Budget {
    floor: 0.05,
    variance: 0.3,
};

fn mirrored(found: Found) -> Found {
    match found {
        Found::Better => Found::Worse,
        Found::Worse => Found::Better,
        other => other,
    }
}

/// Far enough from every limit that rounding cannot decide.
fn is_clear(judged: &budget::Judged) -> bool {
    let change = judged.worse_change.abs();
    let limits = [judged.tolerance, BUDGET.floor];
    let spreads = [judged.reference.spread, judged.candidate.spread];
    limits.iter().all(|limit| (change - limit).abs() > 1e-6)
        && spreads
            .iter()
            .all(|spread| (spread - BUDGET.variance).abs() > 1e-6)
}

proptest! {
    #[test]
    fn what_is_worse_the_other_way_is_mirrored((a, b) in sides()) {
        let higher = budget::judge(&a, &b, Worse::Higher, &BUDGET).unwrap();
        let lower = budget::judge(&a, &b, Worse::Lower, &BUDGET).unwrap();
        prop_assert_eq!(lower.found, mirrored(higher.found));
        let higher = randomization::judge(&a, &b, Worse::Higher, 0.05).unwrap();
        let lower = randomization::judge(&a, &b, Worse::Lower, 0.05).unwrap();
        prop_assert_eq!(lower.found, mirrored(higher.found));
    }

    /// A change of 10 % up is one of 9.1 % down, so a verdict near its limit has no mirror. One that
    /// is beyond the limit both ways is mirrored, and none points the same way twice.
    #[test]
    fn swapping_the_sides_mirrors_the_verdict((a, b) in sides()) {
        let one = budget::judge(&a, &b, Worse::Higher, &BUDGET).unwrap();
        let other = budget::judge(&b, &a, Worse::Higher, &BUDGET).unwrap();
        prop_assert_eq!(one.reference, other.candidate);
        prop_assert_eq!(one.candidate, other.reference);
        prop_assert_eq!(one.tolerance, other.tolerance);
        prop_assert_eq!(one.found == Found::TooVaried, other.found == Found::TooVaried);
        // Around zero and across it, "relative to the reference" turns its sign with the reference.
        if one.reference.median > 0.0 && one.candidate.median > 0.0 {
            prop_assert!(one.worse_change * other.worse_change <= 0.0);
            let is_decided = |found| matches!(found, Found::Better | Found::Worse);
            if is_decided(one.found) && is_decided(other.found) {
                prop_assert_eq!(one.found, mirrored(other.found));
            }
        }
        let one = randomization::judge(&a, &b, Worse::Higher, 0.05).unwrap();
        let other = randomization::judge(&b, &a, Worse::Higher, 0.05).unwrap();
        prop_assert_eq!(one.distribution, other.distribution);
        prop_assert_eq!(one.p, other.p);
    }

    #[test]
    fn scaling_changes_nothing((a, b) in sides(), factor in 1e-6..1e6) {
        let scaled = |values: &[f64]| -> Vec<f64> { values.iter().map(|v| v * factor).collect() };
        let plain = budget::judge(&a, &b, Worse::Higher, &BUDGET).unwrap();
        let large = budget::judge(&scaled(&a), &scaled(&b), Worse::Higher, &BUDGET).unwrap();
        if is_clear(&plain) {
            prop_assert_eq!(plain.found, large.found);
        }
        // A power of two rounds nothing, so that here every limit holds to the bit.
        let doubled = |values: &[f64]| -> Vec<f64> { values.iter().map(|v| v * 4.0).collect() };
        let large = budget::judge(&doubled(&a), &doubled(&b), Worse::Higher, &BUDGET).unwrap();
        prop_assert_eq!(plain.found, large.found);
        let plain = randomization::judge(&a, &b, Worse::Higher, 0.05).unwrap();
        let large = randomization::judge(&doubled(&a), &doubled(&b), Worse::Higher, 0.05).unwrap();
        prop_assert_eq!(plain.found, large.found);
        prop_assert_eq!(plain.p, large.p);
    }

    #[test]
    fn the_order_of_the_rounds_changes_nothing((a, b) in sides(), turn in 0_usize..5) {
        let turned = |values: &[f64]| -> Vec<f64> {
            let mut values = values.to_vec();
            let len = values.len();
            values.rotate_left(turn % len);
            values.reverse();
            values
        };
        let (c, d) = (turned(&a), turned(&b));
        prop_assert_eq!(
            budget::judge(&a, &b, Worse::Higher, &BUDGET),
            budget::judge(&c, &d, Worse::Higher, &BUDGET)
        );
        prop_assert_eq!(
            randomization::judge(&a, &b, Worse::Higher, 0.05),
            randomization::judge(&c, &d, Worse::Higher, 0.05)
        );
    }

    #[test]
    fn equal_sides_are_never_a_change((a, _) in sides()) {
        let judged = budget::judge(&a, &a, Worse::Higher, &BUDGET).unwrap();
        prop_assert!(matches!(judged.found, Found::Within | Found::TooVaried));
        let judged = randomization::judge(&a, &a, Worse::Higher, 0.05).unwrap();
        prop_assert!(matches!(judged.found, Found::Within | Found::TooVaried));
    }

    #[test]
    fn a_median_lies_between_its_values((a, _) in sides()) {
        let median = median(&a).unwrap();
        let smallest = a.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = a.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        prop_assert!(smallest <= median && median <= largest);
        prop_assert!(relative_mad(&a).unwrap() >= 0.0);
    }
}

/// Noise that is nearly normal: a sum of twelve uniform numbers of a fixed sequence.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        let uniform = (0..12).map(|_| {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        });
        uniform.sum::<f64>() - 6.0
    }

    fn side(&mut self, rounds: usize, spread: f64) -> Vec<f64> {
        (0..rounds)
            .map(|_| 100.0 * (1.0 + spread * self.next()))
            .collect()
    }
}

/// However large the noise, two sides that are the same build are told apart in less than one of a
/// hundred comparisons. The example's contract has these rounds and this floor.
#[test]
fn noise_alone_raises_few_alarms_with_eleven_rounds() {
    let budget = Budget {
        floor: 0.05,
        variance: 1.0,
    };
    for spread in [0.01, 0.05, 0.15] {
        let mut noise = Noise(7);
        let alarms = (0..4000).filter(|_| {
            let (reference, candidate) = (noise.side(11, spread), noise.side(11, spread));
            let judged = budget::judge(&reference, &candidate, Worse::Higher, &budget).unwrap();
            judged.found == Found::Worse
        });
        let alarms = alarms.count();
        assert!(alarms <= 40, "{alarms} of 4000 at a spread of {spread}");
    }
}
