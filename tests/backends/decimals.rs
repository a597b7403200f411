//! A value is exact from the request to the row and back: no digit passes through a float.

use serde_json::{Value as Json, json};

use crate::api::{Api, SERIES, run};
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

/// `run(1)` with metrics of these very digits.
fn body<'a>(values: impl IntoIterator<Item = &'a str>) -> Json {
    let metrics = values
        .into_iter()
        .enumerate()
        .map(|(number, value)| format!(r#"{{"metric_key": "m{number:02}", "value": {value}}}"#));
    let metrics = format!("[{}]", metrics.collect::<Vec<_>>().join(","));
    let mut body = run(1);
    body["metrics"] = serde_json::from_str(&metrics).unwrap();
    body
}

pub(crate) async fn come_back_digit_for_digit(context: &Context) {
    let api = Api::start(context).await;
    let sent = body(KEPT.map(|(sent, _)| sent));
    let run_id = api.create(&sent).await;
    let canonical = body(KEPT.map(|(_, kept)| kept));
    assert_eq!(
        api.post(&canonical).await.ok()["outcome"],
        json!("unchanged")
    );

    let whole = api.get(&format!("/v1/runs/{run_id}")).await.ok();
    let history = api.read("/v1/history", &SERIES).await;
    let series = api.get("/v1/series").await.ok();
    for (number, (sent, kept)) in KEPT.into_iter().enumerate() {
        let found = [
            &whole["metrics"][number]["value"],
            &history["metrics"][number]["points"][0]["value"],
            &series["series"][0]["metrics"][number]["value"],
        ];
        assert_eq!(found.map(Json::to_string), [kept; 3], "{sent}");
        let key = format!("m{number:02}");
        let one = api
            .read(
                "/v1/history",
                &[&SERIES[..], &[("metric_key", &key)]].concat(),
            )
            .await;
        assert_eq!(
            one["metrics"][0]["points"][0]["value"].to_string(),
            kept,
            "{sent}"
        );
    }
}

pub(crate) async fn are_refused_where_they_would_change(context: &Context) {
    let api = Api::start(context).await;
    let answer = api.post(&body(REFUSED)).await;
    answer.problem(422, "invalid-run");
    let places: Vec<String> = (0..REFUSED.len())
        .map(|number| format!("/metrics/{number}/value"))
        .collect();
    assert_eq!(answer.fault_places(), places);
    assert_eq!(api.get("/v1/runs").await.ok()["runs"], json!([]));
}

pub(crate) async fn that_differ_in_the_last_digit_are_a_conflict(context: &Context) {
    let api = Api::start(context).await;
    api.create(&body(["9007199254740993.0001"])).await;
    let problem = api
        .post(&body(["9007199254740993.0002"]))
        .await
        .problem(409, "run-conflict");
    let difference = &problem["metrics"][0];
    assert_eq!(
        difference["stored"]["value"].to_string(),
        "9007199254740993.0001"
    );
    assert_eq!(
        difference["sent"]["value"].to_string(),
        "9007199254740993.0002"
    );
}
