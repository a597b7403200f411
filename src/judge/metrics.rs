//! What is known of the metrics that the readers make: unit, worse direction, and default rule.
//!
//! This table is the only place where a metric's meaning stands. The gate takes its built-in rules
//! from it, the reports their units, and every page that draws a metric its direction.
//!
//! - Rates and amounts of work are worse when they fall. Times, counts, misses and bytes are worse
//!   when they rise.
//! - Maxima, percentiles above 99, counts of a run that is limited by time, and counters that users
//!   define say too little to fail a change: they are shown.
//! - Simulated misses move with the layout of the code: they warn.
//! - Small counts have an absolute floor, since one of 46 is 2 %.

use std::sync::LazyLock;

use serde::Serialize;

use super::pattern::Pattern;
use super::window::Worse;

/// What a value counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Not known, or a plain number.
    #[default]
    None,
    /// Instructions.
    Instructions,
    /// Cycles of a processor.
    Cycles,
    /// Misses of a cache or of a branch predictor.
    Misses,
    /// Operations on the bus between processors, which are atomic ones.
    BusEvents,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Memory allocations.
    Allocations,
    /// So many in a second.
    PerSecond,
    /// So many in a thousand seconds.
    PerThousandSeconds,
    /// Bytes in a second.
    BytesPerSecond,
    /// Millions of bytes in a second.
    MegabytesPerSecond,
    /// Times 1,048,576 bytes in a second.
    MebibytesPerSecond,
}

/// What a metric that got worse comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Gating {
    /// The change fails.
    #[default]
    Fail,
    /// The report warns, and the change passes.
    Warn,
    /// Nothing: the metric is shown.
    Show,
}

/// One row of the table.
#[derive(Clone, Debug)]
pub struct KnownMetric {
    /// Which metrics, by `metric_key`.
    pub pattern: Pattern,
    /// What a value counts.
    pub unit: Unit,
    /// Which direction is the bad one.
    pub worse: Worse,
    /// What a worse value comes to.
    pub gating: Gating,
    /// The least part of the mean that counts, in whole percent.
    pub floor_percent: u16,
    /// The least difference that counts.
    pub floor_absolute: u32,
}

use Gating::{Fail, Show, Warn};
use Unit::{
    Allocations, BusEvents, Bytes, BytesPerSecond, Cycles, Instructions, MebibytesPerSecond,
    MegabytesPerSecond, Misses, Nanoseconds, PerSecond, PerThousandSeconds,
};
use Worse::{Higher, Lower};

