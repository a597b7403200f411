//! What is kept of a run beside its numbers: parameters, the commit's subject, who uploaded it. And
//! which run goes before another.

use reqwest::Method;
use serde_json::{Value as Json, json};

use crate::api::{Answer, Api, run, send, series_and, with};
use crate::support::harness::Context;

async fn post_as(api: &Api, token: &str, run: &Json) -> Answer {
    let request = api.anonymous(Method::POST, "/v1/runs").bearer_auth(token);
    send(request.json(run)).await
}

pub(crate) async fn parameters_are_part_of_a_run(context: &Context) {
    let api = Api::start(context).await;
    let parameters = json!({
        "script": "oltp \\ \u{1a}'\"\u{1F600}\n", "threads": 16, "warm": true, "ratio": 0.5,
        "empty": "", "zero": 0, "long": "x".repeat(1000),
    });
    let sent = with(run(1), json!({ "parameters": parameters }));
    let run_id = api.create(&sent).await;
    assert_eq!(api.post(&sent).await.json()["outcome"], json!("unchanged"));
    let whole = api.get(&format!("/v1/runs/{run_id}")).await.ok();
    assert_eq!(whole["parameters"], parameters);
    let listed = api.read("/v1/runs", &[]).await;
    assert_eq!(listed["runs"][0]["parameters"], parameters);

    let other = with(run(1), json!({"parameters": {"threads": 1}}));
    let problem = api.post(&other).await.problem(409, "run-conflict");
    assert_eq!(problem["fields"][0]["field"], json!("parameters"));
    assert_eq!(problem["fields"][0]["sent"], json!("{\"threads\":1}"));
    let none = api.post(&run(1)).await.problem(409, "run-conflict");
    assert_eq!(none["fields"][0]["sent"], json!(null));

    // Digits are kept: 1.50 is not 1.5.
    let exact = |number: &str| {
        let text = run(2).to_string();
        format!(
            "{},\"parameters\":{{\"n\":{number}}}}}",
            &text[..text.len() - 1]
        )
    };
    let post = async |body: String| {
        let request = api.request(Method::POST, "/v1/runs").body(body);
        send(request.header("content-type", "application/json")).await
    };
    assert_eq!(post(exact("1.50")).await.status, 201);
    assert_eq!(post(exact("1.50")).await.status, 200);
    assert_eq!(post(exact("1.5")).await.status, 409);

    let refused = [
        (json!([]), "/parameters"),
        (json!({"a": null}), "/parameters/a"),
        (json!({"a": {}}), "/parameters/a"),
        (json!({"": 1}), "/parameters/"),
        (json!({"a": "x".repeat(1001)}), "/parameters/a"),
    ];
    for (parameters, place) in refused {
        let sent = with(run(3), json!({ "parameters": parameters }));
        let answer = api.post(&sent).await;
        answer.problem(422, "invalid-run");
        assert_eq!(answer.fault_places(), [place], "{parameters}");
    }
    let many: serde_json::Map<String, Json> = (0..9)
        .map(|number| (format!("p{number}"), json!("x".repeat(1000))))
        .collect();
    let answer = api.post(&with(run(3), json!({ "parameters": many }))).await;
    answer.problem(422, "invalid-run");
    assert_eq!(answer.fault_places(), ["/parameters"]);
}

pub(crate) async fn a_window_tells_subjects_and_each_set_of_parameters_once(context: &Context) {
    let api = Api::start(context).await;
    let told = [
        json!({"subject": "Fix it"}),
        json!({"parameters": {"threads": 1}}),
        json!({"parameters": {"threads": 2}, "subject": "Änder \u{1F600} it"}),
        json!({"parameters": {"threads": 1}}),
    ];
    for (number, fields) in told.into_iter().enumerate() {
        api.create(&with(run(number as u64), fields)).await;
    }
    for params in [&[][..], &[("metric_key", "callgrind.ir")]] {
        let answer = api.read("/v1/history", &series_and(params)).await;
        let sets = &answer["parameter_sets"];
        assert_eq!(sets.as_array().map(Vec::len), Some(2), "{answer}");
        let points = answer["metrics"][0]["points"].as_array().unwrap();
        let of_points: Vec<Json> = points
            .iter()
            .map(|point| {
                let place = point["parameter_set"].as_u64();
                let set = place.map(|place| sets[usize::try_from(place).unwrap()].clone());
                json!([set, point.get("subject")])
            })
            .collect();
        assert_eq!(
            json!(of_points),
            json!([
                [{"threads": 1}, null],
                [{"threads": 2}, "Änder \u{1F600} it"],
                [{"threads": 1}, null],
                [null, "Fix it"],
            ])
        );
    }
}

pub(crate) async fn a_subject_is_no_part_of_what_conflicts(context: &Context) {
    let api = Api::start(context).await;
    let run_id = api.create(&run(1)).await;
    let subject = async || {
        let whole = api.get(&format!("/v1/runs/{run_id}")).await.ok();
        whole.get("subject").cloned()
    };
    assert_eq!(subject().await, None);
    for (sent, expected) in [("Fix it", "Fix it"), ("Otherwise", "Fix it")] {
        let again = with(run(1), json!({ "subject": sent }));
        assert_eq!(api.post(&again).await.json()["outcome"], json!("unchanged"));
        assert_eq!(subject().await, Some(json!(expected)));
    }
    for subject in [String::new(), "a\nb".to_owned(), "x".repeat(201)] {
        let answer = api.post(&with(run(2), json!({ "subject": subject }))).await;
        answer.problem(422, "invalid-run");
        assert_eq!(answer.fault_places(), ["/subject"]);
    }
    api.create(&with(run(2), json!({"subject": "ä".repeat(200)})))
        .await;
}

