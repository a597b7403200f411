//! TOML texts: parsed whole, then read like any other.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::{Faults, Node, Notes};

/// Reads a whole text with `read`, which takes the outermost table.
///
/// # Errors
/// Every fault of the text, in the order of their places.
pub(crate) fn parse_toml<T>(
    text: &str,
    read: impl FnOnce(Node<'_>, &Notes<'_>) -> Option<T>,
) -> Result<T, Faults> {
    let notes = Notes::of_toml(text);
    let (document, errors) = parse(text);
    for error in errors {
        notes.add_at(error.span().map_or(0, |span| span.start), error.message());
    }
    // What the parser makes of a broken text is a guess, and faults in a guess only confuse.
    let read = if notes.is_empty() {
        let offset = document.span().start;
        read(Node::Table(document.get_ref(), offset), &notes)
    } else {
        None
    };
    notes.finish(read)
}

/// A larger text is told only its first syntax error: the parser keeps all of them, and they can
/// take a hundred times the memory of the text.
const MAX_RECOVERED_BYTES: usize = 64 * 1024;

fn parse(text: &str) -> (Spanned<DeTable<'_>>, Vec<Error>) {
    if text.len() <= MAX_RECOVERED_BYTES {
        return DeTable::parse_recoverable(text);
    }
    match DeTable::parse(text) {
        Ok(document) => (document, Vec::new()),
        Err(error) => (Spanned::new(0..0, DeTable::new()), vec![error]),
    }
}

/// Accepts a text of one line that says something.
pub(crate) fn filled(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("must say something".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("must be one line, without control characters".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The digits of a number as JSON writes them. TOML has also `inf`, `nan`, a leading plus and
/// integers that are not decimal.
pub(super) fn digits<'a>(value: &'a DeValue<'a>) -> Option<Cow<'a, str>> {
    match value {
        DeValue::Integer(number) if number.radix() == 10 => {
            Some(Cow::Borrowed(number.as_str().trim_start_matches('+')))
        }
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
            Some(Cow::Owned(number.to_string()))
        }
        DeValue::Float(number) => {
            let digits = number.as_str().trim_start_matches('+');
            digits
                .starts_with(|c: char| c == '-' || c.is_ascii_digit())
                .then_some(Cow::Borrowed(digits))
                .filter(|digits| !digits.ends_with(['f', 'n']))
        }
        _ => None,
    }
}
