//! GitLab CI.
//!
//! | variable | is |
//! | --- | --- |
//! | `GITLAB_CI` | the system |
//! | `CI_PROJECT_PATH`, `CI_MERGE_REQUEST_PROJECT_PATH` | the repository; a fork's pipeline may run in the fork |
//! | `CI_COMMIT_BRANCH`, `CI_COMMIT_TAG` | what was pushed |
//! | `CI_COMMIT_SHA`, `CI_COMMIT_TIMESTAMP` | the commit that is built, and its date |
//! | `CI_MERGE_REQUEST_IID`, `CI_EXTERNAL_PULL_REQUEST_IID` | the change |
//! | `..._TARGET_BRANCH_NAME`, `..._SOURCE_BRANCH_SHA` | the branch that it is for; its own commit where a trial merge is built |
//!
//! Source: <https://docs.gitlab.com/ci/variables/predefined_variables/>.

use super::{Clues, Reader};

pub(super) fn clues(read: &Reader<'_>) -> Option<Clues> {
    read.get("GITLAB_CI")?;
    // The second is of a change on GitHub that GitLab builds.
    let changes = ["CI_MERGE_REQUEST_IID", "CI_EXTERNAL_PULL_REQUEST_IID"];
    let Some(change) = read.first(&changes) else {
        return Some(Clues {
            repo: read.get("CI_PROJECT_PATH"),
            branch: read.get("CI_COMMIT_BRANCH"),
            tag: read.get("CI_COMMIT_TAG"),
            commit: read.commit(&["CI_COMMIT_SHA"]).map(Ok),
            run_date: read.get("CI_COMMIT_TIMESTAMP"),
            ..Clues::default()
        });
    };
    // Set only where CI_COMMIT_SHA is a trial merge, whose date is another.
    let head = read.commit(&[
        "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA",
        "CI_EXTERNAL_PULL_REQUEST_SOURCE_BRANCH_SHA",
    ]);
    let run_date = match head {
        Some(_) => None,
        None => read.get("CI_COMMIT_TIMESTAMP"),
    };
    Some(Clues {
        // A fork's pipeline may run in the fork.
        repo: read.first(&["CI_MERGE_REQUEST_PROJECT_PATH", "CI_PROJECT_PATH"]),
        branch: read.first(&[
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
            "CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME",
        ]),
        commit: head.or_else(|| read.commit(&["CI_COMMIT_SHA"])).map(Ok),
        proposed: Some(format!("{} is {}", change.origin, change.text).into()),
        change: Some(change),
        run_date,
        ..Clues::default()
    })
}
