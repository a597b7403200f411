//! pytest-benchmark's JSON (`--benchmark-json`) -> how long one call took.
//!
//! `pytest.<test>.mean_ns`, `.median_ns`, `.min_ns` and `.max_ns`, all wall-clock. The test is
//! called as pytest calls it (`tests/test_app.py::test_sum`); what `parametrize` gave it is the
//! dimension.

use super::json::{self, At};
use super::number::Time;
use super::{Dim, Kind, Reading, Unreadable, metric, plural, tidy};
use crate::domain::Metric;

/// Reads an export.
///
/// # Errors
/// What does not fit, with its JSON pointer.
pub fn read(text: &str) -> Result<Reading, Unreadable> {
    let json = json::parse(text)?;
    let benchmarks = At::top(&json).field("benchmarks")?.items()?;
    let mut metrics = Vec::new();
    for benchmark in &benchmarks {
        read_benchmark(benchmark, &mut metrics)?;
    }
    if metrics.is_empty() {
        return Err(Unreadable::whole("holds no benchmark: pytest ran none"));
    }
    Ok(Reading {
        metrics,
        what: format!(
            "pytest-benchmark, {}",
            plural(benchmarks.len(), "benchmark")
        ),
    })
}

fn read_benchmark(benchmark: &At<'_>, metrics: &mut Vec<Metric>) -> Result<(), Unreadable> {
    let (name, dim) = read_name(benchmark)?;
    let stats = benchmark.field("stats")?;
    for stat in ["mean", "median", "min", "max"] {
        let found = stats.field(stat)?;
        let value = Time::Seconds
            .to_nanoseconds(found.digits()?)
            .map_err(|detail| found.wrong(detail))?;
        let key = format!("pytest.{name}.{stat}_ns");
        metrics.push(metric(&key, &dim, value, Kind::Timed).map_err(|d| benchmark.wrong(d))?);
    }
    Ok(())
}

/// `test_sum[10]` and its parameters; where they have no names, what stands in the brackets.
fn read_name(benchmark: &At<'_>) -> Result<(String, Dim), Unreadable> {
    let full = benchmark.field("fullname")?.text()?;
    let bracket = full.strip_suffix(']').and_then(|rest| rest.split_once('['));
    let mut dim = Dim::scalar();
    let mut has_names = false;
    if let Some(parameters) = benchmark.optional("params") {
        for (name, value) in parameters.entries()? {
            dim = dim.with(name, tidy(&value.words()));
            has_names = true;
        }
    }
    let name = match bracket {
        Some((name, parameter)) => {
            if !has_names {
                dim = dim.with("param", tidy(parameter));
            }
            name
        }
        None => full,
    };
    Ok((tidy(name), dim))
}
