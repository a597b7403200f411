//! What went wrong, where, and what to do about it. Never holds a token.

mod refusal;

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use reqwest::StatusCode;
use serde::Deserialize;
use url::Url;

pub(super) use refusal::Refusal;

use refusal::one_line;

use super::retry;
use crate::api::{ConflictBody, NO_ROUTE};
use crate::domain::{Fault, Scope};
use crate::terminal::tame;

/// The kind of problem whose remedy is another token with the same scope.
const OUTSIDE_GRANT: &str = "outside-grant";

const CHECK_ADDRESS: &str = "the address of the service is perhaps wrong: check --server \
                             (PERF_TRACKING_URL), and the path in it";

const CHECK_SERVER: &str = "check --server (PERF_TRACKING_URL), and that the service runs";

/// Why there is no answer that can be used.
#[derive(Clone, Debug)]
pub struct ClientError(Box<Content>);

#[derive(Clone, Debug)]
struct Content {
    /// Where the request went, without its query.
    place: String,
    failure: Failure,
    tries: u32,
}

/// The ways to fail.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// Nothing was sent; the cause.
    Setup(String),
    /// The file of runs cannot be used; why, and what to do.
    Store(String),
    /// No connection; the cause.
    Unreachable(String),
    /// A connection whose other side could not prove who it is; the cause.
    Untrusted(String),
    /// No whole answer within this time.
    TimedOut(Duration),
    /// The connection broke, or what came is no HTTP; the cause.
    Broken(String),
    /// An answer that is longer than any of the service's.
    TooLong,
    /// The service is elsewhere.
    Redirect {
        /// The answer's status.
        status: StatusCode,
        /// Where it points to, without a query.
        location: String,
    },
    /// The service said no, and why.
    Problem(Problem),
    /// An answer that is not of this service.
    Foreign(Refusal),
}

/// The service's own words (RFC 9457).
///
/// Not [`crate::api::ProblemBody`], which knows the kinds of this version alone: a newer service
/// may have more.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    status: StatusCode,
    body: ProblemText,
    text: String,
    /// The scope that the request needs, and whether a token was sent.
    token: Option<(Scope, bool)>,
    retry_after: Option<Duration>,
}

/// A problem has a title; its kind says nothing more to a person, but tells what to advise.
#[derive(Clone, Debug, Deserialize)]
struct ProblemText {
    #[serde(default, rename = "type")]
    kind: String,
    title: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    errors: Vec<Fault>,
}

impl ClientError {
    /// A failure at `place`; a query is left out, which a person can tell from the command.
    pub(super) fn new(place: &impl ToString, failure: Failure) -> Self {
        let place = place.to_string();
        let place = place.split('?').next().unwrap_or_default().to_owned();
        Self(Box::new(Content {
            place,
            failure,
            tries: 1,
        }))
    }

    /// With the number of tries that it took.
    pub(super) fn after(mut self, tries: u32) -> Self {
        self.0.tries = tries;
        self
    }

    /// Whether the same request may succeed later.
    pub(super) fn may_pass(&self) -> bool {
        match &self.0.failure {
            Failure::Unreachable(_) | Failure::TimedOut(_) | Failure::Broken(_) => true,
            Failure::Problem(problem) => retry::may_pass(problem.status),
            Failure::Foreign(refusal) => retry::may_pass(refusal.status),
            Failure::Setup(_)
            | Failure::Store(_)
            | Failure::Untrusted(_)
            | Failure::TooLong
            | Failure::Redirect { .. } => false,
        }
    }

