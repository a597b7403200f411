//! Windows of a series: the newest points of each metric.
//!
//! A window costs as much as it holds. The newest runs are read along a lane, and one metric of each by
//! its primary key. A metric that skips runs is looked for by itself, along the same lane between the
//! dates that the catalogue has for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use sea_query::{
    Alias, Cond, Condition, Expr, ExprTrait, Func, IntoColumnRef, Query, SelectStatement,
};
use sha2::{Digest, Sha256};
use sqlx::FromRow;

use super::catalog::{self, CatalogMetric, NameRange};
use super::db::{Db, Session, ValueColumn};
use super::heads::{
    Filter, HeadRow, NameRow, Position, RUNS_A_STATEMENT, RowPlace, RunHead, TagFilter, VoidedRuns,
    head_columns,
};
use super::lanes::{Budget, End, Lane, Piece};
use super::schema::{Metrics, Runs, SeriesMetrics};
use super::{RunId, Store, StoreError};
use crate::domain::{
    DateBound, DimKey, HostClass, MAX_METRICS, MetricKey, MetricName, Pipeline, Repo, Series, Value,
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
    /// Whether runs that were taken back count.
    pub include_voided: bool,
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

/// Where a page of history ended.
///
/// A question about many metrics is answered in parts: all pages of its first metrics, then all pages
/// of the next ones. Within a part, most metrics go on from one place. Those that have been read
/// further back than that, because they skip runs, go on from places of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryCursor {
    /// The metrics of the part.
    pub part: NameRange,
    /// Where the metrics of the part go on; `None` where the part begins.
    pub rest: Option<Position>,
    /// Metrics that go on from an older place, each by its print; never more than fifty.
    pub older: BTreeMap<MetricPrint, Position>,
}

/// Metrics that have a place of their own, at most: a cursor travels in an address. Each of them is
/// also looked for by itself, which a request does so many times.
const MOST_OLDER: usize = 50;

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
    fn at(rest: Position) -> Self {
        Self {
            rest: Some(rest),
            ..Self::default()
        }
    }

    fn own_place(&self, name: &MetricName) -> Option<Position> {
        self.older.get(&name.into()).copied()
    }

    /// Whether all metrics go on from the same place.
    fn is_plain(&self) -> bool {
        self.older.is_empty() && self.part == NameRange::default()
    }
}

/// The points found of each metric, newest first.
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

/// The window of one metric in one statement, or `None` where that does not answer the question.
///
/// The statement looks at a few more of the newest runs than the window holds. That is enough for a
/// metric that is still measured. Without a dimension in the question, it also tells whether the
/// series has several of the key.
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
        .is_some_and(|cursor| !cursor.is_plain())
    {
        return Ok(None);
    }
    let dim = query.metrics.dims.first();
    let want = query.limit + 1;
    let mut statement = select_points(&lane(query, query.rest()), Piece::first(want), key, dim);
    match dim {
        Some(_) => statement.expr_as(Expr::value(1_i64), "dims"),
        None => statement.expr_as(count_dims(&query.series, key), "dims"),
    };
    let rows: Vec<PointRow> = session.fetch_all(&statement).await?;
    if rows.len() < want || rows.first().is_some_and(|row| row.dims > 1) {
        return Ok(None);
    }
    let points: Result<Vec<(MetricName, Point)>, _> =
        rows.into_iter().map(PointRow::into_point).collect();
    let mut points = points?;
    points.truncate(query.limit);
    let Some((name, last)) = points.last() else {
        return Ok(None);
    };
    let next = HistoryCursor::at(last.run.position());
    let found = Found::from([(
        name.clone(),
        points.into_iter().map(|(_, point)| point).collect(),
    )]);
    Ok(Some(History {
        metrics: found.into_iter().filter_map(into_metric).collect(),
        next: Some(next),
    }))
}

/// Every metric of the newest runs.
async fn newest_runs(session: &mut Session, query: &HistoryQuery) -> Result<History, StoreError> {
    let heads = Strip::read(session, query, query.limit, &mut Budget::new()).await?;
    let found = fetch_points(session, query, &[], &heads.runs).await?;
    Ok(History {
        metrics: found.into_iter().filter_map(into_metric).collect(),
        next: heads.end.map(HistoryCursor::at),
    })
}

