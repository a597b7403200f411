//! One number of a run.

use serde::{Deserialize, Serialize};

use super::{DimKey, MetricKey, Value};

/// What a metric is called within a run: no run has two of one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MetricName {
    /// What was measured.
    pub metric_key: MetricKey,
    /// With which parameters.
    pub dim_key: DimKey,
}

/// One number of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// Its name.
    #[serde(flatten)]
    pub name: MetricName,
    /// The number, in the unit that the key stands for.
    pub value: Value,
    /// Whether it was read off a real clock, and so holds for one class of hosts alone.
    pub wallclock: bool,
}
