//! `perf-tracking backfill`: loads old history.

mod files;
mod git;
mod known;
mod pattern;
mod progress;
mod reading;
mod send;
mod tally;
mod texts;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use clap::Args;
use indicatif::ProgressBar;
use tokio::sync::mpsc;

use super::{Outcome, client, print};
use crate::client::token_advice;
use crate::collect::Kind;
use crate::commands::flags::ClientArgs;
use crate::domain::{
    Arch, Branch, CommitSha, Distro, HostClass, Pipeline, Repo, Run, Scope, Tag, Workload,
};
use crate::signals::Signals;
use crate::terminal::note;

use files::Sources;
use known::{Field, Known, ReleaseDate};
use pattern::Pattern;
use reading::{NoRun, Reader};
use send::{Entry, lock};
use tally::{Place, Tally};

/// Load old history: exports, baseline files, folders of documents
///
/// Reads every PATH, in any mix, and stores each run that it finds. A file holds
/// one JSON object, or one a line:
///
///   a run, as `upload` and `export` have it: it says all itself
///   a document, as `document` writes it: which commit it is of comes from
///     elsewhere
///   a map of metrics to numbers, {"callgrind.ir": 1234567890}: all else comes
///     from elsewhere; it may have texts named after a run's fields beside its
///     numbers, such as "commit_sha" and "arch"
///
/// What a file leaves out is taken from its path (--from-path), then from the
/// flags. Without --from-path and --tag, a file's name without its ending is its
/// tag: perf/14.04.json is the reference run `14.04`. A tag's commit and its date
/// are those of the git tag of that name, or of that name after a `v`; the date of
/// a commit is asked of git, too.
///
/// A voided run of an export is stored and voided again, which needs a token with
/// `runs:void` beside `runs:write`.
///
/// May be repeated for ever: what is stored is `unchanged`. A file or a line that
/// is refused stops no other, and is told at the end with its reason; the exit
/// code is 2 then. A folder is searched for .json, .ndjson and .jsonl; what is no
/// measurement there is told and refuses nothing.
///
/// Runs of one date are stored in the order in which they were read, as ties in a
/// history stand in that order. So an export that is loaded into an empty database
/// reads as before, except for the `run_id`s and what holds them: cursors, and the
/// order of the next export. With --jobs 1 all runs are stored in the order in
/// which they were read, and if the old ids had no gaps, the new ones are the same.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, after_long_help = EXAMPLES)]
pub(super) struct BackfillArgs {
    /// Files and folders; `-` is standard input, a run a line
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Print the runs that would be sent, one a line, and send nothing
    #[arg(long)]
    dry_run: bool,

    /// How many uploads are under way at a time
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 16,
        value_parser = clap::value_parser!(u32).range(1..=256)
    )]
    jobs: u32,

    #[command(flatten)]
    known: KnownArgs,

    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "What a document or a map does not say itself")]
struct KnownArgs {
    /// What paths say: fields of a run in braces, such as 'perf/{tag}.json' or
    /// '{commit_sha}/{arch}/metrics.json'; held against the end of each path
    #[arg(long, value_name = "PATTERN")]
    from_path: Option<Pattern>,
    /// Name of the reference run; '' for live runs [default: the file's name without its ending, or
    /// with --from-path a live run]
    #[arg(long, value_name = "NAME")]
    tag: Option<Tag>,
    /// The whole name of the commit [default: that of the git tag which is named as the tag]
    #[arg(long, value_name = "SHA")]
    commit: Option<CommitSha>,
    /// Date of the commit, such as 2026-11-30 or 2026-11-30T09:00:00Z [default: what git says]
    #[arg(long, value_name = "DATE", value_parser = release_date)]
    run_date: Option<String>,
    /// Checkout that git is asked in [default: the one that the file stands in]
    #[arg(long, value_name = "FOLDER")]
    git: Option<PathBuf>,
    /// The repository
    #[arg(long, value_name = "NAME")]
    repo: Option<Repo>,
    /// The branch
    #[arg(long, value_name = "NAME")]
    branch: Option<Branch>,
    /// Who uploads
    #[arg(long, value_name = "NAME", default_value = "promote")]
    pipeline: Pipeline,
    /// What was run (of a map)
    #[arg(long, value_name = "NAME")]
    workload: Option<Workload>,
    /// The processor architecture (of a map)
    #[arg(long, value_name = "NAME")]
    arch: Option<Arch>,
    /// The distribution (of a map)
    #[arg(long, value_name = "NAME")]
    distro: Option<Distro>,
    /// Where it was measured, such as callgrind (of a map)
    #[arg(long, value_name = "NAME")]
    host_class: Option<HostClass>,
    /// The numbers were read off a clock (of a map)
    #[arg(long)]
    wallclock: bool,
}

const EXAMPLES: &str = "\
Examples:
  Everything that an export wrote:
    perf-tracking backfill runs.ndjson

  Baseline files of releases, in a checkout that has their tags:
    perf-tracking backfill --repo drizzle --branch main --workload perf --arch amd64 \\
      --distro trixie --host-class callgrind perf/

  Documents of old CI jobs, live runs of the commits in their paths:
    perf-tracking backfill --from-path '{commit_sha}/{arch}/metrics.json' \\
      --repo drizzle --branch main --git ~/src/drizzle artifacts/";

