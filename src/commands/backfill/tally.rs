//! What became of all runs.

use std::fmt::{self, Write as _};

use comfy_table::{CellAlignment, Table, presets};

use super::files::Source;
use crate::api::RecordOutcome;
use crate::terminal::tame;

/// Of each kind, as many places are told as a person may want to read; the rest is counted.
const TOLD: usize = 10_000;

/// Where something was read; places are ordered as they were read.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) number: u64,
    pub(super) file: String,
    pub(super) line: Option<u64>,
}

impl Place {
    pub(super) fn new(number: u64, source: &Source, line: Option<u64>) -> Self {
        Self {
            number,
            file: source.to_string(),
            line,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match self.line {
            Some(line) => write!(f, ":{line}"),
            None => Ok(()),
        }
    }
}

/// Places of one kind, and why each is of it.
#[derive(Debug, Default)]
struct Told {
    count: u64,
    places: Vec<(Place, String)>,
}

impl Told {
    fn add(&mut self, place: Place, why: String) {
        self.count += 1;
        if self.places.len() < TOLD {
            // It may repeat what a file says.
            self.places.push((place, tame(&why)));
        }
    }

    fn list(&mut self, title: &str) -> String {
        let mut text = String::new();
        if self.places.is_empty() {
            return text;
        }
        self.places.sort_by_key(|(place, _)| place.number);
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{title}:");
        for (place, why) in &self.places {
            let _ = write!(text, "\n  {place}: {why}");
        }
        let more = self.count - self.places.len() as u64;
        if more > 0 {
            let _ = write!(text, "\n  … and {more} more");
        }
        text.push('\n');
        text
    }
}

/// The numbers of all outcomes.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) created: u64,
    pub(super) unchanged: u64,
    pub(super) replaced: u64,
    /// Runs that would be sent.
    pub(super) ready: u64,
    refused: Told,
    skipped: Told,
}

impl Tally {
    pub(super) fn stored(&mut self, outcome: RecordOutcome) {
        match outcome {
            RecordOutcome::Created => self.created += 1,
            RecordOutcome::Unchanged => self.unchanged += 1,
            RecordOutcome::Replaced => self.replaced += 1,
        }
    }

    pub(super) fn refuse(&mut self, place: Place, why: String) {
        self.refused.add(place, why);
    }

    pub(super) fn skip(&mut self, place: Place, why: String) {
        self.skipped.add(place, why);
    }

    pub(super) fn has_refused(&self) -> bool {
        self.refused.count > 0
    }

    /// A line for someone who waits.
    pub(super) fn line(&self) -> String {
        let runs = self.created + self.unchanged + self.replaced;
        match self.refused.count {
            0 => format!("{runs} runs"),
            refused => format!("{runs} runs, {refused} refused"),
        }
    }

    /// The table, and below it the places that a person should look at.
    pub(super) fn report(&mut self, dry_run: bool) -> String {
        let mut rows = match dry_run {
            true => vec![("would be sent", self.ready)],
            false => vec![
                ("created", self.created),
                ("unchanged", self.unchanged),
                ("replaced", self.replaced),
            ],
        };
        rows.push(("refused", self.refused.count));
        if self.skipped.count > 0 {
            rows.push(("no measurement", self.skipped.count));
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        for (name, count) in rows {
            table.add_row([name.to_owned(), count.to_string()]);
        }
        for (at, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if at > 0 {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let mut text = table.trim_fmt();
        text.push('\n');
        text.push_str(&self.skipped.list("no measurement"));
        text.push_str(&self.refused.list("refused"));
        text
    }
}
