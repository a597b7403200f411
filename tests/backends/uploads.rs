//! What becomes of an upload: once, whole, and for as often as it is sent.

use futures_util::future::join_all;
use serde_json::{Value as Json, json};

use crate::api::{Answer, Api, content, run, sha, with};
use crate::support::harness::Context;

fn assert_outcome(answer: &Answer, status: u16, outcome: &str, run_id: i64) {
    let body = json!({"run_id": run_id, "outcome": outcome});
    assert_eq!((answer.status, answer.json()), (status, body));
    assert_eq!(answer.header("location"), format!("/v1/runs/{run_id}"));
}

fn two_metrics() -> Json {
    json!([
        {"metric_key": "a", "value": 1.5},
        {"metric_key": "b", "dim_key": "threads=2", "value": 2, "wallclock": true},
    ])
}

pub(crate) async fn are_created_once_and_then_unchanged(context: &Context) {
    let api = Api::start(context).await;
    let sent = with(run(0xabc), json!({"metrics": two_metrics(), "change": "7"}));
    let first = api.post(&sent).await;
    let run_id = first.json()["run_id"].as_i64().unwrap();
    assert_outcome(&first, 201, "created", run_id);
    assert_outcome(&api.post(&sent).await, 200, "unchanged", run_id);

    let same_in_other_words = with(
        sent.clone(),
        json!({
            "commit_sha": sha(0xabc).to_uppercase(), "run_date": "2026-01-02T23:48:00.9+02:00",
            "tag": "", "patchset": null,
            "metrics": [
                {"metric_key": "b", "dim_key": "threads=2", "value": 2.0000, "wallclock": true},
                {"metric_key": "a", "dim_key": "", "value": 15e-1, "wallclock": false},
            ],
        }),
    );
    let again = with(same_in_other_words, json!({"run_date": sent["run_date"]}));
    assert_outcome(&api.post(&again).await, 200, "unchanged", run_id);
}

pub(crate) async fn of_other_content_are_a_conflict_that_says_what_differs(context: &Context) {
    let api = Api::start(context).await;
    let stored = with(run(1), json!({"metrics": two_metrics()}));
    let run_id = api.create(&stored).await;
    let before = api.get(&format!("/v1/runs/{run_id}")).await.text;

    let other = with(
        stored.clone(),
        json!({
            "repo": "other", "change": "9", "patchset": "1", "pipeline": "nightly", "host_class": "metal",
            "run_date": "2026-02-01T00:00:00Z", "succeeded": false,
            "metrics": [
                {"metric_key": "b", "dim_key": "threads=2", "value": 2, "wallclock": false},
                {"metric_key": "c", "value": 3},
            ],
        }),
    );
    let answer = api.post(&other).await;
    let problem = answer.problem(409, "run-conflict");
    assert_eq!(problem["run_id"], json!(run_id));
    assert_eq!(
        problem["fields"],
        json!([
            {"field": "repo", "stored": "drizzle", "sent": "other"},
            {"field": "change", "stored": null, "sent": "9"},
            {"field": "patchset", "stored": null, "sent": "1"},
            {"field": "pipeline", "stored": "promote", "sent": "nightly"},
            {"field": "host_class", "stored": "callgrind", "sent": "metal"},
            {"field": "run_date", "stored": "2026-01-01T00:01:00Z", "sent": "2026-02-01T00:00:00Z"},
            {"field": "succeeded", "stored": "true", "sent": "false"},
        ])
    );
    assert_eq!(
        problem["metrics"].to_string(),
        json!([
            {"metric_key": "a", "dim_key": "", "stored": {"value": 1.5, "wallclock": false}, "sent": null},
            {"metric_key": "b", "dim_key": "threads=2",
             "stored": {"value": 2, "wallclock": true}, "sent": {"value": 2, "wallclock": false}},
            {"metric_key": "c", "dim_key": "", "stored": null, "sent": {"value": 3, "wallclock": false}},
        ])
        .to_string()
    );
    assert_eq!(api.get(&format!("/v1/runs/{run_id}")).await.text, before);
    assert_outcome(&api.post(&stored).await, 200, "unchanged", run_id);
}

