//! What a window is taken over, and what makes a run one of a kind.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Arch, Branch, CommitSha, Distro, Tag, Workload};

/// `(workload, branch, arch, distro)`: runs of one series may be compared, others never.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub struct Series {
    /// What was run.
    pub workload: Workload,
    /// The branch that was measured.
    pub branch: Branch,
    /// The processor architecture.
    pub arch: Arch,
    /// The distribution.
    pub distro: Distro,
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            workload,
            branch,
            arch,
            distro,
        } = self;
        write!(f, "{workload} on {branch}, {arch}, {distro}")
    }
}

/// What makes a run one of a kind: two uploads of one identity are one run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The commit.
    pub commit_sha: CommitSha,
    /// The series.
    pub series: Series,
    /// Empty for a live run.
    pub tag: Tag,
}
