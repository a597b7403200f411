//! `/openapi.json` and `/docs`: the service described, for programs and for people.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder};
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::problem;

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
    super::api().into_openapi()
}

/// The description, as JSON; made once, when it is first asked for.
pub(super) async fn json() -> impl IntoResponse {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        document()
            .to_json()
            .expect("the description has a JSON form")
    });
    ([(CONTENT_TYPE, "application/json")], TEXT.as_str())
}

/// The page that shows the description; all its files are in the binary.
pub(super) fn docs<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let pages: Router<S> = SwaggerUi::new("/docs")
        .config(Config::from("/openapi.json"))
        .into();
    pages.layer(from_fn(no_page))
}

/// A file that the page does not have is a problem like any other.
async fn no_page(request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let response = next.run(request).await;
    if response.status().is_client_error() {
        return problem::no_path(&path).into_response();
    }
    response
}
