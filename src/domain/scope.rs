//! What a token lets its bearer do.

use std::fmt;
use std::str::FromStr;

/// One right. None implies another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Read runs, history, baselines and the list of series.
    RunsRead,
    /// Upload runs.
    RunsWrite,
    /// Take runs back.
    RunsVoid,
}

/// Why a text is not a scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no scope; there are `runs:read`, `runs:write` and `runs:void`")]
pub struct ScopeError(String);

impl Scope {
    /// The word in a token's `scope` claim.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RunsRead => "runs:read",
            Self::RunsWrite => "runs:write",
            Self::RunsVoid => "runs:void",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        match text {
            "runs:read" => Ok(Self::RunsRead),
            "runs:write" => Ok(Self::RunsWrite),
            "runs:void" => Ok(Self::RunsVoid),
            other => Err(ScopeError(other.to_owned())),
        }
    }
}
