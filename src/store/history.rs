//! Windows of a series: the newest points of each metric.
//!
//! A window costs what it holds. The newest runs of a series are read off one index, and one metric
//! of each by its primary key. Only a metric that skips runs needs a walk of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use sea_query::{Expr, ExprTrait, Func, IntoColumnRef, Query, SelectStatement};
use sha2::{Digest, Sha256};
use sqlx::FromRow;

use super::catalog;
use super::db::{Db, Session, ValueColumn};
use super::heads::{
    Filter, HeadRow, NameRow, Position, RUNS_A_STATEMENT, RowPlace, RunHead, TagFilter,
    head_columns, newest_first, select_heads,
};
use super::schema::{Metrics, Runs, SeriesMetrics};
use super::{RunId, Store, StoreError};
use crate::domain::{
    DateBound, DimKey, HostClass, MetricKey, MetricName, Pipeline, Repo, Series, Value,
};

/// The most points of one answer. A hundred runs of a thousand metrics each are half of it.
pub const MAX_POINTS: usize = 200_000;

/// Which points of which metrics.
#[derive(Clone, Debug)]
pub struct HistoryQuery {
    /// The series.
    pub series: Series,
    /// The metrics.
    pub metrics: MetricSelection,
    /// The most points of each metric.
    pub limit: usize,
    /// The most points of all metrics together, [`MAX_POINTS`] at most.
    pub max_points: usize,
    /// Runs on or after this date.
    pub since: Option<DateBound>,
    /// Runs before this date.
    pub before: Option<DateBound>,
    /// The repository.
    pub repo: Option<Repo>,
    /// The class of hosts.
    pub host_class: Option<HostClass>,
    /// The tags.
    pub tag: TagFilter,
    /// The pipeline; `None` for any.
    pub pipeline: Option<Pipeline>,
    /// Whether runs that failed count.
    pub include_failed: bool,
    /// Where the last page ended.
    pub after: Option<HistoryCursor>,
}

/// Which metrics, by what they are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricSelection {
    /// The keys; none asks for whatever the newest runs hold.
    pub keys: Vec<MetricKey>,
    /// The dimensions; none asks for all.
    pub dims: Vec<DimKey>,
}

/// The points of each metric, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The metrics that have a point, ordered by name.
    pub metrics: Vec<MetricHistory>,
    /// Where the next page begins, if there is one.
    pub next: Option<HistoryCursor>,
}

/// The points of one metric, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricHistory {
    /// The metric.
    pub name: MetricName,
    /// Whether the newest point was read off a real clock.
    pub wallclock: bool,
    /// The points.
    pub points: Vec<Point>,
}

/// One value of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The run.
    pub run: Arc<RunHead>,
    /// The value.
    pub value: Value,
    wallclock: bool,
}

/// Where a page of history ended: one place for most metrics, and places of their own for those
/// whose last points are older, as a metric's are that skips runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryCursor {
    /// Where every metric goes on that is not listed.
    pub rest: Position,
    /// Metrics that go on from an older place, each by its print: a cursor travels in an address,
    /// and a thousand names are too long for one.
    pub older: BTreeMap<MetricPrint, Position>,
}

/// Stands for a metric's name where that is too long; among ten thousand of a series no two agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricPrint(pub [u8; 6]);

impl From<&MetricName> for MetricPrint {
    fn from(name: &MetricName) -> Self {
        // No name holds a control character, so nothing else reads as this.
        let digest = Sha256::digest(format!("{}\0{}", name.metric_key, name.dim_key));
        let mut print = [0; 6];
        print.copy_from_slice(&digest[..6]);
        Self(print)
    }
}

impl HistoryCursor {
    fn of(&self, name: &MetricName) -> Position {
        self.older.get(&name.into()).copied().unwrap_or(self.rest)
    }
}

/// The points found of one metric, one more than the window holds where there are more.
type Found = BTreeMap<MetricName, Vec<Point>>;

