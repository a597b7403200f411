//! What `go test -bench` prints -> how long, and with what else, one operation took.
//!
//! `go.<Benchmark>.ns_per_op`, `.MB_per_s`, `.B_per_op`, `.allocs_per_op` and whatever
//! `b.ReportMetric` reports. Parts of a name such as `size=8` are the dimension, with `pkg=...` for
//! the package and `gomaxprocs=N` for the number of processors. Bytes and allocations are counted,
//! all else is wall-clock.
//!
//! **The number of processors** stands at the end of a name (`BenchmarkSum-8`), unless it is one, and
//! a benchmark's own name may end in a number as well. So `-N` is the number of processors only where
//! the whole package agrees on it: every name ends in the same `-N`, or, with `-cpu 1,N`, every
//! benchmark is there without and with it. Elsewhere names stay as they are printed.
//!
//! **Repetitions.** Of a benchmark that was run several times (`-count`), the value in the middle is
//! taken, the lower of two. What may be two benchmarks of one printed name refuses the file.
//!
//! **A benchmark that prints** does so within its own line, which then has its name, and a later line
//! its numbers. The two are joined. Halves without their other half refuse the file.

use std::collections::{BTreeMap, BTreeSet};

use super::list::MetricList;
use super::number::{self, Time};
use super::{Dim, Kind, Reading, Unreadable, measured, plural, tidy};
use crate::domain::Value;

/// Reads the output.
///
/// # Errors
/// The line that does not fit, and why; or that the run failed.
pub fn read(text: &str) -> Result<Reading, Unreadable> {
    let mut reader = Reader::default();
    for (number, line) in (1..).zip(text.lines()) {
        if ends_half(line) {
            reader.check_half()?;
        }
        reader
            .take(number, line)
            .map_err(|detail| Unreadable::at(number, detail))?;
    }
    reader.check_half()?;
    if !reader.ended {
        return Err(Unreadable::whole(
            "has no `PASS` or `ok` at its end: the run was cut short, or this is no output of `go test -bench`",
        ));
    }
    reader.finish()
}

/// One run of a benchmark.
struct Run {
    line: u64,
    numbers: Vec<(String, Value)>,
}

/// The runs of one package, by the name that is printed.
type Benchmarks = BTreeMap<String, Vec<Run>>;

/// A benchmark's name whose numbers have not come yet.
struct Half {
    line: u64,
    name: String,
}

#[derive(Default)]
struct Reader {
    package: Option<String>,
    /// Whether the lines of the package have come to their end.
    package_ended: bool,
    half: Option<Half>,
    packages: BTreeMap<Option<String>, Benchmarks>,
    lines: usize,
    skipped: Vec<String>,
    ended: bool,
}

impl Reader {
    fn take(&mut self, number: u64, line: &str) -> Result<(), String> {
        if line.starts_with('{') {
            return Err("is JSON; run `go test -bench` without -json".to_owned());
        }
        if is_failure(line) {
            return Err("the run failed; its numbers are not to be trusted".to_owned());
        }
        if let Some((_, skipped)) = line.split_once("--- SKIP: ") {
            self.half = None;
            self.skipped.push(tidy(skipped));
            return Ok(());
        }
        if let Some(name) = line.strip_prefix("pkg: ") {
            let name = name.trim();
            // The path of an import has neither; a line without its end may bring them in.
            if name.is_empty() || name.contains([' ', '\t', ':']) {
                return Err(format!("`{name}` is no package; the line is damaged"));
            }
            self.package = Some(name.to_owned());
            self.package_ended = false;
            self.ended = false;
            return Ok(());
        }
        if is_end(line) {
            self.ended = true;
            self.package_ended = true;
            return Ok(());
        }
        if is_benchmark(line) {
            return self.take_benchmark(number, line);
        }
        self.take_numbers(number, line)
    }

    fn take_benchmark(&mut self, number: u64, line: &str) -> Result<(), String> {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        let is_whole = rest.first().is_some_and(|word| word.parse::<u64>().is_ok());
        if is_whole {
            let numbers = read_numbers(&rest)?;
            return self.add(name, number, numbers);
        }
        if let Some(numbers) = numbers_at_end(&rest) {
            return self.add(name, number, numbers?);
        }
        // Without a tab it is what `-v` prints before the line, or a program's own words.
        if line.contains('\t') {
            self.half = Some(Half {
                line: number,
                name: name.to_owned(),
            });
        }
        Ok(())
    }

