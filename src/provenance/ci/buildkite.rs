//! Buildkite.
//!
//! | variable | is |
//! | --- | --- |
//! | `BUILDKITE` | the system |
//! | `BUILDKITE_REPO` | the address of the repository |
//! | `BUILDKITE_BRANCH`, `BUILDKITE_TAG`, `BUILDKITE_COMMIT` | what is built; of a change, its own branch and commit |
//! | `BUILDKITE_PULL_REQUEST` | the change, or `false` |
//! | `BUILDKITE_PULL_REQUEST_BASE_BRANCH` | the branch that it is for |
//! | `BUILDKITE_PULL_REQUEST_USING_MERGE_REFSPEC` | whether a trial merge is built |
//! | `BUILDKITE_MERGE_QUEUE_BASE_BRANCH` | set where a merge queue is built: the branch that it is for |
//!
//! Source: <https://buildkite.com/docs/pipelines/configure/environment-variables>.

use super::{Clues, Reader};
use crate::provenance::git;

pub(super) fn clues(read: &Reader<'_>) -> Option<Clues> {
    read.get("BUILDKITE")?;
    // `HEAD` where a person started the build without naming a commit.
    let commit = read
        .commit(&["BUILDKITE_COMMIT"])
        .filter(|commit| commit.text != "HEAD")
        .map(Ok);
    let change = read
        .get("BUILDKITE_PULL_REQUEST")
        .filter(|change| change.text != "false");
    let queue = read.get("BUILDKITE_MERGE_QUEUE_BASE_BRANCH");
    let proposed = change
        .as_ref()
        .or(queue.as_ref())
        .map(|clue| clue.is_said());
    let tag = read.get("BUILDKITE_TAG");
    let branch = match (&change, &queue, &tag) {
        (Some(_), _, _) => read.get("BUILDKITE_PULL_REQUEST_BASE_BRANCH"),
        (None, Some(_), _) => queue,
        (None, None, Some(_)) => None,
        (None, None, None) => read.get("BUILDKITE_BRANCH"),
    };
    Some(Clues {
        repo: read
            .get("BUILDKITE_REPO")
            .and_then(|clue| clue.map(git::path_of_remote)),
        branch,
        tag: if proposed.is_some() { None } else { tag },
        commit,
        change,
        may_be_trial_merge: read.is("BUILDKITE_PULL_REQUEST_USING_MERGE_REFSPEC", "true"),
        proposed,
        ..Clues::default()
    })
}
