//! Every series at a glance.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDateTime;
use sea_query::{Expr, ExprTrait, Func, Query, SelectStatement};
use sqlx::FromRow;

use super::db::{Session, ValueColumn};
use super::heads::{Filter, NameRow, RUNS_A_STATEMENT, RowPlace, SeriesRow, newest_first};
use super::schema::{Metrics, Runs, SeriesMetrics, SeriesRepos};
use super::{RunId, Store, StoreError};
use crate::domain::{Arch, Branch, Distro, MetricName, Repo, RunDate, Series, Value, Workload};

/// Which series to list. What is absent narrows nothing.
#[derive(Clone, Debug, Default)]
pub struct SeriesFilter {
    /// Part of the series.
    pub workload: Option<Workload>,
    /// Part of the series.
    pub branch: Option<Branch>,
    /// Part of the series.
    pub arch: Option<Arch>,
    /// Part of the series.
    pub distro: Option<Distro>,
    /// Series that have a run of this repository.
    pub repo: Option<Repo>,
}

/// A series and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesSummary {
    /// The series.
    pub series: Series,
    /// The repositories that its runs are of, in order.
    pub repos: Vec<Repo>,
    /// All its runs: live and reference, succeeded and failed.
    pub run_count: i64,
    /// The oldest run's date.
    pub first_run_date: RunDate,
    /// The newest run's date.
    pub last_run_date: RunDate,
    /// The metrics that it ever had, ordered by name.
    pub metrics: Vec<SeriesMetric>,
}

/// A metric of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesMetric {
    /// The metric.
    pub name: MetricName,
    /// Its value in the newest run that succeeded and has it; `None` where only failed runs do.
    pub newest: Option<NewestValue>,
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

impl Store {
    /// The series that pass `filter`, in order.
    ///
    /// # Errors
    /// A database that does not answer.
    pub async fn series(&self, filter: &SeriesFilter) -> Result<Vec<SeriesSummary>, StoreError> {
        self.retried("series", || async {
            let mut session = self.db.read().await?;
            session.begin_read().await?;
            let summaries = read(&mut session, filter).await?;
            session.commit().await?;
            session.finish();
            Ok(summaries)
        })
        .await
    }
}

/// Series by series from the catalog; dates and the newest run of each off the index; the values of
/// the newest runs together, and one by one only what the newest run does not have.
async fn read(
    session: &mut Session,
    filter: &SeriesFilter,
) -> Result<Vec<SeriesSummary>, StoreError> {
    let mut summaries: BTreeMap<Series, SeriesSummary> = BTreeMap::new();
    let mut newest_runs: BTreeMap<Series, Option<RunId>> = BTreeMap::new();
    let rows: Vec<SummaryRow> = session.fetch_all(&select_series(filter)).await?;
    for row in rows {
        let newest_run = row.newest_run;
        let summary = SeriesSummary::try_from(row)?;
        newest_runs.insert(summary.series.clone(), newest_run);
        merge(&mut summaries, summary);
    }
    let values = fetch_values(session, newest_runs.values().copied().flatten().collect()).await?;
    let names: Vec<CatalogRow> = session.fetch_all(&select_metrics(filter)).await?;
    for row in names {
        let (series, name) = row.split()?;
        let Some(summary) = summaries.get_mut(&series) else {
            continue;
        };
        let newest_run = newest_runs.get(&series).copied().flatten();
        let in_newest = newest_run.and_then(|run| values.get(&(run, name.clone())).copied());
        let newest = match in_newest {
            Some(value) => Some(value),
            None => fetch_newest(session, &series, &name).await?,
        };
        summary.metrics.push(SeriesMetric { name, newest });
    }
    let mut summaries: Vec<SeriesSummary> = summaries.into_values().collect();
    for summary in &mut summaries {
        summary.metrics.sort_by(|a, b| a.name.cmp(&b.name));
    }
    if let Some(repo) = &filter.repo {
        summaries.retain(|summary| summary.repos.contains(repo));
    }
    Ok(summaries)
}