    /// A line that is no benchmark's, but may hold the numbers of the one before.
    fn take_numbers(&mut self, number: u64, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(numbers) = numbers_at_end(&words) else {
            return Ok(());
        };
        match self.half.take() {
            Some(half) => self.add(&half.name, number, numbers?),
            None => Err(format!(
                "`{}` are the numbers of a benchmark whose name is not there",
                line.trim()
            )),
        }
    }

    fn add(&mut self, name: &str, line: u64, numbers: Vec<(String, Value)>) -> Result<(), String> {
        if self.package_ended && self.package.is_some() {
            return Err(
                "has no `pkg:` line since the package before ended; give the whole output"
                    .to_owned(),
            );
        }
        self.ended = false;
        self.lines += 1;
        let package = self.packages.entry(self.package.clone()).or_default();
        let runs = package.entry(name.to_owned()).or_default();
        runs.push(Run { line, numbers });
        Ok(())
    }

    fn check_half(&self) -> Result<(), Unreadable> {
        match &self.half {
            None => Ok(()),
            Some(half) => Err(Unreadable::at(
                half.line,
                format!(
                    "`{}` has no numbers: the benchmark was cut short, or printed where they should \
                     stand; let it print to standard error, or not at all",
                    half.name
                ),
            )),
        }
    }

    fn finish(self) -> Result<Reading, Unreadable> {
        let mut list = MetricList::default();
        for (package, benchmarks) in &self.packages {
            check_runs(benchmarks)?;
            let agreed = processors(benchmarks.keys().map(String::as_str));
            for (printed, runs) in benchmarks {
                let (name, dim) = split_name(printed, package.as_deref(), agreed);
                add_runs(&name, &dim, runs, &mut list)?;
            }
        }
        for skipped in &self.skipped {
            list.note(format!("`{skipped}` was skipped and is left out"));
        }
        let what = format!("go test -bench, {}", plural(self.lines, "line"));
        list.finish(what, "holds no benchmark: check the pattern of -bench")
    }
}

/// The end of a package's lines.
fn is_end(line: &str) -> bool {
    line == "PASS" || line.starts_with("ok ") || line.starts_with("ok\t")
}

/// Whether a benchmark that printed must have had its numbers before this line.
fn ends_half(line: &str) -> bool {
    is_end(line)
        || line.starts_with("pkg: ")
        || (is_benchmark(line) && !line.contains("--- SKIP: "))
}

fn is_failure(line: &str) -> bool {
    line == "FAIL" || line.starts_with("FAIL\t") || line.contains("--- FAIL")
}

/// Go's own rule: no lower-case letter follows, which `Benchmarking ...` has.
fn is_benchmark(line: &str) -> bool {
    line.strip_prefix("Benchmark")
        .is_some_and(|rest| !rest.starts_with(char::is_lowercase))
}

/// `2000  79.72 ns/op  64 B/op`: a count, and numbers with their units.
fn read_numbers(words: &[&str]) -> Result<Vec<(String, Value)>, String> {
    let (count, pairs) = words.split_first().unwrap_or((&"", &[]));
    if count.trim_start_matches('0').is_empty() {
        return Err("was run 0 times: nothing was measured".to_owned());
    }
    if pairs.is_empty() || pairs.len() % 2 != 0 {
        return Err(
            "must be pairs of a number and its unit after the count; the line was cut short"
                .to_owned(),
        );
    }
    pairs
        .chunks(2)
        .map(|pair| read_pair(pair[0], pair[1]))
        .collect()
}

fn read_pair(text: &str, unit: &str) -> Result<(String, Value), String> {
    if !is_unit(unit) {
        return Err(format!("`{unit}` must be a unit; the line is damaged"));
    }
    let value = match unit {
        "ns/op" => measured(
            "the time of an operation",
            Time::Nanoseconds.to_nanoseconds(text)?,
        )?,
        _ => number::plain(text)?,
    };
    Ok((unit.to_owned(), value))
}

/// A unit that ends in the next line's words is of a line without its end.
fn is_unit(word: &str) -> bool {
    !word.starts_with(|c: char| c.is_ascii_digit())
        && !word.contains("Benchmark")
        && !word.ends_with("PASS")
}

/// The numbers of a benchmark at the end of a line that begins with something else; `None` where
/// there are none.
fn numbers_at_end(words: &[&str]) -> Option<Result<Vec<(String, Value)>, String>> {
    let fits = |words: &[&str]| {
        let pairs = &words[1..];
        words[0].parse::<u64>().is_ok()
            && !pairs.is_empty()
            && pairs.len().is_multiple_of(2)
            && pairs
                .chunks(2)
                .all(|pair| pair[0].parse::<f64>().is_ok() && is_unit(pair[1]))
            && pairs.chunks(2).any(|pair| pair[1].ends_with("/op"))
    };
    let start = (0..words.len())
        .rev()
        .find(|start| fits(&words[*start..]))?;
    Some(read_numbers(&words[start..]))
}

