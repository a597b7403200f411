//! A worktree of the repository in which commits are built and measured; it is gone when it is dropped.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use tempfile::TempDir;

use crate::provenance::checkout;

pub(super) struct Worktree {
    /// The folder of the repository.
    repository: PathBuf,
    /// Holds the worktree.
    outside: TempDir,
    folder: PathBuf,
}

impl Worktree {
    /// A worktree of the repository that `folder` stands in. One serves all commits, so that each
    /// build has what the one before left.
    pub(super) fn new(folder: &Path) -> anyhow::Result<Self> {
        let outside = tempfile::Builder::new()
            .prefix("perf-tracking-")
            .tempdir()?;
        let worktree = outside.path().join("worktree");
        git(
            folder,
            &[
                "worktree",
                "add",
                "--quiet",
                "--detach",
                text(&worktree)?,
                "HEAD",
            ],
        )
        .context("git makes no worktree")?;
        Ok(Self {
            repository: folder.canonicalize()?,
            folder: worktree,
            outside,
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checks `commit` out and runs `command` there; `document` is not from before.
    pub(super) fn measure(
        &self,
        commit: &str,
        command: &str,
        document: &Path,
    ) -> anyhow::Result<()> {
        git(
            &self.folder,
            &["checkout", "--quiet", "--force", "--detach", commit],
        )
        .context("it cannot be checked out")?;
        match fs::remove_file(self.folder.join(document)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).context("the document of the commit before is in the way");
            }
            _ => {}
        }
        // What the command says is for a person; the answer of this program is on standard output.
        let status = Command::new("sh")
            .args(["-c", command])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(std::io::stderr())
            .status()
            .context("the command cannot be started")?;
        anyhow::ensure!(status.success(), "the command ended with {status}");
        Ok(())
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        // The folder goes in any case; git forgets a worktree whose folder is gone.
        if let Ok(folder) = text(&self.folder) {
            let _ = git(&self.repository, &["worktree", "remove", "--force", folder]);
        }
        debug_assert!(
            self.outside.path().exists(),
            "the folder goes after its content"
        );
    }
}

fn git(folder: &Path, args: &[&str]) -> anyhow::Result<()> {
    checkout::ask(folder, args)
        .map(drop)
        .map_err(anyhow::Error::msg)
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str()
        .context("the folder for temporary files has a name that is no UTF-8")
}
