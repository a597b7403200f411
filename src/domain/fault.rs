//! What does not fit, and where.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One thing in an input that does not fit.
///
/// `pointer` is a JSON pointer (RFC 6901) into the body, or the name of a query parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Fault {
    /// Where: `/metrics/3/value`.
    pub pointer: String,
    /// What, and what to do about it.
    pub detail: String,
}

impl Fault {
    /// A fault at `pointer`.
    pub fn new(pointer: impl Into<String>, detail: impl fmt::Display) -> Self {
        Self {
            pointer: pointer.into(),
            detail: detail.to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() {
            "the body"
        } else {
            &self.pointer
        };
        write!(f, "{place}: {}", self.detail)
    }
}
