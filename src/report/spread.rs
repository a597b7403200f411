//! How far passes differ, for a terminal.

use comfy_table::{CellAlignment, Table, presets};

use super::number;
use super::verdict::label;
use crate::domain::Metric;
use crate::judge::spread::Spread;

/// A line a metric: the lowest and the highest value, and how far apart they are.
pub fn spread(rows: &[(Metric, Spread)]) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .force_no_tty()
        .set_header(["metric", "lowest", "middle", "highest", "spread"]);
    for column in 1..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for (metric, spread) in rows {
        let [lowest, middle, highest] =
            [spread.lowest, spread.middle, spread.highest].map(number::value);
        let percent = number::percent(spread.percent());
        table.add_row([label(&metric.name), lowest, middle, highest, percent]);
    }
    format!("{}\n", table.trim_fmt())
}
