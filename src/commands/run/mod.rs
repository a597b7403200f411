//! `perf-tracking run`: one run, or runs that are taken back.

mod show;
mod void;

use clap::Subcommand;

use super::Outcome;

/// What is done with a run.
#[derive(Debug, Subcommand)]
pub(super) enum RunCommand {
    Show(show::ShowArgs),
    Void(void::VoidArgs),
}

impl RunCommand {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::Show(args) => show::run(args),
            Self::Void(args) => void::run(args),
        }
    }
}
