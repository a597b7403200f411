//! The summaries of a server's `performance_schema` -> how often it waited, for what, and how long.
//!
//! Read is what the client of MariaDB or MySQL prints with `--batch` (a table as tab-separated lines
//! under its column names), one table after another, of
//!
//! | table | metrics, with their dimension |
//! | --- | --- |
//! | `events_waits_summary_global_by_event_name` | `waits.count`, `waits.wait_ns` of `event=…` |
//! | `events_statements_summary_global_by_event_name` | `statements.count`, `.rows_sent`, `.time_ns` and so on, of `event=…` |
//! | `file_summary_by_event_name` | `files.reads`, `.read_bytes`, `.read_ns` and so on, of `event=…` |
//! | `table_io_waits_summary_by_table` | `table_io.fetches`, `.fetch_ns` and so on, of `schema=…,table=…` |
//!
//! Counts and bytes are counted; times are wall-clock. The server counts from its start, so
//! [`PerformanceSchema::since`] subtracts what another output held: the rest is of the load between
//! the two. An event that did not happen is left out, and so is the time of one that was not timed.
//! Smallest, mean and largest times are not read: they cannot be subtracted.

use std::collections::{HashMap, HashSet};

use super::list::MetricList;
use super::{Dim, Kind, Reading, Unreadable, number, plural};
use crate::domain::Value;

/// A server has some hundred instruments and a row for each table that it opened.
const MOST_ROWS: usize = 100_000;

/// The event that stands among the waits though it is none: a connection waits for its client.
const IDLE: &str = "idle";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Count,
    Picoseconds,
}

/// A column that becomes a metric.
#[derive(Debug)]
struct Column {
    title: &'static str,
    key: &'static str,
    unit: Unit,
}

const fn count(title: &'static str, key: &'static str) -> Column {
    let unit = Unit::Count;
    Column { title, key, unit }
}

const fn time(title: &'static str, key: &'static str) -> Column {
    let unit = Unit::Picoseconds;
    Column { title, key, unit }
}

/// A table of the `performance_schema`.
#[derive(Debug)]
struct Table {
    name: &'static str,
    /// The columns that name a row.
    names: &'static [&'static str],
    /// A column that no other of the tables has, but for the first.
    mark: &'static str,
    /// How its events start.
    prefix: &'static str,
    columns: &'static [Column],
}

const EVENT: &[&str] = &["EVENT_NAME"];
const TOTAL: &str = "COUNT_STAR";

/// The table of the waits is the last: what marks it is in each of the others too.
const TABLES: [Table; 4] = [
    Table {
        name: "table_io_waits_summary_by_table",
        names: &["OBJECT_TYPE", "OBJECT_SCHEMA", "OBJECT_NAME"],
        mark: "COUNT_FETCH",
        prefix: "",
        columns: &[
            count("COUNT_FETCH", "table_io.fetches"),
            time("SUM_TIMER_FETCH", "table_io.fetch_ns"),
            count("COUNT_INSERT", "table_io.inserts"),
            time("SUM_TIMER_INSERT", "table_io.insert_ns"),
            count("COUNT_UPDATE", "table_io.updates"),
            time("SUM_TIMER_UPDATE", "table_io.update_ns"),
            count("COUNT_DELETE", "table_io.deletes"),
            time("SUM_TIMER_DELETE", "table_io.delete_ns"),
        ],
    },
    Table {
        name: "file_summary_by_event_name",
        names: EVENT,
        mark: "COUNT_MISC",
        prefix: "wait/io/file/",
        columns: &[
            count("COUNT_READ", "files.reads"),
            count("SUM_NUMBER_OF_BYTES_READ", "files.read_bytes"),
            time("SUM_TIMER_READ", "files.read_ns"),
            count("COUNT_WRITE", "files.writes"),
            count("SUM_NUMBER_OF_BYTES_WRITE", "files.write_bytes"),
            time("SUM_TIMER_WRITE", "files.write_ns"),
            count("COUNT_MISC", "files.others"),
            time("SUM_TIMER_MISC", "files.other_ns"),
        ],
    },
    Table {
        name: "events_statements_summary_global_by_event_name",
        names: EVENT,
        mark: "SUM_ROWS_SENT",
        prefix: "statement/",
        columns: &[
            count(TOTAL, "statements.count"),
            time("SUM_TIMER_WAIT", "statements.time_ns"),
            time("SUM_LOCK_TIME", "statements.lock_ns"),
            time("SUM_CPU_TIME", "statements.cpu_ns"),
            count("SUM_ERRORS", "statements.errors"),
            count("SUM_ROWS_AFFECTED", "statements.rows_affected"),
            count("SUM_ROWS_SENT", "statements.rows_sent"),
            count("SUM_ROWS_EXAMINED", "statements.rows_examined"),
            count("SUM_CREATED_TMP_TABLES", "statements.tmp_tables"),
            count("SUM_CREATED_TMP_DISK_TABLES", "statements.tmp_disk_tables"),
            count("SUM_SORT_ROWS", "statements.sort_rows"),
            count("SUM_NO_INDEX_USED", "statements.no_index_used"),
        ],
    },
    Table {
        name: "events_waits_summary_global_by_event_name",
        names: EVENT,
        mark: TOTAL,
        prefix: "wait/",
        columns: &[
            count(TOTAL, "waits.count"),
            time("SUM_TIMER_WAIT", "waits.wait_ns"),
        ],
    },
];

