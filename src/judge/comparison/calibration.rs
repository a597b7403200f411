//! Budgets for a contract, from a comparison of a build with itself.
//!
//! A budget is a quarter more than the largest spread of a side that was seen, rounded up to a
//! multiple of 5 %. What the proposed rule would say of builds that are the same is counted over
//! all ways to split the trials into two sides.

use super::budget::{self, Budget, Found};
use super::contract::Contract;
use super::randomization::EXACT;
use super::record::{Record, SideName};
use super::sample::relative_mad;
use crate::judge::Worse;

const MARGIN: f64 = 1.25;
const STEP: f64 = 0.05;

/// What is proposed for one metric of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The cell.
    pub cell: String,
    /// The metric.
    pub metric: String,
    /// The largest spread of a side; infinite around zero.
    pub largest_spread: f64,
    /// The proposed floor and variance budget, one number; `None` where no spread can be told.
    pub budget: Option<f64>,
    /// How many splits of the trials were judged.
    pub splits: u64,
    /// How many of them the proposed rule would have called worse.
    pub false_alarms: u64,
    /// How many it would have called inconclusive.
    pub inconclusive: u64,
}

/// A proposal for every judged metric of the contract.
pub fn propose(record: &Record, contract: &Contract) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    for cell in &contract.cells {
        for rule in &cell.metrics {
            let values = |side| -> Vec<f64> {
                let points = record.points(&cell.name, &rule.name, side);
                points.into_iter().map(|(_, value)| value).collect()
            };
            let reference = values(SideName::Reference);
            let candidate = values(SideName::Candidate);
            let proposal = proposal(&reference, &candidate, rule.worse);
            proposals.extend(proposal.map(|proposal| Proposal {
                cell: cell.name.to_string(),
                metric: rule.name.clone(),
                ..proposal
            }));
        }
    }
    proposals
}

fn proposal(reference: &[f64], candidate: &[f64], worse: Worse) -> Option<Proposal> {
    let largest_spread = relative_mad(reference)?.max(relative_mad(candidate)?);
    let budget = rounded_up(largest_spread * MARGIN);
    let mut proposal = Proposal {
        cell: String::new(),
        metric: String::new(),
        largest_spread,
        budget,
        splits: 0,
        false_alarms: 0,
        inconclusive: 0,
    };
    let Some(share) = budget else {
        return Some(proposal);
    };
    let budget = Budget {
        floor: share,
        variance: share,
    };
    // Ten values a side are 184,756 splits; of more, the first ten stand for the rest.
    let first = |values: &[f64]| values[..values.len().min(EXACT)].to_vec();
    let (reference, candidate) = (first(reference), first(candidate));
    let pool: Vec<f64> = reference.iter().chain(&candidate).copied().collect();
    for choice in 0_u32..1 << pool.len() {
        if choice.count_ones() as usize != reference.len() {
            continue;
        }
        let side = |bit: u32| -> Vec<f64> {
            let chosen = pool
                .iter()
                .enumerate()
                .filter(|(index, _)| choice >> index & 1 == bit);
            chosen.map(|(_, value)| *value).collect()
        };
        let found = budget::judge(&side(1), &side(0), worse, &budget)?.found;
        proposal.splits += 1;
        proposal.false_alarms += u64::from(found == Found::Worse);
        proposal.inconclusive += u64::from(found == Found::TooVaried);
    }
    Some(proposal)
}

/// The next multiple of 5 %, and never none: a floor of zero would call every change material.
fn rounded_up(share: f64) -> Option<f64> {
    if !share.is_finite() {
        return None;
    }
    // A hair less than the number itself, so that 5 % is not rounded up to 10 %.
    let steps = (share / STEP - 1e-9).ceil().max(1.0);
    Some(steps * STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_quarter_more_rounded_up_to_five_percent() {
        for (spread, budget) in [
            (0.0, 0.05),
            (0.04, 0.05),
            (0.041, 0.10),
            (0.08, 0.10),
            (0.25, 0.35),
        ] {
            let proposed = rounded_up(spread * MARGIN).unwrap();
            assert!((proposed - budget).abs() < 1e-12, "{spread}: {proposed}");
        }
        assert_eq!(rounded_up(f64::INFINITY), None);
    }

    #[test]
    fn steady_values_raise_no_false_alarm() {
        let values = [100.0, 101.0, 99.0, 100.5, 99.5];
        let proposal = proposal(&values, &values, Worse::Higher).unwrap();
        assert_eq!(proposal.splits, 252);
        assert_eq!((proposal.false_alarms, proposal.inconclusive), (0, 0));
    }

    #[test]
    fn two_levels_raise_some() {
        let (low, high) = ([100.0; 5], [130.0; 5]);
        let proposal = proposal(&low, &high, Worse::Higher).unwrap();
        // The two splits that put all of one level on one side, one of which is worse.
        assert!(proposal.false_alarms >= 1, "{proposal:?}");
    }
}
