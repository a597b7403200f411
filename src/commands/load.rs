//! `perf-tracking load`: the runner's side in the load generator's image. No person calls it.

use clap::Subcommand;

use super::Outcome;
use crate::measure::contract;
use crate::signals::Signals;
use crate::terminal::note;

/// What the load generator's image runs.
#[derive(Debug, Subcommand)]
pub(super) enum LoadCommand {
    /// Wait until the container is stopped; `perf-tracking measure` runs the load in it
    Wait,
    /// Say whether a server greets as MySQL's protocol wants it
    Ready {
        /// The server
        #[arg(value_name = "HOST:PORT")]
        address: String,
    },
}

impl LoadCommand {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        match self {
            Self::Wait => super::runtime()?.block_on(wait()),
            Self::Ready { address } => {
                contract::greets(address)?;
                Ok(Outcome::Passed)
            }
        }
    }
}

/// The first process of a container hears a signal only if it asks for it.
async fn wait() -> anyhow::Result<Outcome> {
    let mut signals = Signals::take()?;
    note("waiting for `perf-tracking measure --contract` to run the load here");
    signals.next().await;
    Ok(Outcome::Passed)
}
