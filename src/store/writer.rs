//! Commits many uploads at once where one writer holds all others up.
//!
//! An embedded file syncs its disk at every commit, and only one transaction can write at a time.
//! So the uploads that wait while one group is on its way to the disk form the next group: each is
//! answered only once its group is on disk, and the disk is synced once for all of them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, oneshot};

use super::StoreError;
use super::catalog::KnownMetrics;
use super::db::Db;
use super::record::{Recorded, record_all};
use crate::auth::Narrow;
use crate::domain::Run;

/// Uploads of one group: what one sync is shared by, and what one failure costs.
const GROUP: usize = 128;

struct Upload {
    run: Run,
    narrow: Narrow,
    answer: oneshot::Sender<Result<Recorded, StoreError>>,
}

/// The way to the one task that writes. The task ends with the last clone of it.
#[derive(Clone)]
pub(super) struct Writer(mpsc::Sender<Upload>);

impl Writer {
    pub(super) fn start(db: Db, known: Arc<KnownMetrics>) -> Self {
        let (sender, receiver) = mpsc::channel(GROUP);
        tokio::spawn(write(db, known, receiver));
        Self(sender)
    }

    /// Stores `run` with whatever else is waiting.
    pub(super) async fn record(&self, run: Run, narrow: Narrow) -> Result<Recorded, StoreError> {
        let (answer, recorded) = oneshot::channel();
        self.0
            .send(Upload {
                run,
                narrow,
                answer,
            })
            .await
            .map_err(|_| gone())?;
        recorded.await.map_err(|_| gone())?
    }
}

async fn write(db: Db, known: Arc<KnownMetrics>, mut uploads: mpsc::Receiver<Upload>) {
    let mut group = Vec::with_capacity(GROUP);
    while uploads.recv_many(&mut group, GROUP).await > 0 {
        // Whoever no longer waits will send the run again, or has been told that it failed.
        group.retain(|upload| !upload.answer.is_closed());
        write_group(&db, &known, &mut group).await;
    }
}

async fn write_group(db: &Db, known: &KnownMetrics, group: &mut Vec<Upload>) {
    match commit(db, known, group).await {
        Ok(recorded) => {
            for (upload, recorded) in group.drain(..).zip(recorded) {
                answer(upload, Ok(recorded));
            }
        }
        Err(error) if group.len() == 1 => {
            if let Some(upload) = group.pop() {
                answer(upload, Err(error));
            }
        }
        Err(error) => fail_group(db, known, group, &error).await,
    }
}

/// What the database met with, all of them met with: to try each alone would hold up the next group
/// as many times as long. Else one of them may be at fault, and each stands or falls alone.
async fn fail_group(db: &Db, known: &KnownMetrics, group: &mut Vec<Upload>, error: &StoreError) {
    for upload in group.drain(..) {
        match error.of_all() {
            Some(error) => answer(upload, Err(error)),
            None => write_alone(db, known, upload).await,
        }
    }
}

async fn write_alone(db: &Db, known: &KnownMetrics, upload: Upload) {
    let committed = commit(db, known, std::slice::from_ref(&upload)).await;
    let recorded = committed.and_then(|recorded| recorded.into_iter().next().ok_or_else(gone));
    answer(upload, recorded);
}

fn gone() -> StoreError {
    StoreError::Unreachable(sqlx::Error::WorkerCrashed)
}

/// Stores the runs of `group`. A panic costs the group alone, not all uploads that come after it.
async fn commit(
    db: &Db,
    known: &KnownMetrics,
    group: &[Upload],
) -> Result<Vec<Recorded>, StoreError> {
    // What a panic leaves behind is a session, which closes its connection, and a cache that only
    // ever learns what is committed.
    AssertUnwindSafe(commit_once(db, known, group))
        .catch_unwind()
        .await
        .unwrap_or(Err(StoreError::Other(sqlx::Error::WorkerCrashed)))
}

async fn commit_once(
    db: &Db,
    known: &KnownMetrics,
    group: &[Upload],
) -> Result<Vec<Recorded>, StoreError> {
    let mut session = db.write().await?;
    let runs: Vec<(&Run, &Narrow)> = group
        .iter()
        .map(|upload| (&upload.run, &upload.narrow))
        .collect();
    let recorded = record_all(&mut session, known, &runs).await?;
    session.finish();
    Ok(recorded)
}

/// A client that has gone needs no answer.
fn answer(upload: Upload, recorded: Result<Recorded, StoreError>) {
    let _ = upload.answer.send(recorded);
}
