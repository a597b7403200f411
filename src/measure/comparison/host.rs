//! The machine that a comparison runs on.

use std::fs;
use std::path::Path;
use std::thread;

use nix::sys::statvfs::statvfs;
use nix::unistd::{SysconfVar, sysconf};

use crate::judge::comparison::record::Host;

/// What every machine of Linux has answered for decades; asked of the kernel all the same.
const USUAL_CLOCK_TICKS: u64 = 100;

/// This machine; the free disk is that of `folder`.
pub fn host(folder: &Path) -> Host {
    let cpus = thread::available_parallelism().map_or(1, |cpus| cpus.get());
    let free = statvfs(folder).map_or(0, |disk| disk.blocks_available() * disk.fragment_size());
    Host {
        cpu_model: cpu_model(&read("/proc/cpuinfo")),
        logical_cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
        memory_bytes: memory_bytes(&read("/proc/meminfo")).unwrap_or(0),
        free_disk_bytes: free,
        kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        clock_ticks: clock_ticks(),
    }
}

/// The clock ticks of a second.
pub(super) fn clock_ticks() -> u64 {
    let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten();
    let ticks = ticks.and_then(|ticks| u64::try_from(ticks).ok());
    ticks
        .filter(|ticks| *ticks > 0)
        .unwrap_or(USUAL_CLOCK_TICKS)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn cpu_model(cpuinfo: &str) -> String {
    let named = |key: &str| {
        let mut lines = cpuinfo.lines();
        lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim().to_owned())
        })
    };
    // arm64 has no name of the model.
    let model = named("model name").or_else(|| named("CPU part"));
    model.unwrap_or_else(|| "unknown".to_owned())
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_read_off() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: A B\n"), "A B");
        assert_eq!(cpu_model(""), "unknown");
        assert_eq!(memory_bytes("MemTotal:  4 kB\n"), Some(4096));
        let host = host(Path::new("."));
        assert!(host.memory_bytes > 0 && host.free_disk_bytes > 0 && host.clock_ticks > 0);
    }
}
