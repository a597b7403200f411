//! The report of sysbench 1.0 -> what it measured, for one number of threads.
//!
//! Every metric has the dimension `threads=N`, is wall-clock, and is called `sysbench.` and
//!
//! | metric | is |
//! | --- | --- |
//! | `transactions`, `queries`, `queries_read`, `queries_write`, `queries_other`, `ignored_errors`, `reconnects` | counts of an OLTP script |
//! | `transactions_per_second`, `queries_per_second` | its rates |
//! | `events_per_second` | the rate of `cpu` |
//! | `operations`, `operations_per_second`, `transferred_mib_per_second` | `memory` |
//! | `reads_per_second`, `writes_per_second`, `fsyncs_per_second`, `read_mib_per_second`, `written_mib_per_second` | `fileio` |
//! | `events`, `total_time_ns` | any test |
//! | `latency_min_ns`, `latency_avg_ns`, `latency_max_ns`, `latency_p95_ns`, `latency_sum_ns` | any test; the percentile is the one that `--percentile` named |
//!
//! What stands before the statistics (the progress lines of `--report-interval`, a script's own
//! prints) is passed over. A report without its last line was cut short.

use super::number::{self, Time};
use super::{Dim, Kind, Reading, Unreadable, metric};
use crate::domain::{Metric, Value};

/// Reads a report.
///
/// # Errors
/// The line that does not fit, and why; or that the report is not whole.
pub fn read(text: &str) -> Result<Reading, Unreadable> {
    let version = check_version(text)?;
    let threads = find_threads(text)?;
    let mut report = Report {
        dim: Dim::scalar().with("threads", &threads),
        section: Section::Head,
        metrics: Vec::new(),
        whole: false,
    };
    for (number, line) in (1..).zip(text.lines()) {
        report
            .take(line)
            .map_err(|detail| Unreadable::at(number, detail))?;
    }
    if !report.whole {
        return Err(Unreadable::whole(
            "has no `Threads fairness:` at its end: the report was cut short, or sysbench failed; its last lines say why",
        ));
    }
    Ok(Reading {
        metrics: report.metrics,
        what: format!("sysbench {version}, threads={threads}"),
    })
}

fn check_version(text: &str) -> Result<String, Unreadable> {
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("sysbench ")?.split_whitespace().next());
    match version {
        Some(version) if version.starts_with("1.0.") => Ok(version.to_owned()),
        Some(version) => Err(Unreadable::whole(format!(
            "is a report of sysbench {version}; those of 1.0 are read"
        ))),
        None => Err(Unreadable::whole(
            "has no line `sysbench 1.0...`: this is no whole report of sysbench",
        )),
    }
}

