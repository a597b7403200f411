//! A value is exact from the request to the row and back: no digit passes through a float.

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::json;

use crate::api::{Answer, Api, SERIES, run, send};
use crate::support::harness::Context;

/// What is sent, digit for digit, and what comes back.
const KEPT: [(&str, &str); 30] = [
    ("0", "0"),
    ("-0", "0"),
    ("-0.0000", "0"),
    ("0e99999999999999999999", "0"),
    ("1", "1"),
    ("-1", "-1"),
    ("10.50", "10.5"),
    ("1000000", "1000000"),
    ("0.0001", "0.0001"),
    ("-0.0001", "-0.0001"),
    ("0.1", "0.1"),
    ("1e3", "1000"),
    ("1E+3", "1000"),
    ("12345e-4", "1.2345"),
    ("1.5e0", "1.5"),
    ("0.00000000000000000000001e23", "1"),
    ("9007199254740993", "9007199254740993"),
    ("-9007199254740993", "-9007199254740993"),
    ("1234567890123456.7891", "1234567890123456.7891"),
    ("9999999999999999.9999", "9999999999999999.9999"),
    ("-9999999999999999.9999", "-9999999999999999.9999"),
    ("9999999999999999.99994", "9999999999999999.9999"),
    (
        "9999999999999999.99990000000000000000000000000000000000001",
        "9999999999999999.9999",
    ),
    ("1.00005", "1.0001"),
    ("-1.00005", "-1.0001"),
    ("1.00004999999999999999999999999999999999999", "1"),
    ("1.00015", "1.0002"),
    ("2.00025", "2.0003"),
    ("0.50005", "0.5001"),
    ("3.3333333333333333333333333", "3.3333"),
];

const REFUSED: [&str; 14] = [
    "10000000000000000",
    "-10000000000000000",
    "1e16",
    "1e400",
    "9999999999999999.99995",
    "-9999999999999999.99995",
    "0.00001",
    "-0.00001",
    "0.00005",
    "0.12345",
    "0.49995",
    "1e-5",
    "1e-400",
    "1e-99999999999999999999",
];

/// `run(1)` with metrics of these very digits. It is a text, since a JSON value keeps no more digits
/// than a float.
fn body<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    let metrics = values
        .into_iter()
        .enumerate()
        .map(|(number, value)| format!(r#"{{"metric_key": "m{number:02}", "value": {value}}}"#));
    let metrics = format!(r#""metrics": [{}]"#, metrics.collect::<Vec<_>>().join(","));
    let mut head = run(1);
    head.as_object_mut().unwrap().remove("metrics");
    head.to_string().replacen('{', &format!("{{{metrics},"), 1)
}

/// The digits of every value of an answer, in the order of the text.
fn values(answer: &Answer) -> Vec<&str> {
    let values = answer.text.split(r#""value":"#).skip(1);
    values
        .map(|rest| rest.split([',', '}']).next().unwrap())
        .collect()
}

async fn post(api: &Api, body: String) -> Answer {
    let request = api.request(Method::POST, "/v1/runs");
    send(request.header(CONTENT_TYPE, "application/json").body(body)).await
}

pub(crate) async fn come_back_digit_for_digit(context: &Context) {
    let api = Api::start(context).await;
    let created = post(&api, body(KEPT.map(|(sent, _)| sent))).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let run_id = created.json()["run_id"].as_i64().unwrap();
    let canonical = post(&api, body(KEPT.map(|(_, kept)| kept))).await;
    assert_eq!(canonical.ok()["outcome"], json!("unchanged"));

    let expected = KEPT.map(|(_, kept)| kept);
    for answer in [
        api.get(&format!("/v1/runs/{run_id}")).await,
        api.query("/v1/history", &SERIES).await,
        api.get("/v1/series").await,
    ] {
        assert_eq!(values(&answer), expected);
    }
    for (number, (sent, kept)) in KEPT.into_iter().enumerate() {
        let key = format!("m{number:02}");
        let one = [&SERIES[..], &[("metric_key", &key)]].concat();
        let one = api.query("/v1/history", &one).await;
        assert_eq!(values(&one), [kept], "{sent}");
    }
}

pub(crate) async fn are_refused_where_they_would_change(context: &Context) {
    let api = Api::start(context).await;
    let answer = post(&api, body(REFUSED)).await;
    answer.problem(422, "invalid-run");
    let places: Vec<String> = (0..REFUSED.len())
        .map(|number| format!("/metrics/{number}/value"))
        .collect();
    assert_eq!(answer.fault_places(), places);
    assert_eq!(api.get("/v1/runs").await.ok()["runs"], json!([]));
}

pub(crate) async fn that_differ_in_the_last_digit_are_a_conflict(context: &Context) {
    let api = Api::start(context).await;
    post(&api, body(["9007199254740993.0001"])).await;
    let answer = post(&api, body(["9007199254740993.0002"])).await;
    answer.problem(409, "run-conflict");
    let mut found = values(&answer);
    found.sort_unstable();
    assert_eq!(found, ["9007199254740993.0001", "9007199254740993.0002"]);
}
