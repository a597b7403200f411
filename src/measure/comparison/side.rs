//! A side that can be run.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::judge::comparison::record::SideInfo;

/// A side, and what is known of it.
#[derive(Clone, Debug)]
pub struct Side {
    /// What goes into the record.
    pub info: SideInfo,
    /// What is run.
    pub source: Source,
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A folder with a checkout or a build.
    Folder(PathBuf),
    /// A command line.
    Command(String),
    /// A container image.
    Image(String),
    /// A commit, to be checked out and built.
    Commit {
        /// The repository that has it.
        repository: PathBuf,
        /// Its full name.
        commit: String,
    },
}

impl Side {
    /// Where its command lines are run, if it has a folder.
    pub(super) fn folder(&self) -> Option<&PathBuf> {
        match &self.source {
            Source::Folder(folder) => Some(folder),
            _ => None,
        }
    }

    /// The variables that tell its command lines what it is.
    pub(super) fn variables(&self) -> Vec<(String, OsString)> {
        let variable = match &self.source {
            Source::Folder(folder) => ("COMPARE_FOLDER", folder.clone().into_os_string()),
            Source::Command(line) => ("COMPARE_COMMAND", line.into()),
            Source::Image(image) => ("COMPARE_IMAGE", image.into()),
            Source::Commit { .. } => return Vec::new(),
        };
        vec![(variable.0.to_owned(), variable.1)]
    }
}
