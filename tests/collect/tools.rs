//! The files of each tool, and exactly what they yield.
//!
//! What stands in `tests/fixtures/<tool>/*.metrics` was worked out from the files beside it, by hand
//! or by another program, and not by this one.

use std::fs;

use crate::{fixtures, lines, make};

/// The file of the expected metrics, and what to read.
const CASES: [(&str, &[&str]); 46] = [
    (
        "callgrind/all_events",
        &["--callgrind", "callgrind/all_events.out"],
    ),
    (
        "callgrind/threads",
        &["--callgrind", "callgrind/threads.out"],
    ),
    (
        "callgrind/ir_only",
        &["--callgrind", "callgrind/ir_only.out"],
    ),
    (
        "callgrind/per_thread",
        &[
            "--callgrind",
            "callgrind/per_thread.out",
            "callgrind/per_thread.out-01",
            "callgrind/per_thread.out-02",
        ],
    ),
    (
        "callgrind/parts",
        &[
            "--callgrind",
            "callgrind/parts.out",
            "callgrind/parts.out.1",
        ],
    ),
    (
        "callgrind/last_part",
        &[
            "--callgrind",
            "callgrind/parts.out",
            "--callgrind-some-parts",
        ],
    ),
    (
        "callgrind/parts_combined",
        &["--callgrind", "callgrind/parts_combined.out"],
    ),
    (
        "callgrind/forked",
        &[
            "--callgrind",
            "callgrind/forked.out.11854",
            "callgrind/forked.out.11870",
        ],
    ),
    (
        "callgrind/trailing_zeros",
        &["--callgrind", "callgrind/trailing_zeros.out"],
    ),
    (
        "callgrind/by_cachegrind",
        &["--callgrind", "callgrind/by_cachegrind.out"],
    ),
    (
        "callgrind/by_another_writer_summary_last",
        &[
            "--callgrind",
            "callgrind/by_another_writer_summary_last.out",
        ],
    ),
    (
        "callgrind/old_event_names_zero_summary",
        &[
            "--callgrind",
            "callgrind/old_event_names_zero_summary.out",
            "--callgrind-some-parts",
        ],
    ),
    ("massif/default", &["--massif", "massif/default.out"]),
    (
        "massif/stacks_only",
        &["--massif", "massif/stacks_only.out"],
    ),
    ("massif/pages", &["--massif", "massif/pages.out"]),
    ("massif/all_three", &["--massif", "massif/all_three.out"]),
    ("size/berkeley", &["--size", "size/berkeley.txt"]),
    ("size/berkeley", &["--size", "size/berkeley_x.txt"]),
    ("size/berkeley", &["--size", "size/berkeley_o.txt"]),
    ("size/berkeley", &["--size", "size/gnu.txt"]),
    ("size/berkeley", &["--size", "size/gnu_x.txt"]),
    (
        "size/berkeley",
        &["--binary", "app=size/app.stripped", "size/plug_a.so"],
    ),
    ("size/totals", &["--size", "size/berkeley_totals.txt"]),
    ("size/totals", &["--size", "size/berkeley_o_totals.txt"]),
    ("size/totals", &["--size", "size/gnu_o_totals.txt"]),
    ("size/sysv", &["--size", "size/sysv.txt"]),
    ("size/sysv", &["--size", "size/sysv_x.txt"]),
    ("size/sysv", &["--size", "size/sysv_o.txt"]),
    ("size/sysv", &["--size", "size/sysv_totals.txt"]),
    ("size/sysv_archive", &["--size", "size/sysv_archive.txt"]),
    ("size/archive", &["--size", "size/archive.txt"]),
    ("size/archive", &["--binary", "size/libm.a"]),
    ("size/flattened", &["--size", "size/flattened.txt"]),
    ("size/plugins", &["--plugin-size", "size/plugins.txt"]),
    (
        "size/plugins",
        &["--plugin", "size/plug_a.so", "size/plug_b.so"],
    ),
    (
        "sysbench/all_tests",
        &[
            "--sysbench",
            "sysbench/oltp_read_write.txt",
            "sysbench/oltp_intervals.txt",
            "sysbench/memory.txt",
        ],
    ),
    ("sysbench/cpu", &["--sysbench", "sysbench/cpu.txt"]),
    (
        "sysbench/cpu_no_percentile",
        &["--sysbench", "sysbench/cpu_no_percentile.txt"],
    ),
    ("sysbench/fileio", &["--sysbench", "sysbench/fileio.txt"]),
    ("sysbench/mutex", &["--sysbench", "sysbench/mutex.txt"]),
    ("sysbench/threads", &["--sysbench", "sysbench/threads.txt"]),
    (
        "hyperfine/all",
        &[
            "--hyperfine",
            "hyperfine/two_commands.json",
            "hyperfine/parameters.json",
            "hyperfine/failing_command.json",
        ],
    ),
    ("criterion/target", &["--criterion", "criterion/target"]),
    (
        "google_benchmark/counters_and_units",
        &[
            "--google-benchmark",
            "google_benchmark/counters_and_units.json",
        ],
    ),
    (
        "google_benchmark/repetitions",
        &["--google-benchmark", "google_benchmark/repetitions.json"],
    ),
    (
        "google_benchmark/repetitions",
        &[
            "--google-benchmark",
            "google_benchmark/repetitions_before_1_5_by_hand.json",
        ],
    ),
];

