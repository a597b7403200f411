//! What an operator sees of the service.

use std::collections::BTreeSet;

use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::{Value as Json, json};
use url::Url;

use crate::api::{Api, run, send, with};
use crate::support::harness::{Backend, Context};
use crate::support::network::NetworkGate;
use crate::support::service::{Service, ServiceOptions};

pub(crate) async fn tells_that_it_lives_and_can_serve(context: &Context) {
    let api = Api::start(context).await;
    for (path, body) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let answer = send(api.anonymous(Method::GET, path)).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, body));
        assert!(answer.header("content-type").starts_with("text/plain"));
    }
}

pub(crate) async fn waits_for_a_database_that_is_away_and_recovers(context: &Context) {
    if context.backend == Backend::Sqlite {
        // An open file does not go away; one that cannot be opened yet is the same for a service that starts.
        return starts_before_its_file_can_be_opened(context).await;
    }
    let url = Url::parse(&context.database_url).unwrap();
    let upstream = (url.host_str().unwrap(), url.port().unwrap());
    let upstream = tokio::net::lookup_host(upstream)
        .await
        .unwrap()
        .next()
        .unwrap();
    let network = NetworkGate::start(upstream).await;
    let mut options = ServiceOptions::with_database(network.in_front_of(&context.database_url));
    options.args = ["--database-timeout", "1s"].map(str::to_owned).to_vec();
    network.refuse().await;
    let service = Service::spawn(options).await.unwrap();
    service.await_status("/healthz", 200).await;
    assert_eq!(service.status("/readyz").await, Some(503));
    network.heal().await;
    service.await_status("/readyz", 200).await;
    let api = Api::of(service).await;
    api.create(&run(1)).await;

    type Cut = for<'a> fn(&'a NetworkGate) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>>;
    let cuts: [Cut; 2] = [
        |gate| Box::pin(gate.refuse()),
        |gate| Box::pin(gate.blackhole()),
    ];
    for (number, cut) in cuts.into_iter().enumerate() {
        cut(&network).await;
        let answer = send(api.anonymous(Method::GET, "/readyz")).await;
        answer.problem(503, "database-unreachable");
        let new = run(2 + number as u64);
        api.post(&new).await.problem(503, "database-unreachable");
        api.get("/v1/series")
            .await
            .problem(503, "database-unreachable");
        assert_eq!(
            send(api.anonymous(Method::GET, "/healthz")).await.status,
            200
        );
        network.heal().await;
        api.service.await_status("/readyz", 200).await;
        // What was refused is not there, and what is sent again is there once.
        api.create(&new).await;
        assert_eq!(api.post(&new).await.ok()["outcome"], json!("unchanged"));
    }
    let series = api.get("/v1/series").await.ok();
    assert_eq!(series["series"][0]["run_count"], json!(3));
}

async fn starts_before_its_file_can_be_opened(context: &Context) {
    let file = context.scratch().join("later.db");
    std::fs::create_dir(&file).unwrap();
    let service = Service::spawn(ServiceOptions::with_database(format!(
        "sqlite://{}",
        file.display()
    )))
    .await
    .unwrap();
    service.await_status("/healthz", 200).await;
    assert_eq!(service.status("/readyz").await, Some(503));
    assert_eq!(service.status("/v1/runs").await, Some(401));
    std::fs::remove_dir(&file).unwrap();
    service.await_status("/readyz", 200).await;
    Api::of(service).await.create(&run(1)).await;
}

