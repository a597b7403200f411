//! Windows of a series.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, Schema};

use super::MetricValue;
use super::run::parameters;
use crate::domain::{
    Change, CommitSha, CommitSubject, DimKey, HostClass, MetricKey, Parameters, Patchset, Pipeline,
    Repo, RunDate, Series, Tag, parameters_text,
};
use crate::store::{MetricHistory, Point, RunHead};

/// The windows of a series.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HistoryAnswer {
    /// The series.
    pub series: Series,
    /// The metrics that have a point, ordered by name.
    pub metrics: Vec<MetricPoints>,
    /// What workloads were told: each set of parameters once. Points name the place of theirs in
    /// this list, counted from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(schema_with = parameter_sets, required = false)]
    pub parameter_sets: Vec<Parameters>,
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
    /// The first line of the commit's message, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub subject: Option<CommitSubject>,
    /// Whether the run was taken back. Left out for a run that counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub voided: bool,
    /// What the workload was told: the place of it in `parameter_sets`, where it was told anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub parameter_set: Option<usize>,
}

fn parameter_sets() -> Schema {
    ArrayBuilder::new().items(RefOr::T(parameters())).into()
}

impl HistoryAnswer {
    /// The answer that `metrics` of `series` make, with the cursor `next`.
    pub fn new(series: Series, metrics: Vec<MetricHistory>, next: Option<String>) -> Self {
        let mut sets = ParameterSets::default();
        let metrics = metrics.into_iter().map(|metric| MetricPoints {
            metric_key: metric.name.metric_key,
            dim_key: metric.name.dim_key,
            wallclock: metric.wallclock,
            points: metric
                .points
                .into_iter()
                .map(|point| PointBody::new(point, &mut sets))
                .collect(),
        });
        Self {
            series,
            metrics: metrics.collect(),
            parameter_sets: sets.list,
            next,
        }
    }
}

/// Sets of parameters, each once: a window has the same ones in nearly every point.
#[derive(Default)]
struct ParameterSets {
    list: Vec<Parameters>,
    by_text: HashMap<String, usize>,
    by_run: HashMap<i64, usize>,
}

impl ParameterSets {
    /// The place of the parameters of `run` in the list; `None` if it has none.
    fn place(&mut self, run: &RunHead) -> Option<usize> {
        let parameters = &run.details.parameters;
        if parameters.is_empty() {
            return None;
        }
        if let Some(&place) = self.by_run.get(&run.run_id) {
            return Some(place);
        }
        let place = *self
            .by_text
            .entry(parameters_text(parameters))
            .or_insert_with(|| {
                self.list.push(parameters.clone());
                self.list.len() - 1
            });
        self.by_run.insert(run.run_id, place);
        Some(place)
    }
}

impl PointBody {
    fn new(point: Point, sets: &mut ParameterSets) -> Self {
        let value = point.value;
        let parameter_set = sets.place(&point.run);
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
            voided: run.details.voided.is_some(),
            subject: run.details.subject,
            parameter_set,
        }
    }
}
