//! Holds what was acknowledged against what is stored.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt as _, TryStreamExt as _};
use reqwest::StatusCode;
use serde_json::Value as Json;
use sqlx::{AssertSqlSafe, Connection as _, MySqlConnection, SqliteConnection};

use crate::bench::Ground;
use crate::fleet::{Ledger, Report};
use crate::plan::{Planned, metrics_a_run};
use crate::support::service::{Service, http_client};

/// Stops the service, starts it again and checks that each acknowledged run is there, once and whole, and nothing else.
///
/// # Panics
/// Where that does not hold.
pub(crate) async fn audit(service: &mut Service, ground: &Ground<'_>, report: &Report) {
    let status = service.terminate().await;
    assert!(status.success(), "the service ended with {status}");
    service.restart().await;
    check_ids(&report.ledger);
    let reader = Reader {
        client: http_client(),
        url: service.url(),
        token: report.token.clone(),
    };
    reader.check_pages(&report.ledger).await;
    reader.check_runs(&report.ledger).await;
    check_rows(&ground.direct_url, &report.ledger).await;
}

/// A run keeps its id however often it is sent, is made once, and no other run has its id.
fn check_ids(ledger: &Ledger) {
    let mut ids = BTreeMap::new();
    for (planned, answers) in ledger {
        let run_id = answers[0].run_id;
        assert!(
            answers.iter().all(|answer| answer.run_id == run_id),
            "{planned} was given several ids: {answers:?}"
        );
        let created = answers.iter().filter(|answer| answer.outcome == "created");
        assert!(
            created.count() <= 1,
            "{planned} was made twice: {answers:?}"
        );
        let other = ids.insert(run_id, planned);
        assert!(
            other.is_none(),
            "{planned} and {other:?} were both given {run_id}"
        );
    }
}

struct Reader {
    client: reqwest::Client,
    url: String,
    token: String,
}

impl Reader {
    async fn get(&self, path: &str, query: &[(&str, &str)]) -> Json {
        let request = self
            .client
            .get(format!("{}{path}", self.url))
            .query(query)
            .bearer_auth(&self.token);
        let answer = request.send().await.expect("a ready service answers");
        assert_eq!(answer.status(), StatusCode::OK, "{path} {query:?}");
        answer.json().await.expect("an answer is JSON")
    }

    /// The pages of `/v1/runs` hold every acknowledged run once, under its id, and no other.
    async fn check_pages(&self, ledger: &Ledger) {
        let mut listed = Vec::new();
        let mut cursor = None;
        loop {
            let mut query = vec![("limit", "1000")];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let mut page = self.get("/v1/runs", &query).await;
            let runs = page["runs"].as_array().expect("a page has runs");
            listed.extend(runs.iter().map(|run| {
                let commit_sha = run["commit_sha"].as_str().expect("a run has a commit");
                (
                    commit_sha.to_owned(),
                    run["run_id"].as_i64().expect("a run has an id"),
                )
            }));
            match page["next"].take() {
                Json::String(next) => cursor = Some(next),
                _ => break,
            }
        }
        let acknowledged: BTreeSet<_> = ledger
            .iter()
            .map(|(planned, answers)| (planned.commit_sha(), answers[0].run_id))
            .collect();
        assert_eq!(
            listed.len(),
            acknowledged.len(),
            "runs on the pages, and acknowledged"
        );
        assert_eq!(BTreeSet::from_iter(listed), acknowledged);
    }

    /// Every acknowledged run is what was sent, to the last digit.
    async fn check_runs(&self, ledger: &Ledger) {
        let checks = ledger.iter().map(|(planned, answers)| async move {
            let run_id = answers[0].run_id;
            let found = self.get(&format!("/v1/runs/{run_id}"), &[]).await;
            assert_eq!(sent_part(found), stored(*planned, run_id), "{planned}");
        });
        futures_util::stream::iter(checks)
            .buffer_unordered(8)
            .collect::<()>()
            .await;
    }
}

/// An answer without the fields that the service writes itself: the token's subject, the token's id and the time.
pub(crate) fn sent_part(mut run: Json) -> Json {
    let fields = run.as_object_mut().expect("a run is an object");
    for name in ["uploaded_by", "token_id", "uploaded_at"] {
        let written = fields.remove(name);
        assert!(matches!(written, Some(Json::String(_))), "{name}");
    }
    run
}

/// What the service answers of a run, without the fields that [`sent_part`] takes out.
pub(crate) fn stored(planned: Planned, run_id: i64) -> Json {
    let mut body = planned.body();
    body.insert("run_id".to_owned(), run_id.into());
    Json::Object(body)
}

const SERIES: &str = "workload, branch, arch, distro";

