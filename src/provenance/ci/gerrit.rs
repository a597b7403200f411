//! Jenkins with the Gerrit Trigger plugin.
//!
//! | variable | is |
//! | --- | --- |
//! | `GERRIT_PROJECT`, `GERRIT_BRANCH`, `GERRIT_REFNAME` | the repository, the branch, an updated ref |
//! | `GERRIT_EVENT_TYPE` | `change-merged` and `ref-updated` are of what has merged |
//! | `GERRIT_NEWREV`, `GERRIT_PATCHSET_REVISION` | the commit |
//! | `GERRIT_CHANGE_NUMBER`, `GERRIT_PATCHSET_NUMBER` | the change |
//!
//! Source: <https://plugins.jenkins.io/gerrit-trigger/>.

use super::{Clue, Clues, Reader};

pub(super) fn clues(read: &Reader<'_>) -> Option<Clues> {
    let repo = read.get("GERRIT_PROJECT")?;
    let refname = || read.get("GERRIT_REFNAME");
    let event = read.get("GERRIT_EVENT_TYPE");
    let proposed = event
        .filter(|event| !matches!(event.text.as_str(), "change-merged" | "ref-updated"))
        .map(|event| format!("GERRIT_EVENT_TYPE is {}", event.text).into());
    Some(Clues {
        repo: Some(repo),
        branch: read
            .get("GERRIT_BRANCH")
            .or_else(|| refname()?.branch_of_ref()),
        tag: refname().and_then(Clue::tag_of_ref),
        // What a merge made may differ from the patch set.
        commit: read
            .commit(&["GERRIT_NEWREV", "GERRIT_PATCHSET_REVISION"])
            .map(Ok),
        change: read.get("GERRIT_CHANGE_NUMBER"),
        patchset: read.get("GERRIT_PATCHSET_NUMBER"),
        proposed,
        ..Clues::default()
    })
}
