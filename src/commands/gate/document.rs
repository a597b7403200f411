//! The document as the judge takes it.

use crate::domain::{Branch, CommitSha, Document, Series};
use crate::judge::Candidate;

/// The series that a document would join on `branch`.
pub(super) fn series(document: &Document, branch: Branch) -> Series {
    Series {
        workload: document.workload.clone(),
        branch,
        arch: document.arch.clone(),
        distro: document.distro.clone(),
    }
}

/// The candidate that a document is.
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
        metrics: document.metrics.to_vec(),
    }
}
