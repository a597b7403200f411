//! The report of sysbench 1.0 and 1.1 -> what it measured, for one number of threads.
//!
//! Every metric has the dimension `threads=N`, is wall-clock, and is called `sysbench.` and
//!
//! | metric | is |
//! | --- | --- |
//! | `transactions`, `queries`, `queries_read`, `queries_write`, `queries_other`, `ignored_errors`, `reconnects` | counts of an OLTP script |
//! | `transactions_per_second`, `queries_per_second` | its rates |
//! | `events_per_second` | the rate of `cpu`, and of any test in 1.1 |
//! | `operations`, `operations_per_second`, `transferred_mib_per_second` | `memory` |
//! | `reads_per_second`, `writes_per_second`, `fsyncs_per_second`, `read_mib_per_second`, `written_mib_per_second` | `fileio` |
//! | `events`, `total_time_ns` | any test, but `fileio` of 1.1 |
//! | `latency_min_ns`, `latency_avg_ns`, `latency_max_ns`, `latency_p95_ns`, `latency_sum_ns` | any test; the percentile is the one that `--percentile` named |
//!
//! 1.1 is what sysbench's repository builds since 2017. It prints `Throughput:` in place of
//! `General statistics:`, with other words for the same numbers (`time elapsed` for `total time`), and
//! its `fileio` ends with the latencies. Source: `sb_report_cumulative` in `src/sysbench.c` and
//! `file_report_cumulative` in `src/tests/fileio/sb_fileio.c` of <https://github.com/akopytov/sysbench>.
//!
//! Lines before the statistics (the progress lines of `--report-interval`, a script's own prints)
//! are skipped. A report that lacks one of its last lines was cut short, and one of a test that did
//! nothing refuses the file.

use super::list::MetricList;
use super::number::{self, Time};
use super::{Dim, Kind, Reading, Unreadable};
use crate::domain::Value;

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
        list: MetricList::default(),
        fairness: false,
    };
    for (number, line) in (1..).zip(text.lines()) {
        report
            .take(line)
            .map_err(|detail| Unreadable::at(number, detail))?;
    }
    report.check_whole(text.ends_with('\n'))?;
    report.check_any_work()?;
    report.list.finish(
        format!("sysbench {version}, threads={threads}"),
        "holds no number",
    )
}