/// One row: what happened to one event, or to one table.
#[derive(Clone, Debug)]
struct Row {
    line: u64,
    table: &'static Table,
    /// The cells of the naming columns.
    names: Vec<String>,
    total: u64,
    /// One for each column of the table; `None` where the output has no such column.
    numbers: Vec<Option<u64>>,
}

/// The rows of one output.
#[derive(Clone, Debug, Default)]
pub struct PerformanceSchema {
    rows: Vec<Row>,
    tables: usize,
}

impl PerformanceSchema {
    /// Reads an output of the client.
    ///
    /// # Errors
    /// The line that does not fit, and why.
    pub fn parse(text: &str) -> Result<Self, Unreadable> {
        if !text.is_empty() && !text.ends_with('\n') {
            let line = text.lines().count() as u64;
            let detail =
                "the last line has no end: the output was cut short; let the client end by itself";
            return Err(Unreadable::at(line, detail));
        }
        let mut read = Self::default();
        let mut header: Option<Header> = None;
        for (line, text) in (1..).zip(text.lines()) {
            let at = |detail: String| Unreadable::at(line, detail);
            if Header::is_one(text) {
                header = Some(Header::parse(text).map_err(at)?);
                read.tables += 1;
                continue;
            }
            let header = header.as_ref().ok_or_else(|| at(not_a_header(text)))?;
            if read.rows.len() == MOST_ROWS {
                return Err(at(format!(
                    "more than {MOST_ROWS} rows: no server has so many"
                )));
            }
            read.rows.push(header.row(line, text).map_err(at)?);
        }
        if read.tables == 0 {
            return Err(Unreadable::whole("is empty: the client printed no table"));
        }
        read.check_once()?;
        Ok(read)
    }

    fn check_once(&self) -> Result<(), Unreadable> {
        let mut seen = HashSet::new();
        for row in &self.rows {
            if !seen.insert(row.key()) {
                let detail = format!(
                    "{} has `{}` twice; give each output a file of its own",
                    row.table.name,
                    row.shown()
                );
                return Err(Unreadable::at(row.line, detail));
            }
        }
        Ok(())
    }

    /// Adds the rows of another output, of other tables of the same moment.
    ///
    /// # Errors
    /// That a row is in both.
    pub fn and(mut self, other: Self) -> Result<Self, Unreadable> {
        self.rows.extend(other.rows);
        self.tables += other.tables;
        self.check_once()?;
        Ok(self)
    }

    /// What happened after `before` was printed. A row that was not there then counts whole.
    ///
    /// # Errors
    /// The line of a number that is smaller than it was before.
    pub fn since(&self, before: &Self) -> Result<Self, Unreadable> {
        let earlier: HashMap<_, &Row> = before.rows.iter().map(|row| (row.key(), row)).collect();
        let rows = self.rows.iter().map(|row| match earlier.get(&row.key()) {
            Some(earlier) => row.since(earlier),
            None => Ok(row.clone()),
        });
        Ok(Self {
            rows: rows.collect::<Result<_, _>>()?,
            tables: self.tables,
        })
    }

