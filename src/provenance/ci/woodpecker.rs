//! Woodpecker.
//!
//! | variable | is |
//! | --- | --- |
//! | `CI` is `woodpecker` | the system; its other names are like GitLab's |
//! | `CI_REPO` | the repository |
//! | `CI_PIPELINE_EVENT` | begins with `pull_request` of a change; else `push`, `tag`, `release`, `cron`, `manual`, `deployment` |
//! | `CI_COMMIT_BRANCH`, `CI_COMMIT_TARGET_BRANCH` | the branch that is built, or that a change is for |
//! | `CI_COMMIT_TAG`, `CI_COMMIT_PULL_REQUEST` | the tag, the change |
//! | `CI_COMMIT_SHA` | the commit; of a change, its own |
//!
//! Before 1.0 the event was `CI_BUILD_EVENT`. A closed pull request that has merged is still told as a
//! change, since its commit is the change's own.
//!
//! Source: <https://woodpecker-ci.org/docs/usage/environment>.

use super::{Clues, Reader};

pub(super) fn clues(read: &Reader<'_>) -> Option<Clues> {
    if !read.is("CI", "woodpecker") && !read.is("CI_SYSTEM_NAME", "woodpecker") {
        return None;
    }
    let change = read.get("CI_COMMIT_PULL_REQUEST");
    let event = read
        .first(&["CI_PIPELINE_EVENT", "CI_BUILD_EVENT"])
        .filter(|event| event.text.starts_with("pull_request"));
    let proposed = event
        .as_ref()
        .or(change.as_ref())
        .map(|clue| clue.is_said());
    let tag = read.get("CI_COMMIT_TAG").filter(|_| proposed.is_none());
    let branch = match (&proposed, &tag) {
        (Some(_), _) => read.get("CI_COMMIT_TARGET_BRANCH"),
        (None, Some(_)) => None,
        (None, None) => read.get("CI_COMMIT_BRANCH"),
    };
    Some(Clues {
        repo: read.get("CI_REPO"),
        branch,
        tag,
        commit: read.commit(&["CI_COMMIT_SHA"]).map(Ok),
        proposed,
        change,
        ..Clues::default()
    })
}
