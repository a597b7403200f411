//! One pass: the program under a tool, from its start to the numbers.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use super::{Failure, Pass, Plan, ProgramError, children};
use crate::collect::Reading;
use crate::measure::valgrind::{self, Tool};
use crate::signals::{Came, Signals};

/// As much of a log as a person reads.
const LOG_LINES: usize = 25;

/// Tells the program which region is to be marked, and no other.
const REGION: &str = "PERF_TRACKING_REGION";

/// What all passes have in common.
pub(super) struct Runner<'a> {
    plan: &'a Plan,
    valgrind: PathBuf,
    signals: Signals,
}

/// How the program ended, and which process it was.
struct End {
    status: ExitStatus,
    process: u32,
}

impl<'a> Runner<'a> {
    pub(super) fn new(plan: &'a Plan, valgrind: PathBuf) -> Result<Self, ProgramError> {
        children::adopt()?;
        Ok(Self {
            plan,
            valgrind,
            signals: Signals::take()?,
        })
    }

    /// The numbers of a pass, or how the program failed.
    pub(super) async fn run(
        &mut self,
        pass: Pass,
        folder: &Path,
    ) -> Result<Result<Reading, Failure>, ProgramError> {
        let folder = folder.join(format!("{}-{}", pass.number, pass.tool.name()));
        fs::create_dir(&folder).map_err(|error| ProgramError::File {
            what: format!("`{}`", folder.display()),
            done: "made",
            error,
        })?;
        let child = self.command(pass.tool, &folder)?.spawn()?;
        let end = self.wait(child).await?;
        self.read(pass, &folder, &end)
    }

    fn command(&self, tool: Tool, folder: &Path) -> Result<Command, ProgramError> {
        let plan = self.plan;
        let mut command = Command::new(&self.valgrind);
        command
            // No file of the user's or of the working folder has a say.
            .arg("--command-line-only=yes")
            // Its pipes for a debugger outlive a process that is killed.
            .arg("--vgdb=no")
            .arg(format!("--tool={}", tool.name()))
            .args(tool.flags())
            .arg(format!(
                "--trace-children={}",
                if plan.trace_children { "yes" } else { "no" }
            ))
            .arg(tool.out_flag(folder))
            .arg(valgrind::log_flag(folder))
            .arg("--")
            .arg(&plan.subject.name)
            .args(&plan.args);
        command
            .env_clear()
            .envs(&plan.environment)
            .envs(tool.region_variable(folder))
            .envs(plan.region.iter().map(|name| (REGION, name)))
            .stdin(self.stdin()?)
            // A group of its own: what a terminal sends is handed on, once, and to all of it.
            .process_group(0)
            .kill_on_drop(true);
        Ok(command)
    }

    fn stdin(&self) -> Result<Stdio, ProgramError> {
        let Some(path) = &self.plan.stdin else {
            return Ok(Stdio::null());
        };
        File::open(path)
            .map(Stdio::from)
            .map_err(|error| ProgramError::File {
                what: format!("`{}`", path.display()),
                done: "read",
                error,
            })
    }

    /// Waits until the program and all that it started have ended.
    async fn wait(&mut self, mut child: Child) -> Result<End, ProgramError> {
        let process = child.id().unwrap_or_default();
        let mut came: Option<Came> = None;
        let mut patience = Instant::now();
        let status = loop {
            tokio::select! {
                status = child.wait() => break status?,
                signal = self.signals.next() => {
                    // Whoever asks again does not want to wait.
                    let first = came.is_none();
                    came = came.or(Some(signal));
                    patience = Instant::now() + children::GRACE;
                    tell(process, if first { signal.signal } else { Signal::KILL });
                }
                () = tokio::time::sleep_until(patience), if came.is_some() => {
                    tell(process, Signal::KILL);
                    patience = Instant::now() + children::GRACE;
                }
            }
        };
        let told = match &came {
            Some(_) => children::end(Duration::ZERO).await?,
            None => tokio::select! {
                told = children::end(children::GRACE) => told?,
                signal = self.signals.next() => {
                    came = Some(signal);
                    children::end(Duration::ZERO).await?
                }
            },
        };
        match came {
            Some(signal) => Err(ProgramError::Interrupted(signal.name)),
            None if told > 0 => Err(ProgramError::LeftRunning(told)),
            None => Ok(End { status, process }),
        }
    }

    fn read(
        &self,
        pass: Pass,
        folder: &Path,
        end: &End,
    ) -> Result<Result<Reading, Failure>, ProgramError> {
        let End { status, process } = *end;
        let wrote = pass.tool.wrote(folder, process);
        if !status.success() && (wrote || status.code().is_none()) {
            return Ok(Err(Failure {
                pass,
                status,
                log: crash(&log(folder, process)),
            }));
        }
        if !wrote {
            return Err(ProgramError::NothingLeft {
                pass,
                status,
                log: last_lines(&log(folder, process)),
            });
        }
        self.check_children(pass.tool, folder)?;
        let read = pass
            .tool
            .read(&pass.tool.files_in(folder)?, self.plan.region.as_deref());
        read.map(Ok)
            .map_err(|fault| ProgramError::Unreadable { pass, fault })
    }
}

impl Runner<'_> {
    /// Every process must have been counted where programs that are started are. Where they are not,
    /// a script that starts one is a wrapper, and what it starts is what was meant.
    fn check_children(&self, tool: Tool, folder: &Path) -> Result<(), ProgramError> {
        let uncounted = valgrind::uncounted(tool, folder)?;
        let Some(&process) = uncounted.first() else {
            return Ok(());
        };
        if self.plan.trace_children {
            return Err(ProgramError::Killed { process, tool });
        }
        if self.plan.subject.is_wrapper() {
            return Err(ProgramError::Wrapper {
                path: self.plan.subject.path().display().to_string(),
                started: uncounted.len(),
            });
        }
        Ok(())
    }
}

/// Sends a signal to the program and to what it started. One that has ended is as wanted.
fn tell(group: u32, signal: Signal) {
    let group = i32::try_from(group).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = kill_process_group(group, signal);
    }
}

/// What valgrind said of a process, without its number before each line.
fn log(folder: &Path, process: u32) -> Vec<String> {
    let text = fs::read(valgrind::log_of(folder, process)).unwrap_or_default();
    let plain = |line: &str| {
        let said = line.split_once("== ").or_else(|| line.split_once("-- "));
        said.map_or(String::new(), |(_, said)| said.to_owned())
    };
    String::from_utf8_lossy(&text).lines().map(plain).collect()
}

/// The paragraph of a log that tells of a crash.
fn crash(log: &[String]) -> Option<String> {
    let lines = log
        .iter()
        .skip_while(|line| !line.starts_with("Process terminating"))
        .take_while(|line| !line.is_empty());
    let lines: Vec<&str> = lines.map(String::as_str).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The end of a log, behind words that say so; nothing of an empty one.
fn last_lines(log: &[String]) -> String {
    let last = &log[log.len().saturating_sub(LOG_LINES)..];
    if last.is_empty() {
        return String::new();
    }
    format!("\nvalgrind said:\n{}", last.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_log_the_crash_is_told() {
        let log = [
            "Command: ./x",
            "",
            "Process terminating with signal 11",
            " at 0x1: main",
            "",
            "Events",
        ];
        let log = log.map(str::to_owned);
        let told = "Process terminating with signal 11\n at 0x1: main";
        assert_eq!(crash(&log).as_deref(), Some(told));
        assert_eq!(crash(&log[4..]), None);
        assert_eq!(last_lines(&[]), "");
        assert!(last_lines(&log).ends_with("main\n\nEvents"));
    }
}
