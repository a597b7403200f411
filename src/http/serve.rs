//! Serves from a given listener until a given future ends.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower::ServiceExt;

use super::admission::Unsent;
use super::client_address::{ClientAddress, TrustedProxies};
use super::connections::{Entry, Peer, Slot, Table};
use super::shares::{Shares, Turn};
use super::stalled::{Impatient, Sending};

/// What connections may take.
#[derive(Clone, Debug)]
pub struct Connections {
    /// The most that are open at a time.
    pub limit: usize,
    /// Time for a request's head to arrive, on a new connection or on one that is kept open.
    pub head_time: Duration,
    /// Time in which a client must take something of its answer.
    pub stall_time: Duration,
    /// Time in which a client must take all of its answer.
    pub answer_time: Duration,
    /// Time that requests have to end once the service stops.
    pub grace: Duration,
    /// The proxies whose word is taken for who the client is.
    pub trusted_proxies: TrustedProxies,
}

/// The pause after a failed accept: what fails is mostly the number of open files, for a moment.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// One log line in this time tells of all accepts that failed since the last one.
const ACCEPT_LOG_PAUSE: Duration = Duration::from_secs(10);

/// Time that a new connection has to begin its first request once the service stops. A browser opens
/// connections that it may never use, and a stop does not wait for them.
const LAST_CALL: Duration = Duration::from_secs(1);

/// A connection is closed after the first answer beyond this age, so that clients that keep theirs
/// open for ever find their way to other services behind the same name.
const LONGEST_AGE: Duration = Duration::from_secs(3600);

/// The most bytes of a request's head, and of an answer that waits inside a connection.
pub(super) const MAX_BUFFER: usize = 64 << 10;

/// Serves `router` on `listener` until `stop` ends; then accepts nothing more, finishes what has
/// begun, and returns.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    connections: Connections,
    stop: impl Future<Output = ()>,
) {
    let open = GracefulShutdown::new();
    let table = Table::new(connections.limit);
    let (stopping, _) = watch::channel(false);
    let server = Server {
        router,
        grace: connections.grace,
        shares: Shares::new(connections.limit),
        connections,
        stopping,
    };
    tokio::select! {
        () = server.accept_all(&listener, &table, &open) => {}
        () = stop => {}
    }
    drop(listener);
    server.stopping.send_replace(true);
    if tokio::time::timeout(server.grace, open.shutdown())
        .await
        .is_err()
    {
        tracing::warn!(grace = ?server.grace, "some requests did not end in time and were cut");
    }
}

struct Server {
    router: Router,
    grace: Duration,
    shares: Shares,
    connections: Connections,
    stopping: watch::Sender<bool>,
}

impl Server {
    async fn accept_all(&self, listener: &TcpListener, table: &Table, open: &GracefulShutdown) {
        let mut failures = AcceptFailures::default();
        loop {
            let (stream, peer) = accept(listener, &mut failures).await;
            let entry = table.enter(self.peer(peer.ip()));
            let mut connection = Connection {
                router: self.router.clone(),
                settings: self.connections.clone(),
                shares: self.shares.clone(),
                peer: peer.ip(),
                watcher: open.watcher(),
                stopping: self.stopping.subscribe(),
            };
            tokio::spawn(async move {
                if let Some(slot) = connection.slot(entry).await {
                    connection.serve(stream, slot).await;
                }
            });
        }
    }

    fn peer(&self, address: IpAddr) -> Peer {
        if self.connections.trusted_proxies.include(address) {
            Peer::Proxy
        } else {
            Peer::Client(address.to_canonical())
        }
    }
}

/// An accepted connection and all that it needs.
struct Connection {
    router: Router,
    settings: Connections,
    shares: Shares,
    peer: IpAddr,
    watcher: Watcher,
    stopping: watch::Receiver<bool>,
}

impl Connection {
    /// Its place, unless none is given back in time or before the service stops.
    async fn slot(&mut self, entry: Entry) -> Option<Slot> {
        let slot = match entry {
            Entry::Open(slot) => return Some(slot),
            Entry::Wait(slot) => slot,
            Entry::Refused => return None,
        };
        tokio::select! {
            slot = slot => slot.ok(),
            () = tokio::time::sleep(self.settings.head_time) => None,
            _ = self.stopping.wait_for(|stopping| *stopping) => None,
        }
    }

