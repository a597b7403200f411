//! Change points that must be found, and noise that must not be taken for one.

use super::*;

/// A generator without dependencies, so that every run of a test sees the same noise.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1_u64 << 31) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

fn places(values: &[f64]) -> Vec<usize> {
    find(values).iter().map(|point| point.at).collect()
}

/// Levels of so many values each.
fn levels(of: &[(usize, f64)]) -> Vec<f64> {
    of.iter()
        .flat_map(|&(length, level)| std::iter::repeat_n(level, length))
        .collect()
}

fn with_noise(levels: &[f64], deviation: f64, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    levels
        .iter()
        .map(|level| level + deviation * random.normal())
        .collect()
}

#[test]
fn values_that_never_change_have_no_change_point() {
    for length in [0, 1, 2, 5, 100] {
        assert_eq!(places(&levels(&[(length, 7.0)])), [0; 0], "{length} values");
    }
}

#[test]
fn a_step_of_one_instruction_is_a_change_point_where_counts_repeat_exactly() {
    for base in [0.0, 1234.0, 1_234_567_890.0, 9_007_199_254_740.0] {
        let values = levels(&[(40, base), (30, base + 1.0)]);
        let found = find(&values);
        assert_eq!(found.len(), 1, "{base}: {found:?}");
        assert_eq!(found[0].at, 40);
        assert_eq!((found[0].before, found[0].after), (base, base + 1.0));
        assert_eq!((found[0].values_before, found[0].values_after), (40, 30));
        assert_eq!(found[0].certainty(), Certainty::Settled);
    }
}

#[test]
fn steps_of_very_different_size_are_all_found_at_their_place() {
    let values = levels(&[
        (20, 1e9),
        (20, 2e9),
        (20, 2e9 + 1.0),
        (20, 1e6),
        (20, 1e6 + 1.0),
    ]);
    assert_eq!(places(&values), [20, 40, 60, 80]);
}

#[test]
fn a_change_shows_with_the_second_run_of_the_new_level() {
    let exact = |length| levels(&[(20, 1_000_000.0), (length, 1_001_000.0)]);
    assert_eq!(places(&exact(1)), [0; 0]);
    let found = find(&exact(2));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].at, found[0].certainty()), (20, Certainty::Early));
    let noisy = with_noise(&levels(&[(20, 100.0), (2, 120.0)]), 0.5, 1);
    assert_eq!(places(&noisy), [20]);
}

#[test]
fn certainty_grows_with_the_runs_of_the_new_level() {
    for (length, certainty) in [
        (2, Certainty::Early),
        (4, Certainty::Early),
        (5, Certainty::Likely),
        (9, Certainty::Likely),
        (10, Certainty::Settled),
    ] {
        let found = find(&levels(&[(20, 100.0), (length, 110.0)]));
        assert_eq!(found.len(), 1, "{length} runs");
        assert_eq!(found[0].certainty(), certainty, "{length} runs");
    }
}

#[test]
fn a_point_that_stands_alone_is_an_outlier_wherever_it_stands() {
    for at in [0, 1, 15, 38, 39] {
        for outlier in [0.0, 120.0, 1e9] {
            let mut exact = levels(&[(40, 100.0)]);
            exact[at] = outlier;
            assert_eq!(places(&exact), [0; 0], "{outlier} at {at}, no noise");
            let mut noisy = with_noise(&levels(&[(40, 100.0)]), 0.5, 3);
            noisy[at] = outlier;
            assert_eq!(places(&noisy), [0; 0], "{outlier} at {at}, noise");
        }
    }
}

#[test]
fn a_step_that_is_taken_back_is_two_changes() {
    let exact = levels(&[(30, 100.0), (6, 101.0), (30, 100.0)]);
    assert_eq!(places(&exact), [30, 36]);
    let noisy = with_noise(&levels(&[(60, 100.0), (15, 104.0), (60, 100.0)]), 1.0, 5);
    let found = places(&noisy);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].abs_diff(60) <= 2 && found[1].abs_diff(75) <= 2,
        "{found:?}"
    );
}

#[test]
fn an_old_change_hides_no_newer_one_beside_it() {
    // Otava compares a change with a neighbour that it drops afterwards, and loses both.
    let values = with_noise(&levels(&[(30, 100.0), (5, 103.0), (40, 112.0)]), 0.8, 11);
    let found = places(&values);
    assert!(found.iter().any(|at| at.abs_diff(35) <= 2), "{found:?}");
}

#[test]
fn quiet_noise_of_any_length_raises_fewer_than_three_alarms_in_a_thousand_series() {
    for length in [5, 8, 12, 20, 40, 100, 400] {
        let alarms: usize = (0..1000)
            .map(|seed| find(&with_noise(&vec![100.0; length], 1.0, seed)).len())
            .sum();
        assert!(
            alarms < 6,
            "{alarms} alarms in 1,000 series of {length} values"
        );
    }
}

#[test]
fn noise_that_stays_on_one_of_two_humps_for_a_while_is_no_change() {
    let mut alarms = 0;
    for seed in 0..200 {
        let mut random = Random(seed);
        let mut hump = 0.0;
        let values: Vec<f64> = (0..300)
            .map(|_| {
                if random.uniform() < 0.3 {
                    hump = f64::from(u8::from(random.uniform() < 0.4));
                }
                100.0 + random.normal() + 3.0 * hump
            })
            .collect();
        alarms += find(&values).len();
    }
    // 60,000 values.
    assert!(alarms < 60, "{alarms} alarms in 60,000 values");
}

#[test]
fn the_answer_does_not_depend_on_the_unit_or_the_direction() {
    let values = with_noise(&levels(&[(50, 100.0), (50, 103.0)]), 1.0, 21);
    let expected = places(&values);
    assert_eq!(expected.len(), 1);
    let scaled: Vec<f64> = values.iter().map(|value| value * 1024.0).collect();
    assert_eq!(places(&scaled), expected);
    let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
    assert_eq!(places(&mirrored), expected);
}

#[test]
fn a_settled_change_stays_when_runs_arrive() {
    let truth = levels(&[(60, 100.0), (80, 104.0), (60, 101.0)]);
    for seed in 0..20 {
        let values = with_noise(&truth, 1.0, seed);
        let mut settled: Vec<usize> = Vec::new();
        for length in FEWEST..=values.len() {
            let found = find(&values[..length]);
            for &at in &settled {
                let stays = found.iter().any(|point| point.at.abs_diff(at) <= 1);
                assert!(stays, "seed {seed}: {at} is gone after {length} runs");
            }
            let new = found
                .iter()
                .filter(|point| point.certainty() == Certainty::Settled);
            settled.extend(new.map(|point| point.at));
            settled.sort_unstable();
            settled.dedup();
        }
    }
}

#[test]
fn a_step_without_noise_is_found_at_its_value_however_short_the_levels_are() {
    for before in 3..30 {
        for after in 3..30 {
            let values = [vec![100.0; before], vec![110.0; after]].concat();
            let found: Vec<usize> = find(&values).iter().map(|point| point.at).collect();
            assert_eq!(found, [before], "{before} and {after} values");
        }
    }
    let levels = [
        (5, 1000.0),
        (6, 1001.0),
        (4, 990.0),
        (12, 990.5),
        (5, 1000.0),
    ];
    let values: Vec<f64> = levels
        .iter()
        .flat_map(|&(count, level)| vec![level; count])
        .collect();
    let found: Vec<usize> = find(&values).iter().map(|point| point.at).collect();
    assert_eq!(found, [5, 11, 15, 27]);
}