/// The catalog has a row for each repository of a series.
fn merge(summaries: &mut BTreeMap<Series, SeriesSummary>, row: SeriesSummary) {
    match summaries.get_mut(&row.series) {
        Some(summary) => {
            summary.run_count += row.run_count;
            summary.repos.extend(row.repos);
            summary.repos.sort();
        }
        None => {
            summaries.insert(row.series.clone(), row);
        }
    }
}

fn narrow(select: &mut SelectStatement, filter: &SeriesFilter, columns: [Expr; 4]) {
    let texts = [
        filter.workload.as_ref().map(Workload::as_str),
        filter.branch.as_ref().map(Branch::as_str),
        filter.arch.as_ref().map(Arch::as_str),
        filter.distro.as_ref().map(Distro::as_str),
    ];
    for (column, text) in columns.into_iter().zip(texts) {
        if let Some(text) = text {
            select.and_where(column.eq(text));
        }
    }
}

/// The runs of the catalog row that the statement around it is at.
fn runs_of_series() -> SelectStatement {
    let run = |column| Expr::col((Runs::Table, column));
    Query::select()
        .from(Runs::Table)
        .and_where(run(Runs::Workload).equals((SeriesRepos::Table, SeriesRepos::Workload)))
        .and_where(run(Runs::Branch).equals((SeriesRepos::Table, SeriesRepos::Branch)))
        .and_where(run(Runs::Arch).equals((SeriesRepos::Table, SeriesRepos::Arch)))
        .and_where(run(Runs::Distro).equals((SeriesRepos::Table, SeriesRepos::Distro)))
        .to_owned()
}

fn select_series(filter: &SeriesFilter) -> SelectStatement {
    let date = || Expr::col((Runs::Table, Runs::RunDate));
    let first = runs_of_series().expr(Func::min(date())).to_owned();
    let last = runs_of_series().expr(Func::max(date())).to_owned();
    let mut newest = runs_of_series();
    newest
        .column((Runs::Table, Runs::RunId))
        .and_where(Expr::col((Runs::Table, Runs::Succeeded)).eq(true))
        .limit(1);
    newest_first(&mut newest);
    let mut select = Query::select();
    select
        .columns([
            SeriesRepos::Workload,
            SeriesRepos::Branch,
            SeriesRepos::Arch,
            SeriesRepos::Distro,
            SeriesRepos::Repo,
            SeriesRepos::RunCount,
        ])
        .expr_as(first, "first_run_date")
        .expr_as(last, "last_run_date")
        .expr_as(newest, "newest_run")
        .from(SeriesRepos::Table)
        // A run that was replaced may have left a repository behind.
        .and_where(Expr::col(SeriesRepos::RunCount).gt(0));
    let columns = [
        SeriesRepos::Workload,
        SeriesRepos::Branch,
        SeriesRepos::Arch,
        SeriesRepos::Distro,
    ];
    narrow(&mut select, filter, columns.map(Expr::col));
    select
}

fn select_metrics(filter: &SeriesFilter) -> SelectStatement {
    let series = [
        SeriesMetrics::Workload,
        SeriesMetrics::Branch,
        SeriesMetrics::Arch,
        SeriesMetrics::Distro,
    ];
    let mut select = Query::select();
    select
        .columns(series)
        .columns([SeriesMetrics::MetricKey, SeriesMetrics::DimKey])
        .from(SeriesMetrics::Table);
    narrow(&mut select, filter, series.map(Expr::col));
    select
}

