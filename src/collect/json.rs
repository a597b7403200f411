//! A place in a JSON text, for messages that say which.

use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::Unreadable;

/// A JSON value and its pointer.
pub(super) struct At<'a> {
    pointer: String,
    json: &'a Json,
}

/// Parses a JSON text; a byte order mark before it is no fault.
pub(super) fn parse(text: &str) -> Result<Json, Unreadable> {
    parse_as(text)
}

/// The same, of a shape that is known.
pub(super) fn parse_as<T: DeserializeOwned>(text: &str) -> Result<T, Unreadable> {
    let text = text.trim_start_matches('\u{feff}');
    serde_json::from_str(text).map_err(|error| {
        let line = u64::try_from(error.line()).unwrap_or_default().max(1);
        if error.is_eof() {
            return Unreadable::at(
                line,
                "the JSON ends too early; the file is empty or cut short",
            );
        }
        Unreadable::at(line, format!("is not JSON: {error}"))
    })
}

impl<'a> At<'a> {
    pub(super) fn top(json: &'a Json) -> Self {
        Self {
            pointer: String::new(),
            json,
        }
    }

    /// The field `name`; `None` where it is missing or `null`.
    pub(super) fn optional(&self, name: &str) -> Option<Self> {
        let json = self.json.get(name).filter(|json| !json.is_null())?;
        Some(Self {
            pointer: format!("{}/{name}", self.pointer),
            json,
        })
    }

    pub(super) fn field(&self, name: &str) -> Result<Self, Unreadable> {
        self.optional(name)
            .ok_or_else(|| self.wrong(format_args!("has no `{name}`")))
    }

    pub(super) fn items(&self) -> Result<Vec<Self>, Unreadable> {
        let items = self
            .json
            .as_array()
            .ok_or_else(|| self.wrong("must be a list"))?;
        Ok(items
            .iter()
            .enumerate()
            .map(|(index, json)| Self {
                pointer: format!("{}/{index}", self.pointer),
                json,
            })
            .collect())
    }

    pub(super) fn entries(&self) -> Result<Vec<(&'a str, Self)>, Unreadable> {
        let object = self
            .json
            .as_object()
            .ok_or_else(|| self.wrong("must be an object"))?;
        Ok(object
            .iter()
            .map(|(name, json)| {
                let pointer = format!("{}/{name}", self.pointer);
                (name.as_str(), Self { pointer, json })
            })
            .collect())
    }

    pub(super) fn text(&self) -> Result<&'a str, Unreadable> {
        self.json
            .as_str()
            .ok_or_else(|| self.wrong("must be a string"))
    }

    /// The digits of a number, as they are written.
    pub(super) fn digits(&self) -> Result<&'a str, Unreadable> {
        match self.json {
            Json::Number(number) => Ok(number.as_str()),
            _ => Err(self.wrong("must be a number")),
        }
    }

    pub(super) fn is_number(&self) -> bool {
        self.json.is_number()
    }

    pub(super) fn is_true(&self) -> bool {
        self.json == &Json::Bool(true)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.json.as_i64() == Some(0)
    }

    /// A scalar as a parameter's value shows it.
    pub(super) fn words(&self) -> String {
        match self.json {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// A fault of this value.
    pub(super) fn wrong(&self, detail: impl std::fmt::Display) -> Unreadable {
        let place = if self.pointer.is_empty() {
            "the JSON"
        } else {
            &self.pointer
        };
        Unreadable::whole(format!("{place} {detail}"))
    }
}
