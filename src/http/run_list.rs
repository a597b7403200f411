//! `/v1/runs`: list runs.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::params::Params;
use super::problem::{BadQuery, Problem, Refusals};
use super::query_schema::RunsParams;
use super::rights::CanRead;
use super::runs::{MetricBody, RunBody, RunHeadBody};
use super::{AppState, cursor};
use crate::store::{Position, RunHead, RunOrder, RunQuery, StoredRun, TagFilter};

/// A stored run in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ListedRunBody {
    /// All but the metrics.
    #[serde(flatten)]
    pub head: RunHeadBody,
    /// The numbers, ordered by name, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub metrics: Option<Vec<MetricBody>>,
}

/// Some runs, in the order that was asked for.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RunsAnswer {
    /// The runs; without their metrics, unless these were asked for.
    pub runs: Vec<ListedRunBody>,
    /// The `cursor` of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
}

/// List runs.
///
/// Newest first by date and id, failed ones included, without their metrics; or in the order in
/// which they were stored, or whole. A page of whole runs may have fewer than `limit` though another
/// follows.
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
    _right: CanRead,
    params: Params,
) -> Result<Json<RunsAnswer>, Problem> {
    let question = cursor::question("runs", params.query());
    let (query, whole) = read_query(params, &question)?;
    let next = |at: Option<Position>| at.map(|at| cursor::encode_position(at, question));
    Ok(Json(if whole {
        let page = state.store.whole_runs(&query).await?;
        RunsAnswer {
            runs: page.runs.into_iter().map(ListedRunBody::from).collect(),
            next: next(page.next),
        }
    } else {
        let page = state.store.runs(&query).await?;
        RunsAnswer {
            runs: page.runs.into_iter().map(ListedRunBody::from).collect(),
            next: next(page.next),
        }
    }))
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
        order: params
            .optional_with("order", read_order)
            .unwrap_or_default(),
        after: params
            .optional_with("cursor", |text| cursor::decode(text, question))
            .map(|cursor| cursor.rest),
        limit: params.limit(),
    };
    params.finish(Some((query, whole)))
}

fn read_order(text: &str) -> Result<RunOrder, &'static str> {
    match text {
        "newest" => Ok(RunOrder::Newest),
        "stored" => Ok(RunOrder::Stored),
        _ => Err("must be `newest` or `stored`"),
    }
}

impl From<RunHead> for ListedRunBody {
    fn from(head: RunHead) -> Self {
        Self {
            head: head.into(),
            metrics: None,
        }
    }
}

impl From<StoredRun> for ListedRunBody {
    fn from(run: StoredRun) -> Self {
        let RunBody { head, metrics } = run.into();
        Self {
            head,
            metrics: Some(metrics),
        }
    }
}
