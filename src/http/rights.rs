//! Extractors that prove a right: a handler that takes one cannot be reached without it.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::admission::{self, ReadPlace};
use super::problem::{Problem, Slug};
use super::{AppState, Caller, answer};
use crate::auth::{Grant, Narrow};
use crate::domain::{Moment, Run, Scope};
use crate::store::{Signed, Writing};

/// The right to read, and a place to do so.
pub(super) struct CanRead {
    place: ReadPlace,
}

impl CanRead {
    /// The right with a place for a read of a large history, once there is one.
    pub(super) async fn into_heavy(self, state: &AppState) -> Result<Self, Problem> {
        let place = self.place.into_heavy(state).await?;
        Ok(Self { place })
    }

    /// The JSON text of `value`. That of a heavy read is written on a thread that may take its time,
    /// which keeps the place even if the client goes away before.
    pub(super) async fn answer(
        self,
        value: impl Serialize + Send + 'static,
    ) -> Result<Response, Problem> {
        if !self.place.is_heavy() {
            return answer::json(&value);
        }
        let written = tokio::task::spawn_blocking(move || {
            let written = answer::json(&value);
            drop(self);
            written
        });
        written.await.map_err(|error| Problem::failed(&error))?
    }
}

/// The right to upload; the body that follows takes the place.
pub(super) struct CanWrite {
    grant: Grant,
    may_read: bool,
}

impl CanWrite {
    /// Whether the right reaches to this very run.
    pub(super) fn check(&self, run: &Run) -> Result<(), Problem> {
        Ok(self.grant.check_write(run)?)
    }

    /// Who writes at `now`, and what the right is narrowed to.
    pub(super) fn writing(&self, now: DateTime<Utc>) -> Result<Writing, Problem> {
        Ok(Writing {
            narrow: self.grant.narrow.clone(),
            signed: signed(&self.grant, now)?,
        })
    }

    /// Whether the bearer may read runs, too.
    pub(super) fn may_read(&self) -> bool {
        self.may_read
    }
}

/// The right to take runs back; the body that follows takes the place.
pub(super) struct CanVoid(Grant);

impl CanVoid {
    /// Who acts at `now`.
    pub(super) fn signed(&self, now: DateTime<Utc>) -> Result<Signed, Problem> {
        signed(&self.0, now)
    }

    /// What the right is narrowed to.
    pub(super) fn narrow(&self) -> &Narrow {
        &self.0.narrow
    }
}

impl FromRequestParts<AppState> for CanVoid {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        grant(&parts.headers, state, Scope::RunsVoid).map(Self)
    }
}

impl FromRequestParts<AppState> for CanRead {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        if !state.public_read {
            grant(&parts.headers, state, Scope::RunsRead)?;
        }
        let place = admission::enter_to_read(state).await?;
        Ok(Self { place })
    }
}

impl FromRequestParts<AppState> for CanWrite {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let grant = grant(&parts.headers, state, Scope::RunsWrite)?;
        let may_read = state.public_read || grant.allows(Scope::RunsRead);
        Ok(Self { grant, may_read })
    }
}

/// Who acts at `now`. A clock that no store can keep is a fault of the machine.
fn signed(grant: &Grant, now: DateTime<Utc>) -> Result<Signed, Problem> {
    let at = Moment::new(now)
        .map_err(|error| Problem::new(Slug::Internal, format!("the service's clock {error}")))?;
    Ok(Signed {
        by: grant.bearer(),
        at,
    })
}

/// Whether the header's token may read.
pub(super) fn may_read(headers: &HeaderMap, state: &AppState) -> Result<(), Problem> {
    grant(headers, state, Scope::RunsRead).map(drop)
}

fn grant(headers: &HeaderMap, state: &AppState, scope: Scope) -> Result<Grant, Problem> {
    if state.caller == Caller::Owner {
        return Ok(Grant::owner());
    }
    let token = bearer(headers).ok_or_else(Problem::no_token)?;
    let grant = state
        .keys
        .current()
        .verify(token, (state.clock)())
        .map_err(|error| Problem::bad_token(&error))?;
    if !grant.allows(scope) {
        return Err(Problem::lacks(scope));
    }
    tracing::Span::current().record("subject", grant.subject.as_str());
    Ok(grant)
}

/// The token of the one `Authorization: Bearer` header; the scheme's name has no case (RFC 9110).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