    /// How long the service asks to wait.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match &self.0.failure {
            Failure::Problem(problem) => problem.retry_after,
            Failure::Foreign(refusal) => refusal.retry_after,
            _ => None,
        }
    }

    /// Whether it is the upload itself that is refused, so that another may well be taken.
    pub fn is_of_the_run(&self) -> bool {
        let Failure::Problem(problem) = &self.0.failure else {
            return false;
        };
        match problem.status {
            StatusCode::BAD_REQUEST
            | StatusCode::CONFLICT
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::UNPROCESSABLE_ENTITY => true,
            StatusCode::FORBIDDEN => problem.body.kind == "outside-grant",
            _ => false,
        }
    }

    /// Everything that does not fit in what was sent, as the service lists it.
    pub fn faults(&self) -> &[Fault] {
        match &self.0.failure {
            Failure::Problem(problem) => &problem.body.errors,
            _ => &[],
        }
    }

    /// The differences, if the run is stored with other content.
    pub fn conflict(&self) -> Option<ConflictBody> {
        match &self.0.failure {
            Failure::Problem(problem) if problem.status == StatusCode::CONFLICT => {
                serde_json::from_str(&problem.text).ok()
            }
            _ => None,
        }
    }

    /// The body of the service's problem, as it came.
    pub fn problem_text(&self) -> Option<&str> {
        match &self.0.failure {
            Failure::Problem(problem) => Some(&problem.text),
            _ => None,
        }
    }

    /// Whether the token may write runs, but not this one.
    pub fn is_outside_claims(&self) -> bool {
        matches!(&self.0.failure, Failure::Problem(problem) if problem.is_outside_claims())
    }

    /// What went wrong in a few words, without the place and the advice.
    pub fn reason(&self) -> String {
        match &self.0.failure {
            Failure::Setup(cause) | Failure::Store(cause) => cause.clone(),
            Failure::Unreachable(cause) => format!("cannot be reached: {cause}"),
            Failure::Untrusted(cause) => format!("is not trusted: {cause}"),
            Failure::TimedOut(time) => {
                format!(
                    "no whole answer within {}",
                    humantime::format_duration(*time)
                )
            }
            Failure::Broken(cause) => format!("the connection broke: {cause}"),
            Failure::TooLong => "an answer that is longer than any of the service's".to_owned(),
            Failure::Redirect { status, location } => {
                format!("{} points to {location}", status.as_u16())
            }
            Failure::Problem(problem) => problem.summary(),
            Failure::Foreign(refusal) => refusal.to_string(),
        }
    }

    fn advice(&self) -> Option<String> {
        match &self.0.failure {
            Failure::Setup(_) | Failure::Store(_) | Failure::TimedOut(_) | Failure::Broken(_) => {
                None
            }
            Failure::Unreachable(_) => Some(CHECK_SERVER.to_owned()),
            Failure::Untrusted(_) => Some(
                "check --server (PERF_TRACKING_URL), or have the machine trust the certificate"
                    .to_owned(),
            ),
            Failure::Redirect { .. } => Some(
                "redirects are not followed, so that a token goes to one host alone; \
                 name the service's own address with --server (PERF_TRACKING_URL)"
                    .to_owned(),
            ),
            Failure::Problem(problem) => problem.advice(),
            Failure::Foreign(refusal) if refusal.status == StatusCode::NOT_FOUND => Some(format!(
                "{CHECK_ADDRESS}, and the proxies in front of the service"
            )),
            Failure::Foreign(_) | Failure::TooLong => Some(
                "check --server (PERF_TRACKING_URL), and the proxies in front of the service"
                    .to_owned(),
            ),
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.place, self.reason())?;
        if self.0.tries > 1 {
            write!(f, " (after {} tries)", self.0.tries)?;
        }
        if let Failure::Problem(problem) = &self.0.failure {
            for fault in &problem.body.errors {
                write!(f, "\n  {}", tame(&fault.to_string()))?;
            }
        }
        match self.advice() {
            Some(advice) => write!(f, "\n{advice}"),
            None => Ok(()),
        }
    }
}

impl Error for ClientError {}

impl Failure {
    /// What reqwest failed at.
    pub(super) fn of(error: &reqwest::Error, timeout: Duration) -> Self {
        let cause = innermost(error);
        if is_untrusted(error) {
            Self::Untrusted(cause)
        } else if error.is_connect() {
            Self::Unreachable(cause)
        } else if error.is_timeout() {
            Self::TimedOut(timeout)
        } else if error.is_builder() {
            Self::Setup(cause)
        } else {
            Self::Broken(cause)
        }
    }

    /// The service, or something before it, points elsewhere.
    pub(super) fn redirect(status: StatusCode, from: &Url, location: &str) -> Self {
        let location = match from.join(location) {
            Ok(mut url) => {
                url.set_query(None);
                url.set_fragment(None);
                // A URL that can have no user info has none.
                let _ = url.set_username("");
                let _ = url.set_password(None);
                url.to_string()
            }
            Err(_) => "no address".to_owned(),
        };
        Self::Redirect { status, location }
    }

