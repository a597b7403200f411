//! A server under test: started, known to be ready, looked at, and stopped.

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::time::sleep;

use super::containers::Project;
use super::job::{GRACE, Held, Job, last_lines_of};
use super::processes::{Root, Snapshot};
use super::side::Side;
use crate::judge::comparison::contract::{self, Start};
use crate::judge::comparison::record::SideName;
use crate::measure::contract::Tools;

/// Between two questions whether it is ready.
const PAUSE: Duration = Duration::from_millis(50);

/// How long the container engine may take to stop containers beyond what these take themselves.
const ENGINE_GRACE: Duration = Duration::from_secs(30);

/// What a subject is started from.
pub(super) struct Plan<'a> {
    pub(super) subject: &'a contract::Subject,
    pub(super) name: SideName,
    pub(super) side: &'a Side,
    /// Where its command lines run.
    pub(super) folder: &'a Path,
    /// Where the contract is.
    pub(super) contract_folder: &'a Path,
    pub(super) tools: Option<Tools>,
    pub(super) log: PathBuf,
}

/// A subject that is up. Dropping it ends it, some time later.
pub(super) struct Live {
    held: Held,
    root: Root,
    place: Place,
    variables: Vec<(String, OsString)>,
    log: PathBuf,
    /// The holder's results, and what probes print.
    scratch: TempDir,
    _data: TempDir,
}

/// Where the contract's command lines run.
enum Place {
    Host,
    Container(Project, String),
}

/// Why there is no subject, with the last lines that it printed.
pub(super) struct NotUp {
    pub(super) reason: String,
    pub(super) output: Vec<String>,
}

impl Plan<'_> {
    /// Starts it, and waits until it is ready.
    pub(super) async fn start(&self) -> Result<Live, NotUp> {
        let not_up = |reason: String| NotUp {
            reason,
            output: last_lines_of(&[&self.log]),
        };
        let mut live = self.launch().await.map_err(not_up)?;
        let up = match self.wait_ready(&mut live).await {
            Ok(()) => self.set_up(&live).await,
            Err(reason) => Err(reason),
        };
        let Err(reason) = up else {
            return Ok(live);
        };
        let stopped = live.stop().await;
        let output = last_lines_of(&[&self.log]);
        let reason = match stopped {
            Ok(_) => reason,
            Err(error) => format!("{reason}; and it could not be stopped: {error}"),
        };
        Err(NotUp { reason, output })
    }

    async fn launch(&self) -> Result<Live, String> {
        let io = |error: std::io::Error| format!("the subject cannot be started: {error}");
        let scratch = folder().map_err(io)?;
        let data = folder().map_err(io)?;
        let mut variables = self.side.variables();
        let name = |name: &str, value: OsString| (name.to_owned(), value);
        variables.push(name("COMPARE_SIDE", self.name.as_str().into()));
        variables.push(name(
            "COMPARE_PORT",
            free_port().map_err(io)?.to_string().into(),
        ));
        variables.push(name("COMPARE_DATA", data.path().into()));
        if let Some(parent) = self.log.parent() {
            fs::create_dir_all(parent).map_err(io)?;
        }
        let project = self.project()?;
        let (script, cleanup) = match (&self.subject.start, &project) {
            (Start::Command(line), _) => (line.clone(), None),
            (Start::Compose { .. }, Some(project)) => (
                project.up(self.subject.stop_limit),
                Some(project.down(self.subject.stop_limit)),
            ),
            (Start::Compose { .. }, None) => return Err("no container engine was found".to_owned()),
        };
        let job = Job {
            script: &script,
            cleanup: cleanup.as_deref(),
            folder: self.folder,
            variables: &variables,
            stdout: &self.log,
            stderr: &self.log,
            grace: match &project {
                Some(_) => self.subject.stop_limit + ENGINE_GRACE,
                None => self.subject.stop_limit,
            },
            result: scratch.path().join("subject.json"),
        };
        let held = job.start().map_err(io)?;
        let holder = held.pid().ok_or("the subject ended at once")?;
        let mut live = Live {
            held,
            root: Root::Holder(holder),
            place: Place::Host,
            variables,
            log: self.log.clone(),
            scratch,
            _data: data,
        };
        if let Some(project) = project {
            let found = self.find_containers(project, &mut live).await;
            if let Err(reason) = found {
                let _ = live.stop().await;
                return Err(reason);
            }
        }
        Ok(live)
    }

    fn project(&self) -> Result<Option<Project>, String> {
        let Start::Compose { file, .. } = &self.subject.start else {
            return Ok(None);
        };
        let tools = self.tools.ok_or("no container engine was looked for")?;
        Ok(Some(Project::new(&self.contract_folder.join(file), tools)))
    }

    /// Waits for the containers that the contract names.
    async fn find_containers(&self, project: Project, live: &mut Live) -> Result<(), String> {
        let Start::Compose {
            service,
            load_service,
            ..
        } = &self.subject.start
        else {
            return Ok(());
        };
        let server = self.wait_container(&project, service, live).await?;
        let pid = project.pid(&server).await?;
        let pid =
            pid.ok_or_else(|| format!("the service `{service}` ended as soon as it started"))?;
        live.root = Root::Container(pid);
        if let Some(service) = load_service {
            let load = self.wait_container(&project, service, live).await?;
            live.place = Place::Container(project, load);
        }
        Ok(())
    }

    async fn wait_container(
        &self,
        project: &Project,
        service: &str,
        live: &mut Live,
    ) -> Result<String, String> {
        let until = Instant::now() + self.subject.ready_limit;
        while Instant::now() < until {
            if let Some(container) = project.container(service).await? {
                return Ok(container);
            }
            live.still_up()?;
            sleep(PAUSE).await;
        }
        Err(format!(
            "no container of the service `{service}` was there within {} s",
            self.subject.ready_limit.as_secs()
        ))
    }

    async fn wait_ready(&self, live: &mut Live) -> Result<(), String> {
        let limit = self.subject.ready_limit;
        let until = Instant::now() + limit;
        let output = live.scratch.path().join("ready.log");
        let mut said = String::new();
        loop {
            live.still_up()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let seconds = limit.as_secs();
                return Err(format!(
                    "the subject was not ready within {seconds} s{said}"
                ));
            }
            let asked = live
                .run(
                    self.folder,
                    &self.subject.ready,
                    &[],
                    &output,
                    &output,
                    left,
                )
                .await;
            if asked.is_ok_and(|ended| ended.exit_code == Some(0)) {
                return live.still_up();
            }
            // A probe that was cut off by the deadline may have said nothing.
            if let Some(line) = last_lines_of(&[&output]).pop() {
                said = format!(" (the probe said: {line})");
            }
            sleep(PAUSE).await;
        }
    }

    async fn set_up(&self, live: &Live) -> Result<(), String> {
        let Some(setup) = &self.subject.setup else {
            return Ok(());
        };
        let output = live.scratch.path().join("setup.log");
        let limit = self.subject.setup_limit;
        let ended = live
            .run(self.folder, setup, &[], &output, &output, limit)
            .await;
        let failed = |how: String| {
            let said = last_lines_of(&[&output]).join("; ");
            Err(format!("the setup of the subject {how}: {said}"))
        };
        match ended {
            Ok(ended) if ended.exit_code == Some(0) => Ok(()),
            Ok(ended) => failed(format!("ended with {}", ended.how())),
            Err(how) => failed(how),
        }
    }
}

