//! What goes to a terminal: notes, logs, and the text of strangers made safe to print.

pub(crate) mod logging;
pub(crate) mod shown;
mod tame;
pub(crate) mod width;

use std::fmt;
use std::io::{self, Write as _};

pub(crate) use tame::tame;

/// Writes a line to standard error. That it is full, or that nobody reads it any more, ends no
/// command and changes no exit code.
pub fn note(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}
