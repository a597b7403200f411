//! Change points: the runs from which on the level of a metric is another one.
//!
//! [`find`] takes the values of one metric, oldest first, and returns its change points. It works in
//! four steps:
//!
//! 1. [`noise`] estimates how far single values scatter around their level, and how much longer than
//!    one run a deviation lasts (noise with two humps stays on one of them for a while). A value
//!    further than three noise deviations from the running median counts as three deviations, so one
//!    outlier cannot make a change.
//! 2. [`segments`] fits a piecewise constant level with the least squared deviation plus a penalty
//!    for each change. The fit is exact and takes nearly linear time.
//! 3. The weakest change is dropped until each remaining one stands out from the noise on its own.
//! 4. A level that has only begun is held against the past ([`tail`]): it is no change where
//!    deviations of nearly its length and size came and went before.
//!
//! The penalty grows with the logarithm of the number of values and with the duration of the
//! deviations. `benches/changes/README.md` tells what else was tried and what each variant scored.
//!
//! Everything is deterministic, and without noise nothing is rounded away: a step of one instruction
//! is a change point where the count repeats exactly otherwise.

mod noise;
mod segments;
mod tail;

pub(super) use noise::median;

use noise::Noise;

use super::comparison::ranks::two_sided_normal;

/// The fewest values in which a change is looked for.
pub const FEWEST: usize = 5;

/// The fewest values that a level between two changes has.
const SHORTEST: usize = 3;

/// How many noise deviations a change stands out by in a series of [`USUAL_LENGTH`] values.
const THRESHOLD: f64 = 4.0;
/// The number of values that [`THRESHOLD`] holds for.
const USUAL_LENGTH: f64 = 250.0;
/// How much of the squared threshold is proportional to the logarithm of the number of values.
const LENGTH_SHARE: f64 = 0.18;
/// The share of the penalty that the first fit uses. It fits too many changes rather than too few,
/// because a step that is taken back is two changes and would pay twice.
const FIRST_FIT: f64 = 0.8;

/// A run from which on the level is another one.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePoint {
    /// The index of the first value of the new level.
    pub at: usize,
    /// The median of the values since the change before.
    pub before: f64,
    /// The median of the values up to the next change.
    pub after: f64,
    /// How many values the old level has.
    pub values_before: usize,
    /// How many values the new level has.
    pub values_after: usize,
    /// The probability that noise alone shows such a step anywhere in a series of this length.
    pub chance: f64,
    /// By how much more the step stands out than it must to be told of; at least about 1.
    pub strength: f64,
}

/// How much is known of a change point yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Two to four values of the new level: the next run can still take it back.
    Early,
    /// It stands out from the noise, but not so far that later runs could not move it by a run or
    /// two, or show it as noise.
    Likely,
    /// Ten values or more on both sides, and a step that stands out by a third more than it must:
    /// later runs leave it as it is.
    Settled,
}

/// The fewest values on each side of a settled change.
const SETTLED_VALUES: usize = 10;
/// The least strength of a settled change.
const SETTLED_STRENGTH: f64 = 1.35;

impl ChangePoint {
    /// The size of the step.
    pub fn change(&self) -> f64 {
        self.after - self.before
    }

    /// The step in percent of the old level, which 0 has none of.
    pub fn change_percent(&self) -> Option<f64> {
        (self.before != 0.0).then(|| self.change() / self.before.abs() * 100.0)
    }

    /// How much is known of it yet.
    pub fn certainty(&self) -> Certainty {
        let fewer = self.values_before.min(self.values_after);
        if self.values_after < 5 {
            return Certainty::Early;
        }
        if fewer < SETTLED_VALUES || self.strength < SETTLED_STRENGTH {
            return Certainty::Likely;
        }
        Certainty::Settled
    }
}

/// The change points of `values`, oldest first.
pub fn find(values: &[f64]) -> Vec<ChangePoint> {
    if values.len() < FEWEST {
        return Vec::new();
    }
    let Some(noise) = Noise::of(values) else {
        return Vec::new();
    };
    let penalty = threshold_squared(values.len()) * noise.duration();
    let calm = segments::Calm::new(noise.calmed());
    let mut starts = segments::fit(&calm, penalty * FIRST_FIT, SHORTEST);
    segments::drop_weak(&calm, &mut starts, penalty);
    tail::check(values, &mut starts, &noise);
    let point = |index: usize| change_point(values, &calm, &noise, &starts, index);
    (0..starts.len()).map(point).collect()
}

/// The squared number of noise deviations that a change stands out by.
fn threshold_squared(length: usize) -> f64 {
    let length = length as f64;
    let by_length = 1.0 + LENGTH_SHARE * (length.max(SHORT) / USUAL_LENGTH).ln();
    let few = 1.0 + FEW / length;
    THRESHOLD * THRESHOLD * by_length * few
}

/// Below this number of values the threshold falls no further.
const SHORT: f64 = 120.0;
/// How much the threshold rises where there are few values to estimate the noise from.
const FEW: f64 = 4.0;

fn change_point(
    values: &[f64],
    calm: &segments::Calm,
    noise: &Noise,
    starts: &[usize],
    index: usize,
) -> ChangePoint {
    let at = starts[index];
    let from = index.checked_sub(1).map_or(0, |before| starts[before]);
    let to = starts.get(index + 1).copied().unwrap_or(values.len());
    let deviations = (calm.gain(from, at, to) / noise.duration()).sqrt();
    let strength = deviations / threshold_squared(values.len()).sqrt();
    ChangePoint {
        at,
        before: noise::median(&mut values[from..at].to_vec()),
        after: noise::median(&mut values[at..to].to_vec()),
        values_before: at - from,
        values_after: to - at,
        chance: (values.len() as f64 * two_sided_normal(deviations)).min(1.0),
        strength,
    }
}

#[cfg(test)]
mod tests;