    /// The metrics of all that happened.
    ///
    /// # Errors
    /// That nothing happened, or the line of a number that is too large.
    pub fn read(&self) -> Result<Reading, Unreadable> {
        let mut list = MetricList::default();
        let mut idle = 0;
        for row in &self.rows {
            if row.total == 0 {
                idle += 1;
                continue;
            }
            row.add_to(&mut list)
                .map_err(|detail| Unreadable::at(row.line, detail))?;
        }
        if idle > 0 {
            list.note(format!(
                "{} of {} did not happen and are left out",
                idle,
                plural(self.rows.len(), "event")
            ));
        }
        let what = format!("performance_schema, {}", plural(self.tables, "table"));
        list.finish(
            what,
            "nothing was counted; start the server with --performance-schema=ON and \
             --performance-schema-instrument='%=ON'",
        )
    }
}

/// The columns of one table as they were printed.
struct Header {
    table: &'static Table,
    width: usize,
    names: Vec<usize>,
    total: usize,
    columns: Vec<Option<usize>>,
}

impl Header {
    fn is_one(line: &str) -> bool {
        let first = line.split('\t').next().unwrap_or_default();
        TABLES
            .iter()
            .any(|table| first.eq_ignore_ascii_case(table.names[0]))
    }

    fn parse(line: &str) -> Result<Self, String> {
        let titles: Vec<String> = line.split('\t').map(str::to_ascii_uppercase).collect();
        let mut seen = HashSet::new();
        if let Some(twice) = titles.iter().find(|title| !seen.insert(title.as_str())) {
            return Err(format!("has the column {} twice", shortened(twice)));
        }
        let place = |title: &str| titles.iter().position(|found| found == title);
        let table = TABLES
            .iter()
            .find(|table| place(table.mark).is_some() && place(table.names[0]).is_some())
            .ok_or_else(unknown_table)?;
        let needed = |title: &&str| {
            place(title).ok_or_else(|| format!("{} has no column {title}", table.name))
        };
        Ok(Self {
            table,
            width: titles.len(),
            names: table.names.iter().map(needed).collect::<Result<_, _>>()?,
            total: needed(&TOTAL)?,
            columns: table.columns.iter().map(|c| place(c.title)).collect(),
        })
    }

    fn row(&self, line: u64, text: &str) -> Result<Row, String> {
        let cells: Vec<&str> = text.split('\t').collect();
        if cells.len() != self.width {
            return Err(format!(
                "has {}, the table has {}: the line is not whole",
                plural(cells.len(), "cell"),
                plural(self.width, "column")
            ));
        }
        let row = Row {
            line,
            table: self.table,
            names: self.names.iter().map(|at| unescaped(cells[*at])).collect(),
            total: whole(TOTAL, cells[self.total])?,
            numbers: self.numbers(&cells)?,
        };
        let event = &row.names[0];
        if !event.starts_with(self.table.prefix) && event != IDLE {
            return Err(format!("`{}`: {}", shortened(event), unknown_table()));
        }
        Ok(row)
    }

    fn numbers(&self, cells: &[&str]) -> Result<Vec<Option<u64>>, String> {
        let number = |(column, at): (&Column, &Option<usize>)| match at {
            Some(at) => whole(column.title, cells[*at]).map(Some),
            None => Ok(None),
        };
        self.table
            .columns
            .iter()
            .zip(&self.columns)
            .map(number)
            .collect()
    }
}

impl Row {
    fn key(&self) -> (&'static str, &[String]) {
        (self.table.name, &self.names)
    }

    fn shown(&self) -> String {
        shortened(&self.names.join("."))
    }

