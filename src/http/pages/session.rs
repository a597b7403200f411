//! Signing in: a token in a cookie, good for pages that are read and for nothing else.

use axum::body::to_bytes;
use axum::extract::{FromRequestParts, RawQuery, Request, State};
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_TYPE, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use url::form_urlencoded::byte_serialize;

use super::{HTML, POLICY, guard};
use crate::dashboard::pages;
use crate::domain::Scope;
use crate::http::admission::{self, ReadPlace};
use crate::http::params::Params;
use crate::http::problem::Problem;
use crate::http::rights;
use crate::http::{AppState, Caller};

/// The cookie's name.
const NAME: &str = "perf_tracking_pages";

/// Bytes of a form with a token.
const FORM_BYTES: usize = 16 << 10;

const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The right to see pages, and a place to read for one.
pub(super) struct CanSee {
    signed_in: bool,
    _place: ReadPlace,
}

impl CanSee {
    /// Whether the right came from a cookie, which can be given back.
    pub(super) fn signed_in(&self) -> bool {
        self.signed_in
    }
}

impl FromRequestParts<AppState> for CanSee {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Response> {
        let token = cookie(&parts.headers);
        let is_open = state.public_read || state.caller == Caller::Owner;
        let signed_in = match (is_open, token) {
            (true, _) => false,
            (false, Some(token)) => {
                check(state, token).map_err(|problem| refused(parts, problem, true))?;
                true
            }
            (false, None) => {
                let may = rights::may_read(&parts.headers, state);
                may.map_err(|problem| refused(parts, problem, false))?;
                false
            }
        };
        let place = admission::enter_to_read(state).await;
        let place = place.map_err(|problem| match wants_page(parts) {
            true => super::problem_page(state, problem),
            false => problem.into_response(),
        })?;
        Ok(Self {
            signed_in,
            _place: place,
        })
    }
}

/// A page leads to the form; a picture cannot.
fn refused(parts: &Parts, problem: Problem, had_cookie: bool) -> Response {
    if !wants_page(parts) {
        return problem.into_response();
    }
    let next = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let next: String = byte_serialize(next.as_bytes()).collect();
    let again = if had_cookie { "&again=true" } else { "" };
    see_other(&format!("/sign-in?next={next}{again}"))
}

fn wants_page(parts: &Parts) -> bool {
    let accept = parts
        .headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok());
    let is_picture = parts.uri.path().ends_with(".svg");
    !is_picture && accept.is_none_or(|accept| accept.contains("html") || accept.contains("*/*"))
}

fn check(state: &AppState, token: &str) -> Result<(), Problem> {
    let grant = state.keys.current().verify(token, (state.clock)());
    let grant = grant.map_err(|error| Problem::bad_token(&error))?;
    match grant.allows(Scope::RunsRead) {
        true => Ok(()),
        false => Err(Problem::lacks(Scope::RunsRead)),
    }
}

/// The token of the cookie.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter();
    let cookies = cookies.filter_map(|cookies| cookies.to_str().ok());
    let mut cookies = cookies.flat_map(|cookies| cookies.split(';'));
    cookies.find_map(|cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == NAME && !value.is_empty()).then_some(value)
    })
}

fn see_other(location: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    let location = HeaderValue::try_from(location);
    headers.insert(
        LOCATION,
        location.unwrap_or_else(|_| HeaderValue::from_static("/")),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    guard(headers, POLICY);
    response
}

fn shown(state: &AppState, status: StatusCode, next: &str, wrong: Option<&str>) -> Response {
    let page = pages::sign_in(&state.context(false), next, wrong);
    let mut response = (status, page.html).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(HTML));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    guard(headers, POLICY);
    response
}

/// The form.
pub(super) async fn form(State(state): State<AppState>, RawQuery(query): RawQuery) -> Response {
    let mut params = Params::parse(&query.unwrap_or_default());
    let next = params.optional::<String>("next");
    let again = params.flag("again");
    let wrong = again
        .then_some("The token that this browser kept is no longer good. Sign in with another one.");
    shown(&state, StatusCode::OK, &local(next), wrong)
}

/// Keeps the token of the form in a cookie if it is one that may read.
pub(super) async fn sign_in(State(state): State<AppState>, request: Request) -> Response {
    if !is_own(request.headers()) {
        return shown(
            &state,
            StatusCode::FORBIDDEN,
            "/",
            Some("The form was sent from another site."),
        );
    }
    let is_secure = request
        .headers()
        .get(FORWARDED_PROTO)
        .is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"));
    let body =
        tokio::time::timeout(state.limits.time, to_bytes(request.into_body(), FORM_BYTES)).await;
    let Ok(Ok(body)) = body else {
        return shown(
            &state,
            StatusCode::BAD_REQUEST,
            "/",
            Some("The form could not be read."),
        );
    };
    let mut params = Params::parse(&String::from_utf8_lossy(&body));
    let next = local(params.optional("next"));
    let token = params.optional::<String>("token").unwrap_or_default();
    let token = token.trim();
    if let Err(problem) = check(&state, token) {
        let (_, detail, _) = problem.told();
        let wrong = format!("The token is not accepted: {detail}.");
        return shown(&state, StatusCode::UNAUTHORIZED, &next, Some(&wrong));
    }
    let secure = if is_secure { "; Secure" } else { "" };
    let cookie = format!("{NAME}={token}; Path=/; HttpOnly; SameSite=Strict{secure}");
    let mut response = see_other(&next);
    // A token that was accepted is one word of visible ASCII.
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Takes the cookie back.
pub(super) async fn sign_out(headers: HeaderMap) -> Response {
    let mut response = see_other("/sign-in");
    if is_own(&headers) {
        let gone = HeaderValue::from_static(
            "perf_tracking_pages=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict",
        );
        response.headers_mut().insert(SET_COOKIE, gone);
    }
    response
}

/// Whether a form was sent from a page of this service, as far as the browser tells.
fn is_own(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get(FETCH_SITE) {
        return matches!(site.as_bytes(), b"same-origin" | b"none");
    }
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    match (text(ORIGIN), text(HOST)) {
        (Some(origin), Some(host)) => origin.split_once("://").is_some_and(|(_, own)| own == host),
        _ => true,
    }
}

/// The address to go on to: a path of this service, never another host's.
fn local(next: Option<String>) -> String {
    let is_local = |next: &String| {
        next.starts_with('/')
            && !next.starts_with("//")
            && next
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    };
    next.filter(is_local).unwrap_or_else(|| "/".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_another_host() {
        for (next, to) in [
            ("/metric?a=b", "/metric?a=b"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("", "/"),
            ("/a\r\nb", "/"),
        ] {
            assert_eq!(local(Some(next.to_owned())), to, "{next:?}");
        }
        assert_eq!(local(None), "/");
    }
}
