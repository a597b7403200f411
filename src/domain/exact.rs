//! Numbers that keep every digit, read and written without a float in between.

use std::fmt;
use std::str::FromStr;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use smol_str::SmolStr;

/// A JSON number, kept digit for digit: `1.50` is not `1.5`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactNumber(SmolStr);

/// Why a text is not an [`ExactNumber`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExactNumberError {
    /// It is not written as JSON writes numbers.
    #[error("must be a number")]
    Format,
    /// Nobody writes that many digits by hand.
    #[error("must have at most {} characters", ExactNumber::MAX_CHARS)]
    TooLong,
}

impl ExactNumber {
    /// The most characters of a number.
    pub const MAX_CHARS: usize = 100;

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ExactNumber {
    type Err = ExactNumberError;

    fn from_str(text: &str) -> Result<Self, ExactNumberError> {
        let starts = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let ends = text.ends_with(|c: char| c.is_ascii_digit());
        if !starts || !ends || serde_json::from_str::<&RawValue>(text).is_err() {
            return Err(ExactNumberError::Format);
        }
        if text.len() > Self::MAX_CHARS {
            return Err(ExactNumberError::TooLong);
        }
        Ok(Self(text.into()))
    }
}

impl From<u32> for ExactNumber {
    fn from(number: u32) -> Self {
        Self(smol_str::format_smolstr!("{number}"))
    }
}

impl fmt::Display for ExactNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ExactNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_digits(&self.0, serializer)
    }
}

/// Writes digits as a JSON number, exactly as they are.
pub(super) fn serialize_digits<S: Serializer>(
    digits: &str,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let raw: &RawValue = serde_json::from_str(digits).map_err(S::Error::custom)?;
    raw.serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_kept() {
        for text in ["0", "-1.50", "1E+3", "100000000000000000000000000001"] {
            let number: ExactNumber = text.parse().unwrap();
            assert_eq!(serde_json::to_string(&number).unwrap(), text);
        }
        assert_eq!(ExactNumber::from(7).as_str(), "7");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "", " 1", "1 ", "01", "+1", "1.", ".5", "NaN", "true", "\"1\"", "[1]",
        ] {
            let error = text.parse::<ExactNumber>().unwrap_err();
            assert_eq!(error, ExactNumberError::Format, "{text}");
        }
        let long = "1".repeat(101);
        assert_eq!(long.parse::<ExactNumber>(), Err(ExactNumberError::TooLong));
    }
}