const MORE_CASES: [(&str, &[&str]); 10] = [
    (
        "pytest_benchmark/parametrized",
        &["--pytest-benchmark", "pytest_benchmark/parametrized.json"],
    ),
    ("jmh/modes_by_hand", &["--jmh", "jmh/modes_by_hand.json"]),
    (
        "go_bench/sub_benchmarks",
        &["--go-bench", "go_bench/sub_benchmarks.txt"],
    ),
    (
        "go_bench/count_and_cpu",
        &["--go-bench", "go_bench/count_and_cpu.txt"],
    ),
    ("locust/2.47", &["--locust", "locust/2.47_stats.csv"]),
    ("locust/1.1", &["--locust", "locust/1.1_stats_by_hand.csv"]),
    (
        "locust/0.14",
        &["--locust", "locust/0.14_stats_by_hand.csv"],
    ),
    (
        "locust/0.9",
        &[
            "--locust",
            "locust/0.9_requests_by_hand.csv",
            "locust/0.9_distribution_by_hand.csv",
        ],
    ),
    ("values/counted", &["--values", "values/lines.txt"]),
    ("values/counted", &["--values", "values/map.json"]),
];

#[test]
fn every_file_yields_exactly_its_metrics() {
    for (expected, args) in CASES.iter().chain(&MORE_CASES) {
        let path = fixtures().join(format!("{expected}.metrics"));
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut expected: Vec<&str> = text.lines().collect();
        expected.sort_unstable();
        let (document, said) = make(args);
        let mut found = lines(&document);
        found.sort_unstable();
        assert_eq!(found, expected, "{args:?}");
        assert!(said.starts_with("read "), "{said}");
    }
}

#[test]
fn what_was_read_is_said_a_line_for_each_file() {
    let (_, said) = make(&[
        "--callgrind",
        "callgrind/per_thread.out",
        "callgrind/per_thread.out-01",
        "callgrind/per_thread.out-02",
        "--criterion",
        "criterion/target/sum 100/new/estimates.json",
    ]);
    let expected = "\
read callgrind/per_thread.out: empty; its threads must have files of their own
read callgrind/per_thread.out-01: callgrind-3.19.0, process 11823, thread 1, part 1
read callgrind/per_thread.out-02: callgrind-3.19.0, process 11823, thread 2, part 1
read --callgrind: callgrind-3.19.0, 2 parts of 3 files summed
read criterion/target/sum 100/new/estimates.json: criterion, benchmark `sum 100` (3 metrics)
";
    assert_eq!(said, expected);
}

#[test]
fn values_of_a_clock_are_marked() {
    let counted = lines(&make(&["--values", "values/lines.txt"]).0);
    let timed = lines(&make(&["--wallclock-values", "values/lines.txt"]).0);
    let marked: Vec<String> = counted.iter().map(|line| format!("@{line}")).collect();
    assert_eq!(timed, marked);
}

#[test]
fn any_mix_makes_one_document() {
    let (document, said) = make(&[
        "--callgrind",
        "callgrind/all_events.out",
        "--massif",
        "massif/default.out",
        "--binary",
        "app=size/app.stripped",
        "--plugin",
        "size/plug_a.so",
        "size/plug_b.so",
        "--values",
        "values/lines.txt",
        "--jmh",
        "jmh/modes_by_hand.json",
    ]);
    assert_eq!(lines(&document).len(), 6 + 1 + 1 + 2 + 3 + 7);
    assert!(
        said.contains("read callgrind/all_events.out: callgrind-3.19.0, process "),
        "{said}"
    );
    assert!(
        said.contains("read massif/default.out: massif, 32 snapshots"),
        "{said}"
    );
}

/// The numbers that an independent reading of such files gave.
#[test]
fn the_reference_cases_hold() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let events = "Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim Ge";
    let totals = "388452 48324 222692 1350 1423 3859 1320 779 1739 236311 3460 345 176 6133";
    let part = |n: u64, events: &str, totals: &str| {
        format!(
            "creator: callgrind-3.19.0\npid: 1\npart: {n}\nevents: {events}\nsummary: 0\n\ntotals: {totals}\n"
        )
    };
    let threads = write("threads", part(1, events, totals));
    let found = lines(&make(&["--callgrind", &threads]).0);
    assert_eq!(
        found,
        [
            "callgrind.branch_mispredicts 3636",
            "callgrind.estimated_cycles 874932",
            "callgrind.global_bus_events 6133",
            "callgrind.ir 388452",
            "callgrind.l1_misses 6632",
            "callgrind.llc_misses 3838",
        ]
    );
    for (one, two, sum) in [("386868", "1592", "388460"), ("385724", "2634", "388358")] {
        let combined = write("combined", part(1, "Ir", one) + &part(2, "Ir", two));
        let [first, second] =
            [(1, one), (2, two)].map(|(n, ir)| write(&format!("cg.{n}"), part(n, "Ir", ir)));
        for files in [
            vec!["--callgrind", &combined],
            vec!["--callgrind", &second, &first],
        ] {
            assert_eq!(lines(&make(&files).0), [format!("callgrind.ir {sum}")]);
        }
    }
    let peak = |heap, extra| {
        format!(
            "#-----------\nsnapshot=0\n#-----------\ntime=0\nmem_heap_B={heap}\nmem_heap_extra_B={extra}\nmem_stacks_B=0\nheap_tree=empty\n"
        )
    };
    let massif = write(
        "massif",
        peak(1_001_000, 24) + &peak(1_006_000, 16) + &peak(0, 0),
    );
    assert_eq!(
        lines(&make(&["--massif", &massif]).0),
        ["massif.peak_heap_bytes 1006016"]
    );
}