impl Store {
    /// The newest points that `query` asks for.
    ///
    /// # Errors
    /// [`StoreError::WindowTooLarge`] past the query's `max_points`; a database that does not answer.
    pub async fn history(&self, query: &HistoryQuery) -> Result<History, StoreError> {
        self.retried("history", || attempt(&self.db, query)).await
    }
}

async fn attempt(db: &Db, query: &HistoryQuery) -> Result<History, StoreError> {
    let mut session = db.read().await?;
    if let Some(history) = one_metric(&mut session, query).await? {
        session.finish();
        return Ok(history);
    }
    session.begin_read().await?;
    let history = if query.metrics.keys.is_empty() {
        newest_runs(&mut session, query).await?
    } else {
        each_metric(&mut session, query).await?
    };
    session.commit().await?;
    session.finish();
    Ok(history)
}

/// The window of one metric in one statement, or `None` where the question is a wider one.
///
/// Without a dimension in the question, the statement counts those that the series has of the key,
/// and its rows are a window of one metric where there is one.
async fn one_metric(
    session: &mut Session,
    query: &HistoryQuery,
) -> Result<Option<History>, StoreError> {
    let ([key], [] | [_]) = (query.metrics.keys.as_slice(), query.metrics.dims.as_slice()) else {
        return Ok(None);
    };
    if query
        .after
        .as_ref()
        .is_some_and(|cursor| !cursor.older.is_empty())
    {
        return Ok(None);
    }
    let after = query.after.as_ref().map(|cursor| cursor.rest);
    let dim = query.metrics.dims.first();
    let mut statement = select_points(query, key, dim, after);
    match dim {
        Some(_) => statement.expr_as(Expr::value(1_i64), "dims"),
        None => statement.expr_as(count_dims(&query.series, key), "dims"),
    };
    let rows: Vec<PointRow> = session.fetch_all(&statement).await?;
    if rows.first().is_some_and(|row| row.dims > 1) {
        return Ok(None);
    }
    let mut found = Found::new();
    for row in rows {
        let (name, point) = row.into_point()?;
        found.entry(name).or_default().push(point);
    }
    Ok(Some(into_history(found, query)))
}

/// Every metric of the newest runs.
async fn newest_runs(session: &mut Session, query: &HistoryQuery) -> Result<History, StoreError> {
    let mut heads = fetch_heads(session, query).await?;
    let more = heads.len() > query.limit;
    heads.truncate(query.limit);
    let next = heads.last().filter(|_| more).map(|head| HistoryCursor {
        rest: head.position(),
        older: BTreeMap::new(),
    });
    let found = fetch_points(session, query, &heads).await?;
    let metrics = found.into_iter().filter_map(into_metric).collect();
    Ok(History { metrics, next })
}

/// `limit` points of each metric asked for.
///
/// One pass over the newest runs gives whole windows to all metrics that are in each of them; a
/// metric that is not, or whose page starts elsewhere, is then asked for alone.
async fn each_metric(session: &mut Session, query: &HistoryQuery) -> Result<History, StoreError> {
    let MetricSelection { keys, dims } = &query.metrics;
    let names = catalog::metric_names(session, &query.series, keys, dims).await?;
    let heads = fetch_heads(session, query).await?;
    let all_read = heads.len() <= query.limit;
    let mut found = fetch_points(session, query, &heads).await?;
    let mut points: usize = found.values().map(Vec::len).sum();
    for name in names {
        let own_page = query
            .after
            .as_ref()
            .is_some_and(|cursor| cursor.older.contains_key(&MetricPrint::from(&name)));
        let enough = found
            .get(&name)
            .is_some_and(|points| points.len() > query.limit);
        if !own_page && (all_read || enough) {
            continue;
        }
        let after = query.after.as_ref().map(|cursor| cursor.of(&name));
        let window = fetch_window(session, query, &name, after).await?;
        points += window.len();
        if points > query.max_points {
            return Err(StoreError::WindowTooLarge {
                limit: query.max_points,
            });
        }
        found.insert(name, window);
    }
    Ok(into_history(found, query))
}

