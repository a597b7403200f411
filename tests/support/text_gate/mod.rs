//! A server that behaves on the wire as Drizzle does: a gate in front of a MariaDB.
//!
//! Drizzle's last release is from 2012 and no package has it. What its MySQL protocol refuses is known, with error
//! numbers, from a server that ran; the gate refuses the same, and MariaDB carries out what is left. So a test finds
//! out whether the product lives within those limits.
//!
//! Not imitated, as it would take a type checker: a boolean compared with text (1729) or cast (1730), and the types
//! of `MAX`, `COALESCE` and `DATABASE()`. A date-time is judged by its look, also where it stands for a text.

pub(crate) mod lexer;
mod rules;
mod session;
pub(crate) mod wire;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use url::Url;

use super::databases::Database;
use super::ports;

/// A Drizzle server drops an idle connection after about this time.
const IDLE: Duration = Duration::from_secs(330);

/// The gate. Dropping it closes its connections and its port.
pub(crate) struct TextGate {
    upstream: SocketAddr,
    address: SocketAddr,
    counts: Arc<Counts>,
    server: JoinHandle<()>,
}

/// What passed the gate, and what it turned away.
#[derive(Debug, Default)]
struct Counts {
    passed: AtomicU64,
    refused: AtomicU64,
}

impl TextGate {
    /// A gate in front of `upstream`, a MariaDB.
    pub(crate) async fn start(upstream: &Database) -> Self {
        Self::start_with_idle(upstream, IDLE).await
    }

    /// A gate that drops a connection which sends nothing for `idle`.
    ///
    /// # Panics
    /// Where no port can be had.
    pub(crate) async fn start_with_idle(upstream: &Database, idle: Duration) -> Self {
        let upstream = ports::loopback(upstream.port());
        let address = ports::loopback(ports::free());
        let listener = TcpListener::bind(address)
            .await
            .expect("a free port can be bound");
        let counts = Arc::new(Counts::default());
        let server = tokio::spawn(serve(listener, upstream, idle, Arc::clone(&counts)));
        Self {
            upstream,
            address,
            counts,
            server,
        }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of `schema`, as the product is told of a Drizzle server.
    pub(crate) fn url(&self, schema: &str) -> String {
        format!("drizzle://perf@{}/{schema}", self.address)
    }

    /// Makes an empty schema and answers its URL. It compares text as Drizzle does: without case and accents.
    ///
    /// # Panics
    /// Where the MariaDB behind cannot be reached, or has the schema.
    pub(crate) async fn create_schema(&self, name: &str) -> String {
        let sql =
            format!("CREATE SCHEMA `{name}` CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci");
        let mut upstream = session::Upstream::connect(self.upstream)
            .await
            .expect("the MariaDB behind can be reached");
        let answer = upstream
            .query(&sql)
            .await
            .expect("the MariaDB behind answers");
        assert!(answer.error().is_none(), "{sql}: {:?}", answer.error());
        self.url(name)
    }

    /// How many statements MariaDB was given.
    pub(crate) fn statements(&self) -> u64 {
        self.counts.passed.load(Ordering::Relaxed)
    }

    /// How many statements and commands were refused.
    pub(crate) fn refusals(&self) -> u64 {
        self.counts.refused.load(Ordering::Relaxed)
    }
}

impl Drop for TextGate {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// What sqlx must be told to get on with such a server; a URL alone cannot say it.
///
/// # Panics
/// Where `url` is none of the gate's.
pub(crate) fn connect_options(url: &str) -> MySqlConnectOptions {
    let url = Url::parse(url).expect("is a URL");
    MySqlConnectOptions::new()
        .host(url.host_str().expect("names a host"))
        .port(url.port().expect("names a port"))
        .username(url.username())
        .database(url.path().trim_start_matches('/'))
        .ssl_mode(MySqlSslMode::Disabled)
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .timezone(None)
        .set_names(false)
}

/// Owns the sessions, so that they end with the gate.
async fn serve(listener: TcpListener, upstream: SocketAddr, idle: Duration, counts: Arc<Counts>) {
    let mut sessions = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((client, _)) = accepted {
                sessions.spawn(hold(client, upstream, idle, Arc::clone(&counts)));
            },
            Some(_) = sessions.join_next() => {}
        }
    }
}

/// A session that breaks off closes its connection; the client sees what it would see of a server.
async fn hold(client: TcpStream, upstream: SocketAddr, idle: Duration, counts: Arc<Counts>) {
    if let Ok(session) = session::Session::open(client, upstream, counts).await {
        let _ = session.run(idle).await;
    }
}
