//! `perf-tracking upload`: stores one run.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use comfy_table::{Table, presets};

use super::{Outcome, client, print, shown};
use crate::client::{ClientError, Conflict, tame, token_advice};
use crate::config::ClientArgs;
use crate::domain::{Fault, JsonText, Run, Scope};
use crate::http::{MeasuredBody, Outcome as Recorded, RecordAnswer};

/// Store a run: the numbers that one commit measured
///
/// Reads a run as JSON, checks it whole before anything is sent, and posts it. Safe to repeat: a
/// run is stored once, however often it is sent, and a failed run gives way to its rerun. Where
/// the same commit, series and tag are stored with other content, that run stays as it is and the
/// differences are shown. Nothing else changes a stored run, and nothing deletes one.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct UploadArgs {
    /// File with the run as JSON; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,

    /// Print the service's answer as it came, instead of a line: `run_id`, `outcome`
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    client: ClientArgs,
}

/// Ten thousand metrics with the longest names, escaped and indented, have a third of it.
pub(super) const MAX_RUN_BYTES: usize = 64 << 20;

const EXAMPLES: &str = "\
A run:
  {\"workload\": \"perf\", \"repo\": \"drizzle\", \"branch\": \"main\",
   \"commit_sha\": \"0123456789abcdef0123456789abcdef01234567\",
   \"pipeline\": \"promote\", \"distro\": \"trixie\", \"arch\": \"amd64\",
   \"host_class\": \"callgrind\", \"run_date\": \"2026-11-30T09:00:00Z\", \"succeeded\": true,
   \"metrics\": [{\"metric_key\": \"callgrind.ir\", \"value\": 1234567890}]}

  It may also have a `change` and a `patchset`, and a `tag` if it is a reference run; a metric
  a `dim_key`, such as \"threads=16\", and \"wallclock\": true if a real clock was read.

  `pipeline` is the job that uploads: `history` shows `promote`, unless it is asked for others.
  `run_date` is the date of the commit, not of the measurement. The service describes every
  field on its page /docs.

Examples:
  perf-tracking upload --token-file promote.token run.json
  jq '.pipeline = \"promote\"' run.json | perf-tracking upload";

pub(super) fn run(args: UploadArgs) -> anyhow::Result<Outcome> {
    let client = client::open(args.client)?;
    anyhow::ensure!(
        client.has_token(),
        "an upload needs a token: {}",
        token_advice(Scope::RunsWrite)
    );
    let run = read(&args.file)?;
    match super::runtime()?.block_on(client.upload(&run)) {
        Ok(answer) if args.json => print(&format!("{}\n", answer.text.trim_end())),
        Ok(answer) => print(&line(&answer.content, &run)),
        Err(error) => refused(error, &run, args.json),
    }
}

/// The run in a file, or every reason why it is none.
fn read(path: &Path) -> anyhow::Result<Run> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin {
        "standard input".to_owned()
    } else {
        shown::path(path)
    };
    let mut bytes = Vec::new();
    let result = if is_stdin {
        read_some(io::stdin().lock(), &mut bytes)
    } else {
        File::open(path).and_then(|file| read_some(file, &mut bytes))
    };
    result.with_context(|| format!("cannot read {name}"))?;
    anyhow::ensure!(
        bytes.len() <= MAX_RUN_BYTES,
        "{name} holds more than any run does ({} MiB)",
        MAX_RUN_BYTES >> 20
    );
    let json = JsonText::parse(&bytes).with_context(|| format!("{name} is not JSON"))?;
    Run::parse(&json).map_err(|faults| anyhow::anyhow!("{}", misfit(&name, &faults)))
}

/// A little more than the largest run is enough to refuse what is larger, which may have no end.
fn read_some(source: impl Read, bytes: &mut Vec<u8>) -> io::Result<usize> {
    source.take(MAX_RUN_BYTES as u64 + 1).read_to_end(bytes)
}

fn misfit(name: &str, faults: &[Fault]) -> String {
    let mut text = format!("{name} holds no run that fits; nothing was sent");
    for fault in faults {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {fault}");
    }
    text
}

/// `created run 17: perf on main, amd64, trixie at 0123456789ab`
fn line(answer: &RecordAnswer, run: &Run) -> String {
    let outcome = match answer.outcome {
        Recorded::Created => "created",
        Recorded::Unchanged => "unchanged",
        Recorded::Replaced => "replaced",
    };
    format!("{outcome} run {}: {}\n", answer.run_id, identity(run))
}

fn identity(run: &Run) -> String {
    let commit = run.commit_sha.to_string();
    let tag = match run.tag.as_str() {
        "" => String::new(),
        tag => format!(", tag {tag}"),
    };
    format!("{} at {}{tag}", run.series, &commit[..12])
}

fn refused(error: ClientError, run: &Run, json: bool) -> anyhow::Result<Outcome> {
    let Some(conflict) = error.conflict() else {
        return Err(error.into());
    };
    super::note(differences(&conflict, run));
    if json && let Some(text) = error.problem_text() {
        print(&format!("{}\n", text.trim_end()))?;
    }
    Ok(Outcome::Refused)
}

fn differences(conflict: &Conflict, run: &Run) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["", "stored", "sent"]);
    for field in &conflict.fields {
        let side = |side: &Option<String>| side.as_deref().map_or_else(|| "none".to_owned(), tame);
        table.add_row([tame(&field.field), side(&field.stored), side(&field.sent)]);
    }
    for metric in &conflict.metrics {
        let name = match metric.dim_key.as_str() {
            "" => metric.metric_key.to_string(),
            dim => format!("{} {dim}", metric.metric_key),
        };
        let clocks_differ = matches!(
            (&metric.stored, &metric.sent),
            (Some(stored), Some(sent)) if stored.wallclock != sent.wallclock
        );
        let side = |side: &Option<MeasuredBody>| match side {
            None => "none".to_owned(),
            Some(side) if clocks_differ && side.wallclock => format!("{} wallclock", side.value),
            Some(side) => side.value.to_string(),
        };
        table.add_row([name, side(&metric.stored), side(&metric.sent)]);
    }
    for column in table.column_iter_mut() {
        column.set_padding((2, 0));
    }
    format!(
        "error: run {} is stored with other content, and stays as it is: {}\n{}",
        conflict.run_id,
        identity(run),
        table.trim_fmt()
    )
}
