//! The counting implementation: what it counts, and when it writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build;

/// What a program left.
pub(crate) struct Left {
    pub(crate) code: Option<i32>,
    folder: PathBuf,
}

/// A document.
pub(crate) struct Document(String);

impl Left {
    pub(crate) fn document(&self) -> Document {
        Document::read(&self.folder.join("metrics.json"))
    }

    /// The documents of forked children.
    fn children(&self) -> Vec<Document> {
        let mut files: Vec<PathBuf> = fs::read_dir(&self.folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                let name = path.file_name().unwrap().to_str().unwrap();
                name.strip_prefix("metrics.json.")
                    .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
            })
            .collect();
        files.sort();
        files.iter().map(|file| Document::read(file)).collect()
    }

    fn is_nothing_half_written(&self) -> bool {
        !fs::read_dir(&self.folder).unwrap().any(|entry| {
            let name = entry.unwrap().file_name();
            name.to_str().unwrap().ends_with(".part")
        })
    }
}

impl Document {
    pub(crate) fn read(path: &Path) -> Self {
        Self(fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    pub(crate) fn find(&self, key: &str, name: &str) -> Option<u64> {
        let start = format!(
            "\"metric_key\": \"instrument.{key}\", \"dim_key\": \"name={name}\", \"value\": "
        );
        let rest = &self.0[self.0.find(&start)? + start.len()..];
        rest[..rest.find(',').unwrap()].parse().ok()
    }

    pub(crate) fn number(&self, key: &str, name: &str) -> u64 {
        let number = self.find(key, name);
        number.unwrap_or_else(|| panic!("{key} of {name} is missing: {}", self.0))
    }

    fn succeeded(&self) -> bool {
        self.0.contains("\"succeeded\": true")
    }
}

/// Runs the worker in a folder of its own.
fn work(test: &str, what: &str, more: &[&str]) -> Left {
    let folder = build::folder().join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let output = folder.join("metrics.json");
    let mut command = Command::new(build::rust("worker", &["enabled", "counting"], &[]));
    command.arg(what).arg(&output).args(more);
    let ran = command.output().unwrap();
    let left = Left {
        code: ran.status.code(),
        folder,
    };
    assert!(left.is_nothing_half_written());
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "", "{}", ran.status);
    left
}

fn worked(test: &str, what: &str, more: &[&str]) -> Document {
    let left = work(test, what, more);
    assert_eq!(left.code, Some(0));
    let document = left.document();
    assert!(document.succeeded());
    document
}

#[test]
fn locks_are_counted_over_all_threads() {
    let document = worked("locks", "locks", &[]);
    assert_eq!(document.number("mutex.count", "m"), 1500);
    assert_eq!(document.number("mutex.errors", "m"), 0);
    assert_eq!(document.number("mutex.contended", "m"), 0);
    assert_eq!(document.number("rwlock_read.count", "rw"), 11);
    assert_eq!(document.number("rwlock_read.contended", "rw"), 1);
    assert_eq!(document.number("rwlock_read.errors", "rw"), 0);
    assert_eq!(document.number("rwlock_write.count", "rw"), 2);
    let odd = "a \\\"quoted\\\"%2C odd%3Dname%25";
    assert_eq!(document.number("mutex.count", odd), 1);
    // Not timed unless that is asked for.
    assert_eq!(document.find("mutex.wait_ns", "m"), None);
}

#[test]
fn a_wait_for_another_thread_is_contended_and_timed() {
    let document = worked("contended", "contended", &["times"]);
    assert_eq!(document.number("mutex.count", "m"), 2);
    assert_eq!(document.number("mutex.contended", "m"), 1);
    let waited = document.number("mutex.wait_ns", "m");
    assert!((10_000_000..10_000_000_000).contains(&waited), "{waited}");
}

#[test]
fn a_condition_variable_hands_the_lock_on_and_the_mutex_is_not_counted_again() {
    let document = worked("condvar", "condvar", &[]);
    // Twenty turns, one look at the end, one wait that times out.
    assert_eq!(document.number("mutex.count", "turn"), 22);
    assert_eq!(document.number("cond_notify.count", "changed"), 20);
    assert!(document.number("cond_wait.count", "changed") >= 10);
    assert_eq!(document.number("cond_wait.errors", "changed"), 0);
}

#[test]
fn a_panic_ends_its_region_and_a_poisoned_lock_counts_as_an_error() {
    let document = worked("panics", "panics", &[]);
    assert_eq!(document.number("region.count", "panics"), 1);
    assert_eq!(document.number("mutex.count", "m"), 4);
    assert_eq!(document.number("mutex.errors", "m"), 3);
    assert_eq!(document.number("rwlock_write.errors", "rw"), 0);
    assert_eq!(document.number("rwlock_read.errors", "rw"), 1);
    assert_eq!(document.number("cond_wait.errors", "changed"), 1);
}

#[test]
fn files_are_counted_with_their_bytes() {
    let document = worked("files", "files", &[]);
    assert_eq!(document.number("file_write.count", "data"), 2);
    assert_eq!(document.number("file_write.bytes", "data"), 1024);
    assert_eq!(document.number("file_read.bytes", "data"), 1024);
    assert!(document.number("file_read.count", "data") >= 2);
    assert_eq!(document.number("file_sync.count", "data"), 2);
    assert_eq!(document.number("file_write.count", "unwritable"), 1);
    assert_eq!(document.number("file_write.errors", "unwritable"), 1);
    assert_eq!(document.number("file_write.bytes", "unwritable"), 0);
}

#[test]
fn regions_are_counted_and_timed() {
    let document = worked("regions", "regions", &["times"]);
    assert_eq!(document.number("region.count", "outer"), 1);
    assert_eq!(document.number("region.count", "inner"), 1);
    assert_eq!(document.number("region.count", "recursive"), 5);
    assert!(document.number("region.wait_ns", "outer") >= 10_000_000);
}

#[test]
fn a_task_may_end_on_another_thread_and_one_that_is_given_up_has_failed() {
    let document = worked("awaits", "awaits", &[]);
    assert_eq!(document.number("region.count", "task"), 2);
    assert_eq!(document.number("region.errors", "task"), 1);
}

#[test]
fn a_forked_child_writes_what_it_did_itself() {
    for end in ["fork", "fork_exit"] {
        let left = work(end, end, &[]);
        assert_eq!(left.code, Some(0));
        let parent = left.document();
        assert_eq!(parent.number("mutex.count", "m"), 4);
        assert_eq!(parent.number("region.count", "forks"), 1);
        assert!(parent.number("mutex.count", "busy") > 0);
        let children = left.children();
        assert_eq!(children.len(), 1);
        assert_eq!(children[0].number("mutex.count", "m"), 7);
        // The thread that counted in the parent is not in the child.
        assert_eq!(children[0].number("mutex.count", "busy"), 0);
        assert!(children[0].succeeded());
    }
}

#[test]
fn an_exit_and_a_handled_signal_write_the_document() {
    let left = work("exit", "exit", &[]);
    assert_eq!(left.code, Some(7));
    let document = left.document();
    assert_eq!(document.number("mutex.count", "m"), 3);
    assert_eq!(document.succeeded(), cfg!(not(target_env = "gnu")));
    let document = worked("signal", "signal", &[]);
    assert_eq!(document.number("mutex.count", "m"), 4);
}

#[test]
fn destructors_that_run_after_the_counters_are_gone_are_counted() {
    let document = worked("destructors", "destructors", &[]);
    assert_eq!(document.number("mutex.count", "m"), 2 + 3 * 10);
    assert_eq!(document.number("region.count", "late"), 3);
}

#[test]
fn ten_thousand_threads_are_counted() {
    let document = worked("threads", "threads", &["10000"]);
    assert_eq!(document.number("mutex.count", "m"), 60_000);
}

#[test]
fn a_file_that_cannot_be_written_is_told_of() {
    let folder = build::folder().join("unwritable");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let mut command = Command::new(build::rust("worker", &["enabled", "counting"], &[]));
    let ran = command
        .arg("locks")
        .arg(folder.join("no/such/folder.json"))
        .output()
        .unwrap();
    assert!(ran.status.success());
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(
        said.starts_with("perf-instrument: the document cannot be written to /"),
        "{said}"
    );
}
