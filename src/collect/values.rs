//! Plain names and values -> metrics, for every tool that has no reader of its own.
//!
//! Text has a metric a line, its name and its number with white space between; what follows `#` is
//! a remark. JSON is one flat object of names and numbers. In both a name may end in its
//! parameters: `queue.depth{threads=16,shard=a}`.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;

use super::{Dim, Kind, Reading, Unreadable, metric, number, plural};
use crate::domain::Metric;

/// Reads names and values, which the caller says were counted or timed.
///
/// # Errors
/// The line, or the name, that does not fit, and why.
pub fn read(text: &str, kind: Kind) -> Result<Reading, Unreadable> {
    let text = text.trim_start_matches('\u{feff}');
    let (metrics, form) = if text.trim_start().starts_with('{') {
        (read_json(text, kind)?, "JSON")
    } else {
        (read_text(text, kind)?, "text")
    };
    if metrics.is_empty() {
        return Err(Unreadable::whole(
            "holds no value; write `name value` on a line",
        ));
    }
    for (index, metric) in metrics.iter().enumerate() {
        if metrics[..index]
            .iter()
            .any(|other| other.name == metric.name)
        {
            let detail = format!("`{}` stands there twice; keep one", metric.name.metric_key);
            return Err(Unreadable::whole(detail));
        }
    }
    Ok(Reading {
        what: format!("{} as {form}", plural(metrics.len(), "value")),
        metrics,
    })
}

fn read_text(text: &str, kind: Kind) -> Result<Vec<Metric>, Unreadable> {
    let mut metrics = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let read = line
            .rsplit_once(char::is_whitespace)
            .ok_or_else(|| format!("`{line}` must be a name and a number with a space between"))
            .and_then(|(name, digits)| one(name.trim_end(), digits, kind));
        metrics.push(read.map_err(|detail| Unreadable::at(number, detail))?);
    }
    Ok(metrics)
}

fn read_json(text: &str, kind: Kind) -> Result<Vec<Metric>, Unreadable> {
    let Pairs(pairs) = super::json::parse_as(text)?;
    pairs
        .iter()
        .map(|(name, value)| match value {
            Json::Number(number) => one(name, number.as_str(), kind),
            _ => Err(format!("`{name}` must be a number")),
        })
        .collect::<Result<_, String>>()
        .map_err(Unreadable::whole)
}

fn one(name: &str, digits: &str, kind: Kind) -> Result<Metric, String> {
    let (key, dim) = split_name(name)?;
    let value = number::plain(digits).map_err(|detail| format!("`{name}`: {detail}"))?;
    metric(key, &dim, value, kind)
}

fn split_name(name: &str) -> Result<(&str, Dim), String> {
    let Some((key, rest)) = name.split_once('{') else {
        return Ok((name, Dim::scalar()));
    };
    let wrong = || format!("`{name}` must be a name, or one with parameters as `name{{k=v,k=v}}`");
    let inner = rest.strip_suffix('}').ok_or_else(wrong)?;
    let mut dim = Dim::scalar();
    for pair in inner.split(',') {
        let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
        let key = key.trim();
        if dim.has(key) {
            return Err(format!("`{name}` has the parameter `{key}` twice"));
        }
        dim = dim.with(key, value.trim());
    }
    Ok((key, dim))
}

/// The pairs of an object, none of them lost where a name stands twice.
struct Pairs(Vec<(String, Json)>);

impl<'de> serde::Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;

        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of names and numbers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry::<String, Json>()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(PairsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Result<Vec<String>, String> {
        let reading = read(text, Kind::Counted).map_err(|error| error.to_string())?;
        let line = |m: &Metric| format!("{}|{}|{}", m.name.metric_key, m.name.dim_key, m.value);
        Ok(reading.metrics.iter().map(line).collect())
    }

    #[test]
    fn text_and_json_say_the_same() {
        let text = "# a remark\nrequests 12\n\nqueue depth{shard=b, at=1}\t2.50 # another\n";
        let json = r#"{"requests": 12, "queue depth{at=1,shard=b}": 2.50}"#;
        let expected = ["requests||12", "queue depth|at=1,shard=b|2.5"];
        assert_eq!(values(text).unwrap(), expected);
        assert_eq!(values(json).unwrap(), expected);
    }

    #[test]
    fn what_does_not_fit_says_where_and_why() {
        for (text, said) in [
            ("", "holds no value"),
            ("a 1\nb\n", "line 2: `b` must be a name and a number"),
            ("a 1\nb x\n", "line 2: `b`: `x` must be a number"),
            ("a{b} 1\n", "line 1: `a{b}` must be a name"),
            ("a{b=1 1\n", "line 1: "),
            ("a{b=1,b=2} 1\n", "twice"),
            ("a{=1} 1\n", "no name"),
            ("a 1\na 2\n", "`a` stands there twice"),
            (r#"{"a": 1, "a": 2}"#, "`a` stands there twice"),
            (r#"{"a": "1"}"#, "`a` must be a number"),
            (r#"{"a": {}}"#, "`a` must be a number"),
            ("{\n\"a\": 1", "line 2: the JSON ends too early"),
            ("{\n\"a\" 1}", "line 2: is not JSON"),
            ("a 0.00001\n", "choose a smaller unit"),
        ] {
            let error = values(text).unwrap_err();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }
}
