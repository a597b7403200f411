//! `perf-tracking compare hold`: the process between the runner and what it runs.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::commands::Outcome;
use crate::measure::comparison::hold::{self, Order};

/// Hold a program, and end all of it when the runner is gone
#[derive(Args, Debug)]
pub(in crate::commands) struct HoldArgs {
    #[arg(long)]
    grace_ms: u64,
    #[arg(long)]
    result: PathBuf,
    #[arg(long)]
    cleanup: Option<String>,
    script: String,
}

impl HoldArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let order = Order {
            script: self.script,
            cleanup: self.cleanup,
            grace: Duration::from_millis(self.grace_ms),
            result: self.result,
        };
        // One thread: a process for each program that is run should cost next to nothing.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(hold::hold(&order))?;
        Ok(Outcome::Passed)
    }
}
