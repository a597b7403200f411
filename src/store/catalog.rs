//! The catalogue: which series there are, which metrics each has, and the newest value of each metric.
//!
//! It is kept beside the runs, in the transaction that writes them. Reads find in it what they would
//! otherwise search the runs for.

use std::collections::BTreeMap;

use chrono::NaiveDateTime;
use rust_decimal::Decimal;
use sea_query::{
    Cond, Condition, DeleteStatement, Expr, ExprTrait, InsertStatement, OnConflict, Order, Query,
    SelectStatement, UpdateStatement,
};
use sqlx::FromRow;

use super::db::{Session, ValueColumn};
use super::details;
use super::heads::{Filter, NameRow, RowPlace, SeriesRow, VoidedRuns, newest_first};
use super::record::ROWS_A_STATEMENT;
use super::schema::{Metrics, ReferenceRuns, Runs, SeriesMetrics, SeriesRepos};
use super::{RunId, StoreError};
use crate::domain::{DimKey, Metric, MetricKey, MetricName, Repo, Run, RunDate, Series, Value};

/// What a transaction will have changed in the catalogue once it is committed.
///
/// It is written at the end, in the order of the names: the rows are shared by all uploads of a
/// series, and two transactions that take them in the same order cannot deadlock.
#[derive(Default)]
pub(super) struct CatalogChanges {
    run_counts: BTreeMap<(Series, Repo), i64>,
    metrics: BTreeMap<Series, BTreeMap<MetricName, MetricChange>>,
    seen: Option<(Series, Repo)>,
}

/// What the runs of a transaction say of one metric.
struct MetricChange {
    first: RunDate,
    last: RunDate,
    newest: Option<NewestValue>,
}

/// The newest value of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewestValue {
    /// The run.
    pub run_id: RunId,
    /// The run's date.
    pub run_date: RunDate,
    /// The value.
    pub value: Value,
    /// Whether it was read off a real clock.
    pub wallclock: bool,
}

impl CatalogChanges {
    /// Counts one run more, or one less, of a series in a repository.
    pub(super) fn count(&mut self, series: &Series, repo: &Repo, runs: i64) {
        *self
            .run_counts
            .entry((series.clone(), repo.clone()))
            .or_default() += runs;
    }

    /// Notes that a run was found to be stored already.
    pub(super) fn saw(&mut self, run: &Run) {
        self.seen = Some((run.series.clone(), run.repo.clone()));
    }

    /// Enters the metrics of `run`, which was stored under `run_id`.
    pub(super) fn add_metrics(&mut self, run_id: RunId, run: &Run) {
        let known = self.metrics.entry(run.series.clone()).or_default();
        for metric in &run.metrics {
            let found = MetricChange::of(run_id, run, metric);
            match known.get_mut(&metric.name) {
                Some(change) => change.merge(&found),
                None => {
                    known.insert(metric.name.clone(), found);
                }
            }
        }
    }

    /// Writes the changes: last, for their rows are the ones that uploads of one series share.
    pub(super) async fn write(&self, session: &mut Session) -> Result<(), StoreError> {
        for (series, metrics) in &self.metrics {
            let rows: Vec<_> = metrics.iter().collect();
            for rows in rows.chunks(ROWS_A_STATEMENT) {
                let statement = upsert_metrics(session, series, rows);
                session.execute(&statement).await?;
            }
        }
        let changed = || self.run_counts.iter().filter(|(_, runs)| **runs != 0);
        for ((series, repo), runs) in changed() {
            session.execute(&add_runs(series, repo, *runs)).await?;
        }
        let wrote = changed().next().is_some();
        match &self.seen {
            Some((series, repo)) if !wrote && session.shows_what_is_not_on_disk() => {
                settle(session, series, repo).await
            }
            _ => Ok(()),
        }
    }
}

