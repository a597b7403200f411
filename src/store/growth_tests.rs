//! Reads of a long series: what they find over all their pages, and how SQLite goes about them.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use sea_query::{SelectStatement, SqliteQueryBuilder};
use sqlx::FromRow;

use super::{
    HistoryQuery, MAX_POINTS, MetricSelection, RunOrder, RunQuery, SeriesFilter, SeriesQuery,
    Store, StoreError, StoreOptions, TagFilter,
};
use crate::domain::{DateBound, Series, Tag};

/// More than twice as many as one request examines.
const RUNS: usize = 25_000;

/// The statements that were sent since a test began to listen.
static HEARD: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Notes a statement, if a test listens.
pub(super) fn note(statement: &SelectStatement) {
    if let Some(heard) = HEARD.lock().unwrap().as_mut() {
        heard.push(statement.to_string(SqliteQueryBuilder));
    }
}

fn series() -> Series {
    Series {
        workload: "perf".parse().unwrap(),
        branch: "main".parse().unwrap(),
        arch: "amd64".parse().unwrap(),
        distro: "trixie".parse().unwrap(),
    }
}

/// One series: every hundredth run is a reference run, the twentieth and every thousandth after it is of
/// pipeline `check`, the oldest ten have metrics that are measured no longer, and run 7 has a metric with
/// three hundred dimensions.
fn rows() -> Vec<String> {
    let numbers = |count: usize| {
        format!("WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count})")
    };
    vec![
        format!(
            "{} INSERT INTO runs (run_id, workload, repo, branch, commit_sha, pipeline, distro, arch, host_class, tag, run_date, succeeded) \
             SELECT n, 'perf', CASE n WHEN 3 THEN 'rare' ELSE 'drizzle' END, 'main', printf('%040x', n), \
             CASE n % 1000 WHEN 20 THEN 'check' ELSE 'promote' END, 'trixie', 'amd64', \
             CASE n WHEN 5 THEN 'metal' ELSE 'callgrind' END, CASE n % 100 WHEN 50 THEN 'tag' || (n % 400) ELSE '' END, \
             datetime(1577836800 + n * 60, 'unixepoch'), n % 50 <> 9 FROM n",
            numbers(RUNS)
        ),
        "INSERT INTO metrics SELECT run_id, 'ir', '', run_id || '', FALSE FROM runs".to_owned(),
        format!(
            "{} INSERT INTO metrics SELECT r.n, 'old' || m.n, '', r.n || '', FALSE FROM n AS r CROSS JOIN n AS m WHERE r.n <= 10",
            numbers(30)
        ),
        format!(
            "{} INSERT INTO metrics SELECT 7, 'dims', 'd' || n, n || '', FALSE FROM n",
            numbers(300)
        ),
        "INSERT INTO series_repos SELECT workload, branch, arch, distro, repo, COUNT(*) FROM runs GROUP BY 1, 2, 3, 4, 5".to_owned(),
        "INSERT INTO series_metrics (workload, branch, arch, distro, metric_key, dim_key, run_id, run_date, value, wallclock, first_run_date, last_run_date) \
         SELECT 'perf', 'main', 'amd64', 'trixie', metric_key, dim_key, MAX(run_id), MAX(run_date), '1', FALSE, MIN(run_date), MAX(run_date) \
         FROM metrics JOIN runs USING (run_id) GROUP BY metric_key, dim_key".to_owned(),
        "INSERT INTO reference_runs SELECT run_id, workload, branch, arch, distro, tag, run_date FROM runs WHERE tag <> ''".to_owned(),
    ]
}

async fn open(folder: &tempfile::TempDir, timeout: Duration) -> Store {
    let url = format!("sqlite://{}/a.db", folder.path().display());
    let options = StoreOptions {
        connections: 4,
        timeout,
    };
    Store::open(&url.parse().unwrap(), &options).unwrap()
}

