//! The reference cases, and what simulated windows must come to.

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Reference {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    y_oldest_first: Vec<f64>,
    ols_slope: f64,
    ols_intercept: f64,
    ols_p: Option<f64>,
    theil_sen_slope: f64,
    theil_sen_intercept: f64,
    theil_sen_lo95: f64,
    theil_sen_hi95: f64,
    kendall_tau_b: Option<f64>,
    kendall_p: Option<f64>,
    first_to_last_pct: f64,
    status_seed004: String,
    median3_first_to_last_pct: Option<f64>,
    ols_fitted_end_to_end_pct: Option<f64>,
}

fn assert_close(found: f64, expected: f64, what: &str) {
    let tolerance = 1e-9 * expected.abs().max(1e-3);
    assert!(
        (found - expected).abs() <= tolerance,
        "{what}: {found} is not {expected}"
    );
}

fn assert_same(found: Option<f64>, expected: Option<f64>, what: &str) {
    match (found, expected) {
        (Some(found), Some(expected)) => assert_close(found, expected, what),
        (found, expected) => assert_eq!(found, expected, "{what}"),
    }
}

/// Compares probabilities, which may be very small, by their ratio.
fn assert_small(found: Option<f64>, expected: Option<f64>, what: &str) {
    match (found, expected) {
        (Some(found), Some(expected)) => {
            let ratio = found / expected;
            assert!(
                (ratio - 1.0).abs() < 1e-6,
                "{what}: {found} is not {expected}"
            );
        }
        (found, expected) => assert_eq!(found, expected, "{what}"),
    }
}

#[test]
fn every_reference_case_is_met() {
    let text = include_str!("../../../tests/fixtures/reference/drift.json");
    let reference: Reference = serde_json::from_str(text).unwrap();
    assert_eq!(reference.cases.len(), 6);
    for case in &reference.cases {
        let found = trend(&case.y_oldest_first).unwrap();
        let name = &case.name;
        assert_close(found.least_squares_slope, case.ols_slope, name);
        assert_close(found.least_squares_intercept, case.ols_intercept, name);
        assert_small(found.least_squares_p, case.ols_p, name);
        assert_same(
            found.least_squares_percent,
            case.ols_fitted_end_to_end_pct,
            name,
        );
        assert_close(found.slope, case.theil_sen_slope, name);
        assert_close(found.intercept, case.theil_sen_intercept, name);
        assert_close(found.slope_interval.0, case.theil_sen_lo95, name);
        assert_close(found.slope_interval.1, case.theil_sen_hi95, name);
        assert_same(found.tau, case.kendall_tau_b, name);
        assert_close(found.p, case.kendall_p.unwrap_or(1.0), name);
        assert_close(found.first_to_last_percent, case.first_to_last_pct, name);
        assert_same(found.medians_percent, case.median3_first_to_last_pct, name);
        let limits = Limits {
            rule: Rule::FirstToLast,
            ..Limits::default()
        };
        let status = judge(&case.y_oldest_first, Worse::Higher, limits).status;
        assert_eq!(
            format!("{status:?}").to_uppercase(),
            case.status_seed004,
            "{name}"
        );
    }
}

#[test]
fn the_fitted_rule_is_fooled_by_no_outlier_and_sees_the_drift_of_the_seed() {
    let judge = |values: &[f64]| judge(values, Worse::Higher, Limits::default());
    let fooling = [
        80.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0,
    ];
    assert_eq!(judge(&fooling).status, Status::Ok);
    let monthly = [120.0, 128.0, 136.0, 144.0, 152.0, 160.0, 172.0];
    let found = judge(&monthly);
    assert_eq!(found.status, Status::Drift);
    assert!(found.steps.is_empty(), "{found:?}");
    assert_eq!(judge(&monthly[..4]).status, Status::Insufficient);
}

#[test]
fn only_the_worse_direction_is_drift() {
    let falling: Vec<f64> = (0..20).map(|run| 100.0 - 1.5 * f64::from(run)).collect();
    let of = |worse| judge(&falling, worse, Limits::default()).status;
    assert_eq!(of(Worse::Higher), Status::Ok);
    assert_eq!(of(Worse::Lower), Status::Drift);
}

#[test]
fn a_change_on_a_limit_does_not_exceed_it() {
    let status = |percent| Limits::default().status_of(percent, Worse::Higher);
    for (percent, expected) in [
        (10.0, Status::Ok),
        (10.1, Status::Warning),
        (15.0, Status::Warning),
        (15.1, Status::Drift),
    ] {
        assert_eq!(status(percent), expected, "{percent}");
    }
}

