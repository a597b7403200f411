//! Works through a contract: builds, starts, runs trials, writes files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::hold::Ended;
use super::host::{clock_ticks, host};
use super::job::{GRACE, Job, last_lines_of};
use super::layout::{Layout, LayoutError, Origin};
use super::processes::Snapshot;
use super::reading;
use super::side::{Side, Source};
use super::subject::{self, Live, NotUp};
use super::worktree::Worktree;
use crate::judge::comparison::contract::{Cell, Interleave, Start};
use crate::judge::comparison::record::{Provenance, SideKind, SideName, Sides};
use crate::judge::comparison::{Contract, Quantity, Trial};
use crate::measure::contract::Tools;
use crate::measure::program::children;
use crate::signals::Signals;

/// How much longer than its grace the end of everything may take.
const CLEANUP: Duration = Duration::from_secs(60);

/// What is run.
pub struct Plan<'a> {
    /// The contract, and its text.
    pub contract: &'a Contract,
    /// Its very bytes.
    pub text: &'a str,
    /// The folder that it stands in.
    pub folder: PathBuf,
    /// A new or an empty folder for the files.
    pub output: PathBuf,
    /// What the candidate is held against.
    pub reference: Side,
    /// What is judged.
    pub candidate: Side,
    /// The container engine, where one is needed.
    pub tools: Option<Tools>,
    /// What runs it, when, and with which settings.
    pub provenance: Provenance,
}

/// How it goes.
#[derive(Clone, Debug)]
pub enum Event {
    /// The contract is on disk.
    Written(PathBuf),
    /// A commit is being built.
    Building(SideName),
    /// A subject is being started.
    Starting(SideName, u32),
    /// A trial begins.
    Trial {
        /// Which cell.
        cell: String,
        /// On which side.
        side: SideName,
        /// In which round.
        round: u32,
        /// Of how many.
        rounds: u32,
        /// The how manieth trial it is.
        position: u32,
        /// Of how many.
        of: u32,
        /// How long the rest takes, judged by what was run so far.
        left: Option<Duration>,
    },
    /// A trial, or the start of a subject, went wrong.
    Failed(String),
}

/// Who is told how it goes.
pub type Observer<'a> = &'a (dyn Fn(Event) + Send + Sync);

/// Why a comparison did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The folder.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A commit cannot be checked out or built.
    #[error("the {side} cannot be built: {reason}{}", below(.output))]
    Build {
        /// Which side.
        side: SideName,
        /// Why.
        reason: String,
        /// The last lines of the build.
        output: Vec<String>,
    },
    /// A side does not fit the contract.
    #[error("the {side} does not fit the contract: {reason}")]
    Side {
        /// Which side.
        side: SideName,
        /// Why.
        reason: String,
    },
    /// A file cannot be written.
    #[error("`{}` cannot be written: {error}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The system refused what running programs needs.
    #[error("programs cannot be run: {0}")]
    System(#[from] io::Error),
    /// A signal.
    #[error("ended by {signal}; what was started is stopped, and the trials so far are in `{}`", folder.display())]
    Interrupted {
        /// Which.
        signal: &'static str,
        /// Where the trials are.
        folder: PathBuf,
    },
}

fn below(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n  {line}")).collect()
}

/// Runs all trials of a contract. A trial that goes wrong is written down as such, and the run goes
/// on: what it means is for the judge to say.
///
/// Takes the signals that end a process, and keeps them: made for a process that does nothing else.
///
/// # Errors
/// Why it did not come to its end. Nothing that was started is left then.
pub async fn run(plan: &Plan<'_>, observer: Observer<'_>) -> Result<Layout, Failure> {
    let mut signals = Signals::take()?;
    let layout = Layout::begin(&plan.output, plan.text)?;
    observer(Event::Written(layout.folder().to_owned()));
    let work = async {
        let mut runner = Runner::prepare(plan, &layout, observer).await?;
        runner.all().await
    };
    tokio::select! {
        biased;
        came = signals.next() => {
            // The work was dropped, and its holders see that: they end what they hold.
            let stop = plan.contract.subject.as_ref().map_or(GRACE, |subject| subject.stop_limit);
            children::wait(stop + CLEANUP).await?;
            Err(Failure::Interrupted {
                signal: came.name,
                folder: layout.folder().to_owned(),
            })
        }
        done = work => done.map(|()| layout.clone()),
    }
}

struct Runner<'p> {
    plan: &'p Plan<'p>,
    layout: &'p Layout,
    observer: Observer<'p>,
    reference: Side,
    candidate: Side,
    position: u32,
    began: Instant,
    scratch: TempDir,
    // Removed when the run is over.
    _worktrees: Vec<Worktree>,
}

