//! Files that are cut short, damaged, or another tool's: each has a message that says what to do.

use std::collections::BTreeSet;
use std::fs;

use crate::{fixtures, refuse};

/// A file, the flag it is given to, and what must be said of it beside its name.
const CASES: [(&str, &str, &str); 63] = [
    (
        "--callgrind",
        "callgrind/cut_short.bad.out",
        "line 60: the part has no `totals:` line",
    ),
    (
        "--callgrind",
        "callgrind/cut_within_totals.bad.out",
        "line 62: the part has no `totals:` line",
    ),
    (
        "--callgrind",
        "callgrind/empty.bad.out",
        "is empty: callgrind was ended before it wrote",
    ),
    (
        "--callgrind",
        "callgrind/totals_not_a_number.bad.out",
        "line 62: `x235271",
    ),
    (
        "--callgrind",
        "callgrind/more_numbers_than_events.bad.out",
        "line 62: has 2 numbers for 1 event",
    ),
    (
        "--callgrind",
        "callgrind/no_events.bad.out",
        "line 17: stands before `events:`",
    ),
    (
        "--callgrind",
        "callgrind/no_instructions.bad.out",
        "`Ir` is none of them",
    ),
    (
        "--callgrind",
        "callgrind/first_part_cut_short.bad.out",
        "line 63: the part has no `totals:`",
    ),
    (
        "--callgrind",
        "callgrind/compressed.bad.out",
        "decompress it first",
    ),
    (
        "--callgrind",
        "callgrind/nothing_collected.bad.out",
        "not one instruction was counted",
    ),
    (
        "--callgrind",
        "callgrind/parts.out",
        "part 1 was not given; give the files of all parts",
    ),
    (
        "--massif",
        "massif/cut_in_a_snapshot.bad.out",
        "line 119: the snapshot is not whole",
    ),
    (
        "--massif",
        "massif/empty.bad.out",
        "has no `snapshot=` line",
    ),
    (
        "--massif",
        "massif/bytes_not_a_number.bad.out",
        "`mem_heap_B=2kB` must be a whole number",
    ),
    (
        "--massif",
        "massif/by_callgrind.bad.out",
        "this is no massif file",
    ),
    (
        "--size",
        "size/unrecognised_file.bad.txt",
        "`size` could not read this file; leave it out",
    ),
    (
        "--size",
        "size/cut_short.bad.txt",
        "line 2: the last line has no end",
    ),
    (
        "--size",
        "size/a_row_is_missing.bad.txt",
        "add up to 1727 bytes and the totals say 4604",
    ),
    (
        "--size",
        "size/sysv_cut_short.bad.txt",
        "line 20: `app` has no `Total`",
    ),
    (
        "--size",
        "size/sysv_a_section_is_missing.bad.txt",
        "do not add up to the `Total`",
    ),
    (
        "--size",
        "size/empty.bad.txt",
        "is empty: `size` printed nothing",
    ),
    ("--size", "size/does_not_add_up.bad.txt", "line 2: "),
    (
        "--plugin-size",
        "size/empty.bad.txt",
        "is empty: `size` printed nothing",
    ),
    (
        "--binary",
        "size/plugins.txt",
        "is no ELF program, library or archive",
    ),
    (
        "--plugin",
        "size/empty.bad.txt",
        "is no ELF program, library or archive",
    ),
    (
        "--sysbench",
        "sysbench/cut_short.bad.txt",
        "has no `Threads fairness:` at its end",
    ),
    (
        "--sysbench",
        "sysbench/older_release.bad.txt",
        "is a report of sysbench 0.4.12; those of 1.0 and 1.1 are read",
    ),
    (
        "--sysbench",
        "sysbench/transactions_not_a_number.bad.txt",
        "line 18: `many` must be a count and its rate",
    ),
    (
        "--sysbench",
        "sysbench/two_reports.bad.txt",
        "give each report a file of its own",
    ),
    (
        "--sysbench",
        "sysbench/never_connected.bad.txt",
        "has no `Number of threads:`",
    ),
    (
        "--sysbench",
        "sysbench/empty.bad.txt",
        "this is no whole report of sysbench",
    ),
    (
        "--hyperfine",
        "hyperfine/cut_short.bad.json",
        "the JSON ends too early",
    ),
    (
        "--hyperfine",
        "hyperfine/mean_not_a_number.bad.json",
        "/results/1/mean must be a number",
    ),
    (
        "--hyperfine",
        "hyperfine/no_results.bad.json",
        "holds no result",
    ),
    (
        "--hyperfine",
        "hyperfine/failed_command.bad.json",
        "`app install` failed in 10 of 10 runs, so these are the times of a failure; mend the command, or say --allow-failures",
    ),
    (
        "--sysbench",
        "sysbench/did_nothing.bad.txt",
        "did nothing (0 events): nothing was measured",
    ),
    (
        "--go-bench",
        "go_bench/two_benchmarks_of_one_name.bad.txt",
        "line 4: `BenchmarkStore/Add-2` may be `BenchmarkStore/Add` on several processors",
    ),
    (
        "--criterion",
        "criterion/without_benchmark.bad",
        "benchmark.json beside it cannot be read",
    ),
    (
        "--criterion",
        "criterion/cut_short.bad",
        "x/new/estimates.json: line 1: the JSON ends too early",
    ),
    (
        "--criterion",
        "criterion/never_run.bad",
        "holds no new/estimates.json",
    ),
    (
        "--google-benchmark",
        "google_benchmark/empty_benchmark.bad.json",
        "of `BM_Empty`: `5.9100011640111916e-07` is less time",
    ),
    (
        "--google-benchmark",
        "google_benchmark/failed_benchmark.bad.json",
        "is the benchmark `BM_Bad`, which failed (no file)",
    ),
    (
        "--google-benchmark",
        "google_benchmark/cut_short.bad.json",
        "the JSON ends too early",
    ),
    (
        "--google-benchmark",
        "google_benchmark/unknown_unit.bad.json",
        "/time_unit `fortnight` is no unit",
    ),
    (
        "--google-benchmark",
        "google_benchmark/none_run.bad.json",
        "holds no benchmark",
    ),
    (
        "--pytest-benchmark",
        "pytest_benchmark/cut_short.bad.json",
        "the JSON ends too early",
    ),
    (
        "--pytest-benchmark",
        "pytest_benchmark/no_stats.bad.json",
        "/benchmarks/0 has no `stats`",
    ),
    (
        "--pytest-benchmark",
        "pytest_benchmark/none_run.bad.json",
        "holds no benchmark",
    ),
    ("--jmh", "jmh/cut_short.bad.json", "the JSON ends too early"),
    (
        "--jmh",
        "jmh/failed_benchmark.bad.json",
        "/1/primaryMetric/score is NaN, which is no score",
    ),
    ("--jmh", "jmh/none_run.bad.json", "holds no benchmark"),
    (
        "--go-bench",
        "go_bench/as_json.bad.txt",
        "line 1: is JSON; run `go test -bench` without -json",
    ),
    (
        "--go-bench",
        "go_bench/cut_short.bad.txt",
        "has no `PASS` or `ok` at its end",
    ),
    (
        "--go-bench",
        "go_bench/failed_test.bad.txt",
        "line 9: the run failed",
    ),
    (
        "--go-bench",
        "go_bench/number_without_unit.bad.txt",
        "line 5: must be pairs",
    ),
    (
        "--go-bench",
        "go_bench/none_run.bad.txt",
        "holds no benchmark",
    ),
    (
        "--locust",
        "locust/failures.bad.csv",
        "line 1: the first line is not that of locust's statistics",
    ),
    (
        "--locust",
        "locust/history.bad.csv",
        "give PREFIX_stats.csv",
    ),
    (
        "--locust",
        "locust/no_total.bad.csv",
        "has 0 rows of `Aggregated`",
    ),
    (
        "--locust",
        "locust/cut_short.bad.csv",
        "line 5: the last line has no end",
    ),
    (
        "--locust",
        "locust/unknown_column.bad.csv",
        "has a column `Average (ms)`",
    ),
    (
        "--locust",
        "locust/failures_not_a_number.bad.csv",
        "line 2: failures: `zero` must be a number",
    ),
    (
        "--locust",
        "locust/a_cell_too_many.bad.csv",
        "line 2: is no whole line of the table",
    ),
];

