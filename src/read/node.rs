//! A value of a text before it is read, and the functions that read it.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde_json::value::RawValue;
use toml::de::{DeTable, DeValue};

use super::{json, toml as toml_text};

/// A value of a text, of whichever format, that nobody has looked into yet.
#[derive(Clone, Copy)]
pub(crate) enum Node<'a> {
    /// A JSON value, whose grammar has been checked.
    Json(&'a RawValue),
    /// A TOML value and its first byte in the text.
    Toml(&'a DeValue<'a>, usize),
    /// A TOML table and its first byte in the text.
    Table(&'a DeTable<'a>, usize),
    /// Every value of one query parameter.
    Query(&'a [String]),
}

impl<'a> Node<'a> {
    /// The value's first byte in a TOML text; 0 in other formats.
    pub(super) fn offset(self) -> usize {
        match self {
            Self::Toml(_, offset) | Self::Table(_, offset) => offset,
            Self::Json(_) | Self::Query(_) => 0,
        }
    }

    /// Whether the value counts as left out: `null` in JSON.
    pub(super) fn is_null(self) -> bool {
        matches!(self, Self::Json(raw) if raw.get() == "null")
    }

    /// What the value is, for a message.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Json(raw) => json::kind(raw),
            Self::Toml(value, _) => toml_text::kind(value),
            Self::Table(..) => "a table",
            Self::Query([_]) => "a text",
            Self::Query(_) => "several texts",
        }
    }

    /// The value as a string.
    pub(crate) fn text(self) -> Result<Cow<'a, str>, String> {
        match self {
            Self::Json(raw) if raw.get().starts_with('"') => json::text(raw),
            Self::Toml(DeValue::String(text), _) => Ok(Cow::Borrowed(text)),
            Self::Query([text]) => Ok(Cow::Borrowed(text)),
            Self::Query(_) => Err("stands more than once".to_owned()),
            other => Err(other.is_not("a string")),
        }
    }

    /// The digits of a number as JSON writes them.
    pub(crate) fn digits(self) -> Result<Cow<'a, str>, String> {
        let digits = match self {
            Self::Json(raw) => json::digits(raw).map(Cow::Borrowed),
            Self::Toml(value, _) => toml_text::digits(value),
            Self::Table(..) => None,
            Self::Query(_) => return self.text(),
        };
        digits.ok_or_else(|| self.is_not("a number"))
    }

    fn is_not(self, wanted: &str) -> String {
        format!("must be {wanted}, is {}", self.kind())
    }

    /// Hands each item of a list to `each`, in order, with its index.
    pub(super) fn items(
        self,
        wanted: &str,
        each: &mut dyn FnMut(usize, Node<'a>),
    ) -> Result<(), String> {
        match self {
            Self::Json(raw) if raw.get().starts_with('[') => json::items(raw, each),
            Self::Toml(DeValue::Array(items), _) => {
                for (index, item) in items.iter().enumerate() {
                    each(index, Self::Toml(item.get_ref(), item.span().start));
                }
                Ok(())
            }
            other => Err(other.is_not(wanted)),
        }
    }

    /// The first entry of an object that is called `name`.
    ///
    /// # Errors
    /// That the value is no object.
    pub(crate) fn entry(self, name: &str) -> Result<Option<Node<'a>>, String> {
        let mut found = None;
        self.entries(&mut |other, _, value| {
            if other == name && found.is_none() {
                found = Some(value);
            }
        })?;
        Ok(found)
    }

    /// Hands each entry of an object to `each`: its name, the name's first byte, and its value.
    pub(crate) fn entries(
        self,
        each: &mut dyn FnMut(Cow<'a, str>, usize, Node<'a>),
    ) -> Result<(), String> {
        let table = match self {
            Self::Json(raw) if raw.get().starts_with('{') => return json::entries(raw, each),
            Self::Toml(DeValue::Table(table), _) | Self::Table(table, _) => table,
            Self::Toml(..) => return Err(self.is_not("a table")),
            Self::Json(_) | Self::Query(_) => return Err(self.is_not("an object")),
        };
        for (name, value) in table {
            let value_at = Self::Toml(value.get_ref(), value.span().start);
            each(Cow::Borrowed(name.get_ref()), name.span().start, value_at);
        }
        Ok(())
    }
}

/// Reads a string that parses.
pub(crate) fn parsed<T: FromStr<Err: fmt::Display>>(node: Node<'_>) -> Result<T, String> {
    text_with(str::parse)(node)
}

/// Reads a string with `parse`.
pub(crate) fn text_with<T, E: fmt::Display>(
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> impl FnOnce(Node<'_>) -> Result<T, String> {
    |node| parse(&node.text()?).map_err(|error| error.to_string())
}

/// Reads a number that parses from its digits.
pub(crate) fn number<T: FromStr<Err: fmt::Display>>(node: Node<'_>) -> Result<T, String> {
    let digits = node.digits()?;
    digits.parse().map_err(|error: T::Err| error.to_string())
}

/// Reads a whole number within `range`.
pub(crate) fn whole(range: RangeInclusive<u32>) -> impl Fn(Node<'_>) -> Result<u32, String> {
    move |node| {
        let number = node.digits().ok().and_then(|digits| digits.parse().ok());
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (least, most) = (range.start(), range.end());
                format!("must be a whole number from {least} to {most}")
            })
    }
}

/// Reads `true` or `false`.
pub(crate) fn boolean(node: Node<'_>) -> Result<bool, String> {
    let found = match node {
        Node::Json(raw) => raw.get().parse().ok(),
        Node::Toml(DeValue::Boolean(yes), _) => Some(*yes),
        Node::Query([text]) => match text.parse() {
            Ok(yes) => Some(yes),
            Err(_) => return Err("must be true or false".to_owned()),
        },
        _ => None,
    };
    found.ok_or_else(|| node.is_not("true or false"))
}

/// Reads one of some words.
pub(crate) fn word<'w, T: Copy>(
    words: &'w [(&str, T)],
) -> impl Fn(Node<'_>) -> Result<T, String> + 'w {
    |node| {
        let text = node.text().ok();
        let found = words.iter().find(|(word, _)| text.as_deref() == Some(word));
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<String> = words.iter().map(|(w, _)| format!("\"{w}\"")).collect();
            format!("must be {}", words.join(" or "))
        })
    }
}

/// Reads a date, as TOML writes dates or as a string.
pub(crate) fn date<T: FromStr<Err: fmt::Display>>(node: Node<'_>) -> Result<T, String> {
    let text = match node {
        Node::Toml(DeValue::Datetime(date), _) if date.time.is_none() => {
            Cow::Owned(format!("{date}T00:00:00Z"))
        }
        Node::Toml(DeValue::Datetime(date), _) => Cow::Owned(date.to_string()),
        node => node.text().map_err(|_| node.is_not("a date"))?,
    };
    text.parse().map_err(|error: T::Err| error.to_string())
}
