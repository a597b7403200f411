//! `perf-tracking measure`: runs a program where its work is counted, and makes a document of it.

mod program;

use std::path::PathBuf;

use clap::Args;

use super::about::{About, AboutArgs};
use super::{Outcome, whole_file};
use crate::domain::{HostClass, Metric};

/// Run a program where its work is counted, and write the document
///
/// Runs PROGRAM once under valgrind's callgrind, for instructions, cache misses, branches and atomic
/// operations, and once under its massif, for the peak of the heap; both take about fifty times as
/// long as the program alone. Adds the size of the program. Its output passes through, once a pass;
/// what happens is said on standard error.
#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(super) struct MeasureArgs {
    /// Where the document goes, whole or not at all; standard output is the program's
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    about: AboutArgs,
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

const NOTES: &str = "\
What makes numbers repeat:
  The same program with the same libraries, arguments, input, working folder and environment: its
  size alone moves the stack, and with it the counts (--env-clear). Times, random numbers, addresses
  and the order of threads must not steer the work. The simulated caches are the same on every host.
  Processes that the program forks are counted with it; programs that it starts are with
  --trace-children. What a process did before it became another program (exec) may be left out.
  Counts of several processes are summed; of their heaps the largest is taken.
  The command line does not become a parameter: name with --parameter what makes the number.

When the program fails:
  The first pass in which it exits with another code than 0, or is killed, is the last. The document
  then says `succeeded: false` and holds no metric, and this command says which pass it was and how
  the program ended, and exits with 2. Nothing is written where valgrind fails, where the program
  leaves processes running, or after Ctrl-C or SIGTERM, which the program is told of and which also
  exit with 2.

Examples:
  perf-tracking measure --workload sort -o metrics.json -- ./sort --lines 10000
  perf-tracking measure --workload sort -o metrics.json --stdin lines.txt --repeat 3 \\
    --parameter lines=10000 --env-clear -- ./sort";

impl MeasureArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        whole_file::check(&self.output)?;
        let document = Target {
            about: self.about.of(self.host_class)?,
            output: self.output,
        };
        self.program.run(document)
    }
}

/// What the document says beside the numbers, and where it goes.
struct Target {
    about: About,
    output: PathBuf,
}

impl Target {
    fn write(self, succeeded: bool, metrics: Vec<Metric>) -> anyhow::Result<()> {
        let document = self.about.document(succeeded, metrics)?;
        whole_file::write(&self.output, &document.to_string())
    }
}
