//! Many uploads at a time, in an order that keeps history as it was.
//!
//! Runs of one date are told apart by the order in which they were stored. So all runs of one date
//! go the same lane, one after the other as they were read; runs of other dates go beside them.
//! What waits in the lanes is bounded by its metrics, however the dates fall.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use indicatif::ProgressBar;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

use super::reading::list;
use super::tally::{Place, Tally};
use crate::api::RecordOutcome;
use crate::client::{Client, ClientError};
use crate::domain::Faults;
use crate::domain::{Run, VoidReason};
use crate::report::conflict;
use crate::signals::Signals;

/// Metrics of all runs that wait or are under way.
const MAX_METRICS_WAITING: u32 = 50_000;
/// What a run weighs beside its metrics.
const RUN_WEIGHT: u32 = 10;
/// Time for what is under way when no more is to be sent.
const GRACE: Duration = Duration::from_secs(2);

/// A run to be sent.
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) run: Run,
    /// Why the run is voided once it is stored, if it is.
    pub(super) void: Option<VoidReason>,
    /// How much of its file it took.
    pub(super) bytes: u64,
}

type Queued = (Entry, OwnedSemaphorePermit);

/// What the lanes share.
struct Shared {
    client: Client,
    tally: Arc<Mutex<Tally>>,
    bar: ProgressBar,
    /// Set once no more is to be sent.
    stopped: AtomicBool,
    /// Why, if it is for a failure that every other upload would meet as well.
    failure: Mutex<Option<ClientError>>,
    failed: Notify,
}

/// Sends all of `entries` in `jobs` lanes, until they end, a signal comes, or the service is gone.
///
/// # Errors
/// Why not all were sent.
pub(super) async fn send(
    client: Client,
    jobs: u32,
    entries: mpsc::Receiver<Entry>,
    tally: Arc<Mutex<Tally>>,
    bar: ProgressBar,
    mut signals: Signals,
) -> anyhow::Result<()> {
    let shared = Arc::new(Shared {
        client,
        tally,
        bar,
        stopped: AtomicBool::new(false),
        failure: Mutex::new(None),
        failed: Notify::new(),
    });
    let mut workers = JoinSet::new();
    let lanes: Vec<_> = (0..jobs)
        .map(|_| {
            let (lane, queue) = mpsc::unbounded_channel();
            workers.spawn(Arc::clone(&shared).work(queue));
            lane
        })
        .collect();
    let dispatch = dispatch(entries, lanes);
    let work = async {
        tokio::join!(dispatch, all_end(&mut workers));
    };
    let signal = tokio::select! {
        () = work => None,
        came = signals.next() => Some(came.name),
        () = shared.failed.notified() => None,
    };
    shared.stopped.store(true, Ordering::Relaxed);
    // What is under way is worth a moment, so that it is counted.
    let _ = tokio::time::timeout(GRACE, all_end(&mut workers)).await;
    workers.shutdown().await;
    if let Some(error) = lock(&shared.failure).take() {
        return Err(error.into());
    }
    match signal {
        Some(signal) => anyhow::bail!("ended by {signal}"),
        None => Ok(()),
    }
}

/// A lane that panics takes the command with it: its runs must not be missed without a word.
async fn all_end(workers: &mut JoinSet<()>) {
    while let Some(ended) = workers.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

/// Puts each entry into the lane of its date.
async fn dispatch(mut entries: mpsc::Receiver<Entry>, lanes: Vec<mpsc::UnboundedSender<Queued>>) {
    let room = Arc::new(Semaphore::new(MAX_METRICS_WAITING as usize));
    while let Some(entry) = entries.recv().await {
        let metrics = u32::try_from(entry.run.metrics.len()).unwrap_or(u32::MAX);
        let weight = metrics.saturating_add(RUN_WEIGHT).min(MAX_METRICS_WAITING);
        let Ok(permit) = Arc::clone(&room).acquire_many_owned(weight).await else {
            return;
        };
        let mut hasher = DefaultHasher::new();
        entry.run.run_date.hash(&mut hasher);
        let lane = hasher.finish() % lanes.len() as u64;
        let lane = usize::try_from(lane).unwrap_or_default();
        if lanes[lane].send((entry, permit)).is_err() {
            return;
        }
    }
}

impl Shared {
    /// Sends what comes along one lane.
    async fn work(self: Arc<Self>, mut queue: mpsc::UnboundedReceiver<Queued>) {
        while let Some((entry, _permit)) = queue.recv().await {
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            let result = self.store(&entry).await;
            let mut tally = lock(&self.tally);
            match result {
                Ok(outcome) => tally.stored(outcome),
                Err(error) if error.is_of_the_run() => tally.refuse(entry.place, why(&error)),
                Err(error) => {
                    self.stopped.store(true, Ordering::Relaxed);
                    lock(&self.failure).get_or_insert(error);
                    self.failed.notify_one();
                    return;
                }
            }
            self.bar.inc(entry.bytes);
            if !self.bar.is_hidden() {
                self.bar.set_message(tally.line());
            }
        }
    }
}

impl Shared {
    /// Stores a run, and voids it again where its export says so.
    async fn store(&self, entry: &Entry) -> Result<RecordOutcome, ClientError> {
        let answer = self.client.upload(&entry.run).await?.content;
        if let Some(reason) = &entry.void {
            self.client.void(answer.run_id, reason).await?;
        }
        Ok(answer.outcome)
    }
}

/// What a panicking thread left behind is whole: each lock is held for one assignment.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|broken| broken.into_inner())
}

/// A refusal as one line.
fn why(error: &ClientError) -> String {
    if let Some(conflict) = error.conflict() {
        return conflict::line(&conflict);
    }
    match error.faults() {
        [] => error.reason(),
        faults => list(&Faults::from(faults)),
    }
}
