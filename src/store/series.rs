//! Lists of series, each with the newest value of its metrics.
//!
//! Everything in them but the dates of a series stands in the catalogue, so a list reads no run.

use std::collections::BTreeMap;

use chrono::NaiveDateTime;
use sea_query::{Cond, Condition, Expr, ExprTrait, Order, Query, SelectStatement};
use sqlx::FromRow;

use super::catalog::{self, ListedRow, NewestValue};
use super::db::Session;
use super::details::{self, RunDetails};
use super::heads::{RowPlace, SeriesRow};
use super::schema::{Runs, SeriesMetrics, SeriesRepos};
use super::{Store, StoreError};
use crate::domain::{Arch, Branch, Distro, MetricName, Repo, RunDate, Series, Workload};

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

/// Which series and metrics a page holds.
#[derive(Clone, Debug)]
pub struct SeriesQuery {
    /// The series.
    pub filter: SeriesFilter,
    /// Where the last page ended.
    pub after: Option<SeriesPlace>,
    /// The most series of a page.
    pub limit: usize,
}

/// A place in the list of series, which is ordered by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesPlace {
    /// The last series that the page before has.
    pub series: Series,
    /// The last metric of it that the page before has, if the series has more.
    pub metric: Option<MetricName>,
}

/// Some series, in order.
///
/// A page may have fewer series than were asked for, or none, and still have a next one. A series whose
/// metrics do not fit on its page stands on the next page again, with the rest of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesPage {
    /// The series.
    pub series: Vec<SeriesSummary>,
    /// Where the next page begins, if there is one.
    pub next: Option<SeriesPlace>,
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
    /// The metrics that it ever had, ordered by name, or those of them that fit on the page.
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

/// Rows of the catalogue that a request examines to find its series.
const EXAMINED_REPOS: usize = 2_000;
/// Metrics of a page.
const MOST_METRICS: usize = 10_000;
/// Series that one statement asks for.
const SERIES_A_STATEMENT: usize = 50;

impl Store {
    /// The series that `query` asks for, with the newest value of each of their metrics.
    ///
    /// # Errors
    /// A database that does not answer.
    pub async fn series(&self, query: &SeriesQuery) -> Result<SeriesPage, StoreError> {
        self.retried("series", || async {
            let mut session = self.db.read().await?;
            session.begin_read().await?;
            let page = read(&mut session, query).await?;
            session.commit().await?;
            session.finish();
            Ok(page)
        })
        .await
    }
}

async fn read(session: &mut Session, query: &SeriesQuery) -> Result<SeriesPage, StoreError> {
    let Listed {
        mut series,
        mut end,
    } = list(session, query).await?;
    if series.len() > query.limit {
        series.truncate(query.limit);
        end = series.last().map(|entry| entry.series.clone());
    }
    let mut next = end.map(|series| SeriesPlace {
        series,
        metric: None,
    });
    let mut page = Vec::with_capacity(series.len());
    let mut room = MOST_METRICS;
    for some in series.chunks(SERIES_A_STATEMENT) {
        let dates = fetch_dates(session, some).await?;
        let mut metrics = Metrics::fetch(session, query, some, room).await?;
        for entry in some {
            // A series without a run has lost it since its row was read, which a snapshot excludes.
            let Some(&(first_run_date, last_run_date)) = dates.get(&entry.series) else {
                continue;
            };
            let (metrics, more) = metrics.take(&entry.series, room);
            room -= metrics.len();
            let last = metrics.last().map(|metric| metric.name.clone());
            page.push(SeriesSummary {
                series: entry.series.clone(),
                repos: entry.repos.clone(),
                run_count: entry.run_count,
                first_run_date,
                last_run_date,
                metrics,
            });
            if more || room == 0 {
                next = Some(SeriesPlace {
                    series: entry.series.clone(),
                    metric: last.filter(|_| more),
                });
                return Ok(SeriesPage { series: page, next });
            }
        }
    }
    Ok(SeriesPage { series: page, next })
}

/// A series with its repositories.
struct Entry {
    series: Series,
    repos: Vec<Repo>,
    run_count: i64,
}

