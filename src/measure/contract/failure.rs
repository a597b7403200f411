//! The reasons for which a measurement gave no numbers.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

use super::{Pass, Step};

/// A failed measurement: the reason, the pass, and the end of the server's log.
#[derive(Debug, Error)]
pub struct Failure {
    /// The pass that failed; `None` before the first pass.
    pub pass: Option<Pass>,
    /// The reason.
    pub reason: Reason,
    /// The last lines of the server's log, oldest first. Empty if no server was started.
    pub server_log: Vec<String>,
    /// What could not be removed, and how to remove it. Empty if nothing is left.
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

/// The reason for which there are no numbers.
#[derive(Debug, Error)]
pub enum Reason {
    /// No container engine with compose answers.
    #[error("no container engine can be used:\n{0}")]
    NoEngine(String),
    /// The handlers for SIGINT and SIGTERM cannot be installed.
    #[error("signals cannot be waited for: {0}")]
    NoSignals(std::io::Error),
    /// The contract says nothing of the wall-clock pass.
    #[error(
        "the contract has no table `[wallclock]`, which names the host class and the load of the \
         wall-clock pass"
    )]
    NoWallClock,
    /// An image is missing, or was built from another server.
    #[error("{0}")]
    Images(String),
    /// A compose file is missing.
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
        /// The command line, as one would type it.
        command: String,
        /// How it ended, such as `ended with 1`.
        outcome: String,
        /// The last lines of its output.
        said: String,
    },
    /// The compose file does not define this service.
    #[error("no container of the service `{0}` was started; the compose file must have it")]
    NoService(&'static str),
    /// The server exited by itself.
    #[error("the server ended with {code} while this was done: {}", .step.words())]
    ServerEnded {
        /// The exit code.
        code: i64,
        /// The step during which it exited.
        step: Step,
    },
    /// The load generator exited by itself.
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
        /// The time limit.
        limit: Duration,
        /// The last error that the load generator got from the server.
        said: String,
    },
    /// The server did not exit in time after SIGTERM.
    #[error(
        "the server was killed before it wrote its file: it did not stop within {} s, of which \
        `stop_seconds` of the contract gives it more, or the machine ran out of memory",
        .0.as_secs()
    )]
    NeverStopped(Duration),
    /// sysbench did other work than the contract says.
    #[error("sysbench did not do what the contract says: {0}")]
    OtherLoad(String),
    /// The runner in the load generator printed something that is not a document.
    #[error("the runner in the load generator gave no document: {0}; build its image anew")]
    NoDocument(String),
    /// What the engine printed does not say whether a container runs.
    #[error(
        "the container engine printed `{0}` where it should say whether a container runs; check \
         its version"
    )]
    UnreadableState(String),
    /// A signal ended the measurement.
    #[error("stopped by {0}; nothing was written")]
    Stopped(&'static str),
    /// The measurement succeeded, but a container, network or volume could not be removed.
    #[error("something that was started could not be removed; nothing was written")]
    Left,
}

fn after_colon(said: &str) -> String {
    if said.is_empty() {
        return String::new();
    }
    format!(":\n  {}", said.replace('\n', "\n  "))
}
