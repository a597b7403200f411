//! `perf-tracking runs`: lists runs.

use clap::{Args, ValueEnum};

use super::cursors::{Cursors, Query, given};
use super::filters::RunFilters;
use super::history::bound;
use super::{Outcome, client, print};
use crate::api::{DEFAULT_LIMIT, MAX_LIMIT, RunBody, RunsAnswer};
use crate::client::Client;
use crate::commands::flags::ClientArgs;
use crate::report::runs::table;

/// List runs, the newest first
///
/// Without more, runs that ran to their end, live and reference runs of every pipeline.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct RunsArgs {
    #[command(flatten)]
    filters: RunFilters,

    /// Runs that were uploaded with the token of this name or id
    #[arg(long, value_name = "NAME")]
    uploaded_by: Option<String>,

    /// Runs that were uploaded on or after this date
    #[arg(long, value_name = "DATE", value_parser = bound)]
    uploaded_since: Option<String>,

    /// Runs that did not run to their end, too
    #[arg(long)]
    include_failed: bool,

    /// Runs that were voided, too
    #[arg(long)]
    include_voided: bool,

    /// The most runs of a page
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = DEFAULT_LIMIT as u64,
        value_parser = clap::value_parser!(u64).range(1..=MAX_LIMIT as u64),
        help_heading = OUTPUT
    )]
    limit: u64,

    /// Read on to the end, in pages of --limit runs
    #[arg(long, help_heading = OUTPUT)]
    all: bool,

    /// How to print them
    #[arg(long, value_name = "FORMAT", default_value = "table", help_heading = OUTPUT)]
    format: Format,

    #[command(flatten)]
    client: ClientArgs,
}

const OUTPUT: &str = "Output";

/// How a list is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One row for each run; a column that says nothing is left out.
    Table,
    /// The runs as the service tells them, without their metrics.
    Json,
}

const EXAMPLES: &str = "\
Examples:
  The newest runs of a branch, failed ones too:
    perf-tracking runs --branch main --include-failed

  What one token has uploaded today:
    perf-tracking runs --uploaded-by promote --uploaded-since 2026-11-30 --all";

pub(super) fn run(args: RunsArgs) -> anyhow::Result<Outcome> {
    let query = query(&args);
    let client = client::open(args.client)?;
    let runs = super::runtime()?.block_on(async {
        let mut cursors = Cursors::new(query);
        match args.all {
            true => all(&client, &mut cursors).await,
            false => page(&client, &mut cursors).await,
        }
    })?;
    if runs.is_empty() {
        crate::terminal::note("no run fits");
    }
    match args.format {
        Format::Table => print(&table(&runs)),
        Format::Json => {
            let answer = RunsAnswer { runs, next: None };
            print(&format!("{}\n", serde_json::to_string(&answer)?))
        }
    }
}

fn query(args: &RunsArgs) -> Query {
    let flag = |is_set: bool| is_set.then(|| "true".to_owned());
    let mut query = args.filters.query();
    query.push(("limit", args.limit.to_string()));
    query.extend(given([
        ("succeeded", flag(!args.include_failed)),
        ("include_voided", flag(args.include_voided)),
        ("uploaded_by", args.uploaded_by.clone()),
        ("uploaded_since", args.uploaded_since.clone()),
    ]));
    query
}

/// The first page that has runs: the service ends a page early where few of many runs fit.
async fn page(client: &Client, cursors: &mut Cursors) -> anyhow::Result<Vec<RunBody>> {
    loop {
        let answer = client.run_list(cursors.query()).await?.content;
        match answer.next {
            Some(cursor) if answer.runs.is_empty() => cursors.follow(cursor)?,
            _ => return Ok(answer.runs),
        }
    }
}

/// Every run of the list.
pub(super) async fn all(client: &Client, cursors: &mut Cursors) -> anyhow::Result<Vec<RunBody>> {
    let mut runs = Vec::new();
    loop {
        let answer = client.run_list(cursors.query()).await?.content;
        runs.extend(answer.runs);
        match answer.next {
            Some(cursor) => cursors.follow(cursor)?,
            None => return Ok(runs),
        }
    }
}
