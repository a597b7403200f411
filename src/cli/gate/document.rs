//! The document that is judged.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use anyhow::Context as _;

use crate::cli::shown;
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
    let mut bytes = Vec::new();
    let result = if is_stdin {
        io::stdin().lock().read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|mut file| file.read_to_end(&mut bytes))
    };
    result.with_context(|| format!("cannot read the document in {name}"))?;
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
