//! The schema comes up to date by itself: on an empty database and on an old one, for one service and for five.

use std::process::Stdio;

use futures_util::future::{join_all, try_join_all};
use serde_json::json;
use sqlx::migrate::Migrator;
use tokio::process::Command;

use crate::api::{Api, run, sha, with};
use crate::database::Database;
use crate::support::harness::{Backend, Context};
use crate::support::service::{Service, ServiceOptions};

static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");
static MYSQL: Migrator = sqlx::migrate!("migrations/mysql");
static DRIZZLE: Migrator = sqlx::migrate!("migrations/drizzle");

const RECORDED: &str = "SELECT version FROM perf_tracking_migrations ORDER BY version";

/// Each way to a database has files of its own.
fn migrator(context: &Context) -> &'static Migrator {
    match context.backend {
        Backend::Sqlite => &SQLITE,
        Backend::Text => &DRIZZLE,
        Backend::MariaDb11_8 | Backend::MariaDb10_11 | Backend::MySql9_7 => &MYSQL,
    }
}

fn versions(context: &Context) -> Vec<i64> {
    migrator(context)
        .iter()
        .map(|migration| migration.version)
        .collect()
}

/// The statements of the migration `version`.
fn statements(context: &Context, version: i64) -> Vec<String> {
    let migration = migrator(context)
        .iter()
        .find(|known| known.version == version)
        .unwrap();
    let lines = migration
        .sql
        .as_str()
        .lines()
        .filter(|line| !line.starts_with("--"));
    let code = lines.collect::<Vec<_>>().join("\n");
    code.split(';')
        .map(|sql| sql.trim().to_owned())
        .filter(|sql| !sql.is_empty())
        .collect()
}

async fn create_record(database: &mut Database) {
    let sql = "CREATE TABLE perf_tracking_migrations (version BIGINT NOT NULL PRIMARY KEY, checksum VARCHAR(96) NOT NULL)";
    database.execute(sql).await;
}

async fn record(context: &Context, database: &mut Database, version: i64) {
    let migration = migrator(context)
        .iter()
        .find(|known| known.version == version)
        .unwrap();
    let checksum: String = migration
        .checksum
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let sql = format!("INSERT INTO perf_tracking_migrations VALUES ({version}, '{checksum}')");
    database.execute(&sql).await;
}

/// A database as the first version left it, with three runs in it.
async fn make_old(context: &Context) -> Database {
    let mut database = Database::open(context).await;
    create_record(&mut database).await;
    for sql in statements(context, 1) {
        database.execute(&sql).await;
    }
    record(context, &mut database, 1).await;
    for (number, repo, succeeded) in [
        (1, "drizzle", "TRUE"),
        (2, "fork", "TRUE"),
        (3, "drizzle", "FALSE"),
    ] {
        let run = format!(
            "INSERT INTO runs (run_id, workload, repo, branch, commit_sha, pipeline, distro, arch, host_class, tag, run_date, succeeded) \
             VALUES ({number}, 'perf', '{repo}', 'main', '{}', 'promote', 'trixie', 'amd64', 'callgrind', '', '2026-01-01 00:0{number}:00', {succeeded})",
            sha(number)
        );
        database.execute(&run).await;
        let metric = format!(
            "INSERT INTO metrics (run_id, metric_key, dim_key, value, wallclock) VALUES ({number}, 'callgrind.ir', '', '{}', FALSE), ({number}, 'own.{number}', 't=1', '1.5', FALSE)",
            1000 + number
        );
        database.execute(&metric).await;
    }
    database
}

async fn start_five(context: &Context) -> Vec<Service> {
    let start =
        || async { Service::try_start(ServiceOptions::with_database(&context.database_url)).await };
    try_join_all((0..5).map(|_| start())).await.unwrap()
}

pub(crate) async fn of_five_services_at_once_make_one_schema(context: &Context) {
    let services = start_five(context).await;
    assert_eq!(
        Database::open(context).await.numbers(RECORDED).await,
        versions(context)
    );
    let apis = join_all(services.into_iter().map(Api::of)).await;
    for (number, api) in apis.iter().enumerate() {
        api.create(&run(number as u64)).await;
    }
    for api in &apis {
        let series = api.get("/v1/series").await.ok();
        assert_eq!(series["series"][0]["run_count"], json!(5));
    }
}

