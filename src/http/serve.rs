//! Serves from a given listener until a given future ends.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt;

use super::stalled::Impatient;

/// What connections may take.
#[derive(Clone, Copy, Debug)]
pub struct Connections {
    /// The most that are open at a time; others wait to be accepted.
    pub limit: usize,
    /// Time for a request's head to arrive, on a new connection or on one that is kept open.
    pub head_time: Duration,
    /// Time in which a client must take something of its answer.
    pub stall_time: Duration,
    /// Time that requests have to end once the service stops.
    pub grace: Duration,
}

/// The pause after a failed accept: what fails is mostly the number of open files, for a moment.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Time that a new connection has to begin its first request once the service stops. A browser opens
/// connections that it may never use, and a stop does not wait for them.
const LAST_CALL: Duration = Duration::from_secs(1);

/// Serves `router` on `listener` until `stop` ends; then accepts nothing more, finishes what has
/// begun, and returns.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    connections: Connections,
    stop: impl Future<Output = ()>,
) {
    let open = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(connections.limit));
    let (stopping, _) = watch::channel(false);
    let accepting = async {
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let stream = Impatient::new(accept(&listener).await, connections.stall_time);
            let used = Arc::new(AtomicBool::new(false));
            let service = answering(router.clone(), Arc::clone(&used));
            let service = TowerToHyperService::new(service);
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(connections.head_time)
                .serve_connection(TokioIo::new(stream), service);
            let connection = open.watch(connection);
            let stopping = stopping.subscribe();
            tokio::spawn(async move {
                tokio::select! {
                    // A client that went away needs no answer.
                    _ = connection => {}
                    () = stays_unused(&used, stopping) => {}
                }
                drop(place);
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop => {}
    }
    drop(listener);
    stopping.send_replace(true);
    if tokio::time::timeout(connections.grace, open.shutdown())
        .await
        .is_err()
    {
        tracing::warn!(grace = ?connections.grace, "some requests did not end in time and were cut");
    }
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are written whole; nothing is won by waiting for more.
                let _ = stream.set_nodelay(true);
                return stream;
            }
            Err(error) => accept_failed(&error).await,
        }
    }
}

async fn accept_failed(error: &io::Error) {
    tracing::warn!(%error, "could not accept a connection");
    tokio::time::sleep(ACCEPT_PAUSE).await;
}

/// Ends once the service stops and the connection has brought no request by the last call.
async fn stays_unused(used: &AtomicBool, mut stopping: watch::Receiver<bool>) {
    // An error means that the service has stopped already.
    let _ = stopping.wait_for(|stopping| *stopping).await;
    tokio::time::sleep(LAST_CALL).await;
    if used.load(Ordering::Relaxed) {
        std::future::pending().await
    }
}

fn answering(
    router: Router,
    used: Arc<AtomicBool>,
) -> impl tower::Service<
    Request<Incoming>,
    Response = axum::response::Response,
    Error = Infallible,
    Future: Send,
> + Clone
+ Send {
    tower::service_fn(move |request: Request<Incoming>| {
        used.store(true, Ordering::Relaxed);
        router.clone().oneshot(request.map(Body::new))
    })
}