    /// Serves until either side closes it, another connection takes its place, or the service stops.
    async fn serve(self, stream: TcpStream, slot: Slot) {
        let sending = Sending::new(slot.activity());
        let used = Arc::new(AtomicBool::new(false));
        let stream = Impatient::new(stream, self.settings.stall_time, sending.clone());
        let stays_unused = stays_unused(Arc::clone(&used), self.stopping);
        let watcher = self.watcher;
        let service = Answering {
            router: self.router,
            peer: self.peer,
            trusted_proxies: self.settings.trusted_proxies,
            shares: self.shares,
            answer_time: self.settings.answer_time,
            sending,
            used,
            opened: Instant::now(),
        };
        let service = tower::service_fn(move |request| service.clone().answer(request));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.settings.head_time)
            .max_buf_size(MAX_BUFFER)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        let connection = watcher.watch(connection);
        tokio::select! {
            // A client that went away needs no answer.
            _ = connection => {}
            () = stays_unused => {}
            () = slot.taken() => {}
        }
    }
}

/// Accepts that failed and are not logged yet.
#[derive(Default)]
struct AcceptFailures {
    count: u64,
    logged: Option<Instant>,
}

impl AcceptFailures {
    /// Logs at a bounded rate: where no file can be opened, every accept fails.
    fn add(&mut self, error: &io::Error) {
        self.count += 1;
        if self
            .logged
            .is_some_and(|logged| logged.elapsed() < ACCEPT_LOG_PAUSE)
        {
            return;
        }
        tracing::warn!(%error, times = self.count, "could not accept connections");
        *self = Self {
            count: 0,
            logged: Some(Instant::now()),
        };
    }
}

async fn accept(listener: &TcpListener, failures: &mut AcceptFailures) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Answers are written whole; nothing is won by waiting for more.
                let _ = stream.set_nodelay(true);
                return (stream, peer);
            }
            Err(error) => {
                failures.add(&error);
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Ends once the service stops and the connection has brought no request by the last call.
async fn stays_unused(used: Arc<AtomicBool>, mut stopping: watch::Receiver<bool>) {
    // An error means that the service has stopped already.
    let _ = stopping.wait_for(|stopping| *stopping).await;
    tokio::time::sleep(LAST_CALL).await;
    if used.load(Ordering::Relaxed) {
        std::future::pending().await
    }
}

/// Answers the requests of one connection.
#[derive(Clone)]
struct Answering {
    router: Router,
    peer: IpAddr,
    trusted_proxies: TrustedProxies,
    shares: Shares,
    answer_time: Duration,
    sending: Sending,
    used: Arc<AtomicBool>,
    opened: Instant,
}

impl Answering {
    async fn answer(
        self,
        mut request: Request<Incoming>,
    ) -> Result<axum::http::Response<Sent>, Infallible> {
        self.used.store(true, Ordering::Relaxed);
        self.sending.request();
        let client = self.trusted_proxies.client(self.peer, request.headers());
        request.extensions_mut().insert(client);
        let turn = self.turn(client, &mut request);
        let mut response = self.router.oneshot(request.map(Body::new)).await?;
        let unsent = response.extensions_mut().remove::<Unsent>();
        self.sending.answer(self.answer_time, unsent);
        if self.opened.elapsed() > LONGEST_AGE {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        Ok(response.map(|body| Sent {
            body,
            sending: self.sending,
            _turn: turn,
        }))
    }

    /// Counts a request of a client behind a proxy, or marks it as one too many.
    fn turn(&self, client: ClientAddress, request: &mut Request<Incoming>) -> Option<Turn> {
        let ClientAddress(address) = client;
        if !self.trusted_proxies.include(self.peer) || self.trusted_proxies.include(address) {
            return None;
        }
        let turn = self.shares.enter(address);
        turn.map_err(|taken| request.extensions_mut().insert(taken))
            .ok()
    }
}

/// The body of an answer, which says when the connection has all of it.
struct Sent {
    body: Body,
    sending: Sending,
    _turn: Option<Turn>,
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.sending.whole();
    }
}
