//! Who may do what, as a client hears it.

use reqwest::Method;
use serde_json::{Value as Json, json};

use crate::api::{Answer, Api, run, send, with};
use crate::support::harness::Context;

async fn get(api: &Api, token: &str) -> Answer {
    send(api.anonymous(Method::GET, "/v1/runs").bearer_auth(token)).await
}

async fn post(api: &Api, token: &str, run: &Json) -> Answer {
    send(
        api.anonymous(Method::POST, "/v1/runs")
            .bearer_auth(token)
            .json(run),
    )
    .await
}

pub(crate) async fn are_needed_and_must_be_valid(context: &Context) {
    let api = Api::start(context).await;
    let expired = api
        .service
        .issue(&["--scope", "runs:read", "--expires", "1s"])
        .await;
    let good = api
        .service
        .issue(&["--scope", "runs:read", "--expires", "1h"])
        .await;
    let gets = [
        "/v1/runs",
        "/v1/runs/1",
        "/v1/history",
        "/v1/baseline",
        "/v1/series",
    ];
    for path in gets {
        let answer = send(api.anonymous(Method::GET, path)).await;
        answer.problem(401, "unauthorized");
        assert_eq!(
            answer.header("www-authenticate"),
            r#"Bearer realm="perf-tracking""#
        );
    }
    let answer = send(api.anonymous(Method::POST, "/v1/runs").json(&run(1))).await;
    answer.problem(401, "unauthorized");
    let headers = [
        String::new(),
        "Bearer".to_owned(),
        "Basic dXNlcjpwYXNz".to_owned(),
        good.clone(),
        format!("Token {good}"),
    ];
    for header in headers {
        let answer = send(
            api.anonymous(Method::GET, "/v1/runs")
                .header("authorization", &header),
        )
        .await;
        answer.problem(401, "unauthorized");
        assert_eq!(
            answer.header("www-authenticate"),
            r#"Bearer realm="perf-tracking""#,
            "{header}"
        );
    }
    let twice = api
        .anonymous(Method::GET, "/v1/runs")
        .bearer_auth(&good)
        .header("authorization", "Bearer x");
    send(twice).await.problem(401, "unauthorized");
    let mut forged = good.clone();
    let last = forged.pop().unwrap();
    forged.push(if last == 'A' { 'Q' } else { 'A' });
    let garbled = [
        "x".to_owned(),
        "a.b.c".to_owned(),
        forged,
        format!("{good}x"),
        "x".repeat(100_000),
    ];
    for token in garbled {
        let answer = get(&api, &token).await;
        let problem = answer.problem(401, "unauthorized");
        assert_eq!(
            answer.header("www-authenticate"),
            r#"Bearer realm="perf-tracking", error="invalid_token""#
        );
        assert!(!problem.to_string().contains(&token), "{problem}");
    }
    get(&api, &good).await.ok();
    let scheme_in_other_case = format!("bEARER {good}");
    send(
        api.anonymous(Method::GET, "/v1/runs")
            .header("authorization", scheme_in_other_case),
    )
    .await
    .ok();
    let refused = crate::support::wait::until(
        "the token expires",
        std::time::Duration::from_secs(90),
        async || {
            let answer = get(&api, &expired).await;
            if answer.status == 401 {
                Ok(answer)
            } else {
                Err(answer.status)
            }
        },
    )
    .await
    .unwrap();
    refused.problem(401, "unauthorized");
    assert_eq!(
        refused.header("www-authenticate"),
        r#"Bearer realm="perf-tracking", error="invalid_token""#
    );
}

