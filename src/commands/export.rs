//! `perf-tracking export`: writes stored runs as text.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::cursors::{Cursors, Query, given};
use super::filters::RunFilters;
use super::{Outcome, client};
use crate::api::VoidedBody;
use crate::client::{Client, RunsPage};
use crate::commands::flags::ClientArgs;
use crate::domain::{JsonText, Run};
use crate::files::whole_file::WholeFile;
use crate::signals::Signals;
use crate::terminal::shown;

/// Write stored runs as text: one whole run a line, as JSON
///
/// Without filters, everything there is: live and reference runs, failed and voided ones, of every
/// pipeline. Each line is what `upload` takes, and `backfill` loads them all back; a voided run's line
/// also says who voided it, when and why. The runs stand in the
/// order in which they were stored: two exports of one store are equal, byte for byte. A failed run
/// that was replaced keeps its place. A run whose upload is under way meanwhile may be missing; the
/// next export has it.
///
/// An export that cannot be finished exits with 2. With --output the file is then left as it was;
/// on standard output, let the shell look at the exit code (`set -o pipefail`).
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ExportArgs {
    /// Where the runs go, whole or not at all; standard output where left out
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    filters: RunFilters,
    /// Leave out runs that did not run to their end
    #[arg(long)]
    only_succeeded: bool,
    /// Leave out runs that were voided
    #[arg(long)]
    without_voided: bool,

    #[command(flatten)]
    client: ClientArgs,
}

const EXAMPLES: &str = "\
Examples:
  A backup as text, and back into an empty database:
    perf-tracking export --output runs.ndjson
    perf-tracking backfill runs.ndjson

  From one service to another, each with a token of its own:
    set -o pipefail
    perf-tracking export --server https://old.example.org --token-file old.token |
      perf-tracking backfill --server https://new.example.org --token-file new.token -

  What one branch had before this year:
    perf-tracking export --branch main --before 2026-01-01 | gzip > main.ndjson.gz";

/// Runs of a page; the service ends one earlier that holds many metrics.
const PAGE: u32 = 1_000;

/// Time for what is under way to be put in order after a signal.
const GRACE: Duration = Duration::from_secs(2);

pub(super) fn run(args: ExportArgs) -> anyhow::Result<Outcome> {
    let query = query(&args);
    let client = client::open(args.client)?;
    let runtime = super::runtime()?;
    let done = runtime.block_on(async {
        let mut signals = Signals::take()?;
        // A task of its own: what reads the export may be full, and a signal is heard all the same.
        let mut export = tokio::spawn(write(client, query, args.output));
        tokio::select! {
            done = &mut export => done?,
            came = signals.next() => {
                export.abort();
                let _ = tokio::time::timeout(GRACE, export).await;
                anyhow::bail!("ended by {}: the export is not whole", came.name)
            }
        }
    });
    // What nobody reads is not waited for.
    runtime.shutdown_background();
    done
}

async fn write(client: Client, query: Query, output: Option<PathBuf>) -> anyhow::Result<Outcome> {
    match output {
        Some(path) => to_file(&client, query, &path).await,
        None => to_stdout(&client, query).await,
    }
}

async fn to_file(client: &Client, query: Query, path: &Path) -> anyhow::Result<Outcome> {
    let shown = shown::path(path);
    let unwritable = || format!("{shown} cannot be written");
    let mut file = WholeFile::create(path).with_context(unwritable)?;
    let mut pages = Pages::new(client, query);
    while let Some(lines) = pages.next().await? {
        file.write_all(lines.as_bytes()).with_context(unwritable)?;
    }
    file.keep().with_context(unwritable)?;
    crate::terminal::note(format_args!("{} runs in {shown}", pages.count));
    Ok(Outcome::Passed)
}

/// A reader that goes away before the end is a failure here, unlike elsewhere: what it kept is no
/// backup, and must not look like one.
async fn to_stdout(client: &Client, query: Query) -> anyhow::Result<Outcome> {
    let mut pages = Pages::new(client, query);
    while let Some(lines) = pages.next().await? {
        let mut out = io::stdout().lock();
        out.write_all(lines.as_bytes())
            .and_then(|()| out.flush())
            .context("standard output cannot be written: the export is not whole")?;
    }
    Ok(Outcome::Passed)
}

/// The parameters, as the service names them.
fn query(args: &ExportArgs) -> Query {
    let flag = |is_set: bool| is_set.then(|| "true".to_owned());
    let mut query = args.filters.query();
    query.extend([
        ("metrics", "true".to_owned()),
        ("order", "stored".to_owned()),
        ("limit", PAGE.to_string()),
    ]);
    query.extend(given([
        ("succeeded", flag(args.only_succeeded)),
        ("include_voided", flag(!args.without_voided)),
    ]));
    query
}

/// The pages of an export, one after the other.
struct Pages<'a> {
    client: &'a Client,
    cursors: Cursors,
    at_end: bool,
    count: usize,
}

impl<'a> Pages<'a> {
    fn new(client: &'a Client, query: Query) -> Self {
        Self {
            client,
            cursors: Cursors::new(query),
            at_end: false,
            count: 0,
        }
    }

    /// The lines of the next page.
    async fn next(&mut self) -> anyhow::Result<Option<String>> {
        if self.at_end {
            return Ok(None);
        }
        let RunsPage { runs, next } = self.client.runs(self.cursors.query()).await?;
        self.count += runs.len();
        let mut lines = String::new();
        for run in runs {
            lines.push_str(&line(&run)?);
            lines.push('\n');
        }
        match next {
            Some(cursor) => self.cursors.follow(cursor)?,
            None => self.at_end = true,
        }
        Ok(Some(lines))
    }
}

/// A run of a list as a line. It is read as an upload would be: a backup that cannot be loaded again
/// is found out now.
fn line(listed: &RawValue) -> anyhow::Result<String> {
    let json = JsonText::parse(listed.get().as_bytes())?;
    let run = Run::parse_listed(json).map_err(|faults| {
        let run_id = json.number("run_id").unwrap_or("without an id");
        anyhow::anyhow!(
            "this program cannot read run {run_id} of the service ({}); use the release of the \
             service",
            crate::terminal::tame(&faults.to_string())
        )
    })?;
    let Listed { voided } = serde_json::from_str(listed.get())?;
    Ok(serde_json::to_string(&Line { run: &run, voided })?)
}

/// What an export tells of a run beside what an upload holds.
#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    voided: Option<VoidedBody>,
}

/// A line: a run as an upload holds it, and how it was voided, which `backfill` repeats.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    run: &'a Run,
    #[serde(skip_serializing_if = "Option::is_none")]
    voided: Option<VoidedBody>,
}
