//! `perf-tracking gate check`.

use std::path::PathBuf;

use clap::Args;

use super::{DEFAULT_CONFIG, document, file_name, read_policy};
use crate::commands::{Outcome, print};
use crate::judge::RuleOrigin;
use crate::judge::lint::{self, Remark};
use crate::terminal::{shown, tame};

/// Check the rules by themselves, and say what in them has no effect
///
/// Exits with 2 where the file cannot be used, with every fault and its line. Remarks change no
/// exit code.
#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    /// File with the rules
    #[arg(value_name = "FILE", default_value = DEFAULT_CONFIG)]
    file: PathBuf,

    /// Document whose metrics the rules should match; repeatable
    #[arg(long, value_name = "FILE")]
    document: Vec<PathBuf>,
}

impl CheckArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let policy = read_policy(&self.file)?;
        let mut remarks = lint::lint(&policy);
        if !self.document.is_empty() {
            let mut names = Vec::new();
            for path in &self.document {
                let document = document::read(std::slice::from_ref(path))?;
                names.extend(document.metrics.iter().map(|metric| metric.name.clone()));
            }
            let unmatched = policy.unmatched(names.iter());
            remarks.extend(unmatched.iter().filter_map(|rule| match rule.origin {
                RuleOrigin::BuiltIn => None,
                RuleOrigin::Line(line) => Some(Remark {
                    line,
                    text: format!(
                        "the rule `{}` matches no metric of the documents",
                        rule.pattern
                    ),
                }),
            }));
            remarks.sort();
        }
        let own = policy.rules.iter();
        let own = own
            .filter(|rule| rule.origin != RuleOrigin::BuiltIn)
            .count();
        let mut text = format!(
            "{} fits: {own} rules, {} accepted steps, {} renames\n",
            shown::path(&self.file),
            policy.accepted.len(),
            policy.renamed.len()
        );
        let name = file_name(&self.file);
        for remark in remarks {
            text += &tame(&format!("{name}:{}: {}", remark.line, remark.text));
            text.push('\n');
        }
        print(&text)
    }
}
