//! Reads of a long series: what the statements that the service sends make a server read.
//!
//! The statements are read off the server's own log. SQLite, which has none, is asked in `src/store/growth_tests.rs`.

use std::collections::BTreeSet;

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use crate::api::Api;
use crate::database::Database;
use crate::support::harness::{Backend, Context};
use crate::support::long_series::{self, Dialect};

/// Five times as many as a request examines.
const RUNS: u32 = 50_000;

/// The most rows that a statement reads: each of the ten thousand runs that it examines once in an index and once as
/// a row, with the row of its details, and once in the table that the server makes of them.
const MOST_ROWS: u64 = 41_000;

pub(crate) async fn makes_no_statement_of_a_read_dearer(context: &Context) {
    if context.backend == Backend::Sqlite {
        return;
    }
    let api = Api::start(context).await;
    let Database::Server(mut connection) = Database::open(context).await else {
        panic!("only SQLite is no server");
    };
    for sql in long_series::statements(Dialect::Server, RUNS, &["ir"]) {
        run(&mut connection, &sql).await;
    }
    run(
        &mut connection,
        "ANALYZE TABLE runs, metrics, series_repos, series_metrics, run_details, reference_runs",
    )
    .await;
    let statements = statements_of_reads(&api, &mut connection).await;
    assert!(statements.len() > 50, "{} statements", statements.len());
    let mut faults = Vec::new();
    for sql in &statements {
        faults.extend(
            fault(&mut connection, sql)
                .await
                .map(|fault| format!("{fault}\n  {}", sql.chars().take(2_000).collect::<String>())),
        );
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

async fn run(connection: &mut MySqlConnection, sql: &str) {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql));
    connection.execute(sql).await.unwrap();
}

async fn rows(connection: &mut MySqlConnection, sql: &str) -> Vec<MySqlRow> {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql));
    connection.fetch_all(sql).await.unwrap()
}

/// What the service sends for every read and the page after its first, with the values in place.
async fn statements_of_reads(api: &Api, connection: &mut MySqlConnection) -> BTreeSet<String> {
    for sql in [
        "SET GLOBAL log_output = 'TABLE'",
        "SET GLOBAL general_log = ON",
    ] {
        run(connection, sql).await;
    }
    for read in long_series::reads("ir") {
        let first = api.get(&read.path).await.ok();
        if let Some(next) = first["next"].as_str() {
            api.get(&format!("{}&cursor={next}", read.path)).await.ok();
        }
    }
    let sent = rows(
        connection,
        "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE command_type IN ('Execute', 'Query') \
         AND argument LIKE 'SELECT%' AND thread_id <> CONNECTION_ID() \
         AND thread_id IN (SELECT id FROM information_schema.processlist WHERE db = DATABASE())",
    )
    .await;
    sent.iter().map(|row| row.get(0)).collect()
}

/// What is wrong with a statement: its plan reads a table from end to end, or running it reads too many rows.
async fn fault(connection: &mut MySqlConnection, sql: &str) -> Option<String> {
    for step in rows(connection, &format!("EXPLAIN {sql}")).await {
        let text = |column: &str| {
            step.try_get::<Option<String>, _>(column)
                .ok()
                .flatten()
                .unwrap_or_default()
        };
        let (table, kind, extra) = (text("table"), text("type"), text("Extra"));
        let is_grown =
            ["runs", "metrics", "run_details", "reference_runs"].contains(&table.as_str());
        if is_grown && kind == "ALL" {
            return Some(format!("reads {table} from end to end: {extra}"));
        }
    }
    run(connection, "FLUSH STATUS").await;
    rows(connection, sql).await;
    let counters = rows(connection, "SHOW SESSION STATUS LIKE 'Handler_read%'").await;
    let read: u64 = counters
        .iter()
        .filter_map(|row| row.get::<String, _>(1).parse::<u64>().ok())
        .sum();
    (read > MOST_ROWS).then(|| format!("reads {read} rows"))
}