/// `limit` points of each metric asked for, as far as one request goes.
///
/// One pass over the newest runs gives whole windows to all metrics that are in each of them. A metric
/// that is not, or whose page starts elsewhere, is then looked for alone, between the dates that the
/// catalogue has for it.
async fn each_metric(session: &mut Session, query: &HistoryQuery) -> Result<History, StoreError> {
    let cursor = query.after.clone().unwrap_or_default();
    let MetricSelection { keys, dims } = &query.metrics;
    let names = catalog::metrics(
        session,
        &query.series,
        (keys, dims),
        &cursor.part,
        MAX_METRICS,
    )
    .await?;
    let mut page = Page {
        query,
        names: names.metrics,
        upto: cursor.part.upto.clone(),
        budget: Budget::new(),
        cursor,
        windows: BTreeMap::new(),
    };
    if names.more {
        page.end_part();
    }
    // One run more than a window holds tells whether a metric has more points than it.
    let mut newest = Strip::read(session, query, query.limit + 1, &mut page.budget).await?;
    let most_metrics = (query.max_points / newest.runs.len().max(1)).max(1);
    if page.names.len() > most_metrics {
        query.use_all_points()?;
    }
    if page.names.len() > most_metrics && page.is_first() {
        page.names.truncate(most_metrics);
        page.end_part();
    }
    // Of many metrics, the later pages hold the same runs for all: their places would be too many.
    let together = !page.is_first() && page.names.len() > MOST_OLDER;
    if together {
        newest.shorten(query.limit);
    }
    newest.shorten((query.max_points / page.names.len().max(1)).max(1));
    let found = fetch_points(session, query, &page.spans(), &newest.runs).await?;
    if newest.is_full(query.limit + 1) {
        page.each(session, found).await?;
    } else {
        page.together(found, &newest);
    }
    Ok(page.into_history())
}

/// Runs of the lane that follow one another, and where they end if more follow.
struct Strip {
    runs: Vec<Arc<RunHead>>,
    end: Option<Position>,
}

impl Strip {
    async fn read(
        session: &mut Session,
        query: &HistoryQuery,
        count: usize,
        budget: &mut Budget,
    ) -> Result<Self, StoreError> {
        let lane = lane(query, query.rest());
        let found = lane.heads(session, count + 1, budget).await?;
        let mut strip = Self {
            runs: found.rows.into_iter().map(Arc::new).collect(),
            end: match found.end {
                End::Examined(place) => Some(place),
                End::Enough | End::Lane => None,
            },
        };
        strip.shorten(count);
        Ok(strip)
    }

    /// Cuts off what is behind the first `count` runs.
    fn shorten(&mut self, count: usize) {
        if self.runs.len() > count {
            self.runs.truncate(count);
            self.end = self.runs.last().map(|run| run.position());
        }
    }

    /// Whether it has as many runs as were wanted.
    fn is_full(&self, count: usize) -> bool {
        self.runs.len() >= count
    }
}

/// A page of the windows of several metrics while it is put together.
struct Page<'a> {
    query: &'a HistoryQuery,
    cursor: HistoryCursor,
    /// The metrics of the part.
    names: Vec<CatalogMetric>,
    /// The last metric of the part, if there are metrics behind it.
    upto: Option<MetricName>,
    budget: Budget,
    windows: BTreeMap<MetricName, Window>,
}

/// The points found of one metric, and where its next page begins.
struct Window {
    points: Vec<Point>,
    /// Everything up to there is on this page or on one before.
    read_to: Option<Position>,
    /// Whether there may be more behind it.
    open: bool,
}

