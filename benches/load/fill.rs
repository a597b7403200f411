//! Fills a table with years of runs by few statements, as uploading a million would take longer than measuring.
//!
//! The rows are those that uploads would have left, the catalog of series included.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use sqlx::{MySqlConnection, SqliteConnection};

use crate::data::{
    ARCH, BRANCH, DISTRO, FIRST_DATE, HOST_CLASS, METRICS, PIPELINE, REPO, series_of,
};

/// Runs of one statement on a server.
const CHUNK: u32 = 10_000;

/// Puts `runs` runs into the empty tables at `url`.
pub(crate) async fn server(url: &str, runs: u32) -> Result<()> {
    let options: MySqlConnectOptions = url.parse()?;
    let mut connection = options.connect().await?;
    make_numbers(&mut connection).await?;
    tokio::try_join!(
        insert(&options, runs, |first| server_runs(first, series_of(runs))),
        insert(&options, runs, server_metrics),
    )?;
    for statement in [
        catalog_repos("runs"),
        catalog_metrics("bench_keys"),
        "DROP TABLE bench_numbers, bench_keys".to_owned(),
        "ANALYZE TABLE runs, metrics, series_repos, series_metrics".to_owned(),
    ] {
        execute(&mut connection, statement).await?;
    }
    connection.close().await?;
    Ok(())
}

async fn execute(connection: &mut MySqlConnection, sql: String) -> Result<()> {
    connection.execute(AssertSqlSafe(sql)).await?;
    Ok(())
}

/// No way to count from one to n is the same on MariaDB and MySQL but a table of numbers.
async fn make_numbers(connection: &mut MySqlConnection) -> Result<()> {
    let numbers: Vec<String> = (0..CHUNK).map(|n| format!("({n})")).collect();
    for statement in [
        "CREATE TABLE bench_numbers (n INT NOT NULL PRIMARY KEY)".to_owned(),
        format!("INSERT INTO bench_numbers VALUES {}", numbers.join(",")),
        "CREATE TABLE bench_keys (k VARCHAR(80) NOT NULL PRIMARY KEY)".to_owned(),
        format!("INSERT INTO bench_keys VALUES {}", key_rows()),
    ] {
        execute(connection, statement).await?;
    }
    Ok(())
}

fn key_rows() -> String {
    METRICS.map(|key| format!("('{key}')")).join(",")
}

/// Runs `statement` for every chunk, given its first number; a number is cut off at the end.
async fn insert(
    options: &MySqlConnectOptions,
    runs: u32,
    statement: impl Fn(u32) -> String,
) -> Result<()> {
    let mut connection = options.connect().await?;
    // Both sides of the key are filled at the same time.
    execute(&mut connection, "SET foreign_key_checks = 0".to_owned()).await?;
    for first in (0..runs).step_by(CHUNK as usize) {
        let mut sql = statement(first);
        // Writing to a string cannot fail.
        let _ = write!(sql, " WHERE n < {}", runs - first);
        execute(&mut connection, sql).await?;
    }
    connection.close().await?;
    Ok(())
}

const RUN_COLUMNS: &str = "run_id, workload, repo, branch, commit_sha, `change`, patchset, pipeline, distro, arch, host_class, tag, run_date, succeeded";

fn server_runs(first: u32, series: u32) -> String {
    format!(
        "INSERT INTO runs ({RUN_COLUMNS}) \
         SELECT {first} + n + 1, CONCAT('workload-', LPAD(({first} + n) % {series}, 4, '0')), '{REPO}', '{BRANCH}', \
         SHA1({first} + n), 'I0123abcd', '3', '{PIPELINE}', '{DISTRO}', '{ARCH}', '{HOST_CLASS}', '', \
         TIMESTAMP '2020-01-01 00:00:00' + INTERVAL ({first} + n) MINUTE, TRUE FROM bench_numbers"
    )
}

fn server_metrics(first: u32) -> String {
    format!(
        "INSERT INTO metrics (run_id, metric_key, dim_key, value, wallclock) \
         SELECT {first} + n + 1, k, '', 1000000000.5 + ({first} + n) % 1000, FALSE \
         FROM bench_numbers STRAIGHT_JOIN bench_keys"
    )
}

fn catalog_repos(runs: &str) -> String {
    format!(
        "INSERT INTO series_repos (workload, branch, arch, distro, repo, run_count) \
         SELECT workload, branch, arch, distro, repo, COUNT(*) FROM {runs} \
         GROUP BY workload, branch, arch, distro, repo"
    )
}

fn catalog_metrics(keys: &str) -> String {
    format!(
        "INSERT INTO series_metrics (workload, branch, arch, distro, metric_key, dim_key) \
         SELECT workload, branch, arch, distro, k, '' FROM series_repos CROSS JOIN {keys}"
    )
}

/// Puts `runs` runs into the empty tables of the SQLite file `path`, which no service has open.
pub(crate) async fn sqlite(path: &Path, runs: u32) -> Result<()> {
    let mut connection = SqliteConnectOptions::new()
        .filename(path)
        .synchronous(SqliteSynchronous::Off)
        .connect()
        .await?;
    for statement in [
        "CREATE TEMP TABLE bench_keys (k TEXT NOT NULL PRIMARY KEY)".to_owned(),
        format!("INSERT INTO bench_keys VALUES {}", key_rows()),
        sqlite_runs(runs),
        sqlite_metrics(runs),
        catalog_repos("runs"),
        catalog_metrics("bench_keys"),
        "PRAGMA wal_checkpoint(TRUNCATE)".to_owned(),
    ] {
        run(&mut connection, statement).await?;
    }
    connection.close().await?;
    Ok(())
}

async fn run(connection: &mut SqliteConnection, sql: String) -> Result<()> {
    connection.execute(AssertSqlSafe(sql)).await?;
    Ok(())
}

fn numbers(runs: u32) -> String {
    format!(
        "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < {runs})"
    )
}

fn sqlite_runs(runs: u32) -> String {
    format!(
        "INSERT INTO runs ({RUN_COLUMNS}) {} \
         SELECT n + 1, printf('workload-%04d', n % {}), '{REPO}', '{BRANCH}', lower(hex(randomblob(20))), \
         'I0123abcd', '3', '{PIPELINE}', '{DISTRO}', '{ARCH}', '{HOST_CLASS}', '', \
         datetime({FIRST_DATE} + n * 60, 'unixepoch'), TRUE FROM numbers",
        numbers(runs),
        series_of(runs)
    )
}

fn sqlite_metrics(runs: u32) -> String {
    format!(
        "INSERT INTO metrics (run_id, metric_key, dim_key, value, wallclock) {} \
         SELECT n + 1, k, '', (1000000000 + n % 1000) || '.5', FALSE FROM numbers CROSS JOIN bench_keys",
        numbers(runs)
    )
}