type Row = (&'static str, Unit, Worse, Gating, u16, u32);

/// Of the rows that match a metric the last one holds.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("*", Unit::None, Higher, Fail, 0, 0),
    // Values that a project names itself; their ends tell the unit.
    ("*_ns", Nanoseconds, Higher, Fail, 0, 0),
    ("*_bytes", Bytes, Higher, Fail, 0, 0),
    ("*_per_s", PerSecond, Lower, Fail, 0, 0),
    ("*_per_sec", PerSecond, Lower, Fail, 0, 0),
    ("*_per_second", PerSecond, Lower, Fail, 0, 0),
    ("*{error,errors,failure,failures,miss,misses}_per_{s,sec,second}", PerSecond, Higher, Fail, 0, 0),
    // Callgrind sums all threads, and background work varies by a few percent.
    ("callgrind.ir", Instructions, Higher, Fail, 3, 0),
    ("callgrind.estimated_cycles", Cycles, Higher, Fail, 3, 0),
    ("callgrind.{l1_misses,llc_misses,branch_mispredicts}", Misses, Higher, Warn, 5, 100),
    // Atomic operations swing with the scheduling of threads.
    ("callgrind.global_bus_events", BusEvents, Higher, Fail, 5, 100),
    ("massif.peak_heap_bytes", Bytes, Higher, Fail, 1, 0),
    // Sizes are exact to the bit.
    ("size.*", Bytes, Higher, Fail, 0, 0),
    ("size.plugin_count", Unit::None, Higher, Fail, 0, 0),
    // A server's performance_schema. Most counts move with the server's own threads; the default
    // gate.toml judges the events that repeat.
    ("{waits,statements,files,table_io}.*", Unit::None, Higher, Show, 0, 0),
    ("{waits,statements,files,table_io}.*_ns", Nanoseconds, Higher, Show, 0, 0),
    ("files.*_bytes", Bytes, Higher, Show, 0, 0),
    // sysbench. How many events a run of a fixed time makes says what its rate says, less well.
    ("sysbench.*", Unit::None, Higher, Fail, 0, 0),
    ("sysbench.{events,queries,queries_read,queries_write,queries_other,transactions,operations}", Unit::None, Lower, Show, 0, 0),
    ("sysbench.{ignored_errors,reconnects}", Unit::None, Higher, Warn, 0, 10),
    ("sysbench.*_ns", Nanoseconds, Higher, Fail, 0, 0),
    ("sysbench.{latency_max_ns,latency_sum_ns,latency_p100_ns}", Nanoseconds, Higher, Show, 0, 0),
    ("sysbench.latency_p99.*_ns", Nanoseconds, Higher, Show, 0, 0),
    ("sysbench.*_per_second", PerSecond, Lower, Fail, 0, 0),
    ("sysbench.*_mib_per_second", MebibytesPerSecond, Lower, Fail, 0, 0),
    // locust
    ("locust.requests", Unit::None, Lower, Show, 0, 0),
    ("locust.failures", Unit::None, Higher, Warn, 0, 10),
    ("locust.*_ns", Nanoseconds, Higher, Fail, 0, 0),
    ("locust.{response_max_ns,response_p100_ns}", Nanoseconds, Higher, Show, 0, 0),
    ("locust.response_p99.*_ns", Nanoseconds, Higher, Show, 0, 0),
    ("locust.*_per_1000_seconds", PerThousandSeconds, Lower, Fail, 0, 0),
    ("locust.failures_per_1000_seconds", PerThousandSeconds, Higher, Fail, 0, 0),
    // hyperfine, criterion and pytest-benchmark
    ("hyperfine.*.max_ns", Nanoseconds, Higher, Show, 0, 0),
    ("pytest.*.max_ns", Nanoseconds, Higher, Show, 0, 0),
    // Go. What `b.ReportMetric` reports is the user's own.
    ("go.*", Unit::None, Higher, Show, 0, 0),
    ("go.*_per_{s,sec,second}", PerSecond, Lower, Show, 0, 0),
    ("go.*.ns_per_op", Nanoseconds, Higher, Fail, 0, 0),
    ("go.*.MB_per_s", MegabytesPerSecond, Lower, Fail, 0, 0),
    ("go.*.B_per_op", Bytes, Higher, Fail, 0, 0),
    ("go.*.allocs_per_op", Allocations, Higher, Fail, 0, 0),
    // google-benchmark. All but times, items and bytes are counters that the user defines.
    ("google_benchmark.*", Unit::None, Higher, Show, 0, 0),
    ("google_benchmark.*_per_second", PerSecond, Lower, Show, 0, 0),
    ("google_benchmark.*{real,cpu}_time_ns", Nanoseconds, Higher, Fail, 0, 0),
    ("google_benchmark.*items_per_second", PerSecond, Lower, Fail, 0, 0),
    ("google_benchmark.*bytes_per_second", BytesPerSecond, Lower, Fail, 0, 0),
    // JMH. Secondary metrics are profilers' and users' own, but for the bytes that one operation allocates.
    ("jmh.*", Unit::None, Higher, Show, 0, 0),
    ("jmh.*_ns_per_op", Nanoseconds, Higher, Show, 0, 0),
    ("jmh.*_ops_per_second", PerSecond, Lower, Show, 0, 0),
    ("jmh.*.thrpt_*", PerSecond, Lower, Fail, 0, 0),
    ("jmh.*.{avgt,sample,ss}_ns_per_op", Nanoseconds, Higher, Fail, 0, 0),
    ("jmh.*.gc.alloc.rate.norm_B_per_op", Bytes, Higher, Fail, 0, 0),
];

