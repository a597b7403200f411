//! A handler that panics costs its own request and nothing else.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use perf_tracking::http::{Connections, TrustedProxies, serve};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::bench::PATIENCE;
use crate::support::ports;
use crate::support::service::http_client;

pub(crate) async fn costs_nobody_else_anything() {
    let address = ports::loopback(ports::free());
    let listener = TcpListener::bind(address).await.expect("a free port");
    let router = Router::new()
        .route(
            "/panics",
            get(async || -> &'static str { panic!("as a test") }),
        )
        .route("/answers", get(async || "as ever"));
    let connections = Connections {
        limit: 2,
        head_time: PATIENCE,
        stall_time: PATIENCE,
        answer_time: PATIENCE,
        grace: PATIENCE,
        trusted_proxies: TrustedProxies::default(),
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(serve(listener, router, connections, async {
        let _ = stopped.await;
    }));
    // More panics than there are places for connections: a place that is not given back would be missed.
    for _ in 0..5 {
        assert!(ask(address, "panics").await.is_err(), "its connection ends");
        assert_eq!(
            ask(address, "answers").await.expect("others are answered"),
            "as ever"
        );
    }
    stop.send(()).expect("it runs");
    let ended = tokio::time::timeout(Duration::from_secs(5), served).await;
    ended.expect("it ends in time").expect("it does not panic");
}

async fn ask(address: SocketAddr, path: &str) -> reqwest::Result<String> {
    let answer = http_client().get(format!("http://{address}/{path}")).send();
    answer.await?.text().await
}
