//! A JSON body, read whole before anything is made of it.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::admission::{self, Place};
use super::problem::{Problem, Slug};
use super::{AppState, RequestLimits};
use crate::domain::{Faults, JsonText};

/// The bytes of a JSON body, and a place to work on it.
pub(super) struct JsonBody {
    bytes: Bytes,
    place: Arc<Place>,
}

/// A larger body is parsed away from the threads that serve the connections. A smaller one is
/// parsed faster than it is handed over.
const MAX_BYTES_IN_PLACE: usize = 32 * 1024;

impl JsonBody {
    /// What `parse` makes of the body, or all that does not fit in it.
    pub(super) async fn parse<T: Send + 'static>(
        &self,
        parse: fn(JsonText<'_>) -> Result<T, Faults>,
    ) -> Result<Result<T, Faults>, Problem> {
        if self.bytes.len() <= MAX_BYTES_IN_PLACE {
            return read_json(&self.bytes, parse);
        }
        let bytes = self.bytes.clone();
        // The work goes on if the client goes away, and so does its place.
        let place = Arc::clone(&self.place);
        let parsed = tokio::task::spawn_blocking(move || {
            let parsed = read_json(&bytes, parse);
            drop(place);
            parsed
        });
        parsed
            .await
            .unwrap_or_else(|error| match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Problem::new(
                    Slug::Starting,
                    "the service is stopping; try again",
                )),
            })
    }
}

fn read_json<T>(
    bytes: &[u8],
    parse: fn(JsonText<'_>) -> Result<T, Faults>,
) -> Result<Result<T, Faults>, Problem> {
    let json = JsonText::parse(bytes).map_err(|error| {
        let detail = format!("the body is not JSON: {error}");
        Problem::new(Slug::UnreadableBody, detail)
    })?;
    Ok(parse(json))
}

impl FromRequest<AppState> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        check_type(&parts.headers)?;
        let length = check_length(&parts.headers, &state.limits)?;
        // The body may be as long as is allowed if it does not say how long it is.
        let reserved = length.unwrap_or(state.limits.body_bytes);
        let arriving = state.admission.body(reserved).await?;
        let bytes = read(body, length, &state.limits).await?;
        let place = Arc::new(admission::enter(state, bytes.len()).await?);
        drop(arriving);
        Ok(Self { bytes, place })
    }
}

/// `application/json`, or a type built on it, whatever its parameters.
fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let named = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = named
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if let Some(encoding) = headers
        .get(CONTENT_ENCODING)
        .filter(|name| *name != "identity")
    {
        let detail = format!("the body must not be encoded, is {encoding:?}");
        return Err(Problem::new(Slug::UnsupportedMediaType, detail));
    }
    if essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
    {
        return Ok(());
    }
    let found = if named.is_empty() { "none" } else { named };
    let detail = format!("the Content-Type must be application/json, is {found}");
    Err(Problem::new(Slug::UnsupportedMediaType, detail))
}

/// The length that a body says it has. One that says it is too large need not be read to be refused.
fn check_length(headers: &HeaderMap, limits: &RequestLimits) -> Result<Option<usize>, Problem> {
    let length = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    match length {
        Some(length) if length > limits.body_bytes => Err(too_large(limits)),
        length => Ok(length),
    }
}

async fn read(body: Body, length: Option<usize>, limits: &RequestLimits) -> Result<Bytes, Problem> {
    let body = Limited::new(body, limits.body_bytes);
    let whole = collect(body, length.unwrap_or_default());
    match tokio::time::timeout(limits.time, whole).await {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(limits)),
        Ok(Err(_)) => Err(Problem::new(
            Slug::UnreadableBody,
            "the body ended too early",
        )),
        Err(_) => {
            let detail = format!("the body did not arrive within {:?}", limits.time);
            Err(Problem::new(Slug::RequestTimeout, detail))
        }
    }
}

/// All of `body` in one piece. Pieces that were put together at the end would take twice the memory.
async fn collect(mut body: Limited<Body>, length: usize) -> Result<Vec<u8>, axum::BoxError> {
    let mut bytes = Vec::with_capacity(length);
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}

fn too_large(limits: &RequestLimits) -> Problem {
    let detail = format!("a body has at most {} bytes", limits.body_bytes);
    Problem::new(Slug::BodyTooLarge, detail)
}
