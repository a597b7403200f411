//! The documents that a search has measured, kept in the git folder for the next one.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use crate::domain::Document;
use crate::files::input::Input;
use crate::files::whole_file;
use crate::provenance::checkout;
use crate::terminal::shown;

/// A folder with a document for each commit that one command has measured.
pub(super) struct Measured(PathBuf);

/// Characters of a folder's name.
const DIGITS: usize = 16;

impl Measured {
    /// The folder of this command. Another command measures something else, and has another one.
    pub(super) fn open(checkout: &Path, command: &str, document: &Path) -> anyhow::Result<Self> {
        let git = checkout::ask(checkout, &["rev-parse", "--git-common-dir"])
            .map_err(anyhow::Error::msg)?;
        let digest = Sha256::digest(format!("{command}\0{}", document.display()));
        let mut name = hex::encode(digest);
        name.truncate(DIGITS);
        let folder = checkout.join(git).join("perf-tracking/find").join(name);
        fs::create_dir_all(&folder)
            .with_context(|| format!("{} cannot be made", shown::path(&folder)))?;
        Ok(Self(folder))
    }

    /// What was measured of a commit. A file that cannot be read is measured again.
    pub(super) fn get(&self, commit: &str) -> Option<Document> {
        Input::file(&self.path(commit)).document().ok()
    }

    /// Keeps the document that stands in `from`, which fits.
    pub(super) fn keep(&self, commit: &str, from: &Path) -> anyhow::Result<Document> {
        let document = Input::file(from).document()?;
        let text = fs::read_to_string(from)?;
        whole_file::write(&self.path(commit), &text)?;
        Ok(document)
    }

    fn path(&self, commit: &str) -> PathBuf {
        self.0.join(format!("{commit}.json"))
    }
}