impl MetricChange {
    fn of(run_id: RunId, run: &Run, metric: &Metric) -> Self {
        let newest = run.succeeded.then_some(NewestValue {
            run_id,
            run_date: run.run_date,
            value: metric.value,
            wallclock: metric.wallclock,
        });
        Self {
            first: run.run_date,
            last: run.run_date,
            newest,
        }
    }

    fn merge(&mut self, other: &Self) {
        let place = |newest: &NewestValue| (newest.run_date, newest.run_id);
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        if other.newest.as_ref().map(place) > self.newest.as_ref().map(place) {
            self.newest = other.newest;
        }
    }
}

/// Writes, and takes it back, so that the commit waits for the disk.
///
/// A server shows a commit to others before it is on disk. Whoever found a run there and wrote
/// nothing would answer for a run that a crash of the server may yet take. A log is written in
/// order, so waiting for a later write is waiting for that run.
async fn settle(session: &mut Session, series: &Series, repo: &Repo) -> Result<(), StoreError> {
    session.execute(&add_runs(series, repo, 1)).await?;
    session.execute(&add_runs(series, repo, -1)).await?;
    Ok(())
}

const NAME: [SeriesMetrics; 6] = [
    SeriesMetrics::Workload,
    SeriesMetrics::Branch,
    SeriesMetrics::Arch,
    SeriesMetrics::Distro,
    SeriesMetrics::MetricKey,
    SeriesMetrics::DimKey,
];

/// What is taken from a newer run. The date comes last: MySQL sets one column after the other, and
/// the date is what tells which run is newer.
const NEWEST: [SeriesMetrics; 4] = [
    SeriesMetrics::Value,
    SeriesMetrics::Wallclock,
    SeriesMetrics::RunId,
    SeriesMetrics::RunDate,
];

fn upsert_metrics(
    session: &Session,
    series: &Series,
    rows: &[(&MetricName, &MetricChange)],
) -> InsertStatement {
    let mut insert = Query::insert();
    insert
        .into_table(SeriesMetrics::Table)
        .columns(
            NAME.into_iter()
                .chain(NEWEST)
                .chain([SeriesMetrics::FirstRunDate, SeriesMetrics::LastRunDate]),
        )
        .on_conflict(keep_the_newest(session));
    for (name, change) in rows {
        let newest = change.newest.as_ref();
        let value: Option<Decimal> = newest.map(|newest| newest.value.decimal());
        let date: Option<NaiveDateTime> = newest.map(|newest| newest.run_date.naive());
        insert.values_panic([
            series.workload.as_str().into(),
            series.branch.as_str().into(),
            series.arch.as_str().into(),
            series.distro.as_str().into(),
            name.metric_key.as_str().into(),
            name.dim_key.as_str().into(),
            value.into(),
            newest.map(|newest| newest.wallclock).into(),
            newest.map(|newest| newest.run_id).into(),
            date.into(),
            change.first.naive().into(),
            change.last.naive().into(),
        ]);
    }
    insert
}

/// A row that is there takes over what the new one has of a newer run, and widens its dates.
fn keep_the_newest(session: &Session) -> OnConflict {
    let own = |column: SeriesMetrics| Expr::col((SeriesMetrics::Table, column));
    let incoming = |column: SeriesMetrics| session.incoming(column);
    let pick = |column: SeriesMetrics, when: Expr| {
        let pick = Expr::case(when, incoming(column)).finally(own(column));
        let pick: Expr = pick.into();
        (column, pick)
    };
    let unknown = |column: SeriesMetrics| own(column).is_null();
    // A failed run has no newest value, and then these compare with NULL, which is not true.
    let newer = || {
        let date = SeriesMetrics::RunDate;
        let later_id = incoming(SeriesMetrics::RunId).gt(own(SeriesMetrics::RunId));
        unknown(date)
            .or(incoming(date).gt(own(date)))
            .or(incoming(date).eq(own(date)).and(later_id))
    };
    let beyond = |column: SeriesMetrics, wider: Expr| pick(column, unknown(column).or(wider));
    let (first, last) = (SeriesMetrics::FirstRunDate, SeriesMetrics::LastRunDate);
    let mut on_conflict = OnConflict::columns(NAME);
    on_conflict
        .values(NEWEST.map(|column| pick(column, newer())))
        .values([
            beyond(first, incoming(first).lt(own(first))),
            beyond(last, incoming(last).gt(own(last))),
        ]);
    on_conflict
}

