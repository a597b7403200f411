//! Clients that take as much memory of the service as they can.

use std::fs;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::StatusCode;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::bench::{Bench, Place};
use crate::support::service::{Service, ServiceOptions, http_client};

/// The memory that `serve --help` promises for the settings by default.
const PROMISED_KIB: u64 = 256 << 10;

/// What a client waits for an answer while others attack. On a quiet machine it takes a tenth.
const PATIENCE: Duration = Duration::from_secs(20);

const SLOW_READERS: usize = 32;
const LARGE_UPLOADS: u64 = 200;

/// Thirty-two readers of the largest history read nothing of it, and then two hundred uploads of ten
/// thousand metrics come at once. Both patterns took more than a gigabyte of version 0.1.0.
pub(crate) async fn keeps_within_its_memory(bench: &Bench) {
    let ground = bench.ground(Place::Sqlite).await;
    let mut options = ServiceOptions::with_database(&ground.url);
    // A debug build on a busy machine takes its time over the largest answers.
    options.args = [
        "--database-timeout",
        "5m",
        "--request-timeout",
        "5m",
        "--answer-timeout",
        "5m",
    ]
    .map(str::to_owned)
    .to_vec();
    let service = Service::start(options).await;
    let token = service.token("runs:read runs:write").await;
    for number in 0..20 {
        assert_eq!(upload(&service, &token, &large(number)).await, 201);
    }

    let connections = (0..SLOW_READERS).map(|_| ask_for_all(&service, &token));
    let readers = join_all(connections).await;
    let answered = join_all(readers.into_iter().map(first_line)).await;
    let held: Vec<&TcpStream> = answered
        .iter()
        .filter_map(|(line, stream)| match line.as_str() {
            "HTTP/1.1 200 OK" => Some(stream),
            "HTTP/1.1 503 Service Unavailable" => None,
            line => panic!("{line}"),
        })
        .collect();
    assert!(!held.is_empty(), "nobody was answered");
    others_are_served(&service, &token, 1_000_000).await;
    println!(
        "{} of {SLOW_READERS} slow readers hold an answer of 200,000 points: {} KiB at most",
        held.len(),
        peak_kib(&service),
    );

    let bodies: Vec<Json> = (100..100 + LARGE_UPLOADS).map(large).collect();
    let uploads = bodies.iter().map(|body| upload(&service, &token, body));
    let others = others_are_served(&service, &token, 2_000_000);
    let (statuses, ()) = tokio::join!(join_all(uploads), others);
    let stored = statuses.iter().filter(|status| **status == 201).count();
    let told_to_wait = statuses.iter().filter(|status| **status == 503).count();
    assert_eq!(stored + told_to_wait, statuses.len(), "{statuses:?}");
    assert!(stored > 0);
    let peak = peak_kib(&service);
    println!(
        "{stored} of {LARGE_UPLOADS} large uploads at once are stored, the others told to come back: {peak} KiB at most"
    );
    assert!(peak < PROMISED_KIB, "the service took {peak} KiB");
}

/// A small upload and the question whether the service is ready are answered soon.
async fn others_are_served(service: &Service, token: &str, number: u64) {
    let started = Instant::now();
    let small = run(number, &[json!({"metric_key": "m", "value": 1})]);
    assert_eq!(upload(service, token, &small).await, 201);
    assert_eq!(service.status("/readyz").await, Some(200));
    let took = started.elapsed();
    assert!(took < PATIENCE, "a small upload took {took:?}");
}

async fn upload(service: &Service, token: &str, run: &Json) -> StatusCode {
    let request = http_client()
        .post(format!("{}/v1/runs", service.url()))
        .bearer_auth(token)
        .json(run);
    request.send().await.expect("an answer").status()
}

/// A run of ten thousand metrics, in about 600 kB.
fn large(number: u64) -> Json {
    let metrics: Vec<Json> = (0..10_000)
        .map(|metric| json!({"metric_key": format!("metric_{metric}"), "value": number}))
        .collect();
    run(number, &metrics)
}

fn run(number: u64, metrics: &[Json]) -> Json {
    json!({
        "workload": "perf", "repo": "attacked", "branch": "main",
        "commit_sha": format!("{number:040x}"), "pipeline": "promote", "distro": "trixie",
        "arch": "amd64", "host_class": "callgrind", "run_date": "2026-11-30T09:00:00Z",
        "succeeded": true, "metrics": metrics,
    })
}

/// A connection that has asked for 200,000 points without compression.
async fn ask_for_all(service: &Service, token: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    // The less the system takes for the client, the more the service has to hold.
    socket.set_recv_buffer_size(4096).expect("a small buffer");
    let mut stream = socket
        .connect(service.address())
        .await
        .expect("the service listens");
    let request = format!(
        "GET /v1/history?workload=perf&branch=main&arch=amd64&distro=trixie&limit=20 HTTP/1.1\r\n\
         Host: x\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    stream
        .write_all(request.as_bytes())
        .await
        .expect("the request is sent");
    stream
}

/// The first line of the answer, and the connection, of which nothing more is read.
async fn first_line(mut stream: TcpStream) -> (String, TcpStream) {
    let mut line = Vec::new();
    while line.last() != Some(&b'\r') {
        line.push(stream.read_u8().await.expect("an answer begins"));
    }
    line.pop();
    (String::from_utf8_lossy(&line).into_owned(), stream)
}

/// The most memory that the service ever took, in KiB.
fn peak_kib(service: &Service) -> u64 {
    let process = service.process_id().expect("the service runs");
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("Linux tells");
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|peak| peak.trim().strip_suffix(" kB"));
    peak.expect("the peak is told")
        .parse()
        .expect("it is a number")
}
