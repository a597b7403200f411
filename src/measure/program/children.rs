//! What the program starts, down to the last: none is left when a pass is over.
//!
//! This process takes the orphans of those below it (`PR_SET_CHILD_SUBREAPER`), so that no daemon
//! escapes to the first process of the machine.

use std::time::Duration;
use std::{fs, io};

use rustix::io::Errno;
use rustix::process::{self, Pid, Signal, WaitOptions};
use tokio::time::Instant;

use super::ProgramError;

/// Between two looks at whether they have ended.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a process may go on by itself, and again after it was told to end. Under valgrind a
/// program takes fifty to two hundred times as long.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// From here on, whoever loses its parent is a child of this process.
pub(in crate::measure) fn adopt() -> io::Result<()> {
    Ok(process::set_child_subreaper(Some(process::getpid()))?)
}

/// Waits until no child is left; those that outlast `patience` are told to end, then killed. Answers
/// how many had to be told.
///
/// To be called when nothing else waits for a child.
///
/// # Errors
/// That one cannot be ended, as where it has become another user's.
pub(super) async fn end(patience: Duration) -> Result<usize, ProgramError> {
    if wait(patience).await? {
        return Ok(0);
    }
    let told = children();
    for child in &told {
        // One that has ended meanwhile is as wanted.
        let _ = process::kill_process(*child, Signal::TERM);
    }
    if !wait(GRACE).await? {
        kill().await?;
    }
    Ok(told.len())
}

/// Kills every child, and what becomes a child by that, until none is left.
///
/// # Errors
/// That one cannot be ended, as where it has become another user's.
pub(in crate::measure) async fn kill() -> Result<(), ProgramError> {
    let deadline = Instant::now() + GRACE;
    loop {
        let left = children();
        if let Some(child) = left.first()
            && Instant::now() >= deadline
        {
            return Err(ProgramError::Unending(child.as_raw_nonzero().get()));
        }
        for child in left {
            let _ = process::kill_process(child, Signal::KILL);
        }
        // What they leave behind is a child of this process next.
        if wait(PAUSE).await? {
            return Ok(());
        }
    }
}

/// Takes in what has ended, for as long as `patience` lasts; whether all has.
pub(in crate::measure) async fn wait(patience: Duration) -> io::Result<bool> {
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

/// The children of this process, as each says itself: not every kernel keeps lists of children.
fn children() -> Vec<Pid> {
    let own = process::getpid();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let children = processes.filter_map(|process| {
        let pid = process.file_name().to_str()?.parse().ok()?;
        let stat = fs::read(process.path().join("stat")).ok()?;
        let parent = parent(&String::from_utf8_lossy(&stat))?;
        Pid::from_raw(pid).filter(|_| parent == own)
    });
    children.collect()
}

/// The parent in a line as proc(5) has it: `PID (NAME) STATE PARENT …`, where a name may hold anything.
fn parent(stat: &str) -> Option<Pid> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let parent = after_name.split_whitespace().nth(1)?;
    parent.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_read_off_behind_any_name() {
        for (stat, pid) in [
            ("17 (sleep) S 12 17 17 0", Some(12)),
            ("17 (a) R 3 (b)) Z 12 17", Some(12)),
            ("1 (init) S 0 1 1", None),
            ("17 (cut", None),
            ("", None),
        ] {
            assert_eq!(parent(stat), pid.and_then(Pid::from_raw), "{stat}");
        }
    }

    #[test]
    fn a_child_is_found() {
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        let found = children().contains(&pid);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found);
        assert!(!children().contains(&pid));
    }
}
