//! Every series at a glance.

use serde_json::json;

use crate::api::{Api, date, run, with};
use crate::support::harness::Context;

pub(crate) async fn are_told_whole_and_in_order(context: &Context) {
    let api = Api::start(context).await;
    let metrics = |value: u64, more: serde_json::Value| {
        let mut metrics = vec![json!({"metric_key": "b", "value": value})];
        metrics.extend(more.as_array().unwrap().iter().cloned());
        json!({"metrics": metrics})
    };
    // Two runs at the newest date: the later id counts. The newest of all failed.
    api.create(&with(
        run(3),
        metrics(
            3,
            json!([{"metric_key": "gone", "dim_key": "t=2", "value": 0.5, "wallclock": true}]),
        ),
    ))
    .await;
    let older = api
        .create(&with(
            run(2),
            metrics(
                2,
                json!([{"metric_key": "gone", "dim_key": "t=1", "value": 7}]),
            ),
        ))
        .await;
    let gone = older - 1;
    api.create(&with(
        with(run(8), metrics(8, json!([]))),
        json!({"run_date": date(5)}),
    ))
    .await;
    let newest = api
        .create(&with(
            with(run(5), metrics(5, json!([{"metric_key": "a", "value": 1}]))),
            json!({"repo": "fork"}),
        ))
        .await;
    api.create(&with(run(9), json!({"succeeded": false, "metrics": [{"metric_key": "b", "value": 9}, {"metric_key": "half", "value": 9}]}))).await;
    let tagged = with(
        run(1),
        json!({"branch": "Main", "tag": "14.04", "pipeline": "backfill"}),
    );
    let tagged = api.create(&tagged).await;
    api.create(&with(
        run(1),
        json!({"workload": "a", "distro": "sid", "succeeded": false, "metrics": []}),
    ))
    .await;
    let slap = api
        .create(&with(run(4), json!({"workload": "slap", "arch": "arm64"})))
        .await;

    let whole = api.get("/v1/series").await.ok();
    let half_null = json!({"metric_key": "half", "dim_key": "", "value": null, "wallclock": null, "run_id": null, "run_date": null});
    let expected = json!([
        {"workload": "a", "branch": "main", "arch": "amd64", "distro": "sid", "repos": ["drizzle"], "run_count": 1,
         "first_run_date": date(1), "last_run_date": date(1), "metrics": []},
        {"workload": "perf", "branch": "Main", "arch": "amd64", "distro": "trixie", "repos": ["drizzle"], "run_count": 1,
         "first_run_date": date(1), "last_run_date": date(1), "metrics": [
            {"metric_key": "callgrind.ir", "dim_key": "", "value": 1001, "wallclock": false, "run_id": tagged, "run_date": date(1)},
         ]},
        {"workload": "perf", "branch": "main", "arch": "amd64", "distro": "trixie", "repos": ["drizzle", "fork"], "run_count": 5,
         "first_run_date": date(2), "last_run_date": date(9), "metrics": [
            {"metric_key": "a", "dim_key": "", "value": 1, "wallclock": false, "run_id": newest, "run_date": date(5)},
            {"metric_key": "b", "dim_key": "", "value": 5, "wallclock": false, "run_id": newest, "run_date": date(5)},
            {"metric_key": "gone", "dim_key": "t=1", "value": 7, "wallclock": false, "run_id": older, "run_date": date(2)},
            {"metric_key": "gone", "dim_key": "t=2", "value": 0.5, "wallclock": true, "run_id": gone, "run_date": date(3)},
            half_null,
         ]},
        {"workload": "slap", "branch": "main", "arch": "arm64", "distro": "trixie", "repos": ["drizzle"], "run_count": 1,
         "first_run_date": date(4), "last_run_date": date(4), "metrics": [
            {"metric_key": "callgrind.ir", "dim_key": "", "value": 1004, "wallclock": false, "run_id": slap, "run_date": date(4)},
         ]},
    ]);
    assert_eq!(whole["series"], expected);

    let some =
        async |params: &[(&str, &str)]| api.read("/v1/series", params).await["series"].clone();
    assert_eq!(
        some(&[("workload", "perf")]).await,
        json!([expected[1], expected[2]])
    );
    assert_eq!(
        some(&[("branch", "main")]).await,
        json!([expected[0], expected[2], expected[3]])
    );
    assert_eq!(some(&[("arch", "arm64")]).await, json!([expected[3]]));
    assert_eq!(some(&[("distro", "sid")]).await, json!([expected[0]]));
    assert_eq!(some(&[("repo", "fork")]).await, json!([expected[2]]));
    assert_eq!(
        some(&[("repo", "fork"), ("workload", "slap")]).await,
        json!([])
    );
}
