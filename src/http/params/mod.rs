//! The parameters of a query, each read once, with all faults told at once.

pub(super) mod describe;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use percent_encoding::percent_decode_str;

use super::problem::Problem;
use crate::api::{DEFAULT_LIMIT, MAX_LIMIT, Slug};
use crate::domain::{DateBound, Faults, Pipeline, any_or};
use crate::read::{Node, Notes, Place, boolean, parsed, text_with};
use crate::store::TagFilter;

/// The parameters of a query. A getter takes its parameter out; what is left at the end is unknown.
pub(super) struct Params {
    query: String,
    values: BTreeMap<String, Vec<String>>,
    notes: Notes<'static>,
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self::parse(parts.uri.query().unwrap_or_default()))
    }
}

impl Params {
    /// Splits a query as HTML forms write it.
    pub(super) fn parse(query: &str) -> Self {
        let mut params = Self {
            query: query.to_owned(),
            values: BTreeMap::new(),
            notes: Notes::of_query(),
        };
        for pair in pairs(query) {
            match pair {
                (Some(name), Some(value)) => params.values.entry(name).or_default().push(value),
                (name, _) => {
                    let name = name.unwrap_or_else(|| "?".to_owned());
                    params.fault(&name, "is not UTF-8 once it is percent-decoded");
                }
            }
        }
        params
    }

    /// The query as it came.
    pub(super) fn query(&self) -> &str {
        &self.query
    }

    /// Every value of a parameter that may stand several times.
    pub(super) fn all<T>(&mut self, name: &str) -> Vec<T>
    where
        T: FromStr<Err: fmt::Display>,
    {
        let values = self.values.remove(name).unwrap_or_default();
        let read = |value| self.read(name, std::slice::from_ref(value), parsed);
        values.iter().filter_map(read).collect()
    }

    /// A parameter that may be left out.
    pub(super) fn optional<T>(&mut self, name: &str) -> Option<T>
    where
        T: FromStr<Err: fmt::Display>,
    {
        self.optional_with(name, str::parse)
    }

    /// A parameter that may be left out, read by `parse`.
    pub(super) fn optional_with<T, E: fmt::Display>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let values = self.values.remove(name)?;
        self.read(name, &values, text_with(parse))
    }

    /// A parameter that must be there.
    pub(super) fn required<T>(&mut self, name: &str) -> Option<T>
    where
        T: FromStr<Err: fmt::Display>,
    {
        if !self.values.contains_key(name) {
            self.fault(name, "is needed");
        }
        self.optional(name)
    }

    /// A bound on the run date.
    pub(super) fn date(&mut self, name: &str) -> Option<DateBound> {
        self.optional(name)
    }

    /// `true` or `false`; left out, `false`.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        let values = self.values.remove(name);
        let read = values.and_then(|values| self.read(name, &values, boolean));
        read.unwrap_or(false)
    }

    /// A tag by its name, or `*` for all; left out, `default`.
    pub(super) fn tag(&mut self, default: TagFilter) -> TagFilter {
        match self.optional_with("tag", any_or) {
            Some(None) => TagFilter::Any,
            Some(Some(tag)) => TagFilter::Is(tag),
            None => default,
        }
    }

    /// A pipeline by its name, or `*` for any; left out, `default`.
    pub(super) fn pipeline(&mut self, default: Option<Pipeline>) -> Option<Pipeline> {
        self.optional_with("pipeline", any_or).unwrap_or(default)
    }

    /// How many points or runs, from 1 to [`MAX_LIMIT`]; left out, [`DEFAULT_LIMIT`].
    pub(super) fn limit(&mut self) -> usize {
        self.limit_or(DEFAULT_LIMIT)
    }

    /// How many things, from 1 to [`MAX_LIMIT`]; left out, `default`.
    pub(super) fn limit_or(&mut self, default: usize) -> usize {
        let parse = |text: &str| match text.parse() {
            Ok(limit) if (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
            _ => Err(format!("must be a whole number from 1 to {MAX_LIMIT}")),
        };
        self.optional_with("limit", parse).unwrap_or(default)
    }

    /// What was read, or every fault that there was, unknown parameters included.
    pub(super) fn finish<T>(self, read: Option<T>) -> Result<T, Problem> {
        for name in self.values.keys() {
            self.fault(name, "is not a parameter of this query");
        }
        self.notes.finish(read).map_err(invalid)
    }

    fn fault(&self, name: &str, detail: impl fmt::Display) {
        self.notes.add(&Place::ROOT.field(name, 0), detail);
    }

    fn read<'v, T>(
        &self,
        name: &str,
        values: &'v [String],
        read: impl FnOnce(Node<'v>) -> Result<T, String>,
    ) -> Option<T> {
        read(Node::Query(values))
            .map_err(|detail| self.fault(name, detail))
            .ok()
    }
}

fn invalid(faults: Faults) -> Problem {
    Problem::new(Slug::InvalidQuery, faults.to_string()).with_errors(faults.into_told())
}

/// The names and values of a query as HTML forms write it; `None` for what is no UTF-8.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = (Option<String>, Option<String>)> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        })
}

fn decode(text: &str) -> Option<String> {
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Workload;

    #[test]
    fn forms_are_decoded_strictly() {
        let mut params = Params::parse("a=x+y%2B%C3%A9&b=%FF");
        assert_eq!(params.optional::<String>("a"), Some("x y+é".to_owned()));
        assert_eq!(params.notes.finish(Some(())).unwrap_err().count(), 1);
    }

    #[test]
    fn every_fault_is_told() {
        let mut params = Params::parse("workload=&limit=0&since=yesterday&colour=red&tag=a&tag=b");
        params.required::<Workload>("workload");
        params.required::<Workload>("branch");
        params.limit();
        params.date("since");
        params.optional::<Workload>("tag");
        let faults = params.notes.finish(Some(())).unwrap_err();
        let places: Vec<&str> = faults.told().iter().map(|fault| &*fault.pointer).collect();
        assert_eq!(places, ["workload", "branch", "limit", "since", "tag"]);
    }

    #[test]
    fn an_unknown_parameter_is_a_fault() {
        assert!(Params::parse("colour=red").finish(Some(())).is_err());
        assert!(Params::parse("").finish(Some(())).is_ok());
    }
}