async fn filled(folder: &tempfile::TempDir) -> Store {
    let store = open(folder, Duration::from_secs(120)).await;
    store.migrate().await.unwrap();
    let mut session = store.db.write().await.unwrap();
    session.begin_write().await.unwrap();
    for sql in rows() {
        session.raw(&sql).await.unwrap();
    }
    session.commit().await.unwrap();
    session.finish();
    store
}

fn history(keys: &[&str]) -> HistoryQuery {
    HistoryQuery {
        series: series(),
        metrics: MetricSelection {
            keys: keys.iter().map(|key| key.parse().unwrap()).collect(),
            dims: Vec::new(),
        },
        limit: 20,
        max_points: MAX_POINTS,
        since: None,
        before: None,
        repo: None,
        host_class: None,
        tag: TagFilter::Is(Tag::live()),
        pipeline: Some("promote".parse().unwrap()),
        include_failed: false,
        include_voided: false,
        after: None,
    }
}

fn runs() -> RunQuery {
    RunQuery::newest(20)
}

/// The points of all pages, as (metric, run), and how many pages there were.
async fn all_points(store: &Store, mut query: HistoryQuery) -> (Vec<(String, i64)>, usize) {
    let mut points = Vec::new();
    for pages in 1..2_000 {
        let page = store.history(&query).await.unwrap();
        for metric in page.metrics {
            let name = format!("{}{}", metric.name.metric_key, metric.name.dim_key);
            let of_metric = metric.points.into_iter();
            points.extend(of_metric.map(|point| (name.clone(), point.run.run_id)));
        }
        let Some(next) = page.next else {
            return (points, pages);
        };
        assert!(
            next.older.len() <= 50,
            "a cursor with {} places",
            next.older.len()
        );
        query.after = Some(next);
    }
    panic!("no end of pages");
}

async fn all_runs(store: &Store, mut query: RunQuery) -> (Vec<i64>, usize) {
    let mut found = Vec::new();
    for pages in 1..2_000 {
        let page = store.runs(&query).await.unwrap();
        found.extend(page.runs.iter().map(|run| run.run_id));
        let Some(next) = page.next else {
            return (found, pages);
        };
        query.after = Some(next);
    }
    panic!("no end of pages");
}

#[tokio::test]
async fn pages_lead_to_what_lies_behind_more_runs_than_a_request_examines() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(&folder).await;

    // A repository that no index finds within a series: its one run is the third oldest.
    let rare = HistoryQuery {
        repo: Some("rare".parse().unwrap()),
        ..history(&[])
    };
    let (points, pages) = all_points(&store, rare).await;
    assert!(
        points.contains(&("ir".to_owned(), 3)) && (3..6).contains(&pages),
        "{pages}: {points:?}"
    );
    let rare = HistoryQuery {
        repo: Some("rare".parse().unwrap()),
        ..history(&["ir", "old1"])
    };
    let (points, _) = all_points(&store, rare).await;
    assert_eq!(points, [("ir".to_owned(), 3), ("old1".to_owned(), 3)]);

    // Metrics that are measured no longer are on the first page, thirty of them together.
    let keys: Vec<String> = (1..=30).map(|number| format!("old{number}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let (points, pages) = all_points(&store, history(&keys)).await;
    assert_eq!((points.len(), pages), (30 * 9, 1), "run 9 failed");

    // Every dimension of a key comes once, fifty of them a page.
    let (points, pages) = all_points(&store, history(&["dims"])).await;
    let names: BTreeSet<&String> = points.iter().map(|(name, _)| name).collect();
    assert_eq!((points.len(), names.len(), pages), (300, 300, 6));

    // A list by a filter that has no index.
    let metal = RunQuery {
        host_class: Some("metal".parse().unwrap()),
        ..runs()
    };
    let (found, pages) = all_runs(&store, metal).await;
    assert!(found == [5] && pages == 3, "{pages}: {found:?}");

    // The reference runs, and one tag of them.
    let reference = HistoryQuery {
        tag: TagFilter::Reference,
        pipeline: None,
        ..history(&["ir"])
    };
    let (points, _) = all_points(&store, reference.clone()).await;
    assert_eq!(points.len(), RUNS / 100);
    let tagged = HistoryQuery {
        tag: TagFilter::Is("tag250".parse().unwrap()),
        ..reference
    };
    let (points, _) = all_points(&store, tagged).await;
    assert!(
        points.len() == 62 && points.iter().all(|(_, run)| run % 400 == 250),
        "{points:?}"
    );
}

#[tokio::test]
async fn a_list_of_series_has_every_metric_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(&folder).await;
    let mut session = store.db.write().await.unwrap();
    let fresh = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 25000) \
        INSERT INTO series_metrics (workload, branch, arch, distro, metric_key, dim_key) \
        SELECT 'perf', 'main', 'amd64', 'trixie', 'fresh' || n % 100, 'd' || n FROM n";
    session.raw(fresh).await.unwrap();
    session.finish();
    let mut query = SeriesQuery {
        filter: SeriesFilter::default(),
        after: None,
        limit: 10,
    };
    let mut names = BTreeSet::new();
    let mut sizes = Vec::new();
    while sizes.len() < 10 {
        let page = store.series(&query).await.unwrap();
        let metrics = page.series.into_iter().flat_map(|series| series.metrics);
        let before = names.len();
        let mut count = 0;
        for metric in metrics {
            names.insert(metric.name);
            count += 1;
        }
        assert_eq!(names.len(), before + count, "a metric comes twice");
        sizes.push(count);
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    assert_eq!(sizes, [10_000, 10_000, 5_331]);
}