pub(crate) async fn counts_what_it_does(context: &Context) {
    let api = Api::start(context).await;
    let run_id = api.create(&run(1)).await;
    api.post(&run(1)).await.ok();
    api.post(&with(run(1), json!({"repo": "x"})))
        .await
        .problem(409, "run-conflict");
    api.create(&with(run(2), json!({"succeeded": false}))).await;
    api.post(&run(2)).await.ok();
    for _ in 0..3 {
        api.get(&format!("/v1/runs/{run_id}")).await.ok();
    }
    let series = "workload=perf&branch=main&arch=amd64&distro=trixie";
    api.get(&format!("/v1/history?{series}")).await.ok();
    api.get(&format!("/v1/history?{series}&limit=0"))
        .await
        .problem(400, "invalid-query");
    api.get(&format!("/v1/baseline?{series}")).await.ok();
    api.get("/v1/series").await.ok();
    api.get("/no/such/path").await.problem(404, "not-found");
    let answer = send(api.anonymous(Method::GET, "/metrics")).await;
    assert_eq!(
        answer.header("content-type"),
        "text/plain; version=0.0.4; charset=utf-8"
    );
    let lines: BTreeSet<&str> = answer.text.lines().collect();
    let expected = [
        r#"perf_tracking_uploads_total{outcome="created"} 2"#,
        r#"perf_tracking_uploads_total{outcome="unchanged"} 1"#,
        r#"perf_tracking_uploads_total{outcome="replaced"} 1"#,
        r#"perf_tracking_uploads_total{outcome="conflict"} 1"#,
        r#"perf_tracking_requests_total{route="/v1/runs",method="POST",status="201"} 2"#,
        r#"perf_tracking_requests_total{route="/v1/runs",method="POST",status="409"} 1"#,
        r#"perf_tracking_requests_total{route="/v1/runs/{id}",method="GET",status="200"} 3"#,
        r#"perf_tracking_requests_total{route="/v1/history",method="GET",status="400"} 1"#,
        r#"perf_tracking_requests_total{route="unmatched",method="GET",status="404"} 1"#,
        r#"perf_tracking_request_seconds_count{route="/v1/series",method="GET"} 1"#,
        r#"perf_tracking_database_seconds_count{operation="record_run"} 5"#,
        r#"perf_tracking_database_seconds_count{operation="series"} 1"#,
        r#"perf_tracking_window_reads_total{kind="history"} 1"#,
        r#"perf_tracking_window_reads_total{kind="baseline"} 1"#,
        "perf_tracking_free_places 256",
        "# TYPE perf_tracking_requests_total counter",
        "# TYPE perf_tracking_request_seconds histogram",
        "# TYPE perf_tracking_database_connections gauge",
        "# TYPE perf_tracking_database_connections_limit gauge",
    ];
    for line in expected {
        assert!(lines.contains(line), "no {line} in\n{}", answer.text);
    }
    assert!(lines.iter().all(|line| !line.contains("/no/such/path")));
}

pub(crate) async fn counts_methods_of_its_own_alone(context: &Context) {
    let api = Api::start(context).await;
    for number in 0..20 {
        let method = Method::from_bytes(format!("MADE-UP-{number}").as_bytes()).unwrap();
        send(api.anonymous(method, "/v1/runs"))
            .await
            .problem(405, "method-not-allowed");
    }
    let metrics = send(api.anonymous(Method::GET, "/metrics")).await.text;
    // A label that clients choose would let them fill the memory.
    assert!(!metrics.contains("MADE-UP"), "{metrics}");
    assert!(
        metrics.contains(r#"method="other",status="405"} 20"#),
        "{metrics}"
    );
}

pub(crate) async fn shows_its_description_with_no_network(context: &Context) {
    let api = Api::start(context).await;
    let page = send(api.anonymous(Method::GET, "/docs/")).await;
    assert_eq!(page.status, 200);
    assert_eq!(
        send(api.anonymous(Method::GET, "/docs")).await.text,
        page.text
    );
    let mut files = BTreeSet::new();
    for attribute in ["src=\"", "href=\""] {
        for part in page.text.split(attribute).skip(1) {
            files.insert(part.split('"').next().unwrap().to_owned());
        }
    }
    assert!(files.len() >= 4, "{}", page.text);
    for file in files {
        assert!(!file.contains("//"), "{file} is fetched from elsewhere");
        let path = format!("/docs/{}", file.trim_start_matches("./"));
        let answer = api
            .client
            .get(format!("{}{path}", api.service.url()))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 200, "{path}");
        let kind = answer.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned();
        let bytes = answer.bytes().await.unwrap();
        assert!(!bytes.is_empty(), "{path}");
        if kind.starts_with("text/css") {
            let text = String::from_utf8_lossy(&bytes);
            assert!(
                !text.contains("url(http") && !text.contains("@import"),
                "{path}"
            );
        }
    }
    let start = send(api.anonymous(Method::GET, "/docs/swagger-initializer.js")).await;
    assert!(start.text.contains("/openapi.json"), "{}", start.text);
    assert!(
        !start.text.contains("http:") && !start.text.contains("https:"),
        "{}",
        start.text
    );
    let served = send(api.anonymous(Method::GET, "/openapi.json")).await.ok();
    let committed = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/openapi/perf-tracking.json"
    ))
    .unwrap();
    assert_eq!(served, serde_json::from_str::<Json>(&committed).unwrap());
}

