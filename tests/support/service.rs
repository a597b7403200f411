//! The service itself, as a process of its own.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Once;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::{ports, wait};

/// A service that migrates a database on a busy machine.
const READY_DEADLINE: Duration = Duration::from_secs(30);
/// A service that finishes what it has begun.
const TERMINATE_DEADLINE: Duration = Duration::from_secs(30);
/// A line that is on its way to the log of a busy machine.
const LOG_DEADLINE: Duration = Duration::from_secs(10);
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_perf-tracking");

/// How to start the service.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceOptions {
    /// Where it keeps its runs; without one, in its data folder.
    pub(crate) database_url: Option<String>,
    /// Where its secret and its default database are; without one, a folder that goes away with the service.
    pub(crate) data_dir: Option<PathBuf>,
    /// More arguments of `perf-tracking serve`.
    pub(crate) args: Vec<String>,
    /// More environment variables.
    pub(crate) env: Vec<(String, String)>,
}

impl ServiceOptions {
    /// A service in front of `database_url`, all else by default.
    pub(crate) fn with_database(database_url: impl Into<String>) -> Self {
        Self {
            database_url: Some(database_url.into()),
            ..Self::default()
        }
    }
}

/// A running service. It dies with the value, and with the thread that started it should the test be killed.
pub(crate) struct Service {
    options: ServiceOptions,
    address: SocketAddr,
    scratch: TempDir,
    child: Child,
}

impl Service {
    /// A service that says it can serve.
    ///
    /// # Panics
    /// Where it does not say so in time, with the end of its log.
    pub(crate) async fn start(options: ServiceOptions) -> Self {
        Self::try_start(options)
            .await
            .unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// As [`Service::start`], for a test that expects it to fail.
    ///
    /// # Errors
    /// Where the service ends, or does not say in time that it can serve; with the end of its log.
    pub(crate) async fn try_start(options: ServiceOptions) -> Result<Self> {
        let mut service = Self::spawn(options).await?;
        service.wait_ready().await?;
        Ok(service)
    }

    /// A started service, ready or not: for a test of what it does while its database cannot be reached.
    ///
    /// # Errors
    /// Where the process cannot be started.
    pub(crate) async fn spawn(options: ServiceOptions) -> Result<Self> {
        let scratch = tempfile::tempdir()?;
        let address = ports::loopback(ports::free());
        let child = launch(&options, address, scratch.path())?;
        Ok(Self {
            options,
            address,
            scratch,
            child,
        })
    }

    /// Returns once the service says that it can serve.
    ///
    /// # Errors
    /// Where it ends or does not say so in time, with the end of its log.
    pub(crate) async fn wait_ready(&mut self) -> Result<()> {
        let ready = format!("{}/readyz", self.url());
        let client = http_client();
        let child = &mut self.child;
        let outcome = wait::until("the service is ready", READY_DEADLINE, async || {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            client.get(&ready).send().await?.error_for_status()?;
            anyhow::Ok(None)
        })
        .await;
        match outcome {
            Ok(None) => Ok(()),
            Ok(Some(status)) => bail!(
                "the service ended with {status}; the end of its log:\n{}",
                self.log_tail()
            ),
            Err(error) => Err(error)
                .with_context(|| format!("the end of the service's log:\n{}", self.log_tail())),
        }
    }

    /// The status of the answer at `path`, without a token; `None` where nobody answers.
    pub(crate) async fn status(&self, path: &str) -> Option<u16> {
        let url = format!("{}{path}", self.url());
        let answer = http_client().get(url).send().await.ok()?;
        Some(answer.status().as_u16())
    }

    /// Returns once `path` answers with `status`.
    ///
    /// # Panics
    /// Where it does not in time, with the end of the service's log.
    pub(crate) async fn await_status(&self, path: &str, status: u16) {
        let what = format!("{path} answers {status}");
        wait::until(&what, READY_DEADLINE, async || {
            match self.status(path).await {
                Some(found) if found == status => Ok(()),
                found => Err(format!("{found:?} rather than {status}")),
            }
        })
        .await
        .unwrap_or_else(|error| panic!("{error:#}\n{}", self.log_tail()));
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address it listens on; the same after a restart.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of its process, as long as it has not been seen to end.
    pub(crate) fn process_id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Its data folder.
    pub(crate) fn data_dir(&self) -> PathBuf {
        data_dir(&self.options, self.scratch.path())
    }

    /// A token with `scope` (several: separated by a space) that lives for an hour.
    ///
    /// # Panics
    /// Where the command fails, with what it said.
    pub(crate) async fn token(&self, scope: &str) -> String {
        self.issue(&["--scope", scope, "--expires", "1h"]).await
    }

    /// A token with these flags of `perf-tracking token issue`.
    ///
    /// # Panics
    /// Where the command fails, with what it said.
    pub(crate) async fn issue(&self, flags: &[&str]) -> String {
        self.try_issue(flags)
            .await
            .unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Kills the process: nothing is flushed, nobody is told.
    pub(crate) async fn kill(&mut self) {
        self.child
            .kill()
            .await
            .expect("a running service can be killed");
    }

    /// Asks the process to end, as systemd and Kubernetes do, and does not wait for it.
    pub(crate) fn ask_to_end(&self) {
        if let Some(pid) = self.pid() {
            kill_process(pid, Signal::TERM).expect("a running service can be signalled");
        }
    }

    /// Asks the process to end and waits for it.
    ///
    /// # Panics
    /// Where it has not ended in time, with the end of its log.
    pub(crate) async fn terminate(&mut self) -> ExitStatus {
        self.ask_to_end();
        match tokio::time::timeout(TERMINATE_DEADLINE, self.child.wait()).await {
            Ok(status) => status.expect("a child can be waited for"),
            Err(_) => panic!(
                "the service does not end; the end of its log:\n{}",
                self.log_tail()
            ),
        }
    }

    /// Starts a killed or terminated service again, at its old address and on its old data.
    ///
    /// # Panics
    /// Where it does not say in time that it can serve, with the end of its log.
    pub(crate) async fn restart(&mut self) {
        self.child
            .kill()
            .await
            .expect("what runs can be killed, and what has ended needs it not");
        self.launch_again();
        self.wait_ready()
            .await
            .unwrap_or_else(|error| panic!("{error:#}"));
    }

    /// Starts a killed service again and does not wait until it can serve.
    pub(crate) fn launch_again(&mut self) {
        self.child = launch(&self.options, self.address, self.scratch.path())
            .expect("what started once starts again");
    }

    /// All that it wrote to its standard output and error, over restarts.
    pub(crate) fn log(&self) -> String {
        let log = fs::read(log_path(self.scratch.path())).expect("the log is there from the start");
        String::from_utf8_lossy(&log).into_owned()
    }

    /// As [`Service::log`], once it holds `text`: the service does not wait until a line is written.
    ///
    /// # Panics
    /// Where it does not in time, with the end of the log.
    pub(crate) async fn log_with(&self, text: &str) -> String {
        wait::until(text, LOG_DEADLINE, async || {
            let log = self.log();
            if log.contains(text) {
                Ok(log)
            } else {
                Err("it is not in the log")
            }
        })
        .await
        .unwrap_or_else(|error| panic!("{error:#}\n{}", self.log_tail()))
    }

    /// The end of [`Service::log`].
    pub(crate) fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()?).ok()?)
    }

