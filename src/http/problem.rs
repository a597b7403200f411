//! Everything that a client is told when its request does not succeed (RFC 9457).
//!
//! An error has two faces. The cause goes to the log, under the request's id; the client is told
//! what it can do about it, and never a statement, a path or a secret.

use std::collections::BTreeMap;

use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use utoipa::IntoResponses;

use crate::api::NO_ROUTE;
use crate::auth::{OutsideGrant, TokenError};
use crate::domain::{Fault, Scope};
use crate::store::StoreError;

use super::layers::{MAX_METHOD, MAX_PATH, cut};

pub(super) use crate::api::{ProblemBody, Slug};

/// The status of each kind of problem, and its title for people.
fn status_and_title(slug: Slug) -> (StatusCode, &'static str) {
    match slug {
        Slug::InvalidRequest => (
            StatusCode::BAD_REQUEST,
            "The request is no HTTP request that can be answered",
        ),
        Slug::InvalidQuery => (StatusCode::BAD_REQUEST, "The query does not fit"),
        Slug::UnreadableBody => (StatusCode::BAD_REQUEST, "The body cannot be read"),
        Slug::Unauthorized => (StatusCode::UNAUTHORIZED, "A valid token is needed"),
        Slug::InsufficientScope => (StatusCode::FORBIDDEN, "The token lacks a scope"),
        Slug::OutsideGrant => (
            StatusCode::FORBIDDEN,
            "The run is outside the token's claims",
        ),
        Slug::NotFound => (StatusCode::NOT_FOUND, "There is nothing here"),
        Slug::MethodNotAllowed => (
            StatusCode::METHOD_NOT_ALLOWED,
            "The method does not apply here",
        ),
        Slug::RequestTimeout => (
            StatusCode::REQUEST_TIMEOUT,
            "The request did not arrive in time",
        ),
        Slug::RunConflict => (StatusCode::CONFLICT, "The run is stored with other content"),
        Slug::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "The body is too large"),
        Slug::UnsupportedMediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body must be JSON"),
        Slug::InvalidRun => (StatusCode::UNPROCESSABLE_ENTITY, "The run does not fit"),
        Slug::InvalidVoid => (StatusCode::UNPROCESSABLE_ENTITY, "The void does not fit"),
        Slug::RunVoided => (StatusCode::CONFLICT, "The run is voided for another reason"),
        Slug::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "The service failed"),
        Slug::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, "The service is busy"),
        Slug::Starting => (StatusCode::SERVICE_UNAVAILABLE, "The service is starting"),
        Slug::DatabaseUnreachable => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The database cannot be reached",
        ),
        Slug::DatabaseReadOnly => (StatusCode::SERVICE_UNAVAILABLE, "The database is read-only"),
        Slug::DatabaseLost => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The database's file is not the one that was opened",
        ),
        Slug::TookTooLong => (StatusCode::SERVICE_UNAVAILABLE, "The answer took too long"),
        Slug::StorageFull => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The database's disk is full",
        ),
    }
}

