//! Measures a server under a load, as a committed contract says: once under callgrind and once under
//! massif, once by itself where the contract counts waits, or once by itself on a real clock, each time from the same initial state.
//!
//! [`Contract`] is the parsed file, [`Tools`] is the container engine, and [`measure()`] runs the
//! passes. A pass is a compose project with a unique name: the measured server and the load generator
//! share an internal network and a folder. The runner in the load generator reads valgrind's files in
//! that folder, so no file has to leave the containers.
//!
//! | step | callgrind | massif | waits |
//! | --- | --- | --- | --- |
//! | start both, wait until the server answers | yes | yes | yes |
//! | sysbench prepares its tables | yes | yes | yes |
//! | zero the counters | unless the whole process counts | massif has none to zero | they are read instead |
//! | sysbench runs | yes | yes | yes |
//! | write the counters | unless the whole process counts | | yes |
//! | stop the server, so that it writes its file | yes | yes | it writes none |
//!
//! However a measurement ends, its containers, network and volume are removed; see [`Failure`].

pub(super) mod command;
mod config;
mod engine;
mod failure;
mod images;
mod load;
mod pass;
mod project;
mod waits;

use std::path::Path;
use std::time::Duration;

use super::valgrind::Tool;
use crate::domain::{Arch, Document, Metric, Metrics};
use crate::signals::Signals;

pub use config::{Contract, Count, Images, Load, Program, Server, Sizes, WallClock};
pub use engine::{Engine, Tools};
pub use failure::{Failure, Reason};
pub use load::greets;

/// A start of the server, a load, and what is read of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Under a tool of valgrind.
    Counted(Tool),
    /// Without valgrind, with every instrument of the server's `performance_schema` on. They would
    /// be part of what the other passes count.
    Waits,
    /// Without valgrind, with real threads and a real clock.
    WallClock,
}

impl Pass {
    /// The name of the pass, which is also that of its compose file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counted(tool) => tool.name(),
            Self::Waits => "waits",
            Self::WallClock => "wallclock",
        }
    }

    /// The tool whose image is started. The image for callgrind also starts the server by itself.
    fn image(self) -> Tool {
        match self {
            Self::Counted(tool) => tool,
            Self::Waits | Self::WallClock => Tool::Callgrind,
        }
    }
}

/// Which numbers a measurement gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Counted ones, which are the same on every host.
    Counted,
    /// Times and rates, which hold for one class of hosts.
    WallClock,
}

impl Numbers {
    /// The passes that give them, in this order.
    fn passes(self, contract: &Contract) -> Vec<Pass> {
        if self == Self::WallClock {
            return vec![Pass::WallClock];
        }
        let mut passes = vec![Pass::Counted(Tool::Callgrind), Pass::Counted(Tool::Massif)];
        if contract.count_waits {
            passes.push(Pass::Waits);
        }
        passes
    }
}

/// A step of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Containers are started.
    Start,
    /// The server starts, which takes long under valgrind.
    Ready,
    /// The server's program and plugins are copied to where their sizes can be read.
    Sizes,
    /// sysbench makes its tables.
    Prepare,
    /// The counters are zeroed.
    Zero,
    /// The waits so far are read.
    WaitsBefore,
    /// sysbench runs.
    Load,
    /// The counters are written.
    Dump,
    /// The waits are read again.
    WaitsAfter,
    /// The server stops, and writes its file.
    Stop,
    /// The tool's files are read.
    Read,
    /// The project is removed.
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
            Self::WaitsBefore => "reading the server's waits before the load",
            Self::Load => "sysbench runs",
            Self::WaitsAfter => "reading the server's waits after the load",
            Self::Dump => "writing the counters",
            Self::Stop => "stopping the server",
            Self::Read => "reading what the tool left",
            Self::Clean => "removing what was started",
        }
    }
}

/// The progress of a measurement: a step has begun (`elapsed` is zero), or has been going on for `elapsed`.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'p> {
    /// The pass.
    pub pass: Pass,
    /// The name of the compose project.
    pub project: &'p str,
    /// The step.
    pub step: Step,
    /// How long the step has been going on.
    pub elapsed: Duration,
}

/// The function that progress is reported to.
pub type Observer<'a> = &'a (dyn Fn(Progress<'_>) + Send + Sync);

/// Runs the passes of a contract that give `numbers`. The contract's paths are relative to `folder`.
///
/// # Errors
/// The reason for which there are no numbers. The containers are removed in that case too, unless the
/// failure lists what could not be removed.
pub async fn measure(
    contract: &Contract,
    numbers: Numbers,
    folder: &Path,
    arch: Arch,
    tools: &Tools,
    observer: Observer<'_>,
) -> Result<Document, Failure> {
    // From here on a signal takes effect only after everything is cleaned up.
    let mut signals = Signals::take().map_err(Reason::NoSignals)?;
    let folder = folder.join(&contract.compose);
    let mut document = match numbers {
        Numbers::Counted => contract.document(arch),
        Numbers::WallClock => contract
            .wall_clock_document(arch)
            .ok_or(Reason::NoWallClock)?,
    };
    let passes = numbers.passes(contract);
    // Check the inputs of every pass before the first one starts.
    for &pass in &passes {
        let file = pass::compose_file(&folder, pass);
        if let Err(error) = std::fs::File::open(&file) {
            let file = file.display().to_string();
            return Err(Reason::NoComposeFile { file, error }.into());
        }
    }
    tokio::select! {
        biased;
        came = signals.next() => return Err(Reason::Stopped(came.name).into()),
        checked = images::check(contract, &passes, &folder, tools) => checked?,
    }
    let mut metrics: Vec<Metric> = Vec::new();
    for pass in passes {
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

    /// A server is one process, so no count of a fork is summed twice.
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
