//! What a CI system says of the commit that it builds, in the variables that it documents.
//!
//! One system speaks at a time: values of two would describe two commits.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::Outside;

/// A text, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clue {
    pub(super) text: String,
    pub(super) origin: Cow<'static, str>,
}

/// All that one system says; nothing of it is parsed yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clues {
    pub(super) repo: Option<Clue>,
    /// The branch that was measured; of a change, the one that it is for.
    pub(super) branch: Option<Clue>,
    /// The commit, or why it cannot be told although the system knows one.
    pub(super) commit: Option<Result<Clue, String>>,
    pub(super) change: Option<Clue>,
    pub(super) patchset: Option<Clue>,
    pub(super) pipeline: Option<Clue>,
    pub(super) tag: Option<Clue>,
    /// The date of that very commit.
    pub(super) run_date: Option<Clue>,
    /// Set where the commit has not merged: what says so.
    pub(super) proposed: Option<Cow<'static, str>>,
}

/// Asks each system that is known; the first that is there answers.
pub(super) fn clues(outside: &dyn Outside) -> Clues {
    let systems = [zuul, gerrit, github, gitlab, jenkins];
    let said = systems.iter().find_map(|system| system(&Reader(outside)));
    said.unwrap_or_default()
}

/// Reads variables; an empty one counts as unset.
struct Reader<'a>(&'a dyn Outside);

