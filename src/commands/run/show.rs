//! `perf-tracking run show`: one run whole.

use clap::Args;

use crate::commands::flags::ClientArgs;
use crate::commands::{Outcome, client, print};
use crate::report::runs::whole;

/// Show one run with all its metrics, who uploaded it, and whether it was voided
#[derive(Args, Debug)]
pub(in crate::commands) struct ShowArgs {
    /// Id of the run, as `runs`, `history` and `upload` print it
    #[arg(value_name = "ID", value_parser = clap::value_parser!(i64).range(1..))]
    id: i64,

    /// Print the service's answer as it came
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    client: ClientArgs,
}

pub(super) fn run(args: ShowArgs) -> anyhow::Result<Outcome> {
    let client = client::open(args.client)?;
    let answer = crate::commands::runtime()?.block_on(client.run(args.id))?;
    match args.json {
        true => print(&format!("{}\n", answer.text.trim_end())),
        false => print(&whole(&answer.content)),
    }
}
