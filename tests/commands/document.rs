//! `perf-tracking upload` of a document: what is added to it, and where that comes from.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::shell::{Left, RUN, Shell};
use crate::support::ports;
use crate::support::service::{Service, ServiceOptions};

const DOCUMENT: &str = r#"{"format_version": 1, "workload": "perf", "arch": "amd64", "distro": "trixie", "host_class": "callgrind", "succeeded": true, "parameters": {"threads": 1}, "metrics": [{"metric_key": "callgrind.ir", "value": 1234567890}]}"#;

/// Two commits of `main` and a shallow clone of the newer one, at no branch.
struct Project {
    folder: tempfile::TempDir,
    older: String,
    newer: String,
}

impl Project {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = "
            git init -q -b main name && cd name
            git remote add origin https://u:hunter2@git.example.org/owner/name.git
            export GIT_COMMITTER_DATE=2026-11-30T11:00:01+02:00
            git commit -q --allow-empty -m older
            export GIT_COMMITTER_DATE=2026-11-30T11:00:02+02:00
            git commit -q --allow-empty -m newer
            cd .. && git clone -q --depth 1 file://$PWD/name shallow && git -C shallow checkout -q --detach
            git -C name rev-parse HEAD~ HEAD";
        let left = git_shell().within(folder.path()).script(script).await;
        assert_eq!((left.code, left.stderr.as_str()), (0, ""));
        let mut commits = left.stdout.lines().map(str::to_owned);
        let (older, newer) = (commits.next().unwrap(), commits.next().unwrap());
        Self {
            folder,
            older,
            newer,
        }
    }

    fn shell(&self, checkout: &str) -> Shell {
        git_shell().within(&self.folder.path().join(checkout))
    }
}

/// A shell whose git heeds no one's settings.
fn git_shell() -> Shell {
    Shell::default()
        .with("GIT_CONFIG_GLOBAL", "/dev/null")
        .with("GIT_CONFIG_NOSYSTEM", "1")
        .with("GIT_AUTHOR_NAME", "A")
        .with("GIT_AUTHOR_EMAIL", "a@example.org")
        .with("GIT_COMMITTER_NAME", "A")
        .with("GIT_COMMITTER_EMAIL", "a@example.org")
}

/// Without a service, a token or a checkout.
fn offline(folder: &Path) -> Shell {
    git_shell().within(folder)
}

fn github(shell: Shell, commit: &str) -> Shell {
    shell
        .with("GITHUB_ACTIONS", "true")
        .with("GITHUB_REPOSITORY", "owner/name")
        .with("GITHUB_EVENT_NAME", "push")
        .with("GITHUB_REF", "refs/heads/main")
        .with("GITHUB_REF_NAME", "main")
        .with("GITHUB_SHA", commit)
}

#[track_caller]
fn assert_refused(left: &Left, said: &str) {
    assert_eq!((left.code, left.stdout.as_str()), (2, ""));
    assert_eq!(left.stderr, said);
}

#[tokio::test]
async fn a_document_is_stored_as_the_run_that_the_ci_and_git_say_it_is() {
    let service = Service::start(ServiceOptions::default()).await;
    let project = Project::new().await;
    let shell = github(project.shell("name"), &project.older)
        .with("PERF_TRACKING_URL", &service.url())
        .with("PERF_TRACKING_PIPELINE", "promote")
        .token(&service.token("runs:write runs:read").await);
    let run = format!(
        "run 1: perf on main, amd64, trixie at {}\n",
        &project.older[..12]
    );
    let left = shell.upload(&[], DOCUMENT).await;
    left.is(0, &format!("created {run}"), "");
    let left = shell.upload(&["-"], DOCUMENT).await;
    left.is(0, &format!("unchanged {run}"), "");

    let left = shell.history(&["--format=json"]).await;
    let answer: Json = serde_json::from_str(&left.stdout).unwrap();
    let point = &answer["metrics"][0]["points"][0];
    assert_eq!(point["commit_sha"], json!(project.older));
    assert_eq!(point["repo"], json!("owner/name"));
    assert_eq!(point["run_date"], json!("2026-11-30T09:00:01Z"));
}