fn add_runs(series: &Series, repo: &Repo, runs: i64) -> InsertStatement {
    let key = [
        SeriesRepos::Workload,
        SeriesRepos::Branch,
        SeriesRepos::Arch,
        SeriesRepos::Distro,
        SeriesRepos::Repo,
    ];
    let sum = Expr::col((SeriesRepos::Table, SeriesRepos::RunCount)).add(runs);
    Query::insert()
        .into_table(SeriesRepos::Table)
        .columns(key.into_iter().chain([SeriesRepos::RunCount]))
        .values_panic([
            series.workload.as_str().into(),
            series.branch.as_str().into(),
            series.arch.as_str().into(),
            series.distro.as_str().into(),
            repo.as_str().into(),
            runs.into(),
        ])
        .on_conflict(
            OnConflict::columns(key)
                .value(SeriesRepos::RunCount, sum)
                .to_owned(),
        )
        .to_owned()
}

/// Enters a reference run, or moves it to the date that it has now. A live run has no row there.
pub(super) async fn enter_reference(
    session: &mut Session,
    run_id: RunId,
    run: &Run,
) -> Result<(), StoreError> {
    if run.tag.as_str().is_empty() {
        return Ok(());
    }
    session.execute(&upsert_reference(run_id, run)).await?;
    Ok(())
}

fn upsert_reference(run_id: RunId, run: &Run) -> InsertStatement {
    let date = run.run_date.naive();
    Query::insert()
        .into_table(ReferenceRuns::Table)
        .columns([
            ReferenceRuns::RunId,
            ReferenceRuns::Workload,
            ReferenceRuns::Branch,
            ReferenceRuns::Arch,
            ReferenceRuns::Distro,
            ReferenceRuns::Tag,
            ReferenceRuns::RunDate,
        ])
        .values_panic([
            run_id.into(),
            run.series.workload.as_str().into(),
            run.series.branch.as_str().into(),
            run.series.arch.as_str().into(),
            run.series.distro.as_str().into(),
            run.tag.as_str().into(),
            date.into(),
        ])
        .on_conflict(
            OnConflict::column(ReferenceRuns::RunId)
                .value(ReferenceRuns::RunDate, date)
                .to_owned(),
        )
        .to_owned()
}

/// Finds out anew what the newest value of each of `names` in `series` is, from the runs that are
/// there now, and writes it to the catalogue.
///
/// For a transaction that takes a run out of the reads, after it has done so: the newest value may be
/// that of an older run now, or none. The dates of the metric stay, as they only bound those of its
/// runs.
pub(super) async fn recompute(
    session: &mut Session,
    series: &Series,
    names: &[MetricName],
) -> Result<(), StoreError> {
    for name in names {
        let Some(metric) = metric(session, series, name).await? else {
            continue;
        };
        let newest = find_newest(session, series, &metric).await?;
        let update = set_newest(series, name, newest.as_ref());
        session.execute(&update).await?;
    }
    Ok(())
}

/// Takes those of `names` out of the catalogue that no run of `series` has any more.
///
/// For a transaction that takes a run back, after [`recompute`]. Only a metric without a newest value
/// may be gone, and its runs are looked for between the dates that the catalogue has for it.
pub(super) async fn forget(
    session: &mut Session,
    series: &Series,
    names: &[MetricName],
) -> Result<(), StoreError> {
    for name in names {
        let Some(metric) = metric(session, series, name).await? else {
            continue;
        };
        let runs: Vec<PlaceRow> = session.fetch_all(&select_any(series, &metric)).await?;
        if runs.is_empty() {
            session.execute(&delete_metric(series, name)).await?;
        }
    }
    Ok(())
}

