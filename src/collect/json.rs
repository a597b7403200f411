//! JSON as tools write it, and places in it for messages that say where.
//!
//! Three things differ from what a JSON library does. Numbers keep their digits. A name that an
//! object has twice is a fault, since one of two values would be lost. `NaN` and `Infinity`, which
//! JSON does not know and C, Python and Java write, are read, and are a fault only where a number is
//! needed.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Unreadable;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    /// The digits as they are written.
    Number(String),
    /// `NaN`, `Infinity` and the like, as it is written.
    NotFinite(String),
    Text(String),
    List(Vec<Json>),
    /// In the order of the text; each name once.
    Object(Vec<(String, Json)>),
}

/// No tool nests its report as deeply.
const MAX_DEPTH: usize = 64;
/// Stands before the words of a number that is none, in a string that no tool writes.
const NOT_FINITE: char = '\0';

/// Parses a JSON text.
pub(super) fn parse(text: &str) -> Result<Json, Unreadable> {
    let text = quote_what_is_not_finite(text);
    let raw: &RawValue = serde_json::from_str(&text).map_err(|error| {
        let line = u64::try_from(error.line()).unwrap_or_default().max(1);
        if error.is_eof() {
            return Unreadable::at(
                line,
                "the JSON ends too early; the file is empty or cut short",
            );
        }
        Unreadable::at(line, format!("is not JSON: {error}"))
    })?;
    Json::read(raw, "", 0)
}

impl Json {
    fn read(raw: &RawValue, pointer: &str, depth: usize) -> Result<Self, Unreadable> {
        if depth > MAX_DEPTH {
            let detail = format!("{pointer} is nested more than {MAX_DEPTH} deep");
            return Err(Unreadable::whole(detail));
        }
        let text = raw.get();
        let wrong = |error: serde_json::Error| Unreadable::whole(format!("{pointer}: {error}"));
        match text.as_bytes().first() {
            Some(b'{') => {
                let Pairs(pairs) = serde_json::from_str(text).map_err(wrong)?;
                Self::read_object(pairs, pointer, depth)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text).map_err(wrong)?;
                let items = items.into_iter().enumerate();
                let items = items
                    .map(|(index, item)| Self::read(item, &format!("{pointer}/{index}"), depth + 1))
                    .collect::<Result<_, _>>()?;
                Ok(Self::List(items))
            }
            Some(b'"') => {
                let text: String = serde_json::from_str(text).map_err(wrong)?;
                Ok(match text.strip_prefix(NOT_FINITE) {
                    Some(words) => Self::NotFinite(words.to_owned()),
                    None => Self::Text(text),
                })
            }
            Some(b't') => Ok(Self::Bool(true)),
            Some(b'f') => Ok(Self::Bool(false)),
            Some(b'n') => Ok(Self::Null),
            _ => Ok(Self::Number(text.to_owned())),
        }
    }

    fn read_object(
        pairs: Vec<(String, &RawValue)>,
        pointer: &str,
        depth: usize,
    ) -> Result<Self, Unreadable> {
        let mut object: Vec<(String, Self)> = Vec::with_capacity(pairs.len());
        let mut names = std::collections::HashSet::new();
        for (name, value) in pairs {
            if !names.insert(name.clone()) {
                let place = if pointer.is_empty() {
                    "the JSON"
                } else {
                    pointer
                };
                return Err(Unreadable::whole(format!(
                    "{place}: `{name}` stands there twice; keep one"
                )));
            }
            let value = Self::read(value, &format!("{pointer}/{name}"), depth + 1)?;
            object.push((name, value));
        }
        Ok(Self::Object(object))
    }
}

/// The tokens of C, C++, Python, Java and Windows that are no numbers of JSON.
fn is_not_finite(token: &str) -> bool {
    let lower = token.to_ascii_lowercase();
    let unsigned = lower.trim_start_matches(['-', '+']);
    let word = unsigned.split('(').next().unwrap_or_default();
    matches!(
        word,
        "nan" | "inf" | "infinity" | "1.#inf" | "1.#qnan" | "1.#ind" | "1.#snan"
    )
}

/// Makes strings of the numbers that are none, which a JSON library refuses. No line moves.
fn quote_what_is_not_finite(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('"') {
            let end = string_end(after);
            quoted.push('"');
            quoted.push_str(&after[..end]);
            rest = &after[end..];
            continue;
        }
        let length = token_length(rest);
        let (token, after) = rest.split_at(length);
        if is_not_finite(token) {
            quoted.push_str(&format!("\"\\u0000{token}\""));
        } else {
            quoted.push_str(token);
        }
        rest = after;
    }
    quoted
}

/// How far a string goes, its closing quote included.
fn string_end(after_quote: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in after_quote.bytes().enumerate() {
        match byte {
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    after_quote.len()
}

/// How long the word at the start is; a single character where there is none.
fn token_length(text: &str) -> usize {
    let is_part =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '#' | '(' | ')' | '_');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    match end {
        0 => text.chars().next().map_or(0, char::len_utf8),
        end => end,
    }
}

/// The pairs of an object, none of them lost where a name stands twice.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de> serde::Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;

        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(PairsVisitor)
    }
}

