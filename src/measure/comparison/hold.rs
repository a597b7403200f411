//! Holds a program and all that it starts, so that nothing of it is left.
//!
//! The holder is a process of this binary between the runner and the program. It takes in orphans,
//! so that a daemon stays in its tree, and it ends the whole tree when it is told to, or when its
//! standard input ends: the runner keeps the other end, which the kernel closes when the runner
//! dies in whatever way.

use std::cell::Cell;
use std::convert::Infallible;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use tokio::process::{Child, Command};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::processes;
use crate::measure::program::children;
use crate::signals::Signals;

/// Between two looks at the memory of what is held.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// What is held.
#[derive(Debug)]
pub struct Order {
    /// The command line.
    pub script: String,
    /// A command line that is run at the end, however it comes.
    pub cleanup: Option<String>,
    /// How long the program may take to stop after SIGTERM.
    pub grace: Duration,
    /// Where [`Ended`] is written.
    pub result: PathBuf,
}

/// How a held program ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ended {
    /// Its exit code; `None` where a signal ended it.
    pub(super) exit_code: Option<i32>,
    /// The signal that ended it.
    pub(super) signal: Option<i32>,
    /// How long it ran, in nanoseconds.
    pub(super) wall_ns: u64,
    /// The processor time of it and of all that it started, in microseconds.
    pub(super) cpu_us: u64,
    /// The peak of their memory: the largest sum of their peaks that was seen while they ran.
    pub(super) peak_bytes: u64,
    /// Whether the holder was told to end it.
    pub(super) was_stopped: bool,
    /// Whether it had to be killed.
    pub(super) was_killed: bool,
}

impl Ended {
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        serde_json::from_slice(&fs::read(path)?).map_err(io::Error::other)
    }

    /// `exit code 3`, `signal 11`.
    pub(super) fn how(&self) -> String {
        match (self.exit_code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "no exit code".to_owned(),
        }
    }
}

/// Runs a program to its end, or ends it when the runner says so or is gone.
///
/// # Errors
/// That the program cannot be started, or something of it cannot be ended.
pub async fn hold(order: &Order) -> io::Result<()> {
    let mut signals = Signals::take()?;
    children::adopt()?;
    let gone = runner_is_gone();
    let began = Instant::now();
    let mut child = shell(&order.script).spawn()?;
    let mut was_stopped = false;
    let sampled = Cell::new(0);
    let status = tokio::select! {
        never = watch_memory(&sampled) => match never {},
        status = child.wait() => status?,
        _ = signals.next() => { was_stopped = true; ExitStatus::default() }
        () = gone.notified() => { was_stopped = true; ExitStatus::default() }
    };
    let wall = began.elapsed();
    let (status, was_killed) = if was_stopped {
        stop(child, order.grace).await?
    } else {
        // A program that has ended leaves nothing that still counts.
        (status, end_orphans(Duration::ZERO).await?)
    };
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(io::Error::from)?;
    let cpu = usage.user_time() + usage.system_time();
    let ended = Ended {
        exit_code: status.code(),
        signal: status.signal(),
        wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
        cpu_us: u64::try_from(cpu.num_microseconds()).unwrap_or(0),
        peak_bytes: peak(
            sampled.get(),
            u64::try_from(usage.max_rss()).unwrap_or(0) * 1024,
        ),
        was_stopped,
        was_killed,
    };
    if let Some(cleanup) = &order.cleanup {
        shell(cleanup).status().await?;
        end_orphans(Duration::ZERO).await?;
    }
    let text = serde_json::to_vec(&ended).map_err(io::Error::other)?;
    // Whoever reads it sees it whole or not at all.
    let beside = order.result.with_extension("part");
    fs::write(&beside, text)?;
    fs::rename(beside, &order.result)
}

/// Keeps the largest sum of the memory peaks of all that this process started.
async fn watch_memory(largest: &Cell<u64>) -> Infallible {
    let began = Instant::now();
    loop {
        let sum = processes::peak_bytes_below(std::process::id());
        largest.set(largest.get().max(sum));
        // At most a twentieth of a program's life goes unseen, and to look costs next to nothing.
        sleep((began.elapsed() / 20).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)).await;
    }
}

/// The peak of a program's memory, out of the largest sum that was seen and of what the kernel says
/// of the largest process. The kernel counts the memory of the process that forked it too, so its
/// number means nothing up to the size of this process.
fn peak(sampled: u64, of_kernel: u64) -> u64 {
    let own = processes::peak_bytes(std::process::id());
    match of_kernel > own || sampled == 0 {
        true => sampled.max(of_kernel),
        false => sampled,
    }
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .stdin(Stdio::null())
        .process_group(0);
    command
}

/// Notified once standard input has ended.
fn runner_is_gone() -> Arc<Notify> {
    let gone = Arc::new(Notify::new());
    let notifier = Arc::clone(&gone);
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        let _ = io::stdin().lock().read_to_end(&mut rest);
        notifier.notify_one();
    });
    gone
}

/// Tells the program to end, and kills what is left after `grace`.
async fn stop(mut child: Child, grace: Duration) -> io::Result<(ExitStatus, bool)> {
    let group = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(group) = group.and_then(Pid::from_raw) {
        // One that has ended meanwhile is as wanted.
        let _ = kill_process_group(group, Signal::TERM);
    }
    let deadline = Instant::now() + grace;
    if let Ok(status) = tokio::time::timeout(grace, child.wait()).await {
        let left = deadline.saturating_duration_since(Instant::now());
        return Ok((status?, end_orphans(left).await?));
    }
    children::kill().await.map_err(io::Error::other)?;
    Ok((ExitStatus::from_raw(Signal::KILL.as_raw()), true))
}

/// Ends what the program left behind; whether there was any after `patience`.
async fn end_orphans(patience: Duration) -> io::Result<bool> {
    if children::wait(patience).await? {
        return Ok(false);
    }
    children::kill().await.map_err(io::Error::other)?;
    Ok(true)
}
