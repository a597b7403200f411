//! One series with as many runs as a test asks for, and every kind of read of it.
//!
//! No read may cost more because the series has grown. The table of reads in `benches/load` and the test of the
//! statements' plans in `tests/backends` stand on the same rows and the same reads.

use std::ops::Range;

/// How an engine writes what the engines write differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Server,
}

/// Runs of one statement.
const CHUNK: u32 = 50_000;
/// Metrics of the oldest ten runs that are measured no longer.
const RETIRED: u32 = 30;
/// Dimensions of one metric of run 7.
const DIMS: u32 = 10_000;

const SERIES: &str = "'perf', 'main', 'amd64', 'trixie'";
const SERIES_COLUMNS: &str = "workload, branch, arch, distro";

/// The statements that fill empty tables with a series of `runs` runs, each with a value of all `metrics`.
///
/// Every hundredth run is a reference run. Run 20 and every thousandth after it is of the pipeline `check`, every
/// fiftieth failed. Run 3 alone is of the repository `rare`, run 5 alone was measured on `metal`. The oldest ten runs
/// have thirty metrics that are measured no longer, and run 7 has a metric with ten thousand dimensions.
pub(crate) fn statements(dialect: Dialect, runs: u32, metrics: &[&str]) -> Vec<String> {
    let mut statements =
        vec!["CREATE TABLE bench_digits (n INTEGER NOT NULL PRIMARY KEY)".to_owned()];
    statements.push(
        "INSERT INTO bench_digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)"
            .to_owned(),
    );
    for first in (0..runs).step_by(CHUNK as usize) {
        let chunk = first + 1..first.saturating_add(CHUNK).min(runs) + 1;
        statements.push(run_rows(dialect, &chunk));
        statements.push(detail_rows(&chunk));
        statements.extend(metrics.iter().map(|key| metric_rows(key, &chunk)));
    }
    statements.push(format!(
        "INSERT INTO metrics (run_id, metric_key, dim_key, value, wallclock) \
         SELECT 1 + r.n, CONCAT('retired', 1 + m.n), '', CAST(r.n AS CHAR), FALSE FROM {} AS r CROSS JOIN {} AS m",
        numbers(0..10),
        numbers(0..RETIRED)
    ));
    statements.push(format!(
        "INSERT INTO metrics (run_id, metric_key, dim_key, value, wallclock) \
         SELECT 7, 'dims', CONCAT('d', n), CAST(n AS CHAR), FALSE FROM {} AS numbers",
        numbers(0..DIMS)
    ));
    statements.extend(catalog_rows(metrics));
    statements.push("DROP TABLE bench_digits".to_owned());
    statements
}

/// A table of the numbers of `range` in the column `n`.
fn numbers(range: Range<u32>) -> String {
    let digits = range.end.to_string().len();
    let names: Vec<String> = (0..digits).map(|digit| format!("d{digit}")).collect();
    let terms: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(power, name)| format!("{name}.n * {}", 10_u32.pow(power as u32)))
        .collect();
    let tables: Vec<String> = names
        .iter()
        .map(|name| format!("bench_digits AS {name}"))
        .collect();
    let sum = terms.join(" + ");
    format!(
        "(SELECT {sum} AS n FROM {} WHERE {sum} >= {} AND {sum} < {})",
        tables.join(" CROSS JOIN "),
        range.start,
        range.end
    )
}

fn run_rows(dialect: Dialect, ids: &Range<u32>) -> String {
    let (commit, date) = match dialect {
        Dialect::Sqlite => (
            "printf('%040x', n)",
            "datetime(1577836800 + n * 60, 'unixepoch')",
        ),
        Dialect::Server => (
            "LPAD(LOWER(HEX(n)), 40, '0')",
            "TIMESTAMP '2020-01-01 00:00:00' + INTERVAL n MINUTE",
        ),
    };
    format!(
        "INSERT INTO runs (run_id, {SERIES_COLUMNS}, repo, commit_sha, pipeline, host_class, tag, run_date, succeeded) \
         SELECT n, {SERIES}, CASE n WHEN 3 THEN 'rare' ELSE 'drizzle' END, {commit}, \
         CASE n % 1000 WHEN 20 THEN 'check' ELSE 'promote' END, CASE n WHEN 5 THEN 'metal' ELSE 'callgrind' END, \
         CASE n % 100 WHEN 50 THEN CONCAT('tag', n % 400) ELSE '' END, {date}, n % 50 <> 9 FROM {} AS numbers",
        numbers(ids.clone())
    )
}

fn detail_rows(ids: &Range<u32>) -> String {
    format!(
        "INSERT INTO run_details (run_id, subject, uploaded_by, token_id, uploaded_at) \
         SELECT run_id, CONCAT('Make ', run_id, ' of it'), 'ci', 'token', run_date FROM runs \
         WHERE run_id >= {} AND run_id < {}",
        ids.start, ids.end
    )
}

fn metric_rows(key: &str, ids: &Range<u32>) -> String {
    format!(
        "INSERT INTO metrics (run_id, metric_key, dim_key, value, wallclock) \
         SELECT run_id, '{key}', '', CAST(1000000 + run_id % 1000 AS CHAR), FALSE FROM runs \
         WHERE run_id >= {} AND run_id < {}",
        ids.start, ids.end
    )
}

