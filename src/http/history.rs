//! `/v1/history` and `/v1/baseline`: windows of a series.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::params::Params;
use super::problem::{BadQuery, Problem, Refusals};
use super::query_schema::HistoryParams;
use super::rights::CanRead;
use super::{AppState, cursor};
use crate::domain::{
    Arch, Branch, Change, CommitSha, DimKey, Distro, HostClass, MetricKey, Patchset, Pipeline,
    Repo, RunDate, Series, Tag, Value, Workload,
};
use crate::store::{
    History, HistoryQuery, MetricHistory, MetricSelection, Point, RunId, TagFilter,
};

/// What a window is taken over.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SeriesKey {
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
}

/// The windows of a series.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HistoryAnswer {
    /// The series.
    pub series: SeriesKey,
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
    #[schema(value_type = String)]
    pub metric_key: MetricKey,
    /// With which parameters.
    #[schema(value_type = String)]
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
    #[schema(value_type = i64)]
    pub run_id: RunId,
    /// The commit.
    #[schema(value_type = String)]
    pub commit_sha: CommitSha,
    /// Where the run stands in history.
    #[schema(value_type = String, format = DateTime)]
    pub run_date: RunDate,
    /// The number.
    #[schema(value_type = f64)]
    pub value: Value,
    /// Empty for a live run.
    #[schema(value_type = String)]
    pub tag: Tag,
    /// The change that the commit came from.
    #[schema(value_type = Option<String>, required)]
    pub change: Option<Change>,
    /// The patch set of the change.
    #[schema(value_type = Option<String>, required)]
    pub patchset: Option<Patchset>,
    /// The repository.
    #[schema(value_type = String)]
    pub repo: Repo,
    /// Who uploaded the run.
    #[schema(value_type = String)]
    pub pipeline: Pipeline,
    /// Where it was measured.
    #[schema(value_type = String)]
    pub host_class: HostClass,
    /// Whether the workload ran to its end.
    pub succeeded: bool,
}

/// What a window holds where the question does not say.
struct Defaults {
    tag: TagFilter,
    pipeline: Option<Pipeline>,
    kind: &'static str,
}

/// Read windows of a series.
///
/// The newest points of each metric asked for, of live runs that were promoted and succeeded.
#[utoipa::path(
    get,
    path = "/v1/history",
    tag = "history",
    security(("token" = ["runs:read"])),
    params(HistoryParams),
    responses(
        (status = 200, description = "The windows", body = HistoryAnswer),
        BadQuery,
        Refusals,
    )
)]
pub(super) async fn history(
    State(state): State<AppState>,
    _right: CanRead,
    params: Params,
) -> Result<Json<HistoryAnswer>, Problem> {
    let defaults = Defaults {
        tag: TagFilter::Is(Tag::live()),
        pipeline: Some(Pipeline::promote()),
        kind: "history",
    };
    window(&state, params, defaults).await
}

/// Read the reference series.
///
/// As the history, of reference runs from any pipeline.
#[utoipa::path(
    get,
    path = "/v1/baseline",
    tag = "history",
    security(("token" = ["runs:read"])),
    params(HistoryParams),
    responses(
        (status = 200, description = "The windows", body = HistoryAnswer),
        BadQuery,
        Refusals,
    )
)]
pub(super) async fn baseline(
    State(state): State<AppState>,
    _right: CanRead,
    params: Params,
) -> Result<Json<HistoryAnswer>, Problem> {
    let defaults = Defaults {
        tag: TagFilter::Reference,
        pipeline: None,
        kind: "baseline",
    };
    window(&state, params, defaults).await
}

async fn window(
    state: &AppState,
    params: Params,
    defaults: Defaults,
) -> Result<Json<HistoryAnswer>, Problem> {
    let question = cursor::question(defaults.kind, params.query());
    let kind = defaults.kind;
    let query = read_query(params, &question, defaults)?;
    let history = state.store.history(&query).await?;
    metrics::counter!("perf_tracking_window_reads_total", "kind" => kind).increment(1);
    Ok(Json(answer(query.series, history, question)))
}

fn read_query(
    mut params: Params,
    question: &str,
    defaults: Defaults,
) -> Result<HistoryQuery, Problem> {
    let series = read_series(&mut params);
    let metrics = MetricSelection {
        keys: params.all("metric_key"),
        dims: params.all("dim_key"),
    };
    let limit = params.limit();
    let since = params.date("since");
    let before = params.date("before");
    let repo = params.optional("repo");
    let host_class = params.optional("host_class");
    let tag = params.tag(defaults.tag);
    let pipeline = params.pipeline(defaults.pipeline);
    let include_failed = params.flag("include_failed");
    let after = params.optional_with("cursor", |text| cursor::decode(text, question));
    let query = series.map(|series| HistoryQuery {
        series,
        metrics,
        limit,
        since,
        before,
        repo,
        host_class,
        tag,
        pipeline,
        include_failed,
        after,
    });
    params.finish(query)
}

fn read_series(params: &mut Params) -> Option<Series> {
    let workload = params.required("workload");
    let branch = params.required("branch");
    let arch = params.required("arch");
    let distro = params.required("distro");
    Some(Series {
        workload: workload?,
        branch: branch?,
        arch: arch?,
        distro: distro?,
    })
}

fn answer(series: Series, history: History, question: String) -> HistoryAnswer {
    HistoryAnswer {
        series: SeriesKey {
            workload: series.workload,
            branch: series.branch,
            arch: series.arch,
            distro: series.distro,
        },
        metrics: history
            .metrics
            .into_iter()
            .map(MetricPoints::from)
            .collect(),
        next: history.next.map(|at| cursor::encode(&at, question)),
    }
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
        let run = std::sync::Arc::unwrap_or_clone(point.run);
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