impl Reader<'_> {
    fn get(&self, name: &'static str) -> Option<Clue> {
        let text = self.0.variable(name).filter(|text| !text.is_empty())?;
        Some(Clue {
            text,
            origin: name.into(),
        })
    }

    fn first(&self, names: &[&'static str]) -> Option<Clue> {
        names.iter().find_map(|name| self.get(name))
    }

    /// A commit; what stands for none, since a branch is new or gone, is none.
    fn commit(&self, names: &[&'static str]) -> Option<Clue> {
        let commits = names.iter().filter_map(|name| self.get(name));
        commits
            .into_iter()
            .find(|clue| !clue.text.bytes().all(|byte| byte == b'0'))
    }

    fn has(&self, names: &[&'static str]) -> bool {
        self.first(names).is_some()
    }
}

impl Clue {
    fn map(self, change: impl FnOnce(&str) -> Option<String>) -> Option<Self> {
        Some(Self {
            text: change(&self.text)?,
            origin: self.origin,
        })
    }

    /// `refs/heads/main` is `main`; another full ref is no branch.
    fn branch_of_ref(self) -> Option<Self> {
        self.map(|text| match text.strip_prefix("refs/heads/") {
            Some(branch) => Some(branch.to_owned()),
            None => (!text.starts_with("refs/")).then(|| text.to_owned()),
        })
    }

    fn tag_of_ref(self) -> Option<Self> {
        self.map(|text| text.strip_prefix("refs/tags/").map(str::to_owned))
    }
}

/// Its jobs of old had these variables; today's have Ansible variables, which a playbook hands on
/// under the same names.
fn zuul(read: &Reader<'_>) -> Option<Clues> {
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

/// Jenkins with the Gerrit Trigger plugin.
fn gerrit(read: &Reader<'_>) -> Option<Clues> {
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

fn github(read: &Reader<'_>) -> Option<Clues> {
    read.get("GITHUB_ACTIONS")?;
    let repo = read.get("GITHUB_REPOSITORY");
    let about = match read.get("GITHUB_EVENT_NAME") {
        Some(name) if name.text.starts_with("pull_request") => github_pull_request(read),
        Some(name) if name.text == "merge_group" => github_merge_group(read),
        Some(name) if name.text == "workflow_run" => github_workflow_run(read),
        Some(name) if name.text == "issue_comment" => github_comment(read),
        _ => github_ref(read),
    };
    Some(Clues { repo, ..about })
}

/// A branch or a tag that was pushed, or whose workflow was started otherwise.
fn github_ref(read: &Reader<'_>) -> Clues {
    let name = read.get("GITHUB_REF");
    if let Some(change) = name.as_ref().filter(|name| is_pull(&name.text)) {
        return github_pull_ref(read, &change.text);
    }
    let is_tag = name.is_some_and(|name| name.text.starts_with("refs/tags/"));
    let name = read.get("GITHUB_REF_NAME");
    let (branch, tag) = if is_tag { (None, name) } else { (name, None) };
    Clues {
        branch,
        tag,
        commit: read.commit(&["GITHUB_SHA"]).map(Ok),
        ..Clues::default()
    }
}

fn is_pull(name: &str) -> bool {
    name.starts_with("refs/pull/")
}

/// A workflow that was started by hand, or by what is not known, on the ref of a pull request.
fn github_pull_ref(read: &Reader<'_>, name: &str) -> Clues {
    let commit = if name.ends_with("/merge") {
        Some(Err(format!("GITHUB_SHA is a trial merge ({name})")))
    } else {
        read.commit(&["GITHUB_SHA"]).map(Ok)
    };
    Clues {
        branch: read.get("GITHUB_BASE_REF"),
        commit,
        proposed: Some(format!("GITHUB_REF is {name}").into()),
        ..Clues::default()
    }
}

/// `GITHUB_SHA` is a trial merge here; the change's own commit is in the event alone.
fn github_pull_request(read: &Reader<'_>) -> Clues {
    let event = Event::read(read);
    let is_merged = event.json("/pull_request/merged") == Some(&Json::Bool(true));
    let (place, proposed) = if is_merged {
        ("/pull_request/merge_commit_sha", None)
    } else {
        (
            "/pull_request/head/sha",
            read.get("GITHUB_EVENT_NAME")
                .map(|event| format!("GITHUB_EVENT_NAME is {}", event.text).into()),
        )
    };
    Clues {
        branch: read
            .get("GITHUB_BASE_REF")
            .or_else(|| event.text("/pull_request/base/ref")),
        commit: Some(event.commit(place)),
        change: event.text("/pull_request/number"),
        proposed,
        ..Clues::default()
    }
}

/// Changes that wait in line to be merged, together.
fn github_merge_group(read: &Reader<'_>) -> Clues {
    let event = Event::read(read);
    Clues {
        branch: event
            .text("/merge_group/base_ref")
            .and_then(Clue::branch_of_ref),
        commit: Some(event.commit("/merge_group/head_sha")),
        proposed: Some("GITHUB_EVENT_NAME is merge_group".into()),
        ..Clues::default()
    }
}

/// What another workflow was started for; `GITHUB_SHA` is only where this workflow stands.
fn github_workflow_run(read: &Reader<'_>) -> Clues {
    let event = Event::read(read);
    let of_a_push = event.json("/workflow_run/event") == Some(&Json::from("push"));
    let (branch, proposed) = if of_a_push {
        ("/workflow_run/head_branch", None)
    } else {
        (
            "/workflow_run/pull_requests/0/base/ref",
            Some("the workflow_run in GITHUB_EVENT_PATH is not of a push".into()),
        )
    };
    Clues {
        branch: event.text(branch),
        commit: Some(event.commit("/workflow_run/head_sha")),
        change: event.text("/workflow_run/pull_requests/0/number"),
        proposed,
        ..Clues::default()
    }
}

/// A comment on a pull request starts its workflow on the default branch, and does not say which
/// commit or branch it is about.
fn github_comment(read: &Reader<'_>) -> Clues {
    let event = Event::read(read);
    if event.0.is_ok() && event.json("/issue/pull_request").is_none() {
        return github_ref(read);
    }
    Clues {
        commit: Some(Err(
            "GITHUB_SHA is of the default branch, and the comment may be on another commit"
                .to_owned(),
        )),
        change: event.text("/issue/number"),
        proposed: Some("GITHUB_EVENT_NAME is issue_comment".into()),
        ..Clues::default()
    }
}

/// What started a workflow of GitHub's, or why it cannot be read.
struct Event(Result<Json, String>);

impl Event {
    fn read(read: &Reader<'_>) -> Self {
        let Some(path) = read.get("GITHUB_EVENT_PATH") else {
            return Self(Err("GITHUB_EVENT_PATH is not set".to_owned()));
        };
        let json = read.0.file(&path.text).and_then(|text| {
            serde_json::from_str(&text).map_err(|error| format!("is not JSON: {error}"))
        });
        Self(json.map_err(|why| format!("the event that GITHUB_EVENT_PATH names {why}")))
    }

    fn json(&self, pointer: &str) -> Option<&Json> {
        self.0.as_ref().ok()?.pointer(pointer)
    }

    fn text(&self, pointer: &str) -> Option<Clue> {
        let text = match self.json(pointer)? {
            Json::String(text) => text.clone(),
            Json::Number(number) => number.to_string(),
            _ => return None,
        };
        let field = pointer.trim_start_matches('/').replace('/', ".");
        Some(Clue {
            text,
            origin: format!("{field} in GITHUB_EVENT_PATH").into(),
        })
    }

    fn commit(&self, pointer: &str) -> Result<Clue, String> {
        let unreadable = self.0.as_ref().err();
        self.text(pointer).ok_or_else(|| {
            let why = match unreadable {
                Some(why) => why.clone(),
                None => format!("the event that GITHUB_EVENT_PATH names has no {pointer}"),
            };
            format!("GITHUB_SHA is not the commit of the change, and {why}")
        })
    }
}

fn gitlab(read: &Reader<'_>) -> Option<Clues> {
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

/// Jenkins with its git plugin, and its multibranch projects.
fn jenkins(read: &Reader<'_>) -> Option<Clues> {
    if !read.has(&["JENKINS_URL", "JENKINS_HOME"]) {
        return None;
    }
    let change = read.get("CHANGE_ID");
    let tag = read.get("TAG_NAME");
    let branch = match (&change, &tag) {
        (Some(_), _) => read.get("CHANGE_TARGET"),
        (None, Some(_)) => None,
        (None, None) => read.get("BRANCH_NAME").or_else(|| {
            let clue = read.get("GIT_BRANCH")?;
            clue.map(|text| jenkins_branch(text).map(str::to_owned))
        }),
    };
    Some(Clues {
        repo: read
            .get("GIT_URL")
            .and_then(|clue| clue.map(super::git::path_of_remote)),
        branch,
        commit: read.commit(&["GIT_COMMIT"]).map(Ok),
        proposed: change
            .as_ref()
            .map(|change| format!("CHANGE_ID is {}", change.text).into()),
        change,
        tag,
        ..Clues::default()
    })
}

/// `origin/main`, `refs/remotes/origin/main` and `refs/heads/main` are `main`.
fn jenkins_branch(text: &str) -> Option<&str> {
    let text = text.strip_prefix("refs/remotes/").unwrap_or(text);
    let text = text.strip_prefix("refs/heads/").unwrap_or(text);
    let text = text.strip_prefix("origin/").unwrap_or(text);
    (text != "detached" && text != "HEAD").then_some(text)
}
