//! The contract of a comparison: what is run, what must come out right, and what may change.
//!
//! It is a committed file, and its SHA-256 is written before the first trial, so that no budget
//! can be chosen after the numbers are known. `contract.default.toml` beside this file explains
//! every key.

mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::quantity::Quantity;
use crate::judge::{Fraction, Worse};
use crate::read::{Faults, parse_toml};

/// What `compare init` writes: a contract that works, with what each key means.
pub const DEFAULT_TEXT: &str = include_str!("contract.default.toml");

/// With fewer rounds, the spread of a side says nothing.
pub const FEWEST_ROUNDS: u32 = 3;
/// More than anyone waits for.
pub const MOST_ROUNDS: u32 = 1000;

/// Names that the runner gives to what it measures itself.
pub mod own_metrics {
    /// The time that the cell's program took.
    pub const WALL_SECONDS: &str = "wall_seconds";
    /// The processor time of the subject, or of the program where there is no subject.
    pub const CPU_SECONDS: &str = "cpu_seconds";
    /// The same, for each acknowledged unit.
    pub const CPU_SECONDS_PER_UNIT: &str = "cpu_seconds_per_unit";
    /// The sum of the peaks of the processes' memory.
    pub const PEAK_MEMORY_BYTES: &str = "peak_memory_bytes";

    /// All of them.
    pub const ALL: [&str; 4] = [
        WALL_SECONDS,
        CPU_SECONDS,
        CPU_SECONDS_PER_UNIT,
        PEAK_MEMORY_BYTES,
    ];
}

/// All that a comparison is held to.
#[derive(Clone, Debug, PartialEq)]
pub struct Contract {
    /// What it is called, with its version: `broker-v3`.
    pub name: String,
    /// Whether a worse performance rejects.
    pub mode: Mode,
    /// How often each side runs each cell.
    pub rounds: u32,
    /// What alternates.
    pub interleave: Interleave,
    /// How a checkout of a commit is built.
    pub build: Option<Build>,
    /// The server under test; without one, the side's program is run itself.
    pub subject: Option<Subject>,
    /// What is run, in this order.
    pub cells: Vec<Cell>,
}

/// What a difference in performance means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It rejects the candidate.
    Regression,
    /// It is shown.
    Difference,
}

/// What alternates between the sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Interleave {
    /// Each side is started afresh in each round, and runs all cells.
    Round,
    /// Both sides stay up, and take turns trial by trial.
    Trial,
}

/// How a checkout of a commit is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// A command line for `sh`, run in the checkout.
    pub command: String,
    /// How long it may take.
    pub limit: Duration,
}

/// A server under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// How it is brought up.
    pub start: Start,
    /// A command line that succeeds once the subject is ready.
    pub ready: String,
    /// How long it may take until then.
    pub ready_limit: Duration,
    /// A command line that is run once after each start.
    pub setup: Option<String>,
    /// How long that may take.
    pub setup_limit: Duration,
    /// How long it may take to stop after SIGTERM.
    pub stop_limit: Duration,
}

/// How a subject is brought up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// A command line that runs until it is told to stop.
    Command(String),
    /// A project of compose.
    Compose {
        /// The compose file, as seen from the contract.
        file: String,
        /// The service whose processes are measured.
        service: String,
        /// The service that the contract's command lines are run in; this machine without one.
        load_service: Option<String>,
    },
}

/// A workload that both sides run.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its name.
    pub name: CellName,
    /// A command line for `sh`; the side's own where there is none.
    pub command: Option<String>,
    /// Which tool's report it prints; its own trial in JSON where there is none.
    pub collect: Option<Collector>,
    /// How long a trial may take.
    pub limit: Duration,
    /// The count of what was acknowledged, for the processor time of each.
    pub units: Option<String>,
    /// Counts that must come out as said.
    pub expect: BTreeMap<String, Quantity>,
    /// What is judged.
    pub metrics: Vec<MetricRule>,
}

/// A tool whose report is read for the trial's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Collector {
    /// `go test -bench`
    GoBench,
    /// Google Benchmark's JSON
    GoogleBenchmark,
    /// hyperfine's JSON
    Hyperfine,
    /// JMH's JSON
    Jmh,
    /// locust's statistics as CSV
    Locust,
    /// pytest-benchmark's JSON
    PytestBenchmark,
    /// sysbench 1.0
    Sysbench,
    /// Names and values
    Values,
}

impl Collector {
    /// Every one, with its name in a contract.
    pub const ALL: [(&'static str, Self); 8] = [
        ("go-bench", Self::GoBench),
        ("google-benchmark", Self::GoogleBenchmark),
        ("hyperfine", Self::Hyperfine),
        ("jmh", Self::Jmh),
        ("locust", Self::Locust),
        ("pytest-benchmark", Self::PytestBenchmark),
        ("sysbench", Self::Sysbench),
        ("values", Self::Values),
    ];
}

/// What one metric is held to.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricRule {
    /// Its name.
    pub name: String,
    /// Which direction is the bad one.
    pub worse: Worse,
    /// How it is judged.
    pub rule: Rule,
}

/// How a metric is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The change of the medians against a floor and the spread.
    Budget {
        /// The change that matters.
        floor: Fraction,
        /// The largest spread that can be judged.
        variance: Fraction,
    },
    /// The difference of the medians against what chance would give.
    Randomization {
        /// The change that matters.
        floor: Fraction,
        /// What an unstable metric comes to.
        unstable: OnUnstable,
    },
}

/// What an unstable metric comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUnstable {
    /// The comparison is inconclusive.
    Inconclusive,
    /// It is shown, and no more.
    Show,
}

/// The name of a cell, which is the name of a folder too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, pattern = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$")]
pub struct CellName(String);

impl CellName {
    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CellName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CellName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !starts_well || !text.chars().all(is_plain) || text.len() > 60 {
            return Err(
                "must be letters, digits, `-`, `_` and `.`, start with a letter or a digit, and \
                 have at most 60 of them"
                    .to_owned(),
            );
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for CellName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
            .map_err(|error| format!("the name of a cell {error}"))
    }
}

impl From<CellName> for String {
    fn from(name: CellName) -> Self {
        name.0
    }
}

/// The SHA-256 of a contract or of another file, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, pattern = "^[0-9a-f]{64}$")]
pub struct Sha(String);

impl Sha {
    /// That of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let digest = Sha256::digest(bytes);
        Self(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Sha {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 64 || !text.bytes().all(is_digit) {
            return Err("must be 64 hexadecimal digits, in lower case".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for Sha {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map_err(|error| format!("a SHA-256 {error}"))
    }
}

impl From<Sha> for String {
    fn from(sha: Sha) -> Self {
        sha.0
    }
}

impl Contract {
    /// Reads a contract.
    ///
    /// # Errors
    /// Every fault of the text at once, in the order of their places.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        parse_toml(text, read::contract)
    }

    /// The trials that a whole run has.
    pub fn trials(&self) -> usize {
        self.cells.len() * self.rounds as usize * 2
    }
}
