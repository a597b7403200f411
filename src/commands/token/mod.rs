//! `perf-tracking token`: makes tokens, and shows what one says.

mod inspect;
mod issue;

use clap::Subcommand;

use super::Outcome;

/// Make a token for a job, or see what one says
#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    // What `--help` says of each stands at its flags.
    Issue(issue::IssueArgs),
    Inspect(inspect::InspectArgs),
}

impl TokenCommand {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::Issue(args) => issue::run(args),
            Self::Inspect(args) => inspect::run(args),
        }
    }
}