pub(crate) async fn of_an_old_database_keep_and_list_its_runs(context: &Context) {
    let mut database = make_old(context).await;
    let services = start_five(context).await;
    assert_eq!(database.numbers(RECORDED).await, versions(context));
    let apis = join_all(services.into_iter().map(Api::of)).await;
    let api = &apis[0];
    assert_eq!(api.post(&with(run(1), json!({"metrics": [
        {"metric_key": "callgrind.ir", "value": 1001}, {"metric_key": "own.1", "dim_key": "t=1", "value": 1.5},
    ]}))).await.ok()["outcome"], json!("unchanged"));
    api.create(&run(4)).await;
    for api in &apis {
        let series = api.get("/v1/series").await.ok()["series"].clone();
        let series = &series[0];
        assert_eq!(
            [&series["run_count"], &series["repos"]],
            [&json!(4), &json!(["drizzle", "fork"])]
        );
        let metrics = series["metrics"].as_array().unwrap().iter();
        let values: Vec<_> = metrics
            .map(|metric| json!([metric["metric_key"], metric["value"]]))
            .collect();
        assert_eq!(
            json!(values),
            json!([
                ["callgrind.ir", 1004],
                ["own.1", 1.5],
                ["own.2", 1.5],
                ["own.3", null]
            ])
        );
        // A metric of an old run alone, beside others: found by the catalogue.
        let window = api.get("/v1/history?workload=perf&branch=main&arch=amd64&distro=trixie&limit=1&metric_key=own.1&metric_key=callgrind.ir").await.ok();
        assert_eq!(window["metrics"].as_array().unwrap().len(), 2, "{window}");
    }
}

/// What a command left.
struct Left {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

async fn perf_tracking(context: &Context, command: &str) -> Left {
    let output = Command::new(env!("CARGO_BIN_EXE_perf-tracking"))
        .args([command, "--data-dir"])
        .arg(context.scratch())
        .args(if command == "serve" {
            &["--listen", "127.0.0.1:0"][..]
        } else {
            &[]
        })
        .env("PERF_TRACKING_DATABASE_URL", &context.database_url)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    Left {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) async fn alone_bring_the_schema_up_to_date_as_often_as_asked(context: &Context) {
    for _ in 0..2 {
        let left = perf_tracking(context, "migrate").await;
        assert_eq!(left.code, Some(0), "{}", left.stderr);
        assert!(left.stdout.ends_with(" is up to date\n"), "{}", left.stdout);
        // A password stands before the host alone.
        let address = left.stdout.trim_end_matches(
            " is up to date
",
        );
        let has_password = url::Url::parse(&context.database_url)
            .unwrap()
            .password()
            .is_some();
        assert_eq!(address.contains(":***@"), has_password, "{address}");
        assert_ne!(address == context.database_url, has_password, "{address}");
        assert_eq!(
            Database::open(context).await.numbers(RECORDED).await,
            versions(context)
        );
    }
    Api::start(context).await.create(&run(1)).await;
}

pub(crate) async fn that_were_cut_off_are_finished_by_the_next_start(context: &Context) {
    let mut database = Database::open(context).await;
    // All tables of the first migration, one of the second, nothing recorded; in one case not even the record's table.
    for sql in statements(context, 1)
        .iter()
        .chain(statements(context, 2).first())
    {
        database.execute(sql).await;
    }
    let api = Api::start(context).await;
    assert_eq!(database.numbers(RECORDED).await, versions(context));
    api.create(&run(1)).await;
    assert_eq!(
        api.get("/v1/series").await.ok()["series"][0]["run_count"],
        json!(1)
    );
    drop(api);
    // The last one ran and was not recorded: it runs again on what has been stored since, and changes nothing.
    let last = *versions(context).last().unwrap();
    database
        .execute(&format!(
            "DELETE FROM perf_tracking_migrations WHERE version = {last}"
        ))
        .await;
    let api = Api::start(context).await;
    assert_eq!(database.numbers(RECORDED).await, versions(context));
    assert_eq!(
        api.get("/v1/series").await.ok()["series"][0]["run_count"],
        json!(1)
    );
    assert_eq!(api.post(&run(1)).await.ok()["outcome"], json!("unchanged"));
}

pub(crate) async fn of_a_newer_version_are_refused_and_left_alone(context: &Context) {
    let mut database = Database::open(context).await;
    create_record(&mut database).await;
    database
        .execute("INSERT INTO perf_tracking_migrations VALUES (99, 'of the future')")
        .await;
    for command in ["serve", "migrate"] {
        let left = perf_tracking(context, command).await;
        assert_eq!(left.code, Some(2), "{command}: {}", left.stderr);
        for part in ["migration 99", "start the newer binary"] {
            assert!(
                left.stderr.contains(part),
                "{command}: no {part:?} in {}",
                left.stderr
            );
        }
    }
    assert_eq!(database.numbers(RECORDED).await, [99]);
    // Were the tables there, they could not be made.
    database.execute("CREATE TABLE runs (mine BIGINT)").await;
    database
        .execute("CREATE TABLE series_repos (mine BIGINT)")
        .await;
}

pub(crate) async fn of_another_binary_are_refused(context: &Context) {
    assert_eq!(perf_tracking(context, "migrate").await.code, Some(0));
    let mut database = Database::open(context).await;
    database
        .execute("UPDATE perf_tracking_migrations SET checksum = 'another' WHERE version = 1")
        .await;
    for command in ["serve", "migrate"] {
        let left = perf_tracking(context, command).await;
        assert_eq!(left.code, Some(2), "{command}: {}", left.stderr);
        assert!(
            left.stderr
                .contains("migration 1 of the database is not the one in this binary"),
            "{}",
            left.stderr
        );
    }
}
