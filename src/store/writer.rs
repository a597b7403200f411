//! Commits many uploads at once.
//!
//! A database syncs its disk at every commit, and an embedded file takes one writer at a time. So
//! the uploads that wait while a group is on its way to the disk form the next group: each is
//! answered only once its group is on disk, and the commit is shared by all of them. An upload that
//! comes alone is a group of one, and waits for nobody.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use perf_instrument::awaited;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::db::Db;
use super::record::{Recorded, Writing, record_all};
use super::{StoreError, within};
use crate::domain::Run;

/// Uploads of one group: what one sync is shared by, and what one failure costs.
const GROUP: usize = 128;

struct Upload {
    run: Run,
    writing: Writing,
    answer: oneshot::Sender<Result<Recorded, StoreError>>,
}

/// The way to the tasks that write. They end with the last clone of it.
#[derive(Clone)]
pub(super) struct Writer(mpsc::Sender<Upload>);

/// What a task that writes works with.
#[derive(Clone)]
struct Task {
    db: Db,
    /// How long one group may take: whoever waits for it has given up by then.
    limit: Duration,
    uploads: Arc<Mutex<mpsc::Receiver<Upload>>>,
}

impl Writer {
    pub(super) fn start(db: &Db, limit: Duration) -> Self {
        let (sender, receiver) = mpsc::channel(GROUP);
        let task = Task {
            db: db.clone(),
            limit,
            uploads: Arc::new(Mutex::new(receiver)),
        };
        for _ in 0..db.writers() {
            tokio::spawn(task.clone().run());
        }
        Self(sender)
    }

    /// Stores `run` with whatever else is waiting.
    pub(super) async fn record(&self, run: Run, writing: Writing) -> Result<Recorded, StoreError> {
        let (answer, recorded) = oneshot::channel();
        self.0
            .send(Upload {
                run,
                writing,
                answer,
            })
            .await
            .map_err(|_| gone())?;
        recorded.await.map_err(|_| gone())?
    }
}

impl Task {
    async fn run(self) {
        let mut group = Vec::with_capacity(GROUP);
        while self.uploads.lock().await.recv_many(&mut group, GROUP).await > 0 {
            // Whoever no longer waits will send the run again, or has been told that it failed.
            group.retain(|upload| !upload.answer.is_closed());
            if !group.is_empty() {
                self.write(&mut group).await;
            }
        }
    }

    async fn write(&self, group: &mut Vec<Upload>) {
        match self.commit(group).await {
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
            Err(error) => self.fail(group, &error).await,
        }
    }

    /// What the database met with, all of them met with: to try each alone would hold up the next
    /// group as many times as long. Else one of them may be at fault, and each stands or falls alone.
    async fn fail(&self, group: &mut Vec<Upload>, error: &StoreError) {
        for upload in group.drain(..) {
            match error.of_all() {
                Some(error) => answer(upload, Err(error)),
                None => self.write_alone(upload).await,
            }
        }
    }

    async fn write_alone(&self, upload: Upload) {
        let committed = self.commit(std::slice::from_ref(&upload)).await;
        let recorded = committed.and_then(|recorded| recorded.into_iter().next().ok_or_else(gone));
        answer(upload, recorded);
    }

    /// Stores the runs of `group`. A panic costs the group alone, not all uploads that come after it.
    async fn commit(&self, group: &[Upload]) -> Result<Vec<Recorded>, StoreError> {
        // What a panic leaves behind is a session, which closes its connection.
        let committed = AssertUnwindSafe(awaited!(
            "group commit",
            within(self.limit, Box::pin(self.commit_once(group)))
        ))
        .catch_unwind()
        .await
        .unwrap_or(Err(StoreError::Other(sqlx::Error::WorkerCrashed)));
        self.db.note_write(&committed);
        committed
    }

    async fn commit_once(&self, group: &[Upload]) -> Result<Vec<Recorded>, StoreError> {
        let mut session = self.db.write().await?;
        let runs: Vec<(&Run, &Writing)> = group
            .iter()
            .map(|upload| (&upload.run, &upload.writing))
            .collect();
        let recorded = record_all(&mut session, &runs).await.map_err(held_up)?;
        session.finish();
        // Nobody is told that a run is stored in a file that the next start will not find.
        self.db.check_file()?;
        Ok(recorded)
    }
}

/// The statements of an upload are short: one that takes too long waits for a lock.
fn held_up(error: StoreError) -> StoreError {
    match error {
        StoreError::TooSlow(cause) => StoreError::Busy(cause),
        error => error,
    }
}

fn gone() -> StoreError {
    StoreError::Unreachable(sqlx::Error::WorkerCrashed)
}

/// A client that has gone needs no answer.
fn answer(upload: Upload, recorded: Result<Recorded, StoreError>) {
    let _ = upload.answer.send(recorded);
}
