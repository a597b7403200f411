//! The pages of the dashboard, as routes.
//!
//! Reads that need a token take it from a cookie here, which no other route looks at. An answer that was made
//! is kept until the store has something new, and carries an `ETag`, so an embedded chart costs one step into
//! an index while nothing has changed.

mod kept;
mod query;
mod session;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use kept::Kept;

use super::AppState;
use super::params::Params;
use super::problem::{Problem, Slug};
use super::runs::{no_run, run_id};
use crate::dashboard::{Board, Boards, Context, Links, Page, UrlPattern, assets, pages};
use session::CanSee;

/// What the pages keep between requests, and what the operator chose for them.
#[derive(Clone, Default)]
pub struct Pages {
    boards: Boards,
    kept: Kept,
    patterns: Arc<[UrlPattern]>,
}

impl Pages {
    /// Pages that link to commits and changes at `patterns`.
    pub fn new(patterns: Vec<UrlPattern>) -> Self {
        Self {
            patterns: patterns.into(),
            ..Self::default()
        }
    }
}

/// Neither a page nor a chart loads or runs anything but the files of this service.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A chart alone needs nothing at all.
const PICTURE_POLICY: &str = "default-src 'none'; sandbox";

const HTML: &str = "text/html; charset=utf-8";
const SVG: &str = "image/svg+xml; charset=utf-8";

/// How long a request waits for the board. What is not summed up then is shown without its sums.
const LONGEST_WAIT: Duration = Duration::from_secs(3);

/// Every route of the dashboard.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/", get(overview))
        .route("/metric", get(metric))
        .route("/chart.svg", get(chart))
        .route("/badge.svg", get(badge))
        .route("/changes", get(changes))
        .route("/compare", get(compare))
        .route("/run/{id}", get(run))
        .route("/assets/{name}", get(asset))
        .route("/sign-in", get(session::form).post(session::sign_in))
        .route("/sign-out", post(session::sign_out))
}

/// An answer as it is made, and kept.
#[derive(Clone)]
pub(super) struct Made {
    body: axum::body::Bytes,
    etag: HeaderValue,
    media_type: &'static str,
}

impl Made {
    fn new(body: String, media_type: &'static str) -> Self {
        use sha2::{Digest, Sha256};
        let print = hex::encode(&Sha256::digest(&body)[..12]);
        let etag = HeaderValue::try_from(format!("W/\"{print}\""));
        Self {
            body: body.into(),
            etag: etag.unwrap_or_else(|_| HeaderValue::from_static("W/\"\"")),
            media_type,
        }
    }

    fn bytes(&self) -> usize {
        self.body.len()
    }

    /// The answer, or word that the client has it already. `cache` says for how long it may be used unasked.
    fn answer(self, asked: &HeaderMap, cache: &'static str) -> Response {
        let known = asked.get_all(IF_NONE_MATCH).iter();
        let mut known = known
            .filter_map(|tags| tags.to_str().ok())
            .flat_map(|tags| tags.split(','));
        let own = self.etag.to_str().unwrap_or_default();
        let strong = own.trim_start_matches("W/");
        let is_known = known
            .any(|tag| matches!(tag.trim(), "*") || tag.trim().trim_start_matches("W/") == strong);
        let mut response = match is_known {
            true => StatusCode::NOT_MODIFIED.into_response(),
            false => self.body.into_response(),
        };
        let policy = match self.media_type {
            SVG => PICTURE_POLICY,
            _ => POLICY,
        };
        let headers = response.headers_mut();
        if !is_known {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        }
        headers.insert(ETAG, self.etag);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
        headers.append(VARY, HeaderValue::from_static("cookie, authorization"));
        guard(headers, policy);
        response
    }
}

