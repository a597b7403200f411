//! From one database to another and back: what was read before is read after.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value as Json, json};

use crate::support::databases::{Database, Engine};
use crate::support::service::ServiceOptions;
use crate::world::{World, digits, lines, run, table, with};

/// Names of `max` characters at most that databases, shells and JSON have trouble with.
fn name(max: usize) -> impl Strategy<Value = String> {
    let awkward = prop::sample::select(vec![
        "main", "Main", "MAIN", "é", "e\u{301}", "ß", "ss", "名前", "😀😀", "a b", "\"", "\\",
        "\\'", "'; --", "%", "_", "{}", "null", "0", "-", "ı", "İ",
    ])
    .prop_map(str::to_owned);
    let any = prop::string::string_regex(&format!("[!-~¡-¬®-ÿ一-丏😀-😏]{{1,{max}}}")).unwrap();
    prop_oneof![awkward, any].prop_filter("is the wildcard", |name| name != "*")
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("0".to_owned()),
        Just("9999999999999999.9999".to_owned()),
        Just("-9999999999999999.9999".to_owned()),
        Just("0.0001".to_owned()),
        (any::<i32>(), 0..10_000_u32).prop_map(|(whole, part)| format!("{whole}.{part:04}")),
    ]
}

/// Metrics of different names.
fn metrics() -> impl Strategy<Value = Vec<Json>> {
    let names = prop::collection::btree_set(
        (name(80), prop_oneof![Just(String::new()), name(120)]),
        1..9,
    );
    names.prop_flat_map(|names| {
        let count = names.len();
        (Just(names), prop::collection::vec((value(), any::<bool>()), count)).prop_map(
            |(names, values)| {
                let both = names.into_iter().zip(values);
                both.map(|((key, dim), (value, wallclock))| {
                    json!({"metric_key": key, "dim_key": dim, "value": digits(&value), "wallclock": wallclock})
                })
                .collect()
            },
        )
    })
}

/// Runs of few series, commits and dates, so that they meet in all ways.
fn any_run() -> impl Strategy<Value = Json> {
    let tag = prop_oneof![3 => Just(String::new()), 1 => name(80)];
    let option = |text| prop::option::of(text);
    let head = (
        name(80),
        option(name(40)),
        option(name(20)),
        name(40),
        name(40),
        tag,
    );
    let place = (0..3_usize, 0..3_usize, 0..12_u64, 0..5_u64, any::<bool>());
    (head, place, metrics()).prop_map(|(head, place, metrics)| {
        let (repo, change, patchset, pipeline, host_class, tag) = head;
        let (workload, branch, commit, date, succeeded) = place;
        let workload = ["perf", "Perf", "名前"][workload];
        let branch = ["main", "e\u{301}", "é"][branch];
        let pipeline = if date == 0 { pipeline } else { "promote".to_owned() };
        json!({
            "workload": workload, "branch": branch,
            "arch": "amd64", "distro": "a b", "repo": repo, "commit_sha": format!("{commit:040x}"),
            "change": change, "patchset": patchset, "pipeline": pipeline, "host_class": host_class, "tag": tag,
            "run_date": format!("2026-01-01T00:00:0{date}Z"), "succeeded": succeeded, "metrics": metrics,
        })
    })
}

/// Runs of different identities; the same in every run of the test.
fn awkward_runs(count: usize) -> Vec<Json> {
    let mut runner = TestRunner::deterministic();
    let mut identities = BTreeSet::new();
    let mut runs = Vec::new();
    while runs.len() < count {
        let run = any_run().new_tree(&mut runner).unwrap().current();
        let identity =
            ["commit_sha", "workload", "branch", "tag"].map(|field| run[field].to_string());
        if identities.insert(identity) {
            runs.push(run);
        }
    }
    let many: Vec<Json> = (0..1_200)
        .map(|at| json!({"metric_key": format!("é {}", at % 7), "dim_key": format!("n={at}"), "value": at}))
        .collect();
    runs.push(with(run(900), json!({"metrics": many})));
    runs.push(with(run(901), json!({"metrics": [], "succeeded": false})));
    runs
}

/// The answers to many questions, by question.
type Reads = BTreeMap<String, String>;

async fn reads(world: &World) -> Reads {
    let mut questions: Vec<(&str, Vec<(&str, String)>)> = Vec::new();
    let all = |more: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
        let more = more.iter();
        more.map(|(name, value)| (*name, (*value).to_owned()))
            .collect()
    };
    for limit in ["10000", "7"] {
        for order in ["newest", "stored"] {
            for metrics in ["true", "false"] {
                let params = [("limit", limit), ("order", order), ("metrics", metrics)];
                questions.push(("/v1/runs", all(&params)));
            }
        }
    }
    questions.push(("/v1/series", Vec::new()));
    let listed = world.json("/v1/series", &[]).await;
    let listed = listed["series"].as_array().unwrap();
    assert!(listed.len() >= 8, "{listed:?}");
    for series in listed {
        let names = ["workload", "branch", "arch", "distro"];
        let series = names.map(|name| (name, series[name].as_str().unwrap().to_owned()));
        for filters in [
            all(&[]),
            all(&[("limit", "2")]),
            all(&[
                ("tag", "*"),
                ("pipeline", "*"),
                ("include_failed", "true"),
                ("limit", "10000"),
            ]),
        ] {
            for path in ["/v1/history", "/v1/baseline"] {
                let params = [&series[..], &filters].concat();
                questions.push((path, params));
            }
        }
    }
    let mut reads = Reads::new();
    for (path, params) in questions {
        let borrowed: Vec<(&str, &str)> = params
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let text = without_upload(&world.text(path, &borrowed).await);
        reads.insert(format!("{path} {params:?}"), text);
    }
    reads
}

