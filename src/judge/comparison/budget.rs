//! The budget rule: medians, and what their difference may be.
//!
//! The tolerance is the larger of the floor and three times the larger relative median absolute
//! deviation of the two sides. One outlier among five trials moves neither.

use super::sample::{is_above, median, relative_change, relative_mad};
use crate::judge::Worse;

/// How many spreads a change may have before it is more than noise.
const SPREADS: f64 = 3.0;

/// What a project allows one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// The change that matters, as a share: up to here nothing is said.
    pub floor: f64,
    /// The largest spread of a side that can be judged, as a share of its median.
    pub variance: f64,
}

/// One side in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// The median of its trials.
    pub median: f64,
    /// Their relative median absolute deviation; infinite around a median of zero.
    pub spread: f64,
    /// How many trials it has.
    pub trials: usize,
}

impl Side {
    /// The numbers of a side; `None` where it has no trial.
    pub fn of(values: &[f64]) -> Option<Self> {
        Some(Self {
            median: median(values)?,
            spread: relative_mad(values)?,
            trials: values.len(),
        })
    }
}

/// What a rule finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The change is within the floor.
    Within,
    /// The change is beyond the floor, but no larger than noise explains.
    Noisy,
    /// Better, by more than the tolerance.
    Better,
    /// Worse, by more than the tolerance.
    Worse,
    /// The trials of a side lie too far apart to say anything.
    TooVaried,
}

/// The rule's numbers for one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The reference.
    pub reference: Side,
    /// The candidate.
    pub candidate: Side,
    /// The change of the median, as a share of the reference's, positive where it is worse.
    pub worse_change: f64,
    /// The largest such change that passes.
    pub tolerance: f64,
    /// What that comes to.
    pub found: Found,
}

/// The larger of the floor and three times the larger spread.
pub fn tolerance(floor: f64, reference: &Side, candidate: &Side) -> f64 {
    floor.max(SPREADS * reference.spread.max(candidate.spread))
}

/// Holds two sides to a budget; `None` where a side has no trial.
pub fn judge(
    reference: &[f64],
    candidate: &[f64],
    worse: Worse,
    budget: &Budget,
) -> Option<Judged> {
    let (reference, candidate) = (Side::of(reference)?, Side::of(candidate)?);
    let worse_change = worse_change(reference.median, candidate.median, worse);
    let tolerance = tolerance(budget.floor, &reference, &candidate);
    let is_varied = |side: &Side| is_above(side.spread, budget.variance);
    let found = if is_varied(&reference) || is_varied(&candidate) {
        Found::TooVaried
    } else if is_above(worse_change, tolerance) {
        Found::Worse
    } else if is_above(-worse_change, tolerance) {
        Found::Better
    } else if is_above(worse_change.abs(), budget.floor) {
        Found::Noisy
    } else {
        Found::Within
    };
    Some(Judged {
        reference,
        candidate,
        worse_change,
        tolerance,
        found,
    })
}

/// The relative change between two medians, positive where it is worse.
pub(super) fn worse_change(reference: f64, candidate: f64, worse: Worse) -> f64 {
    let change = relative_change(reference, candidate);
    match worse {
        Worse::Higher => change,
        Worse::Lower => -change,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTH: Budget = Budget {
        floor: 0.1,
        variance: 0.25,
    };

    fn found(reference: &[f64], candidate: &[f64], worse: Worse) -> Found {
        judge(reference, candidate, worse, &TENTH).unwrap().found
    }

    #[test]
    fn worse_is_where_the_contract_says_it_is() {
        let (low, high) = ([100.0; 3], [120.0; 3]);
        assert_eq!(found(&low, &high, Worse::Higher), Found::Worse);
        assert_eq!(found(&low, &high, Worse::Lower), Found::Better);
        assert_eq!(found(&high, &low, Worse::Higher), Found::Better);
        assert_eq!(found(&high, &low, Worse::Lower), Found::Worse);
        let (negative, positive) = ([-5.0; 3], [5.0; 3]);
        assert_eq!(found(&negative, &positive, Worse::Higher), Found::Worse);
    }

    #[test]
    fn zeros_are_judged() {
        let (zero, one) = ([0.0; 3], [1.0; 3]);
        assert_eq!(found(&zero, &zero, Worse::Higher), Found::Within);
        assert_eq!(found(&zero, &one, Worse::Higher), Found::Worse);
        assert_eq!(found(&one, &zero, Worse::Higher), Found::Better);
        assert_eq!(found(&zero, &one, Worse::Lower), Found::Better);
        let around_zero = [-1.0, 0.0, 1.0];
        assert_eq!(found(&around_zero, &zero, Worse::Higher), Found::TooVaried);
    }

    #[test]
    fn a_spread_beyond_its_budget_says_nothing_on_either_side() {
        let (steady, varied) = ([100.0; 5], [60.0, 100.0, 140.0, 60.0, 140.0]);
        assert_eq!(found(&steady, &varied, Worse::Higher), Found::TooVaried);
        assert_eq!(found(&varied, &steady, Worse::Higher), Found::TooVaried);
    }

    #[test]
    fn a_side_without_a_trial_is_not_judged() {
        assert_eq!(judge(&[], &[1.0], Worse::Higher, &TENTH), None);
        assert_eq!(judge(&[1.0], &[], Worse::Higher, &TENTH), None);
    }
}
