//! `perf-tracking measure -- PROGRAM`: what is counted, what passes through, and what is left of it.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on ends; helpers of tests do not count as tests yet"
)]

#[path = "measure/ends.rs"]
mod ends;
#[path = "measure/numbers.rs"]
mod numbers;
#[path = "measure/refused.rs"]
mod refused;
#[path = "measure/regions.rs"]
mod regions;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value as Json;
use tempfile::TempDir;

/// A program that does what its arguments say; see its head.
const SOURCE: &str = include_str!("measure/worker.c");

/// The program, compiled once for all tests of this process.
fn worker() -> &'static Path {
    static WORKER: OnceLock<PathBuf> = OnceLock::new();
    WORKER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("measure");
        fs::create_dir_all(&folder).unwrap();
        compile(&folder, &[])
    })
}

fn compile(folder: &Path, flags: &[&str]) -> PathBuf {
    let source = folder.join("worker.c");
    let program = folder.join("worker");
    fs::write(&source, SOURCE).unwrap();
    let status = Command::new("cc")
        .args(["-O1", "-Wall", "-Werror", "-o"])
        .args([&program, &source])
        .args(flags)
        .status()
        .unwrap();
    assert!(status.success());
    program
}

/// A folder that the command works in, with its temporary folder in it.
struct Place(TempDir);

/// What the command left.
struct Left {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The command, about to measure `program` with these flags; its document is `metrics.json`.
    fn command(&self, flags: &[&str], program: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perf-tracking"));
        command
            .args(["measure", "--workload", "worker", "-o", "metrics.json"])
            .args(flags)
            .arg("--")
            .args(program)
            .current_dir(self.0.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("TMPDIR", self.path("tmp"))
            .stdin(Stdio::null());
        command
    }

    /// Measures the worker, doing what `work` says.
    fn measure(&self, flags: &[&str], work: &[&str]) -> Left {
        let program = [&[worker().to_str().unwrap()], work].concat();
        self.run(flags, &program)
    }

    fn run(&self, flags: &[&str], program: &[&str]) -> Left {
        let output = self.command(flags, program).output().unwrap();
        self.left(output)
    }

    /// Whatever came of it, nothing lies about.
    fn left(&self, output: Output) -> Left {
        let tmp = fs::read_dir(self.path("tmp")).unwrap();
        let tmp: Vec<PathBuf> = tmp.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(tmp, Vec::<PathBuf>::new());
        Left {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn has_document(&self) -> bool {
        self.path("metrics.json").exists()
    }

    /// The document, which the command itself takes for one.
    fn document(&self) -> Document {
        let check = Command::new(env!("CARGO_BIN_EXE_perf-tracking"))
            .args(["document", "check", "metrics.json"])
            .current_dir(self.0.path())
            .output()
            .unwrap();
        assert!(check.status.success(), "{check:?}");
        let text = fs::read(self.path("metrics.json")).unwrap();
        Document(serde_json::from_slice(&text).unwrap())
    }

    /// Measures the worker, which must work, and forgets the document again.
    fn numbers(&self, flags: &[&str], work: &[&str]) -> Document {
        let left = self.measure(flags, work);
        assert_eq!(left.code, Some(0), "{work:?}: {}", left.stderr);
        let document = self.document();
        fs::remove_file(self.path("metrics.json")).unwrap();
        document
    }
}

struct Document(Json);

impl Document {
    fn find(&self, key: &str) -> Option<u64> {
        let metrics = self.0["metrics"].as_array().unwrap();
        let metric = metrics.iter().find(|metric| metric["metric_key"] == key)?;
        assert_eq!(metric["wallclock"], false);
        metric["value"].as_u64()
    }

    fn number(&self, key: &str) -> u64 {
        let number = self.find(key);
        number.unwrap_or_else(|| panic!("{key} is missing: {}", self.0))
    }

    fn ir(&self) -> u64 {
        self.number("callgrind.ir")
    }

    fn keys(&self) -> Vec<&str> {
        let metrics = self.0["metrics"].as_array().unwrap();
        let keys = metrics.iter().map(|metric| metric["metric_key"].as_str());
        keys.flatten().collect()
    }
}
