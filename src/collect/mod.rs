//! What measuring tools leave -> metrics. Pure: text or bytes in, numbers out; opens no file.
//!
//! Each tool has a module, and its module says which metrics it yields. Three rules hold for all:
//!
//! - A number is one that the file holds, brought to the unit of its metric, or a sum of such. What
//!   cannot be read, or was cut short, is an error and never a zero.
//! - The unit stands in the metric's key and is the same whatever the tool printed: `_ns` for every
//!   time, `_bytes` for every size, `_per_second` for every rate but locust's.
//! - A benchmark's name is kept in the key, its parameters go into the dimension as [`Dim`] writes
//!   them: `k=v` pairs sorted by `k`. A name that is too long is shortened in one fixed way, and a
//!   memory address is left out of it; both are noted.
//!
//! Nothing gets lost silently. A name that a file has twice refuses the file, what is left out on
//! purpose (a skipped benchmark) is noted, and a benchmark whose time, rate or amount of work is zero
//! measured nothing and refuses the file.
//!
//! A metric that was read off a real clock has `wallclock` set, and is compared within one class of
//! hosts alone.

mod binary;
mod callgrind;
mod criterion;
mod dim;
mod go_bench;
mod google_benchmark;
mod hyperfine;
mod jmh;
mod json;
mod lines;
mod list;
mod locust;
mod long;
mod massif;
mod number;
mod performance_schema;
mod pytest_benchmark;
mod size;
mod sysbench;
pub(crate) mod text;
mod values;

use std::fmt;

use rust_decimal::Decimal;

use crate::domain::{Metric, MetricKey, MetricName, Value, is_invisible};

pub(crate) use number::median;

pub use binary::read as read_binary;
pub use callgrind::{Callgrind, CallgrindError, Parts};
pub use criterion::{Criterion, read as read_criterion};
pub use dim::Dim;
pub use go_bench::read as read_go_bench;
pub use google_benchmark::read as read_google_benchmark;
pub use hyperfine::read as read_hyperfine;
pub use jmh::read as read_jmh;
pub use locust::read as read_locust;
pub use massif::{Massif, read as read_massif};
pub use performance_schema::PerformanceSchema;
pub use pytest_benchmark::read as read_pytest_benchmark;
pub use size::{FileSize, Sizes, read as read_sizes};
pub use sysbench::read as read_sysbench;
pub use values::read as read_values;

/// What a file yielded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The numbers, in the order of the file.
    pub metrics: Vec<Metric>,
    /// What was read, for a person: `sysbench 1.0.20, 4 threads`.
    pub what: String,
    /// What a person must know beside it: benchmarks that were left out, names that were shortened.
    pub notes: Vec<String>,
}

/// What is to become of numbers that failed commands and requests measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Failures {
    /// They refuse the file.
    #[default]
    Refused,
    /// They are taken, where there are any, and noted.
    Taken,
}

/// Why a file yields nothing: what is wrong, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The line, from 1 on, where the fault has one.
    pub line: Option<u64>,
    /// What is wrong, and what to do about it.
    pub detail: String,
}

impl Unreadable {
    fn whole(detail: impl fmt::Display) -> Self {
        Self {
            line: None,
            detail: detail.to_string(),
        }
    }

    fn at(line: u64, detail: impl fmt::Display) -> Self {
        Self {
            line: Some(line),
            detail: detail.to_string(),
        }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.detail),
            None => f.write_str(&self.detail),
        }
    }
}

impl std::error::Error for Unreadable {}

/// Whether a number was read off a real clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Counted: the same on every host.
    Counted,
    /// Timed: tells of the host as well.
    Timed,
}

/// A metric, or why its key or its dimension is not one.
fn metric(key: &str, dim: &Dim, value: Value, kind: Kind) -> Result<Metric, String> {
    let metric_key: MetricKey = key.parse().map_err(|error| {
        format!("the metric key `{key}` {error}; give what was measured a shorter, plain name")
    })?;
    Ok(Metric {
        name: MetricName {
            metric_key,
            dim_key: dim.key()?,
        },
        value,
        wallclock: kind == Kind::Timed,
    })
}

/// The main number of a benchmark, which is more than zero where anything was measured.
fn measured(what: impl fmt::Display, value: Value) -> Result<Value, String> {
    if value.decimal() > Decimal::ZERO {
        return Ok(value);
    }
    Err(format!(
        "{what} is {value}: nothing was measured; mend the benchmark, or leave it out"
    ))
}

/// A name as a key holds it: white space and characters that are not seen become one space.
fn tidy(name: &str) -> String {
    name.split(|c: char| c.is_whitespace() || is_invisible(c))
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// `1 part`, `2 parts`.
pub(crate) fn plural(count: usize, word: &str) -> String {
    if count == 1 {
        format!("1 {word}")
    } else {
        format!("{count} {word}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_does_not_fit_says_what_to_do() {
        let value = "1".parse().unwrap();
        let error = metric("", &Dim::scalar(), value, Kind::Timed).unwrap_err();
        assert!(error.contains("must not be empty"), "{error}");
        assert!(error.contains("plain name"), "{error}");
    }

    #[test]
    fn zero_is_no_measurement() {
        let value = |text: &str| text.parse().unwrap();
        assert!(measured("the mean", value("0.0001")).is_ok());
        for zero in ["0", "-0", "0.00", "-1"] {
            let error = measured("the mean", value(zero)).unwrap_err();
            assert!(error.contains("nothing was measured"), "{error}");
        }
    }

    #[test]
    fn names_are_kept_but_for_their_white_space() {
        assert_eq!(tidy(" sleep\t0.1\n&&  true "), "sleep 0.1 && true");
        assert_eq!(tidy("BM_Sum/8"), "BM_Sum/8");
        assert_eq!(tidy("a\u{202e}b\u{200b}"), "a b");
    }
}
