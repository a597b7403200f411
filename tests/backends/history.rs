//! Windows: which points of which metrics, in which order.

use serde_json::{Value as Json, json};

use crate::api::{Api, SERIES, date, run, series_and, with};
use crate::model::{Dice, Question, fill};
use crate::support::harness::Context;

/// The values of the points of each metric.
fn values(answer: &Json) -> Json {
    let metrics = answer["metrics"].as_array().unwrap().iter();
    let values = metrics.map(|metric| {
        let points = metric["points"].as_array().unwrap().iter();
        let values: Vec<&Json> = points.map(|point| &point["value"]).collect();
        json!([metric["metric_key"], metric["dim_key"], values])
    });
    json!(values.collect::<Vec<_>>())
}

/// The ids of the points of the first metric.
fn ids(answer: &Json) -> Vec<i64> {
    let points = answer["metrics"][0]["points"].as_array();
    let points = points.map(Vec::as_slice).unwrap_or_default();
    points
        .iter()
        .map(|point| point["run_id"].as_i64().unwrap())
        .collect()
}

pub(crate) async fn answers_what_a_plain_reading_of_the_uploads_says(context: &Context) {
    let api = Api::start(context).await;
    let stored = fill(&api, 70).await;
    // Runs of other series that are never to be seen here.
    for (number, field) in ["workload", "branch", "arch", "distro"]
        .into_iter()
        .enumerate()
    {
        api.create(&with(
            run(900 + number as u64),
            json!({field: "other", "metrics": [{"metric_key": "always", "value": -1}]}),
        ))
        .await;
    }
    let mut dice = Dice::new(11);
    for number in 0..120 {
        let question = Question::random(&mut dice);
        let params: Vec<(&str, &str)> = question
            .params
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let (path, baseline) = *dice.pick(&[
            ("/v1/history", false),
            ("/v1/history", false),
            ("/v1/baseline", true),
        ]);
        let answer = api.read(path, &series_and(&params)).await;
        let expected = question.answer(&stored, baseline);
        assert_eq!(
            answer["metrics"], expected,
            "question {number} of {path}: {params:?}"
        );
        assert_eq!(
            answer["series"],
            json!({"workload": "perf", "branch": "main", "arch": "amd64", "distro": "trixie"})
        );
    }
}

pub(crate) async fn is_ordered_by_run_date_and_then_by_id(context: &Context) {
    let api = Api::start(context).await;
    let mut created = Vec::new();
    // Out of order, with two dates that three runs share.
    for (number, dated) in [5, 3, 9, 3, 1, 9, 7, 3, 9].into_iter().enumerate() {
        let sent = with(run(number as u64), json!({"run_date": date(dated)}));
        created.push((dated, api.create(&sent).await));
    }
    created.sort_unstable_by(|a, b| b.cmp(a));
    let expected: Vec<i64> = created.iter().map(|(_, id)| *id).collect();
    for more in [
        &[][..],
        &[("metric_key", "callgrind.ir")],
        &[("metric_key", "callgrind.ir"), ("dim_key", "")],
        &[("metric_key", "callgrind.ir"), ("metric_key", "none")],
    ] {
        assert_eq!(
            ids(&api.read("/v1/history", &series_and(more)).await),
            expected
        );
    }
}

