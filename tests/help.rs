//! What `--help` says of every command, to the letter: a setting that changes changes here, too.
//!
//! After a change that is meant: `INSTA_UPDATE=always cargo test --test help`, and read the
//! difference.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on ends; helpers of tests do not count as tests yet"
)]

use std::process::Command;

/// The help of a command, as a terminal of a hundred columns shows it.
fn help(command: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_perf-tracking"))
        .args(command)
        .arg("--help")
        .env_clear()
        .env("COLUMNS", "100")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_of_every_command() {
    let commands: [&[&str]; 41] = [
        &[],
        &["serve"],
        &["migrate"],
        &["measure"],
        &["document"],
        &["document", "check"],
        &["document", "schema"],
        &["gate"],
        &["gate", "init"],
        &["gate", "check"],
        &["gate", "explain"],
        &["gate", "accept"],
        &["gate", "calibrate"],
        &["gate", "replay"],
        &["compare"],
        &["compare", "init"],
        &["compare", "check"],
        &["compare", "run"],
        &["compare", "assemble"],
        &["compare", "judge"],
        &["compare", "report"],
        &["compare", "calibrate"],
        &["compare", "schema"],
        &["upload"],
        &["history"],
        &["runs"],
        &["run"],
        &["run", "show"],
        &["run", "void"],
        &["changes"],
        &["drift"],
        &["find"],
        &["site"],
        &["walk"],
        &["export"],
        &["backfill"],
        &["health"],
        &["token"],
        &["token", "issue"],
        &["token", "inspect"],
        &["version"],
    ];
    for command in commands {
        let name = ["perf-tracking", &command.join("-")].join("-");
        let name = name.trim_end_matches('-');
        insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(name, help(command));
        });
    }
}

#[test]
fn no_command_is_left_out() {
    let commands = |command: &[&str]| -> Vec<String> {
        let help = help(command);
        let (_, after) = help.split_once("\nCommands:\n").unwrap();
        let lines = after.lines().take_while(|line| line.starts_with("  "));
        let names = lines.filter_map(|line| line.split_whitespace().next());
        names.map(str::to_owned).collect()
    };
    assert_eq!(
        commands(&[]),
        [
            "serve", "migrate", "measure", "document", "gate", "compare", "upload", "history",
            "runs", "run", "changes", "drift", "find", "site", "walk", "export", "backfill",
            "health", "token", "version", "help"
        ]
    );
    assert_eq!(commands(&["document"]), ["check", "schema", "help"]);
    assert_eq!(commands(&["run"]), ["show", "void", "help"]);
    assert_eq!(
        commands(&["gate"]),
        [
            "init",
            "check",
            "explain",
            "accept",
            "calibrate",
            "replay",
            "help"
        ]
    );
    assert_eq!(
        commands(&["compare"]),
        [
            "init",
            "check",
            "run",
            "assemble",
            "judge",
            "report",
            "calibrate",
            "schema",
            "help"
        ]
    );
    assert_eq!(commands(&["token"]), ["issue", "inspect", "help"]);
}
