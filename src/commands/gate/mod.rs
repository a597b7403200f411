//! `perf-tracking gate`: holds a change to what its project has committed to.

mod document;
mod explain;
mod history;
mod init;
mod output;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};

use super::Outcome;
use crate::commands::flags::ClientArgs;
use crate::domain::{Branch, CommitSha, Document, Pipeline, Repo, Series};
use crate::files::input::{Input, MAX_CONFIG_BYTES, lines};
use crate::judge::{self, Candidate, Conclusion, History, Policy};
use crate::provenance::Detector;
use crate::report::Subject;
use crate::terminal::note;
use crate::terminal::shown;

use output::Reports;

/// Judge a change: hold what it measured against the history of what has been merged
///
/// Reads a document and the rules in gate.toml, fetches the newest values of the same series, and
/// prints a table of every metric, improvements included. A metric fails where it is worse than
/// the mean by more than max(k times the deviation, a floor); on the limit it passes.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_long_help = EXAMPLES
)]
pub(super) struct GateArgs {
    #[command(subcommand)]
    command: Option<GateCommand>,
    #[command(flatten)]
    judge: JudgeArgs,
}

#[derive(Debug, Subcommand)]
enum GateCommand {
    Init(init::InitArgs),
    Explain(explain::ExplainArgs),
}

#[derive(Args, Debug)]
struct JudgeArgs {
    /// File with the rules
    #[arg(long, value_name = "FILE", default_value = DEFAULT_CONFIG)]
    config: PathBuf,

    /// File with the document to judge; `-` is standard input
    #[arg(long, value_name = "FILE", required = true)]
    document: Option<PathBuf>,

    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    past: PastArgs,
    #[command(flatten)]
    reports: Reports,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "The change (else what the CI says, else the git checkout)")]
struct ChangeArgs {
    /// Branch that the change is for; with --history, what the history says
    #[arg(long, value_name = "NAME")]
    branch: Option<Branch>,

    /// Repository of the change; only its runs are compared
    #[arg(long, value_name = "NAME")]
    repo: Option<Repo>,

    /// Commit that was measured; its own run, if there is one, is left out
    #[arg(long, value_name = "SHA")]
    commit: Option<CommitSha>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "What it is held against")]
struct PastArgs {
    /// File with a saved history instead of a service; repeatable
    ///
    /// What `perf-tracking history --format json` prints. Nothing is fetched.
    #[arg(long, value_name = "FILE")]
    history: Vec<PathBuf>,

    /// Runs that this pipeline uploaded; what has merged
    #[arg(long, value_name = "NAME", default_value = "promote")]
    pipeline: Pipeline,
}

const DEFAULT_CONFIG: &str = "gate.toml";

const EXAMPLES: &str = "\
Exit codes:
  0  nothing got worse
  1  a regression
  2  wrong use, a broken file, or the service could not be reached or refused
  3  could not judge: too little history, a metric missing, other parameters

Examples:
  Once, and then commit it:
    perf-tracking gate init

  In the job that judges a change:
    perf-tracking gate --document metrics.json --markdown comment.md --junit gate.xml

  The same, where no CI and no checkout says what the change is:
    perf-tracking gate --document metrics.json --repo drizzle --branch main

  Without a service, from a history that was saved before:
    perf-tracking history --workload perf --branch main --arch amd64 --distro trixie \\
      --limit 21 --format json > history.json
    perf-tracking gate --document metrics.json --history history.json";

/// Where the windows come from.
enum Past<'a> {
    Saved(&'a [PathBuf]),
    Service(ClientArgs),
}

impl GateArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        match self.command {
            Some(GateCommand::Init(args)) => args.run(),
            Some(GateCommand::Explain(args)) => args.run(),
            None => self.judge.run(),
        }
    }
}

impl JudgeArgs {
    fn run(self) -> anyhow::Result<Outcome> {
        let path = self.document.context("--document is missing")?;
        let read = [self.config.as_path(), path.as_path()].into_iter();
        let read: Vec<&Path> = read
            .chain(self.past.history.iter().map(PathBuf::as_path))
            .collect();
        self.reports.check(&read)?;
        let policy = read_policy(&self.config)?;
        let document = Input::of(&path).document()?;
        let (past, change) = match self.past.history.as_slice() {
            [] => (Past::Service(self.client), self.change.complete()?),
            files => (Past::Saved(files), self.change),
        };
        let question = Question {
            policy: &policy,
            document: &document,
            change: &change,
            pipeline: &self.past.pipeline,
        };
        let (candidate, history) = question.answer(past)?;
        let judgement = judge::judge(&policy, &candidate, &history);
        let subject = Subject {
            series: &candidate.series,
            commit: candidate.commit.as_ref(),
            config: &file_name(&self.config),
            judgement: &judgement,
        };
        self.reports.write(&subject)?;
        Ok(match judgement.conclusion() {
            Conclusion::Passed => Outcome::Passed,
            Conclusion::Regression => Outcome::Regression,
            Conclusion::Undecided => Outcome::Undecided,
        })
    }
}

impl ChangeArgs {
    /// With what no flag says looked up, and told where it was found.
    fn complete(self) -> anyhow::Result<Self> {
        let mut detector = Detector::here(self.commit);
        let change = Self {
            repo: detector.repo(self.repo),
            branch: detector.branch(self.branch),
            commit: detector.commit_if_known(),
        };
        let told = detector.told_by_others();
        if !told.is_empty() {
            note(format_args!("the change: {}", told.join(", ")));
        }
        let faults = detector.faults();
        anyhow::ensure!(
            faults.is_empty(),
            "what is judged is not known{}",
            lines(faults)
        );
        Ok(change)
    }
}

/// What is asked of the past.
struct Question<'a> {
    policy: &'a Policy,
    document: &'a Document,
    change: &'a ChangeArgs,
    pipeline: &'a Pipeline,
}

impl Question<'_> {
    /// The candidate and its history. Nothing is fetched for a document that cannot be judged.
    fn answer(&self, past: Past<'_>) -> anyhow::Result<(Candidate, History)> {
        match past {
            Past::Saved(files) => {
                let saved = history::read(files, self)?;
                Ok((self.candidate(saved.series), saved.history))
            }
            Past::Service(args) => {
                let branch = self.change.branch.clone().context("--branch is missing")?;
                let candidate = self.candidate(document::series(self.document, branch));
                if !judge::obstacles(self.policy, &candidate).is_empty() {
                    return Ok((candidate, History::new()));
                }
                let client = super::client::open(args)?;
                let fetched = history::fetch(&client, &candidate, self);
                let history = super::runtime()?.block_on(fetched)?;
                Ok((candidate, history))
            }
        }
    }

    fn candidate(&self, series: Series) -> Candidate {
        document::candidate(self.document, series, self.change.commit.clone())
    }
}

/// The rules in a file.
fn read_policy(path: &Path) -> anyhow::Result<Policy> {
    let shown = shown::path(path);
    let text = Input::of(path).text(MAX_CONFIG_BYTES).with_context(|| {
        format!("cannot read the rules in {shown}; `perf-tracking gate init` writes some")
    })?;
    Policy::parse(&text).map_err(|faults| {
        let faults = faults
            .lines()
            .map(|fault| format!("{}:{fault}", path.display()));
        anyhow::anyhow!("{shown} holds no rules that fit{}", lines(faults))
    })
}

/// A file's name, for what is said of its lines.
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
