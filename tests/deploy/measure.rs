//! `deploy/measure` and `perf-tracking measure --contract`: a real MariaDB, and stand-ins for all that can go wrong.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on ends; helpers of tests do not count as tests yet"
)]

mod engine;
mod faults;
mod images;
mod mariadb;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::docker::{docker, output};

const BINARY: &str = env!("CARGO_BIN_EXE_perf-tracking");

/// What `perf-tracking measure` left.
struct Measured {
    code: Option<i32>,
    said: String,
}

impl Measured {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            said: String::from_utf8(output.stderr).expect("it says UTF-8"),
        }
    }

    /// It gave up for a reason with these words in it, wrote nothing, and left nothing in the engine.
    fn failed(&self, document: &Path, words: &[&str]) {
        assert_eq!(self.code, Some(2), "{}", self.said);
        for word in words {
            assert!(self.said.contains(word), "no `{word}` in:\n{}", self.said);
        }
        assert!(!document.exists(), "a document was written:\n{}", self.said);
        self.left_nothing();
    }

    /// Nothing of the projects that it names is in the engine.
    fn left_nothing(&self) {
        for project in projects(&self.said) {
            assert_eq!(all_of(&project), "", "{}", self.said);
        }
    }
}

/// The projects that it says it started.
fn projects(said: &str) -> Vec<String> {
    let named = |line: &str| Some(line.split_once(", project ")?.1.to_owned());
    said.lines().filter_map(named).collect()
}

/// Containers, networks and volumes of a project.
fn all_of(project: &str) -> String {
    let filter = format!("label=com.docker.compose.project={project}");
    let kinds: [&[&str]; 3] = [&["ps", "--all"], &["network", "ls"], &["volume", "ls"]];
    let listed = kinds.map(|kind| {
        docker(&[kind, &["--quiet", "--filter", &filter]].concat()).expect("the engine answers")
    });
    listed.concat()
}

fn measure(contract: &Path, document: &Path) -> Command {
    // Whoever runs the tests may have them ignore a signal, and what is ignored stays so.
    let mut command = Command::new("env");
    command
        .args(["--default-signal", BINARY])
        .args(["measure", "--engine=docker", "--contract"])
        .arg(contract)
        .arg("--output")
        .arg(document)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// `docker build` of `file` in `folder`.
fn build(folder: &Path, file: &str, tag: &str, arguments: &[String]) {
    let mut command = Command::new("docker");
    command
        .args(["build", "--quiet", "--tag", tag, "--file"])
        .arg(folder.join(file));
    for argument in arguments {
        command.args(["--build-arg", argument]);
    }
    for proxy in crate::docker::PROXIES {
        if std::env::var_os(proxy).is_some() {
            command.args(["--build-arg", proxy]);
        }
    }
    output(command.arg(folder)).unwrap_or_else(|error| panic!("{error:#}"));
}
