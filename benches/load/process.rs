//! What the kernel counts of a process.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// The unit of time in `/proc/PID/stat`, which Linux fixes for user space.
const TICKS_A_SECOND: u64 = 100;

/// The processor time that process `pid` has taken so far, its threads included.
pub(crate) fn cpu_time(pid: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, second of all, may hold spaces; user and system time are the 12th and 13th after it.
    let (_, rest) = stat.rsplit_once(')').context("stat names the process")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks =
        |at: usize| -> Result<u64> { Ok(fields.get(at).context("stat is too short")?.parse()?) };
    let total = ticks(11)? + ticks(12)?;
    Ok(Duration::from_millis(total * 1000 / TICKS_A_SECOND))
}

/// The memory of process `pid` that is in use now, in bytes.
pub(crate) fn resident_bytes(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"))
        .context("the process has no resident memory")?
        .trim()
        .parse()?;
    Ok(kib * 1024)
}

/// The processes whose work a request is.
#[derive(Clone, Copy)]
pub(crate) struct Watched {
    pub(crate) service: u32,
    pub(crate) database: Option<u32>,
}

/// Processor time of each.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cpu {
    pub(crate) load: Duration,
    pub(crate) service: Duration,
    pub(crate) database: Duration,
}

impl Watched {
    pub(crate) fn cpu(self) -> Result<Cpu> {
        Ok(Cpu {
            load: cpu_time(std::process::id())?,
            service: cpu_time(self.service)?,
            database: self.database.map_or(Ok(Duration::ZERO), cpu_time)?,
        })
    }
}

impl Cpu {
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            load: self.load - before.load,
            service: self.service - before.service,
            database: self.database - before.database,
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            load: self.load + other.load,
            service: self.service + other.service,
            database: self.database + other.database,
        }
    }
}