impl Page<'_> {
    /// Whether this is the first page of its part.
    fn is_first(&self) -> bool {
        self.cursor.rest.is_none()
    }

    /// Ends the part with the last of its metrics.
    fn end_part(&mut self) {
        self.upto = self.names.last().map(|metric| metric.name.clone());
    }

    /// Which names the part has of each key; none if it has all that the query selects.
    fn spans(&self) -> Vec<Span<'_>> {
        if self.upto.is_none() && self.cursor.part.after.is_none() {
            return Vec::new();
        }
        let mut spans: Vec<Span<'_>> = Vec::new();
        for CatalogMetric { name, .. } in &self.names {
            match spans.last_mut() {
                Some(span) if span.key == &name.metric_key => span.last = &name.dim_key,
                _ => spans.push(Span {
                    key: &name.metric_key,
                    first: &name.dim_key,
                    last: &name.dim_key,
                }),
            }
        }
        spans
    }

    /// Takes what the runs of `strip` have of each metric, and nothing else.
    fn together(&mut self, mut found: Found, strip: &Strip) {
        for metric in std::mem::take(&mut self.names) {
            let own = self.cursor.own_place(&metric.name);
            let mut points = found.remove(&metric.name).unwrap_or_default();
            points.retain(|point| own.is_none_or(|own| point.run.position() < own));
            let window = Window {
                points,
                read_to: strip.end.map(|end| own.map_or(end, |own| own.min(end))),
                open: strip.end.is_some(),
            };
            self.windows.insert(metric.name, window);
        }
    }

    /// Takes whole windows from `found`, the points of one run more than a window has, and looks for
    /// each other metric alone.
    async fn each(&mut self, session: &mut Session, mut found: Found) -> Result<(), StoreError> {
        let few = self.names.len() <= MOST_OLDER;
        let limit = self.query.limit;
        let mut walks = 0;
        let mut count = 0;
        for metric in std::mem::take(&mut self.names) {
            let own = self.cursor.own_place(&metric.name);
            let points = found.remove(&metric.name).unwrap_or_default();
            let window = if own.is_none() && points.len() > limit {
                Window::full(points, limit)
            } else {
                let spent =
                    walks > 0 && (self.budget.is_spent() || count + limit > self.query.max_points);
                if count + limit > self.query.max_points {
                    self.query.use_all_points()?;
                }
                let after = own.or(self.cursor.rest);
                if !few && (spent || walks == MOST_OLDER) {
                    self.upto = self.windows.last_key_value().map(|(name, _)| name.clone());
                    return Ok(());
                }
                walks += 1;
                if spent {
                    Window::unread(after)
                } else {
                    self.walk(session, &metric, after).await?
                }
            };
            count += window.points.len();
            self.windows.insert(metric.name, window);
        }
        Ok(())
    }

    /// Looks for one metric from `after` on.
    async fn walk(
        &mut self,
        session: &mut Session,
        metric: &CatalogMetric,
        after: Option<Position>,
    ) -> Result<Window, StoreError> {
        let MetricName {
            metric_key,
            dim_key,
        } = &metric.name;
        let filter = Filter {
            dated: metric.dates,
            ..filter(self.query, after)
        };
        let limit = self.query.limit;
        let walked = Lane::of_series(&filter)
            .walk(session, limit + 1, &mut self.budget, |lane, piece| {
                let mut statement = select_points(lane, piece, metric_key, Some(dim_key));
                statement.expr_as(Expr::value(1_i64), "dims");
                statement
            })
            .await?;
        let points = walked.rows.into_iter().map(PointRow::into_point);
        let points: Result<Vec<Point>, _> = points
            .map(|row: Result<(MetricName, Point), _>| row.map(|(_, point)| point))
            .collect();
        let points = points?;
        Ok(match walked.end {
            End::Enough => Window::full(points, limit),
            End::Lane => Window {
                read_to: points.last().map(|point| point.run.position()).or(after),
                points,
                open: false,
            },
            End::Examined(place) => Window {
                points,
                read_to: Some(place),
                open: true,
            },
        })
    }

    /// The answer, and where the next page begins: at the newest of the places where windows end that
    /// are not at their end. Whoever has been read further keeps a place of its own.
    fn into_history(self) -> History {
        let open = self.windows.values().filter(|window| window.open);
        let rest = open.filter_map(|window| window.read_to).max();
        let next = match rest {
            Some(rest) => {
                let places = self
                    .windows
                    .iter()
                    .filter_map(|(name, window)| Some((name.into(), window.read_to?)));
                Some(HistoryCursor {
                    part: NameRange {
                        after: self.cursor.part.after,
                        upto: self.upto,
                    },
                    rest: Some(rest),
                    older: places.filter(|(_, place)| *place < rest).collect(),
                })
            }
            None => self.upto.map(|last| HistoryCursor {
                part: NameRange {
                    after: Some(last),
                    upto: None,
                },
                ..HistoryCursor::default()
            }),
        };
        let windows = self.windows.into_iter();
        let metrics = windows.filter_map(|(name, window)| into_metric((name, window.points)));
        History {
            metrics: metrics.collect(),
            next,
        }
    }
}

impl Window {
    /// The first `limit` of more points than that.
    fn full(mut points: Vec<Point>, limit: usize) -> Self {
        points.truncate(limit);
        Self {
            read_to: points.last().map(|point| point.run.position()),
            points,
            open: true,
        }
    }

