//! The document that is judged.

use std::io;
use std::path::Path;

use anyhow::Context as _;

use crate::cli::{shown, whole_read};
use crate::domain::{Branch, CommitSha, Document, JsonText, Series};
use crate::judge::Candidate;

/// The document in a file, or every reason why it is none.
pub(super) fn read(path: &Path) -> anyhow::Result<Document> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin {
        "standard input".to_owned()
    } else {
        shown::path(path)
    };
    let result = if is_stdin {
        whole_read::bytes_of(io::stdin().lock())
    } else {
        whole_read::bytes(path)
    };
    let bytes = result.with_context(|| format!("cannot read the document in {name}"))?;
    let json = JsonText::parse(&bytes).with_context(|| format!("{name} is not JSON"))?;
    Document::parse(&json).map_err(|faults| {
        let lines = faults.iter().map(|fault| format!("\n  {fault}"));
        anyhow::anyhow!(
            "{name} holds no document that fits{}",
            lines.collect::<String>()
        )
    })
}

/// The series that a document would join on `branch`.
pub(super) fn series(document: &Document, branch: Branch) -> Series {
    Series {
        workload: document.workload.clone(),
        branch,
        arch: document.arch.clone(),
        distro: document.distro.clone(),
    }
}

/// A document as the judge takes it.
pub(super) fn candidate(
    document: &Document,
    series: Series,
    commit: Option<CommitSha>,
) -> Candidate {
    Candidate {
        series,
        commit,
        host_class: document.host_class.clone(),
        succeeded: document.succeeded,
        parameters: document.parameters.clone(),
        metrics: document.metrics.clone(),
    }
}
