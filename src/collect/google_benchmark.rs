//! google-benchmark's JSON (`--benchmark_out_format=json`) -> how long one iteration took.
//!
//! `google_benchmark.<name>.real_time_ns`, `.cpu_time_ns` and each counter under its own name, such
//! as `.items_per_second`; all wall-clock. Parts of a name such as `n:8` or `threads:2` are the
//! dimension `n=8,threads=2`; an argument without a name stays in the name.
//!
//! Of a benchmark that was repeated, the mean and the median are taken (`.mean_real_time_ns`,
//! `.median_real_time_ns`) and the single repetitions left out. A skipped benchmark is left out and
//! noted, and so is a counter that is no finite number. A benchmark that failed refuses the file,
//! unless the caller lets failures pass; then it is left out and noted.

use std::collections::BTreeSet;

use super::json::{self, At};
use super::list::MetricList;
use super::number::{self, Time};
use super::{Dim, Failures, Kind, Reading, Unreadable, measured, plural, tidy};

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

/// The names that aggregates ended in before 1.5, which had no field for them.
const OLD_AGGREGATES: [&str; 6] = ["mean", "median", "stddev", "cv", "BigO", "RMS"];

/// Reads an export.
///
/// # Errors
/// What does not fit, with its JSON pointer; or which benchmark failed.
pub fn read(text: &str, failures: Failures) -> Result<Reading, Unreadable> {
    let json = json::parse(text)?;
    let items = At::top(&json).field("benchmarks")?.items()?;
    let mut list = MetricList::default();
    let mut entries = Vec::with_capacity(items.len());
    for item in &items {
        if !is_left_out(item, failures, &mut list)? {
            entries.push(Entry::new(item)?);
        }
    }
    let repeated: BTreeSet<&str> = entries
        .iter()
        .filter(|entry| entry.aggregate.is_some())
        .map(|entry| entry.name)
        .collect();
    let mut names = BTreeSet::new();
    for entry in &entries {
        let is_repetition = entry.aggregate.is_none() && repeated.contains(entry.name);
        let is_spread = entry
            .aggregate
            .is_some_and(|name| !matches!(name, "mean" | "median"));
        if is_repetition || is_spread {
            continue;
        }
        names.insert(entry.name);
        entry.read(&mut list)?;
    }
    let what = format!("google-benchmark, {}", plural(names.len(), "benchmark"));
    list.finish(what, "holds no benchmark: none was run")
}

/// Whether an entry is one of a benchmark that was skipped, or that failed where that may be.
fn is_left_out(at: &At<'_>, failures: Failures, list: &mut MetricList) -> Result<bool, Unreadable> {
    let is = |field: &str| at.optional(field).is_some_and(|found| found.is_true());
    let name = at.field("name")?.text()?;
    if is("skipped") {
        let why = at
            .optional_text("skip_message")?
            .unwrap_or("no reason given");
        list.note(format!(
            "`{}` was skipped ({}) and is left out",
            tidy(name),
            tidy(why)
        ));
        return Ok(true);
    }
    if !is("error_occurred") {
        return Ok(false);
    }
    let why = at
        .optional_text("error_message")?
        .unwrap_or("no reason given");
    if failures == Failures::Refused {
        return Err(at.wrong(format_args!(
            "is the benchmark `{name}`, which failed ({why}); mend it, or say --allow-failures to \
             leave it out"
        )));
    }
    list.note(format!(
        "`{}` failed ({}) and is left out",
        tidy(name),
        tidy(why)
    ));
    Ok(true)
}

struct Entry<'a> {
    at: &'a At<'a>,
    name: &'a str,
    aggregate: Option<&'a str>,
}

impl<'a> Entry<'a> {
    fn new(at: &'a At<'a>) -> Result<Self, Unreadable> {
        let name = at.field("name")?.text()?;
        let aggregate = at.optional_text("aggregate_name")?;
        let run_name = at.optional_text("run_name")?;
        let kind = at.optional_text("run_type")?;
        if kind == Some("aggregate") && aggregate.is_none() {
            return Err(at.wrong("is an aggregate and has no `aggregate_name`"));
        }
        if kind.is_none() && aggregate.is_none() {
            return Self::before_1_5(at, name, run_name);
        }
        if let Some(aggregate) = aggregate {
            let whole = run_name.map(|run_name| format!("{run_name}_{aggregate}"));
            if whole.as_deref() != Some(name) {
                return Err(at.wrong(format_args!(
                    "is the aggregate `{aggregate}`, and its `name` is not its `run_name` with that \
                     behind it"
                )));
            }
        }
        Ok(Self {
            at,
            name: run_name.unwrap_or(name),
            aggregate,
        })
    }

    /// An aggregate is told by the end of its name.
    fn before_1_5(
        at: &'a At<'a>,
        name: &'a str,
        run_name: Option<&'a str>,
    ) -> Result<Self, Unreadable> {
        let found = OLD_AGGREGATES.into_iter().find_map(|aggregate| {
            let base = name.strip_suffix(aggregate)?.strip_suffix('_')?;
            Some((base, aggregate))
        });
        let (name, aggregate) = found.map_or((name, None), |(base, a)| (base, Some(a)));
        if run_name.is_some_and(|run_name| run_name != name) {
            return Err(at.wrong("has no `run_type`, which says what its name stands for"));
        }
        Ok(Self {
            at,
            name,
            aggregate,
        })
    }

    fn read(&self, list: &mut MetricList) -> Result<(), Unreadable> {
        let (name, dim) = split_name(self.name);
        let prefix = match self.aggregate {
            Some(aggregate) => format!("google_benchmark.{name}.{aggregate}_"),
            None => format!("google_benchmark.{name}."),
        };
        self.read_times(&name, &prefix, &dim, list)?;
        for (counter, found) in self.at.entries()? {
            if BOOKKEEPING.contains(&counter) {
                continue;
            }
            let key = format!("{prefix}{}", tidy(counter));
            if found.is_not_finite() {
                list.note(format!("`{key}` is {} and is left out", found.words()));
                continue;
            }
            if !found.is_number() {
                continue;
            }
            match number::plain(found.digits()?) {
                Ok(value) => list
                    .add(&key, &dim, value, Kind::Timed)
                    .map_err(|detail| self.at.wrong(detail))?,
                Err(why) => list.note(format!("the counter `{key}` is left out: {why}")),
            }
        }
        Ok(())
    }

    fn read_times(
        &self,
        name: &str,
        prefix: &str,
        dim: &Dim,
        list: &mut MetricList,
    ) -> Result<(), Unreadable> {
        let unit = self.unit()?;
        if let Some(iterations) = self.at.optional("iterations")
            && iterations.is_zero()
        {
            return Err(iterations.wrong(format_args!("of `{name}` is 0: nothing was measured")));
        }
        for time in ["real_time", "cpu_time"] {
            let found = self.at.field(time)?;
            let mut value = found
                .digits()
                .map_err(|error| error.detail)
                .and_then(|digits| unit.to_nanoseconds(digits))
                .map_err(|detail| found.wrong(format_args!("of `{name}`: {detail}")))?;
            // Of a benchmark that only waits, no processor time is left after rounding.
            if time == "real_time" {
                value = measured(format_args!("of `{name}`"), value).map_err(|d| found.wrong(d))?;
            }
            let key = format!("{prefix}{time}_ns");
            list.add(&key, dim, value, Kind::Timed)
                .map_err(|detail| self.at.wrong(detail))?;
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
