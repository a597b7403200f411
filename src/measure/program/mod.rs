//! A program of this machine, run under each tool, once or more.
//!
//! Each pass is a fresh run of the program, with the same arguments, environment, working folder
//! and standard input. Its output is that of whoever measures. What it forks is counted with it;
//! programs that it starts (`exec`) are counted where that is asked for.
//!
//! After a pass nothing of it is left: a process that outlives the program is ended, and the pass
//! then gives no number, for what such a process did depends on when it was ended.

pub(super) mod children;
mod pass;
mod subject;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::valgrind::{FileFault, Tool};
use crate::collect::Reading;
use crate::domain::Metric;

pub use subject::Subject;

/// What is run, and how.
#[derive(Debug)]
pub struct Plan {
    /// The program.
    pub subject: Subject,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The tools, each a pass of its own.
    pub tools: Vec<Tool>,
    /// How often each pass is run.
    pub repeat: NonZeroU32,
    /// Whether programs that it starts are counted with it.
    pub trace_children: bool,
    /// The region that is counted alone; the whole program and each region where there is none.
    pub region: Option<String>,
    /// What it reads, from its start in every pass; nothing where there is none.
    pub stdin: Option<PathBuf>,
    /// Its whole environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// An empty or a new folder for what the tools leave; a temporary one where there is none.
    pub keep: Option<PathBuf>,
}

/// One run of the program under one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// From 1 on.
    pub number: u32,
    /// How many there are.
    pub of: u32,
    /// The tool.
    pub tool: Tool,
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "pass {} of {} ({})",
            self.number,
            self.of,
            self.tool.name()
        )
    }
}

/// How it goes.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A pass begins.
    Began(Pass),
    /// A pass has ended well: how long it took, and what was read, in words.
    Ended(Pass, Duration, &'a str),
}

/// What came of it.
#[derive(Debug)]
pub enum Measured {
    /// The program ended well in every pass: by tool, the metrics of each of its passes.
    Numbers(Vec<Vec<Vec<Metric>>>),
    /// The program failed.
    Failed(Failure),
}

/// How the program failed.
#[derive(Debug)]
pub struct Failure {
    /// In which pass.
    pub pass: Pass,
    /// With what.
    pub status: ExitStatus,
    /// What valgrind said of its crash, where it did.
    pub log: Option<String>,
}

/// Why nothing can be said of the program.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// There is no valgrind.
    #[error("there is no valgrind in PATH; install it, such as with `apt-get install valgrind`")]
    NoValgrind,
    /// There is no such program.
    #[error("`{0}` is not found; check the name, or install it")]
    NotFound(String),
    /// It is there, and cannot be run.
    #[error("`{path}` {why}")]
    NotRunnable {
        /// Which file.
        path: String,
        /// Why not, and what to do about it.
        why: &'static str,
    },
    /// A file or a folder that the measurement needs.
    #[error("{what} cannot be {done}: {error}")]
    File {
        /// Which.
        what: String,
        /// What was tried: `read`, `made`.
        done: &'static str,
        /// Why not.
        error: io::Error,
    },
    /// The folder for what is kept is in use.
    #[error("`{}` is not empty; name a new folder, for files of another measurement would be counted with this one's", .0.display())]
    NotEmpty(PathBuf),
    /// The system refused what running a program needs.
    #[error("the program cannot be run: {0}")]
    Run(#[from] io::Error),
    /// The tool left nothing to read.
    #[error("{pass} left no file of the program, which ended with {ended}; either valgrind failed, or the program became another one (exec): then measure that one, or say --trace-children{log}", ended = describe(*status))]
    NothingLeft {
        /// In which pass.
        pass: Pass,
        /// How the program, or valgrind, ended.
        status: ExitStatus,
        /// What valgrind said of it, behind a line end.
        log: String,
    },
    /// A process was killed before the tool could write what it had counted.
    #[error("process {process} left no file: it was killed before {tool} wrote what it counted; have the program end what it starts in an orderly way", tool = tool.name())]
    Killed {
        /// Which.
        process: u32,
        /// The tool.
        tool: Tool,
    },
    /// A script or a shell was measured, and what it started was not.
    #[error(
        "`{path}` is a script or a shell that starts other programs, and {started} of them were not counted: the numbers would be those of the shell; name the program itself, or say --trace-children to count what is started"
    )]
    Wrapper {
        /// The script or the shell.
        path: String,
        /// How many programs it started.
        started: usize,
    },
    /// The program has ended and what it started has not.
    #[error(
        "the program ended before what it started, of which {0} still ran and had to be ended: what was counted depends on when; have the program wait for what it starts"
    )]
    LeftRunning(usize),
    /// What the program started goes on, even though it was killed.
    #[error(
        "process {0}, which the program started, goes on though it was killed: perhaps it is another user's by now; end it by hand"
    )]
    Unending(i32),
    /// What the tool left cannot be read.
    #[error("{pass}: {fault} (--keep keeps the file, --tool leaves a tool out)")]
    Unreadable {
        /// In which pass.
        pass: Pass,
        /// What is wrong with which file.
        fault: FileFault,
    },
    /// Whoever measures was told to end.
    #[error("ended by {0}; the program was ended with it, and nothing was written")]
    Interrupted(&'static str),
}

