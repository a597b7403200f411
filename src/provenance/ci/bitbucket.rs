//! Bitbucket Pipelines.
//!
//! | variable | is |
//! | --- | --- |
//! | `BITBUCKET_BUILD_NUMBER`, with `BITBUCKET_COMMIT` | the system |
//! | `BITBUCKET_REPO_FULL_NAME` | the repository |
//! | `BITBUCKET_BRANCH`, `BITBUCKET_TAG` | what is built; of a change, its own branch |
//! | `BITBUCKET_COMMIT` | the commit that is built; of a change, its own, though the checkout is a trial merge |
//! | `BITBUCKET_PR_ID`, `BITBUCKET_PR_DESTINATION_BRANCH` | the change, and the branch that it is for |
//!
//! Source: <https://support.atlassian.com/bitbucket-cloud/docs/variables-and-secrets/>.

use super::{Clues, Reader};

pub(super) fn clues(read: &Reader<'_>) -> Option<Clues> {
    read.get("BITBUCKET_BUILD_NUMBER")?;
    let commit = read.get("BITBUCKET_COMMIT")?;
    let change = read.get("BITBUCKET_PR_ID");
    let branch = match &change {
        Some(_) => read.get("BITBUCKET_PR_DESTINATION_BRANCH"),
        None => read.get("BITBUCKET_BRANCH"),
    };
    Some(Clues {
        repo: read.get("BITBUCKET_REPO_FULL_NAME"),
        branch,
        // Twelve digits of it where a change is built.
        commit: Some(read.whole_commit(commit)),
        tag: read.get("BITBUCKET_TAG"),
        proposed: change.as_ref().map(|change| change.is_said()),
        change,
        ..Clues::default()
    })
}
