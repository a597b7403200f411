//! Proposed budgets as a table.

use crate::judge::comparison::calibration::Proposal;

/// A table, and the lines to copy into the contract.
pub fn calibration(proposals: &[Proposal]) -> String {
    let mut text = String::new();
    for proposal in proposals {
        text += &format!("{}, {}\n", proposal.cell, proposal.metric);
        let Some(budget) = proposal.budget else {
            text += "  no budget: the values lie around zero, so their spread is no share of it\n";
            continue;
        };
        text += &format!(
            "  largest spread {:.2} %, over {} splits: {} false alarms ({}), {} inconclusive\n",
            proposal.largest_spread * 100.0,
            proposal.splits,
            proposal.false_alarms,
            rate(proposal.false_alarms, proposal.splits),
            proposal.inconclusive
        );
        let percent = (budget * 100.0).round();
        text += &format!("    floor = \"{percent} %\"\n    variance = \"{percent} %\"\n");
    }
    match text.is_empty() {
        true => "The contract judges no metric that was measured.\n".to_owned(),
        false => text,
    }
}

fn rate(count: u64, of: u64) -> String {
    match of {
        0 => "of none".to_owned(),
        of => format!("{:.2} %", count as f64 / of as f64 * 100.0),
    }
}
