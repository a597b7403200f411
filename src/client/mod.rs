//! The API from the other side: what the commands ask of a service, or of a file of runs.
//!
//! A [`Client`] tries again for a while where trying again can help (see `retry`), and tells
//! everything else as one [`ClientError`]: what went wrong, where, and what to do about it. It
//! follows no redirect: an upload must not become a read, and the token goes to the host that the
//! settings name and to no other. It prints nothing and reads no setting.

mod error;
mod local;
mod retry;
mod runs;
mod server;
mod server_url;
mod store_file;
mod token;

use std::sync::Once;
use std::time::{Duration, Instant};

use backon::{ExponentialBuilder, Retryable as _};
use chrono::{DateTime, Utc};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, StatusCode, redirect};
use serde::de::DeserializeOwned;
use url::Url;

use crate::api::{HistoryAnswer, RecordAnswer};
use crate::domain::{Run, Scope};

pub use error::ClientError;
pub use runs::RunsPage;
pub use server::Server;
pub use server_url::ServerUrl;
pub use store_file::StoreFile;
pub use token::{Token, TokenTextError};

pub(crate) use error::token_advice;

use error::{Failure, Refusal};
use local::LocalStore;

/// Time for a connection; a host that is up answers in far less.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest answer that is read: far more than a page of the service's ever has. What goes on for
/// longer may have no end.
const MAX_ANSWER_BYTES: usize = 512 << 20;

const USER_AGENT: &str = concat!("perf-tracking/", env!("CARGO_PKG_VERSION"));

/// What a client needs to know.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Where the runs are.
    pub server: Server,
    /// The token; a service with public reads takes reads without one.
    pub token: Option<Token>,
    /// How long one try may take.
    pub timeout: Duration,
    /// How long to go on trying; zero tries once.
    pub retry_for: Duration,
    /// Hears of every try that failed and is made again after the pause.
    pub on_retry: fn(&ClientError, Duration),
    /// The time of day, which a `Retry-After` may be given in.
    pub clock: fn() -> DateTime<Utc>,
}

/// A connection to a service, or an open file, kept between requests.
pub struct Client {
    transport: Transport,
    settings: ClientSettings,
}

/// The way to the answers.
enum Transport {
    Network(Network),
    File(LocalStore),
}

/// A service on the network.
struct Network {
    http: reqwest::Client,
    authorization: Option<HeaderValue>,
    timeout: Duration,
}

/// An answer, before it is known to be one that helps.
struct Reply {
    status: StatusCode,
    content_type: Option<String>,
    location: Option<String>,
    retry_after: Option<String>,
    text: String,
}

/// An answer: what it says, and its very text.
#[derive(Clone, Debug)]
pub struct Answer<T> {
    /// What it says.
    pub content: T,
    /// The body as it came.
    pub text: String,
}

/// Which windows of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// The live runs: `/v1/history`.
    History,
    /// The reference runs: `/v1/baseline`.
    Baseline,
}

impl Window {
    fn path(self) -> &'static str {
        match self {
            Self::History => "/v1/history",
            Self::Baseline => "/v1/baseline",
        }
    }
}

/// A request, to be sent as often as it takes.
struct Request<'a> {
    method: Method,
    url: Url,
    body: Option<&'a str>,
    scope: Option<Scope>,
}

impl Network {
    fn new(server: &ServerUrl, settings: &ClientSettings) -> Result<Self, ClientError> {
        install_cryptography();
        let unusable = |cause: String| ClientError::new(server, Failure::Setup(cause));
        let mut builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(CONNECT_TIMEOUT.min(settings.timeout))
            .timeout(settings.timeout)
            .redirect(redirect::Policy::none())
            .referer(false);
        if server.is_loopback() {
            builder = builder.no_proxy();
        }
        if !server.is_https() {
            // Certificates are read at once, and a small container may have none.
            builder = builder.tls_certs_only([]);
        }
        let http = builder
            .build()
            .map_err(|error| unusable(error::innermost(&error)))?;
        let authorization = match &settings.token {
            None => None,
            Some(token) => Some(bearer(token).map_err(|cause| unusable(cause.to_owned()))?),
        };
        Ok(Self {
            http,
            authorization,
            timeout: settings.timeout,
        })
    }

    /// One try.
    async fn send(&self, request: &Request<'_>) -> Result<Reply, Failure> {
        let failure = |error: reqwest::Error| Failure::of(&error, self.timeout);
        let mut response = self.build(request).send().await.map_err(failure)?;
        let header = |name| {
            let value: Option<&HeaderValue> = response.headers().get(name);
            value
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned)
        };
        let mut reply = Reply {
            status: response.status(),
            content_type: header(CONTENT_TYPE),
            location: header(LOCATION),
            retry_after: header(RETRY_AFTER),
            text: String::new(),
        };
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(failure)? {
            if body.len() + piece.len() > MAX_ANSWER_BYTES {
                return Err(Failure::TooLong);
            }
            body.extend_from_slice(&piece);
        }
        reply.text = String::from_utf8_lossy(&body).into_owned();
        Ok(reply)
    }

    fn build(&self, request: &Request<'_>) -> RequestBuilder {
        let mut builder = self
            .http
            .request(request.method.clone(), request.url.clone());
        if let Some(authorization) = self
            .authorization
            .as_ref()
            .filter(|_| request.scope.is_some())
        {
            builder = builder.header(AUTHORIZATION, authorization.clone());
        }
        if let Some(body) = request.body {
            builder = builder
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_owned());
        }
        builder
    }
}