/// Texts that are read ahead of those that are sent.
const READ_AHEAD: usize = 64;

pub(super) fn run(args: BackfillArgs) -> anyhow::Result<Outcome> {
    let mut backfill = Backfill {
        reader: reader(args.known),
        tally: Arc::default(),
    };
    let sources = Sources::find(&args.paths);
    if args.dry_run {
        return backfill.dry_run(sources);
    }
    let client = client::open_with(args.client, progress::note_retry)?;
    anyhow::ensure!(
        client.has_token(),
        "a backfill needs a token: {}",
        token_advice(Scope::RunsWrite)
    );
    let tally = Arc::clone(&backfill.tally);
    let bar = progress::start(sources.size());
    let (sender, entries) = mpsc::channel(READ_AHEAD);
    let reading = bar.clone();
    // A thread of its own, as it may hang in a read of standard input when all else ends.
    let reader = std::thread::spawn(move || {
        let mut send = |entry| match sender.blocking_send(entry) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        // Whether it was stopped is known to who stopped it.
        let _ = backfill.read(sources, &reading, &mut send);
    });
    let sent = super::runtime()?.block_on(async {
        let signals = Signals::take()?;
        send::send(
            client,
            args.jobs,
            entries,
            Arc::clone(&tally),
            bar.clone(),
            signals,
        )
        .await
    });
    bar.finish_and_clear();
    if sent.is_ok()
        && let Err(panic) = reader.join()
    {
        // What it did not read must not be missed without a word.
        std::panic::resume_unwind(panic);
    }
    let mut tally = lock(&tally);
    print(&tally.report(false))?;
    if let Err(error) = sent {
        note(format_args!("error: {error:#}"));
        note("not everything was sent; run it again to go on: what is stored is left as it is");
        return Ok(Outcome::Refused);
    }
    Ok(outcome(&tally))
}

fn outcome(tally: &Tally) -> Outcome {
    match tally.has_refused() {
        true => Outcome::Refused,
        false => Outcome::Passed,
    }
}

/// A date that is good for a run, as it was written.
fn release_date(text: &str) -> Result<String, String> {
    let ReleaseDate(date) = text.parse()?;
    Ok(date.to_string())
}

fn reader(args: KnownArgs) -> Reader {
    fn text(value: Option<&impl ToString>) -> Option<String> {
        value.map(ToString::to_string)
    }
    let mut flags = Known::default();
    let given = [
        (Field::Tag, text(args.tag.as_ref())),
        (Field::CommitSha, text(args.commit.as_ref())),
        (Field::RunDate, args.run_date),
        (Field::Repo, text(args.repo.as_ref())),
        (Field::Branch, text(args.branch.as_ref())),
        (Field::Pipeline, text(Some(&args.pipeline))),
        (Field::Workload, text(args.workload.as_ref())),
        (Field::Arch, text(args.arch.as_ref())),
        (Field::Distro, text(args.distro.as_ref())),
        (Field::HostClass, text(args.host_class.as_ref())),
    ];
    for (field, text) in given {
        if let Some(text) = text {
            flags.set(field, &text);
        }
    }
    Reader {
        flags,
        pattern: args.from_path,
        kind: match args.wallclock {
            true => Kind::Timed,
            false => Kind::Counted,
        },
        git: git::Git::new(args.git),
    }
}

/// Reads sources and counts what is no run; hands on what is.
struct Backfill {
    reader: Reader,
    tally: Arc<Mutex<Tally>>,
}

impl Backfill {
    /// Everything, in order. `bar` moves by what is no run; a run moves it once it is sent.
    fn read(
        &mut self,
        sources: Sources,
        bar: &ProgressBar,
        send: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut number = 0;
        for (source, why) in &sources.lost {
            number += 1;
            lock(&self.tally).refuse(Place::new(number, source, None), why.clone());
        }
        for source in &sources.found {
            texts::read(source, &mut |text| {
                number += 1;
                let place = Place::new(number, source, text.line);
                let bytes = text.bytes;
                let read = match text.json {
                    Ok(json) => self.reader.read(source, &json),
                    Err(why) => Err(NoRun::Refused(why)),
                };
                match read {
                    Ok((run, void)) => {
                        return send(Entry {
                            place,
                            run,
                            void,
                            bytes,
                        });
                    }
                    Err(NoRun::Other(why)) if !source.is_named => {
                        lock(&self.tally).skip(place, why);
                    }
                    Err(NoRun::Other(why) | NoRun::Refused(why)) => {
                        lock(&self.tally).refuse(place, why);
                    }
                }
                bar.inc(bytes);
                ControlFlow::Continue(())
            })?;
        }
        ControlFlow::Continue(())
    }

    /// Shows what would be sent. The table goes to standard error, out of the way of the runs.
    fn dry_run(&mut self, sources: Sources) -> anyhow::Result<Outcome> {
        let tally = Arc::clone(&self.tally);
        let mut failure = None;
        // Whether it was stopped, its failure tells.
        let _ = self.read(sources, &ProgressBar::hidden(), &mut |entry| {
            lock(&tally).ready += 1;
            match show(&entry.run) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let mut tally = lock(&tally);
        note(tally.report(true).trim_end());
        Ok(outcome(&tally))
    }
}

fn show(run: &Run) -> anyhow::Result<()> {
    print(&format!("{}\n", serde_json::to_string(run)?)).map(drop)
}
