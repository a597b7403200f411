//! `perf-tracking compare init`.

use std::path::PathBuf;

use clap::Args;

use super::DEFAULT_CONTRACT;
use crate::commands::{Outcome, template};
use crate::judge::comparison::contract::DEFAULT_TEXT;

/// Write a contract, with what each key means
///
/// A file that is there already is left as it is, and the exit code is 2.
#[derive(Args, Debug)]
pub(in crate::commands) struct InitArgs {
    /// File to write; `-` is standard output
    #[arg(value_name = "FILE", default_value = DEFAULT_CONTRACT)]
    file: PathBuf,
}

impl InitArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        template::write(&self.file, DEFAULT_TEXT)
    }
}
