//! An answer that is not the service's, and what of it a terminal may have.

use std::fmt;
use std::time::Duration;

use reqwest::StatusCode;

/// An answer without a problem in it.
#[derive(Clone, Debug)]
pub(in crate::client) struct Refusal {
    pub(super) status: StatusCode,
    content_type: Option<String>,
    /// How it starts, on one line.
    start: String,
    pub(in crate::client) retry_after: Option<Duration>,
}

impl Refusal {
    /// How an answer starts.
    pub(in crate::client) fn text(
        status: StatusCode,
        content_type: Option<&str>,
        text: &str,
    ) -> Self {
        const ENOUGH: usize = 100;
        const LOOKED_AT: usize = 4096;
        let beginning: String = text.chars().take(LOOKED_AT).collect();
        let line = one_line(&beginning);
        let mut start: String = line.chars().take(ENOUGH).collect();
        if start.len() < line.len() || beginning.len() < text.len() {
            start.push('…');
        }
        Self {
            status,
            content_type: content_type.map(one_line),
            start,
            retry_after: None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} with an answer that is not the service's",
            self.status
        )?;
        if let Some(content_type) = &self.content_type {
            write!(f, ", {content_type}")?;
        }
        if self.start.is_empty() {
            f.write_str(", empty")
        } else {
            write!(f, ": {}", self.start)
        }
    }
}

/// A stranger's text for a terminal: no control characters, one line.
pub(super) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}
