//! A fault of an input, and the bounded list of all faults of one input.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One thing in an input that does not fit.
///
/// `pointer` is a JSON pointer (RFC 6901) into the body, or the name of a query parameter.
// In a configuration file it is the line and the column. The HTTP API shows no such fault, and this
// text is part of its description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Fault {
    /// Where: `/metrics/3/value`.
    pub pointer: String,
    /// What, and what to do about it.
    pub detail: String,
}

/// A longer pointer is cut, as a key of the input may be of any length.
const MAX_POINTER_BYTES: usize = 200;
/// A longer detail is cut, as it may quote the input.
const MAX_DETAIL_BYTES: usize = 400;

impl Fault {
    /// A fault at `pointer`. Both texts are cut where they are too long, which `…` shows.
    pub fn new(pointer: impl fmt::Display, detail: impl fmt::Display) -> Self {
        Self {
            pointer: cut(pointer, MAX_POINTER_BYTES),
            detail: cut(detail, MAX_DETAIL_BYTES),
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

/// Every fault of one input: the first ones in full, the others as a count.
///
/// An input can have as many faults as it has bytes, and an answer must not be larger than what it
/// answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    told: Vec<Fault>,
    more: usize,
}

impl Faults {
    /// Faults that are told in full.
    pub const MOST_TOLD: usize = 100;

    /// The first faults in full, and the number of those that were left out.
    pub(super) fn new(told: Vec<Fault>, more: usize) -> Self {
        Self { told, more }
    }

    /// The faults that are told in full.
    pub fn told(&self) -> &[Fault] {
        &self.told
    }

    /// The faults that are told in full, without the count of the others.
    pub fn into_told(self) -> Vec<Fault> {
        self.told
    }

    /// The number of all faults, counted only faults included.
    pub fn count(&self) -> usize {
        self.told.len() + self.more
    }

    /// Each told fault as a text, and a last text that counts the others.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.first(Self::MOST_TOLD)
    }

    /// The first `most` faults as texts, and a last text that counts the others.
    pub fn first(&self, most: usize) -> impl Iterator<Item = String> {
        let told = most.min(self.told.len());
        let more = self.count() - told;
        let last = (more > 0).then(|| format!("and {more} more"));
        self.told[..told].iter().map(Fault::to_string).chain(last)
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self::new(vec![fault], 0)
    }
}

impl From<&[Fault]> for Faults {
    /// The faults that a service told.
    fn from(all: &[Fault]) -> Self {
        let told = all.len().min(Self::MOST_TOLD);
        Self::new(all[..told].to_vec(), all.len() - told)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in self.lines().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{line}")?;
        }
        Ok(())
    }
}

/// The text that `shown` writes, up to about `most` bytes. Formatting stops there, so that a long
/// text costs no more than its beginning.
fn cut(shown: impl fmt::Display, most: usize) -> String {
    let mut writer = Cut {
        text: String::new(),
        left: most,
    };
    if write!(writer, "{shown}").is_err() {
        writer.text.push('…');
    }
    writer.text
}

struct Cut {
    text: String,
    left: usize,
}

impl fmt::Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            self.left = self.left.checked_sub(written_bytes(c)).ok_or(fmt::Error)?;
            self.text.push(c);
        }
        Ok(())
    }
}

/// The bytes of a character in a JSON string, where a control character is written as `\u001b`.
fn written_bytes(c: char) -> usize {
    if c.is_control() { 6 } else { c.len_utf8() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut() {
        let fault = Fault::new("/".repeat(1000), "é".repeat(1000));
        assert_eq!(fault.pointer, format!("{}…", "/".repeat(200)));
        assert_eq!(fault.detail, format!("{}…", "é".repeat(200)));
        let fault = Fault::new("/".repeat(200), "\u{1b}".repeat(1000));
        assert_eq!(fault.pointer, "/".repeat(200));
        assert_eq!(fault.detail.chars().count(), 400 / 6 + 1);
    }

    #[test]
    fn faults_that_are_left_out_are_counted() {
        let fault = Fault::new("/a", "b");
        let faults = Faults::new(vec![fault.clone(), fault], 7);
        assert_eq!(faults.to_string(), "/a: b; /a: b; and 7 more");
        assert_eq!(faults.count(), 9);
        let first: Vec<String> = faults.first(1).collect();
        assert_eq!(first, ["/a: b", "and 8 more"]);
        assert_eq!(Faults::from(Fault::new("", "x")).to_string(), "the body: x");
    }
}
