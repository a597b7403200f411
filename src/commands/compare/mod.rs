//! `perf-tracking compare`: two builds side by side under a contract.

mod calibrate;
mod check;
mod hold;
mod init;
mod progress;
mod run;
mod sides;
mod stages;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Subcommand, ValueEnum};

use super::{Outcome, print};
use crate::files::input::{Input, MAX_RUN_BYTES, lines};
use crate::judge::comparison::verdict::ResultKind;
use crate::judge::comparison::{Contract, Record, Sha, schema};
use crate::terminal::shown;

const DEFAULT_CONTRACT: &str = "compare.toml";

const EXAMPLES: &str = "\
Exit codes:
  0  within budget, or the contract gates no performance
  1  a metric is worse than its budget allows
  2  wrong use, a file that was changed, or something broke
  3  inconclusive or rejected: trials that vary too much, wrong counts, missing trials

Examples:
  Once, and then commit it:
    perf-tracking compare init

  Two builds in folders of their own:
    perf-tracking compare run --reference build-main --candidate build-change --output comparison

  Two commits, each built as the contract says:
    perf-tracking compare run --reference-commit main --candidate-commit HEAD --output comparison

  The same files on another machine, stage by stage:
    perf-tracking compare assemble comparison
    perf-tracking compare judge comparison --contract compare.toml
    perf-tracking compare report comparison";

/// Compare two builds on a real clock, under a contract that was committed before
///
/// Runs a reference and a candidate in turn, keeps every trial, and judges the candidate by the
/// contract's budgets. `run` goes through all stages. Each of `assemble`, `judge` and `report` can
/// be repeated from the files of the stage before it, on any machine, with the same result.
#[derive(Debug, Subcommand)]
#[command(after_long_help = EXAMPLES)]
pub(super) enum CompareCommand {
    Init(init::InitArgs),
    Check(check::CheckArgs),
    Run(Box<run::RunArgs>),
    Assemble(stages::AssembleArgs),
    Judge(stages::JudgeArgs),
    Report(stages::ReportArgs),
    Calibrate(Box<calibrate::CalibrateArgs>),
    /// Print the JSON schema of a record or of a verdict
    Schema {
        /// Which file
        #[arg(value_enum)]
        of: SchemaOf,
    },
    #[command(hide = true)]
    Hold(hold::HoldArgs),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum SchemaOf {
    /// record.json
    Record,
    /// verdict.json
    Verdict,
}

impl CompareCommand {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::Init(args) => args.run(),
            Self::Check(args) => args.run(),
            Self::Run(args) => args.run(),
            Self::Assemble(args) => args.run(),
            Self::Judge(args) => args.run(),
            Self::Report(args) => args.run(),
            Self::Calibrate(args) => args.run(),
            Self::Schema { of } => {
                let schema = match of {
                    SchemaOf::Record => schema::record(),
                    SchemaOf::Verdict => schema::verdict(),
                };
                print(&(serde_json::to_string_pretty(&schema?)? + "\n"))
            }
            Self::Hold(args) => args.run(),
        }
    }
}

/// What a verdict is to the shell.
fn outcome(result: ResultKind) -> Outcome {
    match result {
        ResultKind::WithinBudget | ResultKind::Different => Outcome::Passed,
        ResultKind::Regressed => Outcome::Regression,
        ResultKind::Inconclusive | ResultKind::Rejected => Outcome::Undecided,
    }
}

/// A contract, and the text that it was read from.
struct Read {
    contract: Contract,
    text: String,
    sha: Sha,
}

fn read_contract(path: &Path) -> anyhow::Result<Read> {
    let shown = shown::path(path);
    let text = Input::of(path).text(MAX_RUN_BYTES).with_context(|| {
        format!("cannot read the contract in {shown}; `perf-tracking compare init` writes one")
    })?;
    let contract = Contract::parse(&text).map_err(|faults| {
        let faults = faults.lines();
        let faults = faults.map(|fault| format!("{}:{fault}", path.display()));
        anyhow::anyhow!("{shown} is no contract of a comparison{}", lines(faults))
    })?;
    Ok(Read {
        contract,
        sha: Sha::of(text.as_bytes()),
        text,
    })
}

/// Far more than the largest record has.
const MAX_RECORD_BYTES: usize = 256 << 20;

fn read_record(path: &Path) -> anyhow::Result<Record> {
    let shown = shown::path(path);
    let text = Input::of(path)
        .text(MAX_RECORD_BYTES)
        .with_context(|| format!("cannot read the record in {shown}"))?;
    Record::parse(&text).with_context(|| format!("{shown} cannot be judged"))
}

/// The record that an argument names: a file, or the folder of a comparison.
fn record_path(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => path.join("record.json"),
        false => path.to_owned(),
    }
}
