//! `perf-tracking compare calibrate`: budgets for a contract, from a build that is both sides.

use std::path::PathBuf;

use clap::Args;

use super::run::{Running, setting};
use super::{DEFAULT_CONTRACT, read_contract, read_record, record_path, sides, stages};
use crate::commands::{Outcome, print};
use crate::judge::comparison::calibration::propose;
use crate::measure::contract::Engine;
use crate::report::comparison as report;

/// Propose budgets, by comparing a build with itself
///
/// Runs the same build as both sides, and proposes for each metric a floor and a variance budget: a
/// quarter more than the largest spread of a side, rounded up to a multiple of 5 %. Says how often
/// the proposed rule would have raised a false alarm, over all ways to split the trials into sides.
#[derive(Args, Debug)]
pub(in crate::commands) struct CalibrateArgs {
    /// A record of a build compared with itself, or its folder; nothing is run then
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["side", "output"])]
    record: Option<PathBuf>,
    /// The build: folder:PATH, command:LINE or image:NAME
    #[arg(
        long,
        value_name = "SIDE",
        required_unless_present = "record",
        requires = "output"
    )]
    side: Option<String>,
    /// File with the contract
    #[arg(long, value_name = "FILE", default_value = DEFAULT_CONTRACT)]
    contract: PathBuf,
    /// A new folder for all files
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The container engine; the first that answers where left out
    #[arg(long, value_name = "NAME", value_enum)]
    engine: Option<Engine>,
    /// A setting for the record; repeatable
    #[arg(long = "setting", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
}

impl CalibrateArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let read = read_contract(&self.contract)?;
        let path = match (&self.record, &self.side, &self.output) {
            (Some(record), ..) => record_path(record),
            (None, Some(side), Some(output)) => {
                let side = sides::of_text(side)?;
                let run = Running {
                    read: &read,
                    path: &self.contract,
                    output,
                    engine: self.engine,
                    settings: self.settings.into_iter().collect(),
                };
                let layout = run.trials(side.clone(), side)?;
                stages::assemble(&layout)?;
                layout.record()
            }
            _ => anyhow::bail!("--side and --output are missing"),
        };
        let record = read_record(&path)?;
        record.check(&read.contract, &read.sha)?;
        let proposals = propose(&record, &read.contract);
        print(&report::calibration(&proposals))
    }
}
