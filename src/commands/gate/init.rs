//! `perf-tracking gate init`.

use std::path::PathBuf;

use clap::Args;

use super::DEFAULT_CONFIG;
use crate::commands::{Outcome, template};
use crate::judge::config::DEFAULT_TEXT;

/// Write the default rules, with what they mean
///
/// A file that is there already is left as it is, and the exit code is 2.
#[derive(Args, Debug)]
pub(super) struct InitArgs {
    /// File to write; `-` is standard output
    #[arg(value_name = "FILE", default_value = DEFAULT_CONFIG)]
    file: PathBuf,
}

impl InitArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        template::write(&self.file, DEFAULT_TEXT)
    }
}
