//! `perf-tracking document check`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::{Outcome, print};
use crate::cli::about::list;
use crate::collect::plural;
use crate::domain::{Document, JsonText};

/// Say whether a file is a well-formed document
///
/// Names every fault with the place it is at, as a JSON pointer, and exits with 2.
#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    /// The document
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(args: &CheckArgs) -> anyhow::Result<Outcome> {
    let shown = args.file.display();
    let bytes = crate::cli::whole_read::bytes(&args.file)
        .with_context(|| format!("{shown} cannot be read"))?;
    let json = JsonText::parse(&bytes).map_err(|error| {
        anyhow::anyhow!(
            "{shown}: line {}: is not JSON: {error}",
            error.line().max(1)
        )
    })?;
    let document = Document::parse(&json)
        .map_err(|faults| anyhow::anyhow!("{shown} is no document:\n{}", list(&faults)))?;
    let count = plural(document.metrics.len(), "metric");
    let said = if document.succeeded {
        "succeeded"
    } else {
        "failed"
    };
    print(&format!(
        "{shown} is a document: workload {}, {}, {}, {count}, {said}\n",
        document.workload, document.arch, document.distro
    ))
}
