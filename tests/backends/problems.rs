//! What a client is told whose request does not succeed.

use reqwest::Method;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use serde_json::json;

use crate::api::{Api, SERIES, run, send, with};
use crate::support::harness::Context;

pub(crate) async fn name_every_fault_of_a_run_at_once(context: &Context) {
    let api = Api::start(context).await;
    let bad = json!({
        "workload": "", "repo": "x".repeat(81), "branch": " main", "commit_sha": "abc", "change": 7,
        "patchset": "a\u{0}b", "pipeline": "*", "distro": "\u{85}", "host_class": "é\n",
        "tag": " ", "run_date": "2026-02-30T00:00:00Z", "succeeded": 1, "colour": "red", "a/b~c": 1,
        "metrics": [
            {"metric_key": "x", "dim_key": "y", "value": 1},
            {"metric_key": "x", "dim_key": "y", "value": 2},
            {"metric_key": "", "dim_key": "z".repeat(121), "value": "1", "wallclock": 0, "unit": "s"},
            {"metric_key": "x", "value": 0.00001},
            {"metric_key": "y", "value": 1e16},
            [],
            {},
        ],
    });
    let answer = api.post(&bad).await;
    answer.problem(422, "invalid-run");
    let mut places = answer.fault_places();
    places.sort();
    assert_eq!(
        places,
        [
            "/arch",
            "/a~1b~0c",
            "/branch",
            "/change",
            "/colour",
            "/commit_sha",
            "/distro",
            "/host_class",
            "/metrics/1",
            "/metrics/2/dim_key",
            "/metrics/2/metric_key",
            "/metrics/2/unit",
            "/metrics/2/value",
            "/metrics/2/wallclock",
            "/metrics/3/value",
            "/metrics/4/value",
            "/metrics/5",
            "/metrics/6/metric_key",
            "/metrics/6/value",
            "/patchset",
            "/pipeline",
            "/repo",
            "/run_date",
            "/succeeded",
            "/tag",
            "/workload",
        ]
    );
    for body in [json!([]), json!(null), json!("run"), json!(7)] {
        let answer = api.post(&body).await;
        answer.problem(422, "invalid-run");
        assert_eq!(answer.fault_places(), [""]);
    }
    let no_metric = api.post(&with(run(1), json!({"metrics": []}))).await;
    no_metric.problem(422, "invalid-run");
    assert_eq!(no_metric.fault_places(), ["/metrics"]);
}

