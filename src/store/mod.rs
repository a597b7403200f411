//! Keeps runs and answers for them. The only place that names `sqlx` or `sea-query`.
//!
//! [`Store`] has whole use cases as methods, one transaction each, but that uploads
//! which wait for the database share one. The statements are written once,
//! with `sea-query`, and go out in one of three ways that `db` alone tells apart: bound to SQLite,
//! bound to a server of MySQL's protocol, or as plain text for a server that cannot prepare.
//!
//! A use case that fails because the database was away, busy or restarting is tried again until its
//! time is up; every one of them may run twice without harm.

mod catalog;
mod database_url;
mod db;
mod details;
mod error;
mod file;
#[cfg(test)]
mod growth_tests;
mod heads;
mod history;
mod lanes;
mod migrate;
mod pool;
mod record;
mod runs;
mod schema;
mod series;
mod version;
mod void;
mod writer;

use std::future::Future;
use std::time::{Duration, Instant};

use backon::{ExponentialBuilder, Retryable};

use db::Db;
use version::Writes;
use writer::Writer;

pub use catalog::{NameRange, NewestValue};
pub use database_url::{DatabaseScheme, DatabaseUrl, DatabaseUrlError, redact};
pub use details::{Details, Signed, Voided};
pub use error::StoreError;
pub use heads::{Position, RunHead, TagFilter};
pub use history::{
    History, HistoryCursor, HistoryQuery, MAX_POINTS, MetricHistory, MetricPrint, MetricSelection,
    Point,
};
pub use record::{Conflict, FieldDifference, MetricDifference, Recorded, Writing};
pub use runs::{RunOrder, RunPage, RunQuery, StoredRun};
pub use series::{SeriesFilter, SeriesMetric, SeriesPage, SeriesPlace, SeriesQuery, SeriesSummary};
pub use void::Voiding;

/// The id that the store gave a run.
pub type RunId = i64;

/// How the store reaches its database.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// The most connections that are open at a time.
    pub connections: u32,
    /// How long one use case may take, its retries included.
    pub timeout: Duration,
}

/// The runs, their metrics and the questions asked of them.
#[derive(Clone)]
pub struct Store {
    db: Db,
    timeout: Duration,
    writer: Writer,
    writes: Writes,
}

/// The pool's connections, for the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolUse {
    /// Connections that are open.
    pub open: u32,
    /// Open connections that nobody uses.
    pub idle: u32,
    /// The most that may be open.
    pub limit: u32,
}

impl Store {
    /// A store on the database at `url`. Connects at the first use, not now.
    ///
    /// # Errors
    /// A SQLite folder that cannot be made, or TLS files that cannot be read.
    pub fn open(url: &DatabaseUrl, options: &StoreOptions) -> Result<Self, StoreError> {
        let db = Db::open(url, options)?;
        let writer = Writer::start(&db, options.timeout);
        Ok(Self {
            db,
            timeout: options.timeout,
            writer,
            writes: Writes::default(),
        })
    }

    /// Brings the schema up to date. Any number of services may do so at once.
    ///
    /// # Errors
    /// A database that cannot be reached, that a newer service has migrated, or whose migrations
    /// are not the ones of this binary.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        // Large, and a part of every future that opens a store.
        Box::pin(migrate::run(&self.db, self.timeout)).await?;
        self.ping().await
    }

    /// Checks that the schema is that of this binary, and changes nothing.
    ///
    /// # Errors
    /// A database that cannot be read, or whose schema is older or newer.
    pub async fn check_schema(&self) -> Result<(), StoreError> {
        migrate::check_only(&self.db, self.timeout).await
    }

    /// Whether the database can serve: it answers a read of a row, and takes writes.
    ///
    /// A node of a cluster that has lost its quorum still answers a ping, but no read.
    ///
    /// # Errors
    /// Why it cannot.
    pub async fn ping(&self) -> Result<(), StoreError> {
        within(self.timeout, self.db.check()).await
    }

    /// Closes every connection, once the use cases under way have ended. The last connection to a
    /// SQLite file writes its log into the file, which alone is then a whole backup.
    pub async fn close(&self) {
        self.db.close().await;
    }

    /// How many reads may be under way at a time, so that uploads and the readiness check always
    /// find a connection.
    pub fn readers(&self) -> u32 {
        self.db.readers()
    }

    /// The pool's connections at this moment.
    pub fn pool_use(&self) -> PoolUse {
        self.db.pool_use()
    }

    /// Runs the use case `work` until it ends, fails for good or its time is up.
    async fn retried<T, F>(
        &self,
        operation: &'static str,
        work: impl FnMut() -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let started = Instant::now();
        let attempts =
            work.retry(retries())
                .when(StoreError::is_transient)
                .notify(|error, pause| {
                    tracing::warn!(operation, %error, ?pause, "the database failed, trying again");
                });
        let result = within(self.timeout, attempts).await;
        metrics::histogram!("perf_tracking_database_seconds", "operation" => operation)
            .record(started.elapsed());
        result
    }
}

/// Short pauses that grow; the use case's own time limit ends them.
fn retries() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(5))
        .with_max_delay(Duration::from_secs(1))
        .with_jitter()
        .without_max_times()
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::time::timeout(limit, work)
        .await
        .unwrap_or(Err(StoreError::TimedOut(limit)))
}