#[derive(FromRow)]
#[expect(dead_code, reason = "only whether there is a row matters")]
struct PlaceRow {
    run_id: i64,
}

/// A run that has `metric` and was not taken back, if there is one.
fn select_any(series: &Series, metric: &CatalogMetric) -> SelectStatement {
    let filter = Filter {
        series: series.into(),
        voided: VoidedRuns::LeftOut,
        dated: metric.dates,
        ..Filter::default()
    };
    let column = |column| Expr::col((Metrics::Table, column));
    let mut select = Query::select();
    select
        .column((Runs::Table, Runs::RunId))
        .from(Runs::Table)
        .inner_join(
            Metrics::Table,
            column(Metrics::RunId).equals((Runs::Table, Runs::RunId)),
        )
        .cond_where(filter.condition())
        .and_where(column(Metrics::MetricKey).eq(metric.name.metric_key.as_str()))
        .and_where(column(Metrics::DimKey).eq(metric.name.dim_key.as_str()))
        .limit(1);
    details::join(&mut select);
    newest_first(&mut select);
    select
}

fn delete_metric(series: &Series, name: &MetricName) -> DeleteStatement {
    Query::delete()
        .from_table(SeriesMetrics::Table)
        .cond_where(is_series(series))
        .and_where(column(SeriesMetrics::MetricKey).eq(name.metric_key.as_str()))
        .and_where(column(SeriesMetrics::DimKey).eq(name.dim_key.as_str()))
        .to_owned()
}

/// The newest value of `metric` among the runs that succeeded.
async fn find_newest(
    session: &mut Session,
    series: &Series,
    metric: &CatalogMetric,
) -> Result<Option<NewestValue>, StoreError> {
    let filter = Filter {
        series: series.into(),
        succeeded: Some(true),
        dated: metric.dates,
        ..Filter::default()
    };
    let column = |column| Expr::col((Metrics::Table, column));
    let of_run = column(Metrics::RunId).equals((Runs::Table, Runs::RunId));
    let mut select = Query::select();
    select
        .columns([(Runs::Table, Runs::RunId), (Runs::Table, Runs::RunDate)])
        .columns([
            (Metrics::Table, Metrics::Value),
            (Metrics::Table, Metrics::Wallclock),
        ])
        .from(Runs::Table)
        .inner_join(Metrics::Table, of_run)
        .cond_where(filter.condition())
        .and_where(column(Metrics::MetricKey).eq(metric.name.metric_key.as_str()))
        .and_where(column(Metrics::DimKey).eq(metric.name.dim_key.as_str()))
        .limit(1);
    newest_first(&mut select);
    let rows: Vec<NewestRow> = session.fetch_all(&select).await?;
    Ok(rows
        .into_iter()
        .next()
        .map(NewestRow::parse)
        .transpose()?
        .flatten())
}

fn set_newest(series: &Series, name: &MetricName, newest: Option<&NewestValue>) -> UpdateStatement {
    let value: Option<Decimal> = newest.map(|newest| newest.value.decimal());
    let date: Option<NaiveDateTime> = newest.map(|newest| newest.run_date.naive());
    let mut update = Query::update();
    update
        .table(SeriesMetrics::Table)
        .value(SeriesMetrics::Value, value)
        .value(
            SeriesMetrics::Wallclock,
            newest.map(|newest| newest.wallclock),
        )
        .value(SeriesMetrics::RunId, newest.map(|newest| newest.run_id))
        .value(SeriesMetrics::RunDate, date)
        .cond_where(is_series(series))
        .and_where(column(SeriesMetrics::MetricKey).eq(name.metric_key.as_str()))
        .and_where(column(SeriesMetrics::DimKey).eq(name.dim_key.as_str()));
    update
}

