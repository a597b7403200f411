//! GitHub Actions, and Gitea and Forgejo, whose runners set the same variables.
//!
//! | variable | is |
//! | --- | --- |
//! | `GITHUB_ACTIONS`, `GITEA_ACTIONS`, `FORGEJO_ACTIONS` | the system; one of them is enough |
//! | `GITHUB_REPOSITORY` | the repository |
//! | `GITHUB_EVENT_NAME`, `GITHUB_EVENT_PATH` | what started the workflow, and a JSON file about it |
//! | `GITHUB_REF`, `GITHUB_REF_NAME`, `GITHUB_SHA` | what is built: a branch, a tag, or a trial merge of a change |
//! | `GITHUB_BASE_REF` | the branch that a change is for |
//!
//! Of a pull request GitHub builds `refs/pull/N/merge`, a trial merge, and Gitea and Forgejo
//! `refs/pull/N/head`, the change itself. The event has the change's own commit in each.
//!
//! Sources: <https://docs.github.com/en/actions/reference/workflows-and-actions/variables>,
//! <https://docs.github.com/en/webhooks/webhook-events-and-payloads>,
//! <https://docs.gitea.com/usage/actions/faq>, <https://forgejo.org/docs/latest/user/actions/>.

use serde_json::Value as Json;

use super::{Clue, Clues, Reader};

pub(super) fn clues(read: &Reader<'_>) -> Option<Clues> {
    read.first(&["GITHUB_ACTIONS", "GITEA_ACTIONS", "FORGEJO_ACTIONS"])?;
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
    // Gitea and Forgejo build the change as it is, and GitHub a trial merge.
    let own = match read.get("GITHUB_REF") {
        Some(name) if is_pull(&name.text) && name.text.ends_with("/head") => {
            read.commit(&["GITHUB_SHA"])
        }
        _ => None,
    };
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
        commit: Some(event.commit(place).or_else(|why| own.ok_or(why))),
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

/// What another workflow was started for; `GITHUB_SHA` is only where this workflow stands. A push, a
/// schedule and a start by hand are of a branch or a tag, which have one field.
fn github_workflow_run(read: &Reader<'_>) -> Clues {
    let event = Event::read(read);
    let commit = event.commit("/workflow_run/head_sha");
    let started_by = event.text("/workflow_run/event");
    let proposed = match &started_by {
        Some(name) if !is_proposal(&name.text) => None,
        Some(name) => Some(format!(
            "the workflow_run in GITHUB_EVENT_PATH is of a {}",
            name.text
        )),
        None => Some("the workflow_run in GITHUB_EVENT_PATH does not say what started it".into()),
    };
    if let Some(proposed) = proposed {
        return Clues {
            branch: event.text("/workflow_run/pull_requests/0/base/ref"),
            commit: Some(commit),
            change: event.text("/workflow_run/pull_requests/0/number"),
            proposed: Some(proposed.into()),
            ..Clues::default()
        };
    }
    let name = event.text("/workflow_run/head_branch");
    let is_tag = match (&name, &commit) {
        (Some(name), Ok(commit)) => read.is_tag_of(&name.text, &commit.text),
        _ => false,
    };
    let (branch, tag) = if is_tag { (None, name) } else { (name, None) };
    Clues {
        branch,
        tag,
        commit: Some(commit),
        ..Clues::default()
    }
}

/// Of all that starts a workflow, these are of what has not merged.
fn is_proposal(event: &str) -> bool {
    event.starts_with("pull_request") || event == "merge_group"
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