    /// What an answer other than a success says: a problem of the service, or something else.
    pub(super) fn refusal(
        refusal: Refusal,
        text: &str,
        scope: Option<Scope>,
        has_token: bool,
    ) -> Self {
        match serde_json::from_str(text) {
            Ok(body) => Self::Problem(Problem {
                status: refusal.status,
                body,
                text: text.to_owned(),
                token: scope.map(|scope| (scope, has_token)),
                retry_after: refusal.retry_after,
            }),
            Err(_) => Self::Foreign(refusal),
        }
    }
}

impl Problem {
    fn summary(&self) -> String {
        let ProblemText {
            title,
            detail,
            errors,
            ..
        } = &self.body;
        let head = format!("{} {}", self.status.as_u16(), one_line(title));
        // The list below says the same and more.
        if detail.is_empty() || !errors.is_empty() {
            return head;
        }
        format!("{head}: {}", one_line(detail))
    }

    fn is_outside_claims(&self) -> bool {
        self.status == StatusCode::FORBIDDEN && self.body.kind == OUTSIDE_GRANT
    }

    fn advice(&self) -> Option<String> {
        // A run may be missing. Every route that the commands ask for exists, so a missing route means
        // that the address is another one.
        let no_route = self.body.detail.starts_with(NO_ROUTE);
        if self.status == StatusCode::METHOD_NOT_ALLOWED
            || (self.status == StatusCode::NOT_FOUND && (no_route || self.body.detail.is_empty()))
        {
            return Some(CHECK_ADDRESS.to_owned());
        }
        if self.status == StatusCode::NOT_FOUND {
            return None;
        }
        if self.is_outside_claims() {
            return Some(CLAIMS_ADVICE.to_owned());
        }
        let (scope, has_token) = self.token?;
        let advice = token_advice(scope);
        match (self.status, has_token) {
            (StatusCode::UNAUTHORIZED, false) => Some(format!("no token was sent: {advice}")),
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => Some(advice),
            _ => None,
        }
    }
}

/// How to get a token that reaches to a run.
const CLAIMS_ADVICE: &str = "\
the scope is right: use a token that is not narrowed, or is narrowed to what this run is of. \
`perf-tracking token inspect` shows what a token is narrowed to, and the flags --repo, --branch, \
--workload and --pipeline of `perf-tracking token issue` narrow one";

/// How to get a token for `scope`, and where to put it.
pub(crate) fn token_advice(scope: Scope) -> String {
    format!(
        "`perf-tracking token issue --scope {scope} --subject NAME --expires 90d` makes a token \
         where the service keeps its secret; give it in a file with --token-file \
         (PERF_TRACKING_TOKEN_FILE) or in the variable PERF_TRACKING_TOKEN"
    )
}

/// The cause that an error comes down to; what stands around it names the address once more.
pub(super) fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    one_line(&cause.to_string())
}

/// Whether TLS refused the other side's certificate, which no waiting mends.
fn is_untrusted(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(tls) = error.downcast_ref() {
            return matches!(tls, rustls::Error::InvalidCertificate(_));
        }
        // An I/O error passes over what it wraps when it is asked for its source.
        let io = error.downcast_ref().and_then(io::Error::get_ref);
        cause = match io {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_does_not_hold_is_found_however_deep() {
        let refused = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let wrapped = io::Error::new(io::ErrorKind::InvalidData, refused.clone());
        let twice = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, refused.clone()));
        assert!(is_untrusted(&refused) && is_untrusted(&wrapped) && is_untrusted(&twice));
        let broken = io::Error::other(rustls::Error::HandshakeNotComplete);
        let gone = io::Error::from(io::ErrorKind::ConnectionReset);
        assert!(!is_untrusted(&broken) && !is_untrusted(&gone));
    }

    #[test]
    fn where_it_points_to_is_told_without_secrets() {
        let from = Url::parse("http://h/v1/runs").unwrap();
        for (location, shown) in [
            ("/login?next=x#y", "http://h/login"),
            ("https://u:hunter2@other/?token=x", "https://other/"),
            ("http://", "no address"),
        ] {
            match Failure::redirect(StatusCode::FOUND, &from, location) {
                Failure::Redirect { location, .. } => assert_eq!(location, shown),
                other => panic!("{other:?}"),
            }
        }
    }
}
