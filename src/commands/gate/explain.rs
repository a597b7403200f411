//! `perf-tracking gate explain`.

use std::path::PathBuf;

use clap::Args;

use super::{DEFAULT_CONFIG, file_name, read_policy};

use crate::commands::{Outcome, print};

use crate::domain::{DimKey, MetricKey, MetricName};
use crate::report;

/// Show which rule holds for a metric, and which others it overrules
#[derive(Args, Debug)]
pub(super) struct ExplainArgs {
    /// The metric, such as callgrind.ir
    #[arg(value_name = "METRIC")]
    metric: MetricKey,

    /// Its dimension, such as `threads=16` [default: none, as a scalar metric has]
    #[arg(long, value_name = "KEY")]
    dim: Option<DimKey>,

    /// File with the rules
    #[arg(long, value_name = "FILE", default_value = DEFAULT_CONFIG)]
    config: PathBuf,
}

impl ExplainArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let policy = read_policy(&self.config)?;
        let name = MetricName {
            metric_key: self.metric,
            dim_key: self.dim.unwrap_or_else(DimKey::scalar),
        };
        print(&report::explain(&policy, &name, &file_name(&self.config)))
    }
}
