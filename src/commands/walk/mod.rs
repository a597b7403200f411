//! `perf-tracking walk`: measures the commits of a range into the store.

use std::path::{Path, PathBuf};

use clap::Args;

use super::worktree::Worktree;
use super::{Outcome, client, print};
use crate::client::Client;
use crate::commands::flags::ClientArgs;
use crate::domain::{Branch, CommitSubject, Pipeline, Provenance, Repo, Run, Tag};
use crate::files::input::Input;
use crate::provenance::Detector;
use crate::provenance::checkout::{self, first_parents};
use crate::terminal::{note, tame};

/// Measure the commits of a range, and store a run of each: a history in an afternoon
///
/// Checks out one commit after the other in a worktree of its own, the oldest first, runs a command
/// there that builds and measures, and stores the document that it leaves. A commit that is stored
/// already is skipped, so that a walk that was stopped goes on where it was. A commit that does not
/// build is told and left out.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct WalkArgs {
    /// Commits to measure, as git names a range; first parents only
    #[arg(value_name = "A..B")]
    range: String,

    /// Measure every so many commits; the newest one always is
    #[arg(long, value_name = "COUNT", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,

    /// Command that builds and measures, run by `sh -c` at the top of the worktree
    #[arg(long, value_name = "COMMAND")]
    run: String,

    /// File in the worktree in which the command leaves its document
    #[arg(long, value_name = "FILE", default_value = "metrics.json")]
    document: PathBuf,

    /// List the commits that would be measured, and measure none
    #[arg(long)]
    dry_run: bool,

    /// Repository of the runs [default: what the checkout says]
    #[arg(long, value_name = "NAME")]
    repo: Option<Repo>,
    /// Branch of the runs [default: what the checkout says]
    #[arg(long, value_name = "NAME")]
    branch: Option<Branch>,
    /// Pipeline of the runs
    #[arg(long, value_name = "NAME", default_value = "promote")]
    pipeline: Pipeline,

    #[command(flatten)]
    client: ClientArgs,
}

const EXAMPLES: &str = "\
Exit codes:
  0  every commit is stored
  2  wrong use, or the service could not be reached or refused
  3  some commits could not be measured; all others are stored

Examples:
  Every tenth commit since a release, without a service:
    perf-tracking walk v1.0..main --every 10 --server sqlite:perf.db --run \\
      'make && perf-tracking measure --workload sample --env-clear -o metrics.json -- ./sample'";

/// What became of a commit.
enum Fate {
    Stored,
    AlreadyStored,
    Failed(String),
}

/// Where runs come from, and where they go.
struct Walk<'a> {
    client: &'a Client,
    repo: Repo,
    branch: Branch,
    pipeline: Pipeline,
    command: &'a str,
    document: &'a Path,
}

impl WalkArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let here = Path::new(".");
        let commits = every(&first_parents(here, &self.range)?, self.every as usize);
        if self.dry_run {
            return print(
                &commits
                    .iter()
                    .map(|sha| format!("{sha}\n"))
                    .collect::<String>(),
            );
        }
        let mut detector = Detector::here(None);
        let (repo, branch) = (detector.repo(self.repo), detector.branch(self.branch));
        let (Some(repo), Some(branch)) = (repo, branch) else {
            anyhow::bail!(
                "the runs belong to no repository and branch that is known{}",
                crate::files::input::lines(detector.faults())
            );
        };
        let client = client::open(self.client)?;
        let walk = Walk {
            client: &client,
            repo,
            branch,
            pipeline: self.pipeline,
            command: &self.run,
            document: &self.document,
        };
        let worktree = Worktree::new(here)?;
        let runtime = super::runtime()?;
        let (count, mut failed) = (commits.len(), 0);
        for (index, commit) in commits.iter().enumerate() {
            let fate = runtime.block_on(walk.visit(&worktree, commit))?;
            let said = match fate {
                Fate::Stored => "stored".to_owned(),
                Fate::AlreadyStored => "stored before".to_owned(),
                Fate::Failed(why) => {
                    failed += 1;
                    format!("left out: {}", tame(&why))
                }
            };
            let (number, short) = (index + 1, commit.get(..12).unwrap_or(commit));
            note(format_args!("{number}/{count} {short} {said}"));
        }
        print(&format!(
            "{} of {count} commits are stored\n",
            count - failed
        ))?;
        Ok(match failed {
            0 => Outcome::Passed,
            _ => Outcome::Undecided,
        })
    }
}

impl Walk<'_> {
    /// Measures a commit and stores its run. An error is one that the next commit would meet, too.
    async fn visit(&self, worktree: &Worktree, commit: &str) -> anyhow::Result<Fate> {
        if self.is_stored(commit).await? {
            return Ok(Fate::AlreadyStored);
        }
        let run = worktree
            .measure(commit, self.command, self.document)
            .and_then(|()| self.run_of(worktree.folder(), commit));
        match run {
            Err(why) => Ok(Fate::Failed(format!("{why:#}"))),
            Ok(run) => {
                self.client.upload(&run).await?;
                Ok(Fate::Stored)
            }
        }
    }

    async fn is_stored(&self, commit: &str) -> anyhow::Result<bool> {
        let query = [
            ("commit_sha", commit.to_owned()),
            ("repo", self.repo.to_string()),
            ("branch", self.branch.to_string()),
            ("pipeline", self.pipeline.to_string()),
            ("limit", "1".to_owned()),
        ];
        Ok(!self.client.runs(&query).await?.runs.is_empty())
    }

    fn run_of(&self, folder: &Path, commit: &str) -> anyhow::Result<Run> {
        let known = checkout::commit(folder, commit).map_err(anyhow::Error::msg)?;
        let document = Input::of(&folder.join(self.document)).document()?;
        Ok(document.into_run(Provenance {
            repo: self.repo.clone(),
            branch: self.branch.clone(),
            commit_sha: known.sha.parse()?,
            change: None,
            patchset: None,
            pipeline: self.pipeline.clone(),
            tag: Tag::live(),
            run_date: known.date.parse()?,
            subject: CommitSubject::cut(&known.subject),
        }))
    }
}

/// Every so many of `commits`, counted from the newest, which is always one of them.
fn every(commits: &[String], count: usize) -> Vec<String> {
    let mut taken: Vec<String> = commits.iter().rev().step_by(count).cloned().collect();
    taken.reverse();
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_commit_is_always_one_of_every_so_many() {
        let commits: Vec<String> = (1..=7).map(|number| number.to_string()).collect();
        for (count, expected) in [
            (1, "1234567"),
            (2, "1357"),
            (3, "147"),
            (5, "27"),
            (7, "7"),
            (9, "7"),
        ] {
            assert_eq!(every(&commits, count).concat(), expected, "{count}");
        }
    }
}