#[derive(FromRow)]
struct Plan {
    detail: String,
}

async fn plan(store: &Store, sql: &str) -> Vec<String> {
    let super::db::Db::Sqlite { read, .. } = &store.db else {
        panic!("this is SQLite");
    };
    let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
    let rows: Vec<Plan> = sqlx::query_as(explain).fetch_all(read).await.unwrap();
    rows.into_iter().map(|row| row.detail).collect()
}

/// What is wrong with a plan: a table that is read from end to end, or a sort outside of a bounded piece.
fn fault(sql: &str, steps: &[String]) -> Option<String> {
    let bounded = sql.starts_with("SELECT ") && sql.contains(r#"AS "lane""#);
    for step in steps {
        let scans = step.starts_with("SCAN ")
            && !["SCAN lane", "SCAN some"].contains(&step.as_str())
            // In order along an index, up to the statement's limit.
            && !step.contains(" USING ");
        let in_order_of_ids =
            step == "SCAN runs" && sql.contains(r#"ORDER BY "runs"."run_id" ASC"#);
        // A table without a rowid is its own index.
        let in_order_of_key = step == "SCAN series_repos" && sql.contains(" LIMIT ");
        let sorts = step.starts_with("USE TEMP B-TREE FOR ORDER BY") && !bounded;
        if (scans && !in_order_of_ids && !in_order_of_key) || sorts {
            return Some(step.clone());
        }
    }
    None
}

#[tokio::test]
async fn no_statement_of_a_read_scans_a_table_or_sorts_what_grows() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(&folder).await;
    let date: DateBound = "2020-01-03T00:00:00Z".parse().unwrap();
    let mut histories = vec![
        history(&[]),
        history(&["ir"]),
        history(&["ir", "old1", "dims"]),
    ];
    for query in histories.clone() {
        histories.extend([
            HistoryQuery {
                tag: TagFilter::Any,
                ..query.clone()
            },
            HistoryQuery {
                tag: TagFilter::Reference,
                pipeline: None,
                ..query.clone()
            },
            HistoryQuery {
                tag: TagFilter::Is("tag250".parse().unwrap()),
                pipeline: None,
                ..query.clone()
            },
            HistoryQuery {
                pipeline: None,
                ..query.clone()
            },
            HistoryQuery {
                pipeline: Some("check".parse().unwrap()),
                ..query.clone()
            },
            HistoryQuery {
                repo: Some("rare".parse().unwrap()),
                ..query.clone()
            },
            HistoryQuery {
                host_class: Some("metal".parse().unwrap()),
                ..query.clone()
            },
            HistoryQuery {
                include_failed: true,
                ..query.clone()
            },
            HistoryQuery {
                since: Some(date),
                ..query.clone()
            },
            HistoryQuery {
                before: Some(date),
                ..query
            },
        ]);
    }
    let series = series();
    let mut lists = vec![
        runs(),
        RunQuery {
            commit_sha: Some(format!("{:040x}", 7).parse().unwrap()),
            ..runs()
        },
        RunQuery {
            workload: Some(series.workload.clone()),
            ..runs()
        },
        RunQuery {
            branch: Some(series.branch.clone()),
            ..runs()
        },
        RunQuery {
            arch: Some(series.arch.clone()),
            ..runs()
        },
        RunQuery {
            distro: Some(series.distro.clone()),
            ..runs()
        },
        RunQuery {
            tag: TagFilter::Is("tag250".parse().unwrap()),
            ..runs()
        },
        RunQuery {
            tag: TagFilter::Is(Tag::live()),
            ..runs()
        },
        RunQuery {
            repo: Some("rare".parse().unwrap()),
            ..runs()
        },
        RunQuery {
            pipeline: Some("check".parse().unwrap()),
            ..runs()
        },
        RunQuery {
            host_class: Some("metal".parse().unwrap()),
            ..runs()
        },
        RunQuery {
            since: Some(date),
            ..runs()
        },
        RunQuery {
            before: Some(date),
            ..runs()
        },
        RunQuery {
            succeeded: Some(false),
            ..runs()
        },
    ];
    for query in lists.clone() {
        lists.push(RunQuery {
            order: RunOrder::Stored,
            ..query.clone()
        });
        lists.push(RunQuery {
            repo: Some("rare".parse().unwrap()),
            pipeline: Some("check".parse().unwrap()),
            ..query
        });
    }
    *HEARD.lock().unwrap() = Some(Vec::new());
    for query in &mut histories {
        for _ in 0..2 {
            query.after = store.history(query).await.unwrap().next;
        }
    }
    for query in &mut lists {
        for _ in 0..2 {
            query.after = store.runs(query).await.unwrap().next;
        }
        store.whole_runs(query).await.unwrap();
    }
    store.run(7).await.unwrap();
    for filter in [
        SeriesFilter::default(),
        SeriesFilter {
            workload: Some(series.workload.clone()),
            ..SeriesFilter::default()
        },
        SeriesFilter {
            branch: Some(series.branch.clone()),
            ..SeriesFilter::default()
        },
        SeriesFilter {
            repo: Some("rare".parse().unwrap()),
            ..SeriesFilter::default()
        },
    ] {
        let query = SeriesQuery {
            filter,
            after: None,
            limit: 1,
        };
        store.series(&query).await.unwrap();
    }
    let heard: BTreeSet<String> = HEARD.lock().unwrap().take().unwrap().into_iter().collect();
    assert!(heard.len() > 100, "{} statements", heard.len());
    let mut faults = Vec::new();
    for sql in heard {
        // Other tests of this program may have been heard; the statements of a start are their own.
        if sql.contains("perf_tracking_migrations") {
            continue;
        }
        let steps = plan(&store, &sql).await;
        faults.extend(fault(&sql, &steps).map(|step| format!("{step}\n  {sql}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_stopped_and_told_apart_from_a_database_that_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, Duration::from_secs(1)).await;
    let endless = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n > 0) \
        SELECT COUNT(*) FROM n";
    let started = std::time::Instant::now();
    let mut session = store.db.read().await.unwrap();
    let answer = session.raw_number(endless).await;
    assert!(matches!(answer, Err(StoreError::TooSlow(_))), "{answer:?}");
    assert!(started.elapsed() < Duration::from_secs(20));
    // The connection goes on to serve others.
    session.finish();
    let mut session = store.db.read().await.unwrap();
    assert_eq!(session.raw_number("SELECT 1").await.unwrap(), Some(1));
    session.finish();
}
