//! Drone, and Harness, which sets its variables.
//!
//! | variable | is |
//! | --- | --- |
//! | `DRONE` | the system |
//! | `DRONE_REPO` | the repository |
//! | `DRONE_BUILD_EVENT` | `pull_request` of a change; else `push`, `tag`, `cron`, `promote`, `rollback`, `custom` |
//! | `DRONE_BRANCH`, `DRONE_TARGET_BRANCH` | the branch that is built, or that a change is for |
//! | `DRONE_TAG`, `DRONE_PULL_REQUEST` | the tag, the change |
//! | `DRONE_COMMIT_SHA` | the commit; of a change, its own |
//!
//! Source: <https://docs.drone.io/pipeline/environment/reference/>.

use super::{Clues, Reader};

pub(super) fn clues(read: &Reader<'_>) -> Option<Clues> {
    read.get("DRONE")?;
    let change = read.get("DRONE_PULL_REQUEST");
    let event = read
        .get("DRONE_BUILD_EVENT")
        .filter(|event| event.text.starts_with("pull_request"));
    let tag = read.get("DRONE_TAG").filter(|_| change.is_none());
    let branch = match tag {
        Some(_) => None,
        None => read.first(&["DRONE_TARGET_BRANCH", "DRONE_BRANCH"]),
    };
    Some(Clues {
        repo: read.get("DRONE_REPO"),
        branch,
        tag,
        commit: read.commit(&["DRONE_COMMIT_SHA", "DRONE_COMMIT"]).map(Ok),
        proposed: event
            .as_ref()
            .or(change.as_ref())
            .map(|clue| clue.is_said()),
        change,
        ..Clues::default()
    })
}
