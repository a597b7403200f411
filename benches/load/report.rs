//! One table of all that was measured.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};

/// What was measured, and what went wrong.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    notes: Vec<String>,
    failures: Vec<String>,
}

/// A line of the table; what does not apply is empty.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) measured: String,
    pub(crate) beside: String,
    pub(crate) ratio: String,
    pub(crate) target: &'static str,
    pub(crate) p50: String,
    pub(crate) p99: String,
    pub(crate) cpu: String,
}

impl Report {
    /// Adds a line, and shows it to whoever waits for the table.
    pub(crate) fn row(&mut self, row: Row) {
        eprintln!(
            "{}: {} {} {}",
            row.what, row.measured, row.beside, row.ratio
        );
        self.rows.push(row);
    }

    /// Adds what a reader of the table should know.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Adds what makes the run fail.
    pub(crate) fn failure(&mut self, failure: String) {
        eprintln!("failed: {failure}");
        self.failures.push(failure);
    }

    pub(crate) fn failed(&self) -> bool {
        !self.failures.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN).set_header([
            "",
            "measured",
            "beside",
            "ratio",
            "target",
            "p50 ms",
            "p99 ms",
            "CPU µs a request: service, database, load",
        ]);
        for row in &self.rows {
            table.add_row([
                row.what.as_str(),
                &row.measured,
                &row.beside,
                &row.ratio,
                row.target,
                &row.p50,
                &row.p99,
                &row.cpu,
            ]);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        write!(f, "{table}")?;
        for note in &self.notes {
            write!(f, "\nnote: {note}")?;
        }
        for failure in &self.failures {
            write!(f, "\nfailed: {failure}")?;
        }
        Ok(())
    }
}
