//! JMH's JSON (`-rf json`) -> what each benchmark scored.
//!
//! | mode | metric |
//! | --- | --- |
//! | `thrpt` | `jmh.<benchmark>.thrpt_ops_per_second` |
//! | `avgt`, `sample`, `ss` | `jmh.<benchmark>.avgt_ns_per_op` and so on |
//!
//! All are wall-clock. `@Param` fields are the dimension, with `threads=N` where there are several.
//! Secondary metrics have their own name and unit behind the benchmark's
//! (`jmh.<benchmark>.gc.alloc.rate.norm_B_per_op`); one that has no score is left out.

use rust_decimal::Decimal;

use super::json::{self, At};
use super::number::{self, Time};
use super::{Dim, Kind, Reading, Unreadable, metric, plural, tidy};
use crate::domain::{Metric, Value};

/// Reads an export.
///
/// # Errors
/// What does not fit, with its JSON pointer.
pub fn read(text: &str) -> Result<Reading, Unreadable> {
    let json = json::parse(text)?;
    let benchmarks = At::top(&json).items()?;
    let mut metrics = Vec::new();
    for benchmark in &benchmarks {
        read_benchmark(benchmark, &mut metrics)?;
    }
    if metrics.is_empty() {
        return Err(Unreadable::whole("holds no benchmark: JMH ran none"));
    }
    Ok(Reading {
        metrics,
        what: format!("JMH, {}", plural(benchmarks.len(), "benchmark")),
    })
}

fn read_benchmark(benchmark: &At<'_>, metrics: &mut Vec<Metric>) -> Result<(), Unreadable> {
    let name = tidy(benchmark.field("benchmark")?.text()?);
    let mode = tidy(benchmark.field("mode")?.text()?);
    let dim = read_dim(benchmark)?;
    let primary = benchmark.field("primaryMetric")?;
    let (value, unit) = read_score(&primary)?;
    let key = format!("jmh.{name}.{mode}_{unit}");
    metrics.push(metric(&key, &dim, value, Kind::Timed).map_err(|d| benchmark.wrong(d))?);
    let Some(secondary) = benchmark.optional("secondaryMetrics") else {
        return Ok(());
    };
    for (label, found) in secondary.entries()? {
        if !found.field("score")?.is_number() {
            continue;
        }
        let (value, unit) = read_score(&found)?;
        let key = format!("jmh.{name}.{}_{unit}", tidy(label.trim_start_matches('·')));
        metrics.push(metric(&key, &dim, value, Kind::Timed).map_err(|d| benchmark.wrong(d))?);
    }
    Ok(())
}

fn read_dim(benchmark: &At<'_>) -> Result<Dim, Unreadable> {
    let mut dim = Dim::scalar();
    if let Some(threads) = benchmark.optional("threads").filter(|t| t.words() != "1") {
        dim = dim.with("threads", threads.words());
    }
    if let Some(params) = benchmark.optional("params") {
        for (name, value) in params.entries()? {
            dim = dim.with(name, tidy(&value.words()));
        }
    }
    Ok(dim)
}

/// A score and its unit: a time an operation in nanoseconds, operations a second, or as it is.
fn read_score(score: &At<'_>) -> Result<(Value, String), Unreadable> {
    let unit = score.field("scoreUnit")?.text()?;
    let number = score.field("score")?;
    if !number.is_number() {
        return Err(number.wrong(format_args!(
            "is {}, which is no score: the benchmark failed",
            number.words()
        )));
    }
    let text = number.digits()?;
    let wrong = |detail: String| number.wrong(detail);
    match unit.split_once('/') {
        Some((time, "op")) => match JmhTime::named(time) {
            Some(time) => Ok((time.each(text).map_err(wrong)?, "ns_per_op".to_owned())),
            None => as_it_is(text, unit).map_err(wrong),
        },
        Some(("ops", time)) => match JmhTime::named(time) {
            Some(time) => Ok((time.rate(text).map_err(wrong)?, "ops_per_second".to_owned())),
            None => as_it_is(text, unit).map_err(wrong),
        },
        _ => as_it_is(text, unit).map_err(wrong),
    }
}

fn as_it_is(text: &str, unit: &str) -> Result<(Value, String), String> {
    Ok((number::plain(text)?, tidy(unit).replace('/', "_per_")))
}

/// The units of JMH: those of ten, and those of sixty.
enum JmhTime {
    Decimal(Time),
    /// So many seconds.
    Long(u32),
}

impl JmhTime {
    fn named(name: &str) -> Option<Self> {
        match name {
            "min" => Some(Self::Long(60)),
            "hr" => Some(Self::Long(60 * 60)),
            "day" => Some(Self::Long(24 * 60 * 60)),
            _ => Time::named(name).map(Self::Decimal),
        }
    }

    fn each(&self, text: &str) -> Result<Value, String> {
        match self {
            Self::Decimal(time) => time.to_nanoseconds(text),
            Self::Long(seconds) => {
                let value = Time::Seconds.to_nanoseconds(text)?;
                let product = value.decimal().checked_mul(Decimal::from(*seconds));
                converted(text, product)
            }
        }
    }

    fn rate(&self, text: &str) -> Result<Value, String> {
        match self {
            Self::Decimal(time) => time.rate_to_seconds(text),
            Self::Long(seconds) => {
                let value = number::plain(text)?;
                let rate = value.decimal().checked_div(Decimal::from(*seconds));
                converted(text, rate)
            }
        }
    }
}

fn converted(text: &str, number: Option<Decimal>) -> Result<Value, String> {
    let number = number.ok_or_else(|| format!("`{text}` is too large"))?;
    number::plain(&number.to_string())
}
