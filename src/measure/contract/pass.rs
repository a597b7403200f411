//! One pass: starts the server and the load, reads the numbers, and removes everything again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, interval_at, sleep, timeout_at};

use super::command::last_lines;
use super::config::{Contract, Count, Load};
use super::engine::Tools;
use super::failure::{Failure, Reason};
use super::load::SERVER;
use super::project::{Project, Service, State};
use super::{Observer, Pass, Progress, Step, waits};
use crate::domain::{Document, DocumentContent, JsonText, Metric};
use crate::measure::valgrind::Tool;
use crate::signals::Signals;

/// The folder that the server and the load generator share.
const SHARED: &str = "/measured";
/// The folder with the copied binaries, whose sizes the runner reads.
const SIZES: &str = "/measured/sizes";
/// The pause between two checks of a server.
const PAUSE: Duration = Duration::from_secs(1);
/// How often a long step reports its progress.
const TELL: Duration = Duration::from_secs(10);
/// The time that the engine may need to notice that a container has exited.
const NOTICE: Duration = Duration::from_secs(5);
/// The exit code after SIGKILL, which the engine's `stop` sends to a container that does not exit.
const KILLED: i64 = 137;

const CALLGRIND: Pass = Pass::Counted(Tool::Callgrind);

/// The inputs of a pass.
pub(super) struct Run<'a> {
    pub(super) pass: Pass,
    pub(super) contract: &'a Contract,
    /// The document without its numbers.
    pub(super) document: &'a DocumentContent,
    pub(super) tools: &'a Tools,
    pub(super) observer: Observer<'a>,
}

/// A pass that has been started.
struct Started<'a> {
    run: &'a Run<'a>,
    project: &'a Project<'a>,
    server: String,
    load: String,
}

impl Run<'_> {
    /// Runs the pass and returns its numbers. Removes what it started, however it ends.
    pub(super) async fn measure(
        &self,
        folder: &Path,
        signals: &mut Signals,
    ) -> Result<Vec<Metric>, Failure> {
        let file = compose_file(folder, self.pass);
        let project = Project::new(self.pass, file, &self.contract.images, self.tools);
        // A signal must not cut this short: what compose is about to create could not be removed yet.
        let outcome = match self.told(&project, Step::Start, project.up()).await {
            Err(error) => Err(error),
            Ok(()) => tokio::select! {
                biased;
                came = signals.next() => Err(Reason::Stopped(came.name)),
                outcome = self.steps(&project) => outcome,
            },
        };
        let server_log = match &outcome {
            Ok(_) => Vec::new(),
            Err(_) => project.server_log().await,
        };
        let left = self.told(&project, Step::Clean, project.remove()).await;
        let failure = |reason| Failure {
            pass: Some(self.pass),
            reason,
            server_log,
            left: left.clone(),
        };
        match outcome {
            Ok(_) if !left.is_empty() => Err(failure(Reason::Left)),
            outcome => outcome.map_err(failure),
        }
    }

    async fn steps(&self, project: &Project<'_>) -> Result<Vec<Metric>, Reason> {
        let started = Started {
            run: self,
            project,
            server: project.container(Service::Server).await?,
            load: project.container(Service::Load).await?,
        };
        started.wait_ready().await?;
        if self.pass == CALLGRIND {
            started.copy_sizes().await?;
        }
        let load = self.load();
        started.sysbench(Step::Prepare, &load.prepare()).await?;
        if self.counts_load() {
            started.vgdb(Step::Zero, "zero").await?;
        }
        if self.pass == Pass::Waits {
            started.client(Step::WaitsBefore, &waits::opening()).await?;
            let reading = waits::reading(waits::BEFORE);
            started.client(Step::WaitsBefore, &reading).await?;
        }
        let report = started.sysbench(Step::Load, &load.run()).await?;
        load.check(&report).map_err(Reason::OtherLoad)?;
        if self.counts_load() {
            started.vgdb(Step::Dump, "dump").await?;
        }
        if self.pass == Pass::Waits {
            let reading = waits::reading(waits::AFTER);
            started.client(Step::WaitsAfter, &reading).await?;
        }
        started.stop().await?;
        match self.pass {
            Pass::Counted(_) | Pass::Waits => started.read().await,
            Pass::WallClock => load.times(&report).map_err(Reason::OtherLoad),
        }
    }

    fn load(&self) -> Load {
        match self.pass {
            Pass::Counted(_) | Pass::Waits => self.contract.load.clone(),
            Pass::WallClock => self.contract.wall_clock_load(),
        }
    }

    /// massif cannot be told to start counting again.
    fn counts_load(&self) -> bool {
        self.pass == CALLGRIND && self.contract.count == Count::Load
    }

    /// Does `work`, and reports that it began and that it goes on.
    async fn told<T>(&self, project: &Project<'_>, step: Step, work: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let tell = |elapsed| {
            (self.observer)(Progress {
                pass: self.pass,
                project: project.name(),
                step,
                elapsed,
            });
        };
        tell(Duration::ZERO);
        let mut ticks = interval_at(began + TELL, TELL);
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = ticks.tick() => tell(began.elapsed()),
            }
        }
    }
}