pub(crate) async fn do_not_reach_beyond_their_scope(context: &Context) {
    let api = Api::start(context).await;
    let reader = api
        .service
        .issue(&["--scope", "runs:read", "--expires", "1h"])
        .await;
    let writer = api
        .service
        .issue(&["--scope", "runs:write", "--expires", "1h"])
        .await;
    let challenge = |scope| {
        format!(r#"Bearer realm="perf-tracking", error="insufficient_scope", scope="{scope}""#)
    };
    let answer = post(&api, &reader, &run(1)).await;
    assert_eq!(
        answer.problem(403, "insufficient-scope")["scope"],
        json!("runs:write")
    );
    assert_eq!(answer.header("www-authenticate"), challenge("runs:write"));
    let answer = get(&api, &writer).await;
    assert_eq!(
        answer.problem(403, "insufficient-scope")["scope"],
        json!("runs:read")
    );
    assert_eq!(answer.header("www-authenticate"), challenge("runs:read"));
    assert_eq!(get(&api, &reader).await.ok()["runs"], json!([]));
    assert_eq!(post(&api, &writer, &run(1)).await.status, 201);
}

pub(crate) async fn that_are_narrowed_write_within_their_claims_alone(context: &Context) {
    let api = Api::start(context).await;
    let narrowed = api
        .service
        .issue(&[
            "--scope",
            "runs:write",
            "--expires",
            "1h",
            "--repo",
            "drizzle",
            "--branch",
            "main",
            "--branch",
            "stable",
            "--workload",
            "perf",
            "--pipeline",
            "promote",
        ])
        .await;
    for field in ["repo", "branch", "workload", "pipeline"] {
        for value in ["other", "Main", "mai", "main2"] {
            let outside = with(run(1), json!({field: value}));
            let problem = post(&api, &narrowed, &outside)
                .await
                .problem(403, "outside-grant");
            assert!(
                problem["detail"].as_str().unwrap().contains(field),
                "{problem}"
            );
        }
    }
    assert_eq!(api.get("/v1/runs").await.ok()["runs"], json!([]));
    assert_eq!(api.get("/v1/series").await.ok()["series"], json!([]));
    assert_eq!(post(&api, &narrowed, &run(1)).await.status, 201);
    assert_eq!(
        post(&api, &narrowed, &with(run(1), json!({"branch": "stable"})))
            .await
            .status,
        201
    );
    // A stored run is no way around it: its identity may be written by others.
    let failed = with(
        run(2),
        json!({"succeeded": false, "metrics": [], "repo": "other"}),
    );
    api.create(&failed).await;
    post(&api, &narrowed, &with(run(2), json!({"repo": "other"})))
        .await
        .problem(403, "outside-grant");
    // Nor may what is within its claims take the place of what is not.
    post(&api, &narrowed, &run(2))
        .await
        .problem(403, "outside-grant");
    let of_other_pipeline = with(
        run(3),
        json!({"succeeded": false, "metrics": [], "pipeline": "other"}),
    );
    let run_id = api.create(&of_other_pipeline).await;
    // A promotion goes before it, though the claims name the one pipeline.
    assert_eq!(
        post(&api, &narrowed, &run(3)).await.json(),
        json!({"run_id": run_id, "outcome": "replaced"})
    );
    let within = with(run(4), json!({"succeeded": false, "metrics": []}));
    api.create(&within).await;
    assert_eq!(
        post(&api, &narrowed, &run(4)).await.json()["outcome"],
        json!("replaced")
    );
}

pub(crate) async fn are_not_needed_to_read_where_all_may(context: &Context) {
    let api = Api::start_with(context, &["--public-read"]).await;
    let run_id = api.create(&run(1)).await;
    let series = "workload=perf&branch=main&arch=amd64&distro=trixie";
    let gets = [
        "/v1/runs".to_owned(),
        format!("/v1/runs/{run_id}"),
        format!("/v1/history?{series}"),
        format!("/v1/baseline?{series}"),
        "/v1/series".to_owned(),
    ];
    for path in gets {
        send(api.anonymous(Method::GET, &path)).await.ok();
        send(api.anonymous(Method::GET, &path).bearer_auth("garbled"))
            .await
            .ok();
    }
    let answer = send(api.anonymous(Method::POST, "/v1/runs").json(&run(2))).await;
    answer.problem(401, "unauthorized");
    let reader = api
        .service
        .issue(&["--scope", "runs:read", "--expires", "1h"])
        .await;
    post(&api, &reader, &run(2))
        .await
        .problem(403, "insufficient-scope");
    assert_eq!(
        api.get("/v1/runs").await.ok()["runs"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}