/// What uploads would have left beside the runs and their metrics.
fn catalog_rows(metrics: &[&str]) -> Vec<String> {
    let columns = format!(
        "INSERT INTO series_metrics ({SERIES_COLUMNS}, metric_key, dim_key, run_id, run_date, value, wallclock, first_run_date, last_run_date)"
    );
    let mut statements = vec![
        format!(
            "INSERT INTO series_repos ({SERIES_COLUMNS}, repo, run_count) \
             SELECT {SERIES}, repo, COUNT(*) FROM runs GROUP BY repo"
        ),
        format!(
            "INSERT INTO reference_runs (run_id, {SERIES_COLUMNS}, tag, run_date) \
             SELECT run_id, {SERIES_COLUMNS}, tag, run_date FROM runs WHERE tag <> ''"
        ),
        format!(
            "{columns} SELECT {SERIES}, metric_key, dim_key, MAX(run_id), MAX(run_date), '1', FALSE, MIN(run_date), MAX(run_date) \
             FROM metrics JOIN runs USING (run_id) WHERE run_id <= 10 AND (metric_key = 'dims' OR metric_key LIKE 'retired%') \
             GROUP BY metric_key, dim_key"
        ),
    ];
    statements.extend(metrics.iter().map(|key| {
        format!(
            "{columns} SELECT {SERIES}, '{key}', '', run_id, run_date, value, wallclock, \
             (SELECT MIN(run_date) FROM runs), (SELECT MAX(run_date) FROM runs) FROM runs JOIN metrics USING (run_id) \
             WHERE metric_key = '{key}' AND run_id = (SELECT MAX(run_id) FROM runs WHERE succeeded)"
        )
    }));
    statements
}

/// A read, and what makes it worth measuring.
pub(crate) struct Read {
    pub(crate) what: &'static str,
    pub(crate) path: String,
}

/// Every kind of read with every kind of filter. `metric` is one that all runs have.
pub(crate) fn reads(metric: &str) -> Vec<Read> {
    let series = "workload=perf&branch=main&arch=amd64&distro=trixie";
    let window =
        |filter: &str| format!("/v1/history?{series}&metric_key={metric}&limit=20{filter}");
    let retired: String = (1..=RETIRED)
        .map(|number| format!("&metric_key=retired{number}"))
        .collect();
    let runs = |filter: &str| format!("/v1/runs?limit=20{filter}");
    let list = |filter: &str| format!("/v1/series?limit=20{filter}");
    let read = |what, path| Read { what, path };
    vec![
        read(
            "baseline",
            format!("/v1/baseline?{series}&metric_key={metric}"),
        ),
        read(
            "baseline, a tag",
            format!("/v1/baseline?{series}&metric_key={metric}&tag=tag250"),
        ),
        read(
            "baseline, every metric",
            format!("/v1/baseline?{series}&limit=1"),
        ),
        read("history", window("")),
        read("history, a dimension", window("&dim_key=")),
        read(
            "history, every metric",
            format!("/v1/history?{series}&limit=20"),
        ),
        read(
            "history, a retired metric",
            format!("/v1/history?{series}&metric_key=retired1&limit=20"),
        ),
        read(
            "history, 30 retired metrics",
            format!("/v1/history?{series}{retired}&limit=20"),
        ),
        read(
            "history, a metric nobody has",
            format!("/v1/history?{series}&metric_key=nothing&limit=20"),
        ),
        read(
            "history, 10,000 dimensions",
            format!("/v1/history?{series}&metric_key=dims&limit=1"),
        ),
        read("history, since", window("&since=2020-01-03T00:00:00Z")),
        read("history, before", window("&before=2020-01-03T00:00:00Z")),
        read("history, a rare repository", window("&repo=rare")),
        read("history, an absent repository", window("&repo=nobody")),
        read(
            "history, a rare class of hosts",
            window("&host_class=metal"),
        ),
        read("history, a rare pipeline", window("&pipeline=check")),
        read("history, an absent pipeline", window("&pipeline=nobody")),
        read("history, a tag", window("&tag=tag250&pipeline=promote")),
        read("history, all tags", window("&tag=*")),
        read("history, failed ones too", window("&include_failed=true")),
        read("history, voided ones too", window("&include_voided=true")),
        read("runs", runs("")),
        read("runs, in order of storing", runs("&order=stored")),
        read(
            "runs, a commit",
            runs("&commit_sha=0000000000000000000000000000000000000007"),
        ),
        read("runs, a workload", runs("&workload=perf")),
        read("runs, an absent workload", runs("&workload=nobody")),
        read("runs, a branch", runs("&branch=main")),
        read("runs, an absent branch", runs("&branch=nobody")),
        read("runs, an architecture", runs("&arch=amd64")),
        read("runs, an absent architecture", runs("&arch=riscv")),
        read("runs, a distribution", runs("&distro=trixie")),
        read("runs, an absent distribution", runs("&distro=nobody")),
        read("runs, a repository", runs("&repo=drizzle")),
        read("runs, a rare repository", runs("&repo=rare")),
        read("runs, an absent repository", runs("&repo=nobody")),
        read("runs, a pipeline", runs("&pipeline=promote")),
        read("runs, a rare pipeline", runs("&pipeline=check")),
        read("runs, an absent pipeline", runs("&pipeline=nobody")),
        read("runs, a tag", runs("&tag=tag250")),
        read("runs, live ones", runs("&tag=")),
        read("runs, an absent tag", runs("&tag=nobody")),
        read("runs, a rare class of hosts", runs("&host_class=metal")),
        read("runs, since", runs("&since=2020-01-03T00:00:00Z")),
        read("runs, before", runs("&before=2020-01-03T00:00:00Z")),
        read("runs, failed ones", runs("&succeeded=false")),
        read("runs, of an absent uploader", runs("&uploaded_by=nobody")),
        read("runs, two rare filters", runs("&repo=rare&pipeline=check")),
        read("runs, with their metrics", runs("&metrics=true")),
        read("one run", "/v1/runs/1000".to_owned()),
        read("series", list("")),
        read("series, a workload", list("&workload=perf")),
        read("series, a branch", list("&branch=main")),
        read("series, an absent repository", list("&repo=nobody")),
    ]
}
