//! The history on a branch of the project itself: the script of the recipe, against a bare repository.

use std::fs;
use std::path::Path;
use std::thread;

use serde_json::json;
use tempfile::TempDir;

use super::project::Project;
use super::shell::{self, Left, Variables};

/// A remote that a project pushes to, as a forge keeps it.
fn remote() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let bare = ["init", "--quiet", "--bare"];
    shell::run("git", &bare, folder.path(), &Variables::new()).assert(0, &[]);
    folder
}

fn perf_history(args: &[&str], checkout: &Path) -> Left {
    let script = format!("{}/deploy/ci/file/perf-history", env!("CARGO_MANIFEST_DIR"));
    let variables = Variables::from([
        ("HOME".to_owned(), checkout.display().to_string()),
        ("GITHUB_REPOSITORY".to_owned(), "owner/project".to_owned()),
        ("GITHUB_ACTIONS".to_owned(), "true".to_owned()),
        ("GITHUB_EVENT_NAME".to_owned(), "push".to_owned()),
        ("GITHUB_REF_NAME".to_owned(), "main".to_owned()),
        ("GITHUB_REF".to_owned(), "refs/heads/main".to_owned()),
    ]);
    shell::run(&script, args, checkout, &variables)
}

/// Stores what a commit measured, as the job of a push does.
fn store(checkout: &TempDir, remote: &Path) -> Left {
    let document = json!({
        "format_version": 1, "workload": "sample", "arch": "amd64", "distro": "trixie",
        "host_class": "callgrind", "succeeded": true, "parameters": {},
        "metrics": [{"metric_key": "callgrind.ir", "value": 1000}],
    });
    fs::write(checkout.path().join("metrics.json"), document.to_string()).unwrap();
    let remote = remote.to_str().unwrap();
    perf_history(&["store", remote, "metrics.json"], checkout.path())
}

/// The dates of the runs that the branch holds, newest first.
fn stored(remote: &Path) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    shell::run(
        "git",
        &["init", "--quiet"],
        folder.path(),
        &Variables::new(),
    )
    .assert(0, &[]);
    perf_history(&["fetch", remote.to_str().unwrap()], folder.path()).assert(0, &[]);
    let series = "--workload=sample --branch=main --arch=amd64 --distro=trixie";
    let command =
        format!("perf-tracking history --server sqlite:perf.db {series} --all --format csv");
    let left = shell::bash(&command, folder.path(), &Variables::new());
    left.assert(0, &[]);
    let rows = left.said.lines().skip(1);
    rows.map(|row| row.split(',').nth(4).unwrap().to_owned())
        .collect()
}

#[test]
fn the_branch_keeps_every_run_and_one_commit() {
    let (project, remote) = (Project::new(), remote());
    let first = perf_history(&["fetch", remote.path().to_str().unwrap()], remote.path());
    first.assert(0, &["there is no branch perf-history yet"]);
    for text in ["one", "two", "three"] {
        let commit = project.merge(|files| files.add_comment(text));
        let checkout = project.checkout(&commit);
        store(&checkout, remote.path()).assert(0, &["created run"]);
        // Run again, the job changes nothing.
        store(&checkout, remote.path()).assert(0, &["unchanged run"]);
    }
    assert_eq!(stored(remote.path()).len(), 3);
    let commits = ["rev-list", "--count", "perf-history"];
    let left = shell::run("git", &commits, remote.path(), &Variables::new());
    assert_eq!(left.said.trim(), "1");
}

#[test]
fn jobs_that_push_at_once_lose_nothing() {
    let (project, remote) = (Project::new(), remote());
    let checkouts: Vec<TempDir> = ["one", "two", "three"]
        .iter()
        .map(|text| project.checkout(&project.merge(|files| files.add_comment(text))))
        .collect();
    thread::scope(|scope| {
        let jobs: Vec<_> = checkouts
            .iter()
            .map(|checkout| scope.spawn(|| store(checkout, remote.path())))
            .collect();
        for job in jobs {
            job.join().unwrap().assert(0, &["created run"]);
        }
    });
    assert_eq!(stored(remote.path()).len(), 3);
}

#[test]
fn a_remote_that_is_away_is_no_empty_history() {
    let folder = tempfile::tempdir().unwrap();
    let init = ["init", "--quiet"];
    shell::run("git", &init, folder.path(), &Variables::new()).assert(0, &[]);
    let left = perf_history(&["fetch", "/nowhere/at/all"], folder.path());
    assert_ne!(left.code, 0, "{}", left.said);
    assert!(!folder.path().join("perf.db").exists());
}