impl Started<'_> {
    async fn wait_ready(&self) -> Result<(), Reason> {
        let limit = self.run.contract.server.ready;
        let probe = format!("{SERVER}:3306");
        let until = Instant::now() + limit;
        let mut said = "it was not asked yet".to_owned();
        let answers = async {
            loop {
                let asked = self.project.exec(&self.load);
                let asked = asked.args(["perf-tracking", "load", "ready", &probe]);
                match timeout_at(until, asked.run()).await {
                    Ok(Ok(answer)) if answer.succeeded => return Ok(()),
                    Ok(Ok(answer)) => said = last_lines(&answer.stderr, 1).concat(),
                    Ok(Err(reason)) => return Err(reason),
                    Err(_) => return Err(Reason::NeverReady { limit, said }),
                }
                sleep(PAUSE).await;
            }
        };
        self.while_both_run(Step::Ready, answers).await
    }

    /// Does `work`, unless a container exits first. If the work failed because a container exited,
    /// the exit is the reason that is told.
    async fn while_both_run<T>(
        &self,
        step: Step,
        work: impl Future<Output = Result<T, Reason>>,
    ) -> Result<T, Reason> {
        let watched = async {
            tokio::select! {
                done = work => done,
                ended = self.ended(step) => Err(ended),
            }
        };
        let outcome = self.run.told(self.project, step, watched).await;
        match outcome {
            Err(Reason::ServerEnded { .. } | Reason::LoadEnded(_) | Reason::NeverReady { .. })
            | Ok(_) => outcome,
            Err(reason) => {
                let ended = tokio::time::timeout(NOTICE, self.ended(step)).await;
                Err(ended.unwrap_or(reason))
            }
        }
    }

    /// Returns once one of the two containers has exited.
    async fn ended(&self, step: Step) -> Reason {
        loop {
            match self.project.state(&self.server).await {
                Ok(State::Running) => {}
                Ok(State::Ended(code)) => return Reason::ServerEnded { code, step },
                Err(reason) => return reason,
            }
            match self.project.state(&self.load).await {
                Ok(State::Running) => sleep(PAUSE).await,
                Ok(State::Ended(code)) => return Reason::LoadEnded(code),
                Err(reason) => return reason,
            }
        }
    }

    /// Copies the binaries out of the server's image, to where the load generator can read them.
    async fn copy_sizes(&self) -> Result<(), Reason> {
        let Some(sizes) = &self.run.contract.sizes else {
            return Ok(());
        };
        let mut script = format!(
            "mkdir -p {SIZES}/plugins && cp -L {} {SIZES}/binary",
            sizes.binary
        );
        if let Some(plugins) = &sizes.plugins {
            script.push_str(&format!(" && cp -L {plugins} {SIZES}/plugins/"));
        }
        let command = self.project.exec(&self.server).args(["sh", "-c", &script]);
        let copied = async { command.output().await.map(drop) };
        self.while_both_run(Step::Sizes, copied).await
    }

    /// Runs sysbench and returns its report.
    async fn sysbench(&self, step: Step, words: &[String]) -> Result<String, Reason> {
        let command = self.project.exec(&self.load).args(words);
        self.while_both_run(step, command.output()).await
    }

    /// Sends callgrind a command. Its own `callgrind_control` needs Perl, which the image lacks.
    async fn vgdb(&self, step: Step, command: &str) -> Result<(), Reason> {
        let command = self.project.exec(&self.server).args(["vgdb", command]);
        let told = async { command.output().await.map(drop) };
        self.while_both_run(step, told).await
    }

    /// Asks the server something; the answer goes to a file.
    async fn client(&self, step: Step, words: &[String]) -> Result<(), Reason> {
        let command = self.project.exec(&self.load).args(words);
        let asked = async { command.output().await.map(drop) };
        self.while_both_run(step, asked).await
    }

    async fn stop(&self) -> Result<(), Reason> {
        let limit = self.run.contract.server.stop;
        let stopped = async {
            // A server that exited before was not stopped by us, whatever its exit code.
            if let State::Ended(code) = self.project.state(&self.server).await? {
                return Err(Reason::ServerEnded {
                    code,
                    step: Step::Stop,
                });
            }
            self.project.stop(&self.server, limit).await?;
            match self.project.state(&self.server).await? {
                State::Ended(0) => Ok(()),
                State::Ended(KILLED) | State::Running => Err(Reason::NeverStopped(limit)),
                State::Ended(code) => Err(Reason::ServerEnded {
                    code,
                    step: Step::Stop,
                }),
            }
        };
        self.run.told(self.project, Step::Stop, stopped).await
    }

    async fn read(&self) -> Result<Vec<Metric>, Reason> {
        let command = self
            .project
            .exec(&self.load)
            .args(["sh", "-c", &self.reading()]);
        let text = self
            .run
            .told(self.project, Step::Read, command.output())
            .await?;
        parse(&text)
    }

    /// Lets the runner in the load generator make a document of the files. Its shell expands the
    /// patterns.
    fn reading(&self) -> String {
        let document = self.run.document;
        let mut script = format!(
            "exec perf-tracking document --failed --workload '{}' --arch '{}' --distro '{}' --host-class '{}'",
            quoted(document.workload.as_str()),
            quoted(document.arch.as_str()),
            quoted(document.distro.as_str()),
            quoted(document.host_class.as_str())
        );
        match self.run.pass {
            Pass::Counted(Tool::Massif) => {
                script.push_str(&format!(" --massif {SHARED}/massif.out"))
            }
            // The first part is the dump of the load. Later parts hold what came after it.
            Pass::Counted(Tool::Callgrind) if self.run.counts_load() => {
                script.push_str(&format!(
                    " --callgrind {SHARED}/callgrind.out.1 --callgrind-some-parts"
                ));
            }
            Pass::Counted(Tool::Callgrind) => {
                script.push_str(&format!(" --callgrind {SHARED}/callgrind.out"));
            }
            Pass::Waits => script.push_str(&format!(
                " --performance-schema {} --performance-schema-before {}",
                waits::AFTER,
                waits::BEFORE
            )),
            // Its numbers are in the report of sysbench.
            Pass::WallClock => {}
        }
        if let (CALLGRIND, Some(sizes)) = (self.run.pass, &self.run.contract.sizes) {
            let name = sizes.binary.rsplit('/').next().unwrap_or_default();
            script.push_str(&format!(" --binary {name}={SIZES}/binary"));
            if sizes.plugins.is_some() {
                script.push_str(&format!(" --plugin {SIZES}/plugins/*"));
            }
        }
        script
    }
}

/// The compose file of a pass.
pub(super) fn compose_file(folder: &Path, pass: Pass) -> PathBuf {
    folder.join(format!("{}.yaml", pass.name()))
}

/// Escapes `text` for use between a shell's single quotes.
fn quoted(text: &str) -> String {
    text.replace('\'', "'\\''")
}

fn parse(text: &str) -> Result<Vec<Metric>, Reason> {
    let unreadable = |said: String| Reason::NoDocument(last_lines(&said, 5).join("; "));
    let json = JsonText::parse(text.as_bytes()).map_err(|error| unreadable(error.to_string()))?;
    let document = Document::parse(json)
        .map_err(|faults| unreadable(faults.lines().collect::<Vec<_>>().join("\n")))?;
    if document.metrics.is_empty() {
        return Err(Reason::NoDocument("it has no numbers".to_owned()));
    }
    Ok(document.into_content().metrics.into_vec())
}
