//! What the program starts, down to the last: none is left when a pass is over.
//!
//! This process takes the orphans of those below it (`PR_SET_CHILD_SUBREAPER`), so that no daemon
//! escapes to the first process of the machine.

use std::time::Duration;
use std::{fs, io};

use rustix::io::Errno;
use rustix::process::{self, Pid, Signal, WaitOptions};
use tokio::time::Instant;

/// Between two looks at whether they have ended.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a process may go on by itself, and again after it was told to end. Under valgrind all
/// takes fifty times as long.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// From here on, whoever loses its parent is a child of this process.
pub(super) fn adopt() -> io::Result<()> {
    Ok(process::set_child_subreaper(Some(process::getpid()))?)
}

/// Waits until no child is left; those that outlast `patience` are told to end, then killed. Answers
/// how many had to be told.
///
/// To be called when nothing else waits for a child.
pub(super) async fn end(patience: Duration) -> io::Result<usize> {
    if wait(patience).await? {
        return Ok(0);
    }
    let told = children();
    for child in &told {
        // One that has ended meanwhile is as wanted.
        let _ = process::kill_process(*child, Signal::TERM);
    }
    let mut ended = wait(GRACE).await?;
    while !ended {
        for child in children() {
            let _ = process::kill_process(child, Signal::KILL);
        }
        // What they leave behind is a child of this process next.
        ended = wait(PAUSE).await?;
    }
    Ok(told.len())
}

/// Takes in what has ended, for as long as `patience` lasts; whether all has.
async fn wait(patience: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + patience;
    loop {
        match process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => continue,
            Err(Errno::CHILD) => return Ok(true),
            Err(error) => return Err(error.into()),
            Ok(None) if Instant::now() >= deadline => return Ok(false),
            Ok(None) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// The children of every thread of this process, as the kernel lists them.
fn children() -> Vec<Pid> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
    let lists = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let words = lists.flat_map(|list| {
        let pids = list.split_whitespace().map(|word| word.parse().ok());
        pids.collect::<Vec<Option<i32>>>()
    });
    words.flatten().filter_map(Pid::from_raw).collect()
}
