//! `perf-tracking compare check`.

use std::path::PathBuf;

use clap::Args;

use super::{DEFAULT_CONTRACT, read_contract};
use crate::collect::plural;
use crate::commands::{Outcome, print};

/// Check a contract, and print its SHA-256
///
/// Every fault is told with its line and column, and a key that is not known is one.
#[derive(Args, Debug)]
pub(in crate::commands) struct CheckArgs {
    /// File with the contract
    #[arg(value_name = "FILE", default_value = DEFAULT_CONTRACT)]
    file: PathBuf,
}

impl CheckArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let read = read_contract(&self.file)?;
        let contract = &read.contract;
        print(&format!(
            "{}  {}\n{}: {}, {}, {}\n",
            read.sha,
            self.file.display(),
            contract.name,
            plural(contract.cells.len(), "cell"),
            plural(contract.rounds as usize, "round"),
            plural(contract.trials(), "trial"),
        ))
    }
}
