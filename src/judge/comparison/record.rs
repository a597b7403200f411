//! The record of a comparison: every trial of both sides, and all that a reader needs to know of
//! where they were run. It holds no verdict.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::contract::{CellName, Contract, Interleave, Mode, Sha, own_metrics};
use super::quantity::Quantity;

/// The format that is written, and the only one that is read.
pub const FORMAT_VERSION: u32 = 1;

/// Everything that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The format; another one is refused.
    #[schema(minimum = 1, maximum = 1)]
    pub format_version: u32,
    /// The contract that was written down before the first trial.
    pub contract: ContractId,
    /// What a difference in performance means.
    pub mode: Mode,
    /// How many rounds the contract asks for.
    #[schema(minimum = 3, maximum = 1000)]
    pub rounds: u32,
    /// What alternates between the sides.
    pub interleave: Interleave,
    /// What is compared with what.
    pub sides: Sides,
    /// Where it was run.
    pub host: Host,
    /// What ran it, when, and every setting that is not in the contract.
    pub provenance: Provenance,
    /// Every trial, in the order in which they were run.
    pub trials: Vec<Trial>,
    /// The SHA-256 of all of the above. A record that was edited by hand no longer has it.
    pub seal: Sha,
}

/// Which contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ContractId {
    /// Its name, with its version.
    pub name: String,
    /// The SHA-256 of its file.
    pub sha256: Sha,
}

/// Both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Sides {
    /// What the candidate is held against.
    pub reference: SideInfo,
    /// What is judged.
    pub candidate: SideInfo,
}

/// Which of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SideName {
    /// What the candidate is held against.
    Reference,
    /// What is judged.
    Candidate,
}

impl SideName {
    /// Both, the reference first.
    pub const BOTH: [Self; 2] = [Self::Reference, Self::Candidate];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Candidate => "candidate",
        }
    }

    /// The order of a round: odd ones start with the reference.
    pub fn order(round: u32) -> [Self; 2] {
        match round % 2 {
            1 => Self::BOTH,
            _ => [Self::Candidate, Self::Reference],
        }
    }
}

impl std::fmt::Display for SideName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A build that is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SideInfo {
    /// What people call it.
    pub label: String,
    /// What it is.
    pub kind: SideKind,
    /// The folder, the command line or the image, as it was given.
    pub source: String,
    /// The revision that it was built from, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The digest of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_digest: Option<String>,
}

/// What a side is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SideKind {
    /// A checkout or a build.
    Folder,
    /// A command line.
    Command,
    /// A container image.
    Image,
    /// A commit, checked out and built for this comparison.
    Commit,
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The model of the processor.
    pub cpu_model: String,
    /// The logical processors that this process may use.
    pub logical_cpus: u32,
    /// The memory.
    pub memory_bytes: u64,
    /// The free space where the trials are written.
    pub free_disk_bytes: u64,
    /// The kernel, with its version.
    pub kernel: String,
    /// The clock ticks of a second, which processor times are counted in.
    pub clock_ticks: u64,
}

/// What ran the comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The program and its version.
    pub tool: String,
    /// When it began (RFC 3339).
    pub started: String,
    /// Every setting that is not in the contract.
    pub settings: BTreeMap<String, String>,
}

/// One run of a cell on one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Which cell.
    pub cell: CellName,
    /// In which round, from 1.
    #[schema(minimum = 1)]
    pub round: u32,
    /// On which side.
    pub side: SideName,
    /// The how manieth trial of the run it was, from 1.
    #[schema(minimum = 1)]
    pub position: u32,
    /// Why there is nothing to read, where the runner could not finish it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// How the cell's program ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What it counted.
    pub counts: BTreeMap<String, Quantity>,
    /// What it measured.
    pub metrics: BTreeMap<String, Quantity>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_seconds: Option<Quantity>,
    /// The processor time of the subject, or of the program where there is no subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<Quantity>,
    /// The same, for each unit that the contract counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds_per_unit: Option<Quantity>,
    /// The peak of its memory: the sum over its processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<Quantity>,
    /// The processes of the subject before the trial.
    pub processes_before: Vec<Process>,
    /// The processes of the subject after the trial.
    pub processes_after: Vec<Process>,
    /// The last lines that the program printed.
    pub output: Vec<String>,
}

impl Trial {
    /// All its numbers by name, those of the runner among them.
    pub fn numbers(&self) -> BTreeMap<&str, f64> {
        let measured = self
            .metrics
            .iter()
            .map(|(name, value)| (name.as_str(), *value));
        let own = [
            (own_metrics::WALL_SECONDS, self.wall_seconds),
            (own_metrics::CPU_SECONDS, self.cpu_seconds),
            (own_metrics::CPU_SECONDS_PER_UNIT, self.cpu_seconds_per_unit),
            (own_metrics::PEAK_MEMORY_BYTES, self.peak_memory_bytes),
        ];
        let own = own
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        measured
            .chain(own)
            .map(|(name, value)| (name, value.get()))
            .collect()
    }

