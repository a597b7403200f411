//! What every request passes through, whatever its route.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{HeaderName, HeaderValue, Method, Version};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::cors::CorsLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::trace::TraceLayer;
use tracing::Span;
use tracing::field::Empty;

use super::client_address::ClientAddress;
use super::problem::{Problem, Slug};
use super::shares::ShareTaken;
use super::telemetry::AllWell;
use super::{AppState, answer, telemetry};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id that is taken over from a client: a UUID has 36 characters, a trace's id 32.
const MAX_REQUEST_ID: usize = 128;

/// Characters of a method in the log and in answers; the longest that has a meaning here has seven.
pub(super) const MAX_METHOD: usize = 16;

/// Characters of a path in the log and in answers.
pub(super) const MAX_PATH: usize = 512;

/// `routes` with all layers around it, the outermost first.
pub(super) fn around(routes: Router, state: AppState, cors: CorsLayer) -> Router {
    let layers = ServiceBuilder::new()
        .map_request(without_odd_id)
        .layer(SetRequestIdLayer::new(REQUEST_ID, MakeRequestUuid))
        .layer(
            TraceLayer::new_for_http()
                .make_span_with(span)
                .on_request(())
                .on_response(log)
                .on_failure(()),
        )
        .layer(PropagateRequestIdLayer::new(REQUEST_ID))
        .layer(from_fn(telemetry::count))
        .layer(cors)
        .layer(CompressionLayer::new())
        .layer(from_fn_with_state(state.clone(), answer::deliver))
        .layer(from_fn(one_host))
        .layer(from_fn(within_share))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(state, in_time));
    routes.layer(layers)
}

/// Pages of `origins` may read; none by default.
pub(super) fn cors(origins: &[HeaderValue]) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(origins.to_vec())
        .allow_methods([Method::GET])
        .allow_headers([AUTHORIZATION, CONTENT_TYPE])
        .max_age(Duration::from_secs(3600))
}

/// A client's id stands in every log line of its request and in the answer, so only one short word
/// of visible ASCII is taken over; whatever else it sends gives way to an id of our own.
fn without_odd_id(mut request: Request<Body>) -> Request<Body> {
    let mut ids = request.headers().get_all(REQUEST_ID).iter();
    let is_word = |id: &HeaderValue| {
        (1..=MAX_REQUEST_ID).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
    };
    if !matches!((ids.next(), ids.next()), (Some(id), None) if is_word(id)) {
        request.headers_mut().remove(REQUEST_ID);
    }
    request
}

/// A request over the network names one host (RFC 9112, section 3.2). A proxy that reads the other
/// of two names, or makes one up, would judge another request than the one that is answered.
async fn one_host(request: Request, next: Next) -> Response {
    let over_network = request.extensions().get::<ClientAddress>().is_some();
    let needs_host = over_network && request.version() == Version::HTTP_11;
    let hosts = request.headers().get_all(HOST).iter().count();
    if hosts > 1 || (needs_host && hosts == 0) {
        let detail = format!("send one Host header; this request has {hosts}");
        return Problem::new(Slug::InvalidRequest, detail).into_response();
    }
    next.run(request).await
}

/// A client behind a proxy that has its share of requests under way has to wait, so that others get theirs.
async fn within_share(request: Request, next: Next) -> Response {
    if request.extensions().get::<ShareTaken>().is_some() {
        return Problem::share_taken().into_response();
    }
    next.run(request).await
}

/// The first `limit` characters of what a client made up, for the log and for answers.
pub(super) fn cut(text: &str, limit: usize) -> &str {
    let end = text.char_indices().nth(limit);
    end.map_or(text, |(end, _)| text.get(..end).unwrap_or_default())
}

/// The path alone: a query may hold what a person typed, and the token is never looked at.
fn span(request: &Request<Body>) -> Span {
    let request_id = request
        .headers()
        .get(REQUEST_ID)
        .and_then(|id| id.to_str().ok());
    let client = request.extensions().get::<ClientAddress>();
    tracing::info_span!(
        "request",
        request_id,
        client = client.map(|ClientAddress(address)| tracing::field::display(address)),
        method = cut(request.method().as_str(), MAX_METHOD),
        path = cut(request.uri().path(), MAX_PATH),
        subject = Empty,
    )
}

/// One line a request; probes that find all well are told to those who ask for details.
fn log<B>(response: &axum::http::Response<B>, latency: Duration, _: &Span) {
    let status = response.status().as_u16();
    let ms = latency.as_secs_f64() * 1000.0;
    if response.extensions().get::<AllWell>().is_some() {
        tracing::debug!(status, ms, "answered");
    } else {
        tracing::info!(status, ms, "answered");
    }
}

/// Twice the time of a body: once for it to arrive, once for the answer to be made.
async fn in_time(State(state): State<AppState>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(state.limits.time * 2, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::too_slow().into_response(),
    }
}

pub(super) fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    let detail = "the service failed; its log has the cause under this request's id";
    Problem::new(Slug::Internal, detail).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The id that is left of those that a client sent.
    fn kept(ids: &[&[u8]]) -> Option<String> {
        let mut request = Request::new(Body::empty());
        for id in ids {
            let id = HeaderValue::from_bytes(id).unwrap();
            request.headers_mut().append(REQUEST_ID, id);
        }
        let request = without_odd_id(request);
        let id = request.headers().get(REQUEST_ID)?;
        Some(id.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_clients_id_is_one_short_visible_word() {
        let longest = "x".repeat(MAX_REQUEST_ID);
        for id in ["7", "given-7", "f0e1:{\"}", &longest] {
            assert_eq!(kept(&[id.as_bytes()]).as_deref(), Some(id));
        }
        let long = "x".repeat(MAX_REQUEST_ID + 1);
        for id in ["", "a b", "a\tb", "é", "\u{9b}31m", &long] {
            assert_eq!(kept(&[id.as_bytes()]), None, "{id:?}");
        }
        assert_eq!(kept(&[b"\xff"]), None);
        assert_eq!(kept(&[b"one", b"two"]), None);
        assert_eq!(kept(&[]), None);
    }
}
