//! `perf-tracking gate`: holds a change to what its project has committed to.

mod accept;
mod calibrate;
mod check;
mod document;
mod explain;
mod hint;
mod history;
mod init;
mod judging;
mod nearest;
mod output;
mod past;
mod replay;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};

use super::Outcome;
use crate::files::input::{Input, MAX_CONFIG_BYTES, lines};
use crate::judge::{Conclusion, Policy};
use crate::report::{NothingMeasured, TextForm};
use crate::terminal::{note, shown, width};

use judging::{Judged, QuestionArgs};
use output::Reports;

/// Judge a change: hold what it measured against the history of what has been merged
///
/// Reads a document and the rules in gate.toml, fetches the newest values of the same series, and
/// prints a line for every metric that moved, the worst first. A metric fails where it is worse
/// than the mean by more than max(k times the deviation, a floor); on the limit it passes.
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
    Check(check::CheckArgs),
    Explain(explain::ExplainArgs),
    Accept(Box<accept::AcceptArgs>),
    Calibrate(Box<calibrate::CalibrateArgs>),
    Replay(Box<replay::ReplayArgs>),
}

#[derive(Args, Debug)]
struct JudgeArgs {
    /// File with the document to judge; `-` is standard input. Repeatable: medians are judged
    ///
    /// Several documents of one commit must have the same metrics and parameters.
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "nothing_measured"
    )]
    document: Vec<PathBuf>,

    /// List the runs of every window, and those that are left out, and why
    #[arg(long)]
    explain: bool,

    /// Pass without a measurement, and say why: the change touches nothing that is measured
    #[arg(long, value_name = "WHY", conflicts_with_all = ["document", "explain", "bisect"])]
    nothing_measured: Option<String>,

    /// Exit with 125 where nothing could be judged, as `git bisect run` wants it
    #[arg(long)]
    bisect: bool,

    #[command(flatten)]
    question: QuestionArgs,
    #[command(flatten)]
    reports: Reports,
}

pub(in crate::commands) const DEFAULT_CONFIG: &str = "gate.toml";

const EXAMPLES: &str = "\
Exit codes:
  0    nothing got worse
  1    a regression
  2    wrong use, a broken file, or the service could not be reached or refused
  3    could not judge: too little history, a metric missing, an outlier, other parameters
  125  with --bisect, in place of 2 and 3

Examples:
  Once, and then commit it:
    perf-tracking gate init

  In the job that judges a change:
    perf-tracking gate --document metrics.json --markdown comment.md --junit gate.xml

  The same, where no CI and no checkout says what the change is:
    perf-tracking gate --document metrics.json --repo drizzle --branch main

  Three measurements of one commit, judged by their medians:
    perf-tracking gate --document 1.json --document 2.json --document 3.json

  A change of the documentation:
    perf-tracking gate --nothing-measured 'only the manual changed'

  Without a service, from a history that was saved before:
    perf-tracking history --workload perf --branch main --arch amd64 --distro trixie \\
      --limit 21 --format json > history.json
    perf-tracking gate --document metrics.json --history history.json

  Find the commit that got slower:
    git bisect run sh -c 'make && perf-tracking measure … -o metrics.json || exit 125
      perf-tracking gate --document metrics.json --base GOOD --bisect'";

impl GateArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        match self.command {
            Some(GateCommand::Init(args)) => args.run(),
            Some(GateCommand::Check(args)) => args.run(),
            Some(GateCommand::Explain(args)) => args.run(),
            Some(GateCommand::Accept(args)) => args.run(),
            Some(GateCommand::Calibrate(args)) => args.run(),
            Some(GateCommand::Replay(args)) => args.run(),
            None => self.judge.run(),
        }
    }
}

impl JudgeArgs {
    fn run(self) -> anyhow::Result<Outcome> {
        if let Some(why) = &self.nothing_measured {
            anyhow::ensure!(
                !why.trim().is_empty(),
                "--nothing-measured wants the reason why nothing was measured"
            );
            self.reports.write_nothing(&NothingMeasured::new(why))?;
            return Ok(Outcome::Passed);
        }
        let bisect = self.bisect;
        match self.judge() {
            Err(error) if bisect => {
                note(format_args!("error: {error:#}"));
                Ok(Outcome::Untestable)
            }
            Ok(Outcome::Undecided) if bisect => Ok(Outcome::Untestable),
            other => other,
        }
    }

    fn judge(self) -> anyhow::Result<Outcome> {
        let read = self.question.files(&self.document);
        self.reports.check(&read)?;
        let explained = self.explain || self.reports.has_json();
        let judged = self.question.judge(&self.document, explained)?;
        let form = TextForm {
            colour: output::has_colour(),
            columns: width::columns(),
            explain: self.explain,
        };
        self.reports.write(&judged.verdict(), form)?;
        let passed = judged.judgement.conclusion() == Conclusion::Passed;
        if let Some(hint) = judged.hint.as_ref().filter(|_| passed) {
            note(hint);
        }
        Ok(outcome(&judged, self.bisect))
    }
}

/// What a judgement comes to for the shell. To a bisection, a pass that judged nothing says nothing.
fn outcome(judged: &Judged, bisect: bool) -> Outcome {
    match judged.judgement.conclusion() {
        Conclusion::Passed if bisect && judged.judgement.judged() == 0 => Outcome::Undecided,
        Conclusion::Passed => Outcome::Passed,
        Conclusion::Regression => Outcome::Regression,
        Conclusion::Undecided => Outcome::Undecided,
    }
}

/// The rules in a file, and their text.
fn read_rules(path: &Path) -> anyhow::Result<(String, Policy)> {
    let shown = shown::path(path);
    let text = Input::of(path).text(MAX_CONFIG_BYTES).with_context(|| {
        format!("cannot read the rules in {shown}; `perf-tracking gate init` writes some")
    })?;
    let policy = parse_rules(&text, path)?;
    Ok((text, policy))
}

/// The rules in a file.
pub(in crate::commands) fn read_policy(path: &Path) -> anyhow::Result<Policy> {
    Ok(read_rules(path)?.1)
}

/// The rules in a text, whose faults are told as those of `path`.
fn parse_rules(text: &str, path: &Path) -> anyhow::Result<Policy> {
    Policy::parse(text).map_err(|faults| {
        let faults = faults
            .lines()
            .map(|fault| format!("{}:{fault}", path.display()));
        let shown = shown::path(path);
        anyhow::anyhow!("{shown} holds no rules that fit{}", lines(faults))
    })
}

/// A file's name, for what is said of its lines.
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
