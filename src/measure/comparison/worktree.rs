//! A commit, checked out for one comparison and removed afterwards.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A checkout of its own. Dropping it removes it from the repository too.
pub(super) struct Worktree {
    repository: PathBuf,
    folder: PathBuf,
    // Dropped after the worktree is taken out of the repository.
    _above: TempDir,
}

impl Worktree {
    /// Checks out `commit` of `repository`.
    ///
    /// # Errors
    /// What git says.
    pub(super) fn add(repository: &Path, commit: &str) -> io::Result<Self> {
        let above = tempfile::Builder::new()
            .prefix("perf-tracking-compare-")
            .tempdir()?;
        let folder = above.path().join("checkout");
        let output = git(repository)
            .args(["worktree", "add", "--quiet", "--detach", "--force"])
            .arg(&folder)
            .arg(commit)
            .output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let line = said.lines().last().unwrap_or("git failed").to_owned();
            return Err(io::Error::other(line));
        }
        Ok(Self {
            repository: repository.to_owned(),
            folder,
            _above: above,
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        // The folder goes in any case; git forgets a worktree whose folder is gone at its next gc.
        let _ = git(&self.repository)
            .args(["worktree", "remove", "--force"])
            .arg(&self.folder)
            .status();
    }
}

fn git(repository: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(repository)
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}
