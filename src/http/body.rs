//! A JSON body, read whole before anything is made of it.

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
    _place: Place,
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
        let parsed = tokio::task::spawn_blocking(move || read_json(&bytes, parse));
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
        check_length(&parts.headers, &state.limits)?;
        let bytes = read(body, &state.limits).await?;
        let _place = admission::enter(state)?;
        Ok(Self { bytes, _place })
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

/// A body that says it is too large need not be read to be refused.
fn check_length(headers: &HeaderMap, limits: &RequestLimits) -> Result<(), Problem> {
    let length = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    match length {
        Some(length) if length > limits.body_bytes as u64 => Err(too_large(limits)),
        _ => Ok(()),
    }
}

async fn read(body: Body, limits: &RequestLimits) -> Result<Bytes, Problem> {
    let whole = Limited::new(body, limits.body_bytes).collect();
    match tokio::time::timeout(limits.time, whole).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
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

fn too_large(limits: &RequestLimits) -> Problem {
    let detail = format!("a body has at most {} bytes", limits.body_bytes);
    Problem::new(Slug::BodyTooLarge, detail)
}
