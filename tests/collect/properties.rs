//! What holds for any file: no reader panics, and none yields a number that the file does not hold.

use std::fs;
use std::sync::OnceLock;

use perf_tracking::collect::{
    self, Callgrind, Criterion, Failures, Kind, Parts, PerformanceSchema, Reading, Unreadable,
};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::fixtures;

/// A reader of bytes, whatever its tool.
pub(crate) type Reader = fn(&[u8]) -> Option<Reading>;

fn of_text(bytes: &[u8], read: fn(&str) -> Result<Reading, Unreadable>) -> Option<Reading> {
    read(&String::from_utf8_lossy(bytes)).ok()
}

fn callgrind(bytes: &[u8]) -> Option<Reading> {
    let mut callgrind = Callgrind::default();
    callgrind.add("callgrind.out", bytes).ok()?;
    callgrind.finish(Parts::Given).ok()
}

fn massif(bytes: &[u8]) -> Option<Reading> {
    collect::read_massif(bytes).unwrap().ok()
}

fn criterion(bytes: &[u8]) -> Option<Reading> {
    let text = String::from_utf8_lossy(bytes);
    let benchmark = r#"{"group_id": "g"}"#;
    let read = |estimates, benchmark| {
        collect::read_criterion(Criterion {
            estimates,
            benchmark,
        })
    };
    let _ = read(r#"{"mean": {"point_estimate": 1.0}}"#, &text);
    read(&text, benchmark).ok()
}

pub(crate) const READERS: [(&str, Reader); 13] = [
    ("callgrind/all_events.out", callgrind),
    ("massif/default.out", massif),
    ("size/berkeley_totals.txt", |b| {
        of_text(b, |t| collect::read_sizes(t)?.of_files())
    }),
    ("size/plug_a.so", |b| {
        collect::read_binary("b", b).ok()?.of_set().ok()
    }),
    ("sysbench/oltp_intervals.txt", |b| {
        of_text(b, collect::read_sysbench)
    }),
    ("locust/2.47_stats.csv", |b| {
        of_text(b, |t| collect::read_locust(t, Failures::Refused))
    }),
    ("hyperfine/parameters.json", |b| {
        of_text(b, |t| collect::read_hyperfine(t, Failures::Refused))
    }),
    ("criterion/target/sum 100/new/estimates.json", criterion),
    ("google_benchmark/repetitions.json", |b| {
        of_text(b, |t| collect::read_google_benchmark(t, Failures::Refused))
    }),
    ("pytest_benchmark/parametrized.json", |b| {
        of_text(b, collect::read_pytest_benchmark)
    }),
    ("jmh/modes_by_hand.json", |b| of_text(b, collect::read_jmh)),
    ("go_bench/sub_benchmarks.txt", |b| {
        of_text(b, collect::read_go_bench)
    }),
    ("performance_schema/mariadb_11.8_after.tsv", |b| {
        of_text(b, |t| PerformanceSchema::parse(t)?.read())
    }),
];

pub(crate) const VALUES: (&str, Reader) = ("values/lines.txt", |b| {
    of_text(b, |t| collect::read_values(t, Kind::Counted))
});

pub(crate) fn fixture(name: &str) -> Vec<u8> {
    fs::read(fixtures().join(name)).unwrap()
}

/// What each reader is tried with, read once.
fn damaged() -> &'static [(Vec<u8>, Reader)] {
    static FILES: OnceLock<Vec<(Vec<u8>, Reader)>> = OnceLock::new();
    FILES.get_or_init(|| {
        let all = READERS.iter().chain([&VALUES]);
        all.map(|(name, read)| (fixture(name), *read)).collect()
    })
}

/// Every place at which a file may be cut: it yields nothing, or what the whole file does.
///
/// A massif file has no end mark, so that it may also be cut between two snapshots, which then gives
/// the peak of those before; a callgrind file of several parts may be cut between two of them.
#[test]
fn a_file_cut_anywhere_yields_nothing_or_all() {
    for (name, read) in READERS
        .iter()
        .filter(|(name, _)| !name.starts_with("massif"))
    {
        let whole = fixture(name);
        let expected = read(&whole).unwrap();
        let step = (whole.len() / 500).max(1);
        for cut in (0..whole.len()).step_by(step) {
            let Some(reading) = read(&whole[..cut]) else {
                continue;
            };
            // These tables may end after any row; their rows are still whole.
            let ends_anywhere = ["size/berkeley", "performance_schema/"];
            let held = if ends_anywhere.iter().any(|table| name.starts_with(table)) {
                reading.metrics.iter().all(|m| expected.metrics.contains(m))
            } else {
                reading.metrics == expected.metrics
            };
            assert!(held, "{name} cut at {cut}: {:?}", reading.metrics);
        }
    }
}

