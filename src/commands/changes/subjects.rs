//! The subject lines of commits, where the checkout in this folder knows them.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use crate::domain::CommitSha;
use crate::provenance::checkout;

/// Commits in one question: a command line has room for thousands.
const COMMITS_A_QUESTION: usize = 500;

/// The subjects of those that are known. A commit of another repository is in no checkout, and a
/// folder may be none; neither is a fault.
pub(super) fn of<'a>(commits: impl Iterator<Item = &'a CommitSha>) -> HashMap<CommitSha, String> {
    let commits: Vec<&CommitSha> = commits.collect::<BTreeSet<_>>().into_iter().collect();
    let mut subjects = HashMap::new();
    if commits.is_empty() || checkout::checkout(Path::new(".")).is_err() {
        return subjects;
    }
    for commits in commits.chunks(COMMITS_A_QUESTION) {
        let mut args = vec![
            "log",
            "--no-walk=unsorted",
            "--ignore-missing",
            "--format=%H %s",
        ];
        args.extend(commits.iter().map(|commit| commit.as_str()));
        args.push("--");
        let Ok(text) = checkout::ask(Path::new("."), &args) else {
            continue;
        };
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        let known =
            lines.filter_map(|(sha, subject)| Some((sha.parse().ok()?, subject.to_owned())));
        subjects.extend(known);
    }
    subjects
}
