//! Series at a glance.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::MetricValue;
use crate::domain::{Arch, Branch, DimKey, Distro, MetricKey, Repo, RunDate, Workload};
use crate::store::{SeriesMetric, SeriesSummary};

/// Some series.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SeriesAnswer {
    /// The series, ordered by workload, branch, architecture and distribution.
    pub series: Vec<SeriesBody>,
    /// The `cursor` of the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
}

/// A series and what it holds.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SeriesBody {
    /// What was run.
    pub workload: Workload,
    /// The branch.
    pub branch: Branch,
    /// The architecture.
    pub arch: Arch,
    /// The distribution.
    pub distro: Distro,
    /// The repositories that its runs are of.
    pub repos: Vec<Repo>,
    /// All its runs: live and reference, succeeded and failed.
    pub run_count: i64,
    /// The oldest run's date.
    pub first_run_date: RunDate,
    /// The newest run's date.
    pub last_run_date: RunDate,
    /// The metrics that it ever had, ordered by name. Where they do not fit on one page, the series
    /// stands on the next page again, with the rest of them.
    pub metrics: Vec<SeriesMetricBody>,
}

/// A metric of a series, and its value in the newest run that succeeded and has it.
///
/// The four fields of that run are `null` where only failed runs have the metric.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SeriesMetricBody {
    /// What was measured.
    pub metric_key: MetricKey,
    /// With which parameters.
    pub dim_key: DimKey,
    /// The newest value.
    #[schema(required)]
    pub value: Option<MetricValue>,
    /// Whether it was read off a real clock.
    #[schema(required)]
    pub wallclock: Option<bool>,
    /// The run that it is of.
    #[schema(required)]
    pub run_id: Option<i64>,
    /// The run's date.
    #[schema(required)]
    pub run_date: Option<RunDate>,
}

impl From<SeriesSummary> for SeriesBody {
    fn from(summary: SeriesSummary) -> Self {
        let metrics = summary.metrics.into_iter();
        Self {
            workload: summary.series.workload,
            branch: summary.series.branch,
            arch: summary.series.arch,
            distro: summary.series.distro,
            repos: summary.repos,
            run_count: summary.run_count,
            first_run_date: summary.first_run_date,
            last_run_date: summary.last_run_date,
            metrics: metrics.map(SeriesMetricBody::from).collect(),
        }
    }
}

impl From<SeriesMetric> for SeriesMetricBody {
    fn from(metric: SeriesMetric) -> Self {
        Self {
            metric_key: metric.name.metric_key,
            dim_key: metric.name.dim_key,
            value: metric.newest.map(|newest| newest.value),
            wallclock: metric.newest.map(|newest| newest.wallclock),
            run_id: metric.newest.map(|newest| newest.run_id),
            run_date: metric.newest.map(|newest| newest.run_date),
        }
    }
}