pub(crate) async fn of_a_failed_run_give_way_to_one_that_succeeded(context: &Context) {
    let api = Api::start(context).await;
    let failed = with(
        run(1),
        json!({"succeeded": false, "metrics": [], "pipeline": "check"}),
    );
    let run_id = api.create(&failed).await;
    assert_outcome(&api.post(&failed).await, 200, "unchanged", run_id);

    let failed_otherwise = with(
        failed.clone(),
        json!({"metrics": [{"metric_key": "old", "value": 1}]}),
    );
    let problem = api
        .post(&failed_otherwise)
        .await
        .problem(409, "run-conflict");
    assert_eq!(
        (&problem["run_id"], &problem["fields"]),
        (&json!(run_id), &json!([]))
    );

    let succeeded = with(
        run(1),
        json!({"metrics": two_metrics(), "repo": "other", "run_date": "2025-12-31T00:00:00Z",
               "pipeline": "nightly", "host_class": "metal", "change": "4", "patchset": "2"}),
    );
    assert_outcome(&api.post(&succeeded).await, 200, "replaced", run_id);
    assert_outcome(&api.post(&succeeded).await, 200, "unchanged", run_id);
    let problem = api.post(&failed).await.problem(409, "run-conflict");
    assert_eq!(problem["run_id"], json!(run_id));

    let mut whole = content(api.get(&format!("/v1/runs/{run_id}")).await.ok());
    let fields = whole.as_object_mut().unwrap();
    assert_eq!(fields.remove("tag"), Some(json!("")));
    let mut expected = succeeded.clone();
    expected["metrics"] = json!([
        {"metric_key": "a", "dim_key": "", "value": 1.5, "wallclock": false},
        {"metric_key": "b", "dim_key": "threads=2", "value": 2, "wallclock": true},
    ]);
    assert_eq!(whole, expected);
}

pub(crate) async fn have_the_identity_of_commit_series_and_tag(context: &Context) {
    let api = Api::start(context).await;
    let first = api.create(&run(1)).await;
    for field in ["workload", "branch", "arch", "distro", "tag"] {
        let other = with(run(1), json!({field: "other"}));
        assert_ne!(api.create(&other).await, first, "{field}");
    }
    assert_ne!(api.create(&run(2)).await, first);
    for field in ["repo", "change", "patchset", "pipeline", "host_class"] {
        let same = with(run(1), json!({field: "other"}));
        let problem = api.post(&same).await.problem(409, "run-conflict");
        assert_eq!(problem["run_id"], json!(first), "{field}");
        assert_eq!(problem["fields"][0]["field"], json!(field));
    }
}

