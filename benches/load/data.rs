//! The runs that are stored and asked for: a thousand series, nine metrics, a commit of its own for each run.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{NaiveDateTime, TimeDelta};

/// The metrics of every run: what callgrind, massif and a timed load leave.
pub(crate) const METRICS: [&str; 9] = [
    "callgrind.dr",
    "callgrind.dw",
    "callgrind.estimated_cycles",
    "callgrind.global_bus_events",
    "callgrind.ir",
    "massif.peak_heap_bytes",
    "size.text",
    "sysbench.latency_p95_ms",
    "sysbench.transactions_per_second",
];

/// Series of a large table, and of uploads.
pub(crate) const SERIES: u32 = 1_000;
pub(crate) const REPO: &str = "drizzle";
pub(crate) const BRANCH: &str = "main";
pub(crate) const ARCH: &str = "amd64";
pub(crate) const DISTRO: &str = "trixie";
pub(crate) const HOST_CLASS: &str = "callgrind";
pub(crate) const PIPELINE: &str = "promote";
/// What a gate asks for.
pub(crate) const WINDOW: usize = 20;

/// Series of a table of `runs` runs: few enough that each holds more than a window.
pub(crate) fn series_of(runs: u32) -> u32 {
    (runs / 50).clamp(1, SERIES)
}

pub(crate) fn workload(series: u32) -> String {
    format!("workload-{series:04}")
}

/// The date of the `index`th run: one a minute.
pub(crate) fn run_date(index: u32) -> NaiveDateTime {
    let first = chrono::DateTime::from_timestamp(FIRST_DATE, 0).unwrap_or_default();
    first.naive_utc() + TimeDelta::minutes(index.into())
}

/// 2020-01-01T00:00:00Z.
pub(crate) const FIRST_DATE: i64 = 1_577_836_800;

/// A run to upload.
pub(crate) struct Run {
    pub(crate) workload: String,
    pub(crate) commit_sha: String,
    pub(crate) change: String,
    pub(crate) run_date: NaiveDateTime,
    /// One for each of [`METRICS`].
    pub(crate) values: [i64; METRICS.len()],
}

/// Numbers that look random, the same in every run of the program, and never the same twice.
static NEXT: AtomicU64 = AtomicU64::new(0);

fn mix(mut z: u64) -> u64 {
    // The finaliser of SplitMix64 (Steele, Lea and Flood, 2014), which maps no two numbers to one.
    z = z.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(crate) fn random() -> u64 {
    mix(NEXT.fetch_add(1, Ordering::Relaxed) + 1)
}

pub(crate) fn random_below(limit: u32) -> u32 {
    // The remainder is below a number of 32 bits.
    (random() % u64::from(limit.max(1))) as u32
}

impl Run {
    /// A new run of one of the first `series` series.
    pub(crate) fn new(series: u32) -> Self {
        let number = random();
        let minutes = (number >> 40) as u32 % 1_000_000;
        Self {
            workload: workload(random_below(series)),
            commit_sha: format!("{number:016x}{:024x}", mix(number)),
            change: format!("I{:08x}", number as u32),
            run_date: run_date(minutes),
            values: std::array::from_fn(|at| 1_000_000_000 + (number as u32 >> at) as i64),
        }
    }

    /// The body of an upload.
    pub(crate) fn json(&self) -> String {
        let mut json = format!(
            r#"{{"workload":"{}","repo":"{REPO}","branch":"{BRANCH}","commit_sha":"{}","change":"{}","patchset":"3","pipeline":"{PIPELINE}","distro":"{DISTRO}","arch":"{ARCH}","host_class":"{HOST_CLASS}","run_date":"{}Z","succeeded":true,"metrics":["#,
            self.workload,
            self.commit_sha,
            self.change,
            self.run_date.format("%Y-%m-%dT%H:%M:%S"),
        );
        for (at, (key, value)) in METRICS.iter().zip(self.values).enumerate() {
            let comma = if at == 0 { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(json, r#"{comma}{{"metric_key":"{key}","value":{value}.5}}"#);
        }
        json.push_str("]}");
        json
    }
}

/// A question for a window.
pub(crate) struct Question {
    pub(crate) workload: String,
    pub(crate) metric_key: &'static str,
    /// Whether the dimension is named, too.
    pub(crate) with_dim: bool,
}

impl Question {
    /// For a metric of one of the first `series` series.
    pub(crate) fn new(series: u32, with_dim: bool) -> Self {
        Self {
            workload: workload(random_below(series)),
            metric_key: METRICS[random_below(METRICS.len() as u32) as usize],
            with_dim,
        }
    }

    /// The path and query that ask it.
    pub(crate) fn path(&self) -> String {
        let dim = if self.with_dim { "&dim_key=" } else { "" };
        format!(
            "/v1/history?workload={}&branch={BRANCH}&arch={ARCH}&distro={DISTRO}&repo={REPO}&metric_key={}{dim}&limit={WINDOW}",
            self.workload, self.metric_key
        )
    }
}
