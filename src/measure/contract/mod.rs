//! Measures a server under a load, as a committed contract says: once under callgrind, once under
//! massif, each time from the same start.
//!
//! [`Contract`] is what a file says, [`Tools`] the container engine, and [`measure()`] the way from one
//! to numbers. A pass is a project of compose with a name of its own: the measured server and the
//! load generator on a network that leads nowhere, and a folder that both see. The runner in the
//! load generator reads what valgrind left there, so that no file has to leave the containers.
//!
//! | step | callgrind | massif |
//! | --- | --- | --- |
//! | start both, wait until the server answers | yes | yes |
//! | sysbench prepares its tables | yes | yes |
//! | zero the counters | unless the whole process counts | massif has none to zero |
//! | sysbench runs | yes | yes |
//! | write the counters | unless the whole process counts | |
//! | stop the server, so that it writes its file | yes | yes |
//!
//! Whatever happens, nothing of a project is left: see [`Failure`].

mod command;
mod config;
mod engine;
mod failure;
mod images;
mod load;
mod pass;
mod project;

use std::path::Path;
use std::time::Duration;

use super::valgrind::Tool;
use crate::domain::{Arch, Document, Metric, Metrics};
use crate::signals::Signals;

pub use config::{Contract, Count, Images, Load, Program, Server, Sizes};
pub use engine::{Engine, Tools};
pub use failure::{Failure, Reason};
pub use load::greets;

/// A pass for each tool, in this order.
pub const PASSES: [Tool; 2] = [Tool::Callgrind, Tool::Massif];

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Containers are started.
    Start,
    /// The server starts, which takes long under valgrind.
    Ready,
    /// Its program and its plugins are put where their size can be read.
    Sizes,
    /// sysbench makes its tables.
    Prepare,
    /// The counters are zeroed.
    Zero,
    /// sysbench runs.
    Load,
    /// The counters are written.
    Dump,
    /// The server stops, and writes its file.
    Stop,
    /// What the tool left is read.
    Read,
    /// All that was started is removed.
    Clean,
}

impl Step {
    /// The step in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Start => "starting the server and the load generator",
            Self::Ready => "waiting until the server answers",
            Self::Sizes => "copying the server's binaries",
            Self::Prepare => "sysbench prepares its tables",
            Self::Zero => "zeroing the counters",
            Self::Load => "sysbench runs",
            Self::Dump => "writing the counters",
            Self::Stop => "stopping the server",
            Self::Read => "reading what the tool left",
            Self::Clean => "removing what was started",
        }
    }
}

/// How far a measurement is: a step began (`elapsed` is zero), or goes on since `elapsed`.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'p> {
    /// Of which pass.
    pub pass: Tool,
    /// The name of all that it starts.
    pub project: &'p str,
    /// What is being done.
    pub step: Step,
    /// For how long.
    pub elapsed: Duration,
}

/// Who is told how a measurement goes.
pub type Observer<'a> = &'a (dyn Fn(Progress<'_>) + Send + Sync);

/// Both passes of a contract; `folder` is what its paths are relative to.
///
/// # Errors
/// Why there are no numbers. Nothing that was started is left then either, unless the failure says so.
pub async fn measure(
    contract: &Contract,
    folder: &Path,
    arch: Arch,
    tools: &Tools,
    observer: Observer<'_>,
) -> Result<Document, Failure> {
    // From here on a signal ends nothing before all is cleaned up.
    let mut signals = Signals::take().map_err(Reason::NoSignals)?;
    let folder = folder.join(&contract.compose);
    // What the second pass lacks is known before the first.
    for pass in PASSES {
        let file = pass::compose_file(&folder, pass);
        if let Err(error) = std::fs::File::open(&file) {
            let file = file.display().to_string();
            return Err(Reason::NoComposeFile { file, error }.into());
        }
    }
    tokio::select! {
        biased;
        came = signals.next() => return Err(Reason::Stopped(came.name).into()),
        checked = images::check(contract, &folder, tools) => checked?,
    }
    let mut document = contract.document(arch);
    let mut metrics: Vec<Metric> = Vec::new();
    for pass in PASSES {
        let run = pass::Run {
            pass,
            contract,
            document: &document,
            tools,
            observer,
        };
        metrics.extend(run.measure(&folder, &mut signals).await?);
    }
    document.succeeded = true;
    document.metrics =
        Metrics::new(metrics).map_err(|error| Reason::NoDocument(error.to_string()))?;
    Ok(Document::new(document).map_err(|error| Reason::NoDocument(error.to_string()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a fork would sum twice is nothing here: a server is one process.
    #[test]
    fn a_server_is_counted_as_a_program_is() {
        let container_file = include_str!("../../../deploy/measure/Containerfile.callgrind");
        let flags = Tool::Callgrind.flags();
        for flag in flags
            .iter()
            .filter(|flag| !flag.starts_with("--dump-before="))
        {
            assert!(container_file.contains(&format!(" {flag} ")), "{flag}");
        }
    }
}
