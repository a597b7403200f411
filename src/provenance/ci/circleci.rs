//! CircleCI.
//!
//! | variable | is |
//! | --- | --- |
//! | `CIRCLECI` | the system |
//! | `CIRCLE_PROJECT_USERNAME`, `CIRCLE_PROJECT_REPONAME`, `CIRCLE_REPOSITORY_URL` | the repository |
//! | `CIRCLE_BRANCH`, `CIRCLE_TAG`, `CIRCLE_SHA1` | what is built; of a change, its own branch and commit |
//! | `CIRCLE_PULL_REQUEST`, `CIRCLE_PULL_REQUESTS` | the address of a change, or of several that the branch has |
//! | `CIRCLE_PR_NUMBER` | the change, of a fork's alone |
//!
//! CircleCI builds the change's own commit, and does not say which branch it is for.
//!
//! Source: <https://circleci.com/docs/reference/variables/>.

use super::{Clue, Clues, Reader};
use crate::provenance::git;

pub(super) fn clues(read: &Reader<'_>) -> Option<Clues> {
    read.get("CIRCLECI")?;
    let requests = [
        "CIRCLE_PR_NUMBER",
        "CIRCLE_PULL_REQUEST",
        "CIRCLE_PULL_REQUESTS",
    ];
    let request = read.first(&requests);
    let tag = read.get("CIRCLE_TAG");
    let branch = match (&request, &tag) {
        (None, None) => read.get("CIRCLE_BRANCH"),
        _ => None,
    };
    Some(Clues {
        repo: repo(read),
        branch,
        tag: if request.is_some() { None } else { tag },
        commit: read.commit(&["CIRCLE_SHA1"]).map(Ok),
        proposed: request.as_ref().map(|clue| clue.is_said()),
        change: request.and_then(number),
        ..Clues::default()
    })
}

fn repo(read: &Reader<'_>) -> Option<Clue> {
    let name = read.get("CIRCLE_PROJECT_REPONAME");
    match (read.get("CIRCLE_PROJECT_USERNAME"), name) {
        (Some(owner), Some(name)) => Some(Clue {
            text: format!("{}/{}", owner.text, name.text),
            origin: name.origin,
        }),
        _ => read
            .get("CIRCLE_REPOSITORY_URL")
            .and_then(|clue| clue.map(git::path_of_remote)),
    }
}

/// `https://github.com/owner/name/pull/7` is 7; of several, the first.
fn number(request: Clue) -> Option<Clue> {
    request.map(|text| {
        let first = text.split(',').next()?;
        let number = first.trim_end_matches('/').rsplit('/').next()?;
        number
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| number.to_owned())
    })
}