/// The newest runs, one more than a window holds.
async fn fetch_heads(
    session: &mut Session,
    query: &HistoryQuery,
) -> Result<Vec<Arc<RunHead>>, StoreError> {
    let after = query.after.as_ref().map(|cursor| cursor.rest);
    let statement = select_heads(&filter(query, after), query.limit as u64 + 1);
    let rows: Vec<HeadRow> = session.fetch_all(&statement).await?;
    rows.into_iter()
        .map(|row| RunHead::try_from(row).map(Arc::new))
        .collect()
}

/// The points of `heads`, which are in order.
async fn fetch_points(
    session: &mut Session,
    query: &HistoryQuery,
    heads: &[Arc<RunHead>],
) -> Result<Found, StoreError> {
    let mut by_run: BTreeMap<RunId, Vec<ValueRow>> = BTreeMap::new();
    let mut points = 0;
    for some in heads.chunks(RUNS_A_STATEMENT) {
        let statement = select_values(&query.metrics, some, query.max_points + 1 - points);
        let rows: Vec<ValueRow> = session.fetch_all(&statement).await?;
        points += rows.len();
        if points > query.max_points {
            return Err(StoreError::WindowTooLarge {
                limit: query.max_points,
            });
        }
        for row in rows {
            by_run.entry(row.run_id).or_default().push(row);
        }
    }
    let mut found = Found::new();
    for head in heads {
        for row in by_run.remove(&head.run_id).unwrap_or_default() {
            let (name, point) = row.into_point(head)?;
            found.entry(name).or_default().push(point);
        }
    }
    Ok(found)
}

async fn fetch_window(
    session: &mut Session,
    query: &HistoryQuery,
    name: &MetricName,
    after: Option<Position>,
) -> Result<Vec<Point>, StoreError> {
    let mut statement = select_points(query, &name.metric_key, Some(&name.dim_key), after);
    statement.expr_as(Expr::value(1_i64), "dims");
    let rows: Vec<PointRow> = session.fetch_all(&statement).await?;
    rows.into_iter()
        .map(|row| row.into_point().map(|(_, point)| point))
        .collect()
}

fn into_metric((name, points): (MetricName, Vec<Point>)) -> Option<MetricHistory> {
    let wallclock = points.first()?.wallclock;
    Some(MetricHistory {
        name,
        wallclock,
        points,
    })
}

/// Cuts each metric to its window and notes where the next page begins.
fn into_history(mut found: Found, query: &HistoryQuery) -> History {
    let mut more = false;
    for points in found.values_mut() {
        more |= points.len() > query.limit;
        points.truncate(query.limit);
    }
    let next = more.then(|| next_page(&found, query)).flatten();
    let metrics = found.into_iter().filter_map(into_metric).collect();
    History { metrics, next }
}

/// The next page starts at the newest of the places where full windows end; whoever's last point is
/// older keeps a place of its own.
fn next_page(found: &Found, query: &HistoryQuery) -> Option<HistoryCursor> {
    let last = |points: &Vec<Point>| points.last().map(|point| point.run.position());
    let rest = found
        .values()
        .filter(|points| points.len() == query.limit)
        .filter_map(last)
        .max()?;
    let mut older: BTreeMap<MetricPrint, Position> = query
        .after
        .iter()
        .flat_map(|cursor| cursor.older.clone())
        .filter(|(_, place)| *place < rest)
        .collect();
    for (name, points) in found {
        if let Some(place) = last(points).filter(|place| *place < rest) {
            older.insert(name.into(), place);
        }
    }
    Some(HistoryCursor { rest, older })
}

fn filter(query: &HistoryQuery, after: Option<Position>) -> Filter<'_> {
    Filter {
        series: (&query.series).into(),
        commit_sha: None,
        repo: query.repo.as_ref(),
        host_class: query.host_class.as_ref(),
        pipeline: query.pipeline.as_ref(),
        tag: Some(&query.tag),
        succeeded: (!query.include_failed).then_some(true),
        since: query.since,
        before: query.before,
        after,
        stored_after: None,
    }
}

