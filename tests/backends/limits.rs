//! What one client may take, and that the others do not notice.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::api::{Api, run, send, sha, with};
use crate::database::Database;
use crate::support::harness::{Backend, Context};
use crate::support::wait;

/// Long enough for any answer on a busy machine; what holds takes a sixth of it on a quiet one.
const DEADLINE: Duration = Duration::from_secs(60);

/// A connection on which a test writes what no client library would.
struct Raw(TcpStream);

impl Raw {
    async fn open(api: &Api) -> Self {
        Self(TcpStream::connect(api.service.address()).await.unwrap())
    }

    async fn write(&mut self, text: &str) {
        // A server that has answered may have closed its side already.
        let _ = self.0.write_all(text.as_bytes()).await;
    }

    /// All that the server sends until it closes; what follows a reset is lost.
    async fn read(&mut self) -> String {
        let mut bytes = Vec::new();
        let read = self.0.read_to_end(&mut bytes);
        let _ = tokio::time::timeout(DEADLINE, read)
            .await
            .expect("the server closes the connection");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The head of an upload whose body follows as these headers say.
fn upload_head(api: &Api, headers: &str) -> String {
    format!(
        "POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n{headers}\r\n\r\n",
        api.token
    )
}

fn assert_problem(answer: &str, status: u16, slug: &str) {
    assert!(
        answer.starts_with(&format!("HTTP/1.1 {status} ")),
        "{answer:?}"
    );
    assert!(
        answer.contains("content-type: application/problem+json"),
        "{answer:?}"
    );
    assert!(
        answer.contains(&format!(r#""type":"{slug}""#)),
        "{answer:?}"
    );
}

pub(crate) async fn end_a_body_that_does_not_arrive(context: &Context) {
    let api = Api::start_with(context, &["--request-timeout", "300ms"]).await;
    for part in ["", "{\"workload\":"] {
        let mut raw = Raw::open(&api).await;
        raw.write(&upload_head(&api, "Content-Length: 1000")).await;
        raw.write(part).await;
        assert_problem(&raw.read().await, 408, "request-timeout");
    }
    let mut trickle = Raw::open(&api).await;
    trickle
        .write(&upload_head(&api, "Transfer-Encoding: chunked"))
        .await;
    let started = Instant::now();
    while started.elapsed() < DEADLINE {
        // Bytes that keep coming do not buy more time.
        tokio::select! {
            readable = trickle.0.readable() => { readable.unwrap(); break; }
            () = tokio::time::sleep(Duration::from_millis(50)) => trickle.write("1\r\n \r\n").await,
        }
    }
    assert_problem(&trickle.read().await, 408, "request-timeout");
    let mut head = Raw::open(&api).await;
    head.write("GET /healthz HTTP/1.1\r\nHost:").await;
    assert!(!head.read().await.contains("200 OK"));
    let mut silent = Raw::open(&api).await;
    assert_eq!(silent.read().await, "");
    let mut kept_open = Raw::open(&api).await;
    kept_open
        .write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        .await;
    assert!(kept_open.read().await.starts_with("HTTP/1.1 200 "));
    assert_eq!(api.get("/v1/runs").await.ok()["runs"], json!([]));
}

pub(crate) async fn end_a_body_that_is_too_large(context: &Context) {
    let api = Api::start_with(context, &["--max-body-bytes", "1KiB"]).await;
    let mut said = Raw::open(&api).await;
    // The body is never sent: its length is enough.
    said.write(&upload_head(&api, "Content-Length: 1025")).await;
    assert_problem(&said.read().await, 413, "body-too-large");
    let mut streamed = Raw::open(&api).await;
    streamed
        .write(&upload_head(&api, "Transfer-Encoding: chunked"))
        .await;
    streamed
        .write(&format!(
            "200\r\n{0}\r\n200\r\n{0}\r\n1\r\n \r\n",
            " ".repeat(512)
        ))
        .await;
    assert_problem(&streamed.read().await, 413, "body-too-large");

    let whole = run(1).to_string();
    let padded = |length: usize| format!("{whole}{}", " ".repeat(length - whole.len()));
    let request = |body: String| {
        api.request(Method::POST, "/v1/runs")
            .header(CONTENT_TYPE, "application/json")
            .body(body)
    };
    send(request(padded(1025)))
        .await
        .problem(413, "body-too-large");
    assert_eq!(api.get("/v1/runs").await.ok()["runs"], json!([]));
    assert_eq!(send(request(padded(1024))).await.status, 201);
}

/// A database that lets no upload of `run(1)` end until it is released.
struct Blocked(Database);

impl Blocked {
    async fn new(context: &Context) -> Self {
        let mut database = Database::open(context).await;
        match context.backend {
            // SQLite has one lock for all writes; a server has one for the identity.
            Backend::Sqlite => database.execute("BEGIN IMMEDIATE").await,
            Backend::MariaDb11_8 | Backend::MariaDb10_11 | Backend::MySql9_7 | Backend::Text => {
                database.execute("BEGIN").await;
                let sql = format!(
                    "INSERT INTO runs (workload, repo, branch, commit_sha, pipeline, distro, arch, host_class, tag, run_date, succeeded) \
                     VALUES ('perf', 'x', 'main', '{}', 'x', 'trixie', 'amd64', 'x', '', '2026-01-01 00:00:00', TRUE)",
                    sha(1)
                );
                database.execute(&sql).await;
            }
        }
        Self(database)
    }

    async fn release(mut self) {
        self.0.execute("ROLLBACK").await;
    }
}

/// Returns once `count` requests are at work.
async fn wait_for_work(api: &Api, limit: usize, count: usize) {
    let line = format!("perf_tracking_free_places {}", limit - count);
    wait::until("requests are at work", DEADLINE, async || {
        let metrics = send(api.anonymous(Method::GET, "/metrics")).await.text;
        metrics.contains(&line).then_some(()).ok_or(metrics)
    })
    .await
    .unwrap();
}

pub(crate) async fn turn_away_what_is_too_much_at_once(context: &Context) {
    let api = Api::start_with(
        context,
        &[
            "--max-concurrent-requests",
            "2",
            "--database-timeout",
            "60s",
            "--request-timeout",
            "60s",
        ],
    )
    .await;
    let blocked = Blocked::new(context).await;
    let run = run(1);
    let uploads = async { join_all([api.post(&run), api.post(&run)]).await };
    let others = async {
        wait_for_work(&api, 2, 2).await;
        for path in ["/v1/runs", "/v1/runs/1", "/v1/series", "/v1/history"] {
            api.get(path).await.problem(503, "overloaded");
        }
        api.post(&run).await.problem(503, "overloaded");
        for path in ["/healthz", "/readyz", "/metrics", "/openapi.json"] {
            assert_eq!(api.get(path).await.status, 200, "{path}");
        }
        // Who may not do it is told so first.
        send(api.anonymous(Method::GET, "/v1/runs"))
            .await
            .problem(401, "unauthorized");
        blocked.release().await;
    };
    let (uploads, ()) = tokio::join!(uploads, others);
    let mut statuses: Vec<u16> = uploads.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 201]);
    assert_eq!(
        api.get("/v1/runs").await.ok()["runs"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

pub(crate) async fn leave_what_is_under_way_to_end_before_the_service_does(context: &Context) {
    let mut api = Api::start_with(
        context,
        &[
            "--database-timeout",
            "60s",
            "--request-timeout",
            "60s",
            "--max-concurrent-requests",
            "2",
        ],
    )
    .await;
    let blocked = Blocked::new(context).await;
    let upload = api.request(Method::POST, "/v1/runs").json(&run(1));
    let upload = tokio::spawn(send(upload));
    let read = api.request(Method::GET, "/v1/runs");
    wait_for_work(&api, 2, 1).await;
    let address = api.service.address();
    let release =
        async {
            wait::until("no connection is taken any more", DEADLINE, async || {
                match TcpStream::connect(address).await {
                    Ok(_) => Err("taken"),
                    Err(_) => Ok(()),
                }
            })
            .await
            .unwrap();
            blocked.release().await;
        };
    let (status, ()) = tokio::join!(api.service.terminate(), release);
    assert_eq!(status.code(), Some(0), "{}", api.service.log());
    assert_eq!(upload.await.unwrap().status, 201);
    assert!(read.send().await.is_err());
    api.service.restart().await;
    assert_eq!(api.post(&run(1)).await.ok()["outcome"], json!("unchanged"));
}

pub(crate) async fn make_stuck_clients_cost_the_others_nothing(context: &Context) {
    let api = Api::start_with(context, &["--max-concurrent-requests", "2"]).await;
    let large: Vec<Json> = (0..2_000)
        .map(|number| json!({"metric_key": format!("{number:0>60}"), "value": number}))
        .collect();
    api.create(&with(run(1), json!({"metrics": large}))).await;
    let mut stuck = Vec::new();
    for _ in 0..100 {
        let mut head = Raw::open(&api).await;
        head.write("GET /v1/runs HTTP/1.1\r\nHost: x\r\nAuthor")
            .await;
        let mut body = Raw::open(&api).await;
        body.write(&upload_head(&api, "Content-Length: 1000")).await;
        body.write("{").await;
        stuck.extend([head, body]);
    }
    for _ in 0..20 {
        stuck.push(never_reads(&api).await);
    }
    wait_until_nothing_moves(&api).await;
    for number in 2..30 {
        let started = Instant::now();
        api.create(&run(number)).await;
        api.get("/v1/runs").await.ok();
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "{:?}",
            started.elapsed()
        );
    }
    drop(stuck);
}

/// Returns once the answers of those who never read have filled every buffer: until then they work as others do.
async fn wait_until_nothing_moves(api: &Api) {
    let mut before = String::new();
    let mut unchanged = 0;
    wait::until("nothing moves", DEADLINE, async || {
        let metrics = send(api.anonymous(Method::GET, "/metrics")).await.text;
        let answered = metrics
            .lines()
            .find(|line| line.contains(r#"requests_total{route="/v1/runs/{id}""#));
        let answered = answered.unwrap_or_default().to_owned();
        let free = metrics.contains("perf_tracking_free_places 2");
        let still = free && !answered.is_empty() && answered == before;
        before = answered;
        // A busy machine may take longer than one pause over an answer.
        unchanged = if still { unchanged + 1 } else { 0 };
        (unchanged > 10).then_some(()).ok_or(before.clone())
    })
    .await
    .unwrap();
}

/// A client that asks for more than any buffer between it and the server holds, and takes none of it.
async fn never_reads(api: &Api) -> Raw {
    let socket = TcpSocket::new_v4().unwrap();
    // What the system takes for it need not be made by the service.
    socket.set_recv_buffer_size(4096).unwrap();
    let mut raw = Raw(socket.connect(api.service.address()).await.unwrap());
    let request = format!(
        "GET /v1/runs/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n",
        api.token
    );
    raw.write(&request.repeat(300)).await;
    raw
}

pub(crate) async fn end_stuck_connections_so_that_others_get_in(context: &Context) {
    let api = Api::start_with(
        context,
        &["--max-connections", "8", "--request-timeout", "1s"],
    )
    .await;
    let large: Vec<Json> = (0..1_000)
        .map(|number| json!({"metric_key": format!("{number:0>80}"), "value": number}))
        .collect();
    api.create(&with(run(1), json!({"metrics": large}))).await;
    let mut stuck = Vec::new();
    for number in 0..16 {
        stuck.push(match number % 2 {
            0 => never_reads(&api).await,
            _ => Raw::open(&api).await,
        });
    }
    // A connection of its own: the one that uploaded was idle, and has made room already.
    let fresh = Client::builder().no_proxy().build().unwrap();
    let request = fresh
        .get(format!("{}/v1/runs", api.service.url()))
        .bearer_auth(&api.token);
    let read = tokio::time::timeout(DEADLINE, send(request)).await;
    read.expect("a stuck connection makes room").ok();
}

pub(crate) async fn let_pages_of_named_origins_read(context: &Context) {
    let api = Api::start_with(
        context,
        &[
            "--cors-origin",
            "https://perf.example.org,http://localhost:3000",
        ],
    )
    .await;
    let ask = async |origin: &str| {
        let request = api
            .request(Method::GET, "/v1/runs")
            .header("origin", origin);
        send(request)
            .await
            .header("access-control-allow-origin")
            .to_owned()
    };
    assert_eq!(
        ask("https://perf.example.org").await,
        "https://perf.example.org"
    );
    assert_eq!(ask("http://localhost:3000").await, "http://localhost:3000");
    for origin in [
        "https://example.org",
        "http://perf.example.org",
        "null",
        "https://perf.example.org.evil.org",
    ] {
        assert_eq!(ask(origin).await, "", "{origin}");
    }
    let preflight = api
        .anonymous(Method::OPTIONS, "/v1/history")
        .header("origin", "https://perf.example.org")
        .header("access-control-request-method", "GET")
        .header("access-control-request-headers", "authorization");
    let answer = send(preflight).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("access-control-allow-origin"),
        "https://perf.example.org"
    );
    assert_eq!(answer.header("access-control-allow-methods"), "GET");
    assert!(
        answer
            .header("access-control-allow-headers")
            .contains("authorization")
    );
    // A page is told of its failures, too.
    let failed = api
        .anonymous(Method::GET, "/v1/history")
        .header("origin", "https://perf.example.org");
    assert_eq!(
        send(failed).await.header("access-control-allow-origin"),
        "https://perf.example.org"
    );
}

pub(crate) async fn compress_for_those_who_ask(context: &Context) {
    let api = Api::start(context).await;
    let metrics: Vec<Json> = (0..100)
        .map(|number| json!({"metric_key": format!("m{number:03}"), "value": number}))
        .collect();
    let run_id = api.create(&with(run(1), json!({"metrics": metrics}))).await;
    let path = format!("/v1/runs/{run_id}");
    let plain = Client::builder().no_proxy().gzip(false).build().unwrap();
    let url = format!("{}{path}", api.service.url());
    let request = |encoding| {
        plain
            .get(&url)
            .bearer_auth(&api.token)
            .header(ACCEPT_ENCODING, encoding)
    };
    let packed = request("gzip").send().await.unwrap();
    assert_eq!(packed.headers()[CONTENT_ENCODING], "gzip");
    let packed = packed.bytes().await.unwrap();
    let whole = send(request("identity")).await;
    assert_eq!(whole.header("content-encoding"), "");
    assert!(
        packed.len() * 4 < whole.text.len(),
        "{} of {}",
        packed.len(),
        whole.text.len()
    );
    assert_eq!(api.get(&path).await.text, whole.text);
}

pub(crate) async fn refuse_a_request_for_no_host_or_for_two(context: &Context) {
    let api = Api::start(context).await;
    for (version, hosts, status) in [
        ("1.1", "", 400),
        ("1.1", "Host: a\r\nHost: b\r\n", 400),
        ("1.1", "Host: a\r\nhost: a\r\n", 400),
        ("1.0", "Host: a\r\nHost: b\r\n", 400),
        ("1.1", "Host: a\r\n", 200),
        ("1.1", "Host:\r\n", 200),
        ("1.0", "", 200),
    ] {
        let mut raw = Raw::open(&api).await;
        raw.write(&format!(
            "GET /healthz HTTP/{version}\r\n{hosts}Connection: close\r\n\r\n"
        ))
        .await;
        let answer = raw.read().await;
        match status {
            400 => assert!(
                answer.contains(r#""type":"invalid-request""#),
                "{hosts:?} {answer}"
            ),
            _ => assert!(answer.contains(" 200 OK"), "{version} {hosts:?} {answer}"),
        }
    }
}

pub(crate) async fn make_idle_connections_give_way(context: &Context) {
    let api = Api::start_with(context, &["--max-connections", "20"]).await;
    let mut idle = Vec::new();
    for _ in 0..20 {
        let mut raw = Raw::open(&api).await;
        raw.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await;
        let mut answer = [0; 15];
        raw.0.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200 OK");
        idle.push(raw);
    }
    let started = Instant::now();
    for _ in 0..5 {
        let client = Client::builder().no_proxy().build().unwrap();
        let ready = client.get(format!("{}/readyz", api.service.url()));
        assert_eq!(ready.send().await.unwrap().status(), 200);
    }
    // Not as long as an idle connection may be kept open.
    assert!(started.elapsed() < Duration::from_secs(15));
    drop(idle);
}

pub(crate) async fn make_one_client_give_way_to_others(context: &Context) {
    let api = Api::start_with(
        context,
        &["--max-connections", "20", "--request-timeout", "60s"],
    )
    .await;
    let mut busy = Vec::new();
    for _ in 0..20 {
        let mut raw = Raw::open(&api).await;
        raw.write(&upload_head(&api, "Content-Length: 1000")).await;
        raw.write("{").await;
        busy.push(raw);
    }
    let started = Instant::now();
    let other = Client::builder()
        .no_proxy()
        .local_address(std::net::IpAddr::from([127, 0, 0, 2]))
        // An idle connection may be closed to make room.
        .pool_max_idle_per_host(0)
        .build()
        .unwrap();
    for _ in 0..5 {
        let ready = other.get(format!("{}/readyz", api.service.url()));
        assert_eq!(ready.send().await.unwrap().status(), 200);
    }
    assert!(started.elapsed() < Duration::from_secs(30));
    drop(busy);
}

pub(crate) async fn end_an_answer_that_is_taken_too_slowly(context: &Context) {
    let api = Api::start_with(context, &["--answer-timeout", "1s"]).await;
    let large: Vec<Json> = (0..5_000)
        .map(|number| json!({"metric_key": format!("{number:0>80}"), "value": number}))
        .collect();
    api.create(&with(run(1), json!({"metrics": large}))).await;
    let mut trickle = never_reads(&api).await;
    let started = Instant::now();
    let mut bytes = [0; 4096];
    // It takes something all the time, and so never stalls.
    while let Ok(1..) = trickle.0.read(&mut bytes).await {
        assert!(started.elapsed() < DEADLINE, "the connection is still open");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) async fn give_each_client_of_a_proxy_a_share(context: &Context) {
    let api = Api::start_with(
        context,
        &[
            "--max-connections",
            "20",
            "--request-timeout",
            "60s",
            "--trusted-proxy",
            "127.0.0.0/8",
        ],
    )
    .await;
    let of = |client: &str| {
        api.request(Method::GET, "/v1/runs")
            .header("x-forwarded-for", client)
    };
    // A busy service may turn away one of them, so it is more until the share is taken.
    let mut under_way = Vec::new();
    let refused = wait::until("the share is taken", DEADLINE, async || {
        let mut raw = Raw::open(&api).await;
        let headers = "X-Forwarded-For: 203.0.113.9\r\nContent-Length: 1000";
        raw.write(&upload_head(&api, headers)).await;
        raw.write("{").await;
        under_way.push(raw);
        let answer = send(of("203.0.113.9")).await;
        match answer.status {
            503 => Ok(answer),
            status => Err(status),
        }
    });
    let problem = refused.await.unwrap().problem(503, "overloaded");
    assert!(
        problem["detail"].as_str().unwrap().contains("your address"),
        "{problem}"
    );
    assert!(under_way.len() >= 5);
    assert_eq!(send(of("203.0.113.10")).await.status, 200);
    drop(under_way);
    let free = || status(of("203.0.113.9"), 200);
    wait::until("a place of the share is free", DEADLINE, free)
        .await
        .unwrap();
}

/// Whether `request` is answered with `wanted`.
async fn status(request: RequestBuilder, wanted: u16) -> Result<(), u16> {
    match send(request).await.status {
        status if status == wanted => Ok(()),
        status => Err(status),
    }
}
