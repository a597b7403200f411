//! `/openapi.json` and `/docs`: the service described, for programs and for people.

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder};
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::query_schema;

/// What stands before the routes.
pub(super) fn preamble() -> OpenApi {
    let info = InfoBuilder::new()
        .title("perf-tracking")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Keeps the performance history of a project. A store, not a judge: verdicts are taken in CI.",
        ))
        .build();
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("JWT")
        .description(Some(
            "A token from `perf-tracking token issue`, with the scope that the route names.",
        ))
        .build();
    let components = ComponentsBuilder::new()
        .security_scheme("token", SecurityScheme::Http(bearer))
        .build();
    OpenApiBuilder::new()
        .info(info)
        .components(Some(components))
        .build()
}

/// The description of every route.
pub fn document() -> OpenApi {
    let mut document = super::api().into_openapi();
    query_schema::tighten(&mut document);
    document
}

/// The description, as JSON.
pub(super) async fn json() -> impl IntoResponse {
    let text = document().to_json().unwrap_or_default();
    ([(CONTENT_TYPE, "application/json")], text)
}

/// The page that shows the description; all its files are in the binary.
pub(super) fn docs() -> SwaggerUi {
    SwaggerUi::new("/docs").config(Config::from("/openapi.json"))
}