fn column(column: SeriesMetrics) -> Expr {
    Expr::col((SeriesMetrics::Table, column))
}

/// The catalogue's rows of one series.
pub(super) fn is_series(series: &Series) -> Condition {
    Cond::all()
        .add(column(SeriesMetrics::Workload).eq(series.workload.as_str()))
        .add(column(SeriesMetrics::Branch).eq(series.branch.as_str()))
        .add(column(SeriesMetrics::Arch).eq(series.arch.as_str()))
        .add(column(SeriesMetrics::Distro).eq(series.distro.as_str()))
}

/// A metric as the catalogue has it.
#[derive(Clone, Debug)]
pub(super) struct CatalogMetric {
    pub(super) name: MetricName,
    /// No run that has the metric is older than the first of these dates or newer than the second.
    pub(super) dates: Option<(RunDate, RunDate)>,
}

/// Names after the one and up to the other, in order; an absent bound is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameRange {
    /// Names after this one.
    pub after: Option<MetricName>,
    /// Names up to this one.
    pub upto: Option<MetricName>,
}

/// Metrics of a series in order of their names.
pub(super) struct Names {
    pub(super) metrics: Vec<CatalogMetric>,
    /// Whether the series has more of them in the range.
    pub(super) more: bool,
}

/// The first `limit` metrics of `series` in `range` that have one of `keys` and one of `dims`; no
/// dimension stands for all.
pub(super) async fn metrics(
    session: &mut Session,
    series: &Series,
    (keys, dims): (&[MetricKey], &[DimKey]),
    range: &NameRange,
    limit: usize,
) -> Result<Names, StoreError> {
    let mut keys: Vec<&MetricKey> = keys.iter().filter(|key| range.may_hold(key)).collect();
    keys.sort();
    keys.dedup();
    // Without an order, the statement ends with the last row that it may give.
    let all = select_metrics(series, &keys, dims, range, limit + 1);
    let mut metrics = fetch(session, &all).await?;
    if metrics.len() > limit {
        metrics.clear();
        for key in keys {
            let mut some = select_metrics(series, &[key], dims, range, limit + 1 - metrics.len());
            some.order_by((SeriesMetrics::Table, SeriesMetrics::DimKey), Order::Asc);
            metrics.extend(fetch(session, &some).await?);
            if metrics.len() > limit {
                break;
            }
        }
    }
    metrics.sort_by(|a, b| a.name.cmp(&b.name));
    let more = metrics.len() > limit;
    metrics.truncate(limit);
    Ok(Names { metrics, more })
}

async fn metric(
    session: &mut Session,
    series: &Series,
    name: &MetricName,
) -> Result<Option<CatalogMetric>, StoreError> {
    let dims = [name.dim_key.clone()];
    let range = NameRange::default();
    let select = select_metrics(series, &[&name.metric_key], &dims, &range, 1);
    Ok(fetch(session, &select).await?.pop())
}

async fn fetch(
    session: &mut Session,
    select: &SelectStatement,
) -> Result<Vec<CatalogMetric>, StoreError> {
    let rows: Vec<DatedRow> = session.fetch_all(select).await?;
    rows.into_iter().map(CatalogMetric::try_from).collect()
}

impl NameRange {
    /// Whether a name with this key may lie in the range.
    fn may_hold(&self, key: &MetricKey) -> bool {
        let after = self.after.as_ref();
        let upto = self.upto.as_ref();
        after.is_none_or(|name| name.metric_key <= *key)
            && upto.is_none_or(|name| *key <= name.metric_key)
    }

