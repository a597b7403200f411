//! The bare loop: the statements that the service sends for a request, and nothing else.
//!
//! They are written out here, as code that the service shared with its measure would hide what it costs. That they are
//! the service's own is read off the server's log of statements, and said beside the table where it is not so.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use chrono::NaiveDateTime;
use rust_decimal::Decimal;
use sqlx::{ConnectOptions as _, FromRow, MySqlConnection};

use crate::data::{
    ARCH, BRANCH, DISTRO, HOST_CLASS, METRICS, PIPELINE, Question, REPO, Run, WINDOW,
};
use crate::drive::Worker;

const INSERT_RUN: &str = "INSERT INTO `runs` (`workload`, `branch`, `arch`, `distro`, `commit_sha`, `tag`, `repo`, `change`, `patchset`, `pipeline`, `host_class`, `run_date`, `succeeded`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const INSERT_METRICS: &str = "INSERT INTO `metrics` (`run_id`, `metric_key`, `dim_key`, `value`, `wallclock`) VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)";
const COUNT_RUN: &str = "INSERT INTO `series_repos` (`workload`, `branch`, `arch`, `distro`, `repo`, `run_count`) VALUES (?, ?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE `run_count` = `series_repos`.`run_count` + ?";

macro_rules! window {
    ($dims:literal, $and_dim:literal) => {
        concat!(
            "SELECT `runs`.`run_id`, `runs`.`workload`, `runs`.`repo`, `runs`.`branch`, `runs`.`commit_sha`, `runs`.`change`, `runs`.`patchset`, `runs`.`pipeline`, `runs`.`distro`, `runs`.`arch`, `runs`.`host_class`, `runs`.`tag`, `runs`.`run_date`, `runs`.`succeeded`, `metrics`.`metric_key`, `metrics`.`dim_key`, `metrics`.`value`, `metrics`.`wallclock`, ",
            $dims,
            " AS `dims` FROM `runs` INNER JOIN `metrics` ON `metrics`.`run_id` = `runs`.`run_id` AND `metrics`.`metric_key` = ?",
            $and_dim,
            " WHERE `runs`.`workload` = ? AND `runs`.`branch` = ? AND `runs`.`arch` = ? AND `runs`.`distro` = ? AND `runs`.`repo` = ? AND `runs`.`pipeline` = ? AND `runs`.`tag` = ? AND `runs`.`succeeded` = ? ORDER BY `runs`.`run_date` DESC, `runs`.`run_id` DESC LIMIT ?"
        )
    };
}

const WINDOW_OF_KEY: &str = window!(
    "(SELECT COUNT(`series_metrics`.`dim_key`) FROM `series_metrics` WHERE `series_metrics`.`workload` = ? AND `series_metrics`.`branch` = ? AND `series_metrics`.`arch` = ? AND `series_metrics`.`distro` = ? AND `series_metrics`.`metric_key` = ?)",
    ""
);
const WINDOW_OF_METRIC: &str = window!("?", " AND `metrics`.`dim_key` = ?");

/// Uploads to one of the first `series` series.
pub(crate) struct Upload {
    pub(crate) connection: MySqlConnection,
    pub(crate) series: u32,
}

impl Worker for Upload {
    async fn once(&mut self) -> Result<()> {
        upload(&mut self.connection, &Run::new(self.series)).await
    }
}

async fn upload(connection: &mut MySqlConnection, run: &Run) -> Result<()> {
    sqlx::raw_sql("BEGIN").execute(&mut *connection).await?;
    let inserted = sqlx::query(INSERT_RUN)
        .bind(&run.workload)
        .bind(BRANCH)
        .bind(ARCH)
        .bind(DISTRO)
        .bind(&run.commit_sha)
        .bind("")
        .bind(REPO)
        .bind(&run.change)
        .bind("3")
        .bind(PIPELINE)
        .bind(HOST_CLASS)
        .bind(run.run_date)
        .bind(true)
        .execute(&mut *connection)
        .await?;
    let run_id = i64::try_from(inserted.last_insert_id())?;
    let mut metrics = sqlx::query(INSERT_METRICS);
    for (key, value) in METRICS.iter().zip(run.values) {
        metrics = metrics
            .bind(run_id)
            .bind(*key)
            .bind("")
            .bind(Decimal::new(value * 10 + 5, 1))
            .bind(false);
    }
    metrics.execute(&mut *connection).await?;
    sqlx::query(COUNT_RUN)
        .bind(&run.workload)
        .bind(BRANCH)
        .bind(ARCH)
        .bind(DISTRO)
        .bind(REPO)
        .bind(1_i64)
        .bind(1_i64)
        .execute(&mut *connection)
        .await?;
    sqlx::raw_sql("COMMIT").execute(&mut *connection).await?;
    Ok(())
}

