//! locust's statistics in CSV -> what each request measured, and all of them together.
//!
//! Read is `PREFIX_stats.csv` of every release since 0.13, and `PREFIX_requests.csv` and
//! `PREFIX_distribution.csv` of those before. A request's metrics have the dimension
//! `name=/path,type=GET`; those of the row `Aggregated` (`Total` before 0.12) have none. All are
//! wall-clock and called `locust.` and
//!
//! | metric | is |
//! | --- | --- |
//! | `requests`, `failures` | counts |
//! | `response_median_ns`, `response_avg_ns`, `response_min_ns`, `response_max_ns` | response times |
//! | `response_p50_ns` to `response_p100_ns` | their percentiles, such as `response_p99.9_ns` |
//! | `content_avg_bytes` | the mean size of an answer |
//! | `requests_per_1000_seconds`, `failures_per_1000_seconds` | rates; a thousandfold, so that the rate of a rare failure keeps its digits |
//!
//! A request that was never made has zeros and `N/A` for its times: it is left out and noted. A run
//! in which no request was made, or in which every request failed, refuses the file; the caller may
//! take the times of failures.

use csv::StringRecord;

use super::list::MetricList;
use super::number::{self, Time};
use super::{Dim, Failures, Kind, Reading, Unreadable, plural, tidy};
use crate::domain::Value;

