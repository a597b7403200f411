//! Runs by their id, and lists of runs.

use sea_query::{Expr, ExprTrait, Order, Query, SelectStatement};
use sqlx::FromRow;

use super::db::{Session, ValueColumn};
use super::heads::{
    Filter, HeadRow, NameRow, Position, RowPlace, RunHead, SeriesColumns, TagFilter, head_columns,
    select_heads,
};
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
    /// Where the last page ended.
    pub after: Option<Position>,
    /// The most runs of a page.
    pub limit: usize,
}

/// Some runs, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<RunHead>,
    /// Where the next page begins, if there is one.
    pub next: Option<Position>,
}

impl Store {
    /// The run that was given `run_id`.
    ///
    /// # Errors
    /// A database that does not answer.
    pub async fn run(&self, run_id: RunId) -> Result<Option<StoredRun>, StoreError> {
        self.retried("run", || async {
            let mut session = self.db.read().await?;
            session.begin_read().await?;
            let rows: Vec<HeadRow> = session.fetch_all(&select_head(run_id)).await?;
            let metrics = fetch_metrics(&mut session, run_id).await?;
            session.commit().await?;
            session.finish();
            let head = rows.into_iter().next().map(RunHead::try_from).transpose()?;
            Ok(head.map(|head| StoredRun { head, metrics }))
        })
        .await
    }

    /// The runs that `query` asks for, newest first.
    ///
    /// # Errors
    /// A database that does not answer.
    pub async fn runs(&self, query: &RunQuery) -> Result<RunPage, StoreError> {
        self.retried("runs", || async {
            let mut session = self.db.read().await?;
            // One more than the page holds tells whether there is another page.
            let statement = select_heads(&query.filter(), query.limit as u64 + 1);
            let rows: Vec<HeadRow> = session.fetch_all(&statement).await?;
            session.finish();
            let heads: Result<Vec<RunHead>, _> = rows.into_iter().map(RunHead::try_from).collect();
            Ok(page(heads?, query.limit))
        })
        .await
    }
}

fn page(mut runs: Vec<RunHead>, limit: usize) -> RunPage {
    let more = runs.len() > limit;
    runs.truncate(limit);
    let next = runs.last().filter(|_| more).map(RunHead::position);
    RunPage { runs, next }
}

impl RunQuery {
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
            succeeded: None,
            since: self.since,
            before: self.before,
            after: self.after,
        }
    }
}

fn select_head(run_id: RunId) -> SelectStatement {
    Query::select()
        .columns(head_columns())
        .from(Runs::Table)
        .and_where(Expr::col(Runs::RunId).eq(run_id))
        .to_owned()
}

#[derive(FromRow)]
struct MetricRow {
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
    let select = Query::select()
        .columns([
            Metrics::MetricKey,
            Metrics::DimKey,
            Metrics::Value,
            Metrics::Wallclock,
        ])
        .from(Metrics::Table)
        .and_where(Expr::col(Metrics::RunId).eq(run_id))
        .order_by(Metrics::MetricKey, Order::Asc)
        .order_by(Metrics::DimKey, Order::Asc)
        .to_owned();
    let rows: Vec<MetricRow> = session.fetch_all(&select).await?;
    let at = RowPlace::of_run("metrics", run_id);
    rows.into_iter()
        .map(|row| {
            Ok(Metric {
                name: row.name.parse(at)?,
                value: row.value.0,
                wallclock: row.wallclock,
            })
        })
        .collect()
}