/// What keeps a browser from doing more with an answer than showing it.
fn guard(headers: &mut HeaderMap, policy: &'static str) {
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

impl AppState {
    fn context(&self, signed_in: bool) -> Context {
        Context {
            links: Links::Routes,
            patterns: Arc::clone(&self.pages.patterns),
            signed_in,
        }
    }

    /// The board of the store as it is now, or as far as it can be had in time. The work goes on then.
    async fn board(&self, version: u64) -> Result<Arc<Board>, Problem> {
        let boards = self.pages.boards.clone();
        if boards.current().is_of(version) {
            return Ok(boards.current());
        }
        let store = self.store.clone();
        let mut work = tokio::spawn({
            let boards = boards.clone();
            async move { boards.refresh(&store, version).await }
        });
        match tokio::time::timeout(LONGEST_WAIT, &mut work).await {
            Ok(Ok(outcome)) => outcome?,
            Ok(Err(error)) => return Err(Problem::failed(&error)),
            Err(_) => {}
        }
        Ok(boards.current())
    }
}

/// The page as it was kept, or made anew and kept, unless `is_whole` says that it will soon look different.
async fn kept(
    state: &AppState,
    key: String,
    version: u64,
    make: impl Future<Output = Result<(Made, bool), Problem>>,
) -> Result<Made, Problem> {
    if let Some(made) = state.pages.kept.get(&key, version) {
        return Ok(made);
    }
    let (made, is_whole) = Box::pin(make).await?;
    if is_whole {
        state.pages.kept.put(key, version, &made);
    }
    Ok(made)
}

/// Pages are asked for each time; browsers are told in a line that nothing has changed.
const PAGE_CACHE: &str = "private, no-cache";
/// A picture of a service that everybody may read.
const OPEN_PICTURE_CACHE: &str = "public, max-age=60, stale-while-revalidate=600";
const PICTURE_CACHE: &str = "private, max-age=60";

fn picture_cache(state: &AppState) -> &'static str {
    match state.public_read {
        true => OPEN_PICTURE_CACHE,
        false => PICTURE_CACHE,
    }
}

/// A problem as a page.
fn problem_page(state: &AppState, problem: Problem) -> Response {
    let (title, detail, faults) = problem.told();
    let page = pages::message(&state.context(false), &title, &detail, &faults);
    let mut response = problem.into_response();
    *response.body_mut() = page.html.into();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(HTML));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.remove(axum::http::header::CONTENT_LENGTH);
    guard(headers, POLICY);
    response
}

fn html(page: Page) -> Made {
    Made::new(page.html, HTML)
}

/// The parts of a request that every page needs.
struct Asked<'a> {
    state: &'a AppState,
    right: CanSee,
    headers: &'a HeaderMap,
    key: String,
}

impl<'a> Asked<'a> {
    fn new(
        state: &'a AppState,
        right: CanSee,
        headers: &'a HeaderMap,
        path: &str,
        query: Option<&str>,
    ) -> Self {
        let key = format!(
            "{path}?{}\n{}",
            query.unwrap_or_default(),
            right.signed_in()
        );
        Self {
            state,
            right,
            headers,
            key,
        }
    }

    fn context(&self) -> Context {
        self.state.context(self.right.signed_in())
    }

    /// A page of the board.
    async fn of_board<Q>(
        self,
        query: Result<Q, Problem>,
        make: impl FnOnce(&Context, &Board, &Q) -> Page,
    ) -> Response {
        let made = async {
            let query = query?;
            let version = self.state.store.version().await?;
            let make = async {
                let board = self.state.board(version).await?;
                let page = make(&self.context(), &board, &query);
                Ok((html(page), board.is_of(version)))
            };
            kept(self.state, self.key.clone(), version, make).await
        };
        self.answer(made.await)
    }

    /// A page that `make` reads from the store.
    async fn of_store(self, make: impl Future<Output = Result<Page, Problem>>) -> Response {
        let made = async {
            let version = self.state.store.version().await?;
            let make = async { Ok((html(Box::pin(make).await?), true)) };
            kept(self.state, self.key.clone(), version, make).await
        };
        let made = made.await;
        self.answer(made)
    }

