//! `perf-tracking document`: makes a document out of the files that tools leave, and checks one.

mod check;
mod gather;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::about::AboutArgs;
use super::{Outcome, print};
use crate::domain::{Document, HostClass, Measured};
use crate::files::whole_file;

/// Make a metrics document out of what measuring tools left
///
/// Reads any mix of tools' files and writes one document: what a review sees and the gate judges.
/// Says on standard error what it read. A file that cannot be read, or was cut short, ends it:
/// nothing is written then.
#[derive(Args, Debug)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(super) struct DocumentArgs {
    #[command(subcommand)]
    command: Option<DocumentCommand>,

    /// Where the document goes, whole or not at all; standard output where left out
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    // None of what is needed to make one is needed by a subcommand.
    #[command(flatten)]
    about: Option<AboutArgs>,
    #[command(flatten)]
    how: Option<HowArgs>,
    #[command(flatten)]
    files: gather::FileArgs,
}

#[derive(Debug, Subcommand)]
enum DocumentCommand {
    Check(check::CheckArgs),
    /// Print the JSON schema of a document
    Schema,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "What was measured")]
struct HowArgs {
    /// The kind of host: callgrind for a simulated processor, else a class of real machines
    #[arg(long, value_name = "NAME")]
    host_class: HostClass,
    /// The workload did not run to its end
    #[arg(long)]
    failed: bool,
}

const EXAMPLES: &str = "\
Examples:
  A server's instructions, heap and sizes:
    perf-tracking document --workload perf --arch amd64 --distro trixie \\
      --host-class callgrind --parameter threads=1 --parameter events=200 \\
      --callgrind callgrind.out.* --massif massif.out --binary drizzled=bin/drizzled \\
      --plugin lib/*.so -o metrics.json

  Benchmarks on a machine of one's own:
    perf-tracking document --workload bench --arch amd64 --distro trixie \\
      --host-class bench-1 --criterion target/criterion -o metrics.json

  Is this a document?
    perf-tracking document check metrics.json";

impl DocumentArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        match (self.command, self.about.zip(self.how)) {
            (Some(DocumentCommand::Check(args)), _) => check::run(&args),
            (Some(DocumentCommand::Schema), _) => print(&format!("{:#}\n", Document::schema())),
            (None, Some((about, how))) => make(about, how, &self.files, self.output.as_deref()),
            (None, None) => anyhow::bail!(
                "say what was measured and with which files; see `perf-tracking document --help`"
            ),
        }
    }
}

fn make(
    about: AboutArgs,
    how: HowArgs,
    files: &gather::FileArgs,
    output: Option<&Path>,
) -> anyhow::Result<Outcome> {
    let about = about.of(how.host_class)?;
    let metrics = files.gather()?;
    anyhow::ensure!(
        how.failed || !metrics.is_empty(),
        "there is nothing to write: name at least one file, or say --failed"
    );
    let text = about
        .document(!how.failed, Measured::default(), metrics)?
        .to_string();
    match output {
        Some(path) => whole_file::write(path, &text).map(|()| Outcome::Passed),
        None => print(&text),
    }
}