pub(crate) async fn are_in_the_catalogue_at_once(context: &Context) {
    let api = Api::start(context).await;
    let catalogue = async || {
        let series = api.get("/v1/series").await.ok()["series"].clone();
        let parts = series.as_array().unwrap().iter().map(|series| {
            let names = ["repos", "run_count", "first_run_date", "last_run_date"];
            let metrics = series["metrics"].as_array().unwrap().iter();
            let metrics: Vec<_> = metrics
                .map(|metric| (&metric["metric_key"], &metric["value"]))
                .collect();
            json!([names.map(|name| &series[name]), metrics])
        });
        json!(parts.collect::<Vec<_>>())
    };
    assert_eq!(catalogue().await, json!([]));

    api.create(&run(60)).await;
    let one = json!([[
        [
            ["drizzle"],
            1,
            "2026-01-01T01:00:00Z",
            "2026-01-01T01:00:00Z"
        ],
        [["callgrind.ir", 1060]]
    ]]);
    assert_eq!(catalogue().await, one);
    api.post(&run(60)).await.ok();
    assert_eq!(catalogue().await, one);
    api.post(&with(run(60), json!({"repo": "x"})))
        .await
        .problem(409, "run-conflict");
    assert_eq!(catalogue().await, one);
    api.post(&with(run(61), json!({"repo": ""})))
        .await
        .problem(422, "invalid-run");
    assert_eq!(catalogue().await, one);

    let failed = with(
        run(120),
        json!({"succeeded": false, "repo": "fork", "metrics": [{"metric_key": "half", "value": 1}]}),
    );
    api.create(&failed).await;
    assert_eq!(
        catalogue().await,
        json!([[
            [
                ["drizzle", "fork"],
                2,
                "2026-01-01T01:00:00Z",
                "2026-01-01T02:00:00Z"
            ],
            [["callgrind.ir", 1060], ["half", null]]
        ]])
    );
    let replaced = with(run(120), json!({"run_date": "2025-01-01T00:00:00Z"}));
    assert_eq!(api.post(&replaced).await.ok()["outcome"], json!("replaced"));
    assert_eq!(
        catalogue().await,
        json!([[
            [
                ["drizzle"],
                2,
                "2025-01-01T00:00:00Z",
                "2026-01-01T01:00:00Z"
            ],
            [["callgrind.ir", 1060], ["half", null]]
        ]])
    );
}

async fn outcomes_at_once(api: &Api, runs: &[Json]) -> Vec<(String, i64)> {
    let answers = join_all(runs.iter().map(|run| api.post(run))).await;
    let mut outcomes: Vec<(String, i64)> = answers
        .iter()
        .map(|answer| {
            let body = answer.json();
            let outcome = match answer.status {
                409 => "conflict",
                _ => body["outcome"].as_str().unwrap(),
            };
            (outcome.to_owned(), body["run_id"].as_i64().unwrap())
        })
        .collect();
    outcomes.sort();
    outcomes
}

pub(crate) async fn of_one_identity_at_the_same_moment_make_one_run(context: &Context) {
    let api = Api::start(context).await;
    for (round, count) in [2, 2, 2, 2, 16, 16].into_iter().enumerate() {
        let run = with(run(round as u64), json!({"metrics": two_metrics()}));
        let outcomes = outcomes_at_once(&api, &vec![run; count]).await;
        let run_id = outcomes[0].1;
        let mut expected = vec![("unchanged".to_owned(), run_id); count];
        expected[0].0 = "created".to_owned();
        assert_eq!(outcomes, expected);
    }
    let series = api.get("/v1/series").await.ok();
    assert_eq!(series["series"][0]["run_count"], json!(6));
}

pub(crate) async fn of_other_content_at_the_same_moment_conflict(context: &Context) {
    let api = Api::start(context).await;
    let variant = |value: u64| {
        let metric = |key| json!({"metric_key": key, "value": value});
        with(
            run(1),
            json!({"metrics": [metric("a"), metric("b"), metric("c")]}),
        )
    };
    let variants: Vec<Json> = (0..8).map(variant).collect();
    let outcomes = outcomes_at_once(&api, &variants).await;
    let run_id = outcomes[0].1;
    let mut expected = vec![("conflict".to_owned(), run_id); 8];
    expected[7].0 = "created".to_owned();
    assert_eq!(outcomes, expected);
    assert_is_whole(&api, run_id).await;
}

pub(crate) async fn of_one_series_at_the_same_moment_are_all_created(context: &Context) {
    let api = Api::start(context).await;
    for round in 0..3 {
        let runs: Vec<Json> = (0..16).map(|number| run(round * 16 + number)).collect();
        let outcomes = outcomes_at_once(&api, &runs).await;
        assert!(
            outcomes.iter().all(|(outcome, _)| outcome == "created"),
            "{outcomes:?}"
        );
        let mut ids: Vec<i64> = outcomes.into_iter().map(|(_, id)| id).collect();
        ids.dedup();
        assert_eq!(ids.len(), 16);
    }
    let series = api.get("/v1/series").await.ok();
    assert_eq!(series["series"][0]["run_count"], json!(48));
}