    fn condition(&self) -> Condition {
        let (key, dim) = (SeriesMetrics::MetricKey, SeriesMetrics::DimKey);
        let mut all = Cond::all();
        if let Some(name) = &self.after {
            let same_key = column(key)
                .eq(name.metric_key.as_str())
                .and(column(dim).gt(name.dim_key.as_str()));
            all = all.add(column(key).gt(name.metric_key.as_str()).or(same_key));
        }
        if let Some(name) = &self.upto {
            let same_key = column(key)
                .eq(name.metric_key.as_str())
                .and(column(dim).lte(name.dim_key.as_str()));
            all = all.add(column(key).lt(name.metric_key.as_str()).or(same_key));
        }
        all
    }

    /// The same for names of one key, as a range of dimensions that an index can serve.
    fn condition_on_dims(&self, one: &MetricKey) -> Condition {
        let dim = || column(SeriesMetrics::DimKey);
        let of_key = |name: &&MetricName| name.metric_key == *one;
        let after = self.after.as_ref().filter(of_key);
        let upto = self.upto.as_ref().filter(of_key);
        Cond::all()
            .add_option(after.map(|name| dim().gt(name.dim_key.as_str())))
            .add_option(upto.map(|name| dim().lte(name.dim_key.as_str())))
    }
}

fn select_metrics(
    series: &Series,
    keys: &[&MetricKey],
    dims: &[DimKey],
    range: &NameRange,
    limit: usize,
) -> SelectStatement {
    let mut select = Query::select();
    select
        .columns([
            SeriesMetrics::MetricKey,
            SeriesMetrics::DimKey,
            SeriesMetrics::FirstRunDate,
            SeriesMetrics::LastRunDate,
        ])
        .from(SeriesMetrics::Table)
        .cond_where(is_series(series))
        .limit(limit as u64);
    match keys {
        [key] => select
            .and_where(column(SeriesMetrics::MetricKey).eq(key.as_str()))
            .cond_where(range.condition_on_dims(key)),
        _ => select
            .and_where(column(SeriesMetrics::MetricKey).is_in(keys.iter().map(|key| key.as_str())))
            .cond_where(range.condition()),
    };
    if !dims.is_empty() {
        let dims = dims.iter().map(DimKey::as_str);
        select.and_where(column(SeriesMetrics::DimKey).is_in(dims));
    }
    select
}

#[derive(FromRow)]
struct DatedRow {
    #[sqlx(flatten)]
    name: NameRow,
    first_run_date: Option<NaiveDateTime>,
    last_run_date: Option<NaiveDateTime>,
}

impl TryFrom<DatedRow> for CatalogMetric {
    type Error = StoreError;

    fn try_from(row: DatedRow) -> Result<Self, StoreError> {
        let at = RowPlace::of_series("series_metrics");
        let parse = |column, date: Option<NaiveDateTime>| {
            date.map(|date| at.parse(column, date)).transpose()
        };
        let first = parse("first_run_date", row.first_run_date)?;
        let last = parse("last_run_date", row.last_run_date)?;
        Ok(Self {
            name: row.name.parse(at)?,
            dates: first.zip(last),
        })
    }
}

/// A metric's name with its newest value, in one row.
#[derive(FromRow)]
pub(super) struct ListedRow {
    #[sqlx(flatten)]
    pub(super) series: SeriesRow,
    #[sqlx(flatten)]
    pub(super) name: NameRow,
    #[sqlx(flatten)]
    pub(super) newest: NewestRow,
}

#[derive(FromRow)]
pub(super) struct NewestRow {
    run_id: Option<i64>,
    run_date: Option<NaiveDateTime>,
    value: Option<ValueColumn>,
    wallclock: Option<bool>,
}

impl NewestRow {
    /// All four columns are there, or none.
    pub(super) fn parse(self) -> Result<Option<NewestValue>, StoreError> {
        let Self {
            run_id: Some(run_id),
            run_date: Some(run_date),
            value: Some(value),
            wallclock: Some(wallclock),
        } = self
        else {
            return Ok(None);
        };
        let at = RowPlace::of_run("series_metrics", run_id);
        Ok(Some(NewestValue {
            run_id,
            run_date: at.parse("run_date", run_date)?,
            value: value.0,
            wallclock,
        }))
    }
}

