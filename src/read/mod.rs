//! Reads what other people wrote (JSON bodies, TOML files, query strings) and collects every fault.
//!
//! The three formats share one shape. A [`Node`] is a value of the text that nobody has looked into
//! yet. [`Fields`] picks the known fields of an object, and reader functions such as [`parsed`] and
//! [`number`] turn a node into a value. A value that does not fit is noted in [`Notes`] and reading
//! goes on, so that one answer names all faults.
//!
//! The cost of reading is bounded by the size of the text, whatever it holds: objects and lists are
//! passed through once and not copied, a name that stands nowhere in the code is never kept, and
//! only the first [`Faults::MOST_TOLD`] faults are written down, each cut to a fixed length.

mod fault;
mod fields;
mod json;
mod node;
mod place;
mod toml;

pub use fault::{Fault, Faults};
pub(crate) use fields::Fields;
pub use json::JsonText;
pub(crate) use node::{Node, boolean, date, number, parsed, text_with, whole, word};
pub(crate) use place::{Notes, Place};
pub(crate) use toml::{filled, parse_toml};

#[cfg(test)]
mod tests;
