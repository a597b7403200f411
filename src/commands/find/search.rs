//! Measures commits until one is named.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::Change;
use super::measured::Measured;
use crate::commands::worktree::Worktree;
use crate::commands::{Outcome, print};
use crate::domain::Document;
use crate::judge::bisection::{Bisection, Levels};
use crate::report::find;
use crate::terminal::{note, tame};

/// A change, and how its commits are measured.
pub(super) struct Search {
    pub(super) change: Change,
    pub(super) command: String,
    pub(super) document: PathBuf,
    pub(super) measured: Measured,
}

impl Search {
    /// Measures both ends, and then the commits between them.
    pub(super) fn run(mut self, folder: &Path) -> anyhow::Result<Outcome> {
        let worktree = Worktree::new(folder)?;
        let newest = self.change.rows.len() - 1;
        let [old, new] = [0, newest].map(|index| self.visit(&worktree, index));
        let levels = Levels {
            old: old.context("the last commit of the old level cannot be measured here")?,
            new: new.context("the first commit of the new level cannot be measured here")?,
        };
        let (before, after) = self.change.levels;
        if !levels.repeat(after - before) {
            print(&format!(
                "The two ends do not show the change here, so that no commit between them can be \
                 told:\n\n{}",
                find::table(&[
                    self.change.rows[0].clone(),
                    self.change.rows[newest].clone()
                ])
            ))?;
            return Ok(Outcome::Undecided);
        }
        let mut search = Bisection::new(self.change.rows.len());
        while let Some(index) = search.next() {
            note(format_args!(
                "{} commits are left, about {} to measure",
                search.suspects().count(),
                search.steps_left()
            ));
            match self.visit(&worktree, index) {
                Ok(value) => search.measured(index, levels.side(value)),
                Err(why) => {
                    self.change.rows[index].skipped = Some(format!("{why:#}"));
                    search.skip(index);
                }
            }
        }
        self.tell(&search, levels)
    }

    /// The value of a commit, measured now or before. An error is a reason to skip the commit.
    fn visit(&mut self, worktree: &Worktree, index: usize) -> anyhow::Result<f64> {
        let commit = self.change.rows[index].commit.clone();
        let short = commit.get(..12).unwrap_or(&commit).to_owned();
        self.change.rows[index].value = None;
        let (said, document) = match self.measured.get(&commit) {
            Some(document) => ("measured before", Ok(document)),
            None => ("measured", self.measure(worktree, &commit)),
        };
        match document.and_then(|document| self.value_of(&document)) {
            Ok(value) => {
                note(format_args!("{short} {said}: {value}"));
                self.change.rows[index].value = Some(value);
                Ok(value)
            }
            Err(why) => {
                note(format_args!(
                    "{short} skipped: {}",
                    tame(&format!("{why:#}"))
                ));
                Err(why)
            }
        }
    }

    fn measure(&self, worktree: &Worktree, commit: &str) -> anyhow::Result<Document> {
        worktree.measure(commit, &self.command, &self.document)?;
        let left = worktree.folder().join(&self.document);
        self.measured.keep(commit, &left)
    }

    /// The value of the metric that moved.
    fn value_of(&self, document: &Document) -> anyhow::Result<f64> {
        let Change { metric, series, .. } = &self.change;
        anyhow::ensure!(
            document.workload == series.workload,
            "the document is of workload {}, and the change of {}",
            document.workload,
            series.workload
        );
        anyhow::ensure!(document.succeeded, "the workload failed");
        let mut metrics = document.metrics.into_iter();
        let found = metrics.find(|found| found.name == *metric);
        let found = found.with_context(|| {
            format!(
                "the document has no metric {} {}",
                metric.metric_key, metric.dim_key
            )
        })?;
        Ok(found.value.to_f64())
    }

    /// Names the commit, or those that remain.
    fn tell(&self, search: &Bisection, levels: Levels) -> anyhow::Result<Outcome> {
        let rows = &self.change.rows;
        let (first, last) = search.suspects().into_inner();
        if first < last {
            print(&find::suspects(&rows[first..=last]))?;
            return Ok(Outcome::Undecided);
        }
        let (parent, commit) = (&rows[search.last_old()], &rows[first]);
        let mut text = find::found(&self.change.metric, parent, commit);
        if let (Some(before), Some(after)) = (parent.value, commit.value)
            && !is_most((after - before) / levels.step())
        {
            text += "\nThis is a part of the whole change: other commits in the range moved it, too. The\n\
                     rest shows when the commits beside this one are measured (`walk`).\n";
        }
        print(&text)
    }
}

/// Whether a share of a change is nearly all of it.
fn is_most(share: f64) -> bool {
    (0.75..=1.25).contains(&share)
}
