//! `perf-tracking gate calibrate`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::document;
use super::past::SeriesHistoryArgs;
use super::replay::rules_or_built_in;
use crate::commands::{Outcome, print};
use crate::domain::{MetricName, Value};
use crate::judge::calibrate::{FEWEST_RUNS, calibrate};
use crate::judge::replay::replay;
use crate::judge::{K, Policy};
use crate::report::{self, Calibration};

/// Propose floors that fit the history: a gate.toml, with the reason beside each
///
/// A floor is the largest change that turned out to be nothing, rounded up: the next run came back.
/// Documents of one commit, measured several times, say how far its passes lie apart. The text
/// tells what share of the stored commits the rules would have failed, and what k = "auto" would
/// cost and save.
#[derive(Args, Debug)]
pub(super) struct CalibrateArgs {
    /// File with the rules to start from [default: gate.toml if it is there, else the built-in rules]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// File with a document of one commit, measured again; repeatable
    #[arg(long, value_name = "FILE")]
    document: Vec<PathBuf>,

    #[command(flatten)]
    past: SeriesHistoryArgs,
}

impl CalibrateArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let (name, policy) = rules_or_built_in(self.config.as_deref())?;
        let mut passes: BTreeMap<MetricName, Vec<Value>> = BTreeMap::new();
        for path in &self.document {
            let document = document::read(std::slice::from_ref(path))?;
            for metric in &document.metrics {
                let values = passes.entry(metric.name.clone()).or_default();
                values.push(metric.value);
            }
        }
        let (series, history) = self.past.read()?;
        let proposals = calibrate(&policy, &history, &passes);
        anyhow::ensure!(
            !proposals.is_empty(),
            "no metric of {series} has {FEWEST_RUNS} runs, and fewer say nothing about noise"
        );
        let rules = report::proposed_rules(&policy, &proposals);
        let proposed = Policy::parse(&rules).map_err(|faults| anyhow::anyhow!("{faults}"));
        let proposed = proposed.context("the proposed rules do not fit")?;
        // All but the floors is as it was, so that the floors alone make the difference.
        let proposed = Policy {
            rules: proposed.rules,
            ..policy.clone()
        };
        let mut automatic = proposed.clone();
        automatic.windows.k = K::Auto;
        let calibration = Calibration {
            series: &series,
            config: &name,
            rules: &rules,
            now: replay(&policy, &series, &history),
            fixed: replay(&proposed, &series, &history),
            automatic: replay(&automatic, &series, &history),
            k: proposed.windows.k,
        };
        print(&calibration.text())
    }
}
