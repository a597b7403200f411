//! Reads a configuration in TOML whole: every fault is told, each with its line and column, and a
//! key that nobody knows is one of them. `gate.toml` and the contract of a measurement are read so.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::domain::{Parameter, ParameterName, Parameters};

/// One thing in a configuration that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigFault {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What, and what to write instead.
    pub detail: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.detail)
    }
}

/// Reads a whole text with `read`, which takes its outermost table.
///
/// # Errors
/// Every fault of the text at once, in the order of their places.
pub(crate) fn parse<T>(
    text: &str,
    read: impl FnOnce(Table<'_>) -> Option<T>,
) -> Result<T, Vec<ConfigFault>> {
    let faults = Faults::new(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        faults.add(error.span(), error.message());
    }
    // What a parser makes of a broken text is a guess, and faults in a guess only confuse.
    let read = if faults.is_empty() {
        let span = document.span();
        read(Table::new(document.get_ref(), span, &faults))
    } else {
        None
    };
    faults.finish(read)
}

/// The faults of one text.
struct Faults<'t> {
    text: &'t str,
    found: RefCell<Vec<ConfigFault>>,
}

impl<'t> Faults<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            found: RefCell::default(),
        }
    }

    fn add(&self, span: Option<Range<usize>>, detail: impl fmt::Display) {
        let (line, column) = self.place(span.map_or(0, |span| span.start));
        self.found.borrow_mut().push(ConfigFault {
            line,
            column,
            detail: without_controls(&detail.to_string()),
        });
    }

    fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    fn finish<T>(self, read: Option<T>) -> Result<T, Vec<ConfigFault>> {
        let mut found = self.found.into_inner();
        found.sort();
        match read {
            Some(read) if found.is_empty() => Ok(read),
            _ => Err(found),
        }
    }

    /// Line and column, both from 1, of the byte at `offset`.
    fn place(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        (line, before[start..].chars().count() + 1)
    }
}

/// A table under a reader that notes faults instead of stopping at the first.
///
/// A getter answers `None` for a key that is left out and for one whose value does not fit, once
/// the fault is noted. [`Table::finish`] notes the keys that nobody asked for.
pub(crate) struct Table<'a> {
    entries: &'a DeTable<'a>,
    span: Range<usize>,
    asked: BTreeSet<&'static str>,
    faults: &'a Faults<'a>,
}

impl<'a> Table<'a> {
    fn new(entries: &'a DeTable<'a>, span: Range<usize>, faults: &'a Faults<'a>) -> Self {
        Self {
            entries,
            span,
            asked: BTreeSet::new(),
            faults,
        }
    }

    /// The line that the table starts on.
    pub(crate) fn line(&self) -> usize {
        self.faults.place(self.span.start).0
    }

