//! A history as rows: one a point, newest first, then by metric.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::io::Write;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

use crate::api::{HistoryAnswer, MetricPoints, PointBody};
use crate::domain::{CommitSha, parameters_text};

/// Digits of a commit in a table: enough to tell, few enough to read.
const COMMIT_DIGITS: usize = 12;

/// A column is not made narrower, even where the terminal is: a letter a line is no text.
const NARROWEST: u16 = 14;

/// The fields of a row of CSV.
const CSV_HEADER: [&str; 20] = [
    "workload",
    "branch",
    "arch",
    "distro",
    "run_date",
    "commit_sha",
    "metric_key",
    "dim_key",
    "value",
    "wallclock",
    "run_id",
    "tag",
    "change",
    "patchset",
    "repo",
    "pipeline",
    "host_class",
    "succeeded",
    "subject",
    "parameters",
];

/// A history as CSV (RFC 4180), a page at a time: a row for each point, with all its fields.
pub(crate) struct Csv<W: Write>(csv::Writer<W>);

impl<W: Write> Csv<W> {
    /// Begins with the names of the fields.
    pub(crate) fn new(out: W) -> csv::Result<Self> {
        let mut writer = csv::WriterBuilder::new()
            .terminator(csv::Terminator::CRLF)
            .from_writer(out);
        writer.write_record(CSV_HEADER)?;
        Ok(Self(writer))
    }

    /// Writes a page, newest point first, and passes on all that is written so far.
    pub(crate) fn page(&mut self, page: &HistoryAnswer) -> csv::Result<()> {
        for row in rows(page) {
            self.0.write_record(row.csv(page))?;
        }
        Ok(self.0.flush()?)
    }
}

/// One point and the metric that it is of.
#[derive(Clone, Copy)]
struct Row<'a> {
    metric: &'a MetricPoints,
    point: &'a PointBody,
}

/// The points of all metrics.
fn rows(answer: &HistoryAnswer) -> Vec<Row<'_>> {
    let points = answer
        .metrics
        .iter()
        .flat_map(|metric| metric.points.iter().map(move |point| Row { metric, point }));
    let mut rows: Vec<Row<'_>> = points.collect();
    // Stable, so that the metrics of one run stay ordered by name.
    rows.sort_by_key(|row| Reverse((row.point.run_date, row.point.run_id)));
    rows
}

impl Row<'_> {
    fn csv(self, page: &HistoryAnswer) -> [String; CSV_HEADER.len()] {
        let Self { metric, point } = self;
        let series = &page.series;
        let parameters = point
            .parameter_set
            .and_then(|place| page.parameter_sets.get(place));
        [
            series.workload.to_string(),
            series.branch.to_string(),
            series.arch.to_string(),
            series.distro.to_string(),
            point.run_date.to_string(),
            point.commit_sha.to_string(),
            metric.metric_key.to_string(),
            metric.dim_key.to_string(),
            point.value.to_string(),
            metric.wallclock.to_string(),
            point.run_id.to_string(),
            point.tag.to_string(),
            or_empty(point.change.as_ref()),
            or_empty(point.patchset.as_ref()),
            point.repo.to_string(),
            point.pipeline.to_string(),
            point.host_class.to_string(),
            point.succeeded.to_string(),
            or_empty(point.subject.as_ref()),
            parameters.map(parameters_text).unwrap_or_default(),
        ]
    }

    fn outcome(self) -> &'static str {
        match (self.point.voided, self.point.succeeded) {
            (true, _) => "voided",
            (false, false) => "failed",
            (false, true) => "",
        }
    }

    /// The change and its patch set, as reviews write them.
    fn change(self) -> String {
        match (&self.point.change, &self.point.patchset) {
            (Some(change), Some(patchset)) => format!("{change},{patchset}"),
            (change, _) => or_empty(change.as_ref()),
        }
    }
}

/// Characters of a subject in a table, enough to recognise the commit.
const SUBJECT_CHARS: usize = 40;

/// The first digits of a commit.
pub(super) fn commit_start(commit: &CommitSha) -> String {
    commit.as_str()[..COMMIT_DIGITS].to_owned()
}

/// A subject that fits in a column.
pub(super) fn shortened(text: &str) -> String {
    if text.chars().count() <= SUBJECT_CHARS {
        return text.to_owned();
    }
    let start: String = text.chars().take(SUBJECT_CHARS - 1).collect();
    format!("{start}…")
}

fn or_empty(value: Option<&impl ToString>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

/// When a column has something to say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Always,
    /// Where a row has a text in it.
    Filled,
    /// Where not all rows have the same.
    Mixed,
}

