//! `/v1/runs`: list runs.

use axum::extract::State;
use axum::response::Response;
use utoipa::IntoParams;
use utoipa::openapi::ObjectBuilder;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::Type;

use super::params::{Params, describe};
use super::problem::{BadQuery, Problem, Refusals};
use super::rights::CanRead;
use super::{AppState, cursor};
use crate::api::{DEFAULT_LIMIT, RunBody, RunsAnswer};
use crate::domain::{CommitSha, DateBound, HostClass, Pipeline, Repo, Tag};
use crate::store::{Position, RunOrder, RunQuery, TagFilter};

/// List runs.
///
/// Newest first by date and id, failed ones included and voided ones left out, without their metrics; or in the order in
/// which they were stored, or whole. A page may have fewer runs than `limit`, or none, and still have a
/// `next`: a page of whole runs ends once it holds many metrics, and a request examines a bounded
/// number of runs for those that pass its filters.
#[utoipa::path(
    get,
    path = "/v1/runs",
    tag = "runs",
    security(("token" = ["runs:read"])),
    params(RunsParams),
    responses(
        (status = 200, description = "The runs", body = RunsAnswer),
        BadQuery,
        Refusals,
    )
)]
pub(super) async fn list(
    State(state): State<AppState>,
    right: CanRead,
    params: Params,
) -> Result<Response, Problem> {
    let question = cursor::question("runs", params.query());
    let (query, whole) = read_query(params, &question)?;
    let next = |at: Option<Position>| at.map(|at| cursor::encode_position(at, question));
    let answer = if whole {
        let page = state.store.whole_runs(&query).await?;
        RunsAnswer {
            runs: page.runs.into_iter().map(RunBody::from).collect(),
            next: next(page.next),
        }
    } else {
        let page = state.store.runs(&query).await?;
        RunsAnswer {
            runs: page.runs.into_iter().map(RunBody::from).collect(),
            next: next(page.next),
        }
    };
    right.answer(answer).await
}

/// The question, and whether the runs are asked for whole.
fn read_query(mut params: Params, question: &str) -> Result<(RunQuery, bool), Problem> {
    let whole = params.flag("metrics");
    let query = RunQuery {
        commit_sha: params.optional("commit_sha"),
        workload: params.optional("workload"),
        branch: params.optional("branch"),
        arch: params.optional("arch"),
        distro: params.optional("distro"),
        tag: params.tag(TagFilter::Any),
        repo: params.optional("repo"),
        pipeline: params.pipeline(None),
        host_class: params.optional("host_class"),
        since: params.date("since"),
        before: params.date("before"),
        succeeded: params.optional_with("succeeded", |text| {
            text.parse().map_err(|_| "must be true or false")
        }),
        include_voided: params.flag("include_voided"),
        uploaded_by: params.optional_with("uploaded_by", read_bearer),
        uploaded_since: params.date("uploaded_since"),
        order: params
            .optional_with("order", read_order)
            .unwrap_or_default(),
        after: params.optional_with("cursor", |text| cursor::decode_position(text, question)),
        limit: params.limit(),
    };
    params.finish(Some((query, whole)))
}

/// The name or the id of a token, which nothing else is known of.
fn read_bearer(text: &str) -> Result<String, &'static str> {
    match text.chars().count() {
        1..=255 => Ok(text.to_owned()),
        _ => Err("must be 1 to 255 characters long"),
    }
}

fn read_order(text: &str) -> Result<RunOrder, &'static str> {
    match text {
        "newest" => Ok(RunOrder::Newest),
        "stored" => Ok(RunOrder::Stored),
        _ => Err("must be `newest` or `stored`"),
    }
}

/// The parameters of a list of runs, for the description.
pub(super) struct RunsParams;

impl IntoParams for RunsParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let order = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(["newest", "stored"]))
            .default(Some("newest".into()));
        let mut all = vec![describe::of_type::<CommitSha>(
            "commit_sha",
            "Runs of this commit.",
        )];
        all.extend(describe::series());
        all.extend(describe::page("The most runs of a page.", DEFAULT_LIMIT));
        all.extend(describe::dates());
        all.extend([
            describe::of_type::<Repo>("repo", "Of this repository."),
            describe::of_type::<HostClass>("host_class", "Measured on this class of hosts."),
            describe::name_or_any(
                "tag",
                "Runs of this tag, empty for live ones; `*` or left out for all.",
                Tag::MAX_CHARS,
                0,
            ),
            describe::name_or_any(
                "pipeline",
                "Runs of this pipeline; `*` or left out for any.",
                Pipeline::MAX_CHARS,
                1,
            ),
            describe::of_type::<bool>(
                "succeeded",
                "Runs that succeeded, or those that failed. Left out: both.",
            ),
            describe::include_voided(),
            describe::parameter(
                "uploaded_by",
                "Runs that were uploaded with the token of this name (`sub`) or id (`jti`).",
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .min_length(Some(1))
                    .max_length(Some(255)),
            ),
            describe::of_type::<DateBound>(
                "uploaded_since",
                "Runs that were uploaded on or after this date.",
            ),
            describe::parameter(
                "order",
                "`newest` first by date and id, or as they were `stored`: by id, so that what is \
                 stored later comes last.",
                order,
            ),
            describe::flag("metrics", "Whether each run comes whole, with its metrics."),
        ]);
        all
    }
}
