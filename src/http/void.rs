//! `/v1/runs/{id}/void`: take a run back.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};

use super::AppState;
use super::body::JsonBody;
use super::problem::{Problem, ProblemBody, Slug};
use super::rights::CanVoid;
use super::runs::{faults_in_words, no_run, run_id};
use crate::api::{VoidAnswer, VoidConflictProblem, VoidOutcome, VoidRequest, VoidedBody};
use crate::domain::Faults;
use crate::store::{Voided, Voiding};

/// Take a run back.
///
/// The run stays, with who took it back, when and why. Every read leaves it out from now on, unless
/// `include_voided` asks for it, and a new upload of its identity takes its place. It may be repeated
/// with the same reason.
#[utoipa::path(
    post,
    path = "/v1/runs/{id}/void",
    tag = "runs",
    security(("token" = ["runs:void"])),
    params(("id" = i64, Path, description = "The run's id", minimum = 1)),
    request_body = VoidRequest,
    responses(
        (status = 200, description = "The run is voided", body = VoidAnswer),
        (status = 400, description = "The body is not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 401, description = "No valid token", body = ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "The token lacks the scope, or the run is outside its claims", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "There is no such run", body = ProblemBody, content_type = "application/problem+json"),
        (status = 408, description = "The body did not arrive in time", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The run was voided for another reason before", body = VoidConflictProblem, content_type = "application/problem+json"),
        (status = 413, description = "The body is too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 415, description = "The body is not declared as JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The reason does not fit", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "The service or its database cannot take it now", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn void(
    State(state): State<AppState>,
    right: CanVoid,
    id: Result<Path<String>, PathRejection>,
    body: JsonBody,
) -> Result<Json<VoidAnswer>, Problem> {
    let id = id.map(|Path(id)| id).unwrap_or_default();
    let request = body.parse(VoidRequest::parse).await?.map_err(invalid)?;
    let run_id = run_id(&id).ok_or_else(|| no_run(&id))?;
    let voided = Voided {
        signed: right.signed((state.clock)())?,
        reason: request.reason,
    };
    let outcome = match state
        .store
        .void_run(run_id, &voided, right.narrow())
        .await?
    {
        Voiding::Voided => {
            metrics::counter!("perf_tracking_voids_total").increment(1);
            VoidOutcome::Voided
        }
        Voiding::Unchanged => VoidOutcome::Unchanged,
        Voiding::Conflict(earlier) => return Err(conflict(&id, earlier)),
        Voiding::Outside(outside) => return Err(outside.into()),
        Voiding::NotFound => return Err(no_run(&id)),
    };
    Ok(Json(VoidAnswer { run_id, outcome }))
}

fn invalid(faults: Faults) -> Problem {
    let detail = faults_in_words(&faults);
    Problem::new(Slug::InvalidVoid, detail).with_errors(faults.into_told())
}

fn conflict(id: &str, earlier: Voided) -> Problem {
    let voided = VoidedBody::from(earlier);
    let detail = format!(
        "run {id} was voided by {} at {} for another reason, which stays: {}",
        voided.by, voided.at, voided.reason
    );
    Problem::new(Slug::RunVoided, detail).with_members(&serde_json::json!({ "voided": voided }))
}
