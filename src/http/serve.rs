//! Serves from a given listener until a given future ends.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
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
use tokio::sync::Semaphore;
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
    let accepting = async {
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let stream = Impatient::new(accept(&listener).await, connections.stall_time);
            let service = TowerToHyperService::new(answering(router.clone()));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(connections.head_time)
                .serve_connection(TokioIo::new(stream), service);
            let connection = open.watch(connection);
            tokio::spawn(async move {
                // A client that went away needs no answer.
                let _ = connection.await;
                drop(place);
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop => {}
    }
    drop(listener);
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

fn answering(
    router: Router,
) -> impl tower::Service<
    Request<Incoming>,
    Response = axum::response::Response,
    Error = Infallible,
    Future: Send,
> + Clone
+ Send {
    tower::service_fn(move |request: Request<Incoming>| {
        router.clone().oneshot(request.map(Body::new))
    })
}
