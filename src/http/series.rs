//! `/v1/series`: every series at a glance.

use axum::extract::State;
use axum::response::Response;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use super::AppState;
use super::params::{Params, describe};
use super::problem::{BadQuery, Problem, Refusals};
use super::rights::CanRead;
use crate::api::{SeriesAnswer, SeriesBody};
use crate::domain::Repo;
use crate::store::SeriesFilter;

/// List every series.
///
/// Each with its repositories, how many runs it has, from when to when, and the newest value of
/// each metric.
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
    let filter = SeriesFilter {
        workload: params.optional("workload"),
        branch: params.optional("branch"),
        arch: params.optional("arch"),
        distro: params.optional("distro"),
        repo: params.optional("repo"),
    };
    let filter = params.finish(Some(filter))?;
    let series = state.store.series(&filter).await?;
    let answer = SeriesAnswer {
        series: series.into_iter().map(SeriesBody::from).collect(),
    };
    right.answer(answer).await
}

/// The parameters of a list of series, for the description.
pub(super) struct SeriesParams;

impl IntoParams for SeriesParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut all: Vec<Parameter> = describe::series().into();
        all.push(describe::of_type::<Repo>("repo", "Of this repository."));
        all
    }
}
