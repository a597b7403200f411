//! `/v1/series`: every series at a glance.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::AppState;
use super::params::Params;
use super::problem::{BadQuery, Problem, Refusals};
use super::query_schema::SeriesParams;
use super::rights::CanRead;
use crate::domain::{Arch, Branch, DimKey, Distro, MetricKey, Repo, RunDate, Value, Workload};
use crate::store::{RunId, SeriesFilter, SeriesMetric, SeriesSummary};

/// Every series.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SeriesAnswer {
    /// The series, ordered by workload, branch, architecture and distribution.
    pub series: Vec<SeriesBody>,
}

/// A series and what it holds.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SeriesBody {
    /// What was run.
    #[schema(value_type = String)]
    pub workload: Workload,
    /// The branch.
    #[schema(value_type = String)]
    pub branch: Branch,
    /// The architecture.
    #[schema(value_type = String)]
    pub arch: Arch,
    /// The distribution.
    #[schema(value_type = String)]
    pub distro: Distro,
    /// The repositories that its runs are of.
    #[schema(value_type = Vec<String>)]
    pub repos: Vec<Repo>,
    /// All its runs: live and reference, succeeded and failed.
    pub run_count: i64,
    /// The oldest run's date.
    #[schema(value_type = String, format = DateTime)]
    pub first_run_date: RunDate,
    /// The newest run's date.
    #[schema(value_type = String, format = DateTime)]
    pub last_run_date: RunDate,
    /// The metrics that it ever had, ordered by name.
    pub metrics: Vec<SeriesMetricBody>,
}

/// A metric of a series, and its value in the newest run that succeeded and has it.
///
/// The four fields of that run are `null` where only failed runs have the metric.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SeriesMetricBody {
    /// What was measured.
    #[schema(value_type = String)]
    pub metric_key: MetricKey,
    /// With which parameters.
    #[schema(value_type = String)]
    pub dim_key: DimKey,
    /// The newest value.
    #[schema(value_type = Option<f64>, required)]
    pub value: Option<Value>,
    /// Whether it was read off a real clock.
    #[schema(required)]
    pub wallclock: Option<bool>,
    /// The run that it is of.
    #[schema(value_type = Option<i64>, required)]
    pub run_id: Option<RunId>,
    /// The run's date.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    pub run_date: Option<RunDate>,
}

/// List every series.
///
/// Each with its repositories, how many runs it has, from when to when, and the newest value of
/// each metric.
#[utoipa::path(
    get,
    path = "/v1/series",
    tag = "history",
    security(("token" = ["runs:read"])),
    params(SeriesParams),
    responses(
        (status = 200, description = "The series", body = SeriesAnswer),
        BadQuery,
        Refusals,
    )
)]
pub(super) async fn list(
    State(state): State<AppState>,
    _right: CanRead,
    mut params: Params,
) -> Result<Json<SeriesAnswer>, Problem> {
    let filter = SeriesFilter {
        workload: params.optional("workload"),
        branch: params.optional("branch"),
        arch: params.optional("arch"),
        distro: params.optional("distro"),
        repo: params.optional("repo"),
    };
    let filter = params.finish(Some(filter))?;
    let series = state.store.series(&filter).await?;
    Ok(Json(SeriesAnswer {
        series: series.into_iter().map(SeriesBody::from).collect(),
    }))
}

impl From<SeriesSummary> for SeriesBody {
    fn from(summary: SeriesSummary) -> Self {
        Self {
            workload: summary.series.workload,
            branch: summary.series.branch,
            arch: summary.series.arch,
            distro: summary.series.distro,
            repos: summary.repos,
            run_count: summary.run_count,
            first_run_date: summary.first_run_date,
            last_run_date: summary.last_run_date,
            metrics: summary
                .metrics
                .into_iter()
                .map(SeriesMetricBody::from)
                .collect(),
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
