use super::super::gate::{Candidate, judge};
use super::super::history::{History, HistoryPoint, MetricHistory};
use super::super::policy::Policy;
use super::super::window::{Fraction, Multiple, Worse};
use super::*;
use crate::domain::{DimKey, Metric, MetricName, Parameters, Series};
use crate::judge::{Conclusion, Status};

fn rule(floor: &str) -> Rule {
    Rule {
        k: Multiple::THREE,
        floor: floor.parse::<Fraction>().unwrap(),
        floor_absolute: Value::ZERO,
        worse: Worse::Higher,
    }
}

fn places(newest_first: &[f64]) -> Vec<usize> {
    let values: Vec<Value> = newest_first.iter().map(|&number| value(number)).collect();
    find(&values, &rule("0 %"))
}

fn value(number: f64) -> Value {
    format!("{number:.4}").parse().unwrap()
}

/// Twenty values near 100, with `others` in the places that they are given.
fn twenty(others: &[(usize, f64)]) -> Vec<f64> {
    let mut values: Vec<f64> = (0..20).map(|i| 100.0 + f64::from(i % 5) / 10.0).collect();
    for (place, number) in others {
        values[*place] = *number;
    }
    values
}

#[test]
fn a_value_that_is_alone_is_an_outlier_wherever_it_stands() {
    assert!(places(&twenty(&[])).is_empty());
    for place in 0..20 {
        assert_eq!(places(&twenty(&[(place, 1000.0)])), [place]);
        assert_eq!(places(&twenty(&[(place, 10.0)])), [place]);
    }
    assert_eq!(places(&twenty(&[(2, 1000.0), (9, 300.0)])), [2, 9]);
    // Two wrong runs that the history has come back from.
    assert_eq!(places(&twenty(&[(3, 1000.0), (9, 1000.0)])), [3, 9]);
    assert_eq!(places(&twenty(&[(3, 1000.0), (4, 1000.0)])), [3, 4]);
}

#[test]
fn a_level_is_no_outlier() {
    // A second run confirms a step.
    assert_eq!(places(&twenty(&[(0, 110.0)])), [0]);
    assert!(places(&twenty(&[(0, 110.0), (1, 110.2)])).is_empty());
    // What a step has left behind.
    assert!(places(&twenty(&[(19, 90.0), (18, 90.2)])).is_empty());
    // A second hump.
    assert!(places(&twenty(&[(3, 110.0), (9, 110.3), (15, 110.1)])).is_empty());
}

#[test]
fn little_is_known_of_few_values() {
    assert_eq!(places(&[100.0, 101.0, 1000.0, 99.0, 100.0]), [2]);
    assert!(places(&[100.0, 101.0, 120.0, 99.0, 100.0]).is_empty());
    assert!(places(&[100.0, 101.0, 1000.0]).is_empty());
}

#[test]
fn what_the_rule_takes_for_noise_is_no_outlier() {
    let values: Vec<Value> = twenty(&[(4, 104.0)]).into_iter().map(value).collect();
    assert_eq!(find(&values, &rule("0 %")), [4]);
    assert!(find(&values, &rule("5 %")).is_empty());
}

/// Numbers that are as good as chance, and the same on every run (SplitMix64, as Steele, Lea and
/// Flood give it in "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Above 0, and 1 at most.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// By the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Student's t of three degrees of freedom: tails so heavy that one of 160 values lies beyond
    /// six deviations.
    fn heavy(&mut self) -> f64 {
        let sum: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (sum / 3.0).sqrt()
    }

    /// Two levels, one tenth apart, of which the higher comes with this share.
    fn humps(&mut self, share: f64) -> f64 {
        let hump = if self.unit() <= share { 20.0 } else { 0.0 };
        hump + self.normal()
    }
}

const WINDOWS: usize = 10_000;

