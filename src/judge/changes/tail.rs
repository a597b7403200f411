//! A level that has only just begun.
//!
//! [`check`] looks at the newest level in the light of the past, in both directions. The fit of
//! [`segments`](super::segments) takes a few outliers in a row for a new level; where the past has
//! such a row that came to nothing, the newest one waits for more runs. And the fit cuts a value at
//! three noise deviations, so that two values cannot carry a change there; where they lie far
//! beyond the level and close to one another, and the past has nothing of the kind, they are one.

use super::noise::{self, Noise};

/// A level with up to this many values is held against the past.
const YOUNG: usize = 8;
/// A deviation of this share of the step is of the kind of the step.
const ALIKE: f64 = 0.4;
/// The most values of a level that is found here; a longer one is found by the fit.
const LONGEST: usize = 4;
/// How many noise deviations of a long mean such values lie beyond the level, at least.
const FAR: f64 = 5.0;
/// The fewest values of the level before them.
const FEWEST_BEFORE: usize = 4;

/// Removes the newest of `starts` where the past has shown the like of it, and adds a level that is
/// too young for the fit.
pub(super) fn check(values: &[f64], starts: &mut Vec<usize>, noise: &Noise) {
    drop_familiar(values, starts);
    let found = (2..=LONGEST).rev().find_map(|length| {
        let at = values.len().checked_sub(length)?;
        is_new_level(values, starts, at, noise).then_some(at)
    });
    starts.extend(found);
}

fn drop_familiar(values: &[f64], starts: &mut Vec<usize>) {
    let Some((&at, rest)) = starts.split_last() else {
        return;
    };
    let length = values.len() - at;
    let step = median(&values[at..]) - level_before(values, rest, at);
    if length <= YOUNG && was_seen(values, rest, at, length - 1, step.abs() * ALIKE) {
        starts.pop();
    }
}

fn is_new_level(values: &[f64], starts: &[usize], at: usize, noise: &Noise) -> bool {
    let last = starts.last().copied().unwrap_or(0);
    if at < last + FEWEST_BEFORE {
        return false;
    }
    let level = level_before(values, starts, at);
    let side = (values[at] - level).signum();
    let beyond = values[at..].iter().map(|value| (value - level) * side);
    let least = beyond.clone().fold(f64::INFINITY, f64::min);
    let most = beyond.fold(f64::NEG_INFINITY, f64::max);
    let is_far = least > FAR * noise.deviation() * noise.duration().sqrt();
    // Outliers scatter, a new level does not.
    let is_one_level = most - least <= least / 2.0;
    is_far && is_one_level && !was_seen(values, starts, at, 2, least * ALIKE)
}

/// Whether so many values in a row before `at` lay further than `distance` from their level on one
/// side. One value alone is an outlier and says nothing of a row, so a row has two at least.
fn was_seen(values: &[f64], starts: &[usize], at: usize, row: usize, distance: f64) -> bool {
    let residuals = residuals(&values[..at], starts);
    residuals.windows(row.max(2)).any(|row| {
        let all = |side: f64| row.iter().all(|residual| residual * side > distance);
        all(1.0) || all(-1.0)
    })
}

/// The distance of each value from the median of its level.
fn residuals(values: &[f64], starts: &[usize]) -> Vec<f64> {
    let mut from = 0;
    let ends = starts.iter().copied().chain([values.len()]);
    let of_level = |to: usize| {
        let level = &values[from..to];
        let middle = median(level);
        from = to;
        level.iter().map(move |value| value - middle)
    };
    ends.flat_map(of_level).collect()
}

fn level_before(values: &[f64], starts: &[usize], at: usize) -> f64 {
    median(&values[starts.last().copied().unwrap_or(0)..at])
}

fn median(values: &[f64]) -> f64 {
    noise::median(&mut values.to_vec())
}
