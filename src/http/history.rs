//! `/v1/history` and `/v1/baseline`: windows of a series.

use axum::extract::State;
use axum::response::Response;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use super::admission::LIGHT_POINTS;
use super::params::{Params, describe};
use super::problem::{BadQuery, Problem, Refusals};
use super::rights::CanRead;
use super::{AppState, cursor};
use crate::api::{DEFAULT_LIMIT, HistoryAnswer};
use crate::domain::{DimKey, HostClass, MetricKey, Pipeline, Repo, Series, Tag};
use crate::store::{History, HistoryQuery, MAX_POINTS, MetricSelection, StoreError, TagFilter};

/// What a window holds where the question does not say.
struct Defaults {
    tag: TagFilter,
    pipeline: Option<Pipeline>,
    kind: &'static str,
}

/// Read windows of a series.
///
/// The newest points of each metric asked for, of live runs that were promoted and succeeded.
///
/// A page may have fewer points of a metric than `limit`, or none, and still have a `next`: a request
/// examines a bounded number of runs for those that pass its filters, and a question about many metrics
/// is answered in parts, all pages of its first metrics before those of the next ones. All pages
/// together hold every point once, those of each metric newest first.
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
    right: CanRead,
    params: Params,
) -> Result<Response, Problem> {
    let defaults = Defaults {
        tag: TagFilter::Is(Tag::live()),
        pipeline: Some(Pipeline::promote()),
        kind: "history",
    };
    window(&state, right, params, defaults).await
}

/// Read the reference series.
///
/// As the history, of reference runs from any pipeline. Its pages are those of a history.
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
    right: CanRead,
    params: Params,
) -> Result<Response, Problem> {
    let defaults = Defaults {
        tag: TagFilter::Reference,
        pipeline: None,
        kind: "baseline",
    };
    window(&state, right, params, defaults).await
}

async fn window(
    state: &AppState,
    mut right: CanRead,
    params: Params,
    defaults: Defaults,
) -> Result<Response, Problem> {
    let question = cursor::question(defaults.kind, params.query());
    let kind = defaults.kind;
    let mut query = read_query(params, &question, defaults)?;
    let history = match state.store.history(&query).await {
        Err(StoreError::WindowTooLarge { .. }) => {
            right = right.into_heavy(state).await?;
            query.max_points = MAX_POINTS;
            state.store.history(&query).await?
        }
        history => history?,
    };
    metrics::counter!("perf_tracking_window_reads_total", "kind" => kind).increment(1);
    right.answer(answer(query.series, history, question)).await
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
    let include_voided = params.flag("include_voided");
    let after = params.optional_with("cursor", |text| cursor::decode(text, question));
    let query = series.map(|series| HistoryQuery {
        series,
        metrics,
        limit,
        max_points: LIGHT_POINTS,
        since,
        before,
        repo,
        host_class,
        tag,
        pipeline,
        include_failed,
        include_voided,
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
    let next = history.next.map(|at| cursor::encode(&at, question));
    HistoryAnswer::new(series, history.metrics, next)
}

/// The parameters of a window, for the description.
pub(super) struct HistoryParams;

impl IntoParams for HistoryParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut all: Vec<Parameter> = describe::series().map(describe::needed).into();
        all.extend([
            describe::repeatable::<MetricKey>(
                "metric_key",
                "Metrics to answer for. Left out: every metric of the newest runs.",
            ),
            describe::repeatable::<DimKey>("dim_key", "Dimensions to answer for. Left out: all."),
        ]);
        all.extend(describe::page(
            "The most points of each metric.",
            DEFAULT_LIMIT,
        ));
        all.extend(describe::dates());
        all.extend([
            describe::of_type::<Repo>("repo", "Of this repository."),
            describe::of_type::<HostClass>("host_class", "Measured on this class of hosts."),
            describe::name_or_any(
                "tag",
                "Runs of this tag, empty for live ones; `*` for all. Left out: live runs in a \
                 history, reference runs in a baseline.",
                Tag::MAX_CHARS,
                0,
            ),
            describe::name_or_any(
                "pipeline",
                "Runs of this pipeline; `*` for any. Left out: `promote` in a history, any in a \
                 baseline.",
                Pipeline::MAX_CHARS,
                1,
            ),
            describe::flag("include_failed", "Whether runs that failed count."),
            describe::include_voided(),
        ]);
        all
    }
}
