//! The files of each tool, and exactly what they yield.
//!
//! What stands in `tests/fixtures/<tool>/*.metrics` was worked out from the files beside it, by hand
//! or by another program, and not by this one.

use std::fs;
use std::time::Duration;

use crate::{fixtures, lines, make, refuse};

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
            "--allow-failures",
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

const MORE_CASES: [(&str, &[&str]); 14] = [
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
    (
        "performance_schema/mariadb_10.11",
        &[
            "--performance-schema",
            "performance_schema/mariadb_10.11_after.tsv",
            "--performance-schema-before",
            "performance_schema/mariadb_10.11_before.tsv",
        ],
    ),
    (
        "performance_schema/mariadb_11.8",
        &[
            "--performance-schema",
            "performance_schema/mariadb_11.8_after.tsv",
            "--performance-schema-before",
            "performance_schema/mariadb_11.8_before.tsv",
        ],
    ),
    (
        "performance_schema/mysql_9.7",
        &[
            "--performance-schema",
            "performance_schema/mysql_9.7_after.tsv",
            "--performance-schema-before",
            "performance_schema/mysql_9.7_before.tsv",
        ],
    ),
    (
        "performance_schema/since_the_start",
        &[
            "--performance-schema",
            "performance_schema/mariadb_11.8_after.tsv",
        ],
    ),
    ("values/counted", &["--values", "values/lines.txt"]),
    ("values/counted", &["--values", "values/map.json"]),
];

/// Kinds of files that other programs refuse or read wrongly.
const KINDS: [(&str, &str, &str); 24] = [
    ("hyperfine/1.0", "--hyperfine", "hyperfine/1.0_by_hand.json"),
    ("hyperfine/1.6", "--hyperfine", "hyperfine/1.6_by_hand.json"),
    (
        "hyperfine/long_command",
        "--hyperfine",
        "hyperfine/long_command.json",
    ),
    (
        "sysbench/1.1_cpu",
        "--sysbench",
        "sysbench/1.1_cpu_by_hand.txt",
    ),
    (
        "sysbench/1.1_oltp",
        "--sysbench",
        "sysbench/1.1_oltp_by_hand.txt",
    ),
    (
        "sysbench/1.1_fileio",
        "--sysbench",
        "sysbench/1.1_fileio_by_hand.txt",
    ),
    (
        "sysbench/1.1_memory",
        "--sysbench",
        "sysbench/1.1_memory_by_hand.txt",
    ),
    ("sysbench/bom", "--sysbench", "sysbench/bom.txt"),
    (
        "google_benchmark/skipped",
        "--google-benchmark",
        "google_benchmark/skipped.json",
    ),
    (
        "google_benchmark/nan_spread",
        "--google-benchmark",
        "google_benchmark/nan_spread.json",
    ),
    (
        "google_benchmark/infinite_counter",
        "--google-benchmark",
        "google_benchmark/infinite_counter.json",
    ),
    (
        "pytest_benchmark/address",
        "--pytest-benchmark",
        "pytest_benchmark/address_of_one_run.json",
    ),
    (
        "pytest_benchmark/address",
        "--pytest-benchmark",
        "pytest_benchmark/address_of_another_run.json",
    ),
    (
        "pytest_benchmark/data_in_params",
        "--pytest-benchmark",
        "pytest_benchmark/data_in_params.json",
    ),
    (
        "pytest_benchmark/long_name",
        "--pytest-benchmark",
        "pytest_benchmark/long_name.json",
    ),
    ("go_bench/prints", "--go-bench", "go_bench/prints.txt"),
    ("go_bench/utf16", "--go-bench", "go_bench/utf16.txt"),
    ("go_bench/bom", "--go-bench", "go_bench/bom.txt"),
    (
        "go_bench/number_at_end",
        "--go-bench",
        "go_bench/number_at_end.txt",
    ),
    (
        "go_bench/long_dimension",
        "--go-bench",
        "go_bench/long_dimension.txt",
    ),
    (
        "criterion/long_value",
        "--criterion",
        "criterion/long_value",
    ),
    ("jmh/long_name", "--jmh", "jmh/long_name.json"),
    (
        "jmh/gc_profiler_and_two_modes",
        "--jmh",
        "jmh/gc_profiler_and_two_modes_by_hand.json",
    ),
    (
        "values/long_name",
        "--wallclock-values",
        "values/long_name.txt",
    ),
];

