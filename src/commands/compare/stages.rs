//! The stages of a comparison that only read files: `assemble`, `judge`, `report`.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::{DEFAULT_CONTRACT, Read, outcome, read_contract, read_record, record_path};
use crate::collect::plural;
use crate::commands::{Outcome, print};
use crate::files::input::Input;
use crate::files::whole_file;
use crate::judge::comparison::{Verdict, evaluate};
use crate::measure::comparison::{self, Layout};
use crate::report::comparison as report;
use crate::terminal::shown;

/// Make record.json of the trials in a folder
///
/// Refuses a copy of the contract whose SHA-256 is not the one that was written before the first
/// trial. A trial that is missing is left out, and `judge` rejects the comparison for it.
#[derive(Args, Debug)]
pub(in crate::commands) struct AssembleArgs {
    /// Folder that `compare run` wrote
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Judge a record by its contract, and write verdict.json beside it
///
/// Refuses a record that was run under another contract, or that was changed by hand.
#[derive(Args, Debug)]
pub(in crate::commands) struct JudgeArgs {
    /// record.json, or the folder that holds it
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// File with the contract, as it is committed
    #[arg(long, value_name = "FILE", default_value = DEFAULT_CONTRACT)]
    contract: PathBuf,
    /// Where the verdict goes; verdict.json beside the record where left out
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Print a verdict, and write report.md and report.html beside it
///
/// The reports are rendered from record.json and verdict.json and from nothing else. The exit code
/// is that of the verdict.
#[derive(Args, Debug)]
pub(in crate::commands) struct ReportArgs {
    /// record.json, or the folder that holds it
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// File with the verdict; verdict.json beside the record where left out
    #[arg(long, value_name = "FILE")]
    verdict: Option<PathBuf>,
}

impl AssembleArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let layout = Layout::of(&self.folder);
        let trials = assemble(&layout)?;
        print(&format!(
            "wrote {} of {}\n",
            shown::path(&layout.record()),
            plural(trials, "trial")
        ))
    }
}

impl JudgeArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let read = read_contract(&self.contract)?;
        let record = record_path(&self.record);
        let output = self
            .output
            .unwrap_or_else(|| beside(&record, "verdict.json"));
        let verdict = judge(&record, &read, &output)?;
        print(&format!(
            "{}: {}\n{}\n",
            verdict.contract.name,
            verdict.result.words(),
            verdict.summary
        ))?;
        Ok(outcome(verdict.result))
    }
}

impl ReportArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let record = record_path(&self.record);
        let verdict = self
            .verdict
            .unwrap_or_else(|| beside(&record, "verdict.json"));
        print(&report(&record, &verdict)?)?;
        let seal = read_record(&record)?.seal;
        Ok(outcome(read_verdict(&verdict, &seal)?.result))
    }
}

fn beside(path: &Path, name: &str) -> PathBuf {
    path.with_file_name(name)
}

/// Writes the record of a folder; answers how many trials it has.
pub(super) fn assemble(layout: &Layout) -> anyhow::Result<usize> {
    let (record, _) = comparison::assemble(layout)?;
    whole_file::write(&layout.record(), &record.to_text()?)?;
    Ok(record.trials.len())
}

/// Judges a record, and writes the verdict.
pub(super) fn judge(record: &Path, read: &Read, output: &Path) -> anyhow::Result<Verdict> {
    let shown = shown::path(record);
    let record = read_record(record)?;
    let verdict = evaluate(&record, &read.contract, &read.sha)
        .with_context(|| format!("{shown} cannot be judged"))?;
    whole_file::write(output, &verdict.to_text()?)?;
    Ok(verdict)
}

/// Writes the reports beside the record, and answers the one for a terminal.
pub(super) fn report(record: &Path, verdict: &Path) -> anyhow::Result<String> {
    let markdown = beside(record, "report.md");
    let html = beside(record, "report.html");
    let record = read_record(record)?;
    let verdict = read_verdict(verdict, &record.seal)?;
    let subject = report::Subject::new(&record, &verdict);
    whole_file::write(&markdown, &report::markdown(&subject))?;
    whole_file::write(&html, &report::html(&subject)?)?;
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Ok(report::text(
        &subject,
        !refused && io::stdout().is_terminal(),
    ))
}

fn read_verdict(path: &Path, record: &crate::judge::comparison::Sha) -> anyhow::Result<Verdict> {
    let shown = shown::path(path);
    let text = Input::of(path)
        .text(super::MAX_RECORD_BYTES)
        .with_context(|| format!("cannot read the verdict in {shown}"))?;
    Verdict::parse(&text, record).with_context(|| format!("{shown} cannot be shown"))
}
