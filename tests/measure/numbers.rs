//! What is counted: that it is there, that it repeats, and that work shows.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::{Place, worker};

const WORK: [&str; 4] = ["work", "1000000", "hold", "300000"];

#[test]
fn what_is_counted_repeats_and_shows_the_work() {
    let place = Place::new();
    let first = place.numbers(&[], &WORK);
    assert_eq!(
        first.keys(),
        [
            "callgrind.branch_mispredicts",
            "callgrind.estimated_cycles",
            "callgrind.global_bus_events",
            "callgrind.ir",
            "callgrind.l1_misses",
            "callgrind.llc_misses",
            "massif.peak_heap_bytes",
            "size.worker_bytes",
        ]
    );
    // Two instructions a turn of the loop at least, and the bytes that were asked for.
    assert!(
        (2_000_000..20_000_000).contains(&first.ir()),
        "{}",
        first.ir()
    );
    let heap = first.number("massif.peak_heap_bytes");
    assert!((300_000..320_000).contains(&heap), "{heap}");

    let again = place.numbers(&[], &WORK).ir();
    assert!(again.abs_diff(first.ir()) * 1000 <= first.ir(), "{again}");
    // A tenth more of the loop is a tenth more of the instructions, but for what starts the program.
    let turns = |n: &str| place.numbers(&["--tool", "callgrind"], &["work", n]).ir();
    let none = turns("0");
    let (base, more) = (turns("1000000") - none, turns("1100000") - none);
    assert!(
        (base * 109..base * 111).contains(&(more * 100)),
        "{none} {base} {more}"
    );
}

#[test]
fn the_document_says_what_was_measured_and_where() {
    let place = Place::new();
    let flags = [
        "--parameter",
        "turns=5",
        "--tool",
        "massif",
        "--tool",
        "massif",
    ];
    let document = place.numbers(&flags, &["hold", "5"]);
    assert_eq!(
        document.keys(),
        ["massif.peak_heap_bytes", "size.worker_bytes"]
    );
    assert_eq!(document.0["workload"], "worker");
    assert_eq!(document.0["host_class"], "callgrind");
    assert_eq!(document.0["succeeded"], true);
    assert_eq!(document.0["parameters"], serde_json::json!({"turns": 5}));
    let flags = [
        "--tool",
        "massif",
        "--arch",
        "a",
        "--distro",
        "d",
        "--host-class",
        "h",
    ];
    let document = place.numbers(&flags, &["hold", "5"]);
    let said = ["arch", "distro", "host_class"].map(|name| document.0[name].clone());
    assert_eq!(said, ["a", "d", "h"]);
}

#[test]
fn a_fork_is_counted_with_its_parent_and_the_parent_once() {
    let place = Place::new();
    let ir = |work: &[&str]| place.numbers(&["--tool", "callgrind"], work).ir();
    let (alone, more) = (ir(&["work", "1000000"]), ir(&["work", "2000000"]));
    let loops = more - alone;
    let forked = ir(&["work", "1000000", "fork", "1000000"]);
    // Not twice what stands before the fork, and not without what the child does.
    assert!(
        forked.abs_diff(more) * 50 < loops,
        "{alone} {more} {forked}"
    );
}

#[test]
fn what_it_starts_is_counted_where_that_is_asked_for() {
    let place = Place::new();
    let ir = |flags: &[&str], work: &[&str]| {
        place
            .numbers(&[&["--tool", "callgrind"], flags].concat(), work)
            .ir()
    };
    let work = ["start", "3000000"];
    let without = ir(&[], &work);
    let with = ir(&["--trace-children"], &work);
    assert!(without < 3_000_000 && with > 6_000_000, "{without} {with}");
    // It forks, so that part 1 of its process is written, and becomes another: part 1 once more.
    let after = ir(&["--trace-children"], &["fork", "0", "become", "3000000"]);
    assert!(after > 6_000_000, "{after}");
}