#[test]
fn every_file_yields_exactly_its_metrics() {
    let kinds = KINDS.map(|(expected, flag, file)| (expected, [flag, file]));
    let kinds = kinds.iter().map(|(expected, args)| (*expected, &args[..]));
    for (expected, args) in CASES.into_iter().chain(MORE_CASES).chain(kinds) {
        let path = fixtures().join(format!("{expected}.metrics"));
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut expected: Vec<&str> = text.lines().collect();
        assert!(!expected.is_empty(), "{}", path.display());
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

/// What a real MariaDB printed before and after a load that was the first to open the table after an
/// index had been made: of 1,050 rows it knew 50.
#[test]
fn a_table_of_which_the_server_forgot_the_counts_is_refused() {
    let said = refuse(&[
        "--performance-schema",
        "performance_schema/forgotten_after.tsv",
        "--performance-schema-before",
        "performance_schema/forgotten_before.tsv",
    ]);
    let expected =
        "forgotten_after.tsv: line 2: `TABLE.sbtest.sbtest1` was counted less often than before";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("SELECT 1 FROM table LIMIT 1"), "{said}");
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
    let peak = |number, heap, extra| {
        format!(
            "#-----------\nsnapshot={number}\n#-----------\ntime=0\nmem_heap_B={heap}\nmem_heap_extra_B={extra}\nmem_stacks_B=0\nheap_tree=empty\n"
        )
    };
    let massif = write(
        "massif",
        peak(0, 1_001_000, 24) + &peak(1, 1_006_000, 16) + &peak(2, 0, 0),
    );
    assert_eq!(
        lines(&make(&["--massif", &massif]).0),
        ["massif.peak_heap_bytes 1006016"]
    );
}

#[test]
fn what_was_left_out_or_shortened_is_noted() {
    for (args, note) in [
        (
            &["--google-benchmark", "google_benchmark/skipped.json"][..],
            "note: google_benchmark/skipped.json: `BM_Load/512` was skipped (needs AVX-512) and is left out\n",
        ),
        (
            &[
                "--google-benchmark",
                "google_benchmark/infinite_counter.json",
            ],
            "`google_benchmark.BM_Copy.hits_per_miss` is Infinity and is left out\n",
        ),
        (
            &[
                "--hyperfine",
                "hyperfine/failing_command.json",
                "--allow-failures",
            ],
            "note: hyperfine/failing_command.json: `false` failed in 3 of 3 runs\n",
        ),
        (
            &["--jmh", "jmh/gc_profiler_and_two_modes_by_hand.json"],
            "`stack` of `org.example.Queue.offer` is NaN and is left out\n",
        ),
        (
            &["--go-bench", "go_bench/long_dimension.txt"],
            "is too long for a name and is stored as `go.BenchmarkSampling.ns_per_op{gomaxprocs=16,pkg=~",
        ),
    ] {
        let (_, said) = make(args);
        assert!(said.contains(note), "{args:?}: {said}");
    }
    let failed = [
        "--google-benchmark",
        "google_benchmark/failed_benchmark.bad.json",
        "--allow-failures",
    ];
    let said = refuse(&failed);
    assert!(
        said.contains("none was run; `BM_Bad` failed (no file) and is left out"),
        "{said}"
    );
}

#[test]
fn a_result_of_criterion_that_is_a_year_old_is_left_out_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let now = fs::metadata(folder.path()).unwrap().modified().unwrap();
    let year = Duration::from_secs(365 * 24 * 3600);
    for (name, written) in [("parse", now), ("removed_last_year", now - year)] {
        let new = folder.path().join("criterion").join(name).join("new");
        fs::create_dir_all(&new).unwrap();
        let estimates = new.join("estimates.json");
        fs::write(&estimates, r#"{"mean": {"point_estimate": 100.0}}"#).unwrap();
        let benchmark = format!(r#"{{"group_id": "{name}"}}"#);
        fs::write(new.join("benchmark.json"), benchmark).unwrap();
        let file = fs::File::options().append(true).open(estimates).unwrap();
        file.set_modified(written).unwrap();
    }
    let target = folder.path().join("criterion");
    let (document, said) = make(&["--criterion", target.to_str().unwrap()]);
    let found = lines(&document);
    let [line] = &found[..] else { panic!("{said}") };
    assert!(line.contains("criterion.parse.mean_ns"), "{line}");
    let warnings: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("warning"))
        .collect();
    let [warning] = warnings[..] else {
        panic!("{said}")
    };
    assert!(warning.contains("removed_last_year"), "{warning}");
    assert!(
        warning.contains("is 365 days older than the newest result"),
        "{warning}"
    );
}

#[test]
fn every_kind_of_text_is_read_alike() {
    let folder = tempfile::tempdir().unwrap();
    let utf16 = |text: &str| -> Vec<u8> {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    for (flag, name) in [
        ("--sysbench", "sysbench/cpu.txt"),
        ("--locust", "locust/2.47_stats.csv"),
        ("--hyperfine", "hyperfine/two_commands.json"),
        ("--google-benchmark", "google_benchmark/repetitions.json"),
        ("--pytest-benchmark", "pytest_benchmark/parametrized.json"),
        ("--jmh", "jmh/modes_by_hand.json"),
        ("--go-bench", "go_bench/sub_benchmarks.txt"),
        ("--values", "values/lines.txt"),
        ("--values", "values/map.json"),
        ("--size", "size/berkeley.txt"),
        ("--plugin-size", "size/plugins.txt"),
        ("--callgrind", "callgrind/all_events.out"),
        ("--massif", "massif/default.out"),
    ] {
        let text = fs::read_to_string(fixtures().join(name)).unwrap();
        let expected = lines(&make(&[flag, name]).0);
        let windows = text.replace('\n', "\r\n");
        let is_streamed = matches!(flag, "--callgrind" | "--massif");
        let path = folder.path().join("file");
        let shown = path.to_str().unwrap();
        for bytes in [
            format!("\u{feff}{text}").into_bytes(),
            windows.clone().into_bytes(),
            format!("\u{feff}{windows}").into_bytes(),
        ] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(lines(&make(&[flag, shown]).0), expected, "{name}");
        }
        fs::write(&path, utf16(&windows)).unwrap();
        if is_streamed {
            let said = refuse(&[flag, shown]);
            assert!(said.contains("UTF-16"), "{name}: {said}");
        } else {
            assert_eq!(lines(&make(&[flag, shown]).0), expected, "{name}");
        }
        let zero = text.replacen('\n', "\0\n", 1);
        fs::write(&path, zero).unwrap();
        let said = refuse(&[flag, shown]);
        assert!(said.contains("line 1: "), "{name}: {said}");
    }
}
