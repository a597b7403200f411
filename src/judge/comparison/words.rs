//! Verdicts as sentences. They stand in the verdict, so that every report says the same.

use super::budget::{self, Budget, Found};
use super::randomization;
use super::verdict::{CellVerdict, Rejection, ResultKind, Status};

/// A share in percent, with as many decimals as say something.
pub(super) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "without limit".to_owned();
    }
    let percent = share * 100.0;
    match percent.abs() {
        size if size >= 100.0 => format!("{percent:.0} %"),
        size if size >= 0.095 || size == 0.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.3} %"),
    }
}

fn change(worse_change: f64) -> String {
    match worse_change {
        0.0 => "unchanged".to_owned(),
        change if change.is_infinite() && change > 0.0 => "worse, from a median of zero".to_owned(),
        change if change.is_infinite() => "better, from a median of zero".to_owned(),
        change if change > 0.0 => format!("{} worse", percent(change)),
        change => format!("{} better", percent(-change)),
    }
}

/// What the budget rule found.
pub(super) fn budget(judged: &budget::Judged, budget: &Budget) -> String {
    let change = change(judged.worse_change);
    let (floor, allowed) = (percent(budget.floor), percent(judged.tolerance));
    match judged.found {
        Found::Within => format!("{change}, within the floor of {floor}"),
        Found::Noisy => format!(
            "{change}, which is beyond the floor of {floor} but within the {allowed} that the \
             spread explains"
        ),
        Found::Better | Found::Worse => format!("{change}, and {allowed} is allowed"),
        Found::TooVaried => {
            let (reference, candidate) = (judged.reference.spread, judged.candidate.spread);
            let (side, spread) = if candidate > reference {
                ("candidate", candidate)
            } else {
                ("reference", reference)
            };
            format!(
                "the trials of the {side} have a spread of {}, and up to {} can be judged",
                percent(spread),
                percent(budget.variance)
            )
        }
    }
}

/// What the randomization rule found.
pub(super) fn randomization(judged: &randomization::Judged, floor: f64) -> String {
    let change = change(judged.worse_change);
    let (floor, percentile) = (percent(floor), percent(judged.percentile));
    match judged.found {
        Found::Within => format!("{change}, within the floor of {floor}"),
        Found::Noisy => format!(
            "{change}, which is beyond the floor of {floor} but not above the 95th percentile of \
             chance, {percentile}"
        ),
        Found::Better | Found::Worse => format!(
            "{change}, above the floor of {floor} and above the 95th percentile of chance, \
             {percentile}"
        ),
        Found::TooVaried => format!(
            "{change}, but chance alone reaches {percentile} (95th percentile), which is beyond the \
             floor of {floor}"
        ),
    }
}

/// The verdict in one sentence.
pub(super) fn summary(
    result: ResultKind,
    cells: &[CellVerdict],
    rejections: &[Rejection],
) -> String {
    let judged: usize = cells.iter().map(|cell| cell.metrics.len()).sum();
    let count = |status: Status| {
        let metrics = cells.iter().flat_map(|cell| &cell.metrics);
        metrics.filter(|metric| metric.status == status).count()
    };
    match result {
        ResultKind::WithinBudget => {
            let improved = match count(Status::Improved) {
                0 => String::new(),
                improved => format!(", and {improved} improved"),
            };
            format!("No metric of {judged} is worse than its budget allows{improved}.")
        }
        ResultKind::Different => format!(
            "{} of {judged} metrics differ materially; this contract does not gate performance.",
            count(Status::MaterialDifference)
        ),
        ResultKind::Regressed => format!(
            "{} of {judged} metrics are worse than their budgets allow.",
            count(Status::Regressed)
        ),
        ResultKind::Inconclusive => format!(
            "{} of {judged} metrics vary too much to be judged.",
            count(Status::Inconclusive) + count(Status::Unstable)
        ),
        ResultKind::Rejected => format!(
            "The comparison is not valid, for {}; no performance is judged from it.",
            match rejections.len() {
                1 => "one reason".to_owned(),
                count => format!("{count} reasons"),
            }
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_told_in_percent() {
        for (share, text) in [
            (0.0, "0.0 %"),
            (0.1, "10.0 %"),
            (0.123_45, "12.3 %"),
            (2.5, "250 %"),
            (0.000_012, "0.001 %"),
            (-0.5, "-50.0 %"),
            (f64::INFINITY, "without limit"),
        ] {
            assert_eq!(percent(share), text);
        }
    }
}