    /// No point yet, for a metric that a later page looks for from `after` on.
    fn unread(after: Option<Position>) -> Self {
        Self {
            points: Vec::new(),
            read_to: after.or(Some(Position::NEWEST)),
            open: true,
        }
    }
}

/// Dimensions of one key that follow one another. A list of them could be so long that a server gives up on its
/// index and reads the whole table.
struct Span<'a> {
    key: &'a MetricKey,
    first: &'a DimKey,
    last: &'a DimKey,
}

impl Span<'_> {
    fn condition(&self) -> Condition {
        let dim = || Expr::col(Metrics::DimKey);
        Cond::all()
            .add(Expr::col(Metrics::MetricKey).eq(self.key.as_str()))
            .add(dim().gte(self.first.as_str()))
            .add(dim().lte(self.last.as_str()))
    }
}

/// The points of `heads` within `spans`, or all that the query selects if there are none. The heads are in order.
async fn fetch_points(
    session: &mut Session,
    query: &HistoryQuery,
    spans: &[Span<'_>],
    heads: &[Arc<RunHead>],
) -> Result<Found, StoreError> {
    let mut by_run: BTreeMap<RunId, Vec<ValueRow>> = BTreeMap::new();
    let mut points = 0;
    for some in heads.chunks(RUNS_A_STATEMENT) {
        let statement = select_values(&query.metrics, spans, some, query.max_points + 1 - points);
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

fn into_metric((name, points): (MetricName, Vec<Point>)) -> Option<MetricHistory> {
    let wallclock = points.first()?.wallclock;
    Some(MetricHistory {
        name,
        wallclock,
        points,
    })
}

impl HistoryQuery {
    /// Checks that the question may have no more points than it asks for.
    ///
    /// # Errors
    /// [`StoreError::WindowTooLarge`] where it may, so that the caller can allow it more.
    fn use_all_points(&self) -> Result<(), StoreError> {
        if self.max_points < MAX_POINTS {
            return Err(StoreError::WindowTooLarge {
                limit: self.max_points,
            });
        }
        Ok(())
    }

    /// Where most metrics go on.
    fn rest(&self) -> Option<Position> {
        self.after.as_ref().and_then(|cursor| cursor.rest)
    }
}

fn lane(query: &HistoryQuery, after: Option<Position>) -> Lane<'_> {
    Lane::of_series(&filter(query, after))
}

fn filter(query: &HistoryQuery, after: Option<Position>) -> Filter<'_> {
    let succeeded = (!query.include_failed).then_some(true);
    Filter {
        series: (&query.series).into(),
        repo: query.repo.as_ref(),
        host_class: query.host_class.as_ref(),
        pipeline: query.pipeline.as_ref(),
        tag: Some(&query.tag),
        succeeded,
        voided: VoidedRuns::of(query.include_voided, succeeded),
        since: query.since,
        before: query.before,
        after,
        ..Filter::default()
    }
}

fn metric(column: Metrics) -> Expr {
    Expr::col((Metrics::Table, column))
}

/// One metric of those runs of a piece that have it.
fn select_points(
    lane: &Lane<'_>,
    piece: Piece,
    key: &MetricKey,
    dim: Option<&DimKey>,
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
    let mut select = lane.select(piece);
    select
        .columns(head_columns())
        .columns(values.map(|column| (Metrics::Table, column).into_column_ref()))
        .inner_join(Metrics::Table, of_run);
    select
}

/// How many dimensions of `key` the series ever had, of which two are enough to know.
fn count_dims(series: &Series, key: &MetricKey) -> Expr {
    let mut some = Query::select();
    some.column((SeriesMetrics::Table, SeriesMetrics::DimKey))
        .from(SeriesMetrics::Table)
        .cond_where(catalog::is_series(series))
        .and_where(Expr::col((SeriesMetrics::Table, SeriesMetrics::MetricKey)).eq(key.as_str()))
        .limit(2);
    let mut count = Query::select();
    count
        .expr(Func::count(Expr::col(SeriesMetrics::DimKey)))
        .from_subquery(some, Alias::new("some"));
    count.into()
}

/// The selected metrics of `heads`, within `spans` if there are any.
fn select_values(
    selection: &MetricSelection,
    spans: &[Span<'_>],
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
    if !spans.is_empty() {
        let any = spans.iter().map(Span::condition);
        select.cond_where(any.fold(Cond::any(), Condition::add));
    } else if !selection.keys.is_empty() {
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
