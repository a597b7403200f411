//! `perf-tracking find`: at which of the commits that were not measured a level changed.

mod measured;
mod search;

use std::path::{Path, PathBuf};

use clap::Args;

use super::past::SelectArgs;
use super::{Outcome, client, print};
use crate::commands::flags::ClientArgs;
use crate::domain::{MetricName, Series};
use crate::judge::past::{Moved, Past, PastPoint};
use crate::provenance::checkout::{self, first_parents};
use crate::report::find::{Listing, Row};

use measured::Measured;
use search::Search;

/// Find the commit of a change among those that were not measured
///
/// The history says between which two measured commits a level changed. This lists the commits from
/// the one to the other. With --run it measures them in a worktree of its own, halving the range
/// each time, until one commit is named. Both ends are measured first, so that the numbers come
/// from one machine. A commit that cannot be built or measured is skipped. What was measured is
/// kept in the git folder: a search that was stopped goes on where it was. Nothing is uploaded.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct FindArgs {
    /// Commit of the change, as `changes` names it [default: the newest change for the worse]
    #[arg(value_name = "COMMIT")]
    commit: Option<String>,

    /// Command that builds and measures, run by `sh -c` at the top of the worktree
    #[arg(long, value_name = "COMMAND")]
    run: Option<String>,

    /// File in the worktree in which the command leaves its document
    #[arg(long, value_name = "FILE", default_value = "metrics.json")]
    document: PathBuf,

    /// How many of the newest runs of a series are read
    #[arg(long, value_name = "COUNT", default_value_t = 400,
        value_parser = clap::value_parser!(u32).range(5..=10_000))]
    last: u32,

    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    client: ClientArgs,
}

const EXAMPLES: &str = "\
Exit codes:
  0  the commits are listed, or one commit is named
  2  wrong use, or the service could not be reached or refused
  3  there is no such change, or no single commit could be named

Examples:
  Which commits may have made the newest change for the worse:
    perf-tracking find --metric callgrind.ir

  Measure them until one is named:
    perf-tracking find --metric callgrind.ir --run \\
      'make && perf-tracking measure --workload sample --env-clear -o metrics.json -- ./sample'";

/// The change that is looked into, and the commits from its old level to its new one.
struct Change {
    metric: MetricName,
    series: Series,
    /// The level before and after.
    levels: (f64, f64),
    /// From the last measured commit of the old level to the first of the new one.
    rows: Vec<Row>,
}

impl FindArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let here = Path::new(".");
        checkout::checkout(here).map_err(anyhow::Error::msg)?;
        let policy = self.select.policy()?;
        let client = client::open(self.client)?;
        let fetched = self
            .select
            .fetch(&client, &policy, self.last as usize, None);
        let fetched = super::runtime()?.block_on(fetched)?;
        let moved: Vec<(&Past, Moved<'_>)> = fetched
            .iter()
            .flat_map(|fetched| {
                let moved = fetched.past.moved(&policy).into_iter();
                moved.map(|moved| (&fetched.past, moved))
            })
            .collect();
        let chosen = match &self.commit {
            None => newest_worse(&moved),
            Some(revision) => at_commit(here, &moved, revision)?,
        };
        let Some((past, moved)) = chosen else {
            print(match self.commit {
                None => "No metric got worse; name the commit of another change.\n",
                Some(_) => "No metric changed at this commit; `changes` lists those that did.\n",
            })?;
            return Ok(Outcome::Undecided);
        };
        let change = Change {
            metric: past.name.clone(),
            series: past.series.clone(),
            levels: (moved.point.before, moved.point.after),
            rows: between(here, moved.previous, moved.first)?,
        };
        match self.run {
            None => change.list(),
            Some(command) => {
                let measured = Measured::open(here, &command, &self.document)?;
                let search = Search {
                    change,
                    command,
                    document: self.document,
                    measured,
                };
                search.run(here)
            }
        }
    }
}

impl Change {
    /// Lists the commits, and says how to go on.
    fn list(self) -> anyhow::Result<Outcome> {
        let series = self.series.to_string();
        let listing = Listing {
            metric: &self.metric,
            series: &series,
            levels: self.levels,
            rows: &self.rows,
        };
        let advice = match self.rows.len() {
            2 => "\nThe second one is the first commit of the new level.\n",
            _ => {
                "\nMeasure them until one is named: --run 'COMMAND' builds, and leaves a document\n\
                 in metrics.json.\n"
            }
        };
        print(&(listing.text() + advice))
    }
}

/// The newest change for the worse; of several metrics at one commit, the one that moved most.
fn newest_worse<'a, 'b>(moved: &'b [(&'a Past, Moved<'a>)]) -> Option<&'b (&'a Past, Moved<'a>)> {
    let worse = moved.iter().filter(|(_, moved)| moved.is_worse);
    worse.max_by(|(_, one), (_, other)| {
        let place = |moved: &Moved<'_>| moved.first.date;
        let by_date = place(one).cmp(&place(other));
        by_date.then_with(|| size(one).total_cmp(&size(other)))
    })
}

/// The change whose new level begins at `revision`; of several metrics, the one that moved most.
fn at_commit<'a, 'b>(
    folder: &Path,
    moved: &'b [(&'a Past, Moved<'a>)],
    revision: &str,
) -> anyhow::Result<Option<&'b (&'a Past, Moved<'a>)>> {
    let commit = checkout::commit(folder, revision).map_err(|why| {
        anyhow::anyhow!("this checkout does not know the commit: {why}; fetch it with git")
    })?;
    let here = moved
        .iter()
        .filter(|(_, moved)| moved.first.commit.as_str() == commit.sha);
    Ok(here.max_by(|(_, one), (_, other)| size(one).total_cmp(&size(other))))
}

/// How much a metric moved, as a share of its level.
fn size(moved: &Moved<'_>) -> f64 {
    let share = moved.point.change_percent().map(f64::abs);
    share.unwrap_or(f64::INFINITY)
}

/// The commits from the last measured one of the old level to the first of the new one.
fn between(folder: &Path, last: &PastPoint, first: &PastPoint) -> anyhow::Result<Vec<Row>> {
    let (old, new) = (last.commit.as_str(), first.commit.as_str());
    for commit in [old, new] {
        checkout::commit(folder, commit).map_err(|_| {
            anyhow::anyhow!(
                "this checkout has no commit {commit}, which a run names; fetch the whole history \
                 (git fetch --unshallow), or go to the checkout of that repository"
            )
        })?;
    }
    checkout::ask(folder, &["merge-base", "--is-ancestor", old, new]).map_err(|_| {
        anyhow::anyhow!("{old} is no ancestor of {new}: no commits lie between the two")
    })?;
    let mut rows = vec![row(folder, old)?];
    for commit in first_parents(folder, &format!("{old}..{new}"))? {
        rows.push(row(folder, &commit)?);
    }
    let ends = [(0, last), (rows.len() - 1, first)];
    for (index, point) in ends {
        rows[index].value = Some(point.value);
    }
    Ok(rows)
}

fn row(folder: &Path, sha: &str) -> anyhow::Result<Row> {
    let commit = checkout::commit(folder, sha).map_err(anyhow::Error::msg)?;
    Ok(Row {
        date: commit.date.chars().take("2026-01-31".len()).collect(),
        commit: commit.sha,
        subject: commit.subject,
        value: None,
        skipped: None,
    })
}
