//! What cannot be measured: it is said before anything runs, or when nothing can be read; and no
//! document is written.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::{Place, compile, worker};

/// Runs it, which must fail and leave no document; what was said.
fn refuse(place: &Place, flags: &[&str], program: &[&str]) -> String {
    let left = place.run(flags, program);
    assert_eq!(
        (left.code, left.stdout.as_str()),
        (Some(2), ""),
        "{}",
        left.stderr
    );
    assert!(!place.has_document());
    left.stderr
}

#[test]
fn a_program_that_cannot_be_run_is_refused_before_any_pass() {
    let place = Place::new();
    let file = |name: &str, mode: u32| {
        fs::write(place.path(name), "text").unwrap();
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    file("plain", 0o644);
    file("setuid", 0o4755);
    for (program, said) in [
        ("./missing", "`./missing` is not found"),
        ("no-such-program", "`no-such-program` is not found"),
        ("./plain", "`./plain` is not executable"),
        ("./tmp", "`./tmp` is a folder"),
        ("./setuid", "setuid` runs with the rights of its owner"),
    ] {
        let told = refuse(&place, &[], &[program]);
        assert!(told.starts_with("error: ") && told.contains(said), "{told}");
    }
    let told = refuse(
        &place,
        &["--stdin", "nothing"],
        &[worker().to_str().unwrap()],
    );
    assert!(told.contains("`nothing` cannot be read"), "{told}");
}

#[test]
fn without_valgrind_it_says_what_to_install() {
    let place = Place::new();
    fs::create_dir(place.path("bin")).unwrap();
    symlink(worker(), place.path("bin/worker")).unwrap();
    let mut command = place.command(&[], &["worker"]);
    let output = command.env("PATH", place.path("bin")).output().unwrap();
    let left = place.left(output);
    assert_eq!(left.code, Some(2));
    assert!(
        left.stderr.contains("apt-get install valgrind"),
        "{}",
        left.stderr
    );
    assert!(!left.stderr.contains("begins") && !place.has_document());
}

#[test]
fn a_document_that_cannot_be_written_is_known_before_any_pass() {
    let place = Place::new();
    for output in ["no/such/folder/m.json", "tmp"] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_perf-tracking"));
        let flags = ["measure", "--workload", "w", "-o", output, "--"];
        command
            .args(flags)
            .arg(worker())
            .current_dir(place.path("."));
        let left = place.left(command.output().unwrap());
        assert_eq!(left.code, Some(2));
        let said = format!("`{output}` cannot be written");
        assert!(left.stderr.contains(&said), "{}", left.stderr);
        assert!(!left.stderr.contains("begins"), "{}", left.stderr);
    }
}

#[test]
fn a_program_that_becomes_another_leaves_nothing_to_read() {
    let place = Place::new();
    let told = refuse(&place, &[], &[worker().to_str().unwrap(), "become", "1"]);
    assert!(told.contains("say --trace-children"), "{told}");
    assert!(
        told.contains("valgrind said:\nCallgrind, a call-graph"),
        "{told}"
    );
}

#[test]
fn a_heap_that_massif_cannot_see_is_no_zero() {
    let place = Place::new();
    let program = compile(&place.path("."), &["-static"]);
    let program = program.to_str().unwrap();
    let told = refuse(&place, &[], &[program, "hold", "1000"]);
    assert!(told.contains("pass 2 of 2 (massif): massif.out."), "{told}");
    assert!(
        told.contains("linked statically") && told.contains("--tool"),
        "{told}"
    );
    let left = place.run(&["--tool", "callgrind"], &[program, "hold", "1000"]);
    assert_eq!(left.code, Some(0), "{}", left.stderr);
}

#[test]
fn a_child_that_is_killed_before_it_wrote_gives_no_number() {
    let place = Place::new();
    let script = "sleep 100 & sleep 1; kill -9 $!; wait; true";
    let flags = ["--tool", "callgrind", "--trace-children"];
    let told = refuse(&place, &flags, &["sh", "-c", script]);
    assert!(
        told.contains("left no file: it was killed before callgrind"),
        "{told}"
    );
}

#[test]
fn a_valgrind_that_fails_is_no_failure_of_the_program() {
    let place = Place::new();
    fs::create_dir(place.path("bin")).unwrap();
    let valgrind = place.path("bin/valgrind");
    let script = "#!/bin/sh\necho 'valgrind: failed to start tool' >&2\nexit 1\n";
    fs::write(&valgrind, script).unwrap();
    fs::set_permissions(&valgrind, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = place.command(&[], &[worker().to_str().unwrap(), "work", "1"]);
    let output = command.env("PATH", place.path("bin")).output().unwrap();
    let left = place.left(output);
    assert_eq!(left.code, Some(2));
    for said in [
        "valgrind: failed to start tool\n",
        "left no file of the program, which ended with exit code 1",
    ] {
        assert!(left.stderr.contains(said), "{}", left.stderr);
    }
    assert!(!place.has_document());
}

/// The program is a wrapper of what was meant, and is told from a script that works by itself.
#[test]
fn a_wrapper_is_recognised_and_trace_children_is_named() {
    let place = Place::new();
    let script = place.path("run.sh");
    let work = worker().to_str().unwrap();
    fs::write(&script, format!("#!/bin/sh\n{work} \"$@\"\ntrue\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let shell = format!("{work}; true");
    for tool in ["callgrind", "massif"] {
        for program in [&["./run.sh"][..], &["sh", "-c", &shell]] {
            let told = refuse(&place, &["--tool", tool], program);
            assert!(
                told.contains("is a script or a shell that starts other programs"),
                "{told}"
            );
            assert!(told.contains("say --trace-children"), "{told}");
        }
    }
    let left = place.run(&["--trace-children", "--tool", "callgrind"], &["./run.sh"]);
    assert_eq!(left.code, Some(0), "{}", left.stderr);
}
