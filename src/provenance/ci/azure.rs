//! Azure Pipelines.
//!
//! | variable | is |
//! | --- | --- |
//! | `TF_BUILD` | the system |
//! | `BUILD_REPOSITORY_NAME` | the repository |
//! | `BUILD_REASON` | `PullRequest` of a change |
//! | `BUILD_SOURCEBRANCH`, `BUILD_SOURCEVERSION` | the ref and the commit that are built; of a change, `refs/pull/N/merge` and a trial merge |
//! | `SYSTEM_PULLREQUEST_PULLREQUESTNUMBER`, `SYSTEM_PULLREQUEST_PULLREQUESTID` | the change: on GitHub the number that people know, elsewhere the id |
//! | `SYSTEM_PULLREQUEST_TARGETBRANCH`, `SYSTEM_PULLREQUEST_SOURCECOMMITID` | the branch that it is for, and its own commit |
//!
//! Source: <https://learn.microsoft.com/en-us/azure/devops/pipelines/build/variables>.

use super::{Clue, Clues, Reader};

pub(super) fn clues(read: &Reader<'_>) -> Option<Clues> {
    read.get("TF_BUILD")?;
    let name = || read.get("BUILD_SOURCEBRANCH");
    let change = read.first(&[
        "SYSTEM_PULLREQUEST_PULLREQUESTNUMBER",
        "SYSTEM_PULLREQUEST_PULLREQUESTID",
    ]);
    let reason = read
        .get("BUILD_REASON")
        .filter(|reason| reason.text == "PullRequest");
    let pull = name().filter(|name| name.text.starts_with("refs/pull/"));
    let proposed = [reason, pull, change.clone()]
        .into_iter()
        .flatten()
        .next()
        .map(|clue| clue.is_said());
    if proposed.is_none() {
        return Some(Clues {
            repo: read.get("BUILD_REPOSITORY_NAME"),
            branch: name().and_then(Clue::branch_of_ref),
            tag: name().and_then(Clue::tag_of_ref),
            commit: read.commit(&["BUILD_SOURCEVERSION"]).map(Ok),
            ..Clues::default()
        });
    }
    let own = read.commit(&["SYSTEM_PULLREQUEST_SOURCECOMMITID"]);
    Some(Clues {
        repo: read.get("BUILD_REPOSITORY_NAME"),
        branch: read
            .get("SYSTEM_PULLREQUEST_TARGETBRANCH")
            .and_then(Clue::branch_of_ref),
        may_be_trial_merge: own.is_none(),
        commit: own
            .or_else(|| read.commit(&["BUILD_SOURCEVERSION"]))
            .map(Ok),
        change,
        proposed,
        ..Clues::default()
    })
}
