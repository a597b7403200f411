//! What `go test -bench` prints -> how long, and with what else, one operation took.
//!
//! `go.<Benchmark>.ns_per_op`, `.MB_per_s`, `.B_per_op`, `.allocs_per_op` and whatever
//! `b.ReportMetric` reports. Parts of a name such as `size=8` are the dimension, with `pkg=...` for
//! the package and `gomaxprocs=N` for the number that ends a name. Bytes and allocations are
//! counted, all else is wall-clock.
//!
//! Of a benchmark that was run several times (`-count`), the median is taken.

use std::collections::BTreeMap;

use super::number::{self, Time};
use super::{Dim, Kind, Reading, Unreadable, metric, plural, tidy};
use crate::domain::{Metric, MetricName, Value};

/// Reads the output.
///
/// # Errors
/// The line that does not fit, and why; or that the run failed.
pub fn read(text: &str) -> Result<Reading, Unreadable> {
    let mut found = Found::default();
    let mut package = None;
    let mut ended = false;
    for (number, line) in (1..).zip(text.lines()) {
        let at = |detail: &str| Unreadable::at(number, detail);
        if line.starts_with('{') {
            return Err(at("is JSON; run `go test -bench` without -json"));
        }
        if line == "FAIL" || line.starts_with("FAIL\t") || line.starts_with("--- FAIL") {
            return Err(at("the run failed; its numbers are not to be trusted"));
        }
        if let Some(name) = line.strip_prefix("pkg: ") {
            package = Some(name.trim().to_owned());
            ended = false;
        }
        ended |= line == "PASS" || line.starts_with("ok ") || line.starts_with("ok\t");
        if line.starts_with("Benchmark") {
            ended = false;
            found
                .take(line, package.as_deref())
                .map_err(|detail| at(&detail))?;
        }
    }
    if !ended {
        return Err(Unreadable::whole(
            "has no `PASS` or `ok` at its end: the run was cut short, or this is no output of `go test -bench`",
        ));
    }
    found.finish()
}

#[derive(Default)]
struct Found {
    /// By name: whether it is wall-clock, and the value of each run.
    values: BTreeMap<MetricName, (bool, Vec<Value>)>,
    benchmarks: usize,
}

impl Found {
    fn take(&mut self, line: &str, package: Option<&str>) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        // A benchmark that prints has its name alone on a line, and its numbers on another.
        let [name, iterations, pairs @ ..] = words.as_slice() else {
            return Ok(());
        };
        if iterations.parse::<u64>().is_err() {
            return Ok(());
        }
        if pairs.is_empty() || pairs.len() % 2 != 0 {
            return Err(
                "must be pairs of a number and its unit after the count; the line was cut short"
                    .to_owned(),
            );
        }
        self.benchmarks += 1;
        let (name, dim) = split_name(name, package);
        for pair in pairs.chunks(2) {
            let (text, unit) = (pair[0], pair[1]);
            let value = if unit == "ns/op" {
                Time::Nanoseconds.to_nanoseconds(text)?
            } else {
                number::plain(text)?
            };
            let kind = if matches!(unit, "B/op" | "allocs/op") {
                Kind::Counted
            } else {
                Kind::Timed
            };
            let key = format!("go.{name}.{}", unit.replace('/', "_per_"));
            let metric = metric(&key, &dim, value, kind)?;
            let entry = self.values.entry(metric.name).or_default();
            entry.0 = metric.wallclock;
            entry.1.push(value);
        }
        Ok(())
    }

    fn finish(self) -> Result<Reading, Unreadable> {
        if self.values.is_empty() {
            return Err(Unreadable::whole(
                "holds no benchmark: check the pattern of -bench",
            ));
        }
        let mut metrics = Vec::with_capacity(self.values.len());
        for (name, (wallclock, mut values)) in self.values {
            let value = number::median(&mut values)
                .ok_or_else(|| Unreadable::whole("the numbers are too large"))?;
            metrics.push(Metric {
                name,
                value,
                wallclock,
            });
        }
        Ok(Reading {
            metrics,
            what: format!("go test -bench, {}", plural(self.benchmarks, "line")),
        })
    }
}

/// `BenchmarkMake/size=8/fill-2` is `BenchmarkMake/fill` with two parameters.
fn split_name(name: &str, package: Option<&str>) -> (String, Dim) {
    let mut dim = Dim::scalar();
    if let Some(package) = package {
        dim = dim.with("pkg", package);
    }
    let mut name = name;
    if let Some((rest, procs)) = name.rsplit_once('-')
        && !procs.is_empty()
        && procs.bytes().all(|b| b.is_ascii_digit())
    {
        dim = dim.with("gomaxprocs", procs);
        name = rest;
    }
    let mut kept = Vec::new();
    for part in name.split('/') {
        match part.split_once('=') {
            Some((key, value)) if !key.is_empty() && !dim.has(key) => dim = dim.with(key, value),
            _ => kept.push(part),
        }
    }
    (tidy(&kept.join("/")), dim)
}