/// Refuses a name that is printed more often than the name that it would be without its number:
/// `BenchmarkAdd-2` may then be `BenchmarkAdd` on two processors and `BenchmarkAdd-2` on one.
fn check_runs(benchmarks: &Benchmarks) -> Result<(), Unreadable> {
    for (name, runs) in benchmarks {
        let Some((stem, _)) = split_number(name) else {
            continue;
        };
        let Some(fewer) = benchmarks
            .get(stem)
            .filter(|other| other.len() < runs.len())
        else {
            continue;
        };
        return Err(Unreadable::at(
            runs[fewer.len()].line,
            format!(
                "`{name}` may be `{stem}` on several processors or a benchmark of this name, and is \
                 there {} times; give the benchmark another name, or run with one value of -cpu",
                runs.len()
            ),
        ));
    }
    Ok(())
}

/// `BenchmarkSum-8` is `BenchmarkSum` and `8`. On one processor Go prints no number.
fn split_number(name: &str) -> Option<(&str, &str)> {
    let (stem, number) = name.rsplit_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (is_number && !number.starts_with('0') && number != "1").then_some((stem, number))
}

/// Whether the `-N` of a package's names is the number of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Processors {
    Agreed,
    Unknown,
}

fn processors<'a>(names: impl Iterator<Item = &'a str>) -> Processors {
    let mut by_stem: BTreeMap<&str, BTreeSet<Option<&str>>> = BTreeMap::new();
    for name in names {
        let (stem, number) = match split_number(name) {
            Some((stem, number)) => (stem, Some(number)),
            None => (name, None),
        };
        by_stem.entry(stem).or_default().insert(number);
    }
    let mut sets = by_stem.values();
    let Some(first) = sets.next() else {
        return Processors::Unknown;
    };
    let is_one_number = first.len() == 1 && !first.contains(&None);
    let has_one_processor = first.len() > 1 && first.contains(&None);
    if (is_one_number || has_one_processor) && sets.all(|set| set == first) {
        Processors::Agreed
    } else {
        Processors::Unknown
    }
}