fn metric(column: Metrics) -> Expr {
    Expr::col((Metrics::Table, column))
}

/// One metric of the newest runs that have it, one more than a window holds.
fn select_points(
    query: &HistoryQuery,
    key: &MetricKey,
    dim: Option<&DimKey>,
    after: Option<Position>,
) -> SelectStatement {
    let mut of_run = metric(Metrics::RunId)
        .equals((Runs::Table, Runs::RunId))
        .and(metric(Metrics::MetricKey).eq(key.as_str()));
    if let Some(dim) = dim {
        of_run = of_run.and(metric(Metrics::DimKey).eq(dim.as_str()));
    }
    let values = [
        Metrics::MetricKey,
        Metrics::DimKey,
        Metrics::Value,
        Metrics::Wallclock,
    ];
    let mut select = Query::select();
    select
        .columns(head_columns())
        .columns(values.map(|column| (Metrics::Table, column).into_column_ref()))
        .from(Runs::Table)
        .inner_join(Metrics::Table, of_run)
        .cond_where(filter(query, after).condition())
        .limit(query.limit as u64 + 1);
    newest_first(&mut select);
    select
}

/// How many dimensions of `key` the series ever had.
fn count_dims(series: &Series, key: &MetricKey) -> Expr {
    let mut count = Query::select();
    count.expr(Func::count(Expr::col((
        SeriesMetrics::Table,
        SeriesMetrics::DimKey,
    ))));
    catalog::of_series(&mut count, series);
    count.and_where(Expr::col((SeriesMetrics::Table, SeriesMetrics::MetricKey)).eq(key.as_str()));
    count.into()
}

/// The selected metrics of `heads`.
fn select_values(
    selection: &MetricSelection,
    heads: &[Arc<RunHead>],
    limit: usize,
) -> SelectStatement {
    let mut select = Query::select();
    select
        .columns([
            Metrics::RunId,
            Metrics::MetricKey,
            Metrics::DimKey,
            Metrics::Value,
            Metrics::Wallclock,
        ])
        .from(Metrics::Table)
        .and_where(Expr::col(Metrics::RunId).is_in(heads.iter().map(|head| head.run_id)))
        .limit(limit as u64);
    if !selection.keys.is_empty() {
        let keys = selection.keys.iter().map(MetricKey::as_str);
        select.and_where(Expr::col(Metrics::MetricKey).is_in(keys));
    }
    if !selection.dims.is_empty() {
        let dims = selection.dims.iter().map(DimKey::as_str);
        select.and_where(Expr::col(Metrics::DimKey).is_in(dims));
    }
    select
}

#[derive(FromRow)]
struct ValueRow {
    run_id: i64,
    #[sqlx(flatten)]
    name: NameRow,
    value: ValueColumn,
    wallclock: bool,
}

impl ValueRow {
    fn into_point(self, run: &Arc<RunHead>) -> Result<(MetricName, Point), StoreError> {
        let name = self.name.parse(RowPlace::of_run("metrics", self.run_id))?;
        let point = Point {
            run: Arc::clone(run),
            value: self.value.0,
            wallclock: self.wallclock,
        };
        Ok((name, point))
    }
}

#[derive(FromRow)]
struct PointRow {
    #[sqlx(flatten)]
    head: HeadRow,
    #[sqlx(flatten)]
    name: NameRow,
    value: ValueColumn,
    wallclock: bool,
    dims: i64,
}

impl PointRow {
    fn into_point(self) -> Result<(MetricName, Point), StoreError> {
        let head = Arc::new(RunHead::try_from(self.head)?);
        let row = ValueRow {
            run_id: head.run_id,
            name: self.name,
            value: self.value,
            wallclock: self.wallclock,
        };
        row.into_point(&head)
    }
}