/// Series of a page before they are cut to its length.
struct Listed {
    series: Vec<Entry>,
    /// The last series that was examined, if there are more behind it.
    end: Option<Series>,
}

/// Reads the series that follow the place of the query, and keeps those that pass the filter.
///
/// "After this place" is a range of the key for each of its columns: all rows with the same first
/// three names and a later fourth one, then all with the same first two and a later third one, and so
/// on. Each of these is a short way on every engine.
async fn list(session: &mut Session, query: &SeriesQuery) -> Result<Listed, StoreError> {
    let mut rows = Vec::new();
    for statement in select_repos(query) {
        let mut statement = statement;
        statement.limit((EXAMINED_REPOS + 1 - rows.len()) as u64);
        let more: Vec<RepoRow> = session.fetch_all(&statement).await?;
        rows.extend(more);
        if rows.len() > EXAMINED_REPOS {
            break;
        }
    }
    let is_cut = rows.len() > EXAMINED_REPOS;
    rows.truncate(EXAMINED_REPOS);
    let mut entries: Vec<Entry> = Vec::new();
    for row in rows {
        let (series, repo, run_count) = row.parse()?;
        match entries.last_mut() {
            Some(entry) if entry.series == series => {
                // A run that was replaced may have left a repository behind.
                if run_count > 0 {
                    entry.repos.push(repo);
                    entry.run_count += run_count;
                }
            }
            _ => entries.push(Entry {
                series,
                repos: Some(repo).filter(|_| run_count > 0).into_iter().collect(),
                run_count,
            }),
        }
    }
    // The last series may have more repositories, unless it is all that a request can read.
    if is_cut && entries.len() > 1 {
        entries.pop();
    }
    let end = entries
        .last()
        .filter(|_| is_cut)
        .map(|entry| entry.series.clone());
    entries.retain(|entry| query.filter.lets_pass(entry));
    Ok(Listed {
        series: entries,
        end,
    })
}

impl SeriesFilter {
    fn lets_pass(&self, entry: &Entry) -> bool {
        let Series {
            workload,
            branch,
            arch,
            distro,
        } = &entry.series;
        !entry.repos.is_empty()
            && self
                .workload
                .as_ref()
                .is_none_or(|wanted| wanted == workload)
            && self.branch.as_ref().is_none_or(|wanted| wanted == branch)
            && self.arch.as_ref().is_none_or(|wanted| wanted == arch)
            && self.distro.as_ref().is_none_or(|wanted| wanted == distro)
            && self
                .repo
                .as_ref()
                .is_none_or(|wanted| entry.repos.contains(wanted))
    }

    /// The columns of the key that the filter holds equal, from the first one on.
    fn prefix(&self) -> Vec<(SeriesRepos, &str)> {
        let columns = [
            (
                SeriesRepos::Workload,
                self.workload.as_ref().map(Workload::as_str),
            ),
            (
                SeriesRepos::Branch,
                self.branch.as_ref().map(Branch::as_str),
            ),
            (SeriesRepos::Arch, self.arch.as_ref().map(Arch::as_str)),
            (
                SeriesRepos::Distro,
                self.distro.as_ref().map(Distro::as_str),
            ),
        ];
        columns
            .into_iter()
            .map_while(|(column, text)| Some((column, text?)))
            .collect()
    }
}

/// The statements that together read the rows after the place of the query, in order.
fn select_repos(query: &SeriesQuery) -> Vec<SelectStatement> {
    let prefix = query.filter.prefix();
    let from = |equal: &[(SeriesRepos, &str)]| {
        let key = [
            SeriesRepos::Workload,
            SeriesRepos::Branch,
            SeriesRepos::Arch,
            SeriesRepos::Distro,
            SeriesRepos::Repo,
        ];
        let mut select = Query::select();
        select
            .columns(key.into_iter().chain([SeriesRepos::RunCount]))
            .from(SeriesRepos::Table);
        for (column, text) in equal {
            select.and_where(Expr::col(*column).eq(*text));
        }
        for column in key {
            select.order_by(column, Order::Asc);
        }
        select
    };
    let Some(place) = &query.after else {
        return vec![from(&prefix)];
    };
    let series = &place.series;
    let key = [
        (SeriesRepos::Workload, series.workload.as_str()),
        (SeriesRepos::Branch, series.branch.as_str()),
        (SeriesRepos::Arch, series.arch.as_str()),
        (SeriesRepos::Distro, series.distro.as_str()),
    ];
    let mut statements = Vec::new();
    if place.metric.is_some() {
        statements.push(from(&key));
    }
    // What the filter holds equal is the same in every later series.
    for at in (prefix.len()..key.len()).rev() {
        let (column, text) = key[at];
        let mut select = from(&key[..at]);
        select.and_where(Expr::col(column).gt(text));
        statements.push(select);
    }
    statements
}

