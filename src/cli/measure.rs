//! `perf-tracking measure`: runs a program where its work is counted, and makes a document of it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::Outcome;
use super::about::AboutArgs;
use crate::domain::HostClass;

/// Run a program where its work is counted, and write the document
#[derive(Args, Debug)]
pub(super) struct MeasureArgs {
    /// Where the document goes, whole or not at all
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    about: AboutArgs,
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
        super::whole_file::check(&self.output)?;
        self.about.of(self.host_class)?;
        anyhow::bail!("{:?} cannot be measured yet", self.program)
    }
}