/// What must not be in the tables, as a count of it.
fn forbidden() -> Vec<(&'static str, String)> {
    let same_series = |a: &str, b: &str| {
        let columns = SERIES
            .split(", ")
            .map(|column| format!("{a}.{column} = {b}.{column}"));
        columns.collect::<Vec<_>>().join(" AND ")
    };
    let counted =
        format!("(SELECT {SERIES}, repo, COUNT(*) AS n FROM runs GROUP BY {SERIES}, repo)");
    vec![
        (
            "runs with some of their metrics",
            format!(
                "SELECT COUNT(*) FROM runs r WHERE r.succeeded = 0 OR {} <> \
                 (SELECT COUNT(*) FROM metrics m WHERE m.run_id = r.run_id)",
                metrics_a_run()
            ),
        ),
        (
            "metrics without a run",
            "SELECT COUNT(*) FROM metrics m LEFT JOIN runs r ON r.run_id = m.run_id WHERE r.run_id IS NULL".to_owned(),
        ),
        (
            "identities that are stored twice",
            format!(
                "SELECT COUNT(*) FROM (SELECT commit_sha FROM runs GROUP BY commit_sha, {SERIES}, tag \
                 HAVING COUNT(*) > 1) twice"
            ),
        ),
        (
            "series whose runs are counted wrongly or not at all",
            format!(
                "SELECT COUNT(*) FROM {counted} c LEFT JOIN series_repos s ON {} AND s.repo = c.repo \
                 WHERE s.run_count IS NULL OR s.run_count <> c.n",
                same_series("s", "c")
            ),
        ),
        (
            "counts of series that have no runs",
            format!(
                "SELECT COUNT(*) FROM series_repos s LEFT JOIN {counted} c ON {} AND s.repo = c.repo \
                 WHERE c.n IS NULL AND s.run_count <> 0",
                same_series("s", "c")
            ),
        ),
        (
            "metrics that the catalog lacks",
            format!(
                "SELECT COUNT(*) FROM metrics m JOIN runs r ON r.run_id = m.run_id LEFT JOIN series_metrics s ON {} \
                 AND s.metric_key = m.metric_key AND s.dim_key = m.dim_key WHERE s.metric_key IS NULL",
                same_series("s", "r")
            ),
        ),
    ]
}

type MetricRow = (String, String, String, String);

/// The values as text, which every engine can write them as.
const VALUES: &str = "SELECT r.commit_sha, m.metric_key, m.dim_key, CAST(m.value AS CHAR) \
                      FROM metrics m JOIN runs r ON r.run_id = m.run_id";

async fn check_rows(url: &str, ledger: &Ledger) {
    let mut tables = Tables::open(url).await;
    for (what, sql) in forbidden() {
        assert_eq!(tables.count(&sql).await, 0, "{what}");
    }
    let runs = tables.count("SELECT COUNT(*) FROM runs").await;
    assert_eq!(
        usize::try_from(runs).ok(),
        Some(ledger.len()),
        "runs in the table, and acknowledged"
    );
    let sent: BTreeSet<_> = ledger
        .keys()
        .flat_map(|planned| sent_values(*planned))
        .collect();
    let found: BTreeSet<_> = tables.values().await.into_iter().map(plain).collect();
    assert!(
        sent == found,
        "{:?}",
        sent.symmetric_difference(&found)
            .take(5)
            .collect::<Vec<_>>()
    );
    tables.check_file().await;
}

fn sent_values(planned: Planned) -> Vec<MetricRow> {
    let body = planned.body();
    let metrics = body["metrics"].as_array().expect("a run has metrics");
    let text = |json: &Json| json.as_str().expect("is text").to_owned();
    let rows = metrics.iter().map(|metric| {
        let (key, dim) = (text(&metric["metric_key"]), text(&metric["dim_key"]));
        plain((planned.commit_sha(), key, dim, metric["value"].to_string()))
    });
    rows.collect()
}

/// With the number in its shortest form.
fn plain((commit_sha, key, dim, value): MetricRow) -> MetricRow {
    let value: rust_decimal::Decimal = value.parse().expect("is a decimal");
    (commit_sha, key, dim, value.normalize().to_string())
}

/// The database, past the service.
enum Tables {
    Sqlite(SqliteConnection),
    Server(MySqlConnection),
}

impl Tables {
    async fn open(url: &str) -> Self {
        if url.starts_with("sqlite:") {
            return Self::Sqlite(
                SqliteConnection::connect(url)
                    .await
                    .expect("a file that is there opens"),
            );
        }
        Self::Server(
            MySqlConnection::connect(url)
                .await
                .expect("a server that runs takes connections"),
        )
    }

    async fn count(&mut self, sql: &str) -> i64 {
        let query = AssertSqlSafe(sql);
        let count = match self {
            Self::Sqlite(connection) => sqlx::query_scalar(query).fetch_one(connection).await,
            Self::Server(connection) => sqlx::query_scalar(query).fetch_one(connection).await,
        };
        count.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    async fn values(&mut self) -> Vec<MetricRow> {
        let rows = match self {
            Self::Sqlite(connection) => {
                sqlx::query_as(VALUES).fetch(connection).try_collect().await
            }
            Self::Server(connection) => {
                sqlx::query_as(VALUES).fetch(connection).try_collect().await
            }
        };
        rows.expect("the metrics can be read")
    }

    async fn check_file(&mut self) {
        if let Self::Sqlite(connection) = self {
            let verdict: String = sqlx::query_scalar("PRAGMA integrity_check")
                .fetch_one(connection)
                .await
                .expect("a file can be checked");
            assert_eq!(verdict, "ok");
        }
    }
}