const MORE_CASES: [(&str, &str, &str); 13] = [
    (
        "--performance-schema",
        "performance_schema/cut_short.bad.tsv",
        "line 6: the last line has no end: the output was cut short",
    ),
    (
        "--performance-schema",
        "performance_schema/no_column_names.bad.tsv",
        "line 1: must be the names of the columns",
    ),
    (
        "--performance-schema",
        "performance_schema/drawn_with_lines.bad.txt",
        "line 1: is not tab-separated; run the client with --batch",
    ),
    (
        "--performance-schema",
        "performance_schema/another_table.bad.tsv",
        "line 2: `stage/sql/init`: is of none of the tables that are read",
    ),
    (
        "--performance-schema",
        "values/lines.txt",
        "line 1: must be the names of the columns",
    ),
    (
        "--locust",
        "locust/empty.bad.csv",
        "line 1: the first line is not that of locust's statistics",
    ),
    (
        "--values",
        "values/name_twice.bad.txt",
        "`a` stands there twice",
    ),
    (
        "--values",
        "values/name_twice.bad.json",
        "`a` stands there twice",
    ),
    (
        "--values",
        "values/no_number.bad.txt",
        "line 2: `b` must be a name and a number",
    ),
    ("--values", "values/nested.bad.json", "`a` must be a number"),
    (
        "--values",
        "values/too_fine.bad.txt",
        "line 1: `share`: `0.00001` has no four-decimal form",
    ),
    (
        "--values",
        "values/not_utf8.bad.txt",
        "line 1: is no UTF-8 text",
    ),
    (
        "--massif",
        "massif/no_such_file",
        "cannot be read: No such file",
    ),
];

