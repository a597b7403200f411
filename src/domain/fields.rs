//! Reads a JSON object field by field and keeps count of everything that does not fit.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value as Json};

use super::Fault;

/// A JSON object under a reader that collects faults instead of stopping at the first.
///
/// A getter answers `None` for a field that does not fit, once the fault is noted; a caller reads
/// all its fields and then asks whether there were faults. [`Fields::finish`] notes the fields
/// that nobody asked for.
pub struct Fields<'a> {
    pointer: String,
    object: &'a Map<String, Json>,
    asked: BTreeSet<&'static str>,
    faults: &'a mut Vec<Fault>,
}

impl<'a> Fields<'a> {
    /// A reader over `json`, which stands at `pointer`; `None` and a fault if it is no object.
    pub fn of(json: &'a Json, pointer: &str, faults: &'a mut Vec<Fault>) -> Option<Self> {
        let Json::Object(object) = json else {
            let detail = format!("must be an object, is {}", kind(json));
            faults.push(Fault::new(pointer, detail));
            return None;
        };
        Some(Self {
            pointer: pointer.to_owned(),
            object,
            asked: BTreeSet::new(),
            faults,
        })
    }

    /// The field `name`, which must be there.
    pub fn required(&mut self, name: &'static str) -> Option<&'a Json> {
        let found = self.optional(name);
        if found.is_none() {
            self.fault(name, "is missing");
        }
        found
    }

    /// The field `name`; one that is `null` counts as left out.
    pub fn optional(&mut self, name: &'static str) -> Option<&'a Json> {
        self.asked.insert(name);
        self.object.get(name).filter(|json| !json.is_null())
    }

    /// The field `name`, a string that parses.
    pub fn text<T>(&mut self, name: &'static str) -> Option<T>
    where
        T: FromStr<Err: fmt::Display>,
    {
        let json = self.required(name)?;
        self.parse_text(name, json)
    }

    /// The field `name`, a string that parses, or `default` where it is left out.
    pub fn text_or<T>(&mut self, name: &'static str, default: T) -> Option<T>
    where
        T: FromStr<Err: fmt::Display>,
    {
        match self.optional(name) {
            Some(json) => self.parse_text(name, json),
            None => Some(default),
        }
    }

    /// The field `name`, a string that parses, or `Some(None)` where it is left out.
    pub fn text_option<T>(&mut self, name: &'static str) -> Option<Option<T>>
    where
        T: FromStr<Err: fmt::Display>,
    {
        match self.optional(name) {
            Some(json) => self.parse_text(name, json).map(Some),
            None => Some(None),
        }
    }

    /// The field `name`, `true` or `false`.
    pub fn boolean(&mut self, name: &'static str) -> Option<bool> {
        let json = self.required(name)?;
        self.parse_boolean(name, json)
    }

    /// The field `name`, `true` or `false`, or `default` where it is left out.
    pub fn boolean_or(&mut self, name: &'static str, default: bool) -> Option<bool> {
        match self.optional(name) {
            Some(json) => self.parse_boolean(name, json),
            None => Some(default),
        }
    }

    /// The field `name`, a number that parses from its very digits.
    pub fn number<T>(&mut self, name: &'static str) -> Option<T>
    where
        T: FromStr<Err: fmt::Display>,
    {
        let json = self.required(name)?;
        let Json::Number(number) = json else {
            self.fault(name, format!("must be a number, is {}", kind(json)));
            return None;
        };
        self.keep(name, number.as_str().parse())
    }

    /// The field `name`, a list.
    pub fn list(&mut self, name: &'static str) -> Option<&'a [Json]> {
        let json = self.required(name)?;
        let Json::Array(items) = json else {
            self.fault(name, format!("must be a list, is {}", kind(json)));
            return None;
        };
        Some(items)
    }

    /// Notes a fault at the field `name`.
    pub fn fault(&mut self, name: &str, detail: impl fmt::Display) {
        let pointer = format!("{}/{}", self.pointer, escape(name));
        self.faults.push(Fault::new(pointer, detail));
    }

    /// The list that faults go to, for what stands below this object.
    pub fn faults(&mut self) -> &mut Vec<Fault> {
        self.faults
    }

    /// Notes every field that nobody asked for.
    pub fn finish(self) {
        for name in self.object.keys() {
            if !self.asked.contains(name.as_str()) {
                let pointer = format!("{}/{}", self.pointer, escape(name));
                self.faults
                    .push(Fault::new(pointer, "is not a field of this object"));
            }
        }
    }

    fn parse_text<T>(&mut self, name: &'static str, json: &Json) -> Option<T>
    where
        T: FromStr<Err: fmt::Display>,
    {
        let Json::String(text) = json else {
            self.fault(name, format!("must be a string, is {}", kind(json)));
            return None;
        };
        self.keep(name, text.parse())
    }

    fn parse_boolean(&mut self, name: &'static str, json: &Json) -> Option<bool> {
        let found = json.as_bool();
        if found.is_none() {
            self.fault(name, format!("must be true or false, is {}", kind(json)));
        }
        found
    }

    fn keep<T, E: fmt::Display>(&mut self, name: &str, parsed: Result<T, E>) -> Option<T> {
        parsed.map_err(|detail| self.fault(name, detail)).ok()
    }
}

/// A field's name as a JSON pointer writes it (RFC 6901, section 3).
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
