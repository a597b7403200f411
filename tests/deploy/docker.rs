//! The `docker` command, as an operator uses it.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::support::images::{ensure_debian, ensure_rust};
use crate::support::{engine, wait};

/// A service that waits for a database that makes its data folder, on a busy machine.
const HEALTHY_DEADLINE: Duration = Duration::from_secs(180);

/// The repository.
pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What the Containerfile's image is called here.
const IMAGE: &str = "perf-tracking-test/perf-tracking:latest";

/// How a build may have to reach packages, if not by default.
pub(crate) const PROXIES: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// A name that no other test uses.
pub(crate) fn unique(what: &str) -> String {
    format!("perf-tracking-test-{what}-{}", std::process::id())
}

/// What `docker` prints, without the white space around it.
pub(crate) fn docker(args: &[&str]) -> Result<String> {
    output(Command::new("docker").args(args))
}

/// What a command prints, without the white space around it; if it fails, all that it said is in the error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{command:?}: {}\n{said}\n{errors}",
        output.status
    );
    Ok(said.trim().to_owned())
}

/// The image that the Containerfile makes; built once for all tests, on stand-ins where the images that it names cannot
/// be pulled.
pub(crate) async fn image() -> &'static str {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    engine::connect().await.expect("a container engine runs");
    let built = tokio::task::spawn_blocking(|| {
        BUILT.get_or_init(|| build().map_err(|error| format!("{error:#}")))
    });
    match built.await.expect("a build does not panic") {
        Ok(()) => IMAGE,
        Err(error) => panic!("{error}"),
    }
}

fn build() -> Result<()> {
    const RUNTIME: &str = "perf-tracking-test/debian:trixie";
    let started = Instant::now();
    let compiler = ensure_rust()?;
    ensure_debian("trixie", &[], RUNTIME)?;
    let mut command = Command::new("docker");
    command
        .args(["build", "--file", "Containerfile", "--tag", IMAGE])
        .args(["--build-arg", &format!("BUILD_IMAGE={compiler}")])
        .args(["--build-arg", &format!("RUNTIME_IMAGE={RUNTIME}")])
        .current_dir(Path::new(ROOT));
    for proxy in PROXIES {
        if std::env::var_os(proxy).is_some() {
            command.args(["--build-arg", proxy]);
        }
    }
    output(command.arg("."))?;
    let size: u64 = docker(&["image", "inspect", "--format={{.Size}}", IMAGE])?.parse()?;
    let base: u64 = docker(&["image", "inspect", "--format={{.Size}}", RUNTIME])?.parse()?;
    println!(
        "the image: {} MB, {} MB of it the base; built in {:?}",
        size / 1_000_000,
        base / 1_000_000,
        started.elapsed()
    );
    Ok(())
}

/// A container that goes away with the value, its unnamed volumes too.
pub(crate) struct Container(pub(crate) String);

impl Container {
    /// `docker run --detach` with these arguments.
    pub(crate) fn run(what: &str, args: &[&str]) -> Self {
        let container = Self(unique(what));
        let name = [
            "run",
            "--detach",
            "--label=perf-tracking-test",
            "--name",
            &container.0,
        ];
        docker(&[&name, args].concat()).unwrap_or_else(|error| panic!("{error:#}"));
        container
    }

    /// What a command prints in the container.
    pub(crate) fn exec(&self, args: &[&str]) -> Result<String> {
        docker(&[&["exec", &self.0], args].concat())
    }

    /// What `docker inspect` knows by this template.
    pub(crate) fn inspect(&self, template: &str) -> String {
        inspect(&self.0, template).unwrap_or_else(|error| panic!("{error:#}"))
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the end of the log of {}:\n{}", self.0, logs(&self.0));
        }
        if let Err(error) = docker(&["rm", "--force", "--volumes", &self.0]) {
            eprintln!("{error:#}");
        }
    }
}

fn inspect(container: &str, template: &str) -> Result<String> {
    docker(&["inspect", "--format", template, container])
}

/// The end of what a container wrote.
pub(crate) fn logs(container: &str) -> String {
    let output = Command::new("docker")
        .args(["logs", "--tail=30", container])
        .output();
    output.map_or_else(
        |error| error.to_string(),
        |output| String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
    )
}

/// Returns once the health check of `container` says so.
pub(crate) async fn wait_healthy(container: &str) {
    let outcome = wait::until("the container is healthy", HEALTHY_DEADLINE, async || {
        let status = inspect(container, "{{.State.Health.Status}}")?;
        ensure!(status == "healthy", "its health is `{status}`");
        Ok::<_, anyhow::Error>(())
    });
    if let Err(error) = outcome.await {
        panic!(
            "{error:#}; the end of the log of {container}:\n{}",
            logs(container)
        );
    }
}

/// A volume that goes away with the value.
pub(crate) struct Volume(pub(crate) String);

impl Volume {
    /// An empty one.
    pub(crate) fn new(what: &str) -> Self {
        let name = unique(what);
        docker(&["volume", "create", &name]).unwrap_or_else(|error| panic!("{error:#}"));
        Self(name)
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        if let Err(error) = docker(&["volume", "rm", "--force", &self.0]) {
            eprintln!("{error:#}");
        }
    }
}
