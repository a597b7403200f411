//! A run that is stored with other content, as a table.

use comfy_table::{Table, presets};

use crate::client::{Conflict, tame};
use crate::http::MeasuredBody;

/// The two sides of every field and metric that differs; `identity` is of both.
pub(super) fn differences(conflict: &Conflict, identity: &str) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["", "stored", "sent"]);
    for field in &conflict.fields {
        let side = |side: &Option<String>| side.as_deref().map_or_else(|| "none".to_owned(), tame);
        table.add_row([tame(&field.field), side(&field.stored), side(&field.sent)]);
    }
    for metric in &conflict.metrics {
        let name = match metric.dim_key.as_str() {
            "" => metric.metric_key.to_string(),
            dim => format!("{} {dim}", metric.metric_key),
        };
        let clocks_differ = matches!(
            (&metric.stored, &metric.sent),
            (Some(stored), Some(sent)) if stored.wallclock != sent.wallclock
        );
        let side = |side: &Option<MeasuredBody>| match side {
            None => "none".to_owned(),
            Some(side) if clocks_differ && side.wallclock => format!("{} wallclock", side.value),
            Some(side) => side.value.to_string(),
        };
        table.add_row([name, side(&metric.stored), side(&metric.sent)]);
    }
    for column in table.column_iter_mut() {
        column.set_padding((2, 0));
    }
    format!(
        "error: run {} is stored with other content, and stays as it is: {}\n{}",
        conflict.run_id,
        identity,
        table.trim_fmt()
    )
}