/// An answer without who uploaded a run with which token, and when.
fn without_upload(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(",\"uploaded_by\":") {
        kept.push_str(before);
        let (_, after) = after.split_once("\"uploaded_at\":\"").unwrap();
        rest = after.split_once('"').unwrap().1;
    }
    kept + rest
}

/// The answers with each id replaced by its place in the order of ids, and without cursors.
fn without_ids(world: &[i64], reads: &Reads) -> Reads {
    let numbered = |text: &String| {
        let mut json: Json = serde_json::from_str(text).unwrap();
        number(&mut json, world);
        json.to_string()
    };
    reads
        .iter()
        .map(|(question, text)| (question.clone(), numbered(text)))
        .collect()
}

fn number(json: &mut Json, ids: &[i64]) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| number(item, ids)),
        Json::Object(object) => {
            object.remove("next");
            if let Some(id) = object.get_mut("run_id") {
                *id = json!(ids.iter().position(|known| json!(known) == *id));
            }
            object.values_mut().for_each(|value| number(value, ids));
        }
        _ => {}
    }
}

/// The ids of all runs by what decides among equals: date and id.
async fn ids_in_history(world: &World) -> Vec<i64> {
    let page = world.json("/v1/runs", &[("limit", "10000")]).await;
    let runs = page["runs"].as_array().unwrap();
    runs.iter()
        .map(|run| run["run_id"].as_i64().unwrap())
        .collect()
}

async fn on(database: &Database, schema: &str) -> World {
    let url = database.create_schema(schema).await;
    World::with(ServiceOptions::with_database(url)).await
}

#[tokio::test]
async fn an_export_that_is_loaded_elsewhere_reads_the_same_to_the_byte() {
    let first = World::new().await;
    let runs = awkward_runs(150);
    let count = runs.len() as u64;
    let left = first.load(&["--jobs=1"], &lines(runs)).await;
    left.is(0, &table(count, 0, 0, 0), "");
    let (export, before) = (first.export().await, reads(&first).await);
    assert_eq!(export.lines().count() as u64, count);
    assert_eq!(first.export().await, export);

    let database = Database::start(Engine::MariaDb11_8).await;
    let second = on(&database, "second").await;
    let left = second.load(&["--jobs=1"], &export).await;
    left.is(0, &table(count, 0, 0, 0), "");
    assert_eq!(reads(&second).await, before);
    assert_eq!(second.export().await, export);

    let third = World::new().await;
    let left = third.load(&["--jobs=1"], &second.export().await).await;
    left.is(0, &table(count, 0, 0, 0), "");
    assert_eq!(reads(&third).await, before);
    assert_eq!(third.export().await, export);
    let left = third.load(&[], &export).await;
    left.is(0, &table(0, count, 0, 0), "");

    // Many at a time, the ids differ, and with them the order in which runs were stored; where they
    // stand in history does not.
    for other in [on(&database, "other").await, World::new().await] {
        let left = other.load(&["--jobs=16"], &export).await;
        left.is(0, &table(count, 0, 0, 0), "");
        let in_history = |reads: &Reads| -> Reads {
            let mut reads = reads.clone();
            reads.retain(|question, _| !question.contains("\"stored\""));
            reads
        };
        assert_eq!(
            without_ids(
                &ids_in_history(&other).await,
                &in_history(&reads(&other).await)
            ),
            without_ids(&ids_in_history(&first).await, &in_history(&before)),
        );
        let mut exported: Vec<String> = other.export().await.lines().map(str::to_owned).collect();
        let mut expected: Vec<&str> = export.lines().collect();
        exported.sort();
        expected.sort_unstable();
        assert_eq!(exported, expected);
    }
}

/// All series of a commit have its date, and a history of many runs has few dates.
#[tokio::test]
async fn runs_of_one_date_keep_their_order_however_many_are_under_way() {
    let world = World::new().await;
    let runs: Vec<Json> = (0..400)
        .map(|number| {
            let date = format!("2026-01-01T00:00:0{}Z", number % 3);
            let series = format!("perf-{}", number % 7);
            with(run(number), json!({"run_date": date, "workload": series}))
        })
        .collect();
    let left = world.load(&["--jobs=64"], &lines(runs.clone())).await;
    left.is(0, &table(400, 0, 0, 0), "");
    let mut expected: Vec<&Json> = runs.iter().rev().collect();
    expected.sort_by_key(|run| std::cmp::Reverse(run["run_date"].as_str()));
    let page = world.json("/v1/runs", &[("limit", "10000")]).await;
    let commits = |runs: Vec<&Json>| -> Vec<String> {
        runs.iter()
            .map(|run| run["commit_sha"].to_string())
            .collect()
    };
    let listed = page["runs"].as_array().unwrap().iter().collect();
    assert_eq!(commits(listed), commits(expected));
}