pub(crate) async fn who_uploaded_a_run_is_kept(context: &Context) {
    let api = Api::start(context).await;
    let token = api
        .service
        .issue(&["--scope", "runs:write", "--expires", "1h"])
        .await;
    let claims: Vec<u8> = {
        use base64::Engine as _;
        let part = token.split('.').nth(1).unwrap();
        base64::prelude::BASE64_URL_SAFE_NO_PAD
            .decode(part)
            .unwrap()
    };
    let claims: Json = serde_json::from_slice(&claims).unwrap();
    let answer = post_as(&api, &token, &run(1)).await;
    let run_id = answer.json()["run_id"].as_i64().unwrap();
    let whole = api.get(&format!("/v1/runs/{run_id}")).await.ok();
    assert_eq!(whole["uploaded_by"], claims["sub"]);
    assert_eq!(whole["token_id"], claims["jti"]);
    let at = chrono::DateTime::parse_from_rfc3339(whole["uploaded_at"].as_str().unwrap()).unwrap();
    let issued = claims["iat"].as_i64().unwrap();
    assert!(
        (issued - 1..issued + 600).contains(&at.timestamp()),
        "{whole}"
    );
    // One who sends it again has not uploaded it.
    api.post(&run(1)).await.ok();
    assert_eq!(api.get(&format!("/v1/runs/{run_id}")).await.ok(), whole);
}

pub(crate) async fn a_promotion_goes_before_a_run_of_another_pipeline(context: &Context) {
    let api = Api::start(context).await;
    let checked = |number| {
        let fields = json!({"pipeline": "check", "metrics": [{"metric_key": "other", "value": 1}]});
        with(run(number), fields)
    };
    let run_id = api.create(&checked(1)).await;
    let replaced = json!({"run_id": run_id, "outcome": "replaced"});
    assert_eq!(api.post(&run(1)).await.json(), replaced);
    let problem = api.post(&checked(1)).await.problem(409, "run-conflict");
    assert_eq!(problem["run_id"], json!(run_id));
    let promoted = api.get(&format!("/v1/runs/{run_id}")).await.ok();
    assert_eq!(promoted["pipeline"], json!("promote"));
    assert_eq!(promoted["metrics"][0]["metric_key"], json!("callgrind.ir"));
    let history = api.read("/v1/history", &series_and(&[])).await;
    assert_eq!(history["metrics"][0]["points"][0]["run_id"], json!(run_id));
    let series = api.get("/v1/series").await.ok();
    assert_eq!(series["series"][0]["run_count"], json!(1));

    // A failed promotion stays, too: the check's numbers are not those of the pipeline.
    let failed = with(run(2), json!({"succeeded": false, "metrics": []}));
    api.create(&failed).await;
    api.post(&checked(2)).await.problem(409, "run-conflict");
    // And a failed promotion goes before a check that succeeded.
    let run_id = api.create(&checked(3)).await;
    let failed = with(run(3), json!({"succeeded": false, "metrics": []}));
    assert_eq!(
        api.post(&failed).await.json(),
        json!({"run_id": run_id, "outcome": "replaced"})
    );
    // Of two other pipelines neither goes before the other.
    api.create(&checked(4)).await;
    let nightly = with(checked(4), json!({"pipeline": "nightly"}));
    api.post(&nightly).await.problem(409, "run-conflict");
}

pub(crate) async fn a_conflict_shows_what_is_stored_to_readers_alone(context: &Context) {
    let api = Api::start(context).await;
    let writer = api
        .service
        .issue(&["--scope", "runs:write", "--expires", "1h"])
        .await;
    let secret =
        json!([{"metric_key": "secret", "value": 4242}, {"metric_key": "both", "value": 1}]);
    let stored = with(
        run(1),
        json!({"repo": "hidden", "change": "777", "metrics": secret}),
    );
    let run_id = api.create(&stored).await;
    let sent = with(
        run(1),
        json!({"metrics": [{"metric_key": "both", "value": 2}]}),
    );
    let answer = post_as(&api, &writer, &sent).await;
    let problem = answer.problem(409, "run-conflict");
    assert_eq!(problem["run_id"], json!(run_id));
    assert_eq!(problem["withheld"], json!(true));
    assert_eq!(
        problem["fields"],
        json!([{"field": "repo", "stored": null, "sent": "drizzle"}])
    );
    assert_eq!(
        problem["metrics"],
        json!([{"metric_key": "both", "dim_key": "", "stored": null,
                "sent": {"value": 2, "wallclock": false}}])
    );
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("`hidden`"), "{detail}");
    for stored in ["4242", "secret", "777"] {
        assert!(!answer.text.contains(stored), "{}", answer.text);
    }
    let seen = api.post(&sent).await.problem(409, "run-conflict");
    assert_eq!(seen["fields"][0]["stored"], json!("hidden"));
    assert_eq!(seen.get("withheld"), None);
}

pub(crate) async fn a_run_of_the_day_after_tomorrow_is_refused(context: &Context) {
    let api = Api::start(context).await;
    #[expect(
        clippy::disallowed_methods,
        reason = "the service has the clock of this machine"
    )]
    let now = chrono::Utc::now();
    let dated = |hours: i64| {
        let date = now + chrono::TimeDelta::hours(hours);
        with(run(1), json!({"run_date": date.to_rfc3339()}))
    };
    for hours in [25, 24 * 365] {
        let answer = api.post(&dated(hours)).await;
        answer.problem(422, "invalid-run");
        assert_eq!(answer.fault_places(), ["/run_date"]);
    }
    api.create(&dated(23)).await;
}
