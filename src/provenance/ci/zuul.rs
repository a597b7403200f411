//! Zuul.
//!
//! | variable | is |
//! | --- | --- |
//! | `ZUUL_PROJECT`, `ZUUL_PIPELINE` | the repository and the pipeline |
//! | `ZUUL_BRANCH`, `ZUUL_REFNAME` | the branch; a ref after one was updated |
//! | `ZUUL_NEWREV`, `ZUUL_COMMIT` | the commit |
//! | `ZUUL_CHANGE`, `ZUUL_PATCHSET` | the change |
//!
//! Source: <https://zuul-ci.org/docs/zuul/latest/job-content.html>.

use super::{Clue, Clues, Reader};

/// Its jobs of old had these variables; today's have Ansible variables, which a playbook hands on
/// under the same names.
pub(super) fn clues(read: &Reader<'_>) -> Option<Clues> {
    let known = [
        "ZUUL_PROJECT",
        "ZUUL_PIPELINE",
        "ZUUL_BRANCH",
        "ZUUL_COMMIT",
    ];
    if !read.has(&known) {
        return None;
    }
    let refname = || read.get("ZUUL_REFNAME");
    Some(Clues {
        repo: read.get("ZUUL_PROJECT"),
        branch: read
            .get("ZUUL_BRANCH")
            .or_else(|| refname()?.branch_of_ref()),
        tag: refname().and_then(Clue::tag_of_ref),
        commit: read.commit(&["ZUUL_NEWREV", "ZUUL_COMMIT"]).map(Ok),
        change: read.get("ZUUL_CHANGE"),
        // Of a change on GitHub this is a commit.
        patchset: read
            .get("ZUUL_PATCHSET")
            .filter(|patchset| patchset.text.len() < 40),
        pipeline: read.get("ZUUL_PIPELINE"),
        ..Clues::default()
    })
}
