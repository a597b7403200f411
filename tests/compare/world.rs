//! A project with a contract, and two sides that print numbers from files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_perf-tracking");

/// A folder with a contract and the sides.
pub(crate) struct World {
    folder: TempDir,
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    /// It ended with this code and said these words, on either stream.
    pub(crate) fn is(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        // A terminal of 80 columns may have broken a line anywhere.
        let all = format!("{} {}", self.stdout, self.stderr);
        let all: Vec<&str> = all.split_whitespace().collect();
        let all = all.join(" ");
        for word in words {
            assert!(all.contains(word), "no `{word}` in {self:#?}");
        }
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A contract of one cell that prints `ROUND.json` of its side, and judges the metric `speed`.
pub(crate) fn contract(mode: &str, rule: &str) -> String {
    format!(
        r#"
name = "numbers-v1"
mode = "{mode}"
rounds = 5

[[cell]]
name = "steady"
command = 'cat "$COMPARE_FOLDER/$COMPARE_ROUND.json"'
expect = {{ sent = 10 }}

[[cell.metric]]
name = "speed"
worse = "higher"
{rule}
"#
    )
}

pub(crate) const TENTH: &str = "floor = \"10 %\"\nvariance = \"15 %\"";

impl World {
    pub(crate) fn new(contract: &str) -> Self {
        let world = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        world.write("compare.toml", contract);
        for side in ["reference", "candidate"] {
            fs::create_dir(world.path(side)).unwrap();
        }
        world
    }

    /// A world whose sides have these values of `speed`, a round each.
    pub(crate) fn with_speeds(contract: &str, reference: [f64; 5], candidate: [f64; 5]) -> Self {
        let world = Self::new(contract);
        world.speeds("reference", reference);
        world.speeds("candidate", candidate);
        world
    }

    pub(crate) fn speeds(&self, side: &str, values: [f64; 5]) {
        for (round, value) in (1..).zip(values) {
            self.write(
                &format!("{side}/{round}.json"),
                &format!(r#"{{"counts": {{"sent": 10}}, "metrics": {{"speed": {value}}}}}"#),
            );
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// `perf-tracking compare …` in the project's folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        // Whoever runs the tests may have them ignore a signal, and what is ignored stays so.
        let mut command = Command::new("env");
        command
            .args(["--default-signal", BINARY, "compare"])
            .args(args)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn compare(&self, args: &[&str]) -> Said {
        self.command(args).output().unwrap().into()
    }

    /// Runs both folders under the contract, into `out`.
    pub(crate) fn run(&self) -> Said {
        self.compare(&RUN)
    }

    pub(crate) fn verdict(&self) -> Value {
        self.json("out/verdict.json")
    }
}

pub(crate) const RUN: [&str; 7] = [
    "run",
    "--output",
    "out",
    "--reference",
    "reference",
    "--candidate",
    "candidate",
];

/// Copies a folder with all that it holds.
pub(crate) fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-r").arg(from).arg(to).status();
    assert!(status.unwrap().success());
}