/// How a query is answered that does not fit, for the description.
#[derive(IntoResponses)]
#[response(
    status = 400,
    description = "The query does not fit",
    content_type = "application/problem+json"
)]
pub(super) struct BadQuery(#[expect(dead_code, reason = "for the derive")] ProblemBody);

/// How every read may be refused, for the description.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "for the derive")]
pub(super) enum Refusals {
    /// No valid token
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthorized(ProblemBody),
    /// The token lacks the scope
    #[response(status = 403, content_type = "application/problem+json")]
    InsufficientScope(ProblemBody),
    /// The service or its database cannot answer now
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(ProblemBody),
}

/// A problem on its way to the client.
#[derive(Debug)]
pub(super) struct Problem(Box<Content>);

/// Members beside those that every problem has, as JSON texts whose numbers keep their digits.
type Members = BTreeMap<String, Box<RawValue>>;

#[derive(Debug)]
struct Content {
    body: ProblemBody,
    members: Members,
    authenticate: Option<String>,
}

/// What a client waits before it tries again, in seconds: a failover or a restart takes about that.
const RETRY_SECONDS: u16 = 1;

impl Problem {
    /// A problem of the kind `slug`.
    pub(super) fn new(slug: Slug, detail: impl Into<String>) -> Self {
        let (status, title) = status_and_title(slug);
        Self(Box::new(Content {
            body: ProblemBody {
                slug,
                title: title.to_owned(),
                status: status.as_u16(),
                detail: detail.into(),
                errors: Vec::new(),
            },
            members: Members::new(),
            authenticate: None,
        }))
    }

    /// With the list of all that does not fit.
    pub(super) fn with_errors(mut self, errors: Vec<Fault>) -> Self {
        self.0.body.errors = errors;
        self
    }

    /// With the fields of `members` beside those that every problem has.
    pub(super) fn with_members(mut self, members: &impl Serialize) -> Self {
        let members = serde_json::to_string(members)
            .and_then(|text| serde_json::from_str::<Members>(&text))
            .expect("the members of a problem are an object");
        self.0.members.extend(members);
        self
    }

    /// No token where one is needed (RFC 6750, section 3.1: no error code then).
    pub(super) fn no_token() -> Self {
        let mut problem = Self::new(
            Slug::Unauthorized,
            "send a token as `Authorization: Bearer TOKEN`; `perf-tracking token issue` makes one",
        );
        problem.0.authenticate = Some(r#"Bearer realm="perf-tracking""#.to_owned());
        problem
    }

    /// A token that is not valid.
    pub(super) fn bad_token(error: &TokenError) -> Self {
        let mut problem = Self::new(Slug::Unauthorized, error.to_string());
        problem.0.authenticate =
            Some(r#"Bearer realm="perf-tracking", error="invalid_token""#.to_owned());
        problem
    }

    /// A valid token without the scope.
    pub(super) fn lacks(scope: Scope) -> Self {
        let detail = format!("insufficient_scope: this needs a token with the scope `{scope}`");
        let mut problem = Self::new(Slug::InsufficientScope, detail);
        problem.0.authenticate = Some(format!(
            r#"Bearer realm="perf-tracking", error="insufficient_scope", scope="{scope}""#
        ));
        problem.with_members(&json!({ "scope": scope.as_str() }))
    }

    /// Too many requests at once.
    pub(super) fn overloaded() -> Self {
        Self::new(Slug::Overloaded, "too many requests at once; try again")
    }

    /// Too many requests of one client at once.
    pub(super) fn share_taken() -> Self {
        let detail =
            "too many requests from your address at once; try again once one of them is answered";
        Self::new(Slug::Overloaded, detail)
    }

    /// The service cannot do what it should always be able to do.
    pub(super) fn failed(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error, "the answer could not be made");
        Self::new(
            Slug::Internal,
            "the service failed; its log has the cause under this request's id",
        )
    }

    /// The answer was not ready in time.
    pub(super) fn too_slow() -> Self {
        Self::new(
            Slug::Overloaded,
            "the answer was not ready in time; try again, or ask for less",
        )
    }
}

impl From<OutsideGrant> for Problem {
    fn from(outside: OutsideGrant) -> Self {
        Self::new(Slug::OutsideGrant, outside.to_string())
    }
}

impl From<StoreError> for Problem {
    /// Logs the cause, unless the question is at fault and the client is told all there is.
    fn from(error: StoreError) -> Self {
        let problem = Self::of_store(&error);
        if problem.status().is_server_error() {
            tracing::error!(error = &error as &dyn std::error::Error, "the store failed");
        }
        problem
    }
}

impl Problem {
    /// The database cannot serve. Whatever the cause, a balancer must be told 503.
    pub(super) fn not_ready(error: &StoreError) -> Self {
        tracing::warn!(error = error as &dyn std::error::Error, "not ready");
        match Self::of_store(error) {
            problem if problem.status() == StatusCode::SERVICE_UNAVAILABLE => problem,
            _ => Self::new(
                Slug::DatabaseUnreachable,
                "the database answers, but cannot be used; the service's log has the cause",
            ),
        }
    }

    /// What a person is told: the title, the detail, and the faults with their places.
    pub(super) fn told(&self) -> (String, String, Vec<(String, String)>) {
        let body = &self.0.body;
        let faults = body.errors.iter();
        let faults = faults.map(|fault| (fault.pointer.to_string(), fault.detail.to_string()));
        (body.title.clone(), body.detail.clone(), faults.collect())
    }

    fn status(&self) -> StatusCode {
        status_and_title(self.0.body.slug).0
    }

    fn of_store(error: &StoreError) -> Self {
        match error {
            // Where the answer to a commit was lost, nobody here knows whether it took place.
            StoreError::Unreachable(_) | StoreError::TimedOut(_) | StoreError::Refused(_) => {
                Self::new(
                    Slug::DatabaseUnreachable,
                    "the database cannot be reached; try again: a run is stored once however often it is sent",
                )
            }
            StoreError::ReadOnly(_) => Self::new(
                Slug::DatabaseReadOnly,
                "the database is read-only; nothing was stored; try again once it takes writes",
            ),
            StoreError::FileLost { .. } => Self::new(
                Slug::DatabaseLost,
                "the database's file was deleted, replaced or damaged; an operator must put it back or restart the service",
            ),
            StoreError::TooSlow(_) => Self::new(
                Slug::TookTooLong,
                "the database took too long for this answer and stopped; ask for less, or try again when it has less to do",
            ),
            StoreError::Busy(_) => Self::new(
                Slug::Overloaded,
                "the database is busy; nothing was stored; try again",
            ),
            StoreError::Full(_) => Self::new(
                Slug::StorageFull,
                "the database has no room left; nothing was stored; try again once there is",
            ),
            StoreError::WindowTooLarge { limit } => Self::new(
                Slug::InvalidQuery,
                format!(
                    "the answer would hold more than {limit} points; ask for fewer metrics or a smaller limit"
                ),
            ),
            StoreError::TooNew { .. }
            | StoreError::TooOld
            | StoreError::Address(_)
            | StoreError::ForeignMigration { .. }
            | StoreError::Folder { .. }
            | StoreError::CorruptRow { .. }
            | StoreError::Escapes
            | StoreError::NarrowCharacters
            | StoreError::Other(_) => Self::new(
                Slug::Internal,
                "the service failed; its log has the cause under this request's id",
            ),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let Content {
            body,
            members,
            authenticate,
        } = *self.0;
        let mut response = (status, json_with(&body, members)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
        }
        if let Some(Ok(challenge)) = authenticate.map(HeaderValue::try_from) {
            headers.insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

fn json_with(body: &ProblemBody, members: Members) -> String {
    #[derive(Serialize)]
    struct Whole<'a> {
        #[serde(flatten)]
        body: &'a ProblemBody,
        #[serde(flatten)]
        members: Members,
    }
    serde_json::to_string(&Whole { body, members }).expect("a problem has a JSON form")
}

/// No route has the path.
pub(super) async fn no_route(request: Request) -> Problem {
    no_path(request.uri().path())
}

/// Nothing has the path.
pub(super) fn no_path(path: &str) -> Problem {
    let path = cut(path, MAX_PATH);
    let detail = format!("{NO_ROUTE} {path}; /docs lists all routes");
    Problem::new(Slug::NotFound, detail)
}

/// The route has no such method; the `Allow` header says which it has.
pub(super) async fn no_method(request: Request) -> Problem {
    let detail = format!(
        "{} does not take {}",
        cut(request.uri().path(), MAX_PATH),
        cut(request.method().as_str(), MAX_METHOD)
    );
    Problem::new(Slug::MethodNotAllowed, detail)
}