/// The waits of a server, by `dim_key`, whose counts repeated within 1 % under the load of
/// `deploy/measure`, whose README has the figures. Of all `waits.count` these alone are judged.
pub const STEADY_WAITS: &str = "event=wait/{\
    io/socket/sql/client_connection,\
    io/table/sql/handler,\
    lock/table/sql/handler,\
    synch/mutex/innodb/flush_list_mutex,\
    synch/mutex/sql/LOCK_optimizer_costs,\
    synch/mutex/sql/LOCK_table_cache,\
    synch/mutex/sql/THD::LOCK_thd_data,\
    synch/mutex/sql/THD::LOCK_thd_kill,\
    synch/rwlock/innodb/dict_operation_lock,\
    synch/rwlock/sql/MDL_lock::rwlock}";

static KNOWN: LazyLock<Vec<KnownMetric>> = LazyLock::new(|| {
    let known = |&(pattern, unit, worse, gating, floor_percent, floor_absolute): &Row| {
        let pattern = Pattern::new(pattern).ok()?;
        Some(KnownMetric {
            pattern,
            unit,
            worse,
            gating,
            floor_percent,
            floor_absolute,
        })
    };
    ROWS.iter().filter_map(known).collect()
});

/// The rows of the table, the general ones first.
pub fn known_metrics() -> &'static [KnownMetric] {
    &KNOWN
}

/// What is known of a metric: the last row that matches its `metric_key`.
pub fn known(metric_key: &str) -> &'static KnownMetric {
    let mut rows = KNOWN.iter().rev();
    rows.find(|row| row.pattern.matches(metric_key))
        .unwrap_or(&KNOWN[0])
}

impl Unit {
    /// What stands behind a value, such as `MiB/s`; empty where there is no unit.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::None => "",
            Instructions => "instr",
            Cycles => "cycles",
            Misses => "misses",
            BusEvents => "events",
            Bytes => "B",
            Nanoseconds => "ns",
            Allocations => "allocs",
            PerSecond => "/s",
            PerThousandSeconds => "/1000 s",
            BytesPerSecond => "B/s",
            MegabytesPerSecond => "MB/s",
            MebibytesPerSecond => "MiB/s",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_pattern() {
        assert_eq!(KNOWN.len(), ROWS.len());
    }

