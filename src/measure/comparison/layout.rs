//! Where the files of a comparison are.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::judge::comparison::record::{Host, Provenance, SideName, Sides};
use crate::judge::comparison::{CellName, Sha};

/// The folder of a comparison.
#[derive(Clone, Debug)]
pub struct Layout {
    folder: PathBuf,
}

/// Why a folder cannot be one of a comparison.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// It has files already.
    #[error("`{}` is not empty; name a new folder, for a comparison never adds to another", .0.display())]
    NotEmpty(PathBuf),
    /// A file cannot be read or written.
    #[error("`{}` cannot be {done}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What was tried.
        done: &'static str,
        /// Why not.
        error: io::Error,
    },
}

/// Where the numbers come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// What is compared with what.
    pub sides: Sides,
    /// The machine.
    pub host: Host,
    /// What ran it, and how.
    pub provenance: Provenance,
}

impl Layout {
    /// The comparison in `folder`.
    pub fn of(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Makes the folder, and writes the contract's digest into it before anything else. All of it
    /// is on the disk when this returns.
    ///
    /// # Errors
    /// That there are files already, or that it cannot be written.
    pub fn begin(folder: &Path, contract: &str) -> Result<Self, LayoutError> {
        let failed = |error| LayoutError::File {
            path: folder.to_owned(),
            done: "made",
            error,
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let is_used = folder.read_dir().map_err(failed)?.next().is_some();
        if is_used {
            return Err(LayoutError::NotEmpty(folder.to_owned()));
        }
        // The sides are run in other folders.
        let layout = Self::of(&folder.canonicalize().map_err(failed)?);
        let digest = format!("{}  contract.toml\n", Sha::of(contract.as_bytes()));
        write_synced(&layout.digest(), digest.as_bytes())?;
        write_synced(&layout.contract(), contract.as_bytes())?;
        File::open(&layout.folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed)?;
        Ok(layout)
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The contract's digest, as `sha256sum` writes it.
    pub fn digest(&self) -> PathBuf {
        self.folder.join("contract.sha256")
    }

    /// The copy of the contract.
    pub fn contract(&self) -> PathBuf {
        self.folder.join("contract.toml")
    }

    /// Both sides, the host and the settings.
    pub fn origin(&self) -> PathBuf {
        self.folder.join("provenance.json")
    }

    /// The record.
    pub fn record(&self) -> PathBuf {
        self.folder.join("record.json")
    }

    /// The verdict.
    pub fn verdict(&self) -> PathBuf {
        self.folder.join("verdict.json")
    }

    /// The report in Markdown.
    pub fn markdown(&self) -> PathBuf {
        self.folder.join("report.md")
    }

    /// The report as a page.
    pub fn html(&self) -> PathBuf {
        self.folder.join("report.html")
    }

    pub(super) fn trials(&self) -> PathBuf {
        self.folder.join("trials")
    }

    pub(super) fn trial(&self, round: u32, side: SideName, cell: &CellName) -> PathBuf {
        self.trials()
            .join(format!("round-{round:03}"))
            .join(side.as_str())
            .join(cell.as_str())
    }

    /// What a subject printed. A side that stays up through all rounds has one log.
    pub(super) fn subject_log(&self, round: Option<u32>, side: SideName) -> PathBuf {
        let name = match round {
            Some(round) => format!("round-{round:03}-{side}.log"),
            None => format!("{side}.log"),
        };
        self.folder.join("subjects").join(name)
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), LayoutError> {
    let write = || {
        let mut file = File::create_new(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| LayoutError::File {
        path: path.to_owned(),
        done: "written",
        error,
    })
}