impl Live {
    /// # Errors
    /// That the subject has ended.
    pub(super) fn still_up(&mut self) -> Result<(), String> {
        match self.held.has_ended() {
            Ok(None) => Ok(()),
            Ok(Some(ended)) => Err(format!("the subject ended with {}", ended.how())),
            Err(error) => Err(format!("the subject ended: {error}")),
        }
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        self.root.snapshot()
    }

    /// The last lines that it printed.
    pub(super) fn last_lines(&self) -> Vec<String> {
        last_lines_of(&[&self.log])
    }

    /// Runs a command line of the contract against it.
    pub(super) async fn run(
        &self,
        folder: &Path,
        script: &str,
        more: &[(String, OsString)],
        stdout: &Path,
        stderr: &Path,
        limit: Duration,
    ) -> Result<super::hold::Ended, String> {
        let variables = [self.variables.as_slice(), more].concat();
        let in_container = match &self.place {
            Place::Host => None,
            Place::Container(project, container) => {
                let text = |(name, value): &(String, OsString)| {
                    (name.clone(), value.to_string_lossy().into_owned())
                };
                // The files of this machine are not in the container.
                let is_file = |name: &str| matches!(name, "COMPARE_TRIAL" | "COMPARE_DATA");
                let known = variables.iter().filter(|(name, _)| !is_file(name));
                let known: Vec<(String, String)> = known.map(text).collect();
                Some(project.exec(container, script, &known))
            }
        };
        let job = Job {
            script: in_container.as_deref().unwrap_or(script),
            cleanup: None,
            folder,
            variables: &variables,
            stdout,
            stderr,
            grace: GRACE,
            result: self.scratch.path().join("job.json"),
        };
        job.run(limit).await
    }

    /// Stops it in an orderly way, and kills it if it will not.
    ///
    /// # Errors
    /// That it cannot be ended.
    pub(super) async fn stop(mut self) -> std::io::Result<bool> {
        let ended = self.held.stop().await?;
        Ok(ended.was_killed)
    }
}

fn folder() -> std::io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix("perf-tracking-compare-")
        .tempdir()
}

/// A port that nothing listens on at this moment.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