    #[test]
    fn what_the_readers_make_is_known() {
        for (key, unit, worse, gating) in [
            ("callgrind.ir", Instructions, Higher, Fail),
            ("callgrind.llc_misses", Misses, Higher, Warn),
            ("callgrind.global_bus_events", BusEvents, Higher, Fail),
            ("massif.peak_heap_bytes", Bytes, Higher, Fail),
            ("size.drizzled_bytes", Bytes, Higher, Fail),
            ("size.plugin_count", Unit::None, Higher, Fail),
            ("sysbench.transactions", Unit::None, Lower, Show),
            ("sysbench.transactions_per_second", PerSecond, Lower, Fail),
            ("sysbench.events_per_second", PerSecond, Lower, Fail),
            (
                "sysbench.read_mib_per_second",
                MebibytesPerSecond,
                Lower,
                Fail,
            ),
            ("sysbench.latency_avg_ns", Nanoseconds, Higher, Fail),
            ("sysbench.latency_p95_ns", Nanoseconds, Higher, Fail),
            ("sysbench.latency_p99_ns", Nanoseconds, Higher, Fail),
            ("sysbench.latency_p99.9_ns", Nanoseconds, Higher, Show),
            ("sysbench.latency_max_ns", Nanoseconds, Higher, Show),
            ("sysbench.ignored_errors", Unit::None, Higher, Warn),
            ("locust.requests", Unit::None, Lower, Show),
            ("locust.failures", Unit::None, Higher, Warn),
            (
                "locust.requests_per_1000_seconds",
                PerThousandSeconds,
                Lower,
                Fail,
            ),
            (
                "locust.failures_per_1000_seconds",
                PerThousandSeconds,
                Higher,
                Fail,
            ),
            ("locust.response_p99.9_ns", Nanoseconds, Higher, Show),
            ("locust.response_p98_ns", Nanoseconds, Higher, Fail),
            ("locust.response_p100_ns", Nanoseconds, Higher, Show),
            ("locust.content_avg_bytes", Bytes, Higher, Fail),
            ("hyperfine.sleep 1.mean_ns", Nanoseconds, Higher, Fail),
            ("hyperfine.sleep 1.max_ns", Nanoseconds, Higher, Show),
            ("criterion.sort/std.slope_ns", Nanoseconds, Higher, Fail),
            ("pytest.t.py::test_sum.median_ns", Nanoseconds, Higher, Fail),
            ("pytest.t.py::test_sum.max_ns", Nanoseconds, Higher, Show),
            ("go.BenchmarkCopy.ns_per_op", Nanoseconds, Higher, Fail),
            ("go.BenchmarkCopy.MB_per_s", MegabytesPerSecond, Lower, Fail),
            ("go.BenchmarkCopy.allocs_per_op", Allocations, Higher, Fail),
            ("go.BenchmarkCopy.hits_per_op", Unit::None, Higher, Show),
            (
                "google_benchmark.BM_Sum.real_time_ns",
                Nanoseconds,
                Higher,
                Fail,
            ),
            (
                "google_benchmark.BM_Sum.median_cpu_time_ns",
                Nanoseconds,
                Higher,
                Fail,
            ),
            (
                "google_benchmark.BM_Sum.items_per_second",
                PerSecond,
                Lower,
                Fail,
            ),
            (
                "google_benchmark.BM_Sum.mean_bytes_per_second",
                BytesPerSecond,
                Lower,
                Fail,
            ),
            (
                "google_benchmark.BM_Sum.my_counter",
                Unit::None,
                Higher,
                Show,
            ),
            (
                "jmh.org.Queue.offer.thrpt_ops_per_second",
                PerSecond,
                Lower,
                Fail,
            ),
            (
                "jmh.org.Queue.offer.avgt_ns_per_op",
                Nanoseconds,
                Higher,
                Fail,
            ),
            (
                "jmh.org.Queue.offer.gc.alloc.rate_MB_per_sec",
                Unit::None,
                Higher,
                Show,
            ),
            (
                "jmh.org.Queue.offer.gc.alloc.rate.norm_B_per_op",
                Bytes,
                Higher,
                Fail,
            ),
            ("queue.served_per_second", PerSecond, Lower, Fail),
            ("queue.errors_per_second", PerSecond, Higher, Fail),
            ("queue.depth", Unit::None, Higher, Fail),
        ] {
            let found = known(key);
            assert_eq!(
                (found.unit, found.worse, found.gating),
                (unit, worse, gating),
                "{key} ({})",
                found.pattern
            );
        }
    }

    /// What the readers make of real outputs, as the tests of the readers have it.
    #[test]
    fn every_metric_of_a_reader_has_a_row_of_its_own() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let mut keys = std::collections::BTreeSet::new();
        for entry in walkdir::WalkDir::new(folder) {
            let path = entry.unwrap().into_path();
            let is_named_by_users = path.components().any(|part| part.as_os_str() == "values");
            if is_named_by_users || path.extension().is_none_or(|end| end != "metrics") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for line in text.lines() {
                let (name, _) = line.trim_start_matches('@').rsplit_once(' ').unwrap();
                let key = name.split_once('{').map_or(name, |(key, _)| key);
                keys.insert(key.to_owned());
            }
        }
        assert!(keys.len() > 50, "{keys:?}");
        for key in keys {
            let row = known(&key);
            assert!(!row.pattern.is_any(), "{key} has no row");
            let is_rate = ["_per_second", "_per_s", "_per_1000_seconds"]
                .iter()
                .any(|end| key.ends_with(end));
            if is_rate && !key.contains("failures") {
                assert_eq!(row.worse, Lower, "{key}");
            }
            if key.ends_with("_ns") || key.ends_with("_bytes") {
                assert_eq!(row.worse, Higher, "{key}");
            }
        }
    }
}