struct Column {
    title: &'static str,
    shown: Shown,
    cell: fn(Row<'_>) -> String,
}

const COLUMNS: [Column; 12] = [
    Column {
        title: "date",
        shown: Shown::Always,
        cell: |row| row.point.run_date.to_string(),
    },
    Column {
        title: "commit",
        shown: Shown::Always,
        cell: |row| commit_start(&row.point.commit_sha),
    },
    Column {
        title: "subject",
        shown: Shown::Filled,
        cell: |row| shortened(&or_empty(row.point.subject.as_ref())),
    },
    Column {
        title: "metric",
        shown: Shown::Always,
        cell: |row| row.metric.metric_key.to_string(),
    },
    Column {
        title: "dim",
        shown: Shown::Filled,
        cell: |row| row.metric.dim_key.to_string(),
    },
    Column {
        title: VALUE,
        shown: Shown::Always,
        cell: |row| super::number::value(row.point.value),
    },
    Column {
        title: "tag",
        shown: Shown::Filled,
        cell: |row| row.point.tag.to_string(),
    },
    Column {
        title: "change",
        shown: Shown::Filled,
        cell: |row| row.change(),
    },
    Column {
        title: "outcome",
        shown: Shown::Filled,
        cell: |row| row.outcome().to_owned(),
    },
    Column {
        title: "repo",
        shown: Shown::Mixed,
        cell: |row| row.point.repo.to_string(),
    },
    Column {
        title: "pipeline",
        shown: Shown::Mixed,
        cell: |row| row.point.pipeline.to_string(),
    },
    Column {
        title: "host class",
        shown: Shown::Mixed,
        cell: |row| row.point.host_class.to_string(),
    },
];

const VALUE: &str = "value";

/// A table for people, as wide as the terminal if there is one; nothing at all for no points.
pub(crate) fn text(answer: &HistoryAnswer) -> String {
    text_in(answer, None)
}

fn text_in(answer: &HistoryAnswer, width: Option<u16>) -> String {
    let rows = rows(answer);
    if rows.is_empty() {
        return String::new();
    }
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| column.says_something(&rows))
        .collect();
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(columns.iter().map(|column| column.title))
        .add_rows(
            rows.iter()
                .map(|&row| columns.iter().map(move |column| (column.cell)(row))),
        );
    if let Some(width) = width {
        table.set_width(width);
    }
    let widths = table.column_max_content_widths();
    for ((shown, column), width) in columns.iter().zip(table.column_iter_mut()).zip(widths) {
        column.set_padding((0, 2));
        if shown.title == VALUE {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_constraint(if ["date", "commit", VALUE].contains(&shown.title) {
            // A number or a commit in two lines is none.
            ColumnConstraint::ContentWidth
        } else {
            ColumnConstraint::LowerBoundary(Width::Fixed((width + 2).min(NARROWEST)))
        });
    }
    format!("{}\n", table.trim_fmt())
}

impl Column {
    fn says_something(&self, rows: &[Row<'_>]) -> bool {
        let mut cells = rows.iter().map(|&row| (self.cell)(row));
        match self.shown {
            Shown::Always => true,
            Shown::Filled => cells.any(|cell| !cell.is_empty()),
            Shown::Mixed => cells.collect::<HashSet<_>>().len() > 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(points: &[&str]) -> HistoryAnswer {
        let metrics = format!(
            r#"[{{"metric_key": "sysbench.latency_p95", "dim_key": "threads=16;table=4", "wallclock": true,
                "points": [{}]}},
                {{"metric_key": "callgrind.ir", "dim_key": "", "wallclock": false, "points": [{}]}}]"#,
            points[0],
            points[1..].join(", "),
        );
        let series =
            r#"{"workload": "perf", "branch": "main", "arch": "amd64", "distro": "trixie"}"#;
        serde_json::from_str(&format!(r#"{{"series": {series}, "metrics": {metrics}}}"#)).unwrap()
    }

    fn point(run_id: i64, date: &str, value: &str, tag: &str) -> String {
        format!(
            r#"{{"run_id": {run_id}, "commit_sha": "{run_id:0>40}", "run_date": "{date}T00:00:00Z",
                "value": {value}, "repo": "r", "pipeline": "promote", "host_class": "c",
                "succeeded": true, "tag": "{tag}", "change": null, "patchset": null}}"#
        )
    }

    #[test]
    fn rows_are_newest_first_and_values_exact() {
        let answer = answer(&[
            &point(2, "2026-01-02", "1.25", ""),
            &point(3, "2026-01-03", "9999999999999999.9999", ""),
            &point(2, "2026-01-02", "-0.5", ""),
            &point(1, "2026-01-02", "7", ""),
        ]);
        let expected = "\
date                  commit        metric                dim                                      value
2026-01-03T00:00:00Z  000000000000  callgrind.ir                              9,999,999,999,999,999.9999
2026-01-02T00:00:00Z  000000000000  sysbench.latency_p95  threads=16;table=4                        1.25
2026-01-02T00:00:00Z  000000000000  callgrind.ir                                                    -0.5
2026-01-02T00:00:00Z  000000000000  callgrind.ir                                                       7
";
        assert_eq!(text_in(&answer, None), expected);
    }

    #[test]
    fn a_narrow_terminal_breaks_names_and_never_numbers() {
        let answer = answer(&[
            &point(2, "2026-01-02", "1.25", "baseline"),
            &point(3, "2026-01-03", "9999999999999999.9999", ""),
        ]);
        for width in [1, 60, 80, 100] {
            let text = text_in(&answer, Some(width));
            assert!(text.contains(" 9,999,999,999,999,999.9999"), "{text}");
            let longest = text.lines().map(str::len).max().unwrap();
            assert!(longest <= usize::from(width.max(107)), "{width}:\n{text}");
        }
    }
}