fn find_threads(text: &str) -> Result<String, Unreadable> {
    let threads = text
        .lines()
        .find_map(|line| line.strip_prefix("Number of threads:"))
        .map(str::trim)
        .filter(|threads| threads.parse::<u32>().is_ok());
    threads.map(str::to_owned).ok_or_else(|| {
        Unreadable::whole(
            "has no `Number of threads:`; give what `sysbench ... run` printed, whole",
        )
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Head,
    Sql,
    Cpu,
    FileOperations,
    FileThroughput,
    General,
    Latency,
    Fairness,
}

impl Section {
    fn titled(line: &str) -> Option<Self> {
        match line.trim_end() {
            "SQL statistics:" => Some(Self::Sql),
            "CPU speed:" => Some(Self::Cpu),
            "File operations:" => Some(Self::FileOperations),
            "Throughput:" => Some(Self::FileThroughput),
            "General statistics:" => Some(Self::General),
            "Latency (ms):" => Some(Self::Latency),
            "Threads fairness:" => Some(Self::Fairness),
            _ => None,
        }
    }
}

struct Report {
    dim: Dim,
    section: Section,
    metrics: Vec<Metric>,
    whole: bool,
}

impl Report {
    fn take(&mut self, line: &str) -> Result<(), String> {
        if let Some(section) = Section::titled(line) {
            self.section = section;
            return Ok(());
        }
        if self.section == Section::Head {
            return self.take_memory(line);
        }
        let Some((label, value)) = line.trim().rsplit_once(':') else {
            return self.take_memory(line);
        };
        self.take_labelled(label.trim(), value.trim())
    }

    fn take_labelled(&mut self, label: &str, value: &str) -> Result<(), String> {
        let plain = |name: &str| Some((name.to_owned(), number::plain(value)));
        let ms = |name: &str| Some((name.to_owned(), Time::Milliseconds.to_nanoseconds(value)));
        let found = match (self.section, label) {
            (Section::Sql, "read" | "write" | "other") => plain(&format!("queries_{label}")),
            (Section::Sql, "transactions" | "queries") => {
                return self.with_rate(label, label, value);
            }
            (Section::Sql, "ignored errors") => return self.count_of_rate("ignored_errors", value),
            (Section::Sql, "reconnects") => return self.count_of_rate("reconnects", value),
            (Section::Cpu, "events per second") => plain("events_per_second"),
            (Section::FileOperations, "reads/s") => plain("reads_per_second"),
            (Section::FileOperations, "writes/s") => plain("writes_per_second"),
            (Section::FileOperations, "fsyncs/s") => plain("fsyncs_per_second"),
            (Section::FileThroughput, "read, MiB/s") => plain("read_mib_per_second"),
            (Section::FileThroughput, "written, MiB/s") => plain("written_mib_per_second"),
            (Section::General, "total number of events") => plain("events"),
            (Section::General, "total time") => Some(("total_time_ns".to_owned(), seconds(value))),
            (Section::Latency, "min" | "avg" | "max" | "sum") => ms(&format!("latency_{label}_ns")),
            (Section::Latency, percentile) => match percentile.strip_suffix("th percentile") {
                Some(rank) => ms(&format!("latency_p{rank}_ns")),
                None => None,
            },
            (Section::Fairness, "execution time (avg/stddev)") => {
                self.whole = value.split('/').count() == 2;
                None
            }
            _ => None,
        };
        match found {
            Some((name, value)) => self.add(&name, value?),
            None => Ok(()),
        }
    }

    /// `Total operations: 65536 (1694399.13 per second)` and
    /// `64.00 MiB transferred (1654.69 MiB/sec)` have no title above them.
    fn take_memory(&mut self, line: &str) -> Result<(), String> {
        if let Some(value) = line.strip_prefix("Total operations:") {
            return self.with_rate("operations", "operations", value.trim());
        }
        if let Some((_, rate)) = line.split_once(" MiB transferred (") {
            let rate = rate.trim_end().trim_end_matches(" MiB/sec)");
            return self.add("transferred_mib_per_second", number::plain(rate)?);
        }
        Ok(())
    }

    /// `100    (367.39 per sec.)`: a count and its rate.
    fn with_rate(&mut self, count_name: &str, rate_name: &str, text: &str) -> Result<(), String> {
        let (count, rate) = split_rate(text)?;
        self.add(count_name, number::plain(count)?)?;
        self.add(&format!("{rate_name}_per_second"), number::plain(rate)?)
    }

    fn count_of_rate(&mut self, name: &str, text: &str) -> Result<(), String> {
        let (count, _) = split_rate(text)?;
        self.add(name, number::plain(count)?)
    }

    fn add(&mut self, name: &str, value: Value) -> Result<(), String> {
        let key = format!("sysbench.{name}");
        let metric = metric(&key, &self.dim, value, Kind::Timed)?;
        if self.metrics.iter().any(|other| other.name == metric.name) {
            return Err(
                "is the second report of this file; give each report a file of its own".to_owned(),
            );
        }
        self.metrics.push(metric);
        Ok(())
    }
}

fn split_rate(text: &str) -> Result<(&str, &str), String> {
    text.split_once('(')
        .and_then(|(count, rest)| Some((count.trim(), rest.split_once(" per sec")?.0.trim())))
        .ok_or_else(|| format!("`{text}` must be a count and its rate, as `100 (367.39 per sec.)`"))
}

fn seconds(text: &str) -> Result<Value, String> {
    let digits = text
        .strip_suffix('s')
        .ok_or_else(|| format!("`{text}` must be a time in seconds, as `0.2712s`"))?;
    Time::Seconds.to_nanoseconds(digits)
}
