//! `perf-tracking measure -- PROGRAM ARGS`.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;

use super::Target;
use crate::commands::{Outcome, runtime};
use crate::domain::Metric;
use crate::files::gathered::{Gathered, read_binary};
use crate::files::sizes::SizeArgs;
use crate::judge::spread;
use crate::measure::program::{Failure, Measured, Plan, Progress, Subject, describe};
use crate::measure::valgrind::{self, Tool};
use crate::report;
use crate::terminal::note;

/// What is run, and how.
#[derive(Args, Debug)]
#[command(next_help_heading = "How it is run")]
pub(super) struct ProgramArgs {
    /// The tools, each a pass of its own. Repeatable; both where left out
    #[arg(long = "tool", value_name = "TOOL", value_enum)]
    tools: Vec<Tool>,
    /// Run each pass so often, say how far the passes differ, and take of each metric the value in
    /// the middle, the lower of two
    #[arg(long, value_name = "N", default_value = "1")]
    repeat: NonZeroU32,
    /// Count the programs that it starts (exec), too
    #[arg(long)]
    trace_children: bool,
    /// Count this region of the program alone, and not the whole program. The program marks its regions
    /// with perf-instrument; without this flag each is counted beside the whole
    #[arg(long, value_name = "NAME")]
    region: Option<String>,
    /// What it reads on standard input, from its start in every pass; nothing where left out
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Give it no environment variable but PATH and those of --env
    #[arg(long)]
    env_clear: bool,
    /// Set an environment variable for it. Repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<Variable>,
    /// Keep what valgrind leaves, in a new folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    #[command(flatten, next_help_heading = "Sizes (beside the program's own)")]
    sizes: SizeArgs,

    /// The program, and its arguments
    #[arg(value_name = "PROGRAM", required = true, last = true)]
    program: Vec<OsString>,
}

/// An environment variable.
#[derive(Clone, Debug)]
struct Variable(OsString, OsString);

impl FromStr for Variable {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
        let (name, value) = parts.ok_or("must be NAME=VALUE, such as LC_ALL=C")?;
        Ok(Self(name.into(), value.into()))
    }
}

/// Kept when all else is cleared: where programs are, and where an uncommon valgrind has its tools.
const NEEDED: [&str; 2] = ["PATH", "VALGRIND_LIB"];

impl ProgramArgs {
    pub(super) fn run(self, mut target: Target) -> anyhow::Result<Outcome> {
        let (name, args) = self.program.split_first().context("name a program")?;
        let subject = Subject::find(name)?;
        let mut gathered = Gathered::default();
        self.gather_sizes(&subject, &mut gathered);
        // What is wrong with them is known before hours are spent.
        let sizes = gathered.finish()?;
        let plan = self.plan(subject, args.to_vec());
        target.measured.tool = valgrind::version();
        if plan.tools.contains(&Tool::Callgrind) {
            target.measured.caches = Some(valgrind::caches());
        }
        match runtime()?.block_on(plan.measure(&mut say))? {
            Measured::Numbers(numbers) => {
                let mut metrics = in_the_middle(&numbers, self.repeat)?;
                metrics.extend(sizes);
                target.write(true, metrics).map(|()| Outcome::Passed)
            }
            Measured::Failed(failure) => {
                target.write(false, Vec::new())?;
                bail!(explain(&failure, name))
            }
        }
    }

    fn plan(&self, subject: Subject, args: Vec<OsString>) -> Plan {
        let mut tools = self.tools.clone();
        if tools.is_empty() {
            tools = vec![Tool::Callgrind, Tool::Massif];
        }
        tools.sort_unstable();
        tools.dedup();
        Plan {
            subject,
            args,
            tools,
            repeat: self.repeat,
            trace_children: self.trace_children,
            region: self.region.clone(),
            stdin: self.stdin.clone(),
            environment: self.environment(),
            keep: self.keep.clone(),
        }
    }

    /// In the order of their names, so that the order of the flags moves nothing.
    fn environment(&self) -> BTreeMap<OsString, OsString> {
        let inherited =
            env::vars_os().filter(|(name, _)| !self.env_clear || NEEDED.iter().any(|n| name == n));
        let given = self
            .env
            .iter()
            .cloned()
            .map(|Variable(name, value)| (name, value));
        inherited.chain(given).collect()
    }

    /// The sizes that are asked for, and that of the program unless it is one of them.
    fn gather_sizes(&self, subject: &Subject, gathered: &mut Gathered) {
        self.sizes.gather(gathered);
        let same = |path: &PathBuf| match (fs::canonicalize(path), fs::canonicalize(subject.path()))
        {
            (Ok(named), Ok(own)) => named == own,
            _ => false,
        };
        let path = subject.path();
        if self.sizes.binaries().any(same) {
            return;
        }
        if subject.is_script() {
            note(format_args!(
                "{} is a script: what is measured is its interpreter, and it has no size; --binary adds one",
                path.display()
            ));
            return;
        }
        let read = read_binary(path, None)
            .and_then(|sizes| sizes.of_files().map_err(|error| error.to_string()));
        gathered.take(path, read);
    }
}

fn say(progress: Progress<'_>) {
    match progress {
        Progress::Began(pass) => note(format_args!("{pass} begins")),
        Progress::Ended(pass, took, what) => {
            note(format_args!(
                "{pass} took {:.1} s: {what}",
                took.as_secs_f64()
            ));
        }
    }
}

/// Of each metric the value in the middle; where there are several, the table of all.
fn in_the_middle(numbers: &[Vec<Vec<Metric>>], repeat: NonZeroU32) -> anyhow::Result<Vec<Metric>> {
    let mut rows = Vec::new();
    for passes in numbers {
        rows.extend(spread::across(passes).map_err(|name| {
            anyhow!(
                "{} was not measured in every pass; have the program do the same in each",
                name.metric_key
            )
        })?);
    }
    if repeat.get() > 1 {
        note(report::spread(&rows).trim_end_matches('\n'));
    }
    Ok(rows.into_iter().map(|(metric, _)| metric).collect())
}

fn explain(failure: &Failure, name: &OsStr) -> String {
    let mut text = format!(
        "{}: `{}` ended with {}; the document says that it failed, and holds no metric",
        failure.pass,
        name.to_string_lossy(),
        describe(failure.status)
    );
    if let Some(log) = &failure.log {
        text.push_str(&format!("\nvalgrind said:\n{log}"));
    }
    text
}
