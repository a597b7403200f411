//! What requests may take together: places to work, and memory.
//!
//! Memory is reserved before it is used, from a share of its own for each kind of use, so that no
//! kind starves another: bodies that arrive, the work on them, reads, and answers that clients have
//! not taken yet. A request that finds no memory free waits for it, and holds no place meanwhile.
//!
//! A place is taken once the request has arrived whole, so that a client that sends slowly holds
//! none, and is given back when the answer is ready, so that one that reads slowly holds none.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::AppState;
use super::problem::{Problem, Slug};

/// The work on a body takes this many times its bytes: what is read of it, the run that is made of
/// it, and the statement that stores the run. A body of ten thousand metrics takes 9 to 11 times its
/// bytes, one of a thousand takes fewer.
const WORK_FACTOR: usize = 12;

/// A read of up to [`LIGHT_POINTS`] points, of a page of runs or of one run takes no more than this.
const LIGHT_READ_BYTES: usize = 4 << 20;

/// A read of [`crate::store::MAX_POINTS`] points takes no more than this.
const HEAVY_READ_BYTES: usize = 64 << 20;

/// The most points that a history may have without waiting for the place of a heavy read. Windows
/// of 20 runs of 200 metrics have as many.
pub(super) const LIGHT_POINTS: usize = 4_000;

/// A request that waits for longer is told to come back.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What the service may take.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionLimits {
    /// Requests that work at the same time.
    pub requests: usize,
    /// Reads of the database at the same time.
    pub reads: usize,
    /// Bytes of memory.
    pub memory: usize,
}

/// Who may work, and with how much memory. Cheap to clone.
#[derive(Clone)]
pub struct Admission {
    places: Arc<Semaphore>,
    reads: Arc<Semaphore>,
    heavy_reads: Arc<Semaphore>,
    bodies: Pool,
    work: Pool,
    answers: Pool,
}

impl Admission {
    /// Shares out `limits`. Of the memory an eighth is left for the program itself.
    pub fn new(limits: AdmissionLimits) -> Self {
        let eighth = limits.memory / 8;
        let heavy_reads = (2 * eighth / HEAVY_READ_BYTES).min(limits.reads / 2).max(1);
        let light_reads = limits.reads.saturating_sub(heavy_reads);
        let light_reads = light_reads
            .min(eighth / LIGHT_READ_BYTES)
            .min(limits.requests / 2)
            .max(1);
        Self {
            places: Arc::new(Semaphore::new(limits.requests)),
            reads: Arc::new(Semaphore::new(light_reads)),
            heavy_reads: Arc::new(Semaphore::new(heavy_reads)),
            bodies: Pool::new(eighth),
            work: Pool::new(2 * eighth),
            answers: Pool::new(eighth),
        }
    }

    /// Requests that could start to work now.
    pub(super) fn free_places(&self) -> usize {
        self.places.available_permits()
    }

    /// Memory for a body of `bytes`.
    pub(super) async fn body(&self, bytes: usize) -> Result<Reserved, Problem> {
        self.bodies.take(bytes).await
    }

    /// Memory for an answer of `bytes` until its client has taken it.
    pub(super) async fn answer(&self, bytes: usize) -> Result<Unsent, Problem> {
        let reserved = self.answers.take(bytes).await?;
        Ok(Unsent(Arc::new(reserved)))
    }

    fn place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        place.map_err(|_| Problem::overloaded())
    }
}

/// Memory for one kind of use, counted in KiB.
#[derive(Clone)]
struct Pool {
    free: Arc<Semaphore>,
    size: u32,
}

impl Pool {
    fn new(bytes: usize) -> Self {
        let size = kib(bytes);
        Self {
            free: Arc::new(Semaphore::new(usize::try_from(size).unwrap_or(usize::MAX))),
            size,
        }
    }

    /// Waits for `bytes`. What is larger than the whole pool takes all of it, and so comes alone.
    async fn take(&self, bytes: usize) -> Result<Reserved, Problem> {
        let permits = kib(bytes).min(self.size);
        let free = Arc::clone(&self.free).acquire_many_owned(permits);
        soon(free).await.map(Reserved)
    }
}

fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX)
}

/// What `permit` comes to, unless it takes too long.
async fn soon<T, E>(permit: impl Future<Output = Result<T, E>>) -> Result<T, Problem> {
    match tokio::time::timeout(LONGEST_WAIT, permit).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(Problem::overloaded()),
    }
}

/// Memory that is given back with the value.
pub(super) struct Reserved(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

/// The memory of an answer that its client has not taken yet.
#[derive(Clone)]
pub(super) struct Unsent(#[expect(dead_code, reason = "held for its drop")] Arc<Reserved>);

/// A place among the requests that work, with memory for it; held while its handler runs.
pub(super) struct Place {
    _place: OwnedSemaphorePermit,
    _memory: Reserved,
}

/// A place for the work on a body of `bytes`, if the service can serve.
pub(super) async fn enter(state: &AppState, bytes: usize) -> Result<Place, Problem> {
    check_ready(state)?;
    let admission = &state.admission;
    let memory = admission
        .work
        .take(bytes.saturating_mul(WORK_FACTOR))
        .await?;
    Ok(Place {
        _place: admission.place()?,
        _memory: memory,
    })
}

/// A place for a read of the database.
pub(super) struct ReadPlace {
    is_heavy: bool,
    _place: OwnedSemaphorePermit,
    _read: OwnedSemaphorePermit,
}

/// A place for a light read, if the service can serve.
pub(super) async fn enter_to_read(state: &AppState) -> Result<ReadPlace, Problem> {
    check_ready(state)?;
    read_place(state, &state.admission.reads, false).await
}

impl ReadPlace {
    pub(super) fn is_heavy(&self) -> bool {
        self.is_heavy
    }

    /// Gives up the place of a light read for that of a heavy one. Heavy reads wait for one another
    /// and for nobody else.
    pub(super) async fn into_heavy(self, state: &AppState) -> Result<Self, Problem> {
        drop(self);
        read_place(state, &state.admission.heavy_reads, true).await
    }
}

async fn read_place(
    state: &AppState,
    reads: &Arc<Semaphore>,
    is_heavy: bool,
) -> Result<ReadPlace, Problem> {
    let read = soon(Arc::clone(reads).acquire_owned()).await?;
    Ok(ReadPlace {
        is_heavy,
        _place: state.admission.place()?,
        _read: read,
    })
}

fn check_ready(state: &AppState) -> Result<(), Problem> {
    if state.readiness.is_ready() {
        return Ok(());
    }
    Err(Problem::new(
        Slug::Starting,
        "the service waits for its database, or is bringing it up to date; try again",
    ))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn admission(memory: usize, reads: usize) -> Admission {
        Admission::new(AdmissionLimits {
            requests: 256,
            reads,
            memory,
        })
    }

    #[test]
    fn the_shares_are_no_more_than_the_memory() {
        for memory in [64 << 20, 256 << 20, 1 << 30] {
            let admission = admission(memory, 1_000);
            let pools = [&admission.bodies, &admission.work, &admission.answers];
            let counted: usize = pools.map(|pool| pool.size as usize * 1024).iter().sum();
            let light = admission.reads.available_permits() * LIGHT_READ_BYTES;
            assert!(counted + light <= memory * 5 / 8, "{memory}");
        }
        let admission = admission(256 << 20, 1_000);
        assert_eq!(admission.reads.available_permits(), 8);
        assert_eq!(admission.heavy_reads.available_permits(), 1);
    }

    #[test]
    fn one_read_of_each_kind_is_always_possible() {
        let admission = admission(64 << 20, 1);
        assert_eq!(admission.reads.available_permits(), 1);
        assert_eq!(admission.heavy_reads.available_permits(), 1);
    }

    #[tokio::test]
    async fn what_finds_no_memory_waits_for_it() {
        let pool = Pool::new(64 << 10);
        let all = pool.take(1 << 30).await;
        assert!(all.is_ok());
        assert!(pool.take(1).now_or_never().is_none());
        drop(all);
        assert!(pool.take(64 << 10).now_or_never().is_some());
    }
}
