//! `/v1/runs`: store a run, read one.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::AppState;
use super::body::JsonBody;
use super::problem::{Problem, ProblemBody, Refusals, Slug};
use super::rights::{CanRead, CanWrite};
use super::upload_schema::RunUpload;
use crate::auth::OutsideGrant;
use crate::domain::{
    Arch, Branch, Change, CommitSha, DimKey, Distro, Fault, HostClass, Metric, MetricKey, Patchset,
    Pipeline, Repo, Run, RunDate, Tag, Value, Workload,
};
use crate::store::{
    Conflict, FieldDifference, MetricDifference, Recorded, RunHead, RunId, StoredRun,
};

/// What became of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The identity is new.
    Created,
    /// The identity is stored with the same content.
    Unchanged,
    /// A failed run gave way to this one.
    Replaced,
}

/// The answer to an upload.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecordAnswer {
    /// The run's id.
    #[schema(value_type = i64)]
    pub run_id: RunId,
    /// What became of it.
    pub outcome: Outcome,
}

/// A stored run, without its metrics.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunHeadBody {
    /// The run's id.
    #[schema(value_type = i64)]
    pub run_id: RunId,
    /// What was run.
    #[schema(value_type = String)]
    pub workload: Workload,
    /// The repository.
    #[schema(value_type = String)]
    pub repo: Repo,
    /// The branch.
    #[schema(value_type = String)]
    pub branch: Branch,
    /// The commit.
    #[schema(value_type = String)]
    pub commit_sha: CommitSha,
    /// The change that the commit came from.
    #[schema(value_type = Option<String>, required)]
    pub change: Option<Change>,
    /// The patch set of the change.
    #[schema(value_type = Option<String>, required)]
    pub patchset: Option<Patchset>,
    /// Who uploaded it.
    #[schema(value_type = String)]
    pub pipeline: Pipeline,
    /// The distribution.
    #[schema(value_type = String)]
    pub distro: Distro,
    /// The architecture.
    #[schema(value_type = String)]
    pub arch: Arch,
    /// Where it was measured.
    #[schema(value_type = String)]
    pub host_class: HostClass,
    /// Empty for a live run.
    #[schema(value_type = String)]
    pub tag: Tag,
    /// Where it stands in history.
    #[schema(value_type = String, format = DateTime)]
    pub run_date: RunDate,
    /// Whether the workload ran to its end.
    pub succeeded: bool,
}

/// One number of a stored run.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MetricBody {
    /// What was measured.
    #[schema(value_type = String)]
    pub metric_key: MetricKey,
    /// With which parameters.
    #[schema(value_type = String)]
    pub dim_key: DimKey,
    /// The number.
    #[schema(value_type = f64)]
    pub value: Value,
    /// Whether it was read off a real clock.
    pub wallclock: bool,
}

/// A stored run, whole: the head's fields and the metrics.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RunBody {
    /// All but the metrics.
    #[serde(flatten)]
    pub head: RunHeadBody,
    /// The numbers, ordered by name.
    pub metrics: Vec<MetricBody>,
}

/// A problem of the type `run-conflict`: how an upload differs from the run that its identity
/// stands for.
#[derive(Serialize, ToSchema)]
pub(super) struct ConflictBody {
    /// What every problem has.
    #[serde(flatten)]
    problem: ProblemBody,
    /// The stored run.
    #[schema(value_type = i64)]
    run_id: RunId,
    /// The fields that differ.
    fields: Vec<FieldDifferenceBody>,
    /// The metrics that differ or that one side lacks.
    metrics: Vec<MetricDifferenceBody>,
}

/// A field that differs; `null` where one side lacks it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FieldDifferenceBody {
    /// Its name.
    pub field: String,
    /// What is stored, as text.
    #[schema(required)]
    pub stored: Option<String>,
    /// What was sent, as text.
    #[schema(required)]
    pub sent: Option<String>,
}

/// A metric that differs; `null` where one side lacks it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MetricDifferenceBody {
    /// What was measured.
    #[schema(value_type = String)]
    pub metric_key: MetricKey,
    /// With which parameters.
    #[schema(value_type = String)]
    pub dim_key: DimKey,
    /// What is stored.
    #[schema(required)]
    pub stored: Option<MeasuredBody>,
    /// What was sent.
    #[schema(required)]
    pub sent: Option<MeasuredBody>,
}