impl<'p> Runner<'p> {
    /// Builds what must be built, and writes down where the numbers will come from.
    async fn prepare(
        plan: &'p Plan<'p>,
        layout: &'p Layout,
        observer: Observer<'p>,
    ) -> Result<Self, Failure> {
        let scratch = tempfile::Builder::new()
            .prefix("perf-tracking-compare-")
            .tempdir()?;
        let mut runner = Self {
            plan,
            layout,
            observer,
            reference: plan.reference.clone(),
            candidate: plan.candidate.clone(),
            position: 0,
            began: Instant::now(),
            scratch,
            _worktrees: Vec::new(),
        };
        for name in SideName::BOTH {
            runner.build(name).await?;
            runner.check(name).await?;
        }
        runner.write_origin()?;
        runner.began = Instant::now();
        Ok(runner)
    }

    fn side(&self, name: SideName) -> &Side {
        match name {
            SideName::Reference => &self.reference,
            SideName::Candidate => &self.candidate,
        }
    }

    fn side_mut(&mut self, name: SideName) -> &mut Side {
        match name {
            SideName::Reference => &mut self.reference,
            SideName::Candidate => &mut self.candidate,
        }
    }

    /// Makes a folder of a commit.
    async fn build(&mut self, name: SideName) -> Result<(), Failure> {
        let Source::Commit { repository, commit } = self.side(name).source.clone() else {
            return Ok(());
        };
        let failed = |reason: String, output: Vec<String>| Failure::Build {
            side: name,
            reason,
            output,
        };
        (self.observer)(Event::Building(name));
        let worktree = Worktree::add(&repository, &commit)
            .map_err(|error| failed(format!("git: {error}"), Vec::new()))?;
        let folder = worktree.folder().to_owned();
        self._worktrees.push(worktree);
        self.side_mut(name).source = Source::Folder(folder.clone());
        let Some(build) = &self.plan.contract.build else {
            return Ok(());
        };
        let log = self.layout.folder().join(format!("build-{name}.log"));
        let job = Job {
            script: &build.command,
            cleanup: None,
            folder: &folder,
            variables: &[],
            stdout: &log,
            stderr: &log,
            grace: GRACE,
            result: self.scratch.path().join("build.json"),
        };
        match job.run(build.limit).await {
            Ok(ended) if ended.exit_code == Some(0) => Ok(()),
            Ok(ended) => {
                let reason = format!("`{}` ended with {}", build.command, ended.how());
                Err(failed(reason, last_lines_of(&[&log])))
            }
            Err(how) => {
                let reason = format!("`{}` {how}", build.command);
                Err(failed(reason, last_lines_of(&[&log])))
            }
        }
    }

    /// Whether the contract can run this side at all; looks up an image's digest on the way.
    async fn check(&mut self, name: SideName) -> Result<(), Failure> {
        let contract = self.plan.contract;
        let misfit = |reason: String| Failure::Side { side: name, reason };
        let side = self.side(name);
        let is_command = matches!(side.source, Source::Command(_));
        if !is_command && contract.cells.iter().any(|cell| cell.command.is_none()) {
            let reason =
                "a cell without `command` runs the side's command line, and the side is none";
            return Err(misfit(reason.to_owned()));
        }
        let is_compose = matches!(
            contract.subject.as_ref().map(|subject| &subject.start),
            Some(Start::Compose { .. })
        );
        let Source::Image(image) = side.source.clone() else {
            return Ok(());
        };
        if !is_compose {
            let reason = "an image needs a `[subject]` with `compose`, which starts it";
            return Err(misfit(reason.to_owned()));
        }
        if let Some(tools) = &self.plan.tools {
            let digest = super::containers::digest(tools, &image)
                .await
                .map_err(misfit)?;
            self.side_mut(name).info.image_digest = Some(digest);
        }
        Ok(())
    }

    fn write_origin(&self) -> Result<(), Failure> {
        let origin = Origin {
            sides: Sides {
                reference: self.reference.info.clone(),
                candidate: self.candidate.info.clone(),
            },
            host: host(self.layout.folder()),
            provenance: self.plan.provenance.clone(),
        };
        write_json(&self.layout.origin(), &origin)
    }

    async fn all(&mut self) -> Result<(), Failure> {
        match self.plan.contract.interleave {
            Interleave::Round => self.by_round().await,
            Interleave::Trial => self.by_trial().await,
        }
    }