pub(crate) async fn has_its_defaults(context: &Context) {
    let api = Api::start(context).await;
    for number in 0..21 {
        api.create(&run(number)).await;
    }
    let failed = api
        .create(&with(run(30), json!({"succeeded": false})))
        .await;
    let nightly = api
        .create(&with(run(31), json!({"pipeline": "nightly"})))
        .await;
    let tagged = api
        .create(&with(
            run(32),
            json!({"tag": "baseline", "pipeline": "backfill"}),
        ))
        .await;
    let other_tag = api.create(&with(run(33), json!({"tag": "14.04"}))).await;
    let failed_tag = api
        .create(&with(run(34), json!({"tag": "failed", "succeeded": false})))
        .await;

    let window = api.read("/v1/history", &SERIES).await;
    assert_eq!(ids(&window).len(), 20);
    assert!(window["next"].is_string());
    let widest = api
        .read("/v1/history", &series_and(&[("limit", "10000")]))
        .await;
    assert_eq!(ids(&widest).len(), 21);
    let too_wide = api
        .query("/v1/history", &series_and(&[("limit", "10001")]))
        .await;
    too_wide.problem(400, "invalid-query");
    let newest = async |more: &[(&str, &str)]| {
        let mut params = series_and(more);
        params.push(("limit", "1"));
        ids(&api.read("/v1/history", &params).await)[0]
    };
    let live = ids(&window)[0];
    assert_eq!(newest(&[]).await, live);
    assert_eq!(newest(&[("include_failed", "false")]).await, live);
    assert_eq!(newest(&[("include_failed", "true")]).await, failed);
    assert_eq!(newest(&[("pipeline", "*")]).await, nightly);
    assert_eq!(newest(&[("pipeline", "nightly")]).await, nightly);
    assert_eq!(newest(&[("tag", "*")]).await, other_tag);
    assert_eq!(
        newest(&[("tag", "*"), ("pipeline", "*"), ("include_failed", "true")]).await,
        failed_tag
    );
    assert_eq!(newest(&[("tag", "")]).await, live);
    assert_eq!(newest(&[("tag", "14.04")]).await, other_tag);
    assert_eq!(
        newest(&[("tag", "baseline"), ("pipeline", "*")]).await,
        tagged
    );

    let baseline =
        async |more: &[(&str, &str)]| ids(&api.read("/v1/baseline", &series_and(more)).await);
    assert_eq!(baseline(&[]).await, [other_tag, tagged]);
    assert_eq!(baseline(&[("tag", "baseline")]).await, [tagged]);
    assert_eq!(baseline(&[("pipeline", "promote")]).await, [other_tag]);
    assert_eq!(
        baseline(&[("include_failed", "true")]).await,
        [failed_tag, other_tag, tagged]
    );
    assert_eq!(baseline(&[("tag", "none")]).await, Vec::<i64>::new());
    assert_eq!(baseline(&[("tag", "*")]).await[0], nightly.max(other_tag));
}

pub(crate) async fn has_limit_points_for_each_metric(context: &Context) {
    let api = Api::start(context).await;
    for number in 0..30_u64 {
        let mut metrics = vec![json!({"metric_key": "always", "value": number})];
        if number % 7 == 0 {
            metrics.push(json!({"metric_key": "skips", "value": number}));
        }
        if number < 5 {
            metrics.push(json!({"metric_key": "ended", "value": number}));
        }
        for dim in ["", "t=1", "t=2"] {
            if dim != "t=2" || number % 10 == 0 {
                metrics.push(json!({"metric_key": "dims", "dim_key": dim, "value": number}));
            }
        }
        api.create(&with(run(number), json!({"metrics": metrics})))
            .await;
    }
    let window =
        async |more: &[(&str, &str)]| values(&api.read("/v1/history", &series_and(more)).await);
    assert_eq!(
        window(&[
            ("metric_key", "always"),
            ("metric_key", "ended"),
            ("metric_key", "skips"),
            ("limit", "3")
        ])
        .await,
        json!([
            ["always", "", [29, 28, 27]],
            ["ended", "", [4, 3, 2]],
            ["skips", "", [28, 21, 14]]
        ])
    );
    assert_eq!(
        window(&[("metric_key", "ended"), ("limit", "2")]).await,
        json!([["ended", "", [4, 3]]])
    );
    assert_eq!(
        window(&[("metric_key", "dims"), ("limit", "2")]).await,
        json!([
            ["dims", "", [29, 28]],
            ["dims", "t=1", [29, 28]],
            ["dims", "t=2", [20, 10]]
        ])
    );
    assert_eq!(
        window(&[
            ("metric_key", "dims"),
            ("dim_key", ""),
            ("dim_key", "t=2"),
            ("limit", "2")
        ])
        .await,
        json!([["dims", "", [29, 28]], ["dims", "t=2", [20, 10]]])
    );
    assert_eq!(
        window(&[("metric_key", "dims"), ("dim_key", ""), ("limit", "1")]).await,
        json!([["dims", "", [29]]])
    );
    assert_eq!(
        window(&[
            ("metric_key", "always"),
            ("metric_key", "dims"),
            ("dim_key", ""),
            ("limit", "1")
        ])
        .await,
        json!([["always", "", [29]], ["dims", "", [29]]])
    );
    assert_eq!(window(&[("metric_key", "none")]).await, json!([]));
    assert_eq!(
        window(&[("metric_key", "always"), ("dim_key", "t=1")]).await,
        json!([])
    );
    assert_eq!(
        window(&[("metric_key", "none"), ("metric_key", "nor this")]).await,
        json!([])
    );
    // Without a key: every metric of the newest runs, and of them alone.
    assert_eq!(
        window(&[("limit", "2")]).await,
        json!([
            ["always", "", [29, 28]],
            ["dims", "", [29, 28]],
            ["dims", "t=1", [29, 28]],
            ["skips", "", [28]]
        ])
    );
    let other = api
        .read(
            "/v1/history",
            &[("workload", "none"), SERIES[1], SERIES[2], SERIES[3]],
        )
        .await;
    assert_eq!((&other["metrics"], other.get("next")), (&json!([]), None));
}