pub(crate) async fn tell_what_a_body_says_twice(context: &Context) {
    let api = Api::start(context).await;
    let body = run(1)
        .to_string()
        .replace(r#""repo":"#, r#""re\u0070o":"first","repo":"#)
        .replace(r#""value":"#, r#""value":7,"value":"#);
    let request = api.request(Method::POST, "/v1/runs").body(body);
    let answer = send(request.header(CONTENT_TYPE, "application/json")).await;
    answer.problem(422, "invalid-run");
    assert_eq!(answer.fault_places(), ["/repo", "/metrics/0/value"]);
    // The names that the JSON library keeps numbers and texts under make no number.
    for name in [
        "$serde_json::private::Number",
        "$serde_json::private::RawValue",
    ] {
        let metrics = json!([{"metric_key": "x", "value": {name: "12"}}]);
        let answer = api.post(&with(run(1), json!({"metrics": metrics}))).await;
        answer.problem(422, "invalid-run");
        assert_eq!(answer.fault_places(), ["/metrics/0/value"]);
    }
    assert_eq!(api.get("/v1/runs").await.ok()["runs"], json!([]));
}

/// Each of these took the service a gigabyte or more once.
pub(crate) async fn are_no_larger_than_what_they_answer(context: &Context) {
    let api = Api::start(context).await;
    let repeated = vec![r#""a":1"#; 15_000].join(",");
    let faulty = vec![r#"{"metric_key":"","value":"x"}"#; 10_000].join(",");
    let whole = |field: String| run(1).to_string().replacen('{', &format!("{{{field},"), 1);
    for body in [
        whole(format!("\"{}\":{{{repeated}}}", "k".repeat(90_000))),
        whole(repeated),
        whole(format!("\"{}\":1", "\\u0001".repeat(100_000))),
        format!(r#"{{"metrics":[{faulty}]}}"#),
        format!(r#"{{"metrics":[{}1]}}"#, "7,".repeat(500_000)),
        format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)),
        "\"\\ud800\"".to_owned(),
    ] {
        let request = api.request(Method::POST, "/v1/runs").body(body);
        let answer = send(request.header(CONTENT_TYPE, "application/json")).await;
        answer.problem(422, "invalid-run");
        assert!(answer.fault_places().len() <= 100);
        assert!(answer.text.len() < 64 << 10, "{}", answer.text.len());
    }
    let query: String = (0..5_000).map(|n| format!("p{n}&")).collect();
    let answer = api.get(&format!("/v1/runs?{query}")).await;
    answer.problem(400, "invalid-query");
    assert_eq!(answer.fault_places().len(), 100);
    assert!(answer.text.len() < 64 << 10, "{}", answer.text.len());
    assert_eq!(api.get("/v1/runs").await.ok()["runs"], json!([]));
}

pub(crate) async fn tell_a_body_that_cannot_be_read(context: &Context) {
    let api = Api::start(context).await;
    let bodies: [&[u8]; 6] = [b"", b"{", b"{} {}", b"{\"a\": 01}", b"NaN", b"\xff\xfe"];
    for body in bodies {
        let request = api.request(Method::POST, "/v1/runs").body(body.to_vec());
        let answer = send(request.header(CONTENT_TYPE, "application/json")).await;
        answer.problem(400, "unreadable-body");
    }
    for content_type in [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "json",
    ] {
        let request = api
            .request(Method::POST, "/v1/runs")
            .body(run(1).to_string());
        let answer = send(request.header(CONTENT_TYPE, content_type)).await;
        answer.problem(415, "unsupported-media-type");
    }
    let request = api
        .request(Method::POST, "/v1/runs")
        .body(run(1).to_string());
    send(request).await.problem(415, "unsupported-media-type");
    let request = api.request(Method::POST, "/v1/runs").json(&run(1));
    let answer = send(request.header(CONTENT_ENCODING, "gzip")).await;
    answer.problem(415, "unsupported-media-type");
    assert_eq!(api.get("/v1/runs").await.ok()["runs"], json!([]));
    for content_type in [
        "Application/JSON; charset=utf-8",
        "application/vnd.perf+json",
    ] {
        let request = api
            .request(Method::POST, "/v1/runs")
            .body(run(1).to_string());
        let answer = send(request.header(CONTENT_TYPE, content_type)).await;
        assert!(answer.status < 300, "{}", answer.text);
    }
}

pub(crate) async fn tell_what_is_not_there(context: &Context) {
    let api = Api::start(context).await;
    let nowhere = [
        "/v1",
        "/v1/",
        "/v1/runs/",
        "/v1/runs/1/metrics",
        "/v2/runs",
        "/V1/runs",
        "/docs/none.js",
        "/v1/runs/1",
        "/v1/runs/0",
        "/v1/runs/-1",
        "/v1/runs/x",
        "/v1/runs/1.0",
        "/v1/runs/%00",
        "/v1/runs/%FF",
        "/v1/runs/9223372036854775808",
        "/v1/runs/1%27%20OR%201=1",
        "/%FF",
    ];
    for path in nowhere {
        api.get(path).await.problem(404, "not-found");
    }
    let run_id = api.create(&run(1)).await;
    api.get(&format!("/v1/runs/{run_id}")).await.ok();
    for other_spelling in [
        format!("+{run_id}"),
        format!("0{run_id}"),
        format!("%20{run_id}"),
    ] {
        let answer = api.get(&format!("/v1/runs/{other_spelling}")).await;
        answer.problem(404, "not-found");
    }
}

pub(crate) async fn tell_which_methods_a_route_has(context: &Context) {
    let api = Api::start(context).await;
    let routes = [
        ("/v1/runs", "GET,HEAD,POST"),
        ("/v1/runs/1", "GET,HEAD"),
        ("/v1/history", "GET,HEAD"),
        ("/v1/baseline", "GET,HEAD"),
        ("/v1/series", "GET,HEAD"),
        ("/healthz", "GET,HEAD"),
        ("/readyz", "GET,HEAD"),
        ("/metrics", "GET,HEAD"),
        ("/openapi.json", "GET,HEAD"),
        ("/docs/", "GET,HEAD"),
    ];
    for (path, allowed) in routes {
        for method in ["PUT", "DELETE", "PATCH", "TRACE", "QUERY"] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let answer = send(api.request(method.clone(), path)).await;
            answer.problem(405, "method-not-allowed");
            let mut allow: Vec<&str> = answer.header("allow").split(',').map(str::trim).collect();
            allow.sort_unstable();
            assert_eq!(allow.join(","), allowed, "{method} {path}");
        }
        if !allowed.contains("POST") {
            send(api.request(Method::POST, path))
                .await
                .problem(405, "method-not-allowed");
        }
        let head = send(api.request(Method::HEAD, path)).await;
        assert_eq!(head.text, "");
    }
}

pub(crate) async fn name_every_fault_of_a_query_at_once(context: &Context) {
    let api = Api::start(context).await;
    let bad = [
        ("workload", ""),
        ("branch", " main"),
        ("metric_key", "a\u{0}"),
        ("metric_key", "fine"),
        ("dim_key", "\u{1b}"),
        ("limit", "0"),
        ("since", "2026-01-01"),
        ("before", "tomorrow"),
        ("repo", "*"),
        ("host_class", ""),
        ("tag", "a\u{7f}"),
        ("pipeline", ""),
        ("include_failed", "1"),
        ("cursor", "x"),
        ("colour", "red"),
        ("arch", "a"),
        ("arch", "b"),
    ];
    for path in ["/v1/history", "/v1/baseline"] {
        let answer = api.query(path, &bad).await;
        answer.problem(400, "invalid-query");
        let mut places = answer.fault_places();
        places.sort();
        assert_eq!(
            places,
            [
                "arch",
                "before",
                "branch",
                "colour",
                "cursor",
                "dim_key",
                "distro",
                "host_class",
                "include_failed",
                "limit",
                "metric_key",
                "pipeline",
                "repo",
                "since",
                "tag",
                "workload",
            ]
        );
    }
    for limit in ["0", "10001", "-1", "1.0", "", "1e2", "18446744073709551617"] {
        for path in ["/v1/runs", "/v1/history", "/v1/baseline"] {
            let answer = api
                .query(path, &[&SERIES[..], &[("limit", limit)]].concat())
                .await;
            answer.problem(400, "invalid-query");
            assert_eq!(answer.fault_places(), ["limit"]);
        }
    }
    for query in ["%FF=1", "repo=%FF", "repo", "=x"] {
        let series = "workload=perf&branch=main&arch=amd64&distro=trixie";
        let answer = api.get(&format!("/v1/history?{series}&{query}")).await;
        answer.problem(400, "invalid-query");
    }
    for path in ["/v1/runs", "/v1/series"] {
        let answer = api
            .query(path, &[("metric_key", "x"), ("workload", "")])
            .await;
        answer.problem(400, "invalid-query");
        assert_eq!(answer.fault_places(), ["workload", "metric_key"]);
    }
}