/// A JSON value and its pointer.
#[derive(Clone, Debug)]
pub(super) struct At<'a> {
    pointer: String,
    json: &'a Json,
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
        let Json::Object(pairs) = self.json else {
            return None;
        };
        let (_, json) = pairs.iter().find(|(other, _)| other == name)?;
        (*json != Json::Null).then(|| Self {
            pointer: format!("{}/{name}", self.pointer),
            json,
        })
    }

    pub(super) fn field(&self, name: &str) -> Result<Self, Unreadable> {
        self.optional(name)
            .ok_or_else(|| self.wrong(format_args!("has no `{name}`")))
    }

    /// The field `name`, a string; `None` where it is missing or `null`.
    pub(super) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, Unreadable> {
        self.optional(name).map(|found| found.text()).transpose()
    }

    pub(super) fn items(&self) -> Result<Vec<Self>, Unreadable> {
        let Json::List(items) = self.json else {
            return Err(self.wrong("must be a list"));
        };
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
        let Json::Object(pairs) = self.json else {
            return Err(self.wrong("must be an object"));
        };
        Ok(pairs
            .iter()
            .map(|(name, json)| {
                let pointer = format!("{}/{name}", self.pointer);
                (name.as_str(), Self { pointer, json })
            })
            .collect())
    }

    pub(super) fn text(&self) -> Result<&'a str, Unreadable> {
        match self.json {
            Json::Text(text) => Ok(text),
            _ => Err(self.wrong("must be a string")),
        }
    }

    /// The digits of a number, as they are written.
    pub(super) fn digits(&self) -> Result<&'a str, Unreadable> {
        match self.json {
            Json::Number(digits) => Ok(digits),
            Json::NotFinite(words) => {
                Err(self.wrong(format_args!("is {words}, and a number is needed there")))
            }
            _ => Err(self.wrong("must be a number")),
        }
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self.json, Json::Number(_))
    }

    /// Whether it is `NaN`, `Infinity` or the like.
    pub(super) fn is_not_finite(&self) -> bool {
        matches!(self.json, Json::NotFinite(_))
    }

    /// Whether it is a string, a number, `true` or `false`.
    pub(super) fn is_scalar(&self) -> bool {
        matches!(
            self.json,
            Json::Text(_) | Json::Number(_) | Json::Bool(_) | Json::NotFinite(_)
        )
    }

    pub(super) fn is_true(&self) -> bool {
        self.json == &Json::Bool(true)
    }

    pub(super) fn is_zero(&self) -> bool {
        matches!(self.json, Json::Number(digits) if digits.parse() == Ok(0.0))
    }

    /// The words of a parameter: a string, a number, `true` or `false`.
    pub(super) fn scalar(&self) -> Result<String, Unreadable> {
        if self.is_scalar() {
            return Ok(self.words());
        }
        Err(self.wrong("must be a string, a number, true or false"))
    }

    /// The value as a parameter shows it.
    pub(super) fn words(&self) -> String {
        written(self.json)
    }

    /// A fault of this value.
    pub(super) fn wrong(&self, detail: impl fmt::Display) -> Unreadable {
        let place = if self.pointer.is_empty() {
            "the JSON"
        } else {
            &self.pointer
        };
        Unreadable::whole(format!("{place} {detail}"))
    }
}

fn written(json: &Json) -> String {
    match json {
        Json::Null => "null".to_owned(),
        Json::Bool(flag) => flag.to_string(),
        Json::Number(text) | Json::NotFinite(text) | Json::Text(text) => text.clone(),
        Json::List(items) => {
            let items: Vec<String> = items.iter().map(written).collect();
            format!("[{}]", items.join(","))
        }
        Json::Object(pairs) => {
            let pairs = pairs
                .iter()
                .map(|(name, json)| format!("{name}:{}", written(json)));
            let pairs: Vec<String> = pairs.collect();
            format!("{{{}}}", pairs.join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_are_faults_only_where_one_is_needed() {
        for token in [
            "NaN",
            "-nan",
            "Infinity",
            "-Infinity",
            "inf",
            "-nan(ind)",
            "1.#QNAN",
        ] {
            let text = format!("{{\"s\": \"a \\\" NaN, {token}\",\n \"x\": {token}, \"y\": 1.50}}");
            let json = parse(&text).unwrap();
            let top = At::top(&json);
            assert_eq!(
                top.field("s").unwrap().text(),
                Ok(format!("a \" NaN, {token}").as_str())
            );
            assert_eq!(top.field("y").unwrap().digits(), Ok("1.50"));
            let error = top.field("x").unwrap().digits().unwrap_err().to_string();
            assert_eq!(
                error,
                format!("/x is {token}, and a number is needed there")
            );
        }
        assert!(parse("{\"x\": Nan1}").is_err());
        assert!(parse("{\"x\": nothing}").is_err());
    }

    #[test]
    fn a_name_that_stands_twice_and_a_cut_are_faults_with_their_place() {
        for (text, said) in [
            (
                "{\"a\": [{}, {\"b\": 1, \"\\u0062\": 1}]}",
                "/a/1: `b` stands there twice",
            ),
            ("{\"a\": 1, \"a\": 2}", "the JSON: `a` stands there twice"),
            ("{\n\"a\": 1", "line 2: the JSON ends too early"),
            ("", "line 1: the JSON ends too early"),
            ("{\n\"a\" 1}", "line 2: is not JSON"),
            ("{\n\"a\": NaN\n\"b\": 1}", "line 3: is not JSON"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
        assert!(parse(&format!("{}{}", "[".repeat(70), "]".repeat(70))).is_err());
    }
}
