//! `perf-tracking gate accept`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::judging::QuestionArgs;
use super::{parse_rules, read_rules};
use crate::commands::{Outcome, print};
use crate::files::whole_file;
use crate::judge::accept::{self, Reason};
use crate::terminal::shown;

/// Accept what got worse: add an entry to gate.toml that lets it pass, with the reason
///
/// Judges the document as `gate` does, and appends an [[accepted]] entry for the metrics that got
/// worse, each up to a little more than it was measured at. Read the entry, and commit it with the
/// change.
#[derive(Args, Debug)]
pub(super) struct AcceptArgs {
    /// File with the document that got worse; repeatable, as for `gate`
    #[arg(long, value_name = "FILE", required = true)]
    document: Vec<PathBuf>,

    /// Why the step is meant
    #[arg(long, value_name = "REASON")]
    why: String,

    /// Who accepts it
    #[arg(long, value_name = "NAME")]
    by: String,

    /// Print the entry, and leave the file as it is
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    question: QuestionArgs,
}

impl AcceptArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let config = self.question.config.clone();
        let (text, _) = read_rules(&config)?;
        let judged = self.question.judge(&self.document, false)?;
        let reason = Reason {
            why: &self.why,
            by: &self.by,
        };
        let entries = accept::entries(&judged.judgement, &judged.candidate.series, reason);
        let Some(entries) = entries else {
            let summary = judged.verdict().summary().to_owned();
            print(&format!(
                "nothing got worse, and nothing is added\n{summary}\n"
            ))?;
            return Ok(Outcome::Passed);
        };
        if self.dry_run {
            return print(&entries);
        }
        let gap = if text.is_empty() || text.ends_with("\n\n") {
            ""
        } else if text.ends_with('\n') {
            "\n"
        } else {
            "\n\n"
        };
        let text = format!("{text}{gap}{entries}");
        parse_rules(&text, &config).context("the entry does not fit; nothing was written")?;
        let shown = shown::path(&config);
        whole_file::write(&config, &text)?;
        print(&format!(
            "{entries}\nadded to {shown}; read it, and commit it\n"
        ))
    }
}