/// Reads windows of the first `series` series.
pub(crate) struct History {
    pub(crate) connection: MySqlConnection,
    pub(crate) series: u32,
    pub(crate) with_dim: bool,
}

impl Worker for History {
    async fn once(&mut self) -> Result<()> {
        let question = Question::new(self.series, self.with_dim);
        let rows = window(&mut self.connection, &question).await?;
        ensure!(rows.len() == WINDOW + 1, "{} rows", rows.len());
        std::hint::black_box(rows);
        Ok(())
    }
}

/// A row as whoever uses it must have it.
#[derive(FromRow)]
#[expect(dead_code, reason = "to be decoded is all that its fields are for")]
struct PointRow {
    run_id: i64,
    workload: String,
    repo: String,
    branch: String,
    commit_sha: String,
    change: Option<String>,
    patchset: Option<String>,
    pipeline: String,
    distro: String,
    arch: String,
    host_class: String,
    tag: String,
    run_date: NaiveDateTime,
    succeeded: bool,
    metric_key: String,
    dim_key: String,
    value: Decimal,
    wallclock: bool,
    dims: i64,
}

async fn window(connection: &mut MySqlConnection, question: &Question) -> Result<Vec<PointRow>> {
    let mut query = if question.with_dim {
        sqlx::query_as(WINDOW_OF_METRIC)
            .bind(1_i64)
            .bind(question.metric_key)
            .bind("")
    } else {
        sqlx::query_as(WINDOW_OF_KEY)
            .bind(&question.workload)
            .bind(BRANCH)
            .bind(ARCH)
            .bind(DISTRO)
            .bind(question.metric_key)
            .bind(question.metric_key)
    };
    query = query
        .bind(&question.workload)
        .bind(BRANCH)
        .bind(ARCH)
        .bind(DISTRO)
        .bind(REPO)
        .bind(PIPELINE)
        .bind("")
        .bind(true)
        .bind(WINDOW as u64 + 1);
    Ok(query.fetch_all(connection).await?)
}

/// Connections to the schema at `url`.
pub(crate) async fn connections(url: &str, count: usize) -> Result<Vec<MySqlConnection>> {
    let options: sqlx::mysql::MySqlConnectOptions = url.parse()?;
    let mut connections = Vec::with_capacity(count);
    for _ in 0..count {
        connections.push(options.connect().await?);
    }
    Ok(connections)
}

/// The server's own log of statements, while it is on.
pub(crate) struct StatementLog(MySqlConnection);

/// What a client sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    prepared: BTreeSet<String>,
    count: usize,
}

impl StatementLog {
    pub(crate) async fn start(url: &str) -> Result<Self> {
        let options: sqlx::mysql::MySqlConnectOptions = url.parse()?;
        let mut log = Self(options.connect().await?);
        log.set("SET GLOBAL log_output = 'TABLE'").await?;
        log.set("SET GLOBAL general_log = ON").await?;
        Ok(log)
    }

    async fn set(&mut self, statement: &'static str) -> Result<()> {
        sqlx::raw_sql(statement).execute(&mut self.0).await?;
        Ok(())
    }

    /// What was sent since the last call, by all but this connection.
    pub(crate) async fn take(&mut self) -> Result<Sent> {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "SELECT CONVERT(command_type USING utf8mb4), CONVERT(argument USING utf8mb4) FROM mysql.general_log \
             WHERE thread_id <> CONNECTION_ID() AND command_type IN ('Prepare', 'Execute', 'Query')",
        )
        .fetch_all(&mut self.0)
        .await?;
        self.set("TRUNCATE TABLE mysql.general_log").await?;
        let mut sent = Sent::default();
        for (command, text) in rows {
            match command.as_str() {
                "Prepare" => {
                    sent.prepared.insert(text);
                }
                _ => sent.count += 1,
            }
        }
        Ok(sent)
    }

    pub(crate) async fn stop(mut self) -> Result<()> {
        self.set("SET GLOBAL general_log = OFF").await
    }
}

/// How `bare` differs from what the service sent: statements of another text, or another number of them.
///
/// `first` is what the service sent for its first such request, which prepares and may send more;
/// `again` is what it sent for the next.
pub(crate) fn difference(first: &Sent, again: &Sent, bare: &Sent) -> Option<String> {
    if let Some(other) = bare.prepared.difference(&first.prepared).next() {
        return Some(format!("the service does not send {other}"));
    }
    if let Some(other) = first.prepared.difference(&bare.prepared).next() {
        return Some(format!("the service sends also {other}"));
    }
    (again.count != bare.count).then(|| {
        format!(
            "the service sends {} statements, the bare loop {}",
            again.count, bare.count
        )
    })
}
