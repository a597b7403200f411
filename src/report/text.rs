//! A judgement for a terminal.

use comfy_table::{Cell, CellAlignment, Color, Table, presets};

use super::{Subject, distinct, label, number, words};
use crate::judge::{Comparison, MetricJudgement, Status};

/// Columns whose numbers stand at the right.
const NUMBERS: std::ops::Range<usize> = 2..9;

/// The whole table, then why, then what it comes to; `colour` where the reader sees colours.
pub fn text(subject: &Subject<'_>, colour: bool) -> String {
    let judgement = subject.judgement;
    let mut text = words::series_line(subject.series, subject.commit) + "\n\n";
    let metrics = subject.worst_first();
    if !metrics.is_empty() {
        text += &table(&metrics, colour);
        text.push('\n');
    }
    let mut told = false;
    for obstacle in &judgement.obstacles {
        text += &format!("{}\n", words::obstacle(obstacle, subject.config));
        told = true;
    }
    for metric in &metrics {
        if let Some(why) = words::why(subject, metric) {
            text += &format!("{}: {why}\n", label(&metric.name));
            told = true;
        }
    }
    for step in &judgement.unknown_steps {
        text += &format!("{}\n", words::unknown_step(step, subject.config));
        told = true;
    }
    if told {
        text.push('\n');
    }
    text + &words::conclusion(subject) + "\n"
}

fn table(metrics: &[&MetricJudgement], colour: bool) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "status",
        "metric",
        "candidate",
        "runs",
        "mean",
        "deviation",
        "limit",
        "change",
        "",
    ]);
    if colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    for column in NUMBERS {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    if let Some(first) = table.column_mut(0) {
        first.set_padding((0, 1));
    }
    for metric in metrics {
        for row in rows(metric) {
            table.add_row(row);
        }
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}

/// One row a window; the first names the metric.
fn rows(metric: &MetricJudgement) -> Vec<Vec<Cell>> {
    let status = metric.finding.status();
    let named = [
        coloured(Cell::new(words::status(status)), status),
        Cell::new(label(&metric.name)),
        Cell::new(metric.candidate.map_or_else(number::dash, number::value)),
    ];
    let mut windows: Vec<Option<&Comparison>> = distinct(&metric.comparisons).map(Some).collect();
    if windows.is_empty() {
        windows.push(None);
    }
    let unnamed = || [Cell::new(""), Cell::new(""), Cell::new("")];
    let mut named = Some(named);
    let row = |window: Option<&Comparison>| {
        let first = named.take().unwrap_or_else(unnamed);
        first
            .into_iter()
            .chain(numbers(window).map(Cell::new))
            .collect()
    };
    windows.into_iter().map(row).collect()
}

fn numbers(window: Option<&Comparison>) -> [String; 6] {
    let Some(window) = window else {
        return std::array::from_fn(|_| number::dash());
    };
    [
        window.n.to_string(),
        number::computed(window.mean),
        window
            .standard_deviation
            .map_or_else(number::dash, number::computed),
        number::computed(window.limit),
        number::change(window.change),
        number::percent(window.change_percent),
    ]
}

fn coloured(cell: Cell, status: Status) -> Cell {
    match status {
        Status::Regression => cell.fg(Color::Red),
        Status::Missing | Status::Insufficient => cell.fg(Color::Yellow),
        Status::Improved => cell.fg(Color::Green),
        Status::Accepted => cell.fg(Color::Cyan),
        Status::Pass | Status::Skipped => cell,
    }
}