/// The values of all metrics of `runs`.
async fn fetch_values(
    session: &mut Session,
    runs: BTreeSet<RunId>,
) -> Result<BTreeMap<(RunId, MetricName), NewestValue>, StoreError> {
    let runs: Vec<RunId> = runs.into_iter().collect();
    let mut values = BTreeMap::new();
    for some in runs.chunks(RUNS_A_STATEMENT) {
        let mut select = select_values();
        select.and_where(Expr::col((Metrics::Table, Metrics::RunId)).is_in(some.iter().copied()));
        let rows: Vec<ValueRow> = session.fetch_all(&select).await?;
        for row in rows {
            let (name, value) = row.split()?;
            values.insert((value.run_id, name), value);
        }
    }
    Ok(values)
}

/// The newest value of one metric, wherever in the series it is.
async fn fetch_newest(
    session: &mut Session,
    series: &Series,
    name: &MetricName,
) -> Result<Option<NewestValue>, StoreError> {
    let filter = Filter {
        series: series.into(),
        succeeded: Some(true),
        ..Filter::default()
    };
    let metric = |column| Expr::col((Metrics::Table, column));
    let mut select = select_values();
    select
        .cond_where(filter.condition())
        .and_where(metric(Metrics::MetricKey).eq(name.metric_key.as_str()))
        .and_where(metric(Metrics::DimKey).eq(name.dim_key.as_str()))
        .limit(1);
    newest_first(&mut select);
    let rows: Vec<ValueRow> = session.fetch_all(&select).await?;
    let newest = rows.into_iter().next().map(ValueRow::split).transpose()?;
    Ok(newest.map(|(_, value)| value))
}

fn select_values() -> SelectStatement {
    let of_run = Expr::col((Metrics::Table, Metrics::RunId)).equals((Runs::Table, Runs::RunId));
    Query::select()
        .column((Runs::Table, Runs::RunId))
        .column((Runs::Table, Runs::RunDate))
        .column((Metrics::Table, Metrics::MetricKey))
        .column((Metrics::Table, Metrics::DimKey))
        .column((Metrics::Table, Metrics::Value))
        .column((Metrics::Table, Metrics::Wallclock))
        .from(Runs::Table)
        .inner_join(Metrics::Table, of_run)
        .to_owned()
}

/// A row of the catalog, with what the runs say of it.
#[derive(FromRow)]
struct SummaryRow {
    #[sqlx(flatten)]
    series: SeriesRow,
    repo: String,
    run_count: i64,
    first_run_date: NaiveDateTime,
    last_run_date: NaiveDateTime,
    newest_run: Option<i64>,
}

impl TryFrom<SummaryRow> for SeriesSummary {
    type Error = StoreError;

    fn try_from(row: SummaryRow) -> Result<Self, StoreError> {
        let at = RowPlace::of_series("series_repos");
        Ok(Self {
            series: row.series.parse(at)?,
            repos: vec![at.parse("repo", row.repo)?],
            run_count: row.run_count,
            first_run_date: at.parse("first_run_date", row.first_run_date)?,
            last_run_date: at.parse("last_run_date", row.last_run_date)?,
            metrics: Vec::new(),
        })
    }
}

#[derive(FromRow)]
struct CatalogRow {
    #[sqlx(flatten)]
    series: SeriesRow,
    #[sqlx(flatten)]
    name: NameRow,
}

impl CatalogRow {
    fn split(self) -> Result<(Series, MetricName), StoreError> {
        let at = RowPlace::of_series("series_metrics");
        Ok((self.series.parse(at)?, self.name.parse(at)?))
    }
}

#[derive(FromRow)]
struct ValueRow {
    run_id: i64,
    run_date: NaiveDateTime,
    #[sqlx(flatten)]
    name: NameRow,
    value: ValueColumn,
    wallclock: bool,
}

impl ValueRow {
    fn split(self) -> Result<(MetricName, NewestValue), StoreError> {
        let at = RowPlace::of_run("metrics", self.run_id);
        let value = NewestValue {
            run_id: self.run_id,
            run_date: at.parse("run_date", self.run_date)?,
            value: self.value.0,
            wallclock: self.wallclock,
        };
        Ok((self.name.parse(at)?, value))
    }
}
