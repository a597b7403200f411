//! A run, posted and read back as a job would.

use serde_json::{Value as Json, json};

use crate::support::service::http_client;

/// The command that mints a token which may do both.
pub(crate) const TOKEN: [&str; 7] = [
    "perf-tracking",
    "token",
    "issue",
    "--subject=test",
    "--expires=1h",
    "--scope=runs:read",
    "--scope=runs:write",
];

/// Posts run number `number` and answers its id.
pub(crate) async fn post(url: &str, token: &str, number: u32) -> i64 {
    let answer = http_client()
        .post(format!("{url}/v1/runs"))
        .bearer_auth(token)
        .json(&run(number))
        .send()
        .await
        .expect("the service answers");
    assert_eq!(answer.status(), 201);
    let answer: Json = answer.json().await.expect("is JSON");
    answer["run_id"].as_i64().expect("a run has an id")
}

/// Reads the run back; it must be what was posted.
pub(crate) async fn read_back(url: &str, token: &str, run_id: i64, number: u32) {
    let answer = http_client()
        .get(format!("{url}/v1/runs/{run_id}"))
        .bearer_auth(token)
        .send()
        .await
        .expect("the service answers");
    assert_eq!(answer.status(), 200);
    let answer: Json = answer.json().await.expect("is JSON");
    let sent = run(number);
    assert_eq!(answer["commit_sha"], sent["commit_sha"]);
    assert_eq!(
        answer["metrics"][0]["value"].to_string(),
        sent["metrics"][0]["value"].to_string()
    );
}

fn run(number: u32) -> Json {
    json!({
        "workload": "perf", "repo": "sample", "branch": "main", "commit_sha": format!("{number:040x}"),
        "pipeline": "promote", "distro": "trixie", "arch": "amd64", "host_class": "callgrind",
        "run_date": "2026-11-30T09:00:00Z", "succeeded": true,
        "metrics": [{"metric_key": "callgrind.ir", "value": 1_234_567_890 + number}],
    })
}
