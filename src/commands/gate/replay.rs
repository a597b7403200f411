//! `perf-tracking gate replay`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::past::SeriesHistoryArgs;
use super::{DEFAULT_CONFIG, file_name, read_policy};
use crate::commands::{Outcome, print};
use crate::judge::Policy;
use crate::judge::replay::replay;
use crate::report;

/// Judge every stored commit by those before it, and say what would have failed
///
/// One line a commit, oldest first. With --rules, the verdicts of two rule files stand beside one
/// another. The exit code is 0 whatever would have failed.
#[derive(Args, Debug)]
pub(super) struct ReplayArgs {
    /// File with the rules [default: gate.toml if it is there, else the built-in rules]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// File with other rules, to compare
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,

    #[command(flatten)]
    past: SeriesHistoryArgs,
}

impl ReplayArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let (name, policy) = rules_or_built_in(self.config.as_deref())?;
        let other = match &self.rules {
            Some(path) => Some((file_name(path), read_policy(path)?)),
            None => None,
        };
        let (series, history) = self.past.read()?;
        let one = replay(&policy, &series, &history);
        let other = other.map(|(name, policy)| (name, replay(&policy, &series, &history)));
        print(&report::replay(
            &series,
            (&name, &one),
            other.as_ref().map(|(n, r)| (n.as_str(), r)),
        ))
    }
}

/// The rules in a file and its name; without one those of `gate.toml`, or the built-in ones.
pub(super) fn rules_or_built_in(path: Option<&Path>) -> anyhow::Result<(String, Policy)> {
    let default = Path::new(DEFAULT_CONFIG);
    match path.or_else(|| default.exists().then_some(default)) {
        Some(path) => Ok((file_name(path), read_policy(path)?)),
        None => Ok(("the built-in rules".to_owned(), Policy::default())),
    }
}
