//! A run that is stored with other content: how the two differ, for a person.

use comfy_table::{Table, presets};

use crate::api::{ConflictBody, MeasuredBody};
use crate::terminal::tame;

/// Differences that a line tells.
const IN_A_LINE: usize = 5;

/// The two sides of every field and metric that differs; `identity` is of both.
pub(crate) fn table(conflict: &ConflictBody, identity: &str) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["", "stored", "sent"]);
    table.add_rows(differences(conflict));
    for column in table.column_iter_mut() {
        column.set_padding((2, 0));
    }
    format!("{}: {identity}\n{}", stays(conflict), table.trim_fmt())
}

/// The first differences, in one line.
pub(crate) fn line(conflict: &ConflictBody) -> String {
    let all = differences(conflict);
    let mut told: Vec<String> = all
        .iter()
        .take(IN_A_LINE)
        .map(|[name, stored, sent]| format!("{name} is {stored}, sent {sent}"))
        .collect();
    if all.len() > IN_A_LINE {
        told.push(format!("and {} more", all.len() - IN_A_LINE));
    }
    format!("{}: {}", stays(conflict), told.join("; "))
}

fn stays(conflict: &ConflictBody) -> String {
    format!(
        "run {} is stored with other content, and stays as it is",
        conflict.run_id
    )
}

/// Of each difference its name, and what is stored and was sent.
fn differences(conflict: &ConflictBody) -> Vec<[String; 3]> {
    let fields = conflict.fields.iter().map(|field| {
        let side = |side: &Option<String>| side.as_deref().map_or_else(none, tame);
        let stored = match conflict.withheld {
            true => withheld(),
            false => side(&field.stored),
        };
        [tame(&field.field), stored, side(&field.sent)]
    });
    let metrics = conflict.metrics.iter().map(|metric| {
        let name = match metric.dim_key.as_str() {
            "" => metric.metric_key.to_string(),
            dim => format!("{} {dim}", metric.metric_key),
        };
        let clocks_differ = matches!(
            (&metric.stored, &metric.sent),
            (Some(stored), Some(sent)) if stored.wallclock != sent.wallclock
        );
        let side = |side: &Option<MeasuredBody>| match side {
            None => none(),
            Some(side) if clocks_differ && side.wallclock => format!("{} wallclock", side.value),
            Some(side) => side.value.to_string(),
        };
        let stored = match conflict.withheld {
            true => withheld(),
            false => side(&metric.stored),
        };
        [name, stored, side(&metric.sent)]
    });
    fields.chain(metrics).collect()
}

fn none() -> String {
    "none".to_owned()
}

/// What the service does not show to a token that may not read.
fn withheld() -> String {
    "(needs runs:read)".to_owned()
}