/// `exit code 3`, `signal 11 (SIGSEGV)`.
pub fn describe(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string().replacen("signal: ", "signal ", 1),
    }
}

impl Plan {
    /// Runs every pass, until one fails.
    ///
    /// Takes the signals that end a process and the orphans of its children, and keeps both: made
    /// for a process that does nothing else.
    ///
    /// # Errors
    /// Why there is neither a number nor a failure of the program.
    pub async fn measure(
        &self,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Measured, ProgramError> {
        let valgrind = which::which("valgrind").map_err(|_| ProgramError::NoValgrind)?;
        let folder = Folder::make(self.keep.as_deref())?;
        let mut runner = pass::Runner::new(self, valgrind)?;
        let mut number = 0;
        let mut numbers = Vec::new();
        for &tool in &self.tools {
            let mut rounds = Vec::new();
            for _ in 0..self.repeat.get() {
                number += 1;
                let pass = Pass {
                    number,
                    of: self.passes(),
                    tool,
                };
                progress(Progress::Began(pass));
                let began = Instant::now();
                match runner.run(pass, folder.path()).await? {
                    Err(failure) => return Ok(Measured::Failed(failure)),
                    Ok(Reading { metrics, what, .. }) => {
                        progress(Progress::Ended(pass, began.elapsed(), &what));
                        rounds.push(metrics);
                    }
                }
            }
            numbers.push(rounds);
        }
        Ok(Measured::Numbers(numbers))
    }

    fn passes(&self) -> u32 {
        let tools = u32::try_from(self.tools.len()).unwrap_or(u32::MAX);
        self.repeat.get().saturating_mul(tools)
    }
}

/// Where the tools' files go.
enum Folder {
    Kept(PathBuf),
    Temporary(TempDir),
}

impl Folder {
    fn make(keep: Option<&std::path::Path>) -> Result<Self, ProgramError> {
        let failed = |what: String| {
            move |error| ProgramError::File {
                what,
                done: "made",
                error,
            }
        };
        let Some(path) = keep else {
            let made = tempfile::Builder::new().prefix("perf-tracking-").tempdir();
            let made = made.map_err(failed("a temporary folder".to_owned()))?;
            return Ok(Self::Temporary(made));
        };
        let shown = format!("`{}`", path.display());
        std::fs::create_dir_all(path).map_err(failed(shown.clone()))?;
        let is_used = path
            .read_dir()
            .map_err(failed(shown.clone()))?
            .next()
            .is_some();
        if is_used {
            return Err(ProgramError::NotEmpty(path.to_owned()));
        }
        // The program may change its working folder before the tool writes.
        path.canonicalize().map(Self::Kept).map_err(failed(shown))
    }

    fn path(&self) -> &std::path::Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }
}
