//! A record out of the files that a run left.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::layout::{Layout, Origin};
use crate::judge::comparison::record::{ContractId, FORMAT_VERSION};
use crate::judge::comparison::{Contract, Record, Sha, Trial};

/// Why the files make no record.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    /// A file cannot be read.
    #[error("`{}` cannot be read: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A file holds something else.
    #[error("`{}` is not as `compare run` left it: {error}", path.display())]
    Json {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// The digest file holds no digest.
    #[error("`{}` holds no SHA-256 as its first word", .0.display())]
    NoDigest(PathBuf),
    /// The copy of the contract is not the one whose digest was written.
    #[error(
        "`{}` has the SHA-256 {found}, and {written} was written before the first trial; the \
         contract was changed after the run, so run the comparison again", path.display()
    )]
    OtherContract {
        /// The copy.
        path: PathBuf,
        /// What it has.
        found: Sha,
        /// What was written.
        written: Sha,
    },
    /// The copy of the contract is no contract.
    #[error("`{}` is no contract:\n  {faults}", path.display())]
    Contract {
        /// The copy.
        path: PathBuf,
        /// Its faults.
        faults: String,
    },
    /// A trial lies in the folder of another.
    #[error("`{}` is of another trial than its folder says", .0.display())]
    Misplaced(PathBuf),
    /// The record cannot be written as JSON.
    #[error("the record cannot be written: {0}")]
    Write(serde_json::Error),
}

/// The record of the comparison in a folder. The same files make the same record anywhere.
///
/// # Errors
/// Why they make none. A trial that is missing is no error here: the judge rejects it.
pub fn assemble(layout: &Layout) -> Result<(Record, Contract), AssembleError> {
    let text = read(&layout.contract())?;
    let sha = checked_digest(layout, &text)?;
    let contract = Contract::parse(&text).map_err(|faults| AssembleError::Contract {
        path: layout.contract(),
        faults: faults.lines().collect::<Vec<_>>().join("\n  "),
    })?;
    let origin: Origin = json(&layout.origin())?;
    let record = Record {
        format_version: FORMAT_VERSION,
        contract: ContractId {
            name: contract.name.clone(),
            sha256: sha,
        },
        mode: contract.mode,
        rounds: contract.rounds,
        interleave: contract.interleave,
        sides: origin.sides,
        host: origin.host,
        provenance: origin.provenance,
        trials: trials(layout)?,
        seal: Sha::of(b""),
    };
    let record = record.sealed().map_err(AssembleError::Write)?;
    Ok((record, contract))
}

fn checked_digest(layout: &Layout, contract: &str) -> Result<Sha, AssembleError> {
    let path = layout.digest();
    let text = read(&path)?;
    let word = text.split_whitespace().next().unwrap_or_default();
    let written: Sha = word.parse().map_err(|_| AssembleError::NoDigest(path))?;
    let found = Sha::of(contract.as_bytes());
    if found != written {
        return Err(AssembleError::OtherContract {
            path: layout.contract(),
            found,
            written,
        });
    }
    Ok(written)
}

/// Every trial that is there.
fn trials(layout: &Layout) -> Result<Vec<Trial>, AssembleError> {
    let mut trials = Vec::new();
    for entry in walkdir::WalkDir::new(layout.trials())
        .min_depth(4)
        .max_depth(4)
    {
        let Ok(entry) = entry else { continue };
        if entry.file_name() != "trial.json" {
            continue;
        }
        let trial: Trial = json(entry.path())?;
        let folder = layout.trial(trial.round, trial.side, &trial.cell);
        if entry.path().parent() != Some(folder.as_path()) {
            return Err(AssembleError::Misplaced(entry.path().to_owned()));
        }
        trials.push(trial);
    }
    Ok(trials)
}

fn read(path: &Path) -> Result<String, AssembleError> {
    fs::read_to_string(path).map_err(|error| AssembleError::File {
        path: path.to_owned(),
        error,
    })
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, AssembleError> {
    serde_json::from_str(&read(path)?).map_err(|error| AssembleError::Json {
        path: path.to_owned(),
        error,
    })
}
