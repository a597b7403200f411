//! Windows of a series.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::MetricValue;
use crate::domain::{
    Change, CommitSha, DimKey, HostClass, MetricKey, Patchset, Pipeline, Repo, RunDate, Series, Tag,
};
use crate::store::{MetricHistory, Point};

/// The windows of a series.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HistoryAnswer {
    /// The series.
    pub series: Series,
    /// The metrics that have a point, ordered by name.
    pub metrics: Vec<MetricPoints>,
    /// The `cursor` of the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
}

/// The window of one metric.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MetricPoints {
    /// What was measured.
    pub metric_key: MetricKey,
    /// With which parameters.
    pub dim_key: DimKey,
    /// Whether the newest point was read off a real clock.
    pub wallclock: bool,
    /// The points, newest first by date and id.
    pub points: Vec<PointBody>,
}

/// One value of one run.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PointBody {
    /// The run.
    pub run_id: i64,
    /// The commit.
    pub commit_sha: CommitSha,
    /// Where the run stands in history.
    pub run_date: RunDate,
    /// The number.
    pub value: MetricValue,
    /// Empty for a live run.
    pub tag: Tag,
    /// The change that the commit came from.
    #[schema(required)]
    pub change: Option<Change>,
    /// The patch set of the change.
    #[schema(required)]
    pub patchset: Option<Patchset>,
    /// The repository.
    pub repo: Repo,
    /// The job that uploaded the run.
    pub pipeline: Pipeline,
    /// Where it was measured.
    pub host_class: HostClass,
    /// Whether the workload ran to its end.
    pub succeeded: bool,
}

impl From<MetricHistory> for MetricPoints {
    fn from(metric: MetricHistory) -> Self {
        Self {
            metric_key: metric.name.metric_key,
            dim_key: metric.name.dim_key,
            wallclock: metric.wallclock,
            points: metric.points.into_iter().map(PointBody::from).collect(),
        }
    }
}

impl From<Point> for PointBody {
    fn from(point: Point) -> Self {
        let value = point.value;
        let run = Arc::unwrap_or_clone(point.run);
        Self {
            run_id: run.run_id,
            commit_sha: run.commit_sha,
            run_date: run.run_date,
            value,
            tag: run.tag,
            change: run.change,
            patchset: run.patchset,
            repo: run.repo,
            pipeline: run.pipeline,
            host_class: run.host_class,
            succeeded: run.succeeded,
        }
    }
}