pub(crate) async fn gives_every_request_an_id_and_one_line_of_log(context: &Context) {
    let api = Api::start(context).await;
    let given = send(
        api.request(Method::GET, "/v1/runs")
            .header("x-request-id", "given-7"),
    )
    .await;
    assert_eq!(given.header("x-request-id"), "given-7");
    let refused = send(api.anonymous(Method::GET, "/v1/runs")).await;
    let lost = api.get("/nowhere").await;
    let posted = api.post(&run(1)).await;
    let ids = [
        refused.header("x-request-id"),
        lost.header("x-request-id"),
        posted.header("x-request-id"),
    ];
    assert_eq!(
        ids.iter()
            .filter(|id| id.len() >= 16)
            .collect::<BTreeSet<_>>()
            .len(),
        3,
        "{ids:?}"
    );
    let log = api.service.log_with(ids[2]).await;
    let lines: Vec<Json> = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let expected = [
        ("given-7", "GET", "/v1/runs", 200),
        (ids[0], "GET", "/v1/runs", 401),
        (ids[1], "GET", "/nowhere", 404),
        (ids[2], "POST", "/v1/runs", 201),
    ];
    for (id, method, path, status) in expected {
        let of_request: Vec<&Json> = lines
            .iter()
            .filter(|line| line["span"]["request_id"] == id)
            .collect();
        let [line] = of_request.as_slice() else {
            panic!("{} lines of {id} in\n{log}", of_request.len());
        };
        assert_eq!(
            [
                &line["span"]["method"],
                &line["span"]["path"],
                &line["status"]
            ],
            [&json!(method), &json!(path), &json!(status)]
        );
        assert!(
            line["ms"].is_number() && line["timestamp"].is_string() && line["level"] == "INFO",
            "{line}"
        );
    }
}

pub(crate) async fn logs_no_probe_that_finds_all_well(context: &Context) {
    for (level, told) in [("info", false), ("debug", true)] {
        let api = Api::start_with(context, &["--log", level]).await;
        for path in ["/healthz", "/readyz", "/metrics"] {
            let answer = send(api.anonymous(Method::GET, path)).await;
            assert_eq!(answer.status, 200);
            let id = answer.header("x-request-id");
            // Lines are written in order, so this one is there only after those before.
            let last = api.get("/nowhere").await;
            let log = api.service.log_with(last.header("x-request-id")).await;
            assert_eq!(log.contains(id), told, "{path} at {level}");
        }
    }
}