pub(crate) async fn is_bounded_by_dates_to_the_second(context: &Context) {
    let api = Api::start(context).await;
    let sent = [
        (1, "2026-03-01T00:00:00.999999999Z", "2026-03-01T00:00:00Z"),
        (2, "2026-03-01T02:00:01+02:00", "2026-03-01T00:00:01Z"),
        (3, "2026-02-28T19:00:02.5-05:00", "2026-03-01T00:00:02Z"),
        (4, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
        (5, "2026-03-02T00:00:00.9Z", "2026-03-02T00:00:00Z"),
    ];
    let mut stored = Vec::new();
    for (number, given, kept) in sent {
        let run_id = api
            .create(&with(run(number), json!({"run_date": given})))
            .await;
        let whole = api.get(&format!("/v1/runs/{run_id}")).await.ok();
        assert_eq!(whole["run_date"], json!(kept));
        stored.push(run_id);
    }
    let window = async |more: &[(&str, &str)]| {
        let found = ids(&api.read("/v1/history", &series_and(more)).await);
        let listed = api.read("/v1/runs", more).await;
        let listed: Vec<i64> = listed["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| run["run_id"].as_i64().unwrap())
            .collect();
        assert_eq!(listed, found);
        found
            .iter()
            .map(|id| 1 + stored.iter().position(|known| known == id).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(window(&[]).await, [5, 3, 2, 1, 4]);
    assert_eq!(
        window(&[("since", "2026-03-01T00:00:01Z")]).await,
        [5, 3, 2]
    );
    assert_eq!(
        window(&[("since", "2026-03-01T00:00:00.001Z")]).await,
        [5, 3, 2]
    );
    assert_eq!(window(&[("before", "2026-03-01T00:00:01Z")]).await, [1, 4]);
    assert_eq!(
        window(&[("before", "2026-03-01T00:00:01.001Z")]).await,
        [2, 1, 4]
    );
    assert_eq!(
        window(&[
            ("since", "2026-03-01T01:00:01+01:00"),
            ("before", "2026-03-01T00:00:02Z")
        ])
        .await,
        [2]
    );
    assert_eq!(
        window(&[
            ("since", "2026-03-01T00:00:02Z"),
            ("before", "2026-03-01T00:00:02Z")
        ])
        .await,
        Vec::<usize>::new()
    );
    assert_eq!(
        window(&[("before", "1970-01-01T00:00:00Z")]).await,
        Vec::<usize>::new()
    );
    // Bounds beyond what a run may be dated hold all, or nothing.
    assert_eq!(
        window(&[
            ("since", "0001-01-01T00:00:00Z"),
            ("before", "9999-12-31T23:59:59.5Z")
        ])
        .await,
        [5, 3, 2, 1, 4]
    );
    assert_eq!(
        window(&[("since", "9999-12-31T23:59:59.5Z")]).await,
        Vec::<usize>::new()
    );
    assert_eq!(
        window(&[("before", "1969-12-31T23:59:59Z")]).await,
        Vec::<usize>::new()
    );
}

pub(crate) async fn tells_the_newest_points_kind_of_clock(context: &Context) {
    let api = Api::start(context).await;
    for (number, wallclock) in [(1, false), (2, true), (3, false)] {
        api.create(&with(
            run(number),
            json!({"metrics": [
                {"metric_key": "turns", "value": 1, "wallclock": wallclock},
                {"metric_key": "real", "value": 1, "wallclock": true},
            ]}),
        ))
        .await;
    }
    let clocks = async |more: &[(&str, &str)]| {
        let answer = api.read("/v1/history", &series_and(more)).await;
        [1, 0].map(|index| answer["metrics"][index]["wallclock"].clone())
    };
    assert_eq!(clocks(&[]).await, [json!(false), json!(true)]);
    assert_eq!(
        clocks(&[("before", &date(3))]).await,
        [json!(true), json!(true)]
    );
    assert_eq!(
        clocks(&[("metric_key", "real"), ("metric_key", "turns")]).await,
        [json!(false), json!(true)]
    );
}
