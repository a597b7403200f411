//! `/metrics`: what the service has done, as Prometheus text.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use metrics::Unit;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use super::AppState;
use crate::terminal::logging;

/// The service's own metrics.
#[derive(Clone)]
pub struct Telemetry(PrometheusHandle);

/// From a tenth of a millisecond to the longest that a request may take.
const SECONDS: &[f64] = &[
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0,
    10.0, 30.0,
];

impl Telemetry {
    /// Collects what the process counts, from now on.
    ///
    /// # Errors
    /// Another collector is in place.
    pub fn install() -> Result<Self, BuildError> {
        let handle = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)?
            .install_recorder()?;
        describe();
        Ok(Self(handle))
    }
}

impl Telemetry {
    /// Collects nothing: for a process that nobody watches.
    pub(super) fn detached() -> Self {
        Self(PrometheusBuilder::new().build_recorder().handle())
    }
}

fn describe() {
    metrics::describe_counter!(
        "perf_tracking_requests_total",
        "Requests by route, method and status"
    );
    metrics::describe_histogram!(
        "perf_tracking_request_seconds",
        Unit::Seconds,
        "Time to an answer by route and method"
    );
    metrics::describe_histogram!(
        "perf_tracking_database_seconds",
        Unit::Seconds,
        "Time that a use case spent on the database, retries included"
    );
    metrics::describe_counter!("perf_tracking_uploads_total", "Uploads by outcome");
    metrics::describe_counter!("perf_tracking_window_reads_total", "Windows read, by kind");
    metrics::describe_gauge!(
        "perf_tracking_database_connections",
        "Connections to the database by state"
    );
    metrics::describe_gauge!(
        "perf_tracking_database_connections_limit",
        "The most connections to the database"
    );
    metrics::describe_gauge!(
        "perf_tracking_log_lines_dropped",
        "Log lines lost since the start because nobody read standard error"
    );
    metrics::describe_gauge!(
        "perf_tracking_free_places",
        "Requests that could start to work now"
    );
}

/// What the service has done, as Prometheus text.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "operation",
    responses((status = 200, description = "Counters, gauges and histograms", body = String, content_type = "text/plain"))
)]
pub(super) async fn metrics(State(state): State<AppState>) -> impl IntoResponse {
    let pool = state.store.pool_use();
    let busy = pool.open.saturating_sub(pool.idle);
    metrics::gauge!("perf_tracking_database_connections", "state" => "idle").set(pool.idle);
    metrics::gauge!("perf_tracking_database_connections", "state" => "busy").set(busy);
    metrics::gauge!("perf_tracking_database_connections_limit").set(pool.limit);
    let free = u32::try_from(state.admission.free_places()).unwrap_or(u32::MAX);
    metrics::gauge!("perf_tracking_free_places").set(free);
    let dropped = u32::try_from(logging::dropped_lines()).unwrap_or(u32::MAX);
    metrics::gauge!("perf_tracking_log_lines_dropped").set(dropped);
    state.telemetry.0.run_upkeep();
    let text = state.telemetry.0.render();
    (
        [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
        text,
    )
}

/// A method that has a meaning here: a label that clients could make up would fill the memory.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::POST => "POST",
        _ => "other",
    }
}

/// Marks the answer to somebody who only asks whether all is well, every few seconds and for ever.
#[derive(Clone, Copy)]
pub(super) struct AllWell;

const PROBES: [&str; 4] = ["/healthz", "/readyz", "/metrics", "/metrics/latest"];

/// Counts every request under its route's pattern, so that ids do not make series of their own.
pub(super) async fn count(request: Request, next: Next) -> Response {
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "unmatched".to_owned(), |path| path.as_str().to_owned());
    let method = known(request.method());
    let started = Instant::now();
    let mut response = next.run(request).await;
    if response.status().is_success() && PROBES.contains(&route.as_str()) {
        response.extensions_mut().insert(AllWell);
    }
    let status = response.status().as_u16().to_string();
    metrics::histogram!("perf_tracking_request_seconds", "route" => route.clone(), "method" => method)
        .record(started.elapsed());
    metrics::counter!(
        "perf_tracking_requests_total",
        "route" => route,
        "method" => method,
        "status" => status,
    )
    .increment(1);
    response
}
