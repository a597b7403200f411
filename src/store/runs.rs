//! Runs by their id, and lists of runs.

use std::collections::HashMap;

use sea_query::{Expr, ExprTrait, Order, Query, SelectStatement};
use sqlx::FromRow;

use super::db::{Session, ValueColumn};
use super::details;
use super::heads::{
    Filter, HeadRow, NameRow, Position, RowPlace, RunHead, SeriesColumns, TagFilter, VoidedRuns,
    head_columns,
};
use super::lanes::{Budget, End, Lane};
use super::schema::{Metrics, Runs};
use super::{RunId, Store, StoreError};
use crate::domain::{
    Arch, Branch, CommitSha, DateBound, Distro, HostClass, Metric, Pipeline, Repo, Workload,
};

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRun {
    /// All but the metrics.
    pub head: RunHead,
    /// The metrics, ordered by name.
    pub metrics: Vec<Metric>,
}

/// Which runs to list. What is absent narrows nothing.
#[derive(Clone, Debug)]
pub struct RunQuery {
    /// The commit.
    pub commit_sha: Option<CommitSha>,
    /// Part of the series.
    pub workload: Option<Workload>,
    /// Part of the series.
    pub branch: Option<Branch>,
    /// Part of the series.
    pub arch: Option<Arch>,
    /// Part of the series.
    pub distro: Option<Distro>,
    /// The tags.
    pub tag: TagFilter,
    /// The repository.
    pub repo: Option<Repo>,
    /// The pipeline.
    pub pipeline: Option<Pipeline>,
    /// The class of hosts.
    pub host_class: Option<HostClass>,
    /// Runs on or after this date.
    pub since: Option<DateBound>,
    /// Runs before this date.
    pub before: Option<DateBound>,
    /// Whether they succeeded.
    pub succeeded: Option<bool>,
    /// Whether runs that were taken back count.
    pub include_voided: bool,
    /// The name (`sub`) or the id (`jti`) of the token that uploaded them.
    pub uploaded_by: Option<String>,
    /// Runs that were uploaded on or after this date.
    pub uploaded_since: Option<DateBound>,
    /// In which order.
    pub order: RunOrder,
    /// Where the last page ended.
    pub after: Option<Position>,
    /// The most runs of a page.
    pub limit: usize,
}

/// The order of a list of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunOrder {
    /// By their place in history, the newest first.
    #[default]
    Newest,
    /// By their id: what was stored first comes first, and what is stored later comes last.
    Stored,
}

/// Some runs, in the order that was asked for.
///
/// A page may have fewer runs than were asked for, or none, and still have a next one: a request
/// examines a bounded number of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPage<R> {
    /// The runs.
    pub runs: Vec<R>,
    /// Where the next page begins, if there is one.
    pub next: Option<Position>,
}

/// Runs of a page whose metrics one statement reads: at their largest, a hundred thousand rows.
const WHOLE_RUNS_A_STATEMENT: usize = 10;
/// A page of whole runs ends once it holds as many metrics.
const ENOUGH_METRICS: usize = 50_000;

impl Store {
    /// The run that was given `run_id`.
    ///
    /// # Errors
    /// A database that does not answer.
    pub async fn run(&self, run_id: RunId) -> Result<Option<StoredRun>, StoreError> {
        self.retried("run", || async {
            let mut session = self.db.read().await?;
            session.begin_read().await?;
            let run = fetch_run(&mut session, run_id).await?;
            session.commit().await?;
            session.finish();
            Ok(run)
        })
        .await
    }

    /// The runs that `query` asks for, without their metrics.
    ///
    /// # Errors
    /// A database that does not answer.
    pub async fn runs(&self, query: &RunQuery) -> Result<RunPage<RunHead>, StoreError> {
        self.retried("runs", || async {
            let mut session = self.db.read().await?;
            session.begin_read().await?;
            let page = fetch_page(&mut session, query).await?;
            session.commit().await?;
            session.finish();
            Ok(page)
        })
        .await
    }

    /// The runs that `query` asks for, whole. A page ends early once it holds many metrics, but
    /// never before its first run.
    ///
    /// # Errors
    /// A database that does not answer.
    pub async fn whole_runs(&self, query: &RunQuery) -> Result<RunPage<StoredRun>, StoreError> {
        self.retried("whole_runs", || async {
            let mut session = self.db.read().await?;
            session.begin_read().await?;
            let heads = fetch_page(&mut session, query).await?;
            let page = with_metrics(&mut session, heads).await?;
            session.commit().await?;
            session.finish();
            Ok(page)
        })
        .await
    }
}

async fn fetch_page(
    session: &mut Session,
    query: &RunQuery,
) -> Result<RunPage<RunHead>, StoreError> {
    let filter = query.filter();
    let lane = Lane::choose(session, &filter, query.order).await?;
    // One more than the page holds tells whether there is another page.
    let found = lane
        .heads(session, query.limit + 1, &mut Budget::new())
        .await?;
    let mut runs = found.rows;
    runs.truncate(query.limit);
    let next = match found.end {
        End::Enough => runs.last().map(RunHead::position),
        End::Lane => None,
        End::Examined(place) => Some(place),
    };
    Ok(RunPage { runs, next })
}