/// The dates of the oldest and the newest run of each of some series.
async fn fetch_dates(
    session: &mut Session,
    entries: &[Entry],
) -> Result<BTreeMap<Series, (RunDate, RunDate)>, StoreError> {
    let rows: Vec<DatesRow> = session.fetch_all(&select_dates(entries)).await?;
    rows.into_iter().map(DatesRow::parse).collect()
}

/// One row for each series: its first repository stands for it.
fn select_dates(entries: &[Entry]) -> SelectStatement {
    // One step into the index each: for a minimum, a server reads every run of the series.
    let end_date = |order| {
        let run = |column| Expr::col((Runs::Table, column));
        let mut select = Query::select();
        select
            .column((Runs::Table, Runs::RunDate))
            .from(Runs::Table)
            .and_where(details::column(RunDetails::VoidedAt).is_null())
            .and_where(run(Runs::Workload).equals((SeriesRepos::Table, SeriesRepos::Workload)))
            .and_where(run(Runs::Branch).equals((SeriesRepos::Table, SeriesRepos::Branch)))
            .and_where(run(Runs::Arch).equals((SeriesRepos::Table, SeriesRepos::Arch)))
            .and_where(run(Runs::Distro).equals((SeriesRepos::Table, SeriesRepos::Distro)))
            .order_by((Runs::Table, Runs::RunDate), order)
            .limit(1);
        details::join(&mut select);
        select
    };
    let mut any = Cond::any();
    for entry in entries {
        let column = |column| Expr::col((SeriesRepos::Table, column));
        let series = &entry.series;
        let one = Cond::all()
            .add(column(SeriesRepos::Workload).eq(series.workload.as_str()))
            .add(column(SeriesRepos::Branch).eq(series.branch.as_str()))
            .add(column(SeriesRepos::Arch).eq(series.arch.as_str()))
            .add(column(SeriesRepos::Distro).eq(series.distro.as_str()))
            .add(column(SeriesRepos::Repo).eq(entry.repos.first().map_or("", Repo::as_str)));
        any = any.add(one);
    }
    Query::select()
        .columns([
            SeriesRepos::Workload,
            SeriesRepos::Branch,
            SeriesRepos::Arch,
            SeriesRepos::Distro,
        ])
        .expr_as(end_date(Order::Asc), "first_run_date")
        .expr_as(end_date(Order::Desc), "last_run_date")
        .from(SeriesRepos::Table)
        .cond_where(any)
        .to_owned()
}

/// The metrics of some series, as far as they fit on a page.
struct Metrics(BTreeMap<Series, Vec<SeriesMetric>>);

impl Metrics {
    /// The metrics of `entries`, which follow one another: all of them, or at least `room` of the
    /// first ones and one more.
    async fn fetch(
        session: &mut Session,
        query: &SeriesQuery,
        entries: &[Entry],
        room: usize,
    ) -> Result<Self, StoreError> {
        let mut found = Self(BTreeMap::new());
        let continued = query.after.as_ref().and_then(|place| {
            let metric = place.metric.as_ref()?;
            Some((&place.series, metric)).filter(|(series, _)| *series == &entries[0].series)
        });
        let mut left = entries;
        if let Some((series, metric)) = continued {
            for statement in select_rest(series, metric) {
                found.add(session, statement, room + 1).await?;
            }
            left = &entries[1..];
        }
        // Without an order, the statement ends with the last row that it may give.
        let all = left.iter().fold(Cond::any(), |any, entry| {
            any.add(catalog::is_series(&entry.series))
        });
        if left.len() > 1 {
            found.add(session, select_listed(all), room + 1).await?;
        }
        if left.len() == 1 || found.count() > room {
            found
                .0
                .retain(|series, _| continued.is_some_and(|(own, _)| own == series));
            for entry in left {
                if found.count() > room {
                    break;
                }
                let statement = in_order(select_listed(catalog::is_series(&entry.series)));
                found.add(session, statement, room + 1).await?;
            }
        }
        for metrics in found.0.values_mut() {
            metrics.sort_by(|a, b| a.name.cmp(&b.name));
        }
        Ok(found)
    }