    fn since(&self, earlier: &Self) -> Result<Self, Unreadable> {
        let less = || {
            let why = if self.is_of_tables() {
                "the server forgets what it counted of a table when it opens the table with other \
                 indexes, so run `SELECT 1 FROM table LIMIT 1` before the first output"
            } else {
                "the server was restarted or its counters were reset in between, or the two outputs \
                 were mixed up"
            };
            let detail = format!(
                "`{}` was counted less often than before; {why}",
                self.shown()
            );
            Unreadable::at(self.line, detail)
        };
        let mut row = self.clone();
        row.total = self.total.checked_sub(earlier.total).ok_or_else(less)?;
        for (number, earlier) in row.numbers.iter_mut().zip(&earlier.numbers) {
            if let (Some(number), Some(earlier)) = (number.as_mut(), earlier) {
                *number = number.checked_sub(*earlier).ok_or_else(less)?;
            }
        }
        Ok(row)
    }

    /// Whether the server keeps the numbers with its tables, or sums those of its tables.
    fn is_of_tables(&self) -> bool {
        self.names.len() > 1 || self.names[0].starts_with("wait/io/table/")
    }

    fn dim(&self) -> Dim {
        let [kind, schema, table] = self.names.as_slice() else {
            return Dim::scalar().with("event", self.names.concat());
        };
        let dim = Dim::scalar().with("schema", schema).with("table", table);
        match kind.as_str() {
            "TABLE" => dim,
            other => dim.with("type", other),
        }
    }

    fn add_to(&self, list: &mut MetricList) -> Result<(), String> {
        let dim = self.dim();
        for (column, number) in self.table.columns.iter().zip(&self.numbers) {
            let Some(number) = number else { continue };
            let (value, kind) = match column.unit {
                Unit::Count => (number::count(*number)?, Kind::Counted),
                // It did not happen, or nobody looked at the clock.
                Unit::Picoseconds if *number == 0 => continue,
                Unit::Picoseconds => (nanoseconds(*number)?, Kind::Timed),
            };
            list.add(column.key, &dim, value, kind)?;
        }
        Ok(())
    }
}

/// The server counts in picoseconds, whatever its timer.
fn nanoseconds(picoseconds: u64) -> Result<Value, String> {
    number::scaled(&picoseconds.to_string(), -3)
}

fn whole(title: &str, cell: &str) -> Result<u64, String> {
    let is_digits = !cell.is_empty() && cell.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_digits.then(|| cell.parse().ok()).flatten();
    number.ok_or_else(|| format!("{title}: `{}` must be a whole number", shortened(cell)))
}

/// The client writes a tab in a name as a backslash and a `t`.
fn unescaped(cell: &str) -> String {
    let mut text = String::with_capacity(cell.len());
    let mut chars = cell.chars();
    while let Some(c) = chars.next() {
        text.push(match (c, c == '\\') {
            (c, false) => c,
            (_, true) => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('0') => '\0',
                Some(other) => other,
                None => '\\',
            },
        });
    }
    text
}

fn unknown_table() -> String {
    let names = TABLES.each_ref().map(|table| table.name);
    format!(
        "is of none of the tables that are read; select all columns of {}",
        names.join(", ")
    )
}

fn not_a_header(line: &str) -> String {
    if line.starts_with('+') || line.starts_with('*') || line.starts_with('<') {
        return "is not tab-separated; run the client with --batch".to_owned();
    }
    "must be the names of the columns, as `mariadb --batch` and `mysql --batch` print them (without \
     --skip-column-names)"
        .to_owned()
}

