//! `perf-tracking document`: from real tools' files to a document, and from broken ones to a message.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on ends; helpers of tests do not count as tests yet"
)]

#[path = "collect/broken.rs"]
mod broken;
#[path = "collect/command.rs"]
mod command;
#[path = "collect/mutated.rs"]
mod mutated;
#[path = "collect/properties.rs"]
mod properties;
#[path = "collect/tools.rs"]
mod tools;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

/// What every document of these tests is about.
const ABOUT: [&str; 8] = [
    "--workload",
    "perf",
    "--arch",
    "amd64",
    "--distro",
    "trixie",
    "--host-class",
    "bench-1",
];

/// What the command left.
struct Left {
    code: i32,
    stdout: String,
    stderr: String,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Runs `perf-tracking document` in the folder of the fixtures.
fn run(args: &[&str]) -> Left {
    run_in(&fixtures(), args)
}

fn run_in(folder: &Path, args: &[&str]) -> Left {
    let output = Command::new(env!("CARGO_BIN_EXE_perf-tracking"))
        .arg("document")
        .args(args)
        .current_dir(folder)
        .env_clear()
        .output()
        .unwrap();
    Left {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Makes a document of what `args` name, which must work.
fn make(args: &[&str]) -> (Json, String) {
    let left = run(&[&ABOUT, args].concat());
    assert_eq!(left.code, 0, "{args:?}: {}", left.stderr);
    (serde_json::from_str(&left.stdout).unwrap(), left.stderr)
}

/// Makes a document of what `args` name, which must fail and write nothing; what it said.
fn refuse(args: &[&str]) -> String {
    let left = run(&[&ABOUT, args].concat());
    assert_eq!(
        (left.code, left.stdout.as_str()),
        (2, ""),
        "{args:?}: {}",
        left.stderr
    );
    left.stderr
}

/// A line a metric: `key{dimension} value`, and `@` before those of a clock.
fn lines(document: &Json) -> Vec<String> {
    let metrics = document["metrics"].as_array().unwrap();
    metrics
        .iter()
        .map(|metric| {
            let text = |name: &str| metric[name].as_str().unwrap().to_owned();
            let clock = if metric["wallclock"] == true { "@" } else { "" };
            let dim = match text("dim_key") {
                dim if dim.is_empty() => dim,
                dim => format!("{{{dim}}}"),
            };
            format!("{clock}{}{dim} {}", text("metric_key"), metric["value"])
        })
        .collect()
}
