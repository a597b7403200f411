//! Which series there are and which metrics each ever had, kept beside the runs.

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;

use sea_query::{Expr, ExprTrait, InsertStatement, OnConflict, Query, SelectStatement};
use sha2::{Digest, Sha256};

use super::StoreError;
use super::db::Session;
use super::heads::{NameRow, RowPlace};
use super::record::ROWS_A_STATEMENT;
use super::schema::{SeriesMetrics, SeriesRepos};
use crate::domain::{DimKey, MetricKey, MetricName, Repo, Run, Series};

/// Metrics of series that the catalog is known to hold, so that an upload need not write them.
///
/// Rows of the catalog are never taken away, so what was seen committed stays true. A forgotten
/// entry only costs a write that changes nothing.
#[derive(Default)]
pub(super) struct KnownMetrics(Mutex<HashSet<Fingerprint>>);

type Fingerprint = [u8; 16];

/// Sixteen bytes each: four megabytes at the most.
const MOST_KNOWN: usize = 250_000;

fn fingerprint(series: &Series, name: &MetricName) -> Fingerprint {
    let mut hash = Sha256::new();
    let parts = [
        series.workload.as_str(),
        series.branch.as_str(),
        series.arch.as_str(),
        series.distro.as_str(),
        name.metric_key.as_str(),
        name.dim_key.as_str(),
    ];
    for part in parts {
        hash.update(part);
        // No name holds a control character, so nothing else reads as this.
        hash.update([0]);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut short = Fingerprint::default();
    short.copy_from_slice(&digest[..16]);
    short
}

impl KnownMetrics {
    /// The metrics of `run` that the catalog may not hold yet.
    pub(super) fn unknown<'r>(&self, run: &'r Run) -> Vec<(Fingerprint, &'r MetricName)> {
        let known = self.lock();
        run.metrics
            .iter()
            .map(|metric| (fingerprint(&run.series, &metric.name), &metric.name))
            .filter(|(print, _)| !known.contains(print))
            .collect()
    }

    /// Notes what a committed transaction wrote.
    pub(super) fn learn(&self, written: impl IntoIterator<Item = Fingerprint>) {
        let mut known = self.lock();
        if known.len() > MOST_KNOWN {
            known.clear();
        }
        known.extend(written);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<Fingerprint>> {
        // A set of prints is never left half changed by a panic.
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What a transaction will have added to the catalog once it is committed.
#[derive(Default)]
pub(super) struct CatalogChanges {
    run_counts: BTreeMap<(Series, Repo), i64>,
    seen: Option<(Series, Repo)>,
    written: Vec<Fingerprint>,
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

    /// Writes the metrics of `run` that are new to the catalog.
    pub(super) async fn add_metrics(
        &mut self,
        session: &mut Session,
        known: &KnownMetrics,
        run: &Run,
    ) -> Result<(), StoreError> {
        let unknown = known.unknown(run);
        for rows in unknown.chunks(ROWS_A_STATEMENT) {
            let names = rows.iter().map(|(_, name)| *name);
            session.execute(&insert_metrics(&run.series, names)).await?;
        }
        self.written
            .extend(unknown.into_iter().map(|(print, _)| print));
        Ok(())
    }

    /// Writes the counts: last, for their rows are the ones that uploads of one series share.
    pub(super) async fn write_counts(&self, session: &mut Session) -> Result<(), StoreError> {
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

    /// The transaction is committed.
    pub(super) fn committed(self, known: &KnownMetrics) {
        known.learn(self.written);
    }
}

/// Writes, and takes it back, so that the commit waits for the disk.
///
/// A server shows a commit to others before it is on disk. Whoever found a run there and wrote
/// nothing would answer for a run that a crash of the server may yet take; a log is written in
/// order, so that waiting for a later write is waiting for that run.
async fn settle(session: &mut Session, series: &Series, repo: &Repo) -> Result<(), StoreError> {
    session.execute(&add_runs(series, repo, 1)).await?;
    session.execute(&add_runs(series, repo, -1)).await?;
    Ok(())
}

fn insert_metrics<'a>(
    series: &Series,
    names: impl Iterator<Item = &'a MetricName>,
) -> InsertStatement {
    let columns = [
        SeriesMetrics::Workload,
        SeriesMetrics::Branch,
        SeriesMetrics::Arch,
        SeriesMetrics::Distro,
        SeriesMetrics::MetricKey,
        SeriesMetrics::DimKey,
    ];
    // Writing a column onto itself leaves the row as it is, on every engine.
    let same = Expr::col((SeriesMetrics::Table, SeriesMetrics::DimKey));
    let mut insert = Query::insert();
    insert
        .into_table(SeriesMetrics::Table)
        .columns(columns)
        .on_conflict(
            OnConflict::columns(columns)
                .value(SeriesMetrics::DimKey, same)
                .to_owned(),
        );
    for name in names {
        insert.values_panic([
            series.workload.as_str().into(),
            series.branch.as_str().into(),
            series.arch.as_str().into(),
            series.distro.as_str().into(),
            name.metric_key.as_str().into(),
            name.dim_key.as_str().into(),
        ]);
    }
    insert
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

/// The catalog's rows of one series.
pub(super) fn of_series(select: &mut SelectStatement, series: &Series) {
    let column = |column| Expr::col((SeriesMetrics::Table, column));
    select
        .from(SeriesMetrics::Table)
        .and_where(column(SeriesMetrics::Workload).eq(series.workload.as_str()))
        .and_where(column(SeriesMetrics::Branch).eq(series.branch.as_str()))
        .and_where(column(SeriesMetrics::Arch).eq(series.arch.as_str()))
        .and_where(column(SeriesMetrics::Distro).eq(series.distro.as_str()));
}

/// The metrics that `series` ever had, of the keys and dimensions asked for; none means all.
pub(super) async fn metric_names(
    session: &mut Session,
    series: &Series,
    keys: &[MetricKey],
    dims: &[DimKey],
) -> Result<Vec<MetricName>, StoreError> {
    let mut select = Query::select();
    select.columns([SeriesMetrics::MetricKey, SeriesMetrics::DimKey]);
    of_series(&mut select, series);
    if !keys.is_empty() {
        let keys = keys.iter().map(MetricKey::as_str);
        select.and_where(Expr::col(SeriesMetrics::MetricKey).is_in(keys));
    }
    if !dims.is_empty() {
        let dims = dims.iter().map(DimKey::as_str);
        select.and_where(Expr::col(SeriesMetrics::DimKey).is_in(dims));
    }
    let rows: Vec<NameRow> = session.fetch_all(&select).await?;
    let at = RowPlace::of_series("series_metrics");
    rows.into_iter().map(|row| row.parse(at)).collect()
}
