//! Why a request did not succeed (RFC 9457).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::Fault;

/// The kinds of problem, each with its `type` slug, its title and its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the service's titles say it")]
pub enum Slug {
    InvalidRequest,
    InvalidQuery,
    UnreadableBody,
    Unauthorized,
    InsufficientScope,
    OutsideGrant,
    NotFound,
    MethodNotAllowed,
    RequestTimeout,
    RunConflict,
    BodyTooLarge,
    UnsupportedMediaType,
    InvalidRun,
    InvalidVoid,
    RunVoided,
    Internal,
    Overloaded,
    Starting,
    DatabaseUnreachable,
    DatabaseReadOnly,
    DatabaseLost,
    TookTooLong,
    StorageFull,
}

/// A problem, as `application/problem+json`. A run's conflict adds members of its own.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// The kind of problem, for programs.
    #[serde(rename = "type")]
    pub slug: Slug,
    /// The kind of problem, for people.
    pub title: String,
    /// The status, again.
    pub status: u16,
    /// What went wrong this time, and what to do.
    pub detail: String,
    /// Everything that does not fit: a JSON pointer into the body or a query parameter, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Fault>,
}

/// How the detail of a problem begins whose path no route has.
pub(crate) const NO_ROUTE: &str = "nothing has the path";
