//! What the kernel says of a subject's processes: proc(5).

use std::collections::BTreeMap;
use std::fs;

use crate::judge::comparison::record::Process;

/// A process of a subject, and all below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// The holder: it is no part of the subject itself, but what it waited for was.
    Holder(u32),
    /// The first process of a container.
    Container(u32),
}

/// The processes of a subject at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshot {
    /// Those that run, in the order of their numbers.
    pub(super) processes: Vec<Process>,
    /// The processor time of all, with that of the children that they waited for, in clock ticks.
    pub(super) cpu_ticks: u64,
    /// The sum of the peaks of their memory.
    pub(super) peak_bytes: u64,
}

/// A line of `/proc/PID/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    name: String,
    is_zombie: bool,
    parent: u32,
    /// Of the process itself.
    own_ticks: u64,
    /// Of the children that it waited for.
    waited_ticks: u64,
    started: u64,
}

impl Root {
    pub(super) fn snapshot(self) -> Snapshot {
        let all = all();
        let (root, is_part) = match self {
            Self::Holder(pid) => (pid, false),
            Self::Container(pid) => (pid, true),
        };
        let mut snapshot = Snapshot::default();
        for (pid, stat) in &all {
            if *pid != root && !is_below(*pid, root, &all) {
                continue;
            }
            snapshot.cpu_ticks += stat.waited_ticks;
            if *pid == root && !is_part {
                continue;
            }
            snapshot.cpu_ticks += stat.own_ticks;
            if stat.is_zombie {
                continue;
            }
            snapshot.peak_bytes += peak_bytes(*pid);
            snapshot.processes.push(Process {
                pid: *pid,
                started: stat.started,
                name: stat.name.clone(),
            });
        }
        snapshot
    }
}

fn all() -> BTreeMap<u32, Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let read = |entry: fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let text = fs::read(entry.path().join("stat")).ok()?;
        Some((pid, stat(&String::from_utf8_lossy(&text))?))
    };
    entries.filter_map(read).collect()
}

fn is_below(pid: u32, root: u32, all: &BTreeMap<u32, Stat>) -> bool {
    let mut at = pid;
    // A tree is never deeper than it has processes.
    for _ in 0..all.len() {
        let Some(stat) = all.get(&at) else {
            return false;
        };
        if stat.parent == root {
            return true;
        }
        at = stat.parent;
    }
    false
}

/// `PID (NAME) STATE PARENT …`, where a name may hold anything.
fn stat(line: &str) -> Option<Stat> {
    let (head, rest) = line.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // proc(5) counts from 1, and the state is its third field.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Stat {
        name: name.to_owned(),
        is_zombie: matches!(*fields.first()?, "Z" | "X"),
        parent: u32::try_from(field(4)?).ok()?,
        own_ticks: field(14)? + field(15)?,
        waited_ticks: field(16)? + field(17)?,
        started: field(22)?,
    })
}

/// The peak of a process's memory; 0 where there is no such process.
pub(super) fn peak_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    high_water_mark(&status).unwrap_or(0)
}

/// The sum of the memory peaks of all processes below `root`, which is not counted itself.
pub(super) fn peak_bytes_below(root: u32) -> u64 {
    let mut open = children(root);
    let mut sum = 0;
    while let Some(pid) = open.pop() {
        sum += peak_bytes(pid);
        open.extend(children(pid));
    }
    sum
}

fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let mut found = Vec::new();
    for thread in threads.into_iter().flatten().flatten() {
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        found.extend(
            text.split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
    }
    found
}

fn high_water_mark(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_stat_is_read_behind_any_name() {
        let line =
            "17 (a) R 3 (b)) S 12 17 17 0 -1 4194560 130 500 0 0 7 3 20 10 20 0 1 0 12345 1 2";
        let expected = Stat {
            name: "a) R 3 (b)".to_owned(),
            is_zombie: false,
            parent: 12,
            own_ticks: 10,
            waited_ticks: 30,
            started: 12_345,
        };
        assert_eq!(stat(line), Some(expected));
        assert_eq!(stat("17 (cut) S 12"), None);
    }

    #[test]
    fn the_peak_of_the_memory_is_read() {
        assert_eq!(
            high_water_mark("Name:\tx\nVmHWM:\t    2048 kB\n"),
            Some(2_097_152)
        );
        assert_eq!(high_water_mark("Name:\tx\n"), None);
    }

    #[test]
    fn a_tree_is_found_below_its_root() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sleep 600 & wait"])
            .spawn()
            .unwrap();
        let own = std::process::id();
        // Until the shell's child has become the program, it bears the shell's name.
        let is_sleep = |process: &&Process| process.name == "sleep";
        let of_child = loop {
            let snapshot = Root::Container(child.id()).snapshot();
            if snapshot.processes.iter().any(|process| is_sleep(&process)) {
                break snapshot;
            }
        };
        let sleep = of_child.processes.iter().find(is_sleep).unwrap();
        let all = Root::Holder(own).snapshot();
        let below = peak_bytes_below(own);
        let _ = std::process::Command::new("kill")
            .arg(sleep.pid.to_string())
            .status();
        child.wait().unwrap();
        assert_eq!(of_child.processes.len(), 2);
        assert!(all.processes.contains(sleep));
        assert!(all.processes.iter().all(|process| process.pid != own));
        assert!(of_child.peak_bytes > 0 && below >= of_child.peak_bytes);
    }
}
