//! criterion's `estimates.json` -> how long one iteration took.
//!
//! `criterion.<name>.mean_ns`, `.median_ns` and, where criterion fitted one, `.slope_ns`, all
//! wall-clock. The name is the group's and the function's; the value that a benchmark was given is
//! the dimension `value=...`. Both come from `benchmark.json`, which stands beside the estimates.

use super::json::{self, At};
use super::list::MetricList;
use super::number::Time;
use super::{Dim, Kind, Reading, Unreadable, measured, tidy};

/// The two files of one benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Criterion<'a> {
    /// `new/estimates.json`.
    pub estimates: &'a str,
    /// `new/benchmark.json`.
    pub benchmark: &'a str,
}

/// Reads one benchmark.
///
/// # Errors
/// What does not fit, with its JSON pointer.
pub fn read(files: Criterion<'_>) -> Result<Reading, Unreadable> {
    let benchmark = json::parse(files.benchmark)?;
    let (name, dim) = read_name(&At::top(&benchmark))?;
    let estimates = json::parse(files.estimates)?;
    let estimates = At::top(&estimates);
    estimates.field("mean")?;
    let mut list = MetricList::default();
    for estimate in ["mean", "median", "slope"] {
        let Some(found) = estimates.optional(estimate) else {
            continue;
        };
        let point = found.field("point_estimate")?;
        let value = Time::Nanoseconds
            .to_nanoseconds(point.digits()?)
            .and_then(|value| measured(format_args!("({estimate} of `{name}`)"), value))
            .map_err(|detail| point.wrong(detail))?;
        let key = format!("criterion.{name}.{estimate}_ns");
        list.add(&key, &dim, value, Kind::Timed)
            .map_err(Unreadable::whole)?;
    }
    list.finish(
        format!("criterion, benchmark `{name}`"),
        "holds no estimate",
    )
}

fn read_name(benchmark: &At<'_>) -> Result<(String, Dim), Unreadable> {
    let mut name = tidy(benchmark.field("group_id")?.text()?);
    if let Some(function) = benchmark.optional("function_id") {
        name = format!("{name}/{}", tidy(function.text()?));
    }
    let dim = match benchmark.optional("value_str") {
        Some(value) => Dim::scalar().with("value", tidy(value.text()?)),
        None => Dim::scalar(),
    };
    Ok((name, dim))
}