    async fn by_round(&mut self) -> Result<(), Failure> {
        let contract = self.plan.contract;
        for round in 1..=contract.rounds {
            for name in SideName::order(round) {
                let mut live = self.start(name, Some(round)).await;
                for cell in &contract.cells {
                    self.trial(cell, name, round, &mut live).await?;
                }
                self.stop(name, live).await?;
            }
        }
        Ok(())
    }

    async fn by_trial(&mut self) -> Result<(), Failure> {
        let contract = self.plan.contract;
        let mut reference = self.start(SideName::Reference, None).await;
        let mut candidate = self.start(SideName::Candidate, None).await;
        for cell in &contract.cells {
            for round in 1..=contract.rounds {
                for name in SideName::order(round) {
                    let live = match name {
                        SideName::Reference => &mut reference,
                        SideName::Candidate => &mut candidate,
                    };
                    self.trial(cell, name, round, live).await?;
                }
            }
        }
        self.stop(SideName::Reference, reference).await?;
        self.stop(SideName::Candidate, candidate).await
    }

    /// The subject of a side; `None` where the contract has none.
    async fn start(&self, name: SideName, round: Option<u32>) -> Option<Result<Live, NotUp>> {
        let subject = self.plan.contract.subject.as_ref()?;
        (self.observer)(Event::Starting(name, round.unwrap_or(1)));
        let plan = subject::Plan {
            subject,
            name,
            side: self.side(name),
            folder: self.working_folder(name),
            contract_folder: &self.plan.folder,
            tools: self.plan.tools,
            log: self.layout.subject_log(round, name),
        };
        let started = plan.start().await;
        if let Err(not_up) = &started {
            (self.observer)(Event::Failed(format!("{name}: {}", not_up.reason)));
        }
        Some(started)
    }

    async fn stop(&self, name: SideName, live: Option<Result<Live, NotUp>>) -> Result<(), Failure> {
        let Some(Ok(live)) = live else {
            return Ok(());
        };
        if live.stop().await? {
            let told = format!("{name}: the subject did not stop in time, and was killed");
            (self.observer)(Event::Failed(told));
        }
        Ok(())
    }

    /// Where the command lines of a side run: its own folder, else the contract's.
    fn working_folder(&self, name: SideName) -> &Path {
        self.side(name).folder().unwrap_or(&self.plan.folder)
    }

    async fn trial(
        &mut self,
        cell: &Cell,
        name: SideName,
        round: u32,
        live: &mut Option<Result<Live, NotUp>>,
    ) -> Result<(), Failure> {
        self.position += 1;
        self.tell(cell, name, round);
        let folder = self.layout.trial(round, name, &cell.name);
        fs::create_dir_all(&folder).map_err(|error| Failure::Write {
            path: folder.clone(),
            error,
        })?;
        let mut trial = Trial {
            cell: cell.name.clone(),
            round,
            side: name,
            position: self.position,
            failure: None,
            exit_code: None,
            counts: BTreeMap::new(),
            metrics: BTreeMap::new(),
            wall_seconds: None,
            cpu_seconds: None,
            cpu_seconds_per_unit: None,
            peak_memory_bytes: None,
            processes_before: Vec::new(),
            processes_after: Vec::new(),
            output: Vec::new(),
        };
        match live {
            Some(Err(not_up)) => {
                trial.failure = Some(not_up.reason.clone());
                trial.output.clone_from(&not_up.output);
            }
            None => self.run_cell(cell, &folder, None, &mut trial).await,
            Some(Ok(live)) => {
                if let Err(reason) = live.still_up() {
                    trial.failure = Some(format!("{reason} before the trial"));
                    trial.output = live.last_lines();
                } else {
                    self.run_cell(cell, &folder, Some(live), &mut trial).await;
                }
            }
        }
        if let Some(failure) = &trial.failure {
            let told = format!("{name}, round {round}, {}: {failure}", cell.name);
            (self.observer)(Event::Failed(told));
        }
        write_json(&folder.join("trial.json"), &trial)
    }

    fn tell(&self, cell: &Cell, side: SideName, round: u32) {
        let contract = self.plan.contract;
        let of = u32::try_from(contract.trials()).unwrap_or(u32::MAX);
        let done = self.position - 1;
        let left = (done > 0).then(|| self.began.elapsed() / done * (of - done));
        (self.observer)(Event::Trial {
            cell: cell.name.to_string(),
            side,
            round,
            rounds: contract.rounds,
            position: self.position,
            of,
            left,
        });
    }

