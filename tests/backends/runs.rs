//! One run whole, and lists of runs.

use serde_json::{Value as Json, json};

use crate::api::{Api, content, date, run, sha, with};
use crate::model::{fill, newest_first};
use crate::support::harness::Context;

fn ids(page: &Json) -> Vec<i64> {
    let runs = page["runs"].as_array().unwrap();
    runs.iter()
        .map(|run| run["run_id"].as_i64().unwrap())
        .collect()
}

pub(crate) async fn are_read_whole(context: &Context) {
    let api = Api::start(context).await;
    let sent = with(
        run(1),
        json!({
            "commit_sha": "ABCDEF0123456789ABCDEF0123456789ABCDEF01", "change": "12", "patchset": "3", "tag": "14.04",
            "run_date": "2026-01-01T02:00:00.5+02:00", "succeeded": false,
            "metrics": [
                {"metric_key": "b", "value": 2.50, "wallclock": true},
                {"metric_key": "a", "dim_key": "z", "value": -1},
                {"metric_key": "a", "dim_key": "B", "value": 3},
                {"metric_key": "a", "value": 0},
            ],
        }),
    );
    let run_id = api.create(&sent).await;
    let plain = api.create(&run(2)).await;
    let mut expected = with(
        sent,
        json!({
            "commit_sha": "abcdef0123456789abcdef0123456789abcdef01", "run_date": "2026-01-01T00:00:00Z",
            "metrics": [
                {"metric_key": "a", "dim_key": "", "value": 0, "wallclock": false},
                {"metric_key": "a", "dim_key": "B", "value": 3, "wallclock": false},
                {"metric_key": "a", "dim_key": "z", "value": -1, "wallclock": false},
                {"metric_key": "b", "dim_key": "", "value": 2.5, "wallclock": true},
            ],
        }),
    );
    let whole = api.get(&format!("/v1/runs/{run_id}")).await.ok();
    assert_eq!(whole["run_id"], json!(run_id));
    assert_eq!(content(whole), expected);
    expected.as_object_mut().unwrap().remove("metrics");
    let listed = api.read("/v1/runs", &[("tag", "14.04")]).await;
    let listed = listed["runs"].as_array().unwrap().iter().cloned();
    assert_eq!(listed.map(content).collect::<Vec<_>>(), [expected]);
    let plain = api.get(&format!("/v1/runs/{plain}")).await.ok();
    assert_eq!(
        [&plain["change"], &plain["patchset"], &plain["tag"]],
        [&json!(null), &json!(null), &json!("")]
    );
}

pub(crate) async fn are_listed_by_every_filter(context: &Context) {
    let api = Api::start(context).await;
    let mut stored = fill(&api, 30).await;
    for (number, field) in ["workload", "branch", "arch", "distro"]
        .into_iter()
        .enumerate()
    {
        let sent = with(
            run(500 + number as u64),
            json!({field: "other", "tag": "14.04"}),
        );
        let run_id = api.create(&sent).await;
        stored.push(crate::model::Stored { run_id, sent });
    }
    let equal = |field: &'static str, value: &'static str| {
        move |run: &Json| run[field].as_str().unwrap_or_default() == value
    };
    let list = async |params: &[(&str, &str)]| {
        let mut params = params.to_vec();
        params.push(("limit", "100"));
        ids(&api.read("/v1/runs", &params).await)
    };
    assert_eq!(list(&[]).await, newest_first(&stored, |_| true));
    let filters = [
        ("workload", "perf"),
        ("workload", "other"),
        ("branch", "main"),
        ("branch", "other"),
        ("arch", "other"),
        ("distro", "other"),
        ("repo", "drizzle"),
        ("repo", "fork"),
        ("pipeline", "promote"),
        ("pipeline", "nightly"),
        ("host_class", "metal"),
        ("tag", ""),
        ("tag", "14.04"),
        ("tag", "none"),
        ("workload", "none"),
    ];
    for (field, value) in filters {
        assert_eq!(
            list(&[(field, value)]).await,
            newest_first(&stored, equal(field, value)),
            "{field}={value}"
        );
    }
    let all = newest_first(&stored, |_| true);
    assert_eq!(list(&[("tag", "*"), ("pipeline", "*")]).await, all);
    let (since, before) = (date(70), date(150));
    let between = newest_first(&stored, |run| {
        let date = run["run_date"].as_str().unwrap();
        (since.as_str()..before.as_str()).contains(&date)
    });
    assert_eq!(
        list(&[("since", &since), ("before", &before)]).await,
        between
    );
    let both = newest_first(&stored, |run| {
        equal("repo", "fork")(run) && equal("tag", "baseline")(run)
    });
    assert_eq!(list(&[("repo", "fork"), ("tag", "baseline")]).await, both);
    assert_eq!(ids(&api.read("/v1/runs", &[]).await), all[..20]);
}