/// A build of so many metrics, and the history that it is held against, all of one noise.
fn build(metrics: usize, runs: usize, mut draw: impl FnMut() -> Value) -> (Candidate, History) {
    let point = |run: usize| HistoryPoint {
        run_id: i64::try_from(run).unwrap(),
        run_date: format!("2026-01-{:02}T00:00:00Z", run + 1).parse().unwrap(),
        commit: format!("{run:040x}").parse().unwrap(),
        host_class: "callgrind".parse().unwrap(),
        parameters: None,
        value: Value::ZERO,
    };
    let points: Vec<HistoryPoint> = (0..runs).map(point).collect();
    let mut measured = Vec::new();
    let mut history = Vec::new();
    for number in 0..metrics {
        let name = MetricName {
            metric_key: format!("noise.{number}").parse().unwrap(),
            dim_key: DimKey::scalar(),
        };
        measured.push(Metric {
            name: name.clone(),
            value: draw(),
            wallclock: false,
        });
        let drawn = |point: &HistoryPoint| HistoryPoint {
            value: draw(),
            ..point.clone()
        };
        history.push(MetricHistory {
            name,
            wallclock: false,
            points: points.iter().map(drawn).collect(),
        });
    }
    let candidate = Candidate {
        series: Series {
            workload: "perf".parse().unwrap(),
            branch: "main".parse().unwrap(),
            arch: "amd64".parse().unwrap(),
            distro: "trixie".parse().unwrap(),
        },
        commit: None,
        base: None,
        host_class: "callgrind".parse().unwrap(),
        succeeded: true,
        parameters: Parameters::new(),
        metrics: measured,
    };
    (candidate, History::from(history))
}

/// How many of ten thousand candidates, each of the noise of its window, are unsteady.
fn unsteady(runs: usize, deviation: f64, mut noise: impl FnMut(&mut Chance) -> f64) -> usize {
    let mut chance = Chance(20_261_130);
    let draw = || value(1000.0 * (1.0 + deviation * noise(&mut chance)));
    let (candidate, history) = build(WINDOWS, runs, draw);
    let judgement = judge(&Policy::default(), &candidate, &history);
    let statuses = judgement.metrics.iter().map(|m| m.finding.status());
    statuses
        .filter(|&status| status == Status::Unsteady)
        .count()
}

/// How many of a thousand builds of twenty metrics fail, though nothing has changed.
fn failed_builds(policy: &str, runs: usize) -> usize {
    let policy = Policy::parse(policy).unwrap();
    let mut chance = Chance(7);
    let failed = (0..1000).filter(|_| {
        let (candidate, history) = build(20, runs, || value(1000.0 + 10.0 * chance.normal()));
        judge(&policy, &candidate, &history).conclusion() == Conclusion::Regression
    });
    failed.count()
}

/// With k = 3 noise fails a third of all builds of twenty metrics; with k = "auto" no more than the
/// share that is allowed, which is 1 %.
#[test]
fn an_automatic_k_keeps_its_word() {
    assert!(failed_builds("", 20) > 200);
    for runs in [5, 20] {
        let failed = failed_builds("window.k = \"auto\"", runs);
        assert!(failed <= 15, "{runs} runs: {failed} of 1000");
    }
}

/// Of 10,000 windows of twenty runs: none of normal noise, and at most 0.5 % of noise with heavy
/// tails or of two humps.
#[test]
fn a_quiet_window_is_never_unsteady() {
    assert_eq!(unsteady(20, 0.005, Chance::normal), 0);
    assert_eq!(unsteady(20, 0.05, Chance::normal), 0);
    let heavy = unsteady(20, 0.02, Chance::heavy);
    assert!(heavy <= 50, "heavy tails: {heavy}");
    let even = unsteady(20, 0.005, |chance| chance.humps(0.5));
    assert!(even <= 20, "two even humps: {even}");
    let uneven = unsteady(20, 0.005, |chance| chance.humps(0.3));
    assert!(uneven <= 50, "two uneven humps: {uneven}");
}

/// Of 10,000 windows of five runs, which say little of their noise: the same.
#[test]
fn a_young_window_is_hardly_ever_unsteady() {
    assert_eq!(unsteady(5, 0.02, Chance::normal), 0);
    let heavy = unsteady(5, 0.02, Chance::heavy);
    assert!(heavy <= 50, "heavy tails: {heavy}");
    let humps = unsteady(5, 0.005, |chance| chance.humps(0.5));
    assert_eq!(humps, 0, "two humps");
}
