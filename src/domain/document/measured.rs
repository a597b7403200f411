//! What a measurement knows of what it measured.

use serde::Serialize;

use crate::domain::CommitSha;
use crate::read::{Fields, boolean, parsed, text_with};

/// What was measured and with what, as the measuring program saw it. A document that another program
/// wrote, or an older one, says none of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Measured {
    /// The commit that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_sha: Option<CommitSha>,
    /// Whether the files of the commit were unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean: Option<bool>,
    /// The tool with its version, such as `valgrind-3.19.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The caches that were simulated, as the tool's flags name them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caches: Option<String>,
}

impl Measured {
    /// The most characters of each text.
    pub const MAX_CHARS: usize = 200;

    /// The fields, all of which may be left out.
    pub(super) const FIELDS: [&str; 4] = ["commit_sha", "clean", "tool", "caches"];

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn read(fields: &Fields<'_, '_>) -> Self {
        Self {
            commit_sha: fields.optional("commit_sha", parsed),
            clean: fields.optional("clean", boolean),
            tool: fields.optional("tool", text_with(short)),
            caches: fields.optional("caches", text_with(short)),
        }
    }
}

fn short(text: &str) -> Result<String, String> {
    let length = text.chars().count();
    if length > Measured::MAX_CHARS {
        let max = Measured::MAX_CHARS;
        return Err(format!(
            "must be at most {max} characters long, has {length}"
        ));
    }
    if text.contains(char::is_control) {
        return Err("must not hold control characters".to_owned());
    }
    Ok(text.to_owned())
}