/// Puts the metrics to their runs, a few runs at a time, until there are enough.
async fn with_metrics(
    session: &mut Session,
    page: RunPage<RunHead>,
) -> Result<RunPage<StoredRun>, StoreError> {
    let mut whole = RunPage {
        runs: Vec::with_capacity(page.runs.len()),
        next: page.next,
    };
    let mut heads = page.runs.into_iter().peekable();
    let mut count = 0;
    while heads.peek().is_some() && count < ENOUGH_METRICS {
        let some: Vec<RunHead> = heads.by_ref().take(WHOLE_RUNS_A_STATEMENT).collect();
        let mut metrics = fetch_metrics_of(session, &some).await?;
        for head in some {
            let metrics = metrics.remove(&head.run_id).unwrap_or_default();
            count += metrics.len();
            whole.runs.push(StoredRun { head, metrics });
        }
    }
    if heads.peek().is_some() {
        whole.next = whole.runs.last().map(|run| run.head.position());
    }
    Ok(whole)
}

impl RunQuery {
    /// The newest `limit` runs, those that were taken back left out.
    pub fn newest(limit: usize) -> Self {
        Self {
            commit_sha: None,
            workload: None,
            branch: None,
            arch: None,
            distro: None,
            tag: TagFilter::Any,
            repo: None,
            pipeline: None,
            host_class: None,
            since: None,
            before: None,
            succeeded: None,
            include_voided: false,
            uploaded_by: None,
            uploaded_since: None,
            order: RunOrder::Newest,
            after: None,
            limit,
        }
    }

    fn filter(&self) -> Filter<'_> {
        Filter {
            series: SeriesColumns {
                workload: self.workload.as_ref().map(Workload::as_str),
                branch: self.branch.as_ref().map(Branch::as_str),
                arch: self.arch.as_ref().map(Arch::as_str),
                distro: self.distro.as_ref().map(Distro::as_str),
            },
            commit_sha: self.commit_sha.as_ref(),
            repo: self.repo.as_ref(),
            host_class: self.host_class.as_ref(),
            pipeline: self.pipeline.as_ref(),
            tag: Some(&self.tag),
            succeeded: self.succeeded,
            voided: VoidedRuns::of(self.include_voided, self.succeeded),
            uploaded_by: self.uploaded_by.as_deref(),
            uploaded_since: self.uploaded_since,
            since: self.since,
            before: self.before,
            dated: None,
            after: self.after.filter(|_| self.order == RunOrder::Newest),
            stored_after: self
                .after
                .filter(|_| self.order == RunOrder::Stored)
                .map(|position| position.run_id),
        }
    }
}

/// The run that was given `run_id`, whole.
pub(super) async fn fetch_run(
    session: &mut Session,
    run_id: RunId,
) -> Result<Option<StoredRun>, StoreError> {
    let rows: Vec<HeadRow> = session.fetch_all(&select_head(run_id)).await?;
    let Some(row) = rows.into_iter().next() else {
        return Ok(None);
    };
    let head = RunHead::try_from(row)?;
    let metrics = fetch_metrics(session, run_id).await?;
    Ok(Some(StoredRun { head, metrics }))
}

fn select_head(run_id: RunId) -> SelectStatement {
    let mut select = Query::select();
    select
        .columns(head_columns())
        .from(Runs::Table)
        .and_where(Expr::col((Runs::Table, Runs::RunId)).eq(run_id));
    details::join(&mut select);
    select
}

#[derive(FromRow)]
struct MetricRow {
    run_id: i64,
    #[sqlx(flatten)]
    name: NameRow,
    value: ValueColumn,
    wallclock: bool,
}

/// The metrics of one run, ordered by name.
pub(super) async fn fetch_metrics(
    session: &mut Session,
    run_id: RunId,
) -> Result<Vec<Metric>, StoreError> {
    let mut found = fetch_metrics_by_run(session, &[run_id]).await?;
    Ok(found.remove(&run_id).unwrap_or_default())
}

async fn fetch_metrics_of(
    session: &mut Session,
    heads: &[RunHead],
) -> Result<HashMap<RunId, Vec<Metric>>, StoreError> {
    let ids: Vec<RunId> = heads.iter().map(|head| head.run_id).collect();
    fetch_metrics_by_run(session, &ids).await
}

/// The metrics of each of some runs, ordered by name.
async fn fetch_metrics_by_run(
    session: &mut Session,
    run_ids: &[RunId],
) -> Result<HashMap<RunId, Vec<Metric>>, StoreError> {
    let rows: Vec<MetricRow> = session.fetch_all(&select_metrics(run_ids)).await?;
    let mut found: HashMap<RunId, Vec<Metric>> = HashMap::with_capacity(run_ids.len());
    for row in rows {
        let at = RowPlace::of_run("metrics", row.run_id);
        found.entry(row.run_id).or_default().push(Metric {
            name: row.name.parse(at)?,
            value: row.value.0,
            wallclock: row.wallclock,
        });
    }
    Ok(found)
}

fn select_metrics(run_ids: &[RunId]) -> SelectStatement {
    Query::select()
        .columns([
            Metrics::RunId,
            Metrics::MetricKey,
            Metrics::DimKey,
            Metrics::Value,
            Metrics::Wallclock,
        ])
        .from(Metrics::Table)
        .and_where(Expr::col(Metrics::RunId).is_in(run_ids.iter().copied()))
        .order_by(Metrics::RunId, Order::Asc)
        .order_by(Metrics::MetricKey, Order::Asc)
        .order_by(Metrics::DimKey, Order::Asc)
        .to_owned()
}