impl Client {
    /// A client that has not connected yet, nor opened its file.
    ///
    /// # Errors
    /// If the machine's certificates cannot be read, or the token is none that a header can hold.
    pub fn new(settings: ClientSettings) -> Result<Self, ClientError> {
        let transport = match &settings.server {
            Server::Service(url) => Transport::Network(Network::new(url, &settings)?),
            Server::File(file) => Transport::File(LocalStore::new(file.clone(), settings.clock)),
        };
        Ok(Self {
            transport,
            settings,
        })
    }

    /// Whether there is a token to send, or none is needed.
    pub fn has_token(&self) -> bool {
        match &self.transport {
            Transport::Network(network) => network.authorization.is_some(),
            Transport::File(_) => true,
        }
    }

    /// Stores `run`. Sent as often as it takes: the service stores one identity once.
    ///
    /// # Errors
    /// Why it is not known to be stored; [`ClientError::conflict`] if it is stored otherwise.
    pub async fn upload(&self, run: &Run) -> Result<Answer<RecordAnswer>, ClientError> {
        let url = self.settings.server.join("/v1/runs");
        let body = serde_json::to_string(run).map_err(|error| {
            self.settings
                .server
                .failed(&url, Failure::Setup(error.to_string()))
        })?;
        let request = Request {
            method: Method::POST,
            url,
            body: Some(&body),
            scope: Some(Scope::RunsWrite),
        };
        self.ask_json(&request).await
    }

    /// Reads one page of a window; `query` has its parameters, as the service names them.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn window(
        &self,
        window: Window,
        query: &[(&str, String)],
    ) -> Result<Answer<HistoryAnswer>, ClientError> {
        let mut url = self.settings.server.join(window.path());
        url.query_pairs_mut().extend_pairs(query);
        let request = Request {
            method: Method::GET,
            url,
            body: None,
            scope: Some(Scope::RunsRead),
        };
        self.ask_json(&request).await
    }

    /// Asks whether the service can serve.
    ///
    /// # Errors
    /// Why it cannot, or cannot be asked.
    pub async fn ready(&self) -> Result<(), ClientError> {
        let request = Request {
            method: Method::GET,
            url: self.settings.server.join("/readyz"),
            body: None,
            scope: None,
        };
        let text = self.ask(&request).await?;
        if text.trim_ascii() == "ready" {
            return Ok(());
        }
        Err(self.settings.server.failed(
            &request.url,
            Failure::Foreign(Refusal::text(StatusCode::OK, None, &text)),
        ))
    }

    async fn ask_json<T: DeserializeOwned>(
        &self,
        request: &Request<'_>,
    ) -> Result<Answer<T>, ClientError> {
        let text = self.ask(request).await?;
        match serde_json::from_str(&text) {
            Ok(content) => Ok(Answer { content, text }),
            Err(_) => Err(self.settings.server.failed(
                &request.url,
                Failure::Foreign(Refusal::text(StatusCode::OK, None, &text)),
            )),
        }
    }

    /// How long to try again. A store in a file waits for other processes itself.
    fn retry_for(&self) -> Duration {
        match self.transport {
            Transport::Network(_) => self.settings.retry_for,
            Transport::File(_) => Duration::ZERO,
        }
    }

    /// The body of a successful answer, tried for as long as the settings say.
    async fn ask(&self, request: &Request<'_>) -> Result<String, ClientError> {
        let started = Instant::now();
        let retry_for = self.retry_for();
        let mut tries = 0_u32;
        let backoff = ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(retry::FIRST_PAUSE)
            .with_max_delay(retry::LONGEST_PAUSE)
            .without_max_times();
        let mut attempt = || {
            tries += 1;
            self.send(request)
        };
        let outcome = (&mut attempt)
            .retry(backoff)
            .when(ClientError::may_pass)
            .adjust(|error, pause| {
                let left = retry_for.saturating_sub(started.elapsed());
                retry::pause(pause?, error.retry_after(), left)
            })
            .notify(self.settings.on_retry)
            .await;
        outcome.map_err(|error| error.after(tries))
    }

    /// One try.
    async fn send(&self, request: &Request<'_>) -> Result<String, ClientError> {
        let fail = |failure| self.settings.server.failed(&request.url, failure);
        let reply = match &self.transport {
            Transport::Network(network) => network.send(request).await,
            Transport::File(file) => file.send(request, self.settings.timeout).await,
        };
        let reply = reply.map_err(fail)?;
        if reply.status.is_success() {
            return Ok(reply.text);
        }
        if reply.status.is_redirection() {
            let location = reply.location.unwrap_or_default();
            return Err(fail(Failure::redirect(
                reply.status,
                &request.url,
                &location,
            )));
        }
        let content_type = reply.content_type.as_deref();
        let mut refusal = Refusal::text(reply.status, content_type, &reply.text);
        refusal.retry_after = reply
            .retry_after
            .and_then(|text| retry::after(&text, (self.settings.clock)()));
        Err(fail(Failure::refusal(
            refusal,
            &reply.text,
            request.scope,
            self.has_token(),
        )))
    }
}

/// The header of a token; marked, so that no log shows it.
fn bearer(token: &Token) -> Result<HeaderValue, &'static str> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose()))
        .map_err(|_| "the token cannot be sent in a header")?;
    value.set_sensitive(true);
    Ok(value)
}

/// The cryptography of TLS, which a process has once.
fn install_cryptography() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Another part of the process may have chosen already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