/// What a column holds.
enum Column {
    Type,
    Name,
    /// The method and the name in one, as the percentiles had them before 0.13.
    Request,
    Count(&'static str),
    Rate(&'static str),
    Milliseconds(String),
    Bytes(&'static str),
    /// A count that another file has as well.
    Known,
}

impl Column {
    /// Releases differ in the letters' case and in a few words.
    fn titled(title: &str, is_distribution: bool) -> Option<Self> {
        let lower = title.trim().to_ascii_lowercase();
        Some(match lower.as_str() {
            "name" if is_distribution => Self::Request,
            "# requests" if is_distribution => Self::Known,
            "type" | "method" => Self::Type,
            "name" => Self::Name,
            "# requests" | "request count" => Self::Count("requests"),
            "# failures" | "failure count" => Self::Count("failures"),
            "median response time" => Self::Milliseconds("median".to_owned()),
            "average response time" => Self::Milliseconds("avg".to_owned()),
            "min response time" => Self::Milliseconds("min".to_owned()),
            "max response time" => Self::Milliseconds("max".to_owned()),
            "average content size" => Self::Bytes("content_avg_bytes"),
            "requests/s" => Self::Rate("requests"),
            "requests failed/s" | "failures/s" => Self::Rate("failures"),
            percentile => {
                // Some releases leave the sign of 99.999 % out.
                let rank = percentile.trim_end_matches('%');
                number::plain(rank).ok()?;
                Self::Milliseconds(format!("p{rank}"))
            }
        })
    }
}

/// Reads one CSV file.
///
/// # Errors
/// The line that does not fit, and why; or which file of locust's to give instead.
pub fn read(text: &str, failures: Failures) -> Result<Reading, Unreadable> {
    if !text.is_empty() && !text.ends_with('\n') {
        let detail = "the last line has no end: the file was cut short; let locust end by itself";
        return Err(Unreadable::at(text.lines().count() as u64, detail));
    }
    let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let columns = read_columns(reader.headers().map_err(|error| csv_fault(text, &error))?)?;
    let mut list = MetricList::default();
    let mut rows = 0;
    let mut totals = 0;
    for record in reader.records() {
        let record = record.map_err(|error| csv_fault(text, &error))?;
        let line = line_of(text, record.position());
        let row = Row::new(&columns, &record);
        rows += 1;
        totals += usize::from(row.is_total());
        row.read(failures, &mut list)
            .map_err(|detail| Unreadable::at(line, detail))?;
    }
    if totals != 1 {
        let detail = format!(
            "has {} of `Aggregated` (or `Total`), must have one: the file is not whole",
            plural(totals, "row")
        );
        return Err(Unreadable::whole(detail));
    }
    let requests = plural(rows - 1, "request");
    list.finish(
        format!("locust, {requests} and their total"),
        "holds no number: not one request was made",
    )
}

fn csv_fault(text: &str, error: &csv::Error) -> Unreadable {
    let line = line_of(text, error.position());
    Unreadable::at(line, format!("is no whole line of the table: {error}"))
}

/// The line at which a record begins: the table's own count is one less where lines end in CR LF.
fn line_of(text: &str, position: Option<&csv::Position>) -> u64 {
    let start = position.and_then(|position| usize::try_from(position.byte()).ok());
    let bytes = text.as_bytes();
    let start = start.unwrap_or_default().min(bytes.len());
    let (before, from) = bytes.split_at(start);
    let ends = from.iter().take_while(|b| matches!(b, b'\r' | b'\n'));
    let lines = before.iter().chain(ends).filter(|b| **b == b'\n').count();
    lines as u64 + 1
}

fn read_columns(titles: &StringRecord) -> Result<Vec<Column>, Unreadable> {
    let lower: Vec<String> = titles.iter().map(str::to_ascii_lowercase).collect();
    let starts =
        |words: &[&str]| lower.iter().zip(words).filter(|(a, b)| a == *b).count() == words.len();
    let is_distribution = starts(&["name", "# requests"]);
    let is_statistics = starts(&["type", "name"]) || starts(&["method", "name"]);
    let is_failures = lower
        .iter()
        .any(|title| title == "error" || title == "occurrences");
    if !(is_distribution || is_statistics) || is_failures {
        let detail = "the first line is not that of locust's statistics; give PREFIX_stats.csv, not the failures, exceptions or history beside it";
        return Err(Unreadable::at(1, detail));
    }
    titles
        .iter()
        .map(|title| {
            Column::titled(title, is_distribution).ok_or_else(|| {
                Unreadable::at(
                    1,
                    format!("has a column `{title}`, which no known release writes"),
                )
            })
        })
        .collect()
}

struct Row<'a> {
    cells: Vec<(&'a Column, &'a str)>,
}

impl<'a> Row<'a> {
    fn new(columns: &'a [Column], record: &'a StringRecord) -> Self {
        Self {
            cells: columns.iter().zip(record).collect(),
        }
    }

    /// The request as its type and its name.
    fn request(&self) -> (&'a str, &'a str) {
        let mut request = ("", "");
        for (column, cell) in &self.cells {
            match column {
                Column::Type => request.0 = cell,
                Column::Name => request.1 = cell,
                Column::Request => request = cell.split_once(' ').unwrap_or(("", cell)),
                _ => {}
            }
        }
        if request.0 == "None" {
            request.0 = "";
        }
        request
    }

    fn is_total(&self) -> bool {
        let (kind, name) = self.request();
        kind.is_empty() && matches!(name, "Aggregated" | "Total")
    }

    fn dim(&self) -> Dim {
        let (kind, name) = self.request();
        if self.is_total() {
            return Dim::scalar();
        }
        let dim = Dim::scalar().with("name", tidy(name));
        if kind.is_empty() {
            dim
        } else {
            dim.with("type", tidy(kind))
        }
    }

    /// A count of this row; `None` where the file has no such column.
    fn count(&self, wanted: &str) -> Option<&'a str> {
        let count = self.cells.iter().find_map(|(column, cell)| match column {
            Column::Count(name) if *name == wanted => Some(cell.trim()),
            Column::Known if wanted == "requests" => Some(cell.trim()),
            _ => None,
        });
        count.map(|digits| digits.trim_start_matches('0'))
    }

    fn shown(&self) -> String {
        let (kind, name) = self.request();
        tidy(&format!("{kind} {name}"))
    }

    /// Whether no request was made, so that the numbers of its times are none.
    fn is_idle(&self) -> bool {
        self.count("requests") == Some("") && self.count("failures").is_none_or(str::is_empty)
    }

    fn check_failures(&self, failures: Failures, list: &mut MetricList) -> Result<(), String> {
        let (requests, failed) = (self.count("requests"), self.count("failures"));
        // Before 0.12 a failure was no request.
        let all_failed = failed.is_some_and(|failed| !failed.is_empty())
            && (requests == failed || requests == Some(""));
        if !all_failed {
            return Ok(());
        }
        let said = format!("every request of `{}` failed", self.shown());
        if self.is_total() && failures == Failures::Refused {
            return Err(format!(
                "{said}, so these are the times of failures; mend the test, or say --allow-failures"
            ));
        }
        list.note(said);
        Ok(())
    }

    fn read(&self, failures: Failures, list: &mut MetricList) -> Result<(), String> {
        if self.is_idle() {
            list.note(format!(
                "`{}` was never requested and is left out",
                self.shown()
            ));
            return Ok(());
        }
        self.check_failures(failures, list)?;
        let dim = self.dim();
        for (column, cell) in &self.cells {
            let cell = cell.trim();
            if cell == "N/A" {
                continue;
            }
            let Some((name, value)) = read_cell(column, cell) else {
                continue;
            };
            let key = format!("locust.{name}");
            let value = value.map_err(|detail| format!("{name}: {detail}"))?;
            list.add(&key, &dim, value, Kind::Timed)?;
        }
        Ok(())
    }
}

fn read_cell(column: &Column, cell: &str) -> Option<(String, Result<Value, String>)> {
    match column {
        Column::Type | Column::Name | Column::Request | Column::Known => None,
        Column::Count(name) => Some(((*name).to_owned(), number::plain(cell))),
        Column::Bytes(name) => Some(((*name).to_owned(), number::plain(cell))),
        Column::Rate(name) => {
            let name = format!("{name}_per_1000_seconds");
            Some((name, number::scaled(cell, 3)))
        }
        Column::Milliseconds(name) => {
            let value = Time::Milliseconds.to_nanoseconds(cell);
            Some((format!("response_{name}_ns"), value))
        }
    }
}
