//! The claims of a token, read strictly: a claim that is there and not of its kind refuses the
//! whole token rather than being left out, since a narrowing claim left out would widen it.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value as Json, json};

use super::{Grant, Narrow, Subject, TokenError};
use crate::domain::Scope;

/// `iss` and `aud` of every token.
pub(super) const SERVICE: &str = "perf-tracking";

/// How far the clocks of the issuer and of this service may differ: a token counts until this long
/// after `exp`, and from this long before `nbf`.
pub const LEEWAY: TimeDelta = TimeDelta::seconds(5);

/// The latest time of any claim: the end of the year 9999.
pub const LATEST_EXPIRY: DateTime<Utc> = match DateTime::from_timestamp(253_402_300_799, 0) {
    Some(time) => time,
    None => DateTime::UNIX_EPOCH,
};

/// What a token says, whoever signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) grant: Grant,
    pub(super) expires: DateTime<Utc>,
    pub(super) not_before: Option<DateTime<Utc>>,
    pub(super) issued: Option<DateTime<Utc>>,
}

impl Claims {
    /// Reads the claims of a token whose signature, issuer and audience have been checked.
    pub(super) fn parse(claims: &Map<String, Json>) -> Result<Self, TokenError> {
        // The library takes a list of issuers, which the standard does not know.
        if !claims.get("iss").is_some_and(Json::is_string) {
            return Err(TokenError::WrongIssuer);
        }
        Ok(Self {
            expires: time(claims, "exp")?.ok_or(TokenError::NoExpiry)?,
            not_before: time(claims, "nbf")?,
            issued: time(claims, "iat")?,
            grant: Grant {
                token_id: text(claims, "jti")?.map(str::to_owned),
                subject: subject(claims)?,
                scopes: scopes(claims)?,
                narrow: Narrow {
                    repo: names(claims, "repo")?,
                    branch: names(claims, "branch")?,
                    workload: names(claims, "workload")?,
                    pipeline: names(claims, "pipeline")?,
                },
            },
        })
    }

    /// Whether the claims count at `now`.
    pub(super) fn check_time(&self, now: DateTime<Utc>) -> Result<(), TokenError> {
        if now >= self.expires + LEEWAY {
            return Err(TokenError::Expired);
        }
        match self.not_before {
            Some(start) if now + LEEWAY < start => Err(TokenError::NotYetValid),
            _ => Ok(()),
        }
    }

    /// The claims as a token carries them; [`Claims::parse`] reads them back.
    pub(super) fn to_json(&self) -> Map<String, Json> {
        let Grant {
            subject,
            scopes,
            narrow,
            token_id,
        } = &self.grant;
        let scope: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
        let optional = [
            ("nbf", self.not_before.map(|time| json!(time.timestamp()))),
            ("iat", self.issued.map(|time| json!(time.timestamp()))),
            ("jti", token_id.as_ref().map(|id| json!(id))),
            ("repo", narrow.repo.as_ref().map(|names| json!(names))),
            ("branch", narrow.branch.as_ref().map(|names| json!(names))),
            (
                "workload",
                narrow.workload.as_ref().map(|names| json!(names)),
            ),
            (
                "pipeline",
                narrow.pipeline.as_ref().map(|names| json!(names)),
            ),
        ];
        let mut claims = Map::new();
        claims.insert("iss".into(), json!(SERVICE));
        claims.insert("aud".into(), json!(SERVICE));
        claims.insert("sub".into(), json!(subject.as_str()));
        claims.insert("scope".into(), json!(scope.join(" ")));
        claims.insert("exp".into(), json!(self.expires.timestamp()));
        for (name, value) in optional {
            if let Some(value) = value {
                claims.insert(name.into(), value);
            }
        }
        claims
    }
}

/// A `NumericDate` (RFC 7519, section 2): seconds since 1970, maybe with a fraction, which is cut.
fn time(
    claims: &Map<String, Json>,
    claim: &'static str,
) -> Result<Option<DateTime<Utc>>, TokenError> {
    let Some(json) = claims.get(claim) else {
        return Ok(None);
    };
    let bad = TokenError::BadClaim {
        claim,
        expected: "a time in seconds from 1970 to the year 9999",
    };
    let number = json.as_number().ok_or(bad)?;
    let seconds = match number.as_i64() {
        Some(whole) => whole,
        None => cut(number.as_f64().ok_or(bad)?).ok_or(bad)?,
    };
    match DateTime::from_timestamp(seconds, 0) {
        Some(time) if seconds >= 0 && time <= LATEST_EXPIRY => Ok(Some(time)),
        _ => Err(bad),
    }
}

fn cut(seconds: f64) -> Option<i64> {
    let latest = LATEST_EXPIRY.timestamp();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "both ends are far below 2^53, and the range is checked first"
    )]
    (seconds >= 0.0 && seconds < (latest + 1) as f64).then_some(seconds as i64)
}

fn text<'a>(
    claims: &'a Map<String, Json>,
    claim: &'static str,
) -> Result<Option<&'a str>, TokenError> {
    match claims.get(claim) {
        None => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(_) => Err(TokenError::BadClaim {
            claim,
            expected: "a string",
        }),
    }
}

fn subject(claims: &Map<String, Json>) -> Result<Subject, TokenError> {
    let bad = TokenError::BadClaim {
        claim: "sub",
        expected: "a name of 1 to 255 characters",
    };
    let text = text(claims, "sub")?.ok_or(bad)?;
    text.parse().map_err(|_| bad)
}

/// Words that no version of this service has given a meaning yet are passed over: a token for a
/// newer service still does here what its other words say.
fn scopes(claims: &Map<String, Json>) -> Result<BTreeSet<Scope>, TokenError> {
    let words = text(claims, "scope")?.unwrap_or_default();
    Ok(words
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect())
}

fn names(
    claims: &Map<String, Json>,
    claim: &'static str,
) -> Result<Option<BTreeSet<String>>, TokenError> {
    let bad = TokenError::BadClaim {
        claim,
        expected: "a string or a list of strings",
    };
    match claims.get(claim) {
        None => Ok(None),
        Some(Json::String(one)) => Ok(Some(BTreeSet::from([one.clone()]))),
        Some(Json::Array(many)) => many
            .iter()
            .map(|one| one.as_str().map(str::to_owned).ok_or(bad))
            .collect::<Result<_, _>>()
            .map(Some),
        Some(_) => Err(bad),
    }
}