#[test]
fn a_massif_file_cut_anywhere_yields_nothing_or_the_peak_of_what_is_left() {
    let whole = fixture("massif/default.out");
    let text = String::from_utf8(whole.clone()).unwrap();
    let field = |snapshot: &str, name: &str| -> Option<u64> {
        snapshot.split_once(name)?.1.lines().next()?.parse().ok()
    };
    let peak = |text: &str| {
        let sum = |snapshot: &str| {
            Some(field(snapshot, "mem_heap_B=")? + field(snapshot, "mem_heap_extra_B=")?)
        };
        text.split("snapshot=").filter_map(sum).max()
    };
    assert_eq!(peak(&text), Some(7536));
    for cut in (0..whole.len()).step_by(3) {
        if let Some(reading) = massif(&whole[..cut]) {
            let found = reading.metrics[0].value.to_string();
            assert_eq!(
                Some(found),
                peak(&text[..cut]).map(|p| p.to_string()),
                "cut at {cut}"
            );
        }
    }
}

/// A callgrind file of random parts, with names of functions that look like its own lines.
fn parts() -> impl Strategy<Value = Vec<Vec<u64>>> {
    let part = proptest::collection::vec(0_u64..1_000_000_000_000, 3);
    proptest::collection::vec(part, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_reader_panics_at_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for (_, read) in READERS.iter().chain([&VALUES]) {
            let _ = read(&bytes);
        }
    }

    #[test]
    fn no_reader_panics_at_a_damaged_file(
        places in proptest::collection::vec((any::<Index>(), any::<u8>()), 1..8),
        cut in any::<Index>(),
    ) {
        for (whole, read) in damaged() {
            let mut bytes = whole.clone();
            for (place, byte) in &places {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            let _ = read(&bytes);
            bytes.truncate(cut.index(bytes.len()));
            let _ = read(&bytes);
        }
    }

    #[test]
    fn the_parts_of_a_callgrind_file_are_summed_whatever_stands_between(
        parts in parts(),
        body in "(fn=totals: [0-9]{1,3}\n|[+-][0-9]{1,4} [0-9]{1,4}\n|calls=1 2\n|\n|fn=[a-z:]{0,9}\n){0,400}",
        left_out in 0_usize..3,
    ) {
        let mut text = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 7\n".to_owned();
        let mut sums = [0_u64; 3];
        for (number, part) in (1..).zip(&parts) {
            let mut part = part.clone();
            part[2] = if left_out > 0 { 0 } else { part[2] };
            sums.iter_mut().zip(&part).for_each(|(sum, cost)| *sum += cost);
            let shown: Vec<String> = part[..3 - left_out.min(1)].iter().map(u64::to_string).collect();
            text.push_str(&format!("part: {number}\npositions: line\nevents: Ir Ge Bc\nsummary: 0\n\nfn=a\n{body}\ntotals: {}\n", shown.join(" ")));
        }
        let found: Vec<String> = callgrind(text.as_bytes())
            .map(|reading| reading.metrics.iter().map(|m| format!("{} {}", m.name.metric_key, m.value)).collect())
            .unwrap_or_default();
        let expected = if sums[0] == 0 { vec![] } else {
            vec![format!("callgrind.ir {}", sums[0]), format!("callgrind.global_bus_events {}", sums[1])]
        };
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_time_keeps_its_digits(whole in 0_u32..100_000, fraction in "[0-9]{1,12}") {
        let digits = format!("{whole}.{fraction}");
        let json = format!(r#"{{"results": [{{"command": "c", "mean": {digits}}}]}}"#);
        // Seconds to nanoseconds: the point moves by nine places.
        let padded = format!("{fraction:0<13}");
        let expected = format!("{whole}{}.{}", &padded[..9], &padded[9..]);
        let expected: perf_tracking::domain::Value = expected.parse().unwrap();
        let reading = collect::read_hyperfine(&json, Failures::Refused).unwrap();
        prop_assert_eq!(reading.metrics[0].value, expected);
    }
}
