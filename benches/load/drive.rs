//! A closed loop: each worker sends its next request once it has the answer to the last.

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hdrhistogram::Histogram;

/// A minute: the service gives up earlier.
const LONGEST_MICROS: u64 = 60_000_000;

/// Someone who sends requests, one at a time.
pub(crate) trait Worker: Send + 'static {
    /// Sends one request and takes its answer.
    fn once(&mut self) -> impl Future<Output = Result<()>> + Send;
}

/// What the workers of one round did.
#[derive(Clone)]
pub(crate) struct Tally {
    pub(crate) done: u64,
    pub(crate) failed: u64,
    pub(crate) first_failure: Option<String>,
    pub(crate) elapsed: Duration,
    /// Microseconds.
    pub(crate) latency: Histogram<u64>,
}

impl Tally {
    fn new() -> Result<Self> {
        Ok(Self {
            done: 0,
            failed: 0,
            first_failure: None,
            elapsed: Duration::ZERO,
            latency: Histogram::new_with_bounds(1, LONGEST_MICROS, 3)
                .context("the bounds are within what it takes")?,
        })
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.done as f64 / self.elapsed.as_secs_f64()
    }

    /// Puts another round's answers to these.
    pub(crate) fn add(&mut self, other: Self) -> Result<()> {
        self.done += other.done;
        self.failed += other.failed;
        self.first_failure = self.first_failure.take().or(other.first_failure);
        self.elapsed += other.elapsed;
        Ok(self.latency.add(other.latency)?)
    }
}

/// Lets `workers` send for `time`, all at once; gives them back for the next round.
pub(crate) async fn drive<W: Worker>(workers: &mut Vec<W>, time: Duration) -> Result<Tally> {
    let started = Instant::now();
    let tasks: Vec<_> = workers
        .drain(..)
        .map(|worker| tokio::spawn(work(worker, started + time)))
        .collect();
    let mut tally = Tally::new()?;
    for task in tasks {
        let (worker, own) = task.await??;
        tally.add(own)?;
        workers.push(worker);
    }
    tally.elapsed = started.elapsed();
    Ok(tally)
}

/// Stops at its first failure, which may have left an answer half read.
async fn work<W: Worker>(mut worker: W, end: Instant) -> Result<(W, Tally)> {
    let mut tally = Tally::new()?;
    let mut now = Instant::now();
    while now < end {
        match worker.once().await {
            Ok(()) => tally.done += 1,
            Err(error) => {
                tally.failed += 1;
                tally.first_failure = Some(format!("{error:#}"));
                break;
            }
        }
        let answered = Instant::now();
        let micros = answered.duration_since(now).as_micros();
        tally.latency.saturating_record(micros as u64);
        now = answered;
    }
    Ok((worker, tally))
}