pub(crate) async fn makes_an_id_of_its_own_for_a_request_with_an_odd_one(context: &Context) {
    let api = Api::start(context).await;
    let request = |ids: &[&[u8]]| {
        let request = api.anonymous(Method::GET, "/v1/runs");
        ids.iter().fold(request, |request, &id| {
            request.header("x-request-id", HeaderValue::from_bytes(id).unwrap())
        })
    };
    let longest = "x".repeat(128);
    let kept = send(request(&[longest.as_bytes()])).await;
    assert_eq!(kept.header("x-request-id"), longest);
    let too_long = [b'x'; 129];
    let odd: [&[&[u8]]; 5] = [
        &[&too_long],
        &[b""],
        &[b"a b"],
        &[b"\xe9"],
        &[b"one", b"two"],
    ];
    for ids in odd {
        let answer = send(request(ids)).await;
        let id = answer.header("x-request-id");
        assert_eq!(id.len(), 36, "{ids:?} {id}");
        let line = format!(r#""request_id":"{id}""#);
        api.service.log_with(&line).await;
    }
    assert!(!api.service.log().contains(&"x".repeat(129)));
}

pub(crate) async fn keeps_secrets_out_of_its_log(context: &Context) {
    let api = Api::start_with(context, &["--log", "trace"]).await;
    let run_id = api.create(&run(1)).await;
    api.get(&format!("/v1/runs/{run_id}")).await.ok();
    api.get("/v1/history?workload=perf&branch=main&arch=amd64&distro=trixie")
        .await
        .ok();
    let garbled = format!("{}x", api.token);
    send(api.anonymous(Method::GET, "/v1/runs").bearer_auth(&garbled))
        .await
        .problem(401, "unauthorized");
    send(
        api.anonymous(Method::GET, "/v1/runs")
            .basic_auth("me", Some("my-own-password")),
    )
    .await
    .problem(401, "unauthorized");
    let last = api.get("/nowhere").await;
    let log = api.service.log_with(last.header("x-request-id")).await;
    assert!(log.contains("INSERT INTO"), "a log at trace has statements");
    let signature = api.token.rsplit('.').next().unwrap();
    let secret = std::fs::read_to_string(api.service.data_dir().join("token-secret")).unwrap();
    let mut secrets = vec![
        api.token.clone(),
        signature.to_owned(),
        secret.trim().to_owned(),
        "my-own-password".to_owned(),
    ];
    secrets.push(base64::Engine::encode(
        &base64::prelude::BASE64_STANDARD,
        "me:my-own-password",
    ));
    let url = &context.database_url;
    if let Some(password) = Url::parse(url).unwrap().password() {
        secrets.push(password.to_owned());
        secrets.push(
            percent_encoding::percent_decode_str(password)
                .decode_utf8()
                .unwrap()
                .into_owned(),
        );
    }
    for secret in secrets {
        assert!(!log.contains(&secret), "{secret} is in the log");
    }
}

pub(crate) async fn cuts_what_a_client_makes_up_in_its_log(context: &Context) {
    let api = Api::start(context).await;
    let method = Method::from_bytes("M".repeat(2_000).as_bytes()).unwrap();
    let path = format!("/{}", "p".repeat(4_000));
    let answer = send(api.anonymous(method, &path)).await;
    let log = api.service.log_with(answer.header("x-request-id")).await;
    let line = log.lines().find(|line| line.contains("MMMM")).unwrap();
    let line: Json = serde_json::from_str(line).unwrap();
    assert_eq!(line["span"]["method"], "M".repeat(16));
    assert_eq!(line["span"]["path"], json!(path[..512]));
}

pub(crate) async fn names_the_client_in_its_log(context: &Context) {
    for (trusted, client) in [("127.0.0.0/8", "203.0.113.9"), ("10.0.0.0/8", "127.0.0.1")] {
        let api = Api::start_with(context, &["--trusted-proxy", trusted]).await;
        let request = api
            .request(Method::GET, "/v1/runs")
            .header("x-forwarded-for", "198.51.100.1, 203.0.113.9");
        let answer = send(request).await;
        assert_eq!(answer.status, 200);
        let id = answer.header("x-request-id");
        let log = api.service.log_with(id).await;
        let line = log.lines().find(|line| line.contains(id)).unwrap();
        let line: Json = serde_json::from_str(line).unwrap();
        assert_eq!(line["span"]["client"], client, "{trusted}");
    }
}