    /// Runs the program of a cell, and fills in what came of it.
    async fn run_cell(
        &self,
        cell: &Cell,
        folder: &Path,
        mut live: Option<&mut Live>,
        trial: &mut Trial,
    ) {
        let (stdout, stderr) = (folder.join("stdout"), folder.join("stderr"));
        let file = folder.join("trial-of-program");
        let side = self.side(trial.side);
        let variable = |name: &str, value: OsString| (name.to_owned(), value);
        let variables = [
            variable("COMPARE_ROUND", trial.round.to_string().into()),
            variable("COMPARE_CELL", cell.name.as_str().into()),
            variable("COMPARE_TRIAL", file.clone().into()),
        ];
        let script = match (&cell.command, &side.source) {
            (Some(command), _) => command.clone(),
            (None, Source::Command(line)) => line.clone(),
            (None, _) => String::new(),
        };
        let place = self.working_folder(trial.side);
        let before = live.as_ref().map(|live| live.snapshot());
        let ended = match &live {
            Some(live) => {
                live.run(place, &script, &variables, &stdout, &stderr, cell.limit)
                    .await
            }
            None => {
                let own = [variable("COMPARE_SIDE", trial.side.as_str().into())];
                let variables = [side.variables().as_slice(), &own, &variables].concat();
                let job = Job {
                    script: &script,
                    cleanup: None,
                    folder: place,
                    variables: &variables,
                    stdout: &stdout,
                    stderr: &stderr,
                    grace: GRACE,
                    result: self.scratch.path().join("trial.json"),
                };
                job.run(cell.limit).await
            }
        };
        let after = live.as_ref().map(|live| live.snapshot());
        trial.output = last_lines_of(&[&stdout, &stderr]);
        take(trial, &ended);
        if let (Some(before), Some(after)) = (before, after) {
            compare(trial, before, after);
        }
        if let Some(live) = live.as_mut()
            && let Err(reason) = live.still_up()
        {
            trial.failure = Some(format!("{reason} during the trial"));
            trial.output = live.last_lines();
        }
        if trial.failure.is_none() && trial.exit_code == Some(0) {
            read_numbers(trial, cell, &file, &stdout);
        }
    }
}

/// How the program itself ended, and what it took.
fn take(trial: &mut Trial, ended: &Result<Ended, String>) {
    match ended {
        Err(how) => trial.failure = Some(format!("the program {how}")),
        Ok(ended) => {
            trial.exit_code = ended.exit_code;
            if ended.exit_code.is_none() {
                trial.failure = Some(format!("the program ended with {}", ended.how()));
            }
            trial.wall_seconds = Quantity::new(ended.wall_ns as f64 / 1e9);
            trial.cpu_seconds = Quantity::new(ended.cpu_us as f64 / 1e6);
            trial.peak_memory_bytes = Quantity::new(ended.peak_bytes as f64);
        }
    }
}

/// What the subject took, in place of the program that loaded it.
fn compare(trial: &mut Trial, before: Snapshot, after: Snapshot) {
    let ticks = after.cpu_ticks.saturating_sub(before.cpu_ticks);
    trial.cpu_seconds = Quantity::new(ticks as f64 / clock_ticks() as f64);
    trial.peak_memory_bytes = Quantity::new(after.peak_bytes as f64);
    trial.processes_before = before.processes;
    trial.processes_after = after.processes;
}

fn read_numbers(trial: &mut Trial, cell: &Cell, file: &Path, stdout: &Path) {
    let source = if file.exists() { file } else { stdout };
    let text = fs::read(source).unwrap_or_default();
    match reading::read(&String::from_utf8_lossy(&text), cell.collect) {
        Ok(numbers) => {
            trial.counts = numbers.counts;
            trial.metrics = numbers.metrics;
            trial.cpu_seconds_per_unit = per_unit(trial, cell);
        }
        Err(reason) => trial.failure = Some(reason),
    }
}

/// The processor time of each unit that was acknowledged.
fn per_unit(trial: &Trial, cell: &Cell) -> Option<Quantity> {
    let units = trial.count(cell.units.as_ref()?)?.get();
    if units <= 0.0 {
        return None;
    }
    Quantity::new(trial.cpu_seconds?.get() / units)
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), Failure> {
    let write = || {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        fs::write(path, text + "\n")
    };
    write().map_err(|error| Failure::Write {
        path: path.to_owned(),
        error,
    })
}

impl SideKind {
    /// What a source is called in a record.
    pub fn of(source: &Source) -> Self {
        match source {
            Source::Folder(_) => Self::Folder,
            Source::Command(_) => Self::Command,
            Source::Image(_) => Self::Image,
            Source::Commit { .. } => Self::Commit,
        }
    }
}