#[test]
fn every_broken_file_is_named_with_its_fault_and_nothing_is_written() {
    for (flag, file, said) in CASES.iter().chain(&MORE_CASES) {
        let message = refuse(&[flag, file]);
        assert!(message.contains(file), "{file}: {message}");
        assert!(message.contains(said), "{file}: no {said:?} in {message}");
    }
}

#[test]
fn every_broken_fixture_is_tried() {
    let tried: BTreeSet<&str> = CASES
        .iter()
        .chain(&MORE_CASES)
        .map(|(_, file, _)| *file)
        .collect();
    let mut broken = 0;
    let entries = fs::read_dir(fixtures()).unwrap();
    let tools = entries.map(|entry| entry.unwrap().path());
    for tool in tools.filter(|path| path.is_dir()) {
        for file in fs::read_dir(tool).unwrap() {
            let path = file.unwrap().path();
            let name = path
                .strip_prefix(fixtures())
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            if name.contains(".bad") {
                broken += 1;
                assert!(tried.contains(name.as_str()), "{name} is tried by no test");
            }
        }
    }
    assert!(broken > 50);
}

#[test]
fn all_faults_of_all_files_come_at_once() {
    let message = refuse(&[
        "--massif",
        "massif/empty.bad.out",
        "--jmh",
        "jmh/none_run.bad.json",
        "jmh/cut_short.bad.json",
        "--callgrind",
        "callgrind/cut_short.bad.out",
    ]);
    assert!(message.contains("4 faults:"), "{message}");
    for file in [
        "massif/empty.bad.out",
        "jmh/none_run.bad.json",
        "jmh/cut_short.bad.json",
        "callgrind/cut_short.bad.out",
    ] {
        assert!(message.contains(file), "{message}");
    }
}

#[test]
fn a_number_that_two_files_have_is_refused() {
    let message = refuse(&[
        "--massif",
        "massif/default.out",
        "--sysbench",
        "sysbench/cpu.txt",
        "sysbench/threads.txt",
    ]);
    assert!(message.contains("sysbench/threads.txt: has `sysbench.events` with dimension `threads=1`, and so has sysbench/cpu.txt"), "{message}");
    let twice = refuse(&[
        "--callgrind",
        "callgrind/ir_only.out",
        "callgrind/ir_only.out",
    ]);
    assert!(twice.contains("give each file once"), "{twice}");
    let plugins = refuse(&["--plugin", "size/plug_a.so", "size/plug_a.so"]);
    assert!(
        plugins.contains("is in the set of plugins twice"),
        "{plugins}"
    );
}

#[test]
fn a_binary_cut_anywhere_is_no_size() {
    let whole = fs::read(fixtures().join("size/plug_a.so")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.so");
    // The table of sections stands at the end.
    for cut in [0, 4, 64, 4096, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..cut]).unwrap();
        let message = refuse(&["--binary", path.to_str().unwrap()]);
        assert!(message.contains("cut.so"), "{message}");
    }
}
