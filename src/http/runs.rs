//! `/v1/runs`: store a run, read one.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, TimeDelta, Utc};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use super::AppState;
use super::body::JsonBody;
use super::params::{Params, describe};
use super::problem::{BadQuery, Problem, Refusals};
use super::rights::{CanRead, CanWrite};
use crate::api::{
    ConflictBody, ConflictProblem, ProblemBody, RecordAnswer, RecordOutcome, RunBody, RunUpload,
    Slug, WholeRun,
};
use crate::auth::OutsideGrant;
use crate::domain::{Fault, Faults, Run};
use crate::store::{Conflict, Recorded, RunId};

/// Store a run.
///
/// It may be repeated: an identity (commit, series and tag) is stored once. A run that succeeded takes
/// the place of a failed one, a run of the pipeline `promote` that of one of another pipeline, and any
/// run that of a voided one. Other content for a stored identity is a conflict.
#[utoipa::path(
    post,
    path = "/v1/runs",
    tag = "runs",
    security(("token" = ["runs:write"])),
    request_body = RunUpload,
    responses(
        (status = 201, description = "The run is new", body = RecordAnswer,
            headers(("Location" = String, description = "The run's path"))),
        (status = 200, description = "The run was stored before, or takes the place of another one", body = RecordAnswer,
            headers(("Location" = String, description = "The run's path"))),
        (status = 400, description = "The body is not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 401, description = "No valid token", body = ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "The token lacks the scope, or the run or the one that it would replace is outside its claims", body = ProblemBody, content_type = "application/problem+json"),
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
    let now = (state.clock)();
    check_date(&run, now)?;
    let recorded = state.store.record_run(&run, &right.writing(now)?).await?;
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
        Recorded::Conflict(conflict) => {
            conflict_problem(conflict, &run, right.may_read()).into_response()
        }
        Recorded::Outside(run_id, outside) => outside_problem(run_id, &outside).into_response(),
    })
}

fn answer(status: StatusCode, run_id: RunId, outcome: RecordOutcome) -> Response {
    let location = [(LOCATION, format!("/v1/runs/{run_id}"))];
    (status, location, Json(RecordAnswer { run_id, outcome })).into_response()
}

fn invalid_run(faults: Faults) -> Problem {
    let detail = faults_in_words(&faults);
    Problem::new(Slug::InvalidRun, detail).with_errors(faults.into_told())
}

/// What does not fit in a body, in one sentence.
pub(super) fn faults_in_words(faults: &Faults) -> String {
    let told = faults.told();
    match told {
        [fault] => fault.to_string(),
        _ if told.len() == faults.count() => {
            format!("{} things do not fit; `errors` lists them", told.len())
        }
        _ => format!(
            "{} things do not fit; `errors` lists the first {}",
            faults.count(),
            told.len()
        ),
    }
}

/// The claims hold for what is taken away, too.
fn outside_problem(run_id: RunId, outside: &OutsideGrant) -> Problem {
    let detail = format!("run {run_id} has this identity and would be replaced: {outside}");
    Problem::new(Slug::OutsideGrant, detail)
}

/// What is stored is shown to those who may read it. The other repository is named to everybody, as
/// only an operator of it can tell which of the two runs is right.
fn conflict_problem(conflict: Conflict, sent: &Run, may_read: bool) -> Problem {
    let of_repo = match conflict.repo == sent.repo {
        true => String::new(),
        false => format!(" of the repository `{}`", conflict.repo),
    };
    let mut body = ConflictBody::from(conflict);
    let advice = match may_read {
        true => "",
        false => "; a token with `runs:read` is shown what is stored",
    };
    let detail = format!(
        "run {}{of_repo} has this identity with other content (fields: {}, metrics: {}); it stays \
         as it is{advice}",
        body.run_id,
        body.fields.len(),
        body.metrics.len(),
    );
    if !may_read {
        body.withhold_stored();
    }
    Problem::new(Slug::RunConflict, detail).with_members(&body)
}

/// The clocks of a developer and of this service differ by less.
const MOST_AHEAD: TimeDelta = TimeDelta::days(1);

/// A run dated in the future would stay the newest of its series until that day.
fn check_date(run: &Run, now: DateTime<Utc>) -> Result<(), Problem> {
    let latest = now + MOST_AHEAD;
    if run.run_date.timestamp() <= latest.timestamp() {
        return Ok(());
    }
    let detail = format!(
        "is more than a day ahead of the service's clock, which says {}; send the date of the \
         commit",
        now.format("%Y-%m-%dT%H:%M:%SZ")
    );
    Err(invalid_run(Fault::new("/run_date", detail).into()))
}

/// Read one run.
///
/// The run whole, with all its metrics. A voided run is found only with `include_voided`.
#[utoipa::path(
    get,
    path = "/v1/runs/{id}",
    tag = "runs",
    security(("token" = ["runs:read"])),
    params(("id" = i64, Path, description = "The run's id", minimum = 1), RunParams),
    responses(
        (status = 200, description = "The run", body = WholeRun),
        BadQuery,
        (status = 404, description = "There is no such run", body = ProblemBody, content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(super) async fn one(
    State(state): State<AppState>,
    right: CanRead,
    id: Result<Path<String>, PathRejection>,
    mut params: Params,
) -> Result<Response, Problem> {
    let include_voided = params.flag("include_voided");
    params.finish(Some(()))?;
    // What is no UTF-8 names no run either.
    let id = id.map(|Path(id)| id).unwrap_or_default();
    let run = match run_id(&id) {
        Some(run_id) => state.store.run(run_id).await?,
        None => None,
    };
    let run = run.ok_or_else(|| no_run(&id))?;
    if run.head.details.voided.is_some() && !include_voided {
        let detail = format!("run {id} was voided; `include_voided=true` shows it");
        return Err(Problem::new(Slug::NotFound, detail));
    }
    right.answer(RunBody::from(run)).await
}

/// No run has this id.
pub(super) fn no_run(id: &str) -> Problem {
    Problem::new(Slug::NotFound, format!("there is no run `{id}`"))
}

/// The id that `text` is; a run has one path, so no sign and no leading zeros.
pub(super) fn run_id(text: &str) -> Option<RunId> {
    text.parse()
        .ok()
        .filter(|id: &RunId| id.to_string() == text)
}

/// The parameters of a read of one run, for the description.
pub(super) struct RunParams;

impl IntoParams for RunParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![describe::include_voided()]
    }
}
