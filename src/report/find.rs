//! The commits between two levels, and the one at which the new level begins.

use std::fmt::Write as _;

use serde::Serialize;

use super::number::{computed, percent};
use super::verdict::label;
use super::words::short;
use super::wrap::{elided as cut, padded};
use crate::domain::MetricName;
use crate::terminal::tame;

/// Columns of a line of text.
const WIDTH: usize = 80;

/// A commit of the search.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// All digits.
    pub(crate) commit: String,
    /// The day, such as 2026-01-31.
    pub(crate) date: String,
    /// The first line of its message.
    pub(crate) subject: String,
    /// What was measured; nothing where it is not known.
    pub(crate) value: Option<f64>,
    /// Why it could not be measured.
    pub(crate) skipped: Option<String>,
}

/// The commits from the last one of the old level to the first one that was measured on the new.
pub(crate) struct Listing<'a> {
    pub(crate) metric: &'a MetricName,
    pub(crate) series: &'a str,
    /// The level before and after, in the history.
    pub(crate) levels: (f64, f64),
    pub(crate) rows: &'a [Row],
}

impl Listing<'_> {
    fn heading(&self) -> String {
        let (before, after) = self.levels;
        format!(
            "{}\n{}\n{} -> {}  {}\n",
            label(self.metric),
            cut(&tame(self.series), WIDTH),
            computed(before),
            computed(after),
            change(before, after)
        )
    }

    /// All commits with what is known of them.
    pub(crate) fn text(&self) -> String {
        let mut out = self.heading();
        let between = self.rows.len().saturating_sub(2);
        let _ = match between {
            0 => writeln!(
                out,
                "\nNo commit lies between the two that were measured:\n"
            ),
            1 => writeln!(out, "\n1 commit between them was not measured:\n"),
            _ => writeln!(out, "\n{between} commits between them were not measured:\n"),
        };
        out.push_str(&table(self.rows));
        out
    }
}

/// A line for each commit: its value, or why it has none.
pub(crate) fn table(rows: &[Row]) -> String {
    let values: Vec<String> = rows
        .iter()
        .map(|row| match (row.value, &row.skipped) {
            (Some(value), _) => computed(value),
            (None, Some(_)) => "skipped".to_owned(),
            (None, None) => "-".to_owned(),
        })
        .collect();
    let width = values.iter().map(|value| value.chars().count()).max();
    let width = width.unwrap_or(0);
    let mut out = String::new();
    for (row, value) in rows.iter().zip(&values) {
        let line = format!(
            "  {}  {}  {}  {}",
            short(&row.commit),
            row.date,
            padded(value, width, true),
            tame(&row.subject)
        );
        let _ = writeln!(out, "{}", cut(line.trim_end(), WIDTH));
    }
    out
}

/// Names the commit at which the new level begins; `parent` is the commit before it.
pub(crate) fn found(metric: &MetricName, parent: &Row, first: &Row) -> String {
    let (before, after) = (
        parent.value.unwrap_or(f64::NAN),
        first.value.unwrap_or(f64::NAN),
    );
    format!(
        "{} is the first commit of the new level.\n\n{}\n\n  {}  {} -> {}  {}\n",
        first.commit,
        table(&[parent.clone(), first.clone()]).trim_end(),
        label(metric),
        computed(before),
        computed(after),
        change(before, after)
    )
}

/// Tells which commits remain; the last of `rows` was measured, the others were not.
pub(crate) fn suspects(rows: &[Row]) -> String {
    let mut out = format!(
        "One of these {} commits is the first of the new level; the others could not be\n\
         measured:\n\n{}",
        rows.len(),
        table(rows)
    );
    let reasons = rows
        .iter()
        .filter_map(|row| Some((row, row.skipped.as_ref()?)));
    for (row, why) in reasons {
        let line = format!("{}: {}", short(&row.commit), tame(why));
        let _ = write!(out, "\n{}", cut(&line, WIDTH));
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn change(before: f64, after: f64) -> String {
    percent((before != 0.0).then(|| (after - before) / before.abs() * 100.0))
}
