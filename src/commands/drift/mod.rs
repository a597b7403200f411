//! `perf-tracking drift`: what creeps.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::past::{Fetched, SelectArgs};
use super::{Outcome, client, print};
use crate::commands::flags::ClientArgs;
use crate::domain::Tag;
use crate::files::whole_file;
use crate::judge::drift::{self, Limits, Rule, Status};
use crate::judge::{Fraction, Policy};
use crate::report::drift::{Row, json, junit, markdown, text};

/// Show what drifts: metrics that get a little worse with each run
///
/// Each change may pass the gate and the year be much slower. For the newest runs of each metric
/// this fits a line and compares the change that it makes with the limits. A step is told as a
/// step, and what came since is judged alone; an accepted step of gate.toml starts the window anew.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct DriftArgs {
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    limits: LimitArgs,

    /// A report as Markdown, in place of the text or into FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-", help_heading = OUTPUT)]
    markdown: Option<PathBuf>,
    /// All numbers as JSON, in place of the text or into FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-", help_heading = OUTPUT)]
    json: Option<PathBuf>,
    /// JUnit XML, a test case for each metric, in place of the text or into FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-", help_heading = OUTPUT)]
    junit: Option<PathBuf>,

    #[command(flatten)]
    client: ClientArgs,
}

const OUTPUT: &str = "Reports (several at once)";

#[derive(Args, Debug)]
#[command(next_help_heading = "What is drift")]
struct LimitArgs {
    /// How many of the newest runs make the window
    #[arg(long, value_name = "COUNT", default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(5..=10_000))]
    last: u32,
    /// A change for the worse by more than this is a warning
    #[arg(long, value_name = "PERCENT", default_value = "10 %")]
    warn: Fraction,
    /// A change for the worse by more than this is drift
    #[arg(long, value_name = "PERCENT", default_value = "15 %")]
    drift: Fraction,
    /// Which change is compared with the limits
    #[arg(long, value_name = "RULE", default_value = "fitted")]
    rule: RuleArg,
    /// Compare the newest level with the reference run of this name, too
    ///
    /// This finds the creep that is too slow for any window.
    #[arg(long, value_name = "TAG")]
    baseline: Option<Tag>,
}

/// Which change is compared with the limits.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum RuleArg {
    /// That of a robust line through all values, where the trend is significant.
    Fitted,
    /// That from the first value to the last.
    FirstToLast,
}

const EXAMPLES: &str = "\
Exit codes:
  0  nothing drifts
  1  a metric drifts
  2  wrong use, or the service could not be reached or refused
  3  could not judge: no metric has five runs

Examples:
  In a scheduled job, with the report as its summary:
    perf-tracking drift --repo drizzle --markdown \"$GITHUB_STEP_SUMMARY\"

  Against the last release:
    perf-tracking drift --baseline 14.04";

impl DriftArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let limits = self.limits.check()?;
        let policy = self.select.policy()?;
        let client = client::open(self.client)?;
        let last = self.limits.last as usize;
        let fetched = self
            .select
            .fetch(&client, &policy, last, self.limits.baseline.as_ref());
        let fetched = super::runtime()?.block_on(fetched)?;
        let mut rows: Vec<Row> = fetched
            .iter()
            .map(|fetched| row(fetched, &policy, limits, last))
            .collect();
        rows.sort_by(|one, other| other.worst_first(one));
        let mut on_stdout = None;
        for (target, form) in [
            (
                &self.markdown,
                markdown as fn(&[Row], Limits) -> anyhow::Result<String>,
            ),
            (&self.json, json),
            (&self.junit, junit),
        ] {
            match target {
                None => {}
                Some(path) if path.as_os_str() == "-" => on_stdout = Some(form(&rows, limits)?),
                Some(path) => whole_file::write(path, &form(&rows, limits)?)?,
            }
        }
        print(&on_stdout.map_or_else(|| text(&rows, limits), Ok)?)?;
        Ok(outcome(&rows))
    }
}

impl LimitArgs {
    fn check(&self) -> anyhow::Result<Limits> {
        let limits = Limits {
            warn: self.warn.to_f64() * 100.0,
            drift: self.drift.to_f64() * 100.0,
            rule: match self.rule {
                RuleArg::Fitted => Rule::Fitted,
                RuleArg::FirstToLast => Rule::FirstToLast,
            },
        };
        anyhow::ensure!(
            limits.warn <= limits.drift,
            "--warn {} is above --drift {}, so that nothing would be a warning; swap them",
            self.warn,
            self.drift
        );
        Ok(limits)
    }
}

fn row<'a>(fetched: &'a Fetched, policy: &Policy, limits: Limits, last: usize) -> Row<'a> {
    let past = &fetched.past;
    let restart = past
        .restart(policy)
        .max(past.points.len().saturating_sub(last));
    let points = &past.points[restart..];
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let worse = policy.terms(&past.name).worse;
    let found = drift::judge(&values, worse, limits);
    Row::new(
        past,
        points,
        worse,
        found,
        fetched.reference.as_ref(),
        limits,
    )
}

fn outcome(rows: &[Row]) -> Outcome {
    if rows.iter().any(|row| row.status == Status::Drift) {
        return Outcome::Regression;
    }
    match rows.iter().all(|row| row.status == Status::Insufficient) {
        true => Outcome::Undecided,
        false => Outcome::Passed,
    }
}