/// The columns of a [`ListedRow`].
pub(super) fn listed_columns() -> impl Iterator<Item = SeriesMetrics> {
    NAME.into_iter().chain(NEWEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Grant;
    use crate::domain::{JsonText, Moment};
    use crate::store::{SeriesFilter, SeriesQuery, Signed, Store, StoreOptions, Writing};
    use chrono::DateTime;
    use serde_json::json;
    use std::time::Duration;

    fn run(number: u64, date: &str, succeeded: bool) -> Run {
        let body = json!({
            "workload": "perf", "repo": "drizzle", "branch": "main",
            "commit_sha": format!("{number:040x}"), "pipeline": "promote", "distro": "trixie",
            "arch": "amd64", "host_class": "callgrind", "run_date": date, "succeeded": succeeded,
            "metrics": [{"metric_key": "ir", "value": number}],
        });
        let text = body.to_string();
        Run::parse(JsonText::parse(text.as_bytes()).unwrap()).unwrap()
    }

    fn writing() -> Writing {
        let grant = Grant::owner();
        Writing {
            signed: Signed {
                by: grant.bearer(),
                at: Moment::new(DateTime::UNIX_EPOCH).unwrap(),
            },
            narrow: grant.narrow,
        }
    }

    async fn newest(store: &Store) -> Option<(RunId, Value)> {
        let query = SeriesQuery {
            filter: SeriesFilter::default(),
            after: None,
            limit: 1,
        };
        let page = store.series(&query).await.unwrap();
        let newest = page.series[0].metrics[0].newest;
        newest.map(|newest| (newest.run_id, newest.value))
    }

    /// Takes a run's metrics away, as one who takes a run back takes them out of the reads.
    async fn take_away(store: &Store, run_id: RunId, run: &Run) {
        let mut session = store.db.write().await.unwrap();
        session.begin_write().await.unwrap();
        let delete = format!("DELETE FROM metrics WHERE run_id = {run_id}");
        session.raw(&delete).await.unwrap();
        let names: Vec<MetricName> = run.metrics.iter().map(|one| one.name.clone()).collect();
        recompute(&mut session, &run.series, &names).await.unwrap();
        session.commit().await.unwrap();
        session.finish();
    }

    #[tokio::test]
    async fn the_newest_value_is_found_anew_among_the_runs_that_are_left() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/a.db", folder.path().display());
        let options = StoreOptions {
            connections: 2,
            timeout: Duration::from_secs(30),
        };
        let store = Store::open(&url.parse().unwrap(), &options).unwrap();
        store.migrate().await.unwrap();
        let runs = [
            run(1, "2026-01-01T00:00:00Z", true),
            run(2, "2026-01-03T00:00:00Z", true),
            run(3, "2026-01-02T00:00:00Z", true),
            run(4, "2026-01-04T00:00:00Z", false),
        ];
        for run in &runs {
            store.record_run(run, &writing()).await.unwrap();
        }
        let value = |number: usize| runs[number - 1].metrics[0].value;
        assert_eq!(newest(&store).await, Some((2, value(2))));
        for (gone, left) in [
            (4, Some((2, value(2)))),
            (2, Some((3, value(3)))),
            (1, Some((3, value(3)))),
            (3, None),
        ] {
            let index = usize::try_from(gone).unwrap() - 1;
            take_away(&store, gone, &runs[index]).await;
            assert_eq!(newest(&store).await, left, "without run {gone}");
        }
        // The next run is the newest again.
        store
            .record_run(&run(5, "2025-12-31T00:00:00Z", true), &writing())
            .await
            .unwrap();
        assert_eq!(newest(&store).await.map(|(run_id, _)| run_id), Some(5));
    }
}