#[test]
fn a_step_is_told_as_a_step_and_what_came_since_is_judged_alone() {
    let mut noise = Noise::new(1);
    let values: Vec<f64> = (0..30)
        .map(|run| if run < 18 { 100.0 } else { 130.0 } + noise.normal())
        .collect();
    let found = judge(&values, Worse::Higher, Limits::default());
    assert_eq!(found.status, Status::Ok);
    assert_eq!(found.steps.len(), 1);
    assert_eq!((found.steps[0].at, found.since), (18, 18));
    let few = judge(&values[..21], Worse::Higher, Limits::default());
    assert_eq!((few.status, few.since), (Status::Insufficient, 18));

    let creeping: Vec<f64> = values
        .iter()
        .enumerate()
        .map(|(run, value)| {
            value
                + if run < 18 {
                    0.0
                } else {
                    4.0 * (run - 18) as f64
                }
        })
        .collect();
    let found = judge(&creeping, Worse::Higher, Limits::default());
    assert_eq!(
        (found.status, found.since),
        (Status::Drift, 18),
        "{found:?}"
    );
}

#[test]
fn windows_without_noise_are_judged_as_well() {
    let judge = |values: &[f64]| judge(values, Worse::Higher, Limits::default());
    let same = judge(&[7.0; 30]);
    assert_eq!((same.status, same.steps.len()), (Status::Ok, 0));
    let step: Vec<f64> = (0..30)
        .map(|run| if run < 20 { 100.0 } else { 130.0 })
        .collect();
    let found = judge(&step);
    assert_eq!((found.status, found.since), (Status::Ok, 20));
    let line: Vec<f64> = (0..30).map(|run| 100.0 + f64::from(run)).collect();
    let found = judge(&line);
    assert_eq!((found.status, found.since), (Status::Drift, 0), "{found:?}");
    assert_eq!(judge(&[0.0; 30]).status, Status::Ok);
}

/// Four kinds of noise, without dependencies.
struct Noise {
    state: u64,
    before: f64,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Normal,
    /// One value in twenty is up to half of the level too high.
    Spikes,
    /// Two levels that are four deviations apart, and kept for three runs on average.
    TwoHumps,
    /// Each deviation is half of the one before, plus noise.
    Sticky,
}

const KINDS: [Kind; 4] = [Kind::Normal, Kind::Spikes, Kind::TwoHumps, Kind::Sticky];

impl Noise {
    fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            before: 0.0,
        }
    }

    fn uniform(&mut self) -> f64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as f64 / (1_u64 << 31) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// In deviations of a level of 100 with a deviation of `percent`.
    fn of(&mut self, kind: Kind, percent: f64) -> f64 {
        let normal = self.normal() * percent;
        match kind {
            Kind::Normal => normal,
            Kind::Spikes if self.uniform() < 0.05 => normal + 50.0 * self.uniform(),
            Kind::Spikes => normal,
            Kind::TwoHumps => {
                if self.uniform() < 1.0 / 3.0 {
                    self.before = if self.uniform() < 0.4 {
                        4.0 * percent
                    } else {
                        0.0
                    };
                }
                normal + self.before
            }
            Kind::Sticky => {
                self.before = 0.5 * self.before + normal;
                self.before
            }
        }
    }
}

#[test]
fn of_ten_thousand_quiet_windows_fewer_than_one_in_a_hundred_drift() {
    let mut drifting = 0;
    for kind in KINDS {
        let mut of_kind = 0;
        for seed in 0..2500 {
            let mut noise = Noise::new(seed + 1);
            let length = [5, 8, 15, 30][seed as usize % 4];
            let values: Vec<f64> = (0..length).map(|_| 100.0 + noise.of(kind, 3.0)).collect();
            let found = judge(&values, Worse::Higher, Limits::default());
            of_kind += usize::from(found.status == Status::Drift);
        }
        println!("{kind:?}: {of_kind} of 2,500 quiet windows drift");
        drifting += of_kind;
    }
    assert!(drifting < 100, "{drifting} of 10,000");
}

#[test]
fn the_story_of_the_seed_is_found_by_the_fifteenth_build() {
    for kind in KINDS {
        let mut late = 0;
        for seed in 0..250 {
            let mut noise = Noise::new(seed + 1);
            // 120 ms, and 2 ms more with each build; one build a week.
            let values: Vec<f64> = (0..15)
                .map(|build| 120.0 + 2.0 * f64::from(build) + 1.2 * noise.of(kind, 1.0))
                .collect();
            let found = (FEWEST..=15).any(|builds| {
                judge(&values[..builds], Worse::Higher, Limits::default()).status == Status::Drift
            });
            late += usize::from(!found);
        }
        println!("{kind:?}: {late} of 250 stories are found later");
        assert!(late <= 12, "{kind:?}: {late} of 250 are found later");
    }
}
