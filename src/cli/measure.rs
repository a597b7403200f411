//! `perf-tracking measure`: runs a program where its work is counted, and makes a document of it.

mod contract;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::Outcome;
use super::about::AboutArgs;
use crate::domain::HostClass;
use crate::measure::contract::Engine;

/// Run a program where its work is counted, and write the document
#[derive(Args, Debug)]
pub(super) struct MeasureArgs {
    /// Where the document goes, whole or not at all
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Measure a server under a load, as this contract says, instead of a program
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "A server under a load",
        conflicts_with_all = ["workload", "arch", "distro", "parameters", "host_class", "program"]
    )]
    contract: Option<PathBuf>,
    /// The container engine, docker or podman; the contract's, or the first that answers where left out
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "A server under a load",
        requires = "contract",
        value_parser = engine
    )]
    engine: Option<Engine>,

    // A contract has all of it.
    #[command(flatten)]
    about: Option<AboutArgs>,
    /// The kind of host: callgrind for a simulated processor
    #[arg(long, value_name = "NAME", default_value = "callgrind")]
    host_class: HostClass,

    /// The program and its arguments
    #[arg(
        value_name = "PROGRAM",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    program: Vec<OsString>,
}

impl MeasureArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        if let Some(contract) = &self.contract {
            return contract::run(contract, self.engine, &self.output);
        }
        anyhow::bail!("{:?} cannot be measured yet", self.program)
    }
}

fn engine(text: &str) -> Result<Engine, String> {
    let found = Engine::ALL
        .into_iter()
        .find(|engine| engine.command() == text);
    found.ok_or_else(|| "must be docker or podman".to_owned())
}
