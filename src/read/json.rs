//! JSON texts: checked whole at first, then passed through one level at a time.
//!
//! Nothing is copied but the strings that are asked for, and nothing recurses, so that neither deep
//! nesting nor a million values cost more than passing over their bytes.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Faults, Node, Notes};

/// A text that is JSON.
#[derive(Clone, Copy, Debug)]
pub struct JsonText<'a>(&'a RawValue);

impl<'a> JsonText<'a> {
    /// Checks that the whole text is JSON.
    ///
    /// # Errors
    /// If it is not.
    pub fn parse(text: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(text).map(Self)
    }

    /// The outermost value.
    pub(crate) fn node(self) -> Node<'a> {
        Node::Json(self.0)
    }

    /// Reads the outermost value with `read`.
    ///
    /// # Errors
    /// Every fault of the text.
    pub(crate) fn read<T>(
        self,
        read: impl FnOnce(Node<'a>, &Notes<'_>) -> Option<T>,
    ) -> Result<T, Faults> {
        let notes = Notes::of_json();
        let read = read(self.node(), &notes);
        notes.finish(read)
    }

    /// Hands each entry of the outermost object to `each`, until `each` answers `false`. Answers
    /// `false` if there is no object, or if `each` did.
    pub(crate) fn all_entries(self, mut each: impl FnMut(&str, Node<'a>) -> bool) -> bool {
        let mut all = true;
        let read = self
            .node()
            .entries(&mut |name, _, node| all = all && each(&name, node));
        read.is_ok() && all
    }

    /// Whether the outermost value is an object that has the field `name`.
    pub(crate) fn has(self, name: &str) -> bool {
        matches!(self.node().entry(name), Ok(Some(_)))
    }

    /// The field `name` of the outermost object, as serde reads it.
    pub(crate) fn field<T: DeserializeOwned>(self, name: &str) -> Result<T, String> {
        match self.node().entry(name) {
            Ok(Some(Node::Json(raw))) => {
                serde_json::from_str(raw.get()).map_err(|error| error.to_string())
            }
            _ => Err("is missing".to_owned()),
        }
    }

    /// The digits of the number `name` of the outermost object, if it has one.
    pub(crate) fn number(self, name: &str) -> Option<&'a str> {
        match self.node().entry(name) {
            Ok(Some(Node::Json(raw))) => digits(raw),
            _ => None,
        }
    }

    /// Whether the outermost value is an object.
    pub(crate) fn is_object(self) -> bool {
        self.0.get().starts_with('{')
    }
}

pub(super) fn kind(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        Some(b'"') => "a string",
        Some(b'[') => "a list",
        Some(b'{') => "an object",
        _ => "a number",
    }
}

pub(super) fn digits(raw: &RawValue) -> Option<&str> {
    let text = raw.get();
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        .then_some(text)
}

/// A string of a JSON text. A text that is JSON may hold half a surrogate pair, which no string has.
pub(super) fn text(raw: &RawValue) -> Result<Cow<'_, str>, String> {
    serde_json::from_str(raw.get())
        .map(|Text(text)| text)
        .map_err(|_| "must be a string of Unicode characters, has half a surrogate pair".to_owned())
}

/// A string, borrowed where nothing in it is escaped.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

pub(super) fn items<'a>(
    raw: &'a RawValue,
    each: &mut dyn FnMut(usize, Node<'a>),
) -> Result<(), String> {
    let mut source = serde_json::Deserializer::from_str(raw.get());
    source.deserialize_seq(Items(each)).map_err(unreadable)
}

pub(super) fn entries<'a>(
    raw: &'a RawValue,
    each: &mut dyn FnMut(Cow<'a, str>, usize, Node<'a>),
) -> Result<(), String> {
    let mut source = serde_json::Deserializer::from_str(raw.get());
    source.deserialize_map(Entries(each)).map_err(unreadable)
}

/// The text has been checked, so that this is a name with half a surrogate pair.
fn unreadable(error: serde_json::Error) -> String {
    format!("cannot be read: {error}")
}

struct Items<'f, 'a>(&'f mut dyn FnMut(usize, Node<'a>));

impl<'de> Visitor<'de> for Items<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0;
        while let Some(item) = list.next_element()? {
            (self.0)(index, Node::Json(item));
            index += 1;
        }
        Ok(())
    }
}

struct Entries<'f, 'a>(&'f mut dyn FnMut(Cow<'a, str>, usize, Node<'a>));

impl<'de> Visitor<'de> for Entries<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = object.next_key()? {
            (self.0)(name, 0, Node::Json(object.next_value()?));
        }
        Ok(())
    }
}
