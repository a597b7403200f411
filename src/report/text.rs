//! A judgement for a terminal: one metric is one line, the worst first.

use super::verdict::{Row, Verdict, allowed, change, distinct, shown, windows_disagree};
use super::{number, words, wrap};
use crate::judge::{Comparison, Finding, Skip, Status, WindowJudgement};

/// Columns where nobody says how many there are.
const COLUMNS: usize = 80;
/// A name is not made shorter than this.
const NARROWEST_NAME: usize = 16;
/// Metrics that are as they were have so many lines; the others are counted.
const UNCHANGED_SHOWN: usize = 10;
/// Of another status than a regression, so many have a line.
const OTHERS_SHOWN: usize = 30;
/// So many reasons are told.
const REASONS_SHOWN: usize = 30;

/// How a text is to look.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextForm {
    /// Whether the reader sees colours.
    pub colour: bool,
    /// Columns of the reader's terminal; `None` takes eighty.
    pub columns: Option<usize>,
    /// Whether the windows of every metric are listed.
    pub explain: bool,
}

/// The verdict, the metrics, and why they are as they are.
pub fn text(verdict: &Verdict<'_>, form: TextForm) -> String {
    let columns = form.columns.unwrap_or(COLUMNS).max(60);
    let mut parts = vec![head(verdict, columns)];
    parts.push(table(verdict, form, columns));
    parts.push(reasons(verdict, columns));
    parts.extend(verdict.advice.iter().map(|advice| {
        let what = wrap::wrapped(&advice.what, columns, "");
        match advice.lines.as_str() {
            "" => format!("{what}\n"),
            lines => format!("{what}\n\n{lines}"),
        }
    }));
    if form.explain {
        parts.push(super::explained::text(verdict));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn head(verdict: &Verdict<'_>, columns: usize) -> String {
    // The first line says all, however long it is: a script may read it alone.
    let about = wrap::wrapped(&words::about_line(&verdict.about), columns, "  ");
    format!("{}\n{about}\n", verdict.summary())
}

/// A line of the table.
struct Line {
    status: Option<Status>,
    cells: [String; 5],
}

fn table(verdict: &Verdict<'_>, form: TextForm, columns: usize) -> String {
    let mut lines = vec![Line {
        status: None,
        cells: ["status", "metric", "value", "change", "allowed"].map(str::to_owned),
    }];
    let mut folded = Vec::new();
    let mut rows = verdict.rows.as_slice();
    while let Some(first) = rows.first() {
        let count = rows
            .iter()
            .take_while(|row| row.status == first.status)
            .count();
        let (of_status, rest) = rows.split_at(count);
        rows = rest;
        let shown = if form.explain {
            count
        } else {
            most(first.status)
        };
        for row in of_status.iter().take(shown) {
            lines.extend(row_lines(row));
        }
        if count > shown && first.status != Status::Skipped {
            let what = match first.status {
                Status::Pass => "unchanged",
                status => words::status(status),
            };
            folded.push(wrap::more(count - shown, what) + "\n");
        }
    }
    folded.extend(skipped(verdict, columns));
    let table = if lines.len() > 1 {
        laid_out(&lines, form, columns)
    } else {
        String::new()
    };
    table + &folded.concat()
}

/// How many metrics of a status have a line.
fn most(status: Status) -> usize {
    match status {
        Status::Regression => usize::MAX,
        Status::Pass => UNCHANGED_SHOWN,
        Status::Skipped => 0,
        _ => OTHERS_SHOWN,
    }
}

/// The metrics that are not judged, a line for each reason.
fn skipped(verdict: &Verdict<'_>, columns: usize) -> Vec<String> {
    let config = verdict.about.config;
    let class = &verdict.judgement.host_class;
    let kinds = [
        (
            Skip::HostClass,
            format!(
                "wall-clock, not judged: {config} names no host class `{class}` under [wallclock]"
            ),
        ),
        (Skip::Shown, "only shown".to_owned()),
        (Skip::Ignored, format!("ignored by {config}")),
    ];
    kinds
        .iter()
        .filter_map(|(skip, what)| {
            let count = verdict.skipped(*skip);
            let text = format!("{} {what}", words::metrics(count));
            (count > 0).then(|| wrap::wrapped(&text, columns, "  ") + "\n")
        })
        .collect()
}

/// The line of a metric, and one for each window where these disagree.
fn row_lines(row: &Row<'_>) -> Vec<Line> {
    let mut lines = vec![Line {
        status: Some(row.status),
        cells: [
            words::status(row.status).to_owned(),
            row.name.clone(),
            row.value.clone(),
            row.change.clone(),
            row.allowed.clone(),
        ],
    }];
    let is_unsteady = row.metric.finding == Finding::Unsteady;
    if is_unsteady || windows_disagree(row.metric) {
        let windows = distinct(&row.metric.windows);
        lines.extend(windows.flat_map(|window| window_lines(row, window)));
    }
    lines
}

fn window_lines(row: &Row<'_>, window: &WindowJudgement) -> Vec<Line> {
    let line = |comparison: &Comparison, of: &str| Line {
        status: None,
        cells: [
            String::new(),
            format!("  {} runs{of}", comparison.n),
            number::computed(comparison.mean),
            change(comparison),
            allowed(row.metric, comparison),
        ],
    };
    let mut lines = vec![line(&window.all, "")];
    if window.without_outliers.is_some() {
        lines.push(line(shown(window), ", without outliers"));
    }
    lines
}

/// The table in columns, as wide as the reader has room for.
fn laid_out(lines: &[Line], form: TextForm, columns: usize) -> String {
    let width = |column: usize| {
        let cells = lines.iter().map(|line| line.cells[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let mut widths: [usize; 5] = std::array::from_fn(width);
    let others: usize = [0, 2, 3, 4].iter().map(|&column| widths[column]).sum();
    let gaps = 2 * (widths.len() - 1);
    let room = columns.saturating_sub(others + gaps);
    widths[1] = widths[1].min(room.max(NARROWEST_NAME));
    let mut text = String::new();
    for line in lines {
        let cell = |column: usize| {
            let cell = wrap::elided(&line.cells[column], widths[column]);
            wrap::padded(&cell, widths[column], column >= 2)
        };
        let [status, rest @ ..] = std::array::from_fn::<String, 5, _>(cell);
        let status = match line.status.filter(|_| form.colour) {
            Some(found) => coloured(&status, found),
            None => status,
        };
        let row = format!("{status}  {}", rest.join("  "));
        text += row.trim_end();
        text.push('\n');
    }
    text
}

/// Obstacles, the reasons of what is not as it was, and notes.
fn reasons(verdict: &Verdict<'_>, columns: usize) -> String {
    let mut lines: Vec<String> = verdict.obstacles.clone();
    let told = |row: &&Row<'_>| {
        !matches!(
            row.status,
            Status::Pass | Status::Skipped | Status::Improved | Status::New
        )
    };
    let mut reasons: Vec<String> = verdict
        .rows
        .iter()
        .filter(told)
        .filter_map(|row| Some(format!("{}: {}", row.name, row.why.as_ref()?)))
        .collect();
    let more = reasons.len().saturating_sub(REASONS_SHOWN);
    reasons.truncate(REASONS_SHOWN);
    lines.extend(reasons);
    if more > 0 {
        lines.push(wrap::more(more, "reasons; --json has them all"));
    }
    lines.extend(verdict.notes.iter().map(|note| format!("note: {note}")));
    let wrapped = lines
        .iter()
        .map(|line| wrap::wrapped(line, columns, "  ") + "\n");
    wrapped.collect()
}

/// A status in its colour.
fn coloured(text: &str, status: Status) -> String {
    let code = match status {
        Status::Regression => 31,
        Status::Missing | Status::Unsteady | Status::Insufficient | Status::Warning => 33,
        Status::Improved => 32,
        Status::Accepted | Status::New => 36,
        Status::Pass | Status::Skipped => return text.to_owned(),
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}