    async fn try_issue(&self, flags: &[&str]) -> Result<String> {
        let output = command(BINARY)
            .args(["token", "issue", "--subject", "test"])
            .args(flags)
            .arg("--data-dir")
            .arg(self.data_dir())
            .output()
            .await?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "`token issue` ended with {}:\n{errors}",
            output.status
        );
        Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
    }
}

/// A client for the service; it makes sure that reqwest finds its cryptography, which it wants even for plain HTTP.
pub(crate) fn http_client() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Another part of the process may have chosen already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client without certificates can be built")
}

fn launch(options: &ServiceOptions, address: SocketAddr, scratch: &Path) -> Result<Child> {
    let data_dir = data_dir(options, scratch);
    fs::create_dir_all(&data_dir)?;
    let log = File::options()
        .create(true)
        .append(true)
        .open(log_path(scratch))?;
    // The kernel ends the service with the thread that starts it: no destructor runs in a test that is killed.
    let mut command = command("setpriv");
    command
        .args([
            "--pdeathsig",
            "KILL",
            BINARY,
            "serve",
            "--listen",
            &address.to_string(),
            "--data-dir",
        ])
        .arg(data_dir)
        .args(
            options
                .database_url
                .iter()
                .flat_map(|url| ["--database-url", url]),
        )
        .args(&options.args)
        .envs(options.env.iter().map(|(name, value)| (name, value)))
        .stdout(log.try_clone()?)
        .stderr(log)
        .kill_on_drop(true);
    command
        .spawn()
        .context("cannot start the service under `setpriv` (util-linux)")
}

/// A command that reads nothing and does not see the settings of whoever runs the tests.
fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PERF_TRACKING_") {
            command.env_remove(name);
        }
    }
    command
}

fn data_dir(options: &ServiceOptions, scratch: &Path) -> PathBuf {
    options
        .data_dir
        .clone()
        .unwrap_or_else(|| scratch.join("data"))
}

fn log_path(scratch: &Path) -> PathBuf {
    scratch.join("service.log")
}
