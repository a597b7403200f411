//! JMH's JSON (`-rf json`) -> what each benchmark scored.
//!
//! | mode | metric |
//! | --- | --- |
//! | `thrpt` | `jmh.<benchmark>.thrpt_ops_per_second` |
//! | `avgt`, `sample`, `ss` | `jmh.<benchmark>.avgt_ns_per_op` and so on |
//!
//! All are wall-clock. `@Param` fields are the dimension, with `threads=N` where there are several.
//! Secondary metrics have their own name and unit behind the benchmark's
//! (`jmh.<benchmark>.gc.alloc.rate.norm_B_per_op`), and the dimension `mode=...` where one benchmark
//! ran in several modes. One that has no score (`gc.time` where nothing was collected) is left out
//! and noted. A secondary amount below a ten-thousandth of its unit is rounded: 1e-5 bytes a
//! call are none, and the profilers print such remainders for every benchmark that allocates nothing.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use super::json::{self, At};
use super::list::MetricList;
use super::number::{self, Time};
use super::{Dim, Kind, Reading, Unreadable, measured, plural, tidy};
use crate::domain::Value;

/// Reads an export.
///
/// # Errors
/// What does not fit, with its JSON pointer.
pub fn read(text: &str) -> Result<Reading, Unreadable> {
    let json = json::parse(text)?;
    let benchmarks = At::top(&json).items()?;
    let mut runs: BTreeMap<String, usize> = BTreeMap::new();
    for benchmark in &benchmarks {
        *runs.entry(identity(benchmark)?).or_default() += 1;
    }
    let mut list = MetricList::default();
    for benchmark in &benchmarks {
        let modes = runs.get(&identity(benchmark)?).copied().unwrap_or(1);
        read_benchmark(benchmark, modes > 1, &mut list)?;
    }
    let count = plural(benchmarks.len(), "benchmark");
    list.finish(format!("JMH, {count}"), "holds no benchmark: JMH ran none")
}

/// A benchmark with its parameters, whatever its mode.
fn identity(benchmark: &At<'_>) -> Result<String, Unreadable> {
    let name = benchmark.field("benchmark")?.text()?;
    Ok(format!("{name}{{{}}}", read_dim(benchmark)?))
}

fn read_benchmark(
    benchmark: &At<'_>,
    has_modes: bool,
    list: &mut MetricList,
) -> Result<(), Unreadable> {
    let name = tidy(benchmark.field("benchmark")?.text()?);
    let mode = tidy(benchmark.field("mode")?.text()?);
    let dim = read_dim(benchmark)?;
    let primary = benchmark.field("primaryMetric")?;
    let (value, unit) = read_score(&primary, exact)?;
    let value = measured(format_args!("the score of `{name}`"), value)
        .map_err(|detail| primary.wrong(detail))?;
    let key = format!("jmh.{name}.{mode}_{unit}");
    list.add(&key, &dim, value, Kind::Timed)
        .map_err(|detail| benchmark.wrong(detail))?;
    let Some(secondary) = benchmark.optional("secondaryMetrics") else {
        return Ok(());
    };
    let dim = if has_modes {
        dim.with("mode", mode)
    } else {
        dim
    };
    for (label, found) in secondary.entries()? {
        let label = tidy(label.trim_start_matches('·'));
        let score = found.field("score")?;
        if !score.is_number() {
            let words = score.words();
            list.note(format!("`{label}` of `{name}` is {words} and is left out"));
            continue;
        }
        let (value, unit) = read_score(&found, rounded)?;
        let key = format!("jmh.{name}.{label}_{unit}");
        list.add(&key, &dim, value, Kind::Timed)
            .map_err(|detail| benchmark.wrong(detail))?;
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
            dim = dim.with(name, tidy(without_hash(&value.scalar()?)));
        }
    }
    Ok(dim)
}

/// `org.example.Queue@1b2c3d4` is how Java writes an object that has no words of its own: its class
/// and a number that is another one on every run.
fn without_hash(text: &str) -> &str {
    let Some((class, hash)) = text.rsplit_once('@') else {
        return text;
    };
    let is_class = !class.is_empty()
        && class
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '$' | '[' | ';' | '/'));
    let is_hash = (1..=8).contains(&hash.len())
        && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if is_class && is_hash { class } else { text }
}

/// A score and its unit: a time an operation in nanoseconds, operations a second, or as it is.
fn read_score(
    score: &At<'_>,
    plain: fn(&str) -> Result<Value, String>,
) -> Result<(Value, String), Unreadable> {
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
            None => as_it_is(text, unit, plain).map_err(wrong),
        },
        Some(("ops", time)) => match JmhTime::named(time) {
            Some(time) => Ok((time.rate(text).map_err(wrong)?, "ops_per_second".to_owned())),
            None => as_it_is(text, unit, plain).map_err(wrong),
        },
        _ => as_it_is(text, unit, plain).map_err(wrong),
    }
}

fn as_it_is(
    text: &str,
    unit: &str,
    plain: fn(&str) -> Result<Value, String>,
) -> Result<(Value, String), String> {
    Ok((plain(text)?, tidy(unit).replace('/', "_per_")))
}

fn exact(text: &str) -> Result<Value, String> {
    number::plain(text)
}

/// The number to four decimals, and to zero where it is smaller than they show.
fn rounded(text: &str) -> Result<Value, String> {
    number::plain(text).or_else(|why| number::rounded(text).ok_or(why))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_its_class_and_a_text_stays() {
        for (text, kept) in [
            ("org.example.Queue@1b2c3d4", "org.example.Queue"),
            ("[Ljava.lang.String;@7a81197d", "[Ljava.lang.String;"),
            ("a@example.org", "a@example.org"),
            ("a b@12", "a b@12"),
            ("@12", "@12"),
            ("16", "16"),
        ] {
            assert_eq!(without_hash(text), kept);
        }
    }
}
