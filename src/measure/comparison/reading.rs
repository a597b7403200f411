//! What a cell's program printed -> the counts and the metrics of its trial.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::collect::{self, Failures, Kind, Reading};
use crate::judge::comparison::Quantity;
use crate::judge::comparison::contract::{Collector, own_metrics};

/// The numbers of a trial.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Numbers {
    /// What must come out right.
    #[serde(default)]
    pub(super) counts: BTreeMap<String, Quantity>,
    /// What is compared.
    #[serde(default)]
    pub(super) metrics: BTreeMap<String, Quantity>,
}

/// The numbers in a program's output. A program that prints no JSON and no report has none: what
/// the runner measures is enough then.
///
/// # Errors
/// Why the output cannot be read, for a person.
pub(super) fn read(text: &str, collector: Option<Collector>) -> Result<Numbers, String> {
    let numbers = match collector {
        Some(collector) => collected(text, collector)?,
        None if text.trim_start().starts_with('{') => serde_json::from_str(text)
            .map_err(|error| format!("what the program printed is no trial: {error}"))?,
        None => Numbers::default(),
    };
    let taken = own_metrics::ALL
        .into_iter()
        .find(|name| numbers.counts.contains_key(*name) || numbers.metrics.contains_key(*name));
    match taken {
        Some(name) => Err(format!(
            "`{name}` is measured by the runner; give what the program measured another name"
        )),
        None => Ok(numbers),
    }
}

fn collected(text: &str, collector: Collector) -> Result<Numbers, String> {
    let reading = match collector {
        Collector::GoBench => collect::read_go_bench(text),
        Collector::GoogleBenchmark => collect::read_google_benchmark(text, Failures::Refused),
        Collector::Hyperfine => collect::read_hyperfine(text, Failures::Refused),
        Collector::Jmh => collect::read_jmh(text),
        Collector::Locust => collect::read_locust(text, Failures::Refused),
        Collector::PytestBenchmark => collect::read_pytest_benchmark(text),
        Collector::Sysbench => collect::read_sysbench(text),
        Collector::Values => collect::read_values(text, Kind::Timed),
    };
    let reading = reading.map_err(|error| format!("the report of the program {error}"))?;
    Ok(Numbers {
        counts: BTreeMap::new(),
        metrics: named(&reading)?,
    })
}

/// By key alone where one metric has it, else with its dimension: `key{threads=4}`.
fn named(reading: &Reading) -> Result<BTreeMap<String, Quantity>, String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for metric in &reading.metrics {
        *seen.entry(metric.name.metric_key.as_str()).or_default() += 1;
    }
    let mut named = BTreeMap::new();
    for metric in &reading.metrics {
        let key = metric.name.metric_key.as_str();
        let name = match seen.get(key) {
            Some(1) => key.to_owned(),
            _ => format!("{key}{{{}}}", metric.name.dim_key),
        };
        named.insert(name, Quantity::parse(&metric.value.to_string())?);
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_json_or_nothing() {
        let read = |text| super::read(text, None);
        let numbers = read(r#" {"counts": {"sent": 3}, "metrics": {"p99_ms": 1.5}} "#).unwrap();
        assert_eq!(numbers.counts["sent"], Quantity::from(3));
        assert_eq!(numbers.metrics["p99_ms"].get(), 1.5);
        assert_eq!(read("sorted 100 lines\n").unwrap(), Numbers::default());
        assert_eq!(read("").unwrap(), Numbers::default());
        assert!(read("{\"counts\": {\"sent\": \"3\"}}").is_err());
        assert!(read("{\"count\": {}}").unwrap_err().contains("is no trial"));
        let own = read("{\"metrics\": {\"cpu_seconds\": 1}}").unwrap_err();
        assert!(own.contains("measured by the runner"), "{own}");
    }

    #[test]
    fn a_report_is_read_by_its_collector() {
        let report = include_str!("../../../tests/fixtures/sysbench/oltp_read_write.txt");
        let numbers = read(report, Some(Collector::Sysbench)).unwrap();
        assert_eq!(numbers.metrics["sysbench.events"].get(), 50.0);
        let error = read("FATAL: no", Some(Collector::Sysbench)).unwrap_err();
        assert!(
            error.starts_with("the report of the program has no line"),
            "{error}"
        );
    }
}