/// All metrics of the run have the value of the first.
async fn assert_is_whole(api: &Api, run_id: i64) {
    let stored = api.get(&format!("/v1/runs/{run_id}")).await.ok();
    let metrics = stored["metrics"].as_array().unwrap();
    assert_eq!(metrics.len(), 3, "{stored}");
    assert!(
        metrics
            .iter()
            .all(|metric| metric["value"] == metrics[0]["value"]),
        "{stored}"
    );
}

pub(crate) async fn that_replace_one_failed_run_at_the_same_moment_never_mix(context: &Context) {
    let api = Api::start(context).await;
    for round in 1..=8 {
        let failed = with(
            run(round),
            json!({"succeeded": false, "repo": "failed", "metrics": []}),
        );
        let run_id = api.create(&failed).await;
        let replacement = |value: u64| {
            let metric = |key| json!({"metric_key": key, "value": value});
            let metrics = json!([metric("a"), metric("b"), metric(&format!("only-{value}"))]);
            with(
                run(round),
                json!({"repo": format!("repo-{value}"), "metrics": metrics}),
            )
        };
        let outcomes = outcomes_at_once(&api, &[replacement(1), replacement(2)]).await;
        let expected = ["conflict", "replaced"].map(|outcome| (outcome.to_owned(), run_id));
        assert_eq!(outcomes, expected);
        assert_is_whole(&api, run_id).await;
    }
    let series = api.get("/v1/series").await.ok();
    assert_eq!(series["series"][0]["run_count"], json!(8));
}

pub(crate) async fn have_at_most_ten_thousand_metrics(context: &Context) {
    let api = Api::start(context).await;
    let metrics = |count: u64| -> Vec<Json> {
        (0..count)
            .map(|number| json!({"metric_key": format!("{:0>60}", number), "dim_key": "x".repeat(80), "value": number}))
            .collect()
    };
    let too_many = with(run(1), json!({"metrics": metrics(10_001)}));
    let answer = api.post(&too_many).await;
    answer.problem(422, "invalid-run");
    assert_eq!(answer.fault_places(), ["/metrics"]);
    assert_eq!(api.get("/v1/runs").await.ok()["runs"], json!([]));

    let most = with(run(1), json!({"metrics": metrics(10_000)}));
    let run_id = api.create(&most).await;
    assert_outcome(&api.post(&most).await, 200, "unchanged", run_id);
    let stored = api.get(&format!("/v1/runs/{run_id}")).await.ok();
    let stored = stored["metrics"].as_array().unwrap();
    assert_eq!(stored.len(), 10_000);
    for (number, metric) in stored.iter().enumerate() {
        assert_eq!(metric["value"], json!(number));
    }
    let window = api
        .get("/v1/history?workload=perf&branch=main&arch=amd64&distro=trixie")
        .await
        .ok();
    assert_eq!(window["metrics"].as_array().unwrap().len(), 10_000);
    let series = api.get("/v1/series").await.ok();
    assert_eq!(
        series["series"][0]["metrics"].as_array().unwrap().len(),
        10_000
    );
}

pub(crate) async fn that_are_refused_leave_nothing(context: &Context) {
    let api = Api::start(context).await;
    let bad_metric = with(
        run(1),
        json!({"metrics": [{"metric_key": "fine", "value": 1}, {"metric_key": "bad", "value": 1e16}]}),
    );
    api.post(&bad_metric).await.problem(422, "invalid-run");
    assert_eq!(api.get("/v1/runs").await.ok()["runs"], json!([]));
    assert_eq!(api.get("/v1/series").await.ok()["series"], json!([]));
    api.create(&run(1)).await;
}
