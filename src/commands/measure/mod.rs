//! `perf-tracking measure`: runs a program, or a server under a load, where its work is counted, and makes a
//! document of it.

mod contract;
mod program;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::Outcome;
use super::about::{About, AboutArgs};
use crate::domain::{HostClass, Measured, Metric};
use crate::files::whole_file;
use crate::measure::contract::{Engine, Numbers};
use crate::provenance::{self, Detector};

/// Run a program where its work is counted, and write the document
///
/// Runs PROGRAM once under valgrind's callgrind, for instructions, cache misses, branches and atomic
/// operations, and once under its massif, for the peak of the heap. A program takes about fifty times
/// as long under callgrind at best, and two hundred times as long at worst. Adds the size of the program. Its output passes through, once a pass;
/// what happens is said on standard error.
#[derive(Args, Debug)]
#[command(after_help = NOTES, override_usage = USAGE)]
pub(super) struct MeasureArgs {
    /// Where the document goes, whole or not at all; standard output is the program's
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    // None of what a program needs is needed beside it.
    /// Measure a server under a load instead, as this contract says
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "A server under a load",
        conflicts_with_all = [
            "workload", "arch", "distro", "parameters", "host_class", "tools", "repeat",
            "trace_children", "region", "stdin", "env_clear", "env", "keep", "size", "plugin_size", "binary",
            "plugin", "program",
        ]
    )]
    contract: Option<PathBuf>,
    /// Run the server without valgrind, and measure its times and rates, as [wallclock] of the
    /// contract says
    #[arg(long, help_heading = "A server under a load", requires = "contract")]
    wallclock: bool,
    /// The container engine; the contract's, or the first that answers where left out
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "A server under a load",
        requires = "contract",
        value_enum
    )]
    engine: Option<Engine>,

    #[command(flatten)]
    about: Option<AboutArgs>,
    /// The kind of host; callgrind stands for a simulated processor
    #[arg(
        long,
        value_name = "NAME",
        default_value = "callgrind",
        help_heading = "What was measured"
    )]
    host_class: HostClass,

    #[command(flatten)]
    program: program::ProgramArgs,
}

const USAGE: &str = "\
perf-tracking measure [OPTIONS] --output <FILE> --workload <NAME> -- <PROGRAM>...
       perf-tracking measure --output <FILE> --contract <FILE> [--wallclock]";

const NOTES: &str = "\
What makes numbers repeat:
  The same program with the same libraries, arguments, input, working folder and environment: its
  size alone moves the stack, and with it the counts (--env-clear). Times, random numbers, addresses
  and the order of threads must not steer the work. The simulated caches are the same on every host.
  Processes that the program forks are counted with it, and programs that it starts are counted with
  --trace-children. Without that flag a script or a shell that starts programs is refused. What a
  process did before it became another program (exec) may be left out. Counts of several processes
  are summed; of their heaps the largest is taken.
  The command line does not become a parameter: name with --parameter what makes the number.
  The document says which commit was measured (as `upload` would find it), whether its files were
  unchanged, with which valgrind, and which caches were simulated.

When the program fails:
  The first pass in which it exits with another code than 0, or is killed, is the last. The document
  then says `succeeded: false` and holds no metric, and this command says which pass it was and how
  the program ended, and exits with 2. Nothing is written where valgrind fails, where the program
  leaves processes running, or after Ctrl-C or SIGTERM, which the program is told of and which also
  exit with 2.

A server under a load:
  The contract is a TOML file that names all that makes the numbers. The server's counters are
  zeroed once the load generator has prepared its tables, unless the contract counts the whole
  process. With --wallclock the same server runs without valgrind under the load that the contract
  names for it; the document then has times and rates, and a host class of its own. The images are built before. Whatever happens, nothing is left in the container engine;
  a failure shows the last lines of the server's log and exits with 2. deploy/measure/README.md
  tells the rest.

Examples:
  perf-tracking measure --workload sort -o metrics.json -- ./sort --lines 10000
  perf-tracking measure --workload sort -o metrics.json --stdin lines.txt --repeat 3 \\
    --parameter lines=10000 --env-clear -- ./sort
  perf-tracking measure --contract deploy/measure/contract.toml -o metrics.json";

impl MeasureArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        whole_file::check(&self.output)?;
        if let Some(contract) = &self.contract {
            let numbers = match self.wallclock {
                true => Numbers::WallClock,
                false => Numbers::Counted,
            };
            return contract::run(contract, numbers, self.engine, &self.output);
        }
        let about = self
            .about
            .context("say what is measured: --workload NAME")?;
        let target = Target {
            about: about.of(self.host_class)?,
            measured: checked_out(),
            output: self.output,
        };
        self.program.run(target)
    }
}

/// What the document says beside the numbers, and where it goes.
struct Target {
    about: About,
    measured: Measured,
    output: PathBuf,
}

/// The commit that is measured, as a CI or the checkout names it, before anything of it is run.
fn checked_out() -> Measured {
    Measured {
        commit_sha: Detector::here(None).commit_if_known(),
        clean: provenance::is_clean(),
        ..Measured::default()
    }
}

impl Target {
    fn write(self, succeeded: bool, metrics: Vec<Metric>) -> anyhow::Result<()> {
        let document = self.about.document(succeeded, self.measured, metrics)?;
        whole_file::write(&self.output, &document.to_string())
    }
}
