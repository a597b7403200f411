//! Why a measurement gave no numbers.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

use super::Step;
use crate::measure::valgrind::Tool;

/// A reason, where it was met, and what the server said last.
#[derive(Debug, Error)]
pub struct Failure {
    /// In which pass; `None` before the first.
    pub pass: Option<Tool>,
    /// Why.
    pub reason: Reason,
    /// The last lines of the server's log, oldest first; empty where there was no server.
    pub server_log: Vec<String>,
    /// What could not be removed, and how to; empty where nothing is left.
    pub left: Vec<String>,
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        Self {
            pass: None,
            reason,
            server_log: Vec::new(),
            left: Vec::new(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(pass) = self.pass {
            write!(f, "{}: ", pass.name())?;
        }
        write!(f, "{}", self.reason)?;
        if !self.server_log.is_empty() {
            f.write_str("\nthe last lines of the server's log:")?;
            for line in &self.server_log {
                write!(f, "\n  {line}")?;
            }
        }
        for left in &self.left {
            write!(f, "\n{left}")?;
        }
        Ok(())
    }
}

/// Why there are no numbers.
#[derive(Debug, Error)]
pub enum Reason {
    /// No container engine answers, or has compose.
    #[error("no container engine can be used:\n{0}")]
    NoEngine(String),
    /// The signals that end a process cannot be taken.
    #[error("signals cannot be waited for: {0}")]
    NoSignals(std::io::Error),
    /// An image is missing, or made of another server.
    #[error("{0}")]
    Images(String),
    /// A compose file is not there.
    #[error(
        "{file} cannot be read; `compose` in the contract names the folder that it is in: {error}"
    )]
    NoComposeFile {
        /// Which.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// A command of the engine failed.
    #[error("`{command}` {outcome}{}", after_colon(.said))]
    Command {
        /// As one would type it.
        command: String,
        /// `ended with 1`.
        outcome: String,
        /// The end of what it said.
        said: String,
    },
    /// The compose file has no such service.
    #[error("no container of the service `{0}` was started; the compose file must have it")]
    NoService(&'static str),
    /// The server ended by itself.
    #[error("the server ended with {code} while this was done: {}", .step.words())]
    ServerEnded {
        /// Its exit code.
        code: i64,
        /// During what.
        step: Step,
    },
    /// The load generator ended by itself.
    #[error(
        "the load generator ended with {0}; its image must be built from Containerfile.load, and the compose file \
        must not override what it runs"
    )]
    LoadEnded(i64),
    /// The server did not answer in time.
    #[error(
        "the server did not answer within {} s ({said}); `ready_seconds` of the contract gives it more",
        .limit.as_secs()
    )]
    NeverReady {
        /// What it was given.
        limit: Duration,
        /// What the load generator met last when it asked.
        said: String,
    },
    /// The server did not end in time after SIGTERM.
    #[error(
        "the server was killed before it wrote its file: it did not stop within {} s, of which \
        `stop_seconds` of the contract gives it more, or the machine ran out of memory",
        .0.as_secs()
    )]
    NeverStopped(Duration),
    /// sysbench did something else than the contract says.
    #[error("sysbench did not do what the contract says: {0}")]
    OtherLoad(String),
    /// What the runner in the load generator printed is no document.
    #[error("the runner in the load generator gave no document: {0}; build its image anew")]
    NoDocument(String),
    /// What the engine printed does not say whether a container runs.
    #[error(
        "the container engine printed `{0}` where it should say whether a container runs; check \
         its version"
    )]
    UnreadableState(String),
    /// A signal.
    #[error("stopped by {0}; nothing was written")]
    Stopped(&'static str),
    /// There are numbers, but something could not be removed.
    #[error("something that was started could not be removed; nothing was written")]
    Left,
}

fn after_colon(said: &str) -> String {
    if said.is_empty() {
        return String::new();
    }
    format!(":\n  {}", said.replace('\n', "\n  "))
}
