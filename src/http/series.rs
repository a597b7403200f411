//! `/v1/series`: every series at a glance.

use axum::extract::State;
use axum::response::Response;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use super::params::{Params, describe};
use super::problem::{BadQuery, Problem, Refusals};
use super::rights::CanRead;
use super::{AppState, cursor};
use crate::api::{MAX_LIMIT, SeriesAnswer, SeriesBody};
use crate::domain::Repo;
use crate::store::{SeriesFilter, SeriesQuery};

/// List every series.
///
/// Each with its repositories, how many runs it has, from when to when, and the newest value of
/// each metric. A page has ten thousand metrics at most. It may have fewer series than `limit`, or none,
/// and still have a `next`: a request examines a bounded number of series for those that pass its
/// filters.
#[utoipa::path(
    get,
    path = "/v1/series",
    tag = "history",
    security(("token" = ["runs:read"])),
    params(SeriesParams),
    responses(
        (status = 200, description = "The series", body = SeriesAnswer),
        BadQuery,
        Refusals,
    )
)]
pub(super) async fn list(
    State(state): State<AppState>,
    right: CanRead,
    mut params: Params,
) -> Result<Response, Problem> {
    let question = cursor::question("series", params.query());
    let filter = filter(&mut params);
    let query = SeriesQuery {
        filter,
        after: params.optional_with("cursor", |text| cursor::decode_series(text, &question)),
        limit: params.limit_or(MAX_LIMIT),
    };
    let query = params.finish(Some(query))?;
    let page = state.store.series(&query).await?;
    let answer = SeriesAnswer {
        series: page.series.into_iter().map(SeriesBody::from).collect(),
        next: page.next.map(|at| cursor::encode_series(&at, question)),
    };
    right.answer(answer).await
}

/// Which series are asked for.
pub(super) fn filter(params: &mut Params) -> SeriesFilter {
    SeriesFilter {
        workload: params.optional("workload"),
        branch: params.optional("branch"),
        arch: params.optional("arch"),
        distro: params.optional("distro"),
        repo: params.optional("repo"),
    }
}

/// The parameters of a list of series, for the description.
pub(super) struct SeriesParams;

impl IntoParams for SeriesParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut all: Vec<Parameter> = describe::series().into();
        all.push(describe::of_type::<Repo>("repo", "Of this repository."));
        all.extend(describe::page("The most series of a page.", MAX_LIMIT));
        all
    }
}