    fn answer(&self, made: Result<Made, Problem>) -> Response {
        match made {
            Ok(made) => made.answer(self.headers, PAGE_CACHE),
            Err(problem) => problem_page(self.state, problem),
        }
    }
}

async fn overview(
    State(state): State<AppState>,
    right: CanSee,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let asked = Asked::new(&state, right, &headers, "/", query.as_deref());
    asked
        .of_board(query::overview(form(query)), pages::overview)
        .await
}

async fn changes(
    State(state): State<AppState>,
    right: CanSee,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let asked = Asked::new(&state, right, &headers, "/changes", query.as_deref());
    asked
        .of_board(query::changes(form(query)), pages::changes)
        .await
}

async fn metric(
    State(state): State<AppState>,
    right: CanSee,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let asked = Asked::new(&state, right, &headers, "/metric", query.as_deref());
    let context = asked.context();
    let page = async {
        let query = query::metric(form(query))?;
        Ok(pages::metric(&context, &state.store, &query).await?)
    };
    asked.of_store(page).await
}

async fn compare(
    State(state): State<AppState>,
    right: CanSee,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let asked = Asked::new(&state, right, &headers, "/compare", query.as_deref());
    let context = asked.context();
    let page = async {
        let query = query::compare(form(query))?;
        Ok(pages::compare(&context, &state.store, &query).await?)
    };
    asked.of_store(page).await
}

async fn run(
    State(state): State<AppState>,
    right: CanSee,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
) -> Response {
    let id = id.map(|Path(id)| id).unwrap_or_default();
    let asked = Asked::new(&state, right, &headers, "/run", Some(&id));
    let context = asked.context();
    let page = async {
        let id = run_id(&id).ok_or_else(|| no_run(&id))?;
        let page = pages::run(&context, &state.store, id).await?;
        page.ok_or_else(|| no_run(&id.to_string()))
    };
    asked.of_store(page).await
}

async fn chart(
    State(state): State<AppState>,
    _right: CanSee,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let key = format!("/chart.svg?{}", query.as_deref().unwrap_or_default());
    let make = async {
        let (query, frame) = query::chart(form(query))?;
        Ok(pages::chart(&state.store, &query, frame).await?)
    };
    picture(&state, &headers, key, make).await
}

async fn badge(
    State(state): State<AppState>,
    _right: CanSee,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let key = format!("/badge.svg?{}", query.as_deref().unwrap_or_default());
    let make = async {
        let query = query::metric(form(query))?;
        Ok(pages::badge(&state.store, &query).await?)
    };
    picture(&state, &headers, key, make).await
}

/// The picture as it was kept, or as `svg` makes it.
async fn picture(
    state: &AppState,
    headers: &HeaderMap,
    key: String,
    svg: impl Future<Output = Result<String, Problem>>,
) -> Result<Response, Problem> {
    let version = state.store.version().await?;
    let make = async { Ok((Made::new(svg.await?, SVG), true)) };
    let made = kept(state, key, version, make).await?;
    Ok(made.answer(headers, picture_cache(state)))
}

/// A file beside the pages; it holds nothing of the store, so nobody needs a token for it.
async fn asset(headers: HeaderMap, name: Result<Path<String>, PathRejection>) -> Response {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let Some(asset) = assets::ALL.iter().find(|asset| asset.name == name) else {
        return Problem::new(Slug::NotFound, "there is no such file").into_response();
    };
    Made::new(asset.content.to_owned(), asset.media_type).answer(&headers, "public, no-cache")
}

/// The parameters of a form: an empty field is one that was left out.
fn form(query: Option<String>) -> Params {
    let query = query.unwrap_or_default();
    let fields = query.split('&').filter(|field| !field.ends_with('='));
    Params::parse(&fields.collect::<Vec<_>>().join("&"))
}
