//! Plain names and values -> metrics, for every tool that has no reader of its own.
//!
//! Text has a metric a line, its name and its number with white space between; what follows `#` is
//! a remark. JSON is one flat object of names and numbers. In both a name may end in its
//! parameters: `queue.depth{threads=16,shard=a}`.

use super::json::{self, At};
use super::list::MetricList;
use super::{Dim, Kind, Reading, Unreadable, number, plural};

/// Reads names and values, which the caller says were counted or timed.
///
/// # Errors
/// The line, or the name, that does not fit, and why.
pub fn read(text: &str, kind: Kind) -> Result<Reading, Unreadable> {
    let mut list = MetricList::default();
    let form = if text.trim_start().starts_with('{') {
        read_json(text, kind, &mut list)?;
        "JSON"
    } else {
        read_text(text, kind, &mut list)?;
        "text"
    };
    let what = format!("{} as {form}", plural(list.len(), "value"));
    list.finish(what, "holds no value; write `name value` on a line")
}

fn read_text(text: &str, kind: Kind, list: &mut MetricList) -> Result<(), Unreadable> {
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        line.rsplit_once(char::is_whitespace)
            .ok_or_else(|| format!("`{line}` must be a name and a number with a space between"))
            .and_then(|(name, digits)| add(list, name.trim_end(), digits, kind))
            .map_err(|detail| Unreadable::at(number, detail))?;
    }
    Ok(())
}

fn read_json(text: &str, kind: Kind, list: &mut MetricList) -> Result<(), Unreadable> {
    let json = json::parse(text)?;
    for (name, value) in At::top(&json).entries()? {
        let digits = value.digits().map_err(|_| {
            let found = if value.is_scalar() {
                value.words()
            } else {
                "a list or an object".to_owned()
            };
            Unreadable::whole(format!("`{name}` must be a number, is {found}"))
        })?;
        add(list, name, digits, kind).map_err(Unreadable::whole)?;
    }
    Ok(())
}

fn add(list: &mut MetricList, name: &str, digits: &str, kind: Kind) -> Result<(), String> {
    let (key, dim) = split_name(name)?;
    let value = number::plain(digits).map_err(|detail| format!("`{name}`: {detail}"))?;
    list.add(key, &dim, value, kind)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Metric;

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
            ("a 1\na 2\n", "line 2: `a` stands there twice"),
            (r#"{"a": 1, "a": 2}"#, "`a` stands there twice"),
            (r#"{"a": "1"}"#, "`a` must be a number"),
            (r#"{"a": NaN}"#, "`a` must be a number, is NaN"),
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
