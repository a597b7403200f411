//! Regions of a program that `perf-instrument` marks, and the example that it comes with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::{Document, Place};

fn instrument() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instrument")
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    output
}

/// A folder with the libraries for C and the example, built once for all tests of this process.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("regions");
        for (name, options) in [("kv", ""), ("kv-two-locks", "-DTWO_LOCKS")] {
            let folder = folder.join(name);
            fs::create_dir_all(&folder).unwrap();
            run(Command::new("make")
                .args(["--silent", "--always-make", "-C"])
                .arg(instrument().join("examples/kv"))
                .arg(format!("BUILD={}", folder.display()))
                .arg(format!("OPTIONS={options}")));
        }
        compile(&folder.join("regions"), &folder, true);
        compile(&folder.join("without"), &folder, false);
        folder
    })
}

fn compile(program: &Path, folder: &Path, is_enabled: bool) {
    let mut command = Command::new("cc");
    command
        .args(["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Werror"])
        .arg(format!("-DPTI_ENABLED={}", u8::from(is_enabled)))
        .arg("-I")
        .arg(instrument().join("c"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/measure/regions.c"));
    if is_enabled {
        command.arg(folder.join("kv/libpti.a"));
    }
    run(command.arg("-lpthread").arg("-o").arg(program));
}

/// Measures a program that was built, which must work.
fn measure(place: &Place, flags: &[&str], program: &str, work: &[&str]) -> Document {
    let program = built().join(program);
    let whole = [&[program.to_str().unwrap()], work].concat();
    let left = place.run(flags, &whole);
    assert_eq!(left.code, Some(0), "{work:?}: {}", left.stderr);
    let document = place.document();
    fs::remove_file(place.path("metrics.json")).unwrap();
    document
}

impl Document {
    fn of_region(&self, key: &str, region: &str) -> Option<u64> {
        let metrics = self.0["metrics"].as_array().unwrap();
        let dim = format!("region={region}");
        let metric = metrics
            .iter()
            .find(|metric| metric["metric_key"] == key && metric["dim_key"] == dim)?;
        metric["value"].as_u64()
    }

    fn ir_of(&self, region: &str) -> u64 {
        let found = self.of_region("callgrind.ir", region);
        found.unwrap_or_else(|| panic!("{region} is missing: {}", self.0))
    }
}

const COUNTED: [&str; 2] = ["--tool", "callgrind"];

/// Whether a count is that of so many turns, but for what is around the loop.
#[track_caller]
fn assert_turns(count: u64, turns: u64, of_a_turn: u64) {
    let expected = turns * of_a_turn;
    assert!(
        count.abs_diff(expected) < 1000,
        "{count} is not {turns} turns of {of_a_turn}"
    );
}

#[test]
fn nested_and_recursive_regions_are_counted_beside_the_whole() {
    let place = Place::new();
    let document = measure(&place, &COUNTED, "regions", &["nest"]);
    let turn = (document.ir_of("inner%2C twice") + 1000) / 200_000;
    assert!((2..10).contains(&turn), "{turn}");
    assert_turns(document.ir_of("inner%2C twice"), 200_000, turn);
    assert_turns(document.ir_of("recursive"), 300_000, turn);
    assert_turns(document.ir_of("outer"), 600_000, turn);
    for key in [
        "callgrind.branch_mispredicts",
        "callgrind.estimated_cycles",
        "callgrind.global_bus_events",
        "callgrind.l1_misses",
        "callgrind.llc_misses",
    ] {
        assert!(document.of_region(key, "outer").is_some(), "{key}");
    }
    // The whole is what it is without a region, but for setting the marks up once.
    let without = measure(&place, &COUNTED, "without", &["nest"]);
    assert_eq!(without.of_region("callgrind.ir", "outer"), None);
    let difference = document.ir().abs_diff(without.ir());
    assert!(difference < 20_000, "{} {}", document.ir(), without.ir());
    assert_eq!(
        measure(&place, &COUNTED, "regions", &["nest"]).0,
        document.0
    );
}

#[test]
fn what_marks_cost_is_not_in_the_count() {
    let place = Place::new();
    let entered = |times: &str| measure(&place, &COUNTED, "regions", &["empty", times]);
    let (few, many) = (entered("100"), entered("400"));
    // What is left of an entry are the few instructions of the loop around it.
    assert!(many.ir_of("empty") <= 400, "{}", many.ir_of("empty"));
    let left = many.ir_of("outer") - few.ir_of("outer");
    assert!(left <= 300 * 20, "{left}");
    let left = many.ir().abs_diff(few.ir());
    assert!(left <= 300 * 20, "{left}");
}

#[test]
fn one_region_is_counted_alone() {
    let place = Place::new();
    let all = measure(&place, &COUNTED, "regions", &["nest"]);
    let flags = [&COUNTED[..], &["--region", "recursive"]].concat();
    let alone = measure(&place, &flags, "regions", &["nest"]);
    let counted: Vec<&str> = alone.0["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|metric| {
            metric["metric_key"]
                .as_str()
                .unwrap()
                .starts_with("callgrind.")
        })
        .map(|metric| metric["dim_key"].as_str().unwrap())
        .collect();
    assert_eq!(counted, ["region=recursive"; 6]);
    let (alone, beside) = (alone.ir_of("recursive"), all.ir_of("recursive"));
    assert!(alone.abs_diff(beside) < 100, "{alone} {beside}");
}

#[test]
fn a_region_that_is_not_entered_is_refused() {
    let place = Place::new();
    for (program, region, said) in [
        (
            "regions",
            "outermost",
            "did not enter the region `outermost`",
        ),
        (
            "without",
            "outer",
            "build the program with the instrumentation on",
        ),
    ] {
        let flags = [&COUNTED[..], &["--region", region]].concat();
        let left = place.run(&flags, &[built().join(program).to_str().unwrap(), "nest"]);
        assert_eq!(left.code, Some(2));
        assert!(left.stderr.contains(said), "{}", left.stderr);
        assert!(!place.has_document());
    }
}

#[test]
fn a_forked_child_is_counted_in_the_region_that_forked_it() {
    let place = Place::new();
    let nested = measure(&place, &COUNTED, "regions", &["nest"]);
    let turn = (nested.ir_of("inner%2C twice") + 1000) / 200_000;
    let document = measure(&place, &COUNTED, "regions", &["fork"]);
    let counted = document.ir_of("forks");
    let expected = 700_000 * turn;
    // A fork and a wait are some thousand instructions.
    assert!(
        (expected..expected + 20_000).contains(&counted),
        "{counted} {expected}"
    );
    assert!(document.ir_of("outer").abs_diff(counted) < 1000);
}

#[test]
fn a_region_that_the_program_ends_in_lasts_to_the_end() {
    let place = Place::new();
    let document = measure(&place, &COUNTED, "regions", &["exit"]);
    assert!(document.ir_of("last") > 200_000);
}

#[test]
fn the_heap_of_a_region_is_its_own_peak() {
    let place = Place::new();
    let flags = ["--tool", "massif"];
    let document = measure(&place, &flags, "regions", &["memory"]);
    let key = "massif.peak_heap_bytes";
    let whole = document.number(key);
    let of = |region: &str| document.of_region(key, region).unwrap();
    assert!((310_000..330_000).contains(&whole), "{whole}");
    let (small, large) = (of("small"), of("large/one"));
    assert!((60_000..70_000).contains(&small), "{small}");
    assert!((210_000..220_000).contains(&large), "{large}");
    let flags = ["--tool", "massif", "--region", "small"];
    let alone = measure(&place, &flags, "regions", &["memory"]);
    assert_eq!(alone.of_region(key, "small"), Some(small));
    assert_eq!(alone.of_region(key, "large/one"), None);
}

/// The command with a store in a file; answers with its exit code and all it printed.
fn perf_tracking(place: &Place, args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_perf-tracking"))
        .args(args)
        .current_dir(place.path(""))
        .env("PERF_TRACKING_URL", "sqlite:perf.db")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// The counts of the example, by callgrind and by itself.
fn count_example(place: &Place, program: &str) {
    let kv = built().join(program).join("kv");
    let mut command = Command::new(env!("CARGO_BIN_EXE_perf-tracking"));
    run(command
        .args(["measure", "--workload", "kv", "-o", "counted.json"])
        .args(["--tool", "callgrind", "--env-clear", "--"])
        .arg(&kv)
        .args(["log", "2000"])
        .current_dir(place.path("")));
    run(Command::new(kv)
        .args(["log", "2000", "own.json"])
        .current_dir(place.path("")));
    let (code, said) = perf_tracking(place, &["document", "check", "own.json"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn the_example_is_gated_and_an_added_lock_is_caught() {
    let place = Place::new();
    fs::write(place.path("gate.toml"), GATE).unwrap();
    count_example(&place, "kv");
    for number in 1..=5_u32 {
        for document in ["counted.json", "own.json"] {
            let commit = format!("{number:040x}");
            let workload = fs::read_to_string(place.path(document)).unwrap();
            let workload = workload.replace("\"kv\"", &format!("\"kv-{}\"", &document[..3]));
            fs::write(place.path("run.json"), workload).unwrap();
            let date = format!("2026-01-0{number}T00:00:00Z");
            let (code, said) = perf_tracking(
                &place,
                &[
                    "upload",
                    "--repo",
                    "demo/kv",
                    "--branch",
                    "main",
                    "--pipeline",
                    "promote",
                    "--commit",
                    &commit,
                    "--run-date",
                    &date,
                    "run.json",
                ],
            );
            assert_eq!(code, Some(0), "{said}");
        }
    }
    let judge = |document: &str| {
        let workload = fs::read_to_string(place.path(document)).unwrap();
        let workload = workload.replace("\"kv\"", &format!("\"kv-{}\"", &document[..3]));
        fs::write(place.path("candidate.json"), workload).unwrap();
        perf_tracking(
            &place,
            &[
                "gate",
                "--document",
                "candidate.json",
                "--repo",
                "demo/kv",
                "--branch",
                "main",
                "--commit",
                &format!("{:040x}", 99),
            ],
        )
    };
    for document in ["counted.json", "own.json"] {
        let (code, said) = judge(document);
        assert_eq!(code, Some(0), "{said}");
    }
    count_example(&place, "kv-two-locks");
    let (code, said) = judge("own.json");
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.lines()
            .any(|line| line.starts_with("regression  instrument.mutex.count name=log")),
        "{said}"
    );
    let (code, said) = judge("counted.json");
    assert_eq!(code, Some(1), "{said}");
    // The region that reads got worse, and the one that writes did not.
    assert!(
        said.lines()
            .any(|line| line.starts_with("regression  callgrind.ir region=read")),
        "{said}"
    );
    let wrong = said
        .lines()
        .any(|line| line.starts_with("regression") && line.contains("region=load"));
    assert!(!wrong, "{said}");
}

const GATE: &str = "\
[[metric]]
pattern = \"*\"
floor = \"5 %\"
floor_absolute = 100

[[metric]]
pattern = \"instrument.*\"
floor = \"0 %\"
";
