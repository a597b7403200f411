//! `/healthz` and `/readyz`: whether the process lives, and whether it can serve.

use axum::extract::State;

use super::AppState;
use super::problem::{Problem, ProblemBody, Slug};

/// Whether the process lives.
///
/// Asks nothing of the database: a service that waits for its database is not to be restarted.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "operation",
    responses((status = 200, description = "It lives", body = String, content_type = "text/plain"))
)]
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether the service can serve.
///
/// The database answers a read of a row and takes writes, and its schema is up to date.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operation",
    responses(
        (status = 200, description = "It can", body = String, content_type = "text/plain"),
        (status = 503, description = "It cannot now", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn readyz(State(state): State<AppState>) -> Result<&'static str, Problem> {
    if !state.readiness.is_ready() {
        return Err(Problem::new(
            Slug::Starting,
            "the service waits for its database, or is bringing it up to date",
        ));
    }
    state
        .store
        .ping()
        .await
        .map_err(|error| Problem::not_ready(&error))?;
    Ok("ready\n")
}