#[test]
fn of_several_processes_the_largest_heap_counts() {
    let place = Place::new();
    let flags = ["--tool", "massif", "--trace-children"];
    let work = ["start", "10", "hold", "200000"];
    let heap = place
        .numbers(&flags, &work)
        .number("massif.peak_heap_bytes");
    assert!((200_000..220_000).contains(&heap), "{heap}");
}

#[test]
fn repeated_passes_are_compared() {
    let place = Place::new();
    let left = place.measure(&["--repeat", "3"], &WORK);
    assert_eq!(left.code, Some(0), "{}", left.stderr);
    for said in [
        "pass 1 of 6 (callgrind) begins",
        "pass 6 of 6 (massif) took ",
    ] {
        assert!(left.stderr.contains(said), "{}", left.stderr);
    }
    let row = |key: &str| -> Vec<String> {
        let line = left.stderr.lines().find(|line| line.contains(key)).unwrap();
        line.split_whitespace()
            .map(|word| word.replace(',', ""))
            .collect()
    };
    let head = row(" metric ");
    assert_eq!(head, ["metric", "lowest", "middle", "highest", "spread"]);
    let ir = row(" callgrind.ir ");
    let numbers: Vec<u64> = ir[1..4].iter().map(|word| word.parse().unwrap()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    assert_eq!(place.document().ir(), numbers[1]);
    assert_eq!(ir.last().unwrap(), "%");
    row(" massif.peak_heap_bytes ");
}

#[test]
fn sizes_are_the_programs_own_and_those_asked_for() {
    let place = Place::new();
    let worker = worker().to_str().unwrap();
    let flags = |more: &[&'static str]| [&["--tool", "massif"], more].concat();
    let own = place
        .numbers(&flags(&[]), &WORK)
        .number("size.worker_bytes");
    assert!(own > 1000, "{own}");
    let other = place.numbers(&flags(&["--binary", "sh=/bin/sh"]), &WORK);
    assert_eq!(other.number("size.worker_bytes"), own);
    other.number("size.sh_bytes");
    let named = format!("tool={worker}");
    let named = place.numbers(&["--tool", "massif", "--binary", &named], &WORK);
    assert_eq!(named.find("size.worker_bytes"), None);
    assert_eq!(named.number("size.tool_bytes"), own);
}

#[test]
fn a_script_is_measured_by_its_interpreter() {
    let place = Place::new();
    let script = place.path("run.sh");
    fs::write(&script, "#!/bin/sh\necho from the script\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let left = place.run(&["--tool", "callgrind"], &["./run.sh"]);
    assert_eq!(left.code, Some(0), "{}", left.stderr);
    assert_eq!(left.stdout, "from the script\n");
    assert!(
        left.stderr.contains("run.sh is a script"),
        "{}",
        left.stderr
    );
    let document = place.document();
    assert!(document.ir() > 10_000);
    assert!(document.keys().iter().all(|key| !key.starts_with("size.")));
}

#[test]
fn the_document_says_which_commit_was_measured_and_with_what() {
    let place = Place::new();
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
            .args(args)
            .current_dir(place.path(""))
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?} {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let caches = "I1=32768,8,64 D1=32768,8,64 LL=8388608,16,64";
    let outside = place.numbers(&["--tool", "callgrind"], &[]);
    let version = Command::new("valgrind").arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let measured = &outside.0["measured"];
    assert_eq!(
        *measured,
        serde_json::json!({"tool": version.trim(), "caches": caches})
    );

    fs::write(place.path("file"), "1").unwrap();
    git(&["init", "--quiet"]);
    git(&["add", "file"]);
    git(&["commit", "--quiet", "--message", "one"]);
    let head = git(&["rev-parse", "HEAD"]);
    for (text, clean) in [("1", true), ("2", false)] {
        fs::write(place.path("file"), text).unwrap();
        let document = place.numbers(&["--tool", "callgrind"], &[]);
        let expected = serde_json::json!({
            "commit_sha": head, "clean": clean, "tool": version.trim(), "caches": caches,
        });
        assert_eq!(document.0["measured"], expected);
    }
}
