//! `perf-tracking run void`: takes runs back.

use clap::Args;

use crate::api::{RunBody, VoidOutcome};
use crate::client::{Client, token_advice};
use crate::commands::cursors::{Cursors, Query, given};
use crate::commands::flags::ClientArgs;
use crate::commands::history::bound;
use crate::commands::{Outcome, client, print, runs};
use crate::domain::{Scope, VoidReason};
use crate::report::runs::{identity, table};
use crate::terminal::note;

/// Take a run back, or all runs that one token uploaded
///
/// A voided run stays, with who took it back, when and why. The gate, histories and lists leave it out
/// from then on, unless they are asked to include voided runs. A new upload of the same commit, series
/// and tag takes its place. Safe to repeat.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(in crate::commands) struct VoidArgs {
    /// Id of the run, as `runs`, `history` and `upload` print it
    #[arg(
        value_name = "ID",
        value_parser = clap::value_parser!(i64).range(1..),
        required_unless_present = "uploaded_by",
        conflicts_with_all = ["uploaded_by", "since"]
    )]
    id: Option<i64>,

    /// Why, in one line; it is kept with the run
    #[arg(long, value_name = "REASON", required_unless_present = "dry_run")]
    why: Option<VoidReason>,

    /// Void every run that was uploaded with the token of this name (`sub`) or id (`jti`)
    #[arg(long, value_name = "NAME")]
    uploaded_by: Option<String>,

    /// Only runs that were uploaded on or after this date, such as 2026-11-30T09:00:00Z
    #[arg(long, value_name = "DATE", value_parser = bound, requires = "uploaded_by")]
    since: Option<String>,

    /// Void nothing: show what would be voided
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    client: ClientArgs,
}

const EXAMPLES: &str = "\
The token needs the scope `runs:void`, and `runs:read` for --uploaded-by and --dry-run.

Examples:
  perf-tracking run void 17 --why 'measured on a broken host'

  All that a leaked token wrote, first to look at and then for good:
    perf-tracking run void --uploaded-by promote --since 2026-11-30 --dry-run
    perf-tracking run void --uploaded-by promote --since 2026-11-30 --why 'token leaked'";

/// Runs of a page.
const PAGE: u32 = 1_000;

pub(super) fn run(args: VoidArgs) -> anyhow::Result<Outcome> {
    let client = client::open(args.client)?;
    anyhow::ensure!(
        client.has_token(),
        "a void needs a token: {}",
        token_advice(Scope::RunsVoid)
    );
    let uploads = args.uploaded_by.map(|name| uploads(name, args.since));
    crate::commands::runtime()?.block_on(async {
        match (args.id, uploads, args.why) {
            (Some(id), _, _) if args.dry_run => show(vec![client.run(id).await?.content]),
            (Some(id), _, Some(why)) => one(&client, id, &why).await,
            (None, Some(query), why) => {
                let found = runs::all(&client, &mut Cursors::new(query)).await?;
                match why {
                    Some(why) if !args.dry_run => many(&client, &found, &why).await,
                    _ => show(found),
                }
            }
            // clap lets neither of them pass.
            _ => anyhow::bail!("name a run, or --uploaded-by, and say --why"),
        }
    })
}

/// The runs of a token that count.
fn uploads(name: String, since: Option<String>) -> Query {
    let mut query = vec![
        ("uploaded_by", name),
        ("order", "stored".to_owned()),
        ("limit", PAGE.to_string()),
    ];
    query.extend(given([("uploaded_since", since)]));
    query
}

fn show(mut runs: Vec<RunBody>) -> anyhow::Result<Outcome> {
    runs.retain(|run| run.voided.is_none());
    note(format_args!("{} would be voided", counted(runs.len())));
    print(&table(&runs))
}

async fn one(client: &Client, id: i64, why: &VoidReason) -> anyhow::Result<Outcome> {
    let answer = client.void(id, why).await?.content;
    print(&match answer.outcome {
        VoidOutcome::Voided => format!("voided run {id}\n"),
        VoidOutcome::Unchanged => format!("run {id} was voided before\n"),
    })
}

/// Voids each of `runs`. One that is refused stops no other, and is told.
async fn many(client: &Client, runs: &[RunBody], why: &VoidReason) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Passed;
    for run in runs {
        match client.void(run.run_id, why).await {
            Ok(_) => _ = print(&format!("voided run {}: {}\n", run.run_id, identity(run)))?,
            Err(error) if error.is_of_the_run() => {
                note(format_args!(
                    "error: run {}: {}",
                    run.run_id,
                    error.reason()
                ));
                outcome = Outcome::Refused;
            }
            Err(error) => return Err(error.into()),
        }
    }
    if runs.is_empty() {
        note("no run fits");
    }
    Ok(outcome)
}

fn counted(count: usize) -> String {
    match count {
        1 => "1 run".to_owned(),
        count => format!("{count} runs"),
    }
}
