//! Takes a run back: it stays, and every read leaves it out.

use sea_query::{Expr, ExprTrait, Query, UpdateStatement};

use super::catalog::CatalogChanges;
use super::db::Session;
use super::details::{self, Voided};
use super::heads::RunHead;
use super::runs::{StoredRun, fetch_run};
use super::schema::Runs;
use super::{RunId, Store, StoreError, catalog};
use crate::auth::{Narrow, OutsideGrant};

/// What became of a void.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Voiding {
    /// The run no longer counts.
    Voided,
    /// The run was voided for the same reason before.
    Unchanged,
    /// The run was voided for another reason before, which stays.
    Conflict(Voided),
    /// The token's claims do not hold for the run, which stays as it is.
    Outside(OutsideGrant),
    /// There is no such run.
    NotFound,
}

impl Store {
    /// Takes the run `run_id` back, which must lie inside `narrow`. It may be repeated.
    ///
    /// # Errors
    /// A database that does not take it; nothing has changed then, unless the answer to the commit
    /// was lost, which the next call finds out.
    pub async fn void_run(
        &self,
        run_id: RunId,
        voided: &Voided,
        narrow: &Narrow,
    ) -> Result<Voiding, StoreError> {
        let voiding = self
            .retried("void_run", || async {
                let mut session = self.db.write().await?;
                session.begin_write().await?;
                let voiding = void(&mut session, run_id, voided, narrow).await?;
                session.commit().await?;
                session.finish();
                Ok(voiding)
            })
            .await?;
        if matches!(voiding, Voiding::Voided) {
            self.writes.count();
        }
        Ok(voiding)
    }
}

async fn void(
    session: &mut Session,
    run_id: RunId,
    voided: &Voided,
    narrow: &Narrow,
) -> Result<Voiding, StoreError> {
    let Some(StoredRun { head, metrics }) = fetch_run(session, run_id).await? else {
        return Ok(Voiding::NotFound);
    };
    if let Err(outside) = narrow.check(&head.repo, &head.series, &head.pipeline) {
        return Ok(Voiding::Outside(outside));
    }
    if let Some(earlier) = head.details.voided {
        return Ok(match earlier.reason == voided.reason {
            true => Voiding::Unchanged,
            false => Voiding::Conflict(earlier),
        });
    }
    let updated = session.execute(&mark_failed(&head)).await?;
    if updated.rows_affected == 0 {
        // An upload replaced it since it was read. Look anew.
        return Err(StoreError::Busy(sqlx::Error::RowNotFound));
    }
    details::write_void(session, run_id, voided, head.succeeded).await?;
    let names: Vec<_> = metrics.into_iter().map(|metric| metric.name).collect();
    catalog::recompute(session, &head.series, &names).await?;
    catalog::forget(session, &head.series, &names).await?;
    let mut changes = CatalogChanges::default();
    changes.count(&head.series, &head.repo, -1);
    changes.write(session).await?;
    Ok(Voiding::Voided)
}

/// Takes a run out of all windows, if it is still as it was read.
fn mark_failed(head: &RunHead) -> UpdateStatement {
    Query::update()
        .table(Runs::Table)
        .value(Runs::Succeeded, false)
        .and_where(Expr::col(Runs::RunId).eq(head.run_id))
        .and_where(Expr::col(Runs::Succeeded).eq(head.succeeded))
        .and_where(Expr::col(Runs::Pipeline).eq(head.pipeline.as_str()))
        .to_owned()
}
