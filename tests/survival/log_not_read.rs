//! Whoever reads the log stops reading without closing it.

use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::Command;

use crate::support::service::{BINARY, http_client};
use crate::support::{ports, wait};

/// More lines than a pipe and the queue before it hold.
const REQUESTS: usize = 12_000;

pub(crate) async fn holds_nobody_up() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let address = ports::loopback(ports::free());
    let mut service = Command::new(BINARY)
        .args(["serve", "--listen", &address.to_string(), "--data-dir"])
        .arg(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the service starts");
    let client = http_client();
    let url = |path: &str| format!("http://{address}{path}");
    wait::until("it is ready", Duration::from_secs(30), async || {
        client.get(url("/readyz")).send().await?.error_for_status()
    })
    .await
    .unwrap_or_else(|error| panic!("{error:#}"));

    let started = Instant::now();
    for _ in 0..REQUESTS {
        let answer = client.get(url("/nowhere")).send().await;
        assert_eq!(answer.expect("an answer").status(), 404);
    }
    println!(
        "sqlite::log_not_read: {REQUESTS} requests in {:?}",
        started.elapsed()
    );
    let metrics = client.get(url("/metrics")).send().await.expect("an answer");
    let metrics = metrics.text().await.expect("a text");
    let dropped: u64 = metrics
        .lines()
        .find_map(|line| line.strip_prefix("perf_tracking_log_lines_dropped "))
        .and_then(|count| count.parse().ok())
        .expect("the service tells");
    assert!(dropped > 0, "nothing was dropped");
    service.kill().await.expect("it can be killed");
}
