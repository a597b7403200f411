//! Commits and their dates, out of a checkout.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The checkouts that were asked, and what they said.
#[derive(Debug, Default)]
pub(super) struct Git {
    /// The one to ask; `None` asks the one that a file stands in.
    folder: Option<PathBuf>,
    answers: HashMap<(PathBuf, String), Result<Commit, String>>,
}

/// A commit, and when it was committed (RFC 3339).
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) sha: String,
    pub(super) date: String,
}

impl Git {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            ..Self::default()
        }
    }

    /// The commit that the tag `name` points to, or `vNAME`.
    pub(super) fn tag(&mut self, file: &Path, name: &str) -> Result<Commit, String> {
        let spellings = [name.to_owned(), format!("v{name}")];
        for spelling in spellings {
            // What follows is not for git to read as anything but a name.
            if let Ok(commit) = self.ask(file, &format!("refs/tags/{spelling}^{{commit}}")) {
                return Ok(commit);
            }
        }
        Err(format!("git knows no tag `{name}` or `v{name}`"))
    }

    /// The commit `sha`.
    pub(super) fn commit(&mut self, file: &Path, sha: &str) -> Result<Commit, String> {
        self.ask(file, &format!("{sha}^{{commit}}"))
            .map_err(|_| format!("git does not know the commit {sha}"))
    }

    fn ask(&mut self, file: &Path, revision: &str) -> Result<Commit, String> {
        let beside = || match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let folder = self.folder.clone().unwrap_or_else(beside);
        self.answers
            .entry((folder, revision.to_owned()))
            .or_insert_with_key(|(folder, revision)| ask(folder, revision))
            .clone()
    }
}

fn ask(folder: &Path, revision: &str) -> Result<Commit, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args([
            "log",
            "-1",
            "--no-show-signature",
            "--format=%H %cI",
            "--end-of-options",
            revision,
            "--",
        ])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.trim_end().split_once(' ') {
        Some((sha, date)) if output.status.success() => Ok(Commit {
            sha: sha.to_owned(),
            date: date.to_owned(),
        }),
        _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
