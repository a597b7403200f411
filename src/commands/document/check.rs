//! `perf-tracking document check`.

use std::path::PathBuf;

use clap::Args;

use super::{Outcome, print};

use crate::collect::plural;
use crate::files::input::Input;

/// Say whether a file is a well-formed document
///
/// Names every fault with the place it is at, as a JSON pointer, and exits with 2.
#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    /// The document; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(args: &CheckArgs) -> anyhow::Result<Outcome> {
    let input = Input::of(&args.file);
    let document = input.document()?;
    let count = plural(document.metrics.len(), "metric");
    let said = if document.succeeded {
        "succeeded"
    } else {
        "failed"
    };
    print(&format!(
        "{} is a document: workload {}, {}, {}, {count}, {said}\n",
        input.name(),
        document.workload,
        document.arch,
        document.distro
    ))
}