    /// Whether the key stands here, whatever its value.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.get(key).is_some()
    }

    /// Notes a fault of the value of `key`.
    pub(crate) fn fault(&self, key: &str, detail: impl fmt::Display) {
        let value = self.entries.get(key);
        let span = value.map_or_else(|| self.span.clone(), Spanned::span);
        self.faults.add(Some(span), format!("`{key}` {detail}"));
    }

    /// Notes a fault of the table as a whole.
    pub(crate) fn fault_here(&self, detail: impl fmt::Display) {
        self.faults.add(Some(self.span.clone()), detail);
    }

    /// The string under `key`, which must be there and parse.
    pub(crate) fn required<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        if !self.has(key) {
            self.fault_here(format!("`{key}` is missing"));
        }
        self.optional(key, parse)
    }

    /// The string under `key`, which must parse.
    pub(crate) fn optional<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        self.value(key, |value| match value {
            DeValue::String(text) => parse(text),
            other => Err(format!("must be a string, is {}", kind(other))),
        })
    }

    /// The string under `key`, a value of the domain.
    pub(crate) fn parsed<T: FromStr<Err: fmt::Display>>(&mut self, key: &'static str) -> Option<T> {
        self.optional(key, |text| {
            text.parse().map_err(|error: T::Err| error.to_string())
        })
    }

    /// The date under `key`, as TOML writes dates or as a string.
    pub(crate) fn date<T, E: fmt::Display>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        self.value(key, |value| {
            let text = match value {
                DeValue::String(text) => text.to_string(),
                DeValue::Datetime(date) if date.time.is_none() => format!("{date}T00:00:00Z"),
                DeValue::Datetime(date) => date.to_string(),
                other => return Err(format!("must be a date, is {}", kind(other))),
            };
            parse(&text).map_err(|error| error.to_string())
        })
    }

    /// The number under `key`, from its very digits.
    pub(crate) fn number<T: FromStr<Err: fmt::Display>>(&mut self, key: &'static str) -> Option<T> {
        self.value(key, |value| match json(value) {
            Some(Json::Number(number)) => number
                .as_str()
                .parse()
                .map_err(|error: T::Err| error.to_string()),
            _ => Err(format!("must be a number, is {}", kind(value))),
        })
    }

    /// The whole number under `key`, within `range`.
    pub(crate) fn integer(&mut self, key: &'static str, range: RangeInclusive<u32>) -> Option<u32> {
        self.value(key, |value| {
            let number = json(value).and_then(|json| json.as_u64());
            let number = number.and_then(|number| u32::try_from(number).ok());
            number
                .filter(|number| range.contains(number))
                .ok_or_else(|| {
                    let (least, most) = (range.start(), range.end());
                    format!("must be a whole number from {least} to {most}")
                })
        })
    }

    /// `true` or `false` under `key`.
    pub(crate) fn boolean(&mut self, key: &'static str) -> Option<bool> {
        self.value(key, |value| match value {
            DeValue::Boolean(yes) => Ok(*yes),
            other => Err(format!("must be true or false, is {}", kind(other))),
        })
    }

    /// One of some words under `key`.
    pub(crate) fn word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        self.value(key, |value| {
            let found = match value {
                DeValue::String(text) => words.iter().find(|(word, _)| text == word),
                _ => None,
            };
            found.map(|(_, meaning)| *meaning).ok_or_else(|| {
                let words: Vec<String> = words.iter().map(|(w, _)| format!("\"{w}\"")).collect();
                format!("must be {}", words.join(" or "))
            })
        })
    }

    /// The list under `key`, each item read by itself.
    pub(crate) fn list<T>(
        &mut self,
        key: &'static str,
        what: &str,
        read: impl Fn(&DeValue<'_>) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        let faults = self.faults;
        self.value(key, |value| {
            let DeValue::Array(items) = value else {
                return Err(format!("must be {what}, is {}", kind(value)));
            };
            let item = |item: &Spanned<DeValue<'_>>| {
                let note = |detail| faults.add(Some(item.span()), format!("`{key}` {detail}"));
                read(item.get_ref()).map_err(note).ok()
            };
            Ok(items.iter().filter_map(item).collect())
        })
    }

    /// The table under `key`.
    pub(crate) fn table(&mut self, key: &'static str) -> Option<Table<'a>> {
        self.asked.insert(key);
        let value = self.entries.get(key)?;
        let table = self.as_table(value);
        if table.is_none() {
            self.fault(
                key,
                format!("must be a table, is {}", kind(value.get_ref())),
            );
        }
        table
    }

    /// The tables under `[[key]]`.
    pub(crate) fn tables(&mut self, key: &'static str) -> Vec<Table<'a>> {
        self.asked.insert(key);
        let Some(value) = self.entries.get(key) else {
            return Vec::new();
        };
        let DeValue::Array(items) = value.get_ref() else {
            self.fault(key, format!("must be written `[[{key}]]`, once for each"));
            return Vec::new();
        };
        let table = |item: &'a Spanned<DeValue<'a>>| {
            let table = self.as_table(item);
            if table.is_none() {
                let detail = format!("`{key}` must be a table, is {}", kind(item.get_ref()));
                self.faults.add(Some(item.span()), detail);
            }
            table
        };
        items.iter().filter_map(table).collect()
    }

    /// Every key with a string, a number, `true` or `false`, as parameters of a document.
    pub(crate) fn parameters(self) -> Parameters {
        let mut parameters = Parameters::new();
        for (key, value) in self.entries {
            let name = key.get_ref().parse::<ParameterName>();
            let name = name.map_err(|error| {
                let detail = format!("`{}` is no name: it {error}", key.get_ref());
                self.faults.add(Some(key.span()), detail);
            });
            let value = parameter(value.get_ref());
            let value = value.map_err(|detail| self.fault(key.get_ref(), detail));
            if let (Ok(name), Ok(value)) = (name, value) {
                parameters.insert(name, value);
            }
        }
        parameters
    }

    /// Notes every key that nobody asked for.
    pub(crate) fn finish(self) {
        for key in self.entries.keys() {
            if !self.asked.contains(key.get_ref().as_ref()) {
                let known: Vec<&str> = self.asked.iter().copied().collect();
                let detail = format!(
                    "`{}` is no key of this table; it knows {}",
                    key.get_ref(),
                    known.join(", ")
                );
                self.faults.add(Some(key.span()), detail);
            }
        }
    }

    fn as_table(&self, value: &'a Spanned<DeValue<'a>>) -> Option<Table<'a>> {
        match value.get_ref() {
            DeValue::Table(entries) => Some(Table::new(entries, value.span(), self.faults)),
            _ => None,
        }
    }

    fn value<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&DeValue<'a>) -> Result<T, String>,
    ) -> Option<T> {
        self.asked.insert(key);
        let value = self.entries.get(key)?;
        read(value.get_ref())
            .map_err(|detail| self.fault(key, detail))
            .ok()
    }
}

/// A string, a number, `true` or `false` as JSON has it; `None` of anything else.
pub(crate) fn json(value: &DeValue<'_>) -> Option<Json> {
    match value {
        DeValue::String(text) => Some(Json::String(text.to_string())),
        DeValue::Boolean(yes) => Some(Json::Bool(*yes)),
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
            Some(Json::from(number))
        }
        // TOML has `inf`, `nan` and a leading plus, which JSON has not.
        DeValue::Float(number) => {
            serde_json::from_str(number.as_str().trim_start_matches('+')).ok()
        }
        _ => None,
    }
}

/// A text of one line that says something.
pub(crate) fn filled(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("must say something".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("must be one line, without control characters".to_owned());
    }
    Ok(text.to_owned())
}

/// A value of `[parameters]`, as a document would have it.
fn parameter(value: &DeValue<'_>) -> Result<Parameter, &'static str> {
    match json(value) {
        Some(Json::String(text)) => Ok(Parameter::Text(text)),
        Some(Json::Bool(flag)) => Ok(Parameter::Flag(flag)),
        Some(Json::Number(number)) => Ok(Parameter::Number(number)),
        _ => Err("must be a string, a number, true or false"),
    }
}

/// A stranger's text as a terminal may have it: control characters are spelled out.
fn without_controls(text: &str) -> String {
    let shown = |c: char| match c {
        c if c.is_control() => c.escape_unicode().to_string(),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
