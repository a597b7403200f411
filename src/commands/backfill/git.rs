//! Commits and their dates, out of the checkouts that files stand in; each is asked once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::provenance::checkout::{self as git, Commit};

/// The checkouts that were asked, and what they said.
#[derive(Debug, Default)]
pub(super) struct Git {
    /// The one to ask; `None` asks the one that a file stands in.
    folder: Option<PathBuf>,
    checkouts: HashMap<PathBuf, Result<(), String>>,
    answers: HashMap<(PathBuf, String), Option<Commit>>,
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
        for spelling in [name.to_owned(), format!("v{name}")] {
            if let Some(commit) = self.ask(file, &format!("refs/tags/{spelling}^{{commit}}"))? {
                return Ok(commit);
            }
        }
        Err(format!("git knows no tag `{name}` or `v{name}`"))
    }

    /// The commit `sha`.
    pub(super) fn commit(&mut self, file: &Path, sha: &str) -> Result<Commit, String> {
        self.ask(file, &format!("{sha}^{{commit}}"))?
            .ok_or_else(|| format!("git does not know the commit {sha}"))
    }

    /// The commit that `revision` names, if it names one.
    fn ask(&mut self, file: &Path, revision: &str) -> Result<Option<Commit>, String> {
        let beside = || match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let folder = self.folder.clone().unwrap_or_else(beside);
        let checkout = self.checkouts.entry(folder.clone());
        checkout
            .or_insert_with_key(|folder| git::checkout(folder))
            .clone()?;
        let answer = self.answers.entry((folder, revision.to_owned()));
        let answer =
            answer.or_insert_with_key(|(folder, revision)| git::commit(folder, revision).ok());
        Ok(answer.clone())
    }
}
