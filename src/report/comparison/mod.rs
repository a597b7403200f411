//! A comparison as a table, as Markdown and as a page, and a calibration as a table.
//!
//! Everything is rendered from the record and the verdict, and nothing is decided here: the
//! sentences are the verdict's own. What is worst comes first.

mod calibration;
mod html;
mod markdown;
mod number;
mod strip;
mod text;

pub use calibration::calibration;
pub use html::html;
pub use markdown::markdown;
pub use text::text;

use crate::judge::comparison::record::{SideInfo, SideName};
use crate::judge::comparison::verdict::{CellVerdict, MetricVerdict, Rejection};
use crate::judge::comparison::{CellName, Record, Verdict};

/// A verdict, and the record that it judges.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    record: &'a Record,
    verdict: &'a Verdict,
}

/// A metric of a cell.
#[derive(Clone, Copy)]
struct Row<'a> {
    cell: &'a CellName,
    metric: &'a MetricVerdict,
}

impl<'a> Subject<'a> {
    /// A verdict and its record.
    pub fn new(record: &'a Record, verdict: &'a Verdict) -> Self {
        Self { record, verdict }
    }

    /// Every judged metric, the worst first.
    fn worst_first(&self) -> Vec<Row<'a>> {
        let rows = |cell: &'a CellVerdict| {
            cell.metrics.iter().map(|metric| Row {
                cell: &cell.name,
                metric,
            })
        };
        let mut rows: Vec<Row<'a>> = self.verdict.cells.iter().flat_map(rows).collect();
        // Stable: what is alike stays in the contract's order.
        rows.sort_by(|a, b| {
            let status = a.metric.status.cmp(&b.metric.status);
            status.then_with(|| badness(b.metric).total_cmp(&badness(a.metric)))
        });
        rows
    }

    /// The cells that show no number.
    fn rejected_cells(&self) -> impl Iterator<Item = &'a CellVerdict> {
        use crate::judge::comparison::verdict::Status;
        let cells = self.verdict.cells.iter();
        cells.filter(|cell| cell.status == Status::Rejected)
    }
}

fn badness(metric: &MetricVerdict) -> f64 {
    metric
        .worse_change
        .map_or(f64::INFINITY, |change| change.get())
}

/// What the two sides are, in one line each: the label, and what pins the build down.
fn build(info: &SideInfo) -> String {
    let mut text = info.label.clone();
    let pins = [&info.revision, &info.image_digest];
    for pin in pins.into_iter().flatten() {
        text += &format!(", {pin}");
    }
    text
}

/// Where a rejection was met: `steady, candidate, round 2`.
fn place(rejection: &Rejection) -> String {
    let cell = rejection.cell.as_ref().map(ToString::to_string);
    let side = rejection.side.map(|side: SideName| side.to_string());
    let round = rejection.round.map(|round| format!("round {round}"));
    let parts: Vec<String> = [cell, side, round].into_iter().flatten().collect();
    match parts.as_slice() {
        [] => "the comparison".to_owned(),
        parts => parts.join(", "),
    }
}
