//! google-benchmark's JSON (`--benchmark_out_format=json`) -> how long one iteration took.
//!
//! `google_benchmark.<name>.real_time_ns`, `.cpu_time_ns` and each counter under its own name, such
//! as `.items_per_second`; all wall-clock. Parts of a name such as `n:8` or `threads:2` are the
//! dimension `n=8,threads=2`; an argument without a name stays in the name.
//!
//! Of a benchmark that was repeated, the mean and the median are taken (`.mean_real_time_ns`,
//! `.median_real_time_ns`) and the single repetitions left out.

use std::collections::BTreeSet;

use super::json::{self, At};
use super::number::{self, Time};
use super::{Dim, Kind, Reading, Unreadable, metric, plural, tidy};
use crate::domain::Metric;

/// The numbers of an entry that are no measurement.
const BOOKKEEPING: [&str; 11] = [
    "real_time",
    "cpu_time",
    "iterations",
    "threads",
    "repetitions",
    "repetition_index",
    "family_index",
    "per_family_instance_index",
    "cpu_coefficient",
    "real_coefficient",
    "rms",
];

/// Reads an export.
///
/// # Errors
/// What does not fit, with its JSON pointer; or which benchmark failed.
pub fn read(text: &str) -> Result<Reading, Unreadable> {
    let json = json::parse(text)?;
    let items = At::top(&json).field("benchmarks")?.items()?;
    let entries: Vec<Entry<'_>> = items.iter().map(Entry::new).collect::<Result<_, _>>()?;
    let repeated: BTreeSet<&str> = entries
        .iter()
        .filter(|entry| entry.aggregate.is_some())
        .map(|entry| entry.name)
        .collect();
    let mut names = BTreeSet::new();
    let mut metrics = Vec::new();
    for entry in &entries {
        let is_repetition = entry.aggregate.is_none() && repeated.contains(entry.name);
        let is_spread = entry
            .aggregate
            .is_some_and(|name| !matches!(name, "mean" | "median"));
        if is_repetition || is_spread {
            continue;
        }
        names.insert(entry.name);
        entry.read(&mut metrics)?;
    }
    if metrics.is_empty() {
        return Err(Unreadable::whole("holds no benchmark: none was run"));
    }
    Ok(Reading {
        metrics,
        what: format!("google-benchmark, {}", plural(names.len(), "benchmark")),
    })
}

struct Entry<'a> {
    at: &'a At<'a>,
    name: &'a str,
    aggregate: Option<&'a str>,
}

impl<'a> Entry<'a> {
    fn new(at: &'a At<'a>) -> Result<Self, Unreadable> {
        let name = at.field("name")?.text()?;
        if at
            .optional("error_occurred")
            .is_some_and(|error| error.is_true())
        {
            let said = match at.optional("error_message") {
                Some(message) => message.text()?,
                None => "no reason given",
            };
            let detail = format!(
                "is the benchmark `{name}`, which failed ({said}); mend it or leave it out"
            );
            return Err(at.wrong(detail));
        }
        let aggregate = at
            .optional("aggregate_name")
            .map(|a| a.text())
            .transpose()?;
        if at.optional("run_type").is_some() {
            let name = at.optional("run_name").map_or(Ok(name), |n| n.text())?;
            return Ok(Self {
                at,
                name,
                aggregate,
            });
        }
        // Before 1.5 an aggregate was told by the end of its name.
        let found = ["mean", "median", "stddev", "cv", "BigO", "RMS"]
            .into_iter()
            .find_map(|aggregate| {
                let base = name.strip_suffix(aggregate)?.strip_suffix('_')?;
                Some((base, aggregate))
            });
        let (name, aggregate) = found.map_or((name, None), |(base, a)| (base, Some(a)));
        Ok(Self {
            at,
            name,
            aggregate,
        })
    }

    fn read(&self, metrics: &mut Vec<Metric>) -> Result<(), Unreadable> {
        let (name, dim) = split_name(self.name);
        let prefix = match self.aggregate {
            Some(aggregate) => format!("google_benchmark.{name}.{aggregate}_"),
            None => format!("google_benchmark.{name}."),
        };
        let unit = self.unit()?;
        for time in ["real_time", "cpu_time"] {
            let found = self.at.field(time)?;
            let value = unit
                .to_nanoseconds(found.digits()?)
                .map_err(|detail| found.wrong(format_args!("of `{name}`: {detail}")))?;
            let key = format!("{prefix}{time}_ns");
            metrics.push(metric(&key, &dim, value, Kind::Timed).map_err(|d| self.at.wrong(d))?);
        }
        for (counter, found) in self.at.entries()? {
            if BOOKKEEPING.contains(&counter) || !found.is_number() {
                continue;
            }
            let value = number::plain(found.digits()?).map_err(|detail| found.wrong(detail))?;
            let key = format!("{prefix}{}", tidy(counter));
            metrics.push(metric(&key, &dim, value, Kind::Timed).map_err(|d| self.at.wrong(d))?);
        }
        Ok(())
    }

    fn unit(&self) -> Result<Time, Unreadable> {
        let unit = self.at.field("time_unit")?;
        let name = unit.text()?;
        Time::named(name)
            .ok_or_else(|| unit.wrong(format_args!("`{name}` is no unit of time that is known")))
    }
}

/// `BM_Sum/n:8/real_time/threads:2` is `BM_Sum/real_time` with two parameters.
fn split_name(name: &str) -> (String, Dim) {
    let mut dim = Dim::scalar();
    let mut kept = Vec::new();
    for (index, part) in name.split('/').enumerate() {
        match part.split_once(':') {
            Some((key, value))
                if index > 0 && !key.is_empty() && !value.starts_with(':') && !dim.has(key) =>
            {
                dim = dim.with(key, value);
            }
            _ => kept.push(part),
        }
    }
    (tidy(&kept.join("/")), dim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_arguments_are_the_dimension() {
        for (name, kept, dim) in [
            ("BM_Sum", "BM_Sum", ""),
            ("BM_Sum/8/64", "BM_Sum/8/64", ""),
            (
                "BM_Sum/n:8/real_time/threads:2",
                "BM_Sum/real_time",
                "n=8,threads=2",
            ),
            ("ns::BM<a::b>/n:8", "ns::BM<a::b>", "n=8"),
            ("BM/a::b/n:1/n:2", "BM/a::b/n:2", "n=1"),
        ] {
            let (found, found_dim) = split_name(name);
            assert_eq!(
                (found.as_str(), found_dim.key().unwrap().as_str()),
                (kept, dim)
            );
        }
    }
}
