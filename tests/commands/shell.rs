//! Running the binary, and what it leaves.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::support::service::{Service, ServiceOptions};

const BINARY: &str = env!("CARGO_BIN_EXE_perf-tracking");

/// A command that has not ended by then never does.
const DEADLINE: Duration = Duration::from_secs(60);

/// A sample run; a test puts other values in its place.
pub(crate) const RUN: &str = r#"{"workload": "perf", "repo": "drizzle", "branch": "main", "commit_sha": "0123456789abcdef0123456789abcdef01234567", "pipeline": "promote", "distro": "trixie", "arch": "amd64", "host_class": "callgrind", "run_date": "2026-11-30T09:00:00Z", "succeeded": true, "metrics": [{"metric_key": "callgrind.ir", "value": 1234567890}]}"#;

/// The flags of its series.
pub(crate) const SERIES: [&str; 4] = [
    "--workload=perf",
    "--branch=main",
    "--arch=amd64",
    "--distro=trixie",
];

/// A command line and what stands around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shell {
    variables: Vec<(String, String)>,
    folder: Option<PathBuf>,
}

/// What a command left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Where a command finds the runs; gone with the value.
pub(crate) enum Place {
    Service(#[expect(dead_code, reason = "held until the test ends")] Box<Service>),
    File(#[expect(dead_code, reason = "held until the test ends")] TempDir),
}

/// Both places that runs can be in, empty, each with a shell that reaches it.
pub(crate) async fn places(scope: &str) -> Vec<(Place, Shell)> {
    let service = Service::start(ServiceOptions::default()).await;
    let network = Shell::at(&service.url()).token(&service.token(scope).await);
    let folder = tempfile::tempdir().unwrap();
    let file = Shell::at("sqlite:perf.db").within(folder.path());
    vec![
        (Place::Service(Box::new(service)), network),
        (Place::File(folder), file),
    ]
}

impl Shell {
    /// Commands that call the service at `url`, and do not try long.
    pub(crate) fn at(url: &str) -> Self {
        Self::default()
            .with("PERF_TRACKING_URL", url)
            .with("PERF_TRACKING_RETRY_FOR", "0s")
    }

    /// With this variable.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// In this folder.
    pub(crate) fn within(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// With this token.
    pub(crate) fn token(self, token: &str) -> Self {
        self.with("PERF_TRACKING_TOKEN", token)
    }

    /// Runs the binary with `args` and `stdin` to its end.
    pub(crate) async fn run(&self, args: &[&str], stdin: &str) -> Left {
        let mut command = Command::new(BINARY);
        command.args(args);
        self.finish(command, stdin).await
    }

    /// Uploads `run`, given on standard input, with `args` more.
    pub(crate) async fn upload(&self, args: &[&str], run: &str) -> Left {
        self.run(&[&["upload"], args].concat(), run).await
    }

    /// Reads the history of the sample's series with `args` more.
    pub(crate) async fn history(&self, args: &[&str]) -> Left {
        self.run(&[&["history"], &SERIES[..], args].concat(), "")
            .await
    }

    /// Runs a script to its end.
    pub(crate) async fn script(&self, text: &str) -> Left {
        let mut command = Command::new("bash");
        command.args(["-eu", "-o", "pipefail", "-c", text]);
        self.finish(command, "").await
    }

    async fn finish(&self, mut command: Command, stdin: &str) -> Left {
        let path = std::env::var("PATH").unwrap();
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let mut child = command
            .env_clear()
            .env("PATH", path)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        // A command that reads no input may be gone before it is written.
        let _ = child
            .stdin
            .take()
            .unwrap()
            .write_all(stdin.as_bytes())
            .await;
        let output = tokio::time::timeout(DEADLINE, child.wait_with_output())
            .await
            .expect("the command ends")
            .unwrap();
        Left {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Left {
    /// Fails unless the command left exactly this.
    #[track_caller]
    pub(crate) fn is(&self, code: i32, stdout: &str, stderr: &str) {
        assert_eq!(
            (self.code, self.stdout.as_str(), self.stderr.as_str()),
            (code, stdout, stderr)
        );
    }
}
