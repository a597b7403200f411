//! `/v1/runs`: store a run, read one.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};

use super::AppState;
use super::body::JsonBody;
use super::problem::{Problem, Refusals};
use super::rights::{CanRead, CanWrite};
use crate::api::{
    ConflictBody, ConflictProblem, ProblemBody, RecordAnswer, RecordOutcome, RunBody, RunUpload,
    Slug, WholeRun,
};
use crate::auth::OutsideGrant;
use crate::domain::{Faults, Run};
use crate::store::{Conflict, Recorded, RunId};

/// Store a run.
///
/// Safe to repeat for ever: an identity (commit, series and tag) is stored once. A failed run gives
/// way to one that succeeded; any other content for a stored identity is a conflict.
#[utoipa::path(
    post,
    path = "/v1/runs",
    tag = "runs",
    security(("token" = ["runs:write"])),
    request_body = RunUpload,
    responses(
        (status = 201, description = "The run is new", body = RecordAnswer,
            headers(("Location" = String, description = "The run's path"))),
        (status = 200, description = "The run was stored before, or takes the place of a failed one", body = RecordAnswer,
            headers(("Location" = String, description = "The run's path"))),
        (status = 400, description = "The body is not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 401, description = "No valid token", body = ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "The token lacks the scope, or the run or a failed one that it would replace is outside its claims", body = ProblemBody, content_type = "application/problem+json"),
        (status = 408, description = "The body did not arrive in time", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The identity is stored with other content", body = ConflictProblem, content_type = "application/problem+json"),
        (status = 413, description = "The body is too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 415, description = "The body is not declared as JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The run does not fit", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "The service or its database cannot take it now", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn record(
    State(state): State<AppState>,
    right: CanWrite,
    body: JsonBody,
) -> Result<Response, Problem> {
    let run = body.parse(Run::parse).await?.map_err(invalid_run)?;
    right.check(&run)?;
    let recorded = state.store.record_run(&run, right.narrow()).await?;
    let label = match &recorded {
        Recorded::Created(_) => "created",
        Recorded::Unchanged(_) => "unchanged",
        Recorded::Replaced(_) => "replaced",
        Recorded::Conflict(_) => "conflict",
        Recorded::Outside(..) => "outside",
    };
    metrics::counter!("perf_tracking_uploads_total", "outcome" => label).increment(1);
    Ok(match recorded {
        Recorded::Created(run_id) => answer(StatusCode::CREATED, run_id, RecordOutcome::Created),
        Recorded::Unchanged(run_id) => answer(StatusCode::OK, run_id, RecordOutcome::Unchanged),
        Recorded::Replaced(run_id) => answer(StatusCode::OK, run_id, RecordOutcome::Replaced),
        Recorded::Conflict(conflict) => conflict_problem(conflict).into_response(),
        Recorded::Outside(run_id, outside) => outside_problem(run_id, &outside).into_response(),
    })
}

fn answer(status: StatusCode, run_id: RunId, outcome: RecordOutcome) -> Response {
    let location = [(LOCATION, format!("/v1/runs/{run_id}"))];
    (status, location, Json(RecordAnswer { run_id, outcome })).into_response()
}

fn invalid_run(faults: Faults) -> Problem {
    let told = faults.told();
    let detail = match told {
        [fault] => fault.to_string(),
        _ if told.len() == faults.count() => {
            format!("{} things do not fit; `errors` lists them", told.len())
        }
        _ => format!(
            "{} things do not fit; `errors` lists the first {}",
            faults.count(),
            told.len()
        ),
    };
    Problem::new(Slug::InvalidRun, detail).with_errors(faults.into_told())
}

/// The claims hold for what is taken away, too.
fn outside_problem(run_id: RunId, outside: &OutsideGrant) -> Problem {
    let detail = format!("the failed run {run_id} would have to give way: {outside}");
    Problem::new(Slug::OutsideGrant, detail)
}

fn conflict_problem(conflict: Conflict) -> Problem {
    let conflict = ConflictBody::from(conflict);
    let detail = format!(
        "run {} has this identity with other content (fields: {}, metrics: {}); it stays as it is",
        conflict.run_id,
        conflict.fields.len(),
        conflict.metrics.len(),
    );
    Problem::new(Slug::RunConflict, detail).with_members(&conflict)
}

/// Read one run.
///
/// The run whole, with all its metrics.
#[utoipa::path(
    get,
    path = "/v1/runs/{id}",
    tag = "runs",
    security(("token" = ["runs:read"])),
    params(("id" = i64, Path, description = "The run's id", minimum = 1)),
    responses(
        (status = 200, description = "The run", body = WholeRun),
        (status = 404, description = "There is no such run", body = ProblemBody, content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(super) async fn one(
    State(state): State<AppState>,
    right: CanRead,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    // What is no UTF-8 names no run either.
    let id = id.map(|Path(id)| id).unwrap_or_default();
    let run = match run_id(&id) {
        Some(run_id) => state.store.run(run_id).await?,
        None => None,
    };
    let run = run.ok_or_else(|| Problem::new(Slug::NotFound, format!("there is no run `{id}`")))?;
    right.answer(RunBody::from(run)).await
}

/// The id that `text` is; a run has one path, so no sign and no leading zeros.
fn run_id(text: &str) -> Option<RunId> {
    text.parse()
        .ok()
        .filter(|id: &RunId| id.to_string() == text)
}
