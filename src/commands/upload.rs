//! `perf-tracking upload`: stores one run.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::Args;

use super::{Outcome, client, print};
use crate::api::{RecordAnswer, RecordOutcome};
use crate::client::{Client, ClientError, token_advice};
use crate::commands::flags::ClientArgs;
use crate::domain::{
    Branch, Change, CommitSha, Document, Measured, Patchset, Pipeline, Provenance, Repo, Run,
    RunDate, Scope, Tag, Upload,
};
use crate::files::input::{Input, lines};
use crate::provenance::Detector;
use crate::report::conflict;
use crate::terminal::note;
use crate::terminal::tame;

/// Store a run: the numbers that one commit measured
///
/// Reads a document, adds what the pipeline knows, and posts it; or a whole run, which says all that
/// itself. Everything is checked before anything is sent. Safe to repeat: a run is stored once,
/// however often it is sent, and a failed run gives way to its rerun. Where the same commit, series
/// and tag are stored with other content, that run stays as it is and the differences are shown. A
/// run of the pipeline `promote` takes the place of one that another pipeline stored. `run void`
/// takes a wrong run back.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct UploadArgs {
    /// File with a document or a run as JSON; `-` is standard input [default: standard input,
    /// unless it is a terminal]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Send nothing: print the run as JSON, and on standard error where each value comes from
    ///
    /// Needs no service and no token. What is printed is a run that `upload` takes.
    #[arg(long)]
    dry_run: bool,

    /// Print the service's answer as it came, instead of a line: `run_id`, `outcome`
    #[arg(long, conflicts_with = "dry_run")]
    json: bool,

    #[command(flatten)]
    provenance: ProvenanceArgs,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Args, Debug)]
#[command(
    next_help_heading = "Where a document comes from (else what the CI says, else the git checkout)"
)]
struct ProvenanceArgs {
    /// Repository that the commit belongs to
    #[arg(long, value_name = "NAME")]
    repo: Option<Repo>,

    /// Branch that was measured; of a change, the one that it is for
    #[arg(long, value_name = "NAME")]
    branch: Option<Branch>,

    /// Commit that was measured, all 40 digits
    #[arg(long, value_name = "SHA")]
    commit: Option<CommitSha>,

    /// Change that the commit came from, such as the number of a pull request
    #[arg(long, value_name = "ID")]
    change: Option<Change>,

    /// Patch set of the change
    #[arg(long, value_name = "ID")]
    patchset: Option<Patchset>,

    /// Job that uploads; `promote` is the one for commits that have merged
    ///
    /// Else the variable PERF_TRACKING_PIPELINE, else what Zuul says. Never guessed: changes are
    /// judged against the runs of `promote`.
    #[arg(long, value_name = "NAME")]
    pipeline: Option<Pipeline>,

    /// Name of a reference run, such as 14.04; a pushed tag, if there is one
    #[arg(long, value_name = "NAME")]
    tag: Option<Tag>,

    /// Store a document although it says that another commit was measured
    ///
    /// For a commit whose content is the one that was measured, such as the merge of a change that was
    /// measured before it merged.
    #[arg(long)]
    allow_other_commit: bool,

    /// Date of the commit, such as 2026-11-30T09:00:00Z; kept in UTC and whole seconds
    #[arg(long, value_name = "DATE")]
    run_date: Option<RunDate>,
}

const EXAMPLES: &str = "\
A document is what `perf-tracking measure` and `perf-tracking document` write. What it lacks is taken
from the flags, else from the variables of the CI, else from git. `--dry-run` shows which. Known are
Zuul (ZUUL_PROJECT, ZUUL_BRANCH, ZUUL_COMMIT or ZUUL_NEWREV, ZUUL_CHANGE, ZUUL_PATCHSET,
ZUUL_PIPELINE; a playbook has to set them), Jenkins with its plugins for Gerrit, GitHub, GitLab and
Bitbucket, GitHub Actions, Gitea, Forgejo, GitLab CI, Woodpecker, Drone, Buildkite, CircleCI, Azure
Pipelines and Bitbucket Pipelines.

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
  In the job that runs once a change has merged:
    perf-tracking upload --pipeline promote --token-file promote.token metrics.json

  What would be sent, and why:
    perf-tracking upload --pipeline promote --dry-run metrics.json

  A run that something else wrote:
    jq '.pipeline = \"promote\"' run.json | perf-tracking upload";

pub(super) fn run(args: UploadArgs) -> anyhow::Result<Outcome> {
    let input = input(args.file.as_deref())?;
    if args.dry_run {
        return show(&prepare(&input, args.provenance)?);
    }
    let client = client::open(args.client)?;
    anyhow::ensure!(
        client.has_token(),
        "an upload needs a token: {}",
        token_advice(Scope::RunsWrite)
    );
    send(&client, &prepare(&input, args.provenance)?, args.json)
}

/// A run, and how it came to be one.
struct Prepared {
    run: Run,
    /// Of a document: each value that was found, and where. Of a run: nothing.
    origins: Vec<String>,
    /// The commit that is checked out, where it is another.
    other_head: Option<String>,
}

fn show(prepared: &Prepared) -> anyhow::Result<Outcome> {
    for origin in &prepared.origins {
        note(origin);
    }
    if let Some(head) = &prepared.other_head {
        note(format_args!(
            "the checkout is at another commit, {}",
            tame(head)
        ));
    }
    print(&format!(
        "{}\n",
        serde_json::to_string_pretty(&prepared.run)?
    ))
}

