//! The service's face: routes, rights, problems and the OpenAPI description. No SQL, no statistics.
//!
//! [`router`] lists every route. A handler that touches runs takes a `CanRead` or a `CanWrite` of
//! `rights`, which cannot be had without the right; whatever goes wrong becomes a `Problem`.

mod admission;
mod answer;
mod body;
mod client_address;
mod connections;
mod cursor;
mod health;
mod history;
mod latest;
mod layers;
mod local;
mod openapi;
mod origin;
mod pages;
mod params;
mod problem;
mod rights;
mod run_list;
mod runs;
mod series;
mod serve;
mod shares;
mod stalled;
mod state;
mod telemetry;
mod void;

use axum::Router;
use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use admission::{Admission, AdmissionLimits};
pub use client_address::TrustedProxies;
pub use local::local_router;
pub use openapi::document as openapi_document;
pub use origin::Origin;
pub use pages::Pages;
pub use serve::{Connections, serve};
pub use state::{AppState, Caller, Keys, Readiness, RequestLimits};
pub use telemetry::Telemetry;

/// Every route of the service, with what a request from the network passes through.
pub fn router(state: AppState) -> Router {
    let cors = layers::cors(&state.cors_origins);
    layers::around(routes(state.clone()), state, cors)
}

fn routes(state: AppState) -> Router {
    let routes: Router<AppState> = api().into();
    routes
        .route("/openapi.json", get(openapi::json))
        .merge(openapi::docs())
        .merge(pages::routes())
        .fallback(problem::no_route)
        .method_not_allowed_fallback(problem::no_method)
        .with_state(state)
}

/// The routes that the OpenAPI description tells of.
fn api() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(openapi::preamble())
        .routes(routes!(runs::record, run_list::list))
        .routes(routes!(runs::one))
        .routes(routes!(void::void))
        .routes(routes!(history::history))
        .routes(routes!(history::baseline))
        .routes(routes!(series::list))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(telemetry::metrics))
        .routes(routes!(latest::latest))
}