#[tokio::test]
async fn a_failed_document_is_stored_and_gives_way() {
    let service = Service::start(ServiceOptions::default()).await;
    let project = Project::new().await;
    let shell = github(project.shell("name"), &project.newer)
        .with("PERF_TRACKING_URL", &service.url())
        .token(&service.token("runs:write").await);
    let failed = DOCUMENT
        .replace("\"succeeded\": true", "\"succeeded\": false")
        .replace(r#"{"metric_key": "callgrind.ir", "value": 1234567890}"#, "");
    for (document, outcome) in [(failed.as_str(), "created"), (DOCUMENT, "replaced")] {
        let left = shell.upload(&["--pipeline=promote"], document).await;
        assert_eq!((left.code, left.stderr.as_str()), (0, ""));
        assert!(left.stdout.starts_with(outcome), "{}", left.stdout);
    }
}

#[tokio::test]
async fn a_dry_run_shows_what_would_be_sent_and_why() {
    let service = Service::start(ServiceOptions::default()).await;
    let project = Project::new().await;
    let (older, newer) = (&project.older, &project.newer);
    // Nothing listens there, and there is no token.
    let shell = github(project.shell("name"), older).with(
        "PERF_TRACKING_URL",
        &format!("http://127.0.0.1:{}", ports::free()),
    );
    let flags = ["--dry-run", "--pipeline=promote", "--change=17", "--tag="];
    let dry = shell.upload(&flags, DOCUMENT).await;
    assert_eq!(
        dry.stderr,
        format!(
            "repo owner/name (from GITHUB_REPOSITORY)\n\
             branch main (from GITHUB_REF_NAME)\n\
             commit {older} (from GITHUB_SHA)\n\
             change 17 (from --change)\n\
             pipeline promote (from --pipeline)\n\
             tag `` (from --tag)\n\
             run date 2026-11-30T09:00:01Z (from git)\n\
             subject older (from git)\n\
             the checkout is at another commit, {newer}\n"
        )
    );
    assert_eq!(dry.code, 0);
    let run: Json = serde_json::from_str(&dry.stdout).unwrap();
    assert_eq!(run["commit_sha"], json!(older));
    assert_eq!(run["change"], json!("17"));

    let online = Shell::at(&service.url()).token(&service.token("runs:write").await);
    let left = online.upload(&["-"], &dry.stdout).await;
    left.is(
        0,
        &format!(
            "created run 1: perf on main, amd64, trixie at {}\n",
            &older[..12]
        ),
        "",
    );
    // Of a run there is nothing to tell.
    let again = shell.upload(&["--dry-run"], &dry.stdout).await;
    again.is(0, &dry.stdout, "");
    let left = shell.upload(&["--dry-run", "--json"], DOCUMENT).await;
    assert_eq!(left.code, 2);
}

#[tokio::test]
async fn a_checkout_alone_is_enough_and_its_password_stays_there() {
    let project = Project::new().await;
    let flags = ["--dry-run", "--pipeline=check"];
    let left = project.shell("name").upload(&flags, DOCUMENT).await;
    assert_eq!(
        left.stderr,
        format!(
            "repo owner/name (from git)\n\
             branch main (from git)\n\
             commit {} (from git)\n\
             pipeline check (from --pipeline)\n\
             run date 2026-11-30T09:00:02Z (from git)\n\
             subject newer (from git)\n",
            project.newer
        )
    );
    assert!(!left.stdout.contains("hunter2"), "{}", left.stdout);
}

#[tokio::test]
async fn a_shallow_clone_does_where_it_has_the_commit() {
    let project = Project::new().await;
    let shallow = |commit| github(project.shell("shallow"), commit);
    let flags = ["--dry-run", "--pipeline=promote"];
    let left = shallow(&project.newer).upload(&flags, DOCUMENT).await;
    assert_eq!(left.code, 0, "{}", left.stderr);
    assert!(
        left.stderr
            .ends_with("run date 2026-11-30T09:00:02Z (from git)\nsubject newer (from git)\n")
    );
    let older = &project.older;
    let left = shallow(older).upload(&flags, DOCUMENT).await;
    assert_refused(
        &left,
        &format!(
            "error: standard input holds a document, and a run needs more; nothing was sent\n  \
             run date: the checkout does not have the commit {older}; fetch it (a shallow clone \
             has only the newest ones); give --run-date DATE, which is the commit's\n\
             known are:\n  \
             repo owner/name (from GITHUB_REPOSITORY)\n  \
             branch main (from GITHUB_REF_NAME)\n  \
             commit {older} (from GITHUB_SHA)\n  \
             pipeline promote (from --pipeline)\n"
        ),
    );
}

#[tokio::test]
async fn all_that_is_not_known_is_told_at_once_each_with_its_flag() {
    let folder = tempfile::tempdir().unwrap();
    let shell = offline(folder.path());
    let said = |why: &str| {
        format!(
            "error: standard input holds a document, and a run needs more; nothing was sent\n  \
             repo: {why}; give --repo NAME\n  \
             branch: {why}; give --branch NAME\n  \
             commit: {why}; give --commit SHA\n  \
             pipeline: nothing says it; give --pipeline NAME or set PERF_TRACKING_PIPELINE: \
             `promote` for a commit that has merged, since changes are judged against its runs, \
             and another name, such as `check`, for one that has not\n  \
             run date: it is the commit's, and the commit is not known; give --run-date DATE, \
             which is the commit's\n"
        )
    };
    let no_checkout = said(
        "there is no git checkout to ask: not a git repository (or any of the parent directories): .git",
    );
    let left = shell.upload(&["--dry-run"], DOCUMENT).await;
    assert_refused(&left, &no_checkout);
    let left = shell
        .clone()
        .with("PATH", "/nonexistent")
        .upload(&["--dry-run"], DOCUMENT)
        .await;
    let no_git = said("there is no git checkout to ask: git is not installed");
    assert_refused(&left, &no_git);

    let flags = [
        "--dry-run",
        "--repo=r",
        "--branch=b",
        "--commit=0123456789ABCDEF0123456789abcdef01234567",
        "--change=17",
        "--patchset=2",
        "--pipeline=check",
        "--tag=14.04",
        "--run-date=2026-11-30T11:00:01.9+02:00",
    ];
    let left = shell.upload(&flags, DOCUMENT).await;
    assert_eq!(left.code, 0, "{}", left.stderr);
    assert_eq!(left.stderr.lines().count(), 8);
    let run: Json = serde_json::from_str(&left.stdout).unwrap();
    assert_eq!(
        run,
        json!({
            "workload": "perf", "repo": "r", "branch": "b",
            "commit_sha": "0123456789abcdef0123456789abcdef01234567", "change": "17",
            "patchset": "2", "pipeline": "check", "distro": "trixie", "arch": "amd64",
            "host_class": "callgrind", "tag": "14.04", "run_date": "2026-11-30T09:00:01Z",
            "succeeded": true, "parameters": {"threads": 1},
            "metrics": [{"metric_key": "callgrind.ir", "dim_key": "",
            "value": 1234567890, "wallclock": false}],
        })
    );
}

#[tokio::test]
async fn a_change_that_has_not_merged_does_not_write_to_the_history() {
    let project = Project::new().await;
    let event = json!({"pull_request": {
        "number": 7, "merged": false, "base": {"ref": "main"}, "head": {"sha": project.older},
    }});
    let path = project.folder.path().join("event.json");
    std::fs::write(&path, event.to_string()).unwrap();
    let shell = github(project.shell("shallow"), &project.newer)
        .with("GITHUB_EVENT_NAME", "pull_request")
        .with("GITHUB_REF", "refs/pull/7/merge")
        .with("GITHUB_BASE_REF", "main")
        .with("GITHUB_EVENT_PATH", path.to_str().unwrap());
    let date = "--run-date=2026-11-30T09:00:00Z";
    let left = shell
        .upload(&["--dry-run", date, "--pipeline=promote"], DOCUMENT)
        .await;
    assert_eq!(left.code, 2);
    let why = "\n  pipeline: `promote` is for commits that have merged, and this is a change that \
               has not (GITHUB_EVENT_NAME is pull_request); name another with --pipeline\n";
    assert!(left.stderr.contains(why), "{}", left.stderr);
    let left = shell
        .upload(&["--dry-run", date, "--pipeline=check"], DOCUMENT)
        .await;
    let run: Json = serde_json::from_str(&left.stdout).unwrap();
    assert_eq!(run["commit_sha"], json!(project.older));
    assert_eq!(
        (&run["branch"], &run["change"]),
        (&json!("main"), &json!("7"))
    );
}

#[tokio::test]
async fn a_conflict_shows_what_differs_and_where_it_came_from() {
    let service = Service::start(ServiceOptions::default()).await;
    let project = Project::new().await;
    let shell = github(project.shell("name"), &project.newer)
        .with("PERF_TRACKING_URL", &service.url())
        .with("PERF_TRACKING_PIPELINE", "promote")
        .token(&service.token("runs:write").await);
    assert_eq!(shell.upload(&[], DOCUMENT).await.code, 0);
    let left = shell
        .upload(&["--run-date=2020-01-02T03:04:05Z"], DOCUMENT)
        .await;
    let commit = &project.newer;
    assert_refused(
        &left,
        &format!(
            "error: run 1 is stored with other content, and stays as it is: perf on main, amd64, trixie at {}
            stored             sent
  run_date  (needs runs:read)  2020-01-02T03:04:05Z
sent was:
  repo owner/name (from GITHUB_REPOSITORY)
  branch main (from GITHUB_REF_NAME)
  commit {commit} (from GITHUB_SHA)
  pipeline promote (from PERF_TRACKING_PIPELINE)
  run date 2020-01-02T03:04:05Z (from --run-date)
  subject newer (from git)
",
            &commit[..12]
        ),
    );
}

#[tokio::test]
async fn what_is_neither_a_document_nor_a_run_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let shell = offline(folder.path());
    for text in [r#"{"callgrind.ir": 1}"#, "[]", "7"] {
        let left = shell.upload(&["--dry-run"], text).await;
        assert_refused(
            &left,
            "error: standard input holds no run or document that fits; nothing was sent\n  \
             the body: is neither a document, which is an object with a `format_version`, nor a \
             run, which is one with a `commit_sha`\n",
        );
    }
    let newer = DOCUMENT.replace("\"format_version\": 1", "\"format_version\": 2");
    let left = shell.upload(&["--dry-run"], &newer).await;
    assert!(
        left.stderr.contains("/format_version: is 2"),
        "{}",
        left.stderr
    );
    let left = shell
        .upload(&["--dry-run", "--branch=b", "--tag=t"], RUN)
        .await;
    assert_refused(
        &left,
        "error: standard input holds a run, which says where it comes from itself; leave out \
         --branch, --tag\n",
    );
}

#[tokio::test]
async fn a_terminal_is_not_waited_for() {
    let binary = env!("CARGO_BIN_EXE_perf-tracking");
    // Without a file the command ends by itself; with `-` it reads what is typed.
    let script = format!(
        "script -qec '{binary} upload --dry-run' /dev/null </dev/null || echo $?
         (echo '{RUN}'; printf '\\4') | script -qec '{binary} upload --dry-run - >run' /dev/null >/dev/null
         grep -c commit_sha run"
    );
    let folder = tempfile::tempdir().unwrap();
    let left = offline(folder.path()).script(&script).await;
    assert_eq!(
        left.stdout.replace('\r', ""),
        "error: there is no FILE, and standard input is a terminal: name a file with a document or \
         a run, or pipe one in; `-` reads what is typed\n2\n1\n",
        "{}",
        left.stderr
    );
}
