//! The scripts of deploy/demo: the first minute of the README, and a history to look at. No service, and a file for
//! the runs.

use std::path::Path;

use super::shell::{self, Variables};

#[test]
fn a_slower_change_is_a_regression_in_the_first_minute() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/demo/first-minute");
    let folder = tempfile::tempdir().unwrap();
    let variables = Variables::from([("TMPDIR".to_owned(), folder.path().display().to_string())]);
    let left = shell::run(script, &[], Path::new("/"), &variables);
    left.assert(
        0,
        &[
            "created run 6: sample on main",
            "regression",
            "callgrind.ir",
            "(exit code 1)",
        ],
    );
}

#[test]
fn the_demo_has_a_history_worth_looking_at() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/demo/store");
    let folder = tempfile::tempdir().unwrap();
    let within =
        |program: &str, args: &[&str]| shell::run(program, args, folder.path(), &Variables::new());
    let made = within(script, &["demo.db", "2026-11-30"]);
    made.assert(0, &["refused      0", "voided run", "--public-read"]);

    let ask = |args: &[&str]| {
        within(
            "perf-tracking",
            &[args, &["--server", "sqlite:demo.db"]].concat(),
        )
    };
    let runs = ask(&["runs", "--all", "--tag", "2.0"]);
    runs.assert(0, &["8077d9fcc971", "2.0"]);
    let changes = ask(&["changes", "--worse"]);
    changes.assert(
        0,
        &["Count with 64 bits", "Keep the factors", "callgrind.ir"],
    );
    ask(&["drift"]).assert(
        1,
        &["DRIFT  callgrind.ir", "startup on main, amd64, trixie"],
    );

    let all = ask(&["export"]);
    let count = |part: &str| all.said.matches(part).count();
    assert_eq!(
        [
            count("\n"),
            count("\"succeeded\":false"),
            count("\"voided\":")
        ],
        [226, 1, 1]
    );

    within(script, &["demo.db"]).assert(2, &["demo.db exists already"]);
}