/// One side of a metric that differs.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MeasuredBody {
    /// The number.
    #[schema(value_type = f64)]
    pub value: Value,
    /// Whether it was read off a real clock.
    pub wallclock: bool,
}

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
        (status = 409, description = "The identity is stored with other content", body = ConflictBody, content_type = "application/problem+json"),
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
    let run = Run::parse(&body.json).map_err(invalid_run)?;
    right.check(&run)?;
    let recorded = state.store.record_run(&run, right.narrow()).await?;
    let outcome = match &recorded {
        Recorded::Created(_) => "created",
        Recorded::Unchanged(_) => "unchanged",
        Recorded::Replaced(_) => "replaced",
        Recorded::Conflict(_) => "conflict",
        Recorded::Outside(..) => "outside",
    };
    metrics::counter!("perf_tracking_uploads_total", "outcome" => outcome).increment(1);
    Ok(match recorded {
        Recorded::Created(run_id) => answer(StatusCode::CREATED, run_id, Outcome::Created),
        Recorded::Unchanged(run_id) => answer(StatusCode::OK, run_id, Outcome::Unchanged),
        Recorded::Replaced(run_id) => answer(StatusCode::OK, run_id, Outcome::Replaced),
        Recorded::Conflict(conflict) => conflict_problem(conflict).into_response(),
        Recorded::Outside(run_id, outside) => outside_problem(run_id, &outside).into_response(),
    })
}

fn answer(status: StatusCode, run_id: RunId, outcome: Outcome) -> Response {
    let location = [(LOCATION, format!("/v1/runs/{run_id}"))];
    (status, location, Json(RecordAnswer { run_id, outcome })).into_response()
}

fn invalid_run(faults: Vec<Fault>) -> Problem {
    let detail = match faults.as_slice() {
        [fault] => fault.to_string(),
        faults => format!("{} things do not fit; `errors` lists them", faults.len()),
    };
    Problem::new(Slug::InvalidRun, detail).with_errors(faults)
}

/// The claims hold for what is taken away, too.
fn outside_problem(run_id: RunId, outside: &OutsideGrant) -> Problem {
    let detail = format!("the failed run {run_id} would have to give way: {outside}");
    Problem::new(Slug::OutsideGrant, detail)
}

fn conflict_problem(conflict: Conflict) -> Problem {
    let fields: Vec<FieldDifferenceBody> = conflict.fields.into_iter().map(Into::into).collect();
    let metrics: Vec<MetricDifferenceBody> = conflict.metrics.into_iter().map(Into::into).collect();
    let detail = format!(
        "run {} has this identity with other content (fields: {}, metrics: {}); it stays as it is",
        conflict.run_id,
        fields.len(),
        metrics.len(),
    );
    Problem::new(Slug::RunConflict, detail)
        .with_member("run_id", json!(conflict.run_id))
        .with_member("fields", json!(fields))
        .with_member("metrics", json!(metrics))
}

impl From<FieldDifference> for FieldDifferenceBody {
    fn from(difference: FieldDifference) -> Self {
        Self {
            field: difference.field.to_owned(),
            stored: difference.stored,
            sent: difference.sent,
        }
    }
}

impl From<MetricDifference> for MetricDifferenceBody {
    fn from(difference: MetricDifference) -> Self {
        Self {
            metric_key: difference.name.metric_key,
            dim_key: difference.name.dim_key,
            stored: difference.stored.map(Into::into),
            sent: difference.sent.map(Into::into),
        }
    }
}

impl From<Metric> for MeasuredBody {
    fn from(metric: Metric) -> Self {
        Self {
            value: metric.value,
            wallclock: metric.wallclock,
        }
    }
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
        (status = 200, description = "The run", body = RunBody),
        (status = 404, description = "There is no such run", body = ProblemBody, content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(super) async fn one(
    State(state): State<AppState>,
    _right: CanRead,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<RunBody>, Problem> {
    // What is no UTF-8 names no run either.
    let id = id.map(|Path(id)| id).unwrap_or_default();
    let run = match run_id(&id) {
        Some(run_id) => state.store.run(run_id).await?,
        None => None,
    };
    let run = run.ok_or_else(|| Problem::new(Slug::NotFound, format!("there is no run `{id}`")))?;
    Ok(Json(run.into()))
}

/// The id that `text` is; a run has one path, so no sign and no leading zeros.
fn run_id(text: &str) -> Option<RunId> {
    text.parse()
        .ok()
        .filter(|id: &RunId| id.to_string() == text)
}

impl From<RunHead> for RunHeadBody {
    fn from(head: RunHead) -> Self {
        Self {
            run_id: head.run_id,
            workload: head.series.workload,
            repo: head.repo,
            branch: head.series.branch,
            commit_sha: head.commit_sha,
            change: head.change,
            patchset: head.patchset,
            pipeline: head.pipeline,
            distro: head.series.distro,
            arch: head.series.arch,
            host_class: head.host_class,
            tag: head.tag,
            run_date: head.run_date,
            succeeded: head.succeeded,
        }
    }
}

impl From<StoredRun> for RunBody {
    fn from(run: StoredRun) -> Self {
        let metrics = run.metrics.into_iter().map(|metric| MetricBody {
            metric_key: metric.name.metric_key,
            dim_key: metric.name.dim_key,
            value: metric.value,
            wallclock: metric.wallclock,
        });
        Self {
            metrics: metrics.collect(),
            head: run.head.into(),
        }
    }
}