pub(crate) async fn are_found_by_their_commit_in_either_case(context: &Context) {
    let api = Api::start(context).await;
    let mut created = vec![api.create(&run(0xab)).await];
    api.create(&run(0xac)).await;
    created.push(
        api.create(&with(run(0xab), json!({"tag": "baseline"})))
            .await,
    );
    created.push(
        api.create(&with(
            run(0xab),
            json!({"workload": "slap", "succeeded": false}),
        ))
        .await,
    );
    created.reverse();
    for name in [sha(0xab), sha(0xab).to_uppercase()] {
        assert_eq!(
            ids(&api.read("/v1/runs", &[("commit_sha", &name)]).await),
            created
        );
    }
    assert_eq!(
        ids(&api.read("/v1/runs", &[("commit_sha", &sha(1))]).await),
        Vec::<i64>::new()
    );
    for name in ["", "abcdef", "g000000000000000000000000000000000000000"] {
        api.query("/v1/runs", &[("commit_sha", name)])
            .await
            .problem(400, "invalid-query");
    }
}

/// Whatever is listed with these parameters, page by page.
async fn walk(api: &Api, params: &[(&str, &str)]) -> Vec<Json> {
    let mut runs = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..100 {
        let mut params = params.to_vec();
        params.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page = api.read("/v1/runs", &params).await;
        runs.extend(page["runs"].as_array().unwrap().iter().cloned());
        match page.get("next") {
            Some(next) => cursor = Some(next.as_str().unwrap().to_owned()),
            None => return runs,
        }
    }
    panic!("no end of pages");
}

pub(crate) async fn come_whole_and_in_the_order_they_were_stored(context: &Context) {
    let api = Api::start(context).await;
    let stored = fill(&api, 40).await;
    let mut whole = Vec::new();
    for run in &stored {
        whole.push(api.get(&format!("/v1/runs/{}", run.run_id)).await.ok());
    }
    let failed = |runs: &[Json], failed: bool| -> Vec<Json> {
        let wanted = runs.iter().filter(|run| run["succeeded"] != json!(failed));
        wanted.cloned().collect()
    };
    assert!(!failed(&whole, true).is_empty() && !failed(&whole, false).is_empty());
    for limit in ["1", "7", "40", "10000"] {
        let with = |more: &[(&'static str, &'static str)]| {
            [&[("limit", limit), ("metrics", "true")], more].concat()
        };
        let as_stored = walk(&api, &with(&[("order", "stored")])).await;
        assert_eq!(as_stored, whole, "by {limit}");
        let of_kind = walk(&api, &with(&[("order", "stored"), ("succeeded", "false")])).await;
        assert_eq!(of_kind, failed(&whole, true), "by {limit}");
        let of_kind = walk(&api, &with(&[("order", "stored"), ("succeeded", "true")])).await;
        assert_eq!(of_kind, failed(&whole, false), "by {limit}");
        let fork = walk(&api, &with(&[("order", "stored"), ("repo", "fork")])).await;
        let expected: Vec<&Json> = whole.iter().filter(|run| run["repo"] == "fork").collect();
        assert_eq!(fork.iter().collect::<Vec<_>>(), expected, "by {limit}");
        let mut newest = walk(&api, &with(&[("order", "newest")])).await;
        let ids: Vec<i64> = newest
            .iter()
            .map(|run| run["run_id"].as_i64().unwrap())
            .collect();
        assert_eq!(ids, newest_first(&stored, |_| true), "by {limit}");
        newest.sort_by_key(|run| run["run_id"].as_i64());
        assert_eq!(newest, whole, "by {limit}");
    }
    // What is stored meanwhile comes last, wherever in history it stands.
    let page = [("order", "stored"), ("limit", "39")];
    let first = api.read("/v1/runs", &page).await;
    let late = api
        .create(&with(run(900), json!({"run_date": date(0)})))
        .await;
    let next = ("cursor", first["next"].as_str().unwrap());
    let second = api.read("/v1/runs", &[&page[..], &[next]].concat()).await;
    assert_eq!(ids(&second), [stored[39].run_id, late]);
    // A cursor belongs to its order.
    let other = [("limit", "39"), ("order", "newest"), next];
    api.query("/v1/runs", &other)
        .await
        .problem(400, "invalid-query");
    let wrong = [("order", "id"), ("metrics", "1"), ("succeeded", "")];
    let answer = api.query("/v1/runs", &wrong).await;
    answer.problem(400, "invalid-query");
    let mut places = answer.fault_places();
    places.sort();
    assert_eq!(places, ["metrics", "order", "succeeded"]);
}

pub(crate) async fn of_many_metrics_end_a_page_of_whole_runs_early(context: &Context) {
    let api = Api::start(context).await;
    for number in 0..12 {
        let metrics: Vec<Json> = (0..5_000)
            .map(|at| json!({"metric_key": format!("m{at:04}"), "value": at + number}))
            .collect();
        api.create(&with(run(number), json!({"metrics": metrics})))
            .await;
    }
    for order in ["newest", "stored"] {
        let params = [("order", order), ("metrics", "true"), ("limit", "12")];
        let first = api.read("/v1/runs", &params).await;
        assert_eq!(ids(&first).len(), 10, "{order}");
        let metrics = first["runs"][9]["metrics"].as_array().unwrap();
        assert_eq!(metrics.len(), 5_000, "{order}");
        assert_eq!(metrics[17]["metric_key"], "m0017", "{order}");
        let next = ("cursor", first["next"].as_str().unwrap());
        let second = api.read("/v1/runs", &[&params[..], &[next]].concat()).await;
        assert_eq!(
            (ids(&second).len(), second.get("next")),
            (2, None),
            "{order}"
        );
        let mut all = [ids(&first), ids(&second)].concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 12, "{order}");
    }
}
