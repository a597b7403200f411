//! pytest-benchmark's JSON (`--benchmark-json`) -> how long one call took.
//!
//! `pytest.<test>.mean_ns`, `.median_ns`, `.min_ns` and `.max_ns`, all wall-clock. The test is
//! called as pytest calls it (`tests/test_app.py::test_sum`); what `parametrize` gave it is the
//! dimension: `name=value` pairs where every value is a short scalar, and else pytest's own id in
//! `param=...`. A list, an object or the address of a function names no parameter that a person
//! would know again.

use super::json::{self, At};
use super::list::MetricList;
use super::number::Time;
use super::{Dim, Kind, Reading, Unreadable, long, measured, plural, tidy};

/// A longer text is data, and no name for them.
const LONGEST_VALUE: usize = 40;

/// Reads an export.
///
/// # Errors
/// What does not fit, with its JSON pointer.
pub fn read(text: &str) -> Result<Reading, Unreadable> {
    let json = json::parse(text)?;
    let benchmarks = At::top(&json).field("benchmarks")?.items()?;
    let mut list = MetricList::default();
    for benchmark in &benchmarks {
        read_benchmark(benchmark, &mut list)?;
    }
    let count = plural(benchmarks.len(), "benchmark");
    list.finish(
        format!("pytest-benchmark, {count}"),
        "holds no benchmark: pytest ran none",
    )
}

fn read_benchmark(benchmark: &At<'_>, list: &mut MetricList) -> Result<(), Unreadable> {
    let (name, dim) = read_name(benchmark)?;
    let stats = benchmark.field("stats")?;
    for stat in ["mean", "median", "min", "max"] {
        let found = stats.field(stat)?;
        let mut value = Time::Seconds
            .to_nanoseconds(found.digits().map_err(|error| named(&error, &name))?)
            .map_err(|detail| found.wrong(detail))?;
        // A clock of coarse steps may show no time for the fastest call.
        if stat == "mean" {
            value = measured(format_args!("(`{name}`)"), value).map_err(|d| found.wrong(d))?;
        }
        let key = format!("pytest.{name}.{stat}_ns");
        list.add(&key, &dim, value, Kind::Timed)
            .map_err(|detail| benchmark.wrong(detail))?;
    }
    Ok(())
}

fn named(error: &Unreadable, name: &str) -> Unreadable {
    Unreadable::whole(format!("{} (of `{name}`)", error.detail))
}

/// `test_sum[10]` and its parameters.
fn read_name(benchmark: &At<'_>) -> Result<(String, Dim), Unreadable> {
    let full = benchmark.field("fullname")?.text()?;
    let (name, id) = split_id(full, benchmark.optional_text("name")?);
    let parameters = match benchmark.optional("params") {
        Some(parameters) => parameters.entries()?,
        None => Vec::new(),
    };
    let dim = match id {
        Some(id)
            if parameters.is_empty() || !parameters.iter().all(|(_, value)| is_short(value)) =>
        {
            Dim::scalar().with("param", tidy(id))
        }
        _ => parameters
            .into_iter()
            .fold(Dim::scalar(), |dim, (name, value)| {
                dim.with(name, tidy(&value.words()))
            }),
    };
    Ok((tidy(name), dim))
}

/// The test and what stands in the brackets behind its name. The name of a function has no bracket,
/// but the path before it may have one.
fn split_id<'a>(full: &'a str, name: Option<&str>) -> (&'a str, Option<&'a str>) {
    let start = match name {
        Some(name) if full.ends_with(name) => full.len() - name.len(),
        _ => 0,
    };
    let bracket = full[start..].find('[').map(|at| start + at);
    match (bracket, full.strip_suffix(']')) {
        (Some(bracket), Some(inner)) => (&full[..bracket], Some(&inner[bracket + 1..])),
        _ => (full, None),
    }
}

fn is_short(value: &At<'_>) -> bool {
    let words = value.words();
    value.is_scalar()
        && words.chars().count() <= LONGEST_VALUE
        && !words.starts_with("UNSERIALIZABLE[")
        && long::without_addresses(&words).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_what_stands_behind_the_name_of_the_function() {
        for (full, name, expected) in [
            (
                "t.py::test_a[1-x]",
                Some("test_a[1-x]"),
                ("t.py::test_a", Some("1-x")),
            ),
            ("t.py::test_a[a[0]]", None, ("t.py::test_a", Some("a[0]"))),
            (
                "[x]/t.py::test_a[1]",
                Some("test_a[1]"),
                ("[x]/t.py::test_a", Some("1")),
            ),
            ("t.py::test_a", Some("test_a"), ("t.py::test_a", None)),
        ] {
            assert_eq!(split_id(full, name), expected);
        }
    }
}
