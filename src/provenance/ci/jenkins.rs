//! Jenkins, with the plugins that build changes.
//!
//! | plugin | variables |
//! | --- | --- |
//! | Git | `GIT_URL`, `GIT_COMMIT`, `GIT_BRANCH`, `GIT_LOCAL_BRANCH` |
//! | Branch API (multibranch projects) | `BRANCH_NAME`, `TAG_NAME`; of a change `CHANGE_ID`, `CHANGE_TARGET` |
//! | GitHub Pull Request Builder | `ghprbPullId`, `ghprbTargetBranch`, `ghprbActualCommit`, `ghprbGhRepository`; `sha1` is a trial merge |
//! | GitLab | `gitlabActionType`, `gitlabMergeRequestIid`, `gitlabMergeRequestState`, `gitlabTargetBranch`, `gitlabMergeRequestLastCommit`, `gitlabAfter` |
//! | Bitbucket Push and Pull Request | `BITBUCKET_PULL_REQUEST_ID`, `BITBUCKET_TARGET_BRANCH`, `BITBUCKET_PULL_REQUEST_LATEST_COMMIT_FROM_SOURCE_BRANCH` |
//! | Generic pull request builders | `CHANGE_ID` as above, or `ghprb...` |
//!
//! `GIT_COMMIT` of a change is a trial merge where the job merges it with its target first; so the
//! change's own commit is taken from the plugin, and where the plugin names none, `GIT_COMMIT` is
//! asked for its parents.
//!
//! Sources: <https://plugins.jenkins.io/git/#plugin-content-environment-variables>,
//! <https://plugins.jenkins.io/branch-api/>, <https://plugins.jenkins.io/ghprb/>,
//! <https://plugins.jenkins.io/gitlab-plugin/>,
//! <https://plugins.jenkins.io/bitbucket-push-and-pull-request/>.

use super::{Clue, Clues, Reader};
use crate::provenance::git;

pub(super) fn clues(read: &Reader<'_>) -> Option<Clues> {
    if !read.has(&["JENKINS_URL", "JENKINS_HOME"]) {
        return None;
    }
    let about = change(read).unwrap_or_else(|| pushed(read));
    Some(Clues {
        repo: about.repo.or_else(|| {
            read.get("GIT_URL")
                .and_then(|clue| clue.map(git::path_of_remote))
        }),
        ..about
    })
}

/// The variables in which one plugin tells of a change.
struct Plugin {
    id: &'static str,
    target: &'static str,
    /// The change's own commit; unset where the plugin names none.
    commit: &'static [&'static str],
    repo: &'static [&'static str],
}

const PLUGINS: [Plugin; 4] = [
    Plugin {
        id: "ghprbPullId",
        target: "ghprbTargetBranch",
        commit: &["ghprbActualCommit"],
        repo: &["ghprbGhRepository"],
    },
    Plugin {
        id: "gitlabMergeRequestIid",
        target: "gitlabTargetBranch",
        commit: &["gitlabMergeRequestLastCommit"],
        repo: &[],
    },
    Plugin {
        id: "BITBUCKET_PULL_REQUEST_ID",
        target: "BITBUCKET_TARGET_BRANCH",
        commit: &["BITBUCKET_PULL_REQUEST_LATEST_COMMIT_FROM_SOURCE_BRANCH"],
        repo: &[],
    },
    Plugin {
        id: "CHANGE_ID",
        target: "CHANGE_TARGET",
        commit: &[],
        repo: &[],
    },
];

fn change(read: &Reader<'_>) -> Option<Clues> {
    let (plugin, id) = PLUGINS
        .iter()
        .find_map(|plugin| Some((plugin, read.get(plugin.id)?)))?;
    let own = read.commit(plugin.commit);
    Some(Clues {
        repo: read.first(plugin.repo),
        branch: read.get(plugin.target).and_then(Clue::branch_of_ref),
        may_be_trial_merge: own.is_none(),
        commit: own.or_else(|| read.commit(&["GIT_COMMIT"])).map(Ok),
        // The GitLab plugin builds a merge request once more when it has merged; what is checked out
        // is then still the change.
        proposed: Some(id.is_said()),
        change: Some(id),
        ..Clues::default()
    })
}

fn pushed(read: &Reader<'_>) -> Clues {
    // The GitLab plugin also tells of changes that it does not number.
    let proposed = read
        .get("gitlabActionType")
        .filter(|action| matches!(action.text.as_str(), "MERGE" | "NOTE"))
        .map(|action| action.is_said());
    let tag = read.get("TAG_NAME");
    let branch = match tag {
        Some(_) => None,
        None => branch(read),
    };
    Clues {
        branch,
        tag,
        commit: read.commit(&["GIT_COMMIT"]).map(Ok),
        may_be_trial_merge: proposed.is_some(),
        proposed,
        ..Clues::default()
    }
}

fn branch(read: &Reader<'_>) -> Option<Clue> {
    read.first(&["BRANCH_NAME", "GIT_LOCAL_BRANCH"])
        .or_else(|| {
            let remotes = read.remotes();
            read.get("GIT_BRANCH")?
                .map(|text| without_remote(text, &remotes).map(str::to_owned))
        })
}

/// `origin/main`, `refs/remotes/upstream/main` and `refs/heads/main` are `main`.
fn without_remote<'a>(text: &'a str, remotes: &[String]) -> Option<&'a str> {
    let branch = match text
        .strip_prefix("refs/remotes/")
        .or_else(|| text.strip_prefix("remotes/"))
    {
        Some(rest) => rest.split_once('/').map_or(rest, |(_, branch)| branch),
        None => {
            let text = text.strip_prefix("refs/heads/").unwrap_or(text);
            let known = remotes.iter().map(String::as_str).chain(["origin"]);
            let mut named = known.filter_map(|remote| text.strip_prefix(remote)?.strip_prefix('/'));
            named.next().unwrap_or(text)
        }
    };
    (branch != "detached" && branch != "HEAD").then_some(branch)
}
