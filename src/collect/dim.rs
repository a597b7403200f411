//! The canonical form of a metric's parameters.

use std::collections::BTreeMap;
use std::fmt;

use super::long;
use crate::domain::{DimKey, is_invisible};

/// The parameters of a metric: `k=v` pairs, sorted by the bytes of `k`, with commas between.
///
/// `%`, `,`, `=`, characters that are not seen and white space at either end of a part are written
/// as `%` and two hexadecimal digits for each of their bytes in UTF-8, so that two sets of
/// parameters never have one form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dim(BTreeMap<String, String>);

impl Dim {
    /// No parameters.
    pub fn scalar() -> Self {
        Self::default()
    }

    /// One parameter more; one of the same name is replaced.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// Whether a parameter of this name is there.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The parameters without the memory addresses in their values, if there are any.
    pub(super) fn without_addresses(&self) -> Option<Self> {
        let has_one = self
            .0
            .values()
            .any(|value| long::without_addresses(value).is_some());
        has_one.then(|| {
            let pairs = self.0.iter().map(|(name, value)| {
                let kept = long::without_addresses(value).unwrap_or_else(|| value.clone());
                (name.clone(), kept)
            });
            Self(pairs.collect())
        })
    }

    /// The parameters with long values shortened, if they do not fit as they are.
    pub(super) fn shortened(&self) -> Option<Self> {
        let pairs: Vec<(String, String)> = self.0.clone().into_iter().collect();
        let length = |pairs: &[(String, String)]| written(pairs).chars().count();
        let shorter = long::pairs(&pairs, length)?;
        Some(Self(shorter.into_iter().collect()))
    }

    /// The canonical form.
    ///
    /// # Errors
    /// That a parameter has no name, or that the form does not fit its column.
    pub fn key(&self) -> Result<DimKey, String> {
        if self.has("") {
            return Err("a parameter has no name; give it one".to_owned());
        }
        let key = self.to_string();
        key.parse()
            .map_err(|error| format!("the dimension `{key}` {error}; shorten the parameters"))
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<(String, String)> = self.0.clone().into_iter().collect();
        f.write_str(&written(&pairs))
    }
}

fn written(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{}={}", escape(name), escape(value)))
        .collect();
    pairs.join(",")
}

fn escape(part: &str) -> String {
    let inner = part.trim();
    let start = part.len() - part.trim_start().len();
    let end = start + inner.len();
    let mut escaped = String::with_capacity(part.len());
    for (index, c) in part.char_indices() {
        let padding = index < start || index >= end;
        if padding || is_invisible(c) || matches!(c, '%' | ',' | '=') {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                escaped.push_str(&format!("%{byte:02X}"));
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_sorted_by_their_names() {
        let dim = Dim::scalar().with("threads", "16").with("size", "8");
        assert_eq!(dim.key().unwrap().as_str(), "size=8,threads=16");
        assert_eq!(Dim::scalar().key().unwrap().as_str(), "");
    }

    #[test]
    fn what_would_be_misread_is_escaped() {
        let dim = Dim::scalar().with("a=b", "50%, \n").with("c", " é ");
        assert_eq!(
            dim.key().unwrap().as_str(),
            "a%3Db=50%25%2C%20%0A,c=%20é%20"
        );
        let nbsp = Dim::scalar().with("c", "\u{a0}");
        assert_eq!(nbsp.key().unwrap().as_str(), "c=%C2%A0");
    }

    #[test]
    fn what_does_not_fit_says_what_to_do() {
        let long = Dim::scalar().with("k", "v".repeat(200)).key().unwrap_err();
        assert!(
            long.contains("at most 120") && long.contains("shorten"),
            "{long}"
        );
        assert!(Dim::scalar().with("", "v").key().is_err());
    }
}
