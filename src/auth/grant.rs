//! What the bearer of a token may do.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::domain::{Pipeline, Repo, Run, Scope, Series};

/// Who a token was issued to: 1 to 255 characters, none of them a control character, so that it
/// can be logged as it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject(String);

impl TryFrom<String> for Subject {
    type Error = SubjectError;

    fn try_from(text: String) -> Result<Self, SubjectError> {
        text.parse()
    }
}

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

/// Who acts with a token, and which token it is: what is kept beside a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// Who the token was issued to (`sub`).
    pub subject: Subject,
    /// The token's id (`jti`), if it has one that can be kept.
    pub token_id: Option<String>,
}

/// The longest id of a token that is kept.
const MAX_KEPT_ID: usize = 255;

/// What the bearer of a verified token may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Who the token was issued to.
    pub subject: Subject,
    /// The rights; none implies another.
    pub scopes: BTreeSet<Scope>,
    /// What uploads and voids are narrowed to.
    pub narrow: Narrow,
    /// The token's id (`jti`), if it has one.
    pub token_id: Option<String>,
}

impl Grant {
    /// All rights, for the process that opened the store itself.
    pub fn owner() -> Self {
        Self {
            subject: Subject("local".to_owned()),
            scopes: BTreeSet::from([Scope::RunsRead, Scope::RunsWrite, Scope::RunsVoid]),
            narrow: Narrow::default(),
            token_id: None,
        }
    }

    /// Whether the grant holds `scope`.
    pub fn allows(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Who acts with the token. An id that is no name, or longer than 255 characters, is left out.
    pub fn bearer(&self) -> Bearer {
        let fits =
            |id: &&String| id.chars().count() <= MAX_KEPT_ID && !id.chars().any(char::is_control);
        Bearer {
            subject: self.subject.clone(),
            token_id: self.token_id.as_ref().filter(fits).cloned(),
        }
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
