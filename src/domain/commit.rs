//! The commit that a run measured.

use std::fmt;
use std::str::FromStr;

use arrayvec::ArrayString;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::{schema, text};

/// A commit's name: 40 hexadecimal digits, kept in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitSha(ArrayString<DIGITS>);

const DIGITS: usize = 40;

/// Why a text is not a commit's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 40 hexadecimal digits, the whole name of a commit")]
pub struct CommitShaError;

impl CommitSha {
    /// The 40 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CommitSha {
    type Err = CommitShaError;

    fn from_str(text: &str) -> Result<Self, CommitShaError> {
        if text.len() != DIGITS || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(CommitShaError);
        }
        let mut digits = ArrayString::from(text).map_err(|_| CommitShaError)?;
        digits.make_ascii_lowercase();
        Ok(Self(digits))
    }
}

impl TryFrom<String> for CommitSha {
    type Error = CommitShaError;

    fn try_from(text: String) -> Result<Self, CommitShaError> {
        text.parse()
    }
}

impl<'de> Deserialize<'de> for CommitSha {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        text::parsed(source)
    }
}

impl Serialize for CommitSha {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl From<CommitSha> for String {
    fn from(sha: CommitSha) -> Self {
        sha.0.to_string()
    }
}

impl PartialSchema for CommitSha {
    fn schema() -> RefOr<Schema> {
        schema::text(DIGITS, "^[0-9a-fA-F]{40}$")
            .min_length(Some(DIGITS))
            .into()
    }
}

impl ToSchema for CommitSha {}

impl fmt::Display for CommitSha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_kept_in_lower_case() {
        let sha: CommitSha = "ABCDEF0123456789abcdef0123456789ABCDEF01".parse().unwrap();
        assert_eq!(sha.as_str(), "abcdef0123456789abcdef0123456789abcdef01");
    }

    #[test]
    fn short_long_and_foreign_digits_are_refused() {
        for text in ["", "abc", &"a".repeat(41), &"g".repeat(40), &"é".repeat(20)] {
            assert!(text.parse::<CommitSha>().is_err(), "{text:?}");
        }
    }
}