fn check_version(text: &str) -> Result<String, Unreadable> {
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("sysbench ")?.split_whitespace().next());
    match version {
        Some(version) if version.starts_with("1.0.") || version.starts_with("1.1.") => {
            Ok(version.to_owned())
        }
        Some(version) => Err(Unreadable::whole(format!(
            "is a report of sysbench {version}; those of 1.0 and 1.1 are read"
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
    /// What `--debug` adds.
    Debug,
    Cpu,
    FileOperations,
    /// Of a file test in 1.0 and 1.1, and of any test in 1.1.
    Throughput,
    General,
    Latency,
    Fairness,
}

impl Section {
    fn titled(line: &str) -> Option<Self> {
        match line.trim_end() {
            "SQL statistics:" => Some(Self::Sql),
            "Query execution statistics:" | "Results fetching statistics:" => Some(Self::Debug),
            "CPU speed:" => Some(Self::Cpu),
            "File operations:" => Some(Self::FileOperations),
            "Throughput:" => Some(Self::Throughput),
            "General statistics:" => Some(Self::General),
            "Latency (ms):" => Some(Self::Latency),
            "Threads fairness:" => Some(Self::Fairness),
            _ => None,
        }
    }
}

/// What a line of a section holds.
enum Found {
    /// A number and the name of its metric.
    Number(String, Result<Value, String>),
    /// A count and its rate, under the names of both; the rate may be left out.
    Rate(&'static str, Option<&'static str>),
    /// `IOPS=1.00 2.00 MiB/s (2.10 MB/s)`: a rate, and perhaps the bytes.
    Iops(&'static str, Option<&'static str>),
    /// A line without a number of its own.
    Nothing,
}

struct Report {
    dim: Dim,
    section: Section,
    list: MetricList,
    /// Whether the last line of the last section was there.
    fairness: bool,
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
        let Some((label, value)) = line.trim().split_once(':') else {
            return self.take_memory(line);
        };
        self.take_labelled(label.trim(), value.trim())
    }

    fn take_labelled(&mut self, label: &str, value: &str) -> Result<(), String> {
        let found = match self.section {
            Section::Head | Section::Debug => Some(Found::Nothing),
            Section::Sql => sql(label, value),
            Section::Cpu => {
                (label == "events per second").then(|| plain("events_per_second", value))
            }
            Section::FileOperations => file_operation(label, value),
            Section::Throughput => throughput(label, value),
            Section::General => general(label, value),
            Section::Latency => latency(label, value),
            Section::Fairness => self.fairness(label, value),
        };
        match found {
            Some(Found::Nothing) => Ok(()),
            Some(Found::Number(name, number)) => self.add(&name, number?),
            Some(Found::Rate(count, rate)) => self.add_rate(count, rate, value),
            Some(Found::Iops(rate, bytes)) => self.add_iops(rate, bytes, value),
            None => Err(format!(
                "`{label}` is no line of this part of a report; give each report whole, and in a \
                 file of its own"
            )),
        }
    }

    fn fairness(&mut self, label: &str, value: &str) -> Option<Found> {
        match label {
            "events (avg/stddev)" => Some(Found::Nothing),
            "execution time (avg/stddev)" => {
                self.fairness = value
                    .split('/')
                    .filter(|part| part.parse::<f64>().is_ok())
                    .count()
                    == 2;
                Some(Found::Nothing)
            }
            // What stands behind a report is not of it.
            _ => Some(Found::Nothing),
        }
    }

    /// `Total operations: 65536 (1694399.13 per second)` and
    /// `64.00 MiB transferred (1654.69 MiB/sec)` have no title above them.
    fn take_memory(&mut self, line: &str) -> Result<(), String> {
        if let Some(value) = line.strip_prefix("Total operations:") {
            return self.add_rate("operations", Some("operations_per_second"), value.trim());
        }
        if let Some((_, rate)) = line.split_once(" MiB transferred (") {
            let rate = rate.trim_end().trim_end_matches(" MiB/sec)");
            return self.add("transferred_mib_per_second", number::plain(rate)?);
        }
        Ok(())
    }

    /// `100    (367.39 per sec.)`
    fn add_rate(&mut self, count: &str, rate: Option<&str>, text: &str) -> Result<(), String> {
        let (number, per_second) = split_rate(text)?;
        self.add(count, number::plain(number)?)?;
        match rate {
            Some(rate) => self.add(rate, number::plain(per_second)?),
            None => Ok(()),
        }
    }

    fn add_iops(&mut self, rate: &str, bytes: Option<&str>, text: &str) -> Result<(), String> {
        let wrong = || format!("`{text}` must be as `IOPS=1.00 2.00 MiB/s (2.10 MB/s)`");
        let words: Vec<&str> = text.split_whitespace().collect();
        let iops = words
            .first()
            .and_then(|word| word.strip_prefix("IOPS="))
            .ok_or_else(wrong)?;
        self.add(rate, number::plain(iops)?)?;
        match (bytes, &words[1..]) {
            (None, []) => Ok(()),
            (Some(name), [mebibytes, "MiB/s", _, "MB/s)"]) => {
                self.add(name, number::plain(mebibytes)?)
            }
            _ => Err(wrong()),
        }
    }

    fn add(&mut self, name: &str, value: Value) -> Result<(), String> {
        let key = format!("sysbench.{name}");
        if self.list.has(&key) {
            // 1.1 gives the rate of `cpu` twice, once in more digits.
            if name == "events_per_second" && self.section == Section::Throughput {
                return Ok(());
            }
            return Err(
                "is the second report of this file; give each report a file of its own".to_owned(),
            );
        }
        self.list.add(&key, &self.dim, value, Kind::Timed)
    }

    /// Every line that any report has must be there, since a line may have been lost.
    fn check_whole(&self, last_line_ended: bool) -> Result<(), Unreadable> {
        let has = |name: &str| self.list.has(&format!("sysbench.{name}"));
        // 1.1 prints neither events nor fairness for files.
        let is_file_of_1_1 = has("reads_per_second") && !has("total_time_ns");
        let is_ended =
            self.fairness || (is_file_of_1_1 && has("latency_sum_ns") && last_line_ended);
        if !is_ended {
            return Err(Unreadable::whole(
                "has no `Threads fairness:` at its end: the report was cut short, or sysbench failed; its last lines say why",
            ));
        }
        let general: &[&str] = match is_file_of_1_1 {
            true => &[
                "writes_per_second",
                "fsyncs_per_second",
                "read_mib_per_second",
                "written_mib_per_second",
            ],
            false => &["events", "total_time_ns"],
        };
        let latency = [
            "latency_min_ns",
            "latency_avg_ns",
            "latency_max_ns",
            "latency_sum_ns",
        ];
        let missing = general.iter().chain(&latency).find(|name| !has(name));
        match missing {
            None => Ok(()),
            Some(missing) => Err(Unreadable::whole(format!(
                "has no line for `{missing}`; give the report whole"
            ))),
        }
    }

    fn check_any_work(&self) -> Result<(), Unreadable> {
        let work = [
            "events",
            "reads_per_second",
            "writes_per_second",
            "fsyncs_per_second",
        ];
        let is_any = work
            .iter()
            .any(|name| self.list.is_more_than_zero(&format!("sysbench.{name}")));
        if is_any {
            return Ok(());
        }
        Err(Unreadable::whole(
            "is of a test that did nothing (0 events): nothing was measured; look at its options, such as a block that is larger than the whole",
        ))
    }
}

fn plain(name: &str, value: &str) -> Found {
    Found::Number(name.to_owned(), number::plain(value))
}

fn sql(label: &str, value: &str) -> Option<Found> {
    Some(match label {
        "read" | "write" | "other" => plain(&format!("queries_{label}"), value),
        "queries performed" | "total" => Found::Nothing,
        "transactions" => Found::Rate("transactions", Some("transactions_per_second")),
        "queries" => Found::Rate("queries", Some("queries_per_second")),
        "ignored errors" => Found::Rate("ignored_errors", None),
        "reconnects" => Found::Rate("reconnects", None),
        "Number of unfinished transactions on forced shutdown" => Found::Nothing,
        _ => return None,
    })
}

fn file_operation(label: &str, value: &str) -> Option<Found> {
    Some(match label {
        "reads/s" => plain("reads_per_second", value),
        "writes/s" => plain("writes_per_second", value),
        "fsyncs/s" => plain("fsyncs_per_second", value),
        _ => return None,
    })
}

fn throughput(label: &str, value: &str) -> Option<Found> {
    Some(match label {
        "read, MiB/s" => plain("read_mib_per_second", value),
        "written, MiB/s" => plain("written_mib_per_second", value),
        "read" => Found::Iops("reads_per_second", Some("read_mib_per_second")),
        "write" => Found::Iops("writes_per_second", Some("written_mib_per_second")),
        "fsync" => Found::Iops("fsyncs_per_second", None),
        "events/s (eps)" => plain("events_per_second", value),
        "time elapsed" => Found::Number("total_time_ns".to_owned(), seconds(value)),
        "total number of events" => plain("events", value),
        _ => return None,
    })
}

fn general(label: &str, value: &str) -> Option<Found> {
    Some(match label {
        "total number of events" => plain("events", value),
        "total time" => Found::Number("total_time_ns".to_owned(), seconds(value)),
        _ => return None,
    })
}

fn latency(label: &str, value: &str) -> Option<Found> {
    let ms = |name: &str| {
        Found::Number(
            format!("latency_{name}_ns"),
            Time::Milliseconds.to_nanoseconds(value),
        )
    };
    match label {
        "min" | "avg" | "max" | "sum" => Some(ms(label)),
        "percentile stats" => Some(Found::Nothing),
        _ => {
            let rank = label.strip_suffix("th percentile")?;
            rank.bytes()
                .all(|b| b.is_ascii_digit())
                .then(|| ms(&format!("p{rank}")))
        }
    }
}

fn split_rate(text: &str) -> Result<(&str, &str), String> {
    text.split_once('(')
        .and_then(|(count, rest)| Some((count.trim(), rest.split_once(" per sec")?)))
        .filter(|(_, (_, end))| matches!(*end, ".)" | "ond)"))
        .map(|(count, (rate, _))| (count, rate.trim()))
        .ok_or_else(|| format!("`{text}` must be a count and its rate, as `100 (367.39 per sec.)`"))
}

fn seconds(text: &str) -> Result<Value, String> {
    let digits = text
        .strip_suffix('s')
        .ok_or_else(|| format!("`{text}` must be a time in seconds, as `0.2712s`"))?;
    Time::Seconds.to_nanoseconds(digits)
}