/// Enough of a cell to find it.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "EVENT_NAME\tCOUNT_STAR\tSUM_TIMER_WAIT\n";

    fn lines(reading: Result<Reading, Unreadable>) -> Result<Vec<String>, String> {
        let reading = reading.map_err(|error| error.to_string())?;
        let line = |m: &crate::domain::Metric| {
            let clock = if m.wallclock { "@" } else { "" };
            format!(
                "{clock}{}|{}|{}",
                m.name.metric_key, m.name.dim_key, m.value
            )
        };
        Ok(reading.metrics.iter().map(line).collect())
    }

    fn parse(text: &str) -> PerformanceSchema {
        PerformanceSchema::parse(text).unwrap()
    }

    #[test]
    fn counts_are_counted_and_times_are_of_a_clock() {
        let text = format!(
            "{HEADER}wait/synch/mutex/a\t12\t34567\nwait/synch/mutex/b\t0\t0\nidle\t3\t0\n"
        );
        let expected = [
            "waits.count|event=wait/synch/mutex/a|12",
            "@waits.wait_ns|event=wait/synch/mutex/a|34.567",
            "waits.count|event=idle|3",
        ];
        assert_eq!(lines(parse(&text).read()).unwrap(), expected);
    }

    #[test]
    fn the_load_is_what_came_after_the_first_output() {
        let before = parse(&format!("{HEADER}wait/a\t10\t1000\nwait/b\t5\t0\n"));
        let after = parse(&format!(
            "{HEADER}wait/a\t12\t4000\nwait/b\t5\t0\nwait/c\t1\t0\n"
        ));
        let expected = [
            "waits.count|event=wait/a|2",
            "@waits.wait_ns|event=wait/a|3",
            "waits.count|event=wait/c|1",
        ];
        assert_eq!(
            lines(after.since(&before).unwrap().read()).unwrap(),
            expected
        );
        let error = before.since(&after).unwrap_err().to_string();
        assert!(
            error.starts_with("line 2: `wait/a` was counted less often"),
            "{error}"
        );
        let error = lines(after.since(&after).unwrap().read()).unwrap_err();
        assert!(error.contains("nothing was counted"), "{error}");
    }

    #[test]
    fn a_name_is_what_it_was_before_the_client_escaped_it() {
        assert_eq!(unescaped(r"a\tb\\n\0c\"), "a\tb\\n\0c\\");
        let text = "OBJECT_TYPE\tOBJECT_SCHEMA\tOBJECT_NAME\tCOUNT_STAR\tCOUNT_FETCH\nTEMPORARY TABLE\ts\ta\\\\b\t1\t1\n";
        let expected = [r"table_io.fetches|schema=s,table=a\b,type=TEMPORARY TABLE|1"];
        assert_eq!(lines(parse(text).read()).unwrap(), expected);
    }

    #[test]
    fn what_does_not_fit_says_where_and_why() {
        let rows = |rows: &str| format!("{HEADER}{rows}");
        for (text, said) in [
            (String::new(), "is empty"),
            (
                "wait/a\t1\t1\n".into(),
                "line 1: must be the names of the columns",
            ),
            (
                "+---+\n".into(),
                "line 1: is not tab-separated; run the client with --batch",
            ),
            (
                "EVENT_NAME\tEVENT_NAME\n".into(),
                "line 1: has the column EVENT_NAME twice",
            ),
            (
                "EVENT_NAME\tX\n".into(),
                "line 1: is of none of the tables that are read",
            ),
            (
                "OBJECT_TYPE\tCOUNT_FETCH\n".into(),
                "has no column OBJECT_SCHEMA",
            ),
            (rows("wait/a\t1\t1"), "line 2: the last line has no end"),
            (
                rows("wait/a\t1\n"),
                "line 2: has 2 cells, the table has 3 columns",
            ),
            (
                rows("wait/a\tNULL\t1\n"),
                "line 2: COUNT_STAR: `NULL` must be a whole number",
            ),
            (rows("wait/a\t+1\t1\n"), "line 2: COUNT_STAR: `+1` must be"),
            (
                rows("wait/a\t1\t-1\n"),
                "line 2: SUM_TIMER_WAIT: `-1` must be",
            ),
            (
                rows("wait/a\t99999999999999999999\t1\n"),
                "must be a whole number",
            ),
            (
                rows("stage/a\t1\t1\n"),
                "line 2: `stage/a`: is of none of the tables",
            ),
            (
                rows("wait/a\t1\t1\nwait/a\t1\t1\n"),
                "line 3: events_waits_summary_global_by_event_name has `wait/a` twice",
            ),
            (
                rows(&format!("wait/a\t{}\t1\n", u64::MAX)),
                "line 2: `18446744073709551615`",
            ),
        ] {
            let read = PerformanceSchema::parse(&text).and_then(|read| read.read());
            let error = lines(read).unwrap_err();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }

    #[test]
    fn the_rows_are_bounded() {
        let rows: String = (0..=MOST_ROWS)
            .map(|n| format!("wait/{n}\t1\t1\n"))
            .collect();
        let error = PerformanceSchema::parse(&format!("{HEADER}{rows}")).unwrap_err();
        assert_eq!(error.line, Some(MOST_ROWS as u64 + 2));
    }
}
