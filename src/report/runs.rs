//! Runs as a table, and one run whole, for people.

use std::collections::HashSet;
use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};

use super::history::{commit_start, shortened};
use crate::api::RunBody;
use crate::domain::parameters_text;
use crate::terminal::tame;

/// `perf on main, amd64, trixie at 0123456789ab, tag 14.04`
pub(crate) fn identity(run: &RunBody) -> String {
    let tag = match run.tag.as_str() {
        "" => String::new(),
        tag => format!(", tag {tag}"),
    };
    format!(
        "{} on {}, {}, {} at {}{tag}",
        run.workload,
        run.branch,
        run.arch,
        run.distro,
        commit_start(&run.commit_sha),
    )
}

/// When a column has something to say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Always,
    /// Where a run has a text in it.
    Filled,
    /// Where not all runs have the same.
    Mixed,
}

type Column = (&'static str, Shown, fn(&RunBody) -> String);

const COLUMNS: [Column; 13] = [
    ("run", Shown::Always, |run| run.run_id.to_string()),
    ("date", Shown::Always, |run| run.run_date.to_string()),
    ("commit", Shown::Always, |run| commit_start(&run.commit_sha)),
    ("subject", Shown::Filled, |run| {
        let subject = run.subject.as_ref().map(ToString::to_string);
        shortened(&subject.unwrap_or_default())
    }),
    ("workload", Shown::Always, |run| run.workload.to_string()),
    ("branch", Shown::Always, |run| run.branch.to_string()),
    ("tag", Shown::Filled, |run| run.tag.to_string()),
    ("arch", Shown::Mixed, |run| run.arch.to_string()),
    ("distro", Shown::Mixed, |run| run.distro.to_string()),
    ("repo", Shown::Mixed, |run| run.repo.to_string()),
    ("pipeline", Shown::Mixed, |run| run.pipeline.to_string()),
    ("uploaded by", Shown::Mixed, |run| {
        tame(run.uploaded_by.as_deref().unwrap_or_default())
    }),
    ("outcome", Shown::Filled, |run| outcome(run).to_owned()),
];

fn outcome(run: &RunBody) -> &'static str {
    match (&run.voided, run.succeeded) {
        (Some(_), _) => "voided",
        (None, false) => "failed",
        (None, true) => "",
    }
}

/// A row for each run; nothing at all for none.
pub(crate) fn table(runs: &[RunBody]) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| says_something(column, runs))
        .collect();
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(columns.iter().map(|(title, ..)| *title));
    for run in runs {
        table.add_row(columns.iter().map(|(_, _, cell)| cell(run)));
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if at == 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n", table.trim_fmt())
}

fn says_something((_, shown, cell): &Column, runs: &[RunBody]) -> bool {
    let mut cells = runs.iter().map(cell);
    match shown {
        Shown::Always => true,
        Shown::Filled => cells.any(|cell| !cell.is_empty()),
        Shown::Mixed => cells.collect::<HashSet<_>>().len() > 1,
    }
}

/// One run with everything that is known of it.
pub(crate) fn whole(run: &RunBody) -> String {
    let optional = |value: Option<String>| value.unwrap_or_default();
    let voided = run.voided.as_ref().map(|voided| {
        format!(
            "by {} at {}: {}",
            tame(&voided.by),
            voided.at,
            tame(voided.reason.as_str())
        )
    });
    let parameters = match run.parameters.is_empty() {
        true => String::new(),
        false => parameters_text(&run.parameters),
    };
    let lines = [
        ("run", run.run_id.to_string()),
        ("workload", run.workload.to_string()),
        ("repo", run.repo.to_string()),
        ("branch", run.branch.to_string()),
        ("commit", run.commit_sha.to_string()),
        (
            "subject",
            optional(run.subject.as_ref().map(ToString::to_string)),
        ),
        (
            "change",
            optional(run.change.as_ref().map(ToString::to_string)),
        ),
        (
            "patch set",
            optional(run.patchset.as_ref().map(ToString::to_string)),
        ),
        ("pipeline", run.pipeline.to_string()),
        ("distro", run.distro.to_string()),
        ("arch", run.arch.to_string()),
        ("host class", run.host_class.to_string()),
        ("tag", run.tag.to_string()),
        ("date", run.run_date.to_string()),
        (
            "succeeded",
            if run.succeeded { "yes" } else { "no" }.to_owned(),
        ),
        ("parameters", parameters),
        (
            "uploaded by",
            optional(run.uploaded_by.as_deref().map(tame)),
        ),
        ("token", optional(run.token_id.as_deref().map(tame))),
        (
            "uploaded at",
            optional(run.uploaded_at.map(|at| at.to_string())),
        ),
        ("voided", optional(voided)),
    ];
    let mut text = String::new();
    for (name, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<12} {value}");
    }
    text + &metrics(run)
}

fn metrics(run: &RunBody) -> String {
    let metrics = run.metrics.as_deref().unwrap_or_default();
    if metrics.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["metric", "dim", "value", ""]);
    for metric in metrics {
        table.add_row([
            metric.metric_key.to_string(),
            metric.dim_key.to_string(),
            metric.value.to_string(),
            if metric.wallclock { "wallclock" } else { "" }.to_owned(),
        ]);
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if at == 2 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("\n{}\n", table.trim_fmt())
}
