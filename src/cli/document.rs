//! `perf-tracking document`: makes a document out of the files that tools leave, and checks one.

mod check;
mod gather;
mod output;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Subcommand};

use super::{Outcome, print};
use crate::domain::{
    Arch, Distro, Document, Fault, HostClass, Parameter, ParameterName, Parameters, Workload,
};

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
struct AboutArgs {
    /// What was run, such as perf
    #[arg(long, value_name = "NAME")]
    workload: Workload,
    /// The processor architecture, such as amd64
    #[arg(long, value_name = "NAME")]
    arch: Arch,
    /// The distribution that compiled and ran the code, such as trixie
    #[arg(long, value_name = "NAME")]
    distro: Distro,
    /// The kind of host: callgrind for a simulated processor, else a class of real machines
    #[arg(long, value_name = "NAME")]
    host_class: HostClass,
    /// What the workload was told; a number, true, false or else a text. Repeatable
    #[arg(long = "parameter", value_name = "NAME=VALUE")]
    parameters: Vec<NamedParameter>,
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

/// A parameter as the command line has it.
#[derive(Clone, Debug)]
struct NamedParameter(ParameterName, Parameter);

impl FromStr for NamedParameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text
            .split_once('=')
            .ok_or("must be NAME=VALUE, such as threads=1")?;
        let name = name.parse().map_err(|error| format!("the name {error}"))?;
        Ok(Self(name, Parameter::from_words(value)))
    }
}

impl DocumentArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        match (self.command, self.about) {
            (Some(DocumentCommand::Check(args)), _) => check::run(&args),
            (Some(DocumentCommand::Schema), _) => print(&format!("{:#}\n", Document::schema())),
            (None, Some(about)) => make(about, &self.files, self.output.as_deref()),
            (None, None) => anyhow::bail!(
                "say what was measured and with which files; see `perf-tracking document --help`"
            ),
        }
    }
}

fn make(
    about: AboutArgs,
    files: &gather::FileArgs,
    output: Option<&Path>,
) -> anyhow::Result<Outcome> {
    let metrics = files.gather()?;
    anyhow::ensure!(
        about.failed || !metrics.is_empty(),
        "there is nothing to write: name at least one file, or say --failed"
    );
    let document = Document {
        parameters: parameters(about.parameters)?,
        workload: about.workload,
        arch: about.arch,
        distro: about.distro,
        host_class: about.host_class,
        succeeded: !about.failed,
        metrics,
    };
    // What is written is read once before, as its readers will.
    let document = Document::parse(&serde_json::to_value(&document)?.into())
        .map_err(|faults| anyhow::anyhow!("the document does not fit:\n{}", list(&faults)))?;
    let text = document.to_string();
    match output {
        Some(path) => output::write(path, &text).map(|()| Outcome::Passed),
        None => print(&text),
    }
}

fn parameters(named: Vec<NamedParameter>) -> anyhow::Result<Parameters> {
    let mut parameters = Parameters::new();
    for NamedParameter(name, value) in named {
        if parameters.insert(name.clone(), value).is_some() {
            anyhow::bail!("--parameter {name} is given twice; give it once");
        }
    }
    Ok(parameters)
}

/// One fault a line.
fn list(faults: &[Fault]) -> String {
    let lines: Vec<String> = faults.iter().map(|fault| format!("  {fault}")).collect();
    lines.join("\n")
}
