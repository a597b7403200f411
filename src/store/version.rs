//! A number that tells whether there is anything new to read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sea_query::{Expr, ExprTrait, Query};
use sqlx::FromRow;

use super::schema::Runs;
use super::{RunId, Store, StoreError};

/// Counts what this process wrote to runs that keep their id: replacements and voids.
#[derive(Clone, Default)]
pub(super) struct Writes(Arc<AtomicU64>);

impl Writes {
    /// Something was written.
    pub(super) fn count(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    fn seen(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

#[derive(FromRow)]
struct NewestRow {
    newest: Option<RunId>,
}

impl Store {
    /// A number that differs once a run was stored, or once this process replaced one or took one back.
    ///
    /// It costs one step into an index. What another service does with a run that is stored already
    /// leaves it as it is.
    ///
    /// # Errors
    /// A database that does not answer.
    pub async fn version(&self) -> Result<u64, StoreError> {
        let writes = self.writes.seen();
        let newest = self
            .retried("version", || async {
                let mut session = self.db.read().await?;
                let select = Query::select()
                    .expr_as(Expr::col(Runs::RunId).max(), "newest")
                    .from(Runs::Table)
                    .to_owned();
                let rows: Vec<NewestRow> = session.fetch_all(&select).await?;
                session.finish();
                Ok(rows.first().and_then(|row| row.newest))
            })
            .await?;
        let newest = newest.unwrap_or_default().unsigned_abs();
        // Two numbers in one: a process does not live for as many writes as would let them meet.
        Ok(newest.rotate_left(24) ^ writes)
    }
}
