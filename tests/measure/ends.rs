//! What passes through, and how a measurement ends: well, with a failing program, or by a signal.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::{Place, compile, worker};

#[test]
fn output_passes_through_byte_for_byte_once_a_pass() {
    let place = Place::new();
    fs::write(place.path("in"), b"from \xff the file\n").unwrap();
    let program = [
        worker().to_str().unwrap(),
        "say",
        "no line end",
        "complain",
        "<oh>",
        "echo",
    ];
    let flags = ["--stdin", "in", "--repeat", "2"];
    let output = place.command(&flags, &program).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let once = b"no line endfrom \xff the file\n";
    assert_eq!(output.stdout, once.repeat(4));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr.matches("<oh>").count(), 4, "{stderr}");
    assert!(!stderr.contains("=="), "valgrind's own words: {stderr}");
}

#[test]
fn standard_input_is_empty_unless_a_file_is_named() {
    let place = Place::new();
    let program = [worker().to_str().unwrap(), "say", "read: ", "echo"];
    let mut command = place.command(&["--tool", "callgrind"], &program);
    fs::write(place.path("in"), "not for it").unwrap();
    let output = command
        .stdin(fs::File::open(place.path("in")).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"read: ");
}

#[test]
fn the_environment_is_as_it_is_said() {
    let place = Place::new();
    let shown = |flags: &[&str]| {
        let flags = [&["--tool", "callgrind"], flags].concat();
        let program = [
            worker().to_str().unwrap(),
            "show",
            "COLOUR",
            "show",
            "SHAPE",
        ];
        let mut command = place.command(&flags, &program);
        let output = command
            .env("COLOUR", "red")
            // It is valgrind's, and would change what is counted.
            .env("VALGRIND_OPTS", "--tool=none")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(shown(&[]), "COLOUR=red\nSHAPE=(none)\n");
    assert_eq!(
        shown(&["--env-clear", "--env", "SHAPE=a=b"]),
        "COLOUR=(none)\nSHAPE=a=b\n"
    );
}

#[test]
fn a_program_that_fails_gives_a_document_without_numbers() {
    let crash = "Process terminating with default action of signal 11 (SIGSEGV)";
    for (work, said, log) in [
        (["exit", "3"], "pass 1 of 2 (callgrind): `", None),
        (
            ["exit", "3"],
            "ended with exit code 3; the document says that it failed",
            None,
        ),
        (
            ["raise", "11"],
            "ended with signal 11 (SIGSEGV)",
            Some(crash),
        ),
        (["raise", "9"], "ended with signal 9 (SIGKILL)", None),
    ] {
        let place = Place::new();
        let left = place.measure(&[], &[&["say", "so far"], &work[..]].concat());
        assert_eq!(left.code, Some(2), "{}", left.stderr);
        assert!(left.stderr.contains(said), "{}", left.stderr);
        assert_eq!(left.stderr.contains("valgrind said"), log.is_some());
        assert!(left.stderr.contains(log.unwrap_or("")), "{}", left.stderr);
        let document = place.document();
        assert_eq!(document.0["succeeded"], false);
        assert_eq!(document.keys(), Vec::<&str>::new());
        // Massif is not tried any more.
        assert!(!left.stderr.contains("pass 2"), "{}", left.stderr);
    }
}

#[test]
fn what_is_kept_is_kept_in_a_new_folder() {
    let place = Place::new();
    let work = ["work", "10", "hold", "10"];
    assert_eq!(place.measure(&["--keep", "new/kept"], &work).code, Some(0));
    let names = |folder: &str| -> Vec<String> {
        let entries = fs::read_dir(place.path(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    assert_eq!(names("new/kept"), ["1-callgrind", "2-massif"]);
    assert!(names("new/kept/1-callgrind")[0].starts_with("callgrind.out."));
    assert!(
        names("new/kept/2-massif")
            .iter()
            .any(|name| name.starts_with("massif.out."))
    );
    fs::remove_file(place.path("metrics.json")).unwrap();
    let again = place.measure(&["--keep", "new/kept"], &work);
    assert_eq!(again.code, Some(2));
    assert!(
        again.stderr.contains("`new/kept` is not empty"),
        "{}",
        again.stderr
    );
    assert!(!place.has_document());
}

/// Measures `work`, sends `signals` once it is ready, and answers what was said. Nothing of it lives
/// on, and no document was written.
fn interrupt(work: &[&str], signals: &[Signal]) -> String {
    let place = Place::new();
    // A program of its own, so that its processes are told from those of other tests.
    let program = compile(&place.path("."), &[]);
    let program = program.to_str().unwrap();
    // As `nohup` does: what is ignored stays so.
    let shell = ["-c", "trap '' HUP; exec \"$@\"", "nohup"];
    let args = [&[program, "ready", "ready"], work].concat();
    let measure = place.command(&[], &args);
    // Whoever runs the tests may have them ignore other signals, too.
    let mut command = Command::new("env");
    let mut child = command
        .args(["--default-signal", "sh"])
        .args(shell)
        .arg(measure.get_program())
        .args(measure.get_args())
        .current_dir(place.path("."))
        .env("TMPDIR", place.path("tmp"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !place.path("ready").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended at once");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    assert!(lives(program), "it runs");
    for signal in signals {
        kill_process(pid, *signal).unwrap();
        // The next is one more, and not the same one still pending.
        std::thread::sleep(Duration::from_millis(500));
    }
    let left = place.left(child.wait_with_output().unwrap());
    assert_eq!(left.code, Some(2), "{}", left.stderr);
    assert!(!lives(program), "{}", left.stderr);
    assert!(!place.has_document());
    left.stderr
}

/// Whether a process has this program on its command line, and is not `perf-tracking` itself.
fn lives(program: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| {
        let mut words = line.split(|byte| *byte == 0);
        let measures = words.clone().any(|word| word == b"measure");
        !measures && words.any(|word| word == program.as_bytes())
    })
}

#[test]
fn a_signal_ends_the_program_and_leaves_nothing() {
    let said = interrupt(&["sleep", "1000"], &[Signal::INT]);
    assert!(said.contains("error: ended by SIGINT"), "{said}");
    let said = interrupt(&["sleep", "1000"], &[Signal::TERM]);
    assert!(said.contains("error: ended by SIGTERM"), "{said}");
}

#[test]
fn a_signal_that_is_ignored_stays_so() {
    let said = interrupt(&["sleep", "1000"], &[Signal::HUP, Signal::INT]);
    assert!(said.contains("error: ended by SIGINT"), "{said}");
}

#[test]
fn a_second_signal_ends_a_program_that_ignores_the_first() {
    let work = ["stay", "leave", "1000", "sleep", "1000", "sleep", "1000"];
    let said = interrupt(&work, &[Signal::TERM, Signal::INT]);
    assert!(said.contains("error: ended by SIGTERM"), "{said}");
}

#[test]
fn a_signal_while_it_waits_for_what_was_left_ends_that() {
    let said = interrupt(&["leave", "1000"], &[Signal::TERM]);
    assert!(said.contains("error: ended by SIGTERM"), "{said}");
}

#[test]
fn what_a_program_leaves_running_is_ended_and_gives_no_number() {
    let place = Place::new();
    let program = compile(&place.path("."), &[]);
    let program = program.to_str().unwrap();
    let left = place.run(&[], &[program, "leave", "1000"]);
    assert_eq!(left.code, Some(2), "{}", left.stderr);
    assert!(
        left.stderr.contains("of which 1 still ran"),
        "{}",
        left.stderr
    );
    assert!(!lives(program) && !place.has_document());

    // One that ends by itself before long is waited for.
    let left = place.run(&["--tool", "callgrind"], &[program, "leave", "1"]);
    assert_eq!(left.code, Some(0), "{}", left.stderr);
    place.document();
}