fn send(client: &Client, prepared: &Prepared, json: bool) -> anyhow::Result<Outcome> {
    let run = &prepared.run;
    match super::runtime()?.block_on(client.upload(run)) {
        Ok(answer) if json => print(&format!("{}\n", answer.text.trim_end())),
        Ok(answer) => print(&line(&answer.content, run)),
        Err(error) => refused(error, prepared, json),
    }
}

/// Refuses to wait for a person who does not know of it.
fn input(file: Option<&Path>) -> anyhow::Result<Input> {
    anyhow::ensure!(
        file.is_some() || !io::stdin().is_terminal(),
        "there is no FILE, and standard input is a terminal: name a file with a document or a \
         run, or pipe one in; `-` reads what is typed"
    );
    Ok(file.map_or_else(Input::stdin, Input::of))
}

/// The document or the run, or every reason why it is none.
fn read(input: &Input) -> anyhow::Result<Upload> {
    input.parse_json("run or document that fits; nothing was sent", Upload::parse)
}

fn prepare(input: &Input, flags: ProvenanceArgs) -> anyhow::Result<Prepared> {
    match read(input)? {
        Upload::Document(document) => complete(*document, flags, input.name()),
        Upload::Run(run) => {
            let given = flags.given();
            anyhow::ensure!(
                given.is_empty(),
                "{} holds a run, which says where it comes from itself; leave out {}",
                input.name(),
                given.join(", ")
            );
            Ok(Prepared {
                run: *run,
                origins: Vec::new(),
                other_head: None,
            })
        }
    }
}

/// Makes a run of a document, or tells all that is not known at once.
fn complete(document: Document, flags: ProvenanceArgs, name: &str) -> anyhow::Result<Prepared> {
    let measured = document.measured.clone();
    let mut detector = Detector::here(flags.commit);
    let repo = detector.repo(flags.repo);
    let branch = detector.branch(flags.branch);
    let commit_sha = detector.commit();
    let change = detector.change(flags.change);
    let patchset = detector.patchset(flags.patchset);
    let pipeline = detector.pipeline(flags.pipeline);
    let tag = detector.tag(flags.tag);
    let run_date = detector.run_date(flags.run_date);
    let subject = detector.subject();
    let origins = detector.told();
    let (Some(repo), Some(branch), Some(commit_sha), Some(pipeline), Some(run_date), []) = (
        repo,
        branch,
        commit_sha,
        pipeline,
        run_date,
        detector.faults(),
    ) else {
        anyhow::bail!(unknown(name, detector.faults(), &origins));
    };
    if !flags.allow_other_commit {
        check_commit(&measured, &commit_sha, name)?;
    }
    if measured.clean == Some(false) {
        note(format_args!(
            "warning: {name} was measured in a checkout with changed files; its numbers may not be \
             those of the commit"
        ));
    }
    let run = document.into_run(Provenance {
        repo,
        branch,
        commit_sha,
        change,
        patchset,
        pipeline,
        tag,
        run_date,
        subject,
    });
    Ok(Prepared {
        run,
        origins,
        other_head: detector.other_head(),
    })
}

/// Refuses the numbers of one commit under the name of another.
fn check_commit(measured: &Measured, commit: &CommitSha, name: &str) -> anyhow::Result<()> {
    match &measured.commit_sha {
        Some(other) if other != commit => anyhow::bail!(
            "{name} says that {other} was measured, and the run would be of {commit}; nothing was \
             sent. Name the measured commit with --commit, or say --allow-other-commit if both have \
             the same content"
        ),
        _ => Ok(()),
    }
}

fn unknown(name: &str, faults: &[String], known: &[String]) -> String {
    let known = match known {
        [] => String::new(),
        known => format!("\nknown are:{}", lines(known)),
    };
    format!(
        "{name} holds a document, and a run needs more; nothing was sent{}{known}",
        lines(faults)
    )
}

impl ProvenanceArgs {
    /// The flags that were given, by name.
    fn given(&self) -> Vec<&'static str> {
        let flags = [
            (self.repo.is_some(), "--repo"),
            (self.branch.is_some(), "--branch"),
            (self.commit.is_some(), "--commit"),
            (self.change.is_some(), "--change"),
            (self.patchset.is_some(), "--patchset"),
            (self.pipeline.is_some(), "--pipeline"),
            (self.tag.is_some(), "--tag"),
            (self.run_date.is_some(), "--run-date"),
            (self.allow_other_commit, "--allow-other-commit"),
        ];
        let given = flags.into_iter().filter(|(is_given, _)| *is_given);
        given.map(|(_, name)| name).collect()
    }
}

/// `created run 17: perf on main, amd64, trixie at 0123456789ab`
fn line(answer: &RecordAnswer, run: &Run) -> String {
    let outcome = match answer.outcome {
        RecordOutcome::Created => "created",
        RecordOutcome::Unchanged => "unchanged",
        RecordOutcome::Replaced => "replaced",
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

fn refused(error: ClientError, prepared: &Prepared, json: bool) -> anyhow::Result<Outcome> {
    let sent = sent_was(&prepared.origins);
    let Some(conflict) = error.conflict() else {
        // Who may not write this run wonders why it says what it says.
        let sent = if error.is_outside_claims() { &sent } else { "" };
        return Err(anyhow::anyhow!("{error}{sent}"));
    };
    note(format_args!(
        "error: {}{sent}",
        conflict::table(&conflict, &identity(&prepared.run))
    ));
    if json && let Some(text) = error.problem_text() {
        print(&format!("{}\n", text.trim_end()))?;
    }
    Ok(Outcome::Refused)
}

fn sent_was(origins: &[String]) -> String {
    match origins {
        [] => String::new(),
        origins => format!("\nsent was:{}", lines(origins)),
    }
}
