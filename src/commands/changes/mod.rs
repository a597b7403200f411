//! `perf-tracking changes`: what moved, when, and at which commit.

mod eval;
mod subjects;

use std::path::PathBuf;

use chrono::NaiveDateTime;
use clap::Args;

use super::past::SelectArgs;
use super::{Outcome, client, print};
use crate::commands::flags::ClientArgs;
use crate::commands::history::bound;
use crate::domain::{DateBound, RunDate};
use crate::files::whole_file;
use crate::report::changes::{Report, json, markdown, text};

/// Show what moved: the commits at which the level of a metric changed
///
/// A change point is a commit from which on the values of a metric lie on another level. The answer
/// names the commit, its date, and the level before and after. Several runs of one commit count
/// as one point; a value that stands alone is an outlier and no change.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ChangesArgs {
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    which: WhichArgs,

    /// A report as Markdown, in place of the text or into FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-", help_heading = OUTPUT)]
    markdown: Option<PathBuf>,
    /// All numbers as JSON, in place of the text or into FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-", help_heading = OUTPUT)]
    json: Option<PathBuf>,

    #[command(flatten)]
    client: ClientArgs,

    /// Read series from standard input and print the indices of their change points
    ///
    /// Reads one JSON object a line, `{"name": "...", "values": [...]}` with the oldest value
    /// first, and answers each with a JSON list on a line. benches/changes/README.md uses it.
    #[arg(long, hide_short_help = true)]
    eval: bool,
}

const OUTPUT: &str = "Reports";

#[derive(Args, Debug)]
#[command(next_help_heading = "Which changes")]
struct WhichArgs {
    /// Changes on or after this date, such as 2026-01-01
    #[arg(long, value_name = "DATE", value_parser = bound)]
    since: Option<String>,
    /// Only what got worse
    #[arg(long, conflicts_with = "better")]
    worse: bool,
    /// Only what got better
    #[arg(long)]
    better: bool,
    /// How many of the newest runs of a series are read
    #[arg(long, value_name = "COUNT", default_value_t = 400,
        value_parser = clap::value_parser!(u32).range(5..=10_000))]
    last: u32,
}

const EXAMPLES: &str = "\
Examples:
  What got slower this year:
    perf-tracking changes --worse --since 2026-01-01

  One metric of one series, as JSON:
    perf-tracking changes --workload perf --branch main --metric callgrind.ir --json";

impl ChangesArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        if self.eval {
            return eval::run();
        }
        let policy = self.select.policy()?;
        let client = client::open(self.client)?;
        let last = self.which.last as usize;
        let fetched = self.select.fetch(&client, &policy, last, None);
        let fetched = super::runtime()?.block_on(fetched)?;
        let since = self.which.since.as_deref().map(str::parse::<DateBound>);
        let since: Option<NaiveDateTime> = since.transpose()?.map(DateBound::last_second_before);
        let moved: Vec<_> = fetched
            .iter()
            .flat_map(|fetched| {
                let moved = fetched.past.moved(&policy).into_iter();
                moved.map(|moved| (&fetched.past, moved))
            })
            .filter(|(_, moved)| is_since(moved.first.date, since))
            .filter(|(_, moved)| !self.which.worse || moved.is_worse)
            .filter(|(_, moved)| !self.which.better || !moved.is_worse)
            .collect();
        let commits = moved.iter().map(|(_, moved)| &moved.first.commit);
        let subjects = subjects::of(commits);
        let histories = fetched
            .iter()
            .filter(|fetched| fetched.past.points.len() >= 5)
            .count();
        let report = Report::new(&moved, &subjects, histories);
        let mut on_stdout = None;
        for (target, form) in [
            (&self.markdown, markdown as fn(&Report) -> String),
            (&self.json, json),
        ] {
            match target {
                None => {}
                Some(path) if path.as_os_str() == "-" => on_stdout = Some(form(&report)),
                Some(path) => whole_file::write(path, &form(&report))?,
            }
        }
        print(&on_stdout.unwrap_or_else(|| text(&report)))?;
        Ok(match histories {
            0 => Outcome::Undecided,
            _ => Outcome::Passed,
        })
    }
}

/// Whether `date` is after the last second before a bound.
fn is_since(date: RunDate, since: Option<NaiveDateTime>) -> bool {
    since.is_none_or(|since| date.naive() > since)
}