    /// What it counted or measured under this name.
    pub fn count(&self, name: &str) -> Option<Quantity> {
        self.counts
            .get(name)
            .or_else(|| self.metrics.get(name))
            .copied()
    }
}

/// A process of the subject, which its number and its start time tell from every other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since the machine did.
    pub started: u64,
    /// The name of its program.
    pub name: String,
}

/// Why a record cannot be judged at all.
#[derive(Debug, thiserror::Error)]
pub enum RecordFault {
    /// It is no JSON, or other JSON.
    #[error("it is no record of a comparison: {0}")]
    Json(#[from] serde_json::Error),
    /// It has a format of a later version.
    #[error("it has format {0}, and format {FORMAT_VERSION} is read; use a newer perf-tracking")]
    Format(u32),
    /// Its seal is not that of its content.
    #[error(
        "it was changed after it was assembled: its seal is {sealed}, and its content has \
         {content}; `perf-tracking compare assemble` makes it anew from the trials"
    )]
    Seal {
        /// What it says.
        sealed: Sha,
        /// What it has.
        content: Sha,
    },
    /// It was made under another contract.
    #[error(
        "it was run under a contract with the SHA-256 {recorded}, and the contract that it is \
         judged by has {given}; a budget that changed after the run needs a new run"
    )]
    OtherContract {
        /// That of the record.
        recorded: Sha,
        /// That of the contract.
        given: Sha,
    },
    /// A trial that the contract does not have.
    #[error("the trial at position {0} is none of the contract: {1}")]
    Trial(u32, String),
    /// What it says of the contract is not so.
    #[error("its {0} is not the contract's")]
    Differs(&'static str),
}

impl Record {
    /// Reads a record, and checks its seal.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(text: &str) -> Result<Self, RecordFault> {
        let record: Self = serde_json::from_str(text)?;
        if record.format_version != FORMAT_VERSION {
            return Err(RecordFault::Format(record.format_version));
        }
        let content = record.content_sha()?;
        if content != record.seal {
            return Err(RecordFault::Seal {
                sealed: record.seal,
                content,
            });
        }
        Ok(record)
    }

    /// The record with its trials in the order of their positions, and its seal.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn sealed(mut self) -> Result<Self, serde_json::Error> {
        self.trials.sort_by_key(|trial| trial.position);
        self.seal = self.content_sha()?;
        Ok(self)
    }

    /// Its text; equal records have equal texts.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    fn content_sha(&self) -> Result<Sha, serde_json::Error> {
        let mut content = self.clone();
        content.seal = Sha::of(b"");
        Ok(Sha::of(&serde_json::to_vec(&content)?))
    }

    /// Whether it is a record of this contract.
    ///
    /// # Errors
    /// Why it is not.
    pub fn check(&self, contract: &Contract, sha: &Sha) -> Result<(), RecordFault> {
        if self.contract.sha256 != *sha {
            return Err(RecordFault::OtherContract {
                recorded: self.contract.sha256.clone(),
                given: sha.clone(),
            });
        }
        if self.contract.name != contract.name {
            return Err(RecordFault::Differs("contract's name"));
        }
        if self.mode != contract.mode {
            return Err(RecordFault::Differs("mode"));
        }
        if self.rounds != contract.rounds {
            return Err(RecordFault::Differs("number of rounds"));
        }
        if self.interleave != contract.interleave {
            return Err(RecordFault::Differs("interleaving"));
        }
        self.check_trials(contract)
    }

    fn check_trials(&self, contract: &Contract) -> Result<(), RecordFault> {
        let (mut seen, mut positions) = (BTreeSet::new(), BTreeSet::new());
        for trial in &self.trials {
            let fault = |what: String| Err(RecordFault::Trial(trial.position, what));
            if !contract.cells.iter().any(|cell| cell.name == trial.cell) {
                return fault(format!("it has no cell `{}`", trial.cell));
            }
            if !(1..=contract.rounds).contains(&trial.round) {
                return fault(format!("it has {} rounds", contract.rounds));
            }
            if !positions.insert(trial.position) {
                return fault("another trial has this position".to_owned());
            }
            if !seen.insert((&trial.cell, trial.round, trial.side)) {
                return fault(format!(
                    "the {} ran `{}` twice in round {}",
                    trial.side, trial.cell, trial.round
                ));
            }
        }
        Ok(())
    }
}

impl Record {
    /// The values of one metric of a cell on one side, each with its round.
    pub fn points(&self, cell: &CellName, metric: &str, side: SideName) -> Vec<(u32, f64)> {
        let is_it = |trial: &&Trial| trial.cell == *cell && trial.side == side;
        let trials = self.trials.iter().filter(is_it);
        let mut points: Vec<(u32, f64)> = trials
            .filter_map(|trial| Some((trial.round, *trial.numbers().get(metric)?)))
            .collect();
        points.sort_by_key(|(round, _)| *round);
        points
    }
}

impl Sides {
    /// One of them.
    pub fn get(&self, side: SideName) -> &SideInfo {
        match side {
            SideName::Reference => &self.reference,
            SideName::Candidate => &self.candidate,
        }
    }
}