/// `BenchmarkMake/size=8/fill-2` is `BenchmarkMake/fill` with two parameters.
fn split_name(name: &str, package: Option<&str>, processors: Processors) -> (String, Dim) {
    let mut dim = Dim::scalar();
    if let Some(package) = package {
        dim = dim.with("pkg", package);
    }
    let mut name = name;
    if processors == Processors::Agreed
        && let Some((stem, number)) = split_number(name)
    {
        dim = dim.with("gomaxprocs", number);
        name = stem;
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

fn add_runs(name: &str, dim: &Dim, runs: &[Run], list: &mut MetricList) -> Result<(), Unreadable> {
    let mut by_unit: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for run in runs {
        let mut units = BTreeSet::new();
        for (unit, value) in &run.numbers {
            if !units.insert(unit) {
                let detail = format!("`{unit}` stands there twice");
                return Err(Unreadable::at(run.line, detail));
            }
            by_unit.entry(unit).or_default().push(*value);
        }
    }
    for (unit, mut values) in by_unit {
        let Some(value) = number::middle(&mut values) else {
            continue;
        };
        let kind = match unit {
            "B/op" | "allocs/op" => Kind::Counted,
            _ => Kind::Timed,
        };
        let key = format!("go.{name}.{}", unit.replace('/', "_per_"));
        let line = runs.first().map_or(1, |run| run.line);
        list.add(&key, dim, value, kind)
            .map_err(|detail| Unreadable::at(line, detail))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Result<Vec<String>, String> {
        let reading = read(text).map_err(|error| error.to_string())?;
        let metrics = reading.metrics.iter();
        Ok(metrics
            .map(|m| format!("{}{{{}}} {}", m.name.metric_key, m.name.dim_key, m.value))
            .collect())
    }

    fn ok(lines: &[&str]) -> String {
        format!("{}\nPASS\n", lines.join("\n"))
    }

    #[test]
    fn a_number_is_of_processors_where_the_whole_package_agrees() {
        for (printed, expected) in [
            (
                &["BenchmarkA-8 10 5 ns/op", "BenchmarkB/x-8 10 6 ns/op"][..],
                &[
                    "go.BenchmarkA.ns_per_op{gomaxprocs=8} 5",
                    "go.BenchmarkB/x.ns_per_op{gomaxprocs=8} 6",
                ][..],
            ),
            (
                &["BenchmarkA 10 5 ns/op", "BenchmarkA-4 10 6 ns/op"],
                &[
                    "go.BenchmarkA.ns_per_op{} 5",
                    "go.BenchmarkA.ns_per_op{gomaxprocs=4} 6",
                ],
            ),
            (
                &["BenchmarkA/n-16 10 5 ns/op", "BenchmarkB 10 6 ns/op"],
                &[
                    "go.BenchmarkA/n-16.ns_per_op{} 5",
                    "go.BenchmarkB.ns_per_op{} 6",
                ],
            ),
            (
                &["BenchmarkA/n-16 10 5 ns/op", "BenchmarkA/n-32 10 6 ns/op"],
                &[
                    "go.BenchmarkA/n-16.ns_per_op{} 5",
                    "go.BenchmarkA/n-32.ns_per_op{} 6",
                ],
            ),
            (
                &["BenchmarkA/n-1 10 5 ns/op", "BenchmarkA/n-08 10 6 ns/op"],
                &[
                    "go.BenchmarkA/n-08.ns_per_op{} 6",
                    "go.BenchmarkA/n-1.ns_per_op{} 5",
                ],
            ),
        ] {
            assert_eq!(lines(&ok(printed)).unwrap(), expected, "{printed:?}");
        }
    }

    #[test]
    fn two_benchmarks_are_never_one() {
        for printed in [
            &[
                "BenchmarkA 1 5 ns/op",
                "BenchmarkA-2 1 5 ns/op",
                "BenchmarkA-2 1 9 ns/op",
            ][..],
            &["BenchmarkA/x=1/b 1 5 ns/op", "BenchmarkA/b/x=1 1 9 ns/op"],
            &[
                "BenchmarkA/0xc0001a2b38 1 5 ns/op",
                "BenchmarkA/0xc0001a2b40 1 9 ns/op",
            ],
            &["BenchmarkA 1 5 ns/op 6 ns/op"],
        ] {
            assert!(lines(&ok(printed)).is_err(), "{printed:?}");
        }
    }

    #[test]
    fn halves_are_joined_or_refused() {
        let joined = ["go.BenchmarkA.ns_per_op{gomaxprocs=4} 22"];
        for printed in [
            "BenchmarkA-4 \tsays: 3\n      50\t  22 ns/op",
            "BenchmarkA-4 \t\n      50\t  22 ns/op",
            "BenchmarkA-4 \tone\ntwo 3400\n      50\t  22 ns/op",
            "BenchmarkA-4 \tsays 7       50\t  22 ns/op",
            "BenchmarkA-4 \tone\ntwo       50\t  22 ns/op",
            "BenchmarkA\nBenchmarkA-4 \t     50\t  22 ns/op",
            "Benchmarking it\nBenchmarkA-4 \t     50\t  22 ns/op",
        ] {
            assert_eq!(
                lines(&format!("{printed}\nPASS\n")).unwrap(),
                joined,
                "{printed:?}"
            );
        }
        for (printed, said) in [
            (
                "BenchmarkA-4 \tsays\nPASS\n",
                "line 1: `BenchmarkA-4` has no numbers",
            ),
            (
                "BenchmarkA-4 \tsays\nBenchmarkB-4 1 5 ns/op\nPASS\n",
                "line 1: `BenchmarkA-4` has no",
            ),
            (
                "BenchmarkB-4 1 5 ns/op\n  50 22 ns/op\nPASS\n",
                "line 2: `50 22 ns/op` are the numbers",
            ),
            ("BenchmarkB-4 0 5 ns/op\nPASS\n", "line 1: was run 0 times"),
            (
                "BenchmarkB-4 1 5 ns/opPASS\nPASS\n",
                "line 1: `ns/opPASS` must be a unit",
            ),
            (
                "BenchmarkB-4 1 0 ns/op\nPASS\n",
                "line 1: the time of an operation is 0",
            ),
            (
                "pkg: a\nBenchmarkA 1 5 ns/op\nPASS\nok a 1s\nBenchmarkA 1 6 ns/op\nPASS\n",
                "line 5: has no `pkg:`",
            ),
        ] {
            let error = lines(printed).unwrap_err();
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[test]
    fn a_skipped_benchmark_is_noted() {
        let text = "BenchmarkA-4 \t--- SKIP: BenchmarkA-4\n    a_test.go:8: no disk\nBenchmarkB-4 1 5 ns/op\nPASS\n";
        let reading = read(text).unwrap();
        assert_eq!(reading.metrics.len(), 1);
        assert_eq!(
            reading.notes,
            ["`BenchmarkA-4` was skipped and is left out"]
        );
    }
}
