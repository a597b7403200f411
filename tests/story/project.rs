//! The project that is measured: `deploy/ci/sample` in a git repository of its own.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::shell::{self, Variables};

const FILES: [&str; 3] = ["sample.c", "Makefile", "gate.toml"];

pub(crate) struct Project {
    folder: TempDir,
    /// A day goes by between commits.
    commits: Cell<u32>,
}

impl Project {
    /// The sample as it is, on the branch `main`.
    pub(crate) fn new() -> Self {
        let project = Self {
            folder: tempfile::tempdir().unwrap(),
            commits: Cell::new(0),
        };
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/ci/sample");
        for name in FILES {
            fs::copy(sample.join(name), project.folder.path().join(name)).unwrap();
        }
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        // As forges let a job fetch the very commit that it is about.
        project.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
        project.commit();
        project
    }

    /// A commit on `main`.
    pub(crate) fn merge(&self, edit: impl FnOnce(&Files)) -> String {
        self.git(&["checkout", "--quiet", "main"]);
        edit(&Files(self.folder.path().to_owned()));
        self.commit()
    }

    /// A commit on a branch of its own, from where `main` is.
    pub(crate) fn propose(&self, edit: impl FnOnce(&Files)) -> String {
        self.git(&["checkout", "--quiet", "-B", "change", "main"]);
        edit(&Files(self.folder.path().to_owned()));
        let commit = self.commit();
        self.git(&["checkout", "--quiet", "main"]);
        commit
    }

    /// Moves `main` on to a commit that was proposed.
    pub(crate) fn fast_forward(&self, commit: &str) {
        self.git(&["merge", "--quiet", "--ff-only", commit]);
    }

    /// Where a job works: a checkout of a commit, with a short history, as a CI has it.
    pub(crate) fn checkout(&self, commit: &str) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| git(args, folder.path(), &Variables::new());
        git(&["init", "--quiet"]);
        let source = format!("file://{}", self.folder.path().display());
        git(&["fetch", "--quiet", "--depth=1", &source, commit]);
        git(&["checkout", "--quiet", "--detach", "FETCH_HEAD"]);
        folder
    }

    /// When a commit was made.
    pub(crate) fn date(&self, commit: &str) -> String {
        let date = self.git(&["log", "-1", "--format=%cI", commit]);
        date.trim().to_owned()
    }

    fn commit(&self) -> String {
        let day = self.commits.get() + 1;
        self.commits.set(day);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=change"]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    fn git(&self, args: &[&str]) -> String {
        let date = format!("2026-01-{:02}T09:00:00Z", self.commits.get());
        let variables = Variables::from([
            ("GIT_AUTHOR_DATE".to_owned(), date.clone()),
            ("GIT_COMMITTER_DATE".to_owned(), date),
        ]);
        git(args, self.folder.path(), &variables)
    }
}

fn git(args: &[&str], folder: &Path, variables: &Variables) -> String {
    let identity = [
        "-c",
        "user.name=Ada Lovelace",
        "-c",
        "user.email=ada@example.org",
    ];
    let left = shell::run("git", &[&identity[..], args].concat(), folder, variables);
    left.assert(0, &[]);
    left.said
}

/// The files of the project, for a change to edit.
pub(crate) struct Files(PathBuf);

impl Files {
    /// How much work the program does; 100 is what it did at first.
    pub(crate) fn set_rounds(&self, rounds: u32) {
        let source = self.read("sample.c");
        let (before, rest) = source.split_once("ROUNDS = ").unwrap();
        let (_, after) = rest.split_once(',').unwrap();
        self.write("sample.c", &format!("{before}ROUNDS = {rounds},{after}"));
    }

    /// A change that costs nothing.
    pub(crate) fn add_comment(&self, text: &str) {
        self.append("sample.c", &format!("/* {text} */\n"));
    }

    /// Makes the line count that begins with `# NAME`.
    pub(crate) fn uncomment(&self, file: &str, name: &str) {
        self.replace(file, &format!("\n# {name}"), &format!("\n{name}"));
    }

    pub(crate) fn comment_out(&self, file: &str, name: &str) {
        self.replace(file, &format!("\n{name}"), &format!("\n# {name}"));
    }

    fn replace(&self, file: &str, old: &str, new: &str) {
        let text = self.read(file);
        assert!(text.contains(old), "{text}");
        self.write(file, &text.replace(old, new));
    }

    pub(crate) fn append(&self, name: &str, text: &str) {
        self.write(name, &(self.read(name) + text));
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }
}