    /// Adds what `statement` finds, as long as there are fewer than `most`.
    async fn add(
        &mut self,
        session: &mut Session,
        mut statement: SelectStatement,
        most: usize,
    ) -> Result<(), StoreError> {
        let left = most.saturating_sub(self.count());
        if left == 0 {
            return Ok(());
        }
        statement.limit(left as u64);
        let rows: Vec<ListedRow> = session.fetch_all(&statement).await?;
        let at = RowPlace::of_series("series_metrics");
        for row in rows {
            let metric = SeriesMetric {
                name: row.name.parse(at)?,
                newest: row.newest.parse()?,
            };
            self.0
                .entry(row.series.parse(at)?)
                .or_default()
                .push(metric);
        }
        Ok(())
    }

    fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// The first `room` metrics of `series`, and whether it has more.
    fn take(&mut self, series: &Series, room: usize) -> (Vec<SeriesMetric>, bool) {
        let mut metrics = self.0.remove(series).unwrap_or_default();
        let more = metrics.len() > room;
        metrics.truncate(room);
        (metrics, more)
    }
}

fn select_listed(which: Condition) -> SelectStatement {
    let mut select = Query::select();
    select
        .columns(catalog::listed_columns())
        .from(SeriesMetrics::Table)
        .cond_where(which);
    select
}

fn in_order(mut select: SelectStatement) -> SelectStatement {
    select
        .order_by(SeriesMetrics::MetricKey, Order::Asc)
        .order_by(SeriesMetrics::DimKey, Order::Asc);
    select
}

/// The metrics of `series` after one of them: the later dimensions of its key, then the later keys.
fn select_rest(series: &Series, after: &MetricName) -> [SelectStatement; 2] {
    let key = || Expr::col((SeriesMetrics::Table, SeriesMetrics::MetricKey));
    let dim = Expr::col((SeriesMetrics::Table, SeriesMetrics::DimKey));
    let mut dims = in_order(select_listed(catalog::is_series(series)));
    dims.and_where(key().eq(after.metric_key.as_str()))
        .and_where(dim.gt(after.dim_key.as_str()));
    let mut keys = in_order(select_listed(catalog::is_series(series)));
    keys.and_where(key().gt(after.metric_key.as_str()));
    [dims, keys]
}

#[derive(FromRow)]
struct RepoRow {
    #[sqlx(flatten)]
    series: SeriesRow,
    repo: String,
    run_count: i64,
}

impl RepoRow {
    fn parse(self) -> Result<(Series, Repo, i64), StoreError> {
        let at = RowPlace::of_series("series_repos");
        let series = self.series.parse(at)?;
        Ok((series, at.parse("repo", self.repo)?, self.run_count))
    }
}

#[derive(FromRow)]
struct DatesRow {
    #[sqlx(flatten)]
    series: SeriesRow,
    first_run_date: Option<NaiveDateTime>,
    last_run_date: Option<NaiveDateTime>,
}

impl DatesRow {
    fn parse(self) -> Result<(Series, (RunDate, RunDate)), StoreError> {
        let at = RowPlace::of_series("series_repos");
        let series = self.series.parse(at)?;
        // A run that is counted and not there is a fault of the catalogue.
        let date = |column, date: Option<NaiveDateTime>| {
            at.parse::<NaiveDateTime, RunDate>(column, date.unwrap_or_default())
        };
        let first = date("first_run_date", self.first_run_date)?;
        let last = date("last_run_date", self.last_run_date)?;
        Ok((series, (first, last)))
    }
}
