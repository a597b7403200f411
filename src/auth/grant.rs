//! What the bearer of a token may do.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::domain::{Pipeline, Repo, Run, Scope, Series};

/// Who a token was issued to: 1 to 255 characters, none of them a control character, so that it
/// can be logged as it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject(String);

/// Why a text is not a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a subject is 1 to {} characters long and holds no control characters",
    Subject::MAX_CHARS
)]
pub struct SubjectError;

impl Subject {
    /// The most characters.
    pub const MAX_CHARS: usize = 255;

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Subject {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Self, SubjectError> {
        let length = text.chars().count();
        let fits = (1..=Self::MAX_CHARS).contains(&length) && !text.chars().any(char::is_control);
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(SubjectError)
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What writes are narrowed to. `None` narrows nothing; an empty set narrows to nothing at all.
///
/// Values compare byte for byte, as everything in the store does. Reads are never narrowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Narrow {
    /// The repositories whose runs may be written.
    pub repo: Option<BTreeSet<String>>,
    /// The branches.
    pub branch: Option<BTreeSet<String>>,
    /// The workloads.
    pub workload: Option<BTreeSet<String>>,
    /// The pipelines.
    pub pipeline: Option<BTreeSet<String>>,
}

impl Narrow {
    /// Whether writes are narrowed at all.
    pub fn is_wide(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a run of this repository, series and pipeline lies inside.
    ///
    /// # Errors
    /// The first claim that the run lies outside of, with the run's value.
    pub fn check(
        &self,
        repo: &Repo,
        series: &Series,
        pipeline: &Pipeline,
    ) -> Result<(), OutsideGrant> {
        inside("repo", self.repo.as_ref(), repo.as_str())?;
        inside("branch", self.branch.as_ref(), series.branch.as_str())?;
        inside("workload", self.workload.as_ref(), series.workload.as_str())?;
        inside("pipeline", self.pipeline.as_ref(), pipeline.as_str())
    }
}

/// Why a run may not be written with a token that may write runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the token may not write runs whose `{claim}` is `{value}`")]
pub struct OutsideGrant {
    /// The claim that narrows: `repo`, `branch`, `workload` or `pipeline`.
    pub claim: &'static str,
    /// What the run has there.
    pub value: String,
}

/// What the bearer of a verified token may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Who the token was issued to.
    pub subject: Subject,
    /// The rights; none implies another.
    pub scopes: BTreeSet<Scope>,
    /// What writes are narrowed to.
    pub narrow: Narrow,
}

impl Grant {
    /// All rights, for the process that opened the store itself.
    pub fn owner() -> Self {
        Self {
            subject: Subject("local".to_owned()),
            scopes: BTreeSet::from([Scope::RunsRead, Scope::RunsWrite]),
            narrow: Narrow::default(),
        }
    }

    /// Whether the grant holds `scope`.
    pub fn allows(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Whether `run` lies inside what writes are narrowed to.
    ///
    /// Says nothing about the right to write: ask [`Grant::allows`] first.
    ///
    /// # Errors
    /// The first claim that the run lies outside of, with the run's value.
    pub fn check_write(&self, run: &Run) -> Result<(), OutsideGrant> {
        self.narrow.check(&run.repo, &run.series, &run.pipeline)
    }
}

fn inside(
    claim: &'static str,
    allowed: Option<&BTreeSet<String>>,
    value: &str,
) -> Result<(), OutsideGrant> {
    match allowed {
        Some(allowed) if !allowed.contains(value) => Err(OutsideGrant {
            claim,
            value: value.to_owned(),
        }),
        _ => Ok(()),
    }
}
