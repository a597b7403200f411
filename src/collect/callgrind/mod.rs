//! callgrind.out -> what the simulated processor did.
//!
//! | metric | is | from the events |
//! | --- | --- | --- |
//! | `callgrind.ir` | instructions | `Ir` |
//! | `callgrind.l1_misses` | misses of either first-level cache | `I1mr` + `D1mr` + `D1mw` |
//! | `callgrind.llc_misses` | misses of the last-level cache | `ILmr` + `DLmr` + `DLmw` |
//! | `callgrind.branch_mispredicts` | branches guessed wrong | `Bcm` + `Bim` |
//! | `callgrind.global_bus_events` | atomic operations | `Ge` |
//! | `callgrind.estimated_cycles` | `ir + 10 l1_misses + 100 llc_misses + 10 branch_mispredicts` | all of the first four |
//!
//! A metric is there only when all its events were collected. `I2mr`, `D2mr` and `D2mw` are what
//! callgrind before 3.6 called `ILmr`, `DLmr` and `DLmw`.
//!
//! The numbers are those of the `totals:` line that ends each part. The `summary:` line in a part's
//! head is only a forecast: the two differ by a few events, and some writers leave it zero. It
//! counts where another writer than callgrind left no totals.
//!
//! Only a part's head and its last line are looked at; what stands between is skipped at the speed
//! of memory, so that a file of any size is read in constant memory.
//!
//! A program that marks its regions with `perf-instrument` has the same metrics for each, with the dimension `region=NAME`.
//! The instructions that the marks cost are left out of `callgrind.ir` and `callgrind.estimated_cycles`, of the regions and of
//! the whole program.
//!
//! The format: <https://valgrind.org/docs/manual/cl-format.html>.

mod regions;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::sync::Arc;

use memchr::memmem::Finder;

use super::lines::{Line, Lines};
use super::{Dim, Kind, Reading, Unreadable, metric, number, plural};
use crate::domain::Metric;
use regions::{Found, Mark, Regions};

/// What of a run's parts must be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parts {
    /// All of them, from the first to the last that was given.
    #[default]
    All,
    /// Those that were given: the rest is left out on purpose.
    Given,
}

/// The files of one measurement: the parts, threads and processes whose events are summed.
#[derive(Debug, Default)]
pub struct Callgrind {
    sums: Option<BTreeMap<String, u64>>,
    /// By process: each part and thread that was read, and from which file.
    seen: BTreeMap<Process, BTreeMap<(u64, Option<u64>), String>>,
    parts: usize,
    files: Vec<String>,
    empty: Vec<String>,
    creator: Option<Arc<str>>,
    regions: Regions,
}

/// One program that ran: its number, and its command line, for a process may become another program
/// (`exec`) and then begins at part 1 anew.
/// Shared by the parts of a file, however long its command line is.
type Process = (Arc<str>, Option<Arc<str>>);

/// One part as the file has it.
#[derive(Debug, Default)]
struct Part {
    creator: Option<Arc<str>>,
    /// Whether a line is there that callgrind alone writes: its parts end with `totals:`.
    by_callgrind: bool,
    pid: Option<Arc<str>>,
    command: Option<Arc<str>>,
    number: Option<u64>,
    thread: Option<u64>,
    mark: Mark,
    events: Vec<String>,
    summary: Option<Vec<u64>>,
    totals: Option<Vec<u64>>,
    first_line: u64,
}

/// Why a file could not be taken in.
#[derive(Debug)]
pub enum CallgrindError {
    /// It could not be read at all.
    Io(io::Error),
    /// What it holds does not fit.
    Unreadable(Unreadable),
}

impl From<io::Error> for CallgrindError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Unreadable> for CallgrindError {
    fn from(error: Unreadable) -> Self {
        Self::Unreadable(error)
    }
}

impl std::fmt::Display for CallgrindError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Unreadable(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CallgrindError {}

impl Callgrind {
    /// Adds the events of one file; `name` is its name, with which callgrind tells threads apart.
    ///
    /// Answers in words what was read.
    ///
    /// # Errors
    /// What is wrong with the file, and what to do about it.
    pub fn add(&mut self, name: &str, input: impl Read) -> Result<String, CallgrindError> {
        let parts = read_parts(Lines::new(input))?;
        self.files.push(name.to_owned());
        if parts.is_empty() {
            self.empty.push(name.to_owned());
            return Ok("empty; its threads must have files of their own".to_owned());
        }
        let what = describe(&parts);
        for part in parts {
            self.add_part(name, part)?;
        }
        Ok(what)
    }

    fn add_part(&mut self, name: &str, part: Part) -> Result<(), Unreadable> {
        let line = part.first_line;
        let costs = part.costs()?;
        let number = part.number.unwrap_or(1);
        let process = part.pid.unwrap_or_else(|| name.into());
        let key = (process.clone(), part.command);
        let counted = costs.values().copied().collect();
        self.regions
            .add(&key, part.thread, number, part.mark, counted);
        let parts = self.seen.entry(key).or_default();
        if let Some(other) = parts.insert((number, part.thread), name.to_owned()) {
            let detail = format!(
                "part {number} of process {process} stands in `{other}` already; give each file once"
            );
            return Err(Unreadable::at(line, detail));
        }
        self.creator = self.creator.take().or(part.creator);
        self.parts += 1;
        let Some(sums) = &mut self.sums else {
            self.sums = Some(costs);
            return Ok(());
        };
        if !sums.keys().eq(costs.keys()) {
            let detail =
                "has other events than what was read before; measure all with the same flags";
            return Err(Unreadable::at(line, detail));
        }
        for (sum, cost) in sums.values_mut().zip(costs.into_values()) {
            *sum = sum.checked_add(cost).ok_or_else(|| too_large(line))?;
        }
        Ok(())
    }

    /// The metrics of all that was added: of the whole program, and of each of its regions.
    ///
    /// # Errors
    /// What is missing, and what to do about it.
    pub fn finish(mut self, wanted: Parts) -> Result<Reading, Unreadable> {
        let found = self.check(wanted)?;
        let mut sums = self.sums.take().unwrap_or_default();
        if let Some(instructions) = sums.get_mut("Ir") {
            *instructions = instructions.saturating_sub(found.marks);
        }
        let mut metrics = metrics(&sums, &Dim::scalar())?;
        for (name, counted) in &found.regions {
            metrics.extend(self::metrics(&named(&sums, counted), &region(name))?);
        }
        Ok(self.reading(&found, metrics))
    }

    /// The metrics of one region alone.
    ///
    /// # Errors
    /// That the program did not enter it; else as [`Callgrind::finish`].
    pub fn finish_region(mut self, name: &str, wanted: Parts) -> Result<Reading, Unreadable> {
        let found = self.check(wanted)?;
        let sums = self.sums.take().unwrap_or_default();
        let Some(counted) = found.regions.get(name) else {
            return Err(Unreadable::whole(not_entered(name, &found)));
        };
        let metrics = metrics(&named(&sums, counted), &region(name))?;
        Ok(self.reading(&found, metrics))
    }

    /// Whether all is there that is wanted; the regions.
    fn check(&self, wanted: Parts) -> Result<Found, Unreadable> {
        self.check_empty()?;
        if wanted == Parts::All {
            self.check_parts()?;
        }
        let Some(sums) = &self.sums else {
            return Err(Unreadable::whole("no callgrind file was given"));
        };
        check_instructions(sums)?;
        self.regions
            .finish(sums.keys().position(|event| event == "Ir"))
    }

    fn reading(&self, found: &Found, metrics: Vec<Metric>) -> Reading {
        let mut what = format!(
            "{}, {} of {} summed",
            self.creator.as_deref().unwrap_or("callgrind format"),
            plural(self.parts, "part"),
            plural(self.files.len(), "file"),
        );
        if !found.regions.is_empty() {
            what.push_str(&format!(
                "; {} entered {}, without the {} of their marks",
                plural(found.regions.len(), "region"),
                plural(found.entries, "time"),
                plural(
                    usize::try_from(found.marks).unwrap_or(usize::MAX),
                    "instruction"
                ),
            ));
        }
        Reading {
            metrics,
            what,
            notes: Vec::new(),
        }
    }

    /// With `--separate-threads=yes` callgrind leaves an empty file beside those of the threads.
    fn check_empty(&self) -> Result<(), Unreadable> {
        for empty in &self.empty {
            let threads = format!("{empty}-");
            if !self.files.iter().any(|file| file.starts_with(&threads)) {
                let detail = format!(
                    "`{empty}` is empty: callgrind was ended before it wrote, or its threads are in `{empty}-01` and so on; end the program in an orderly way, or give the files of the threads"
                );
                return Err(Unreadable::whole(detail));
            }
        }
        Ok(())
    }

    /// The file without a suffix holds only the last part of several.
    fn check_parts(&self) -> Result<(), Unreadable> {
        for ((process, _), parts) in &self.seen {
            let numbers: BTreeSet<u64> = parts.keys().map(|(number, _)| *number).collect();
            let last = numbers.last().copied().unwrap_or(1);
            let missing = (1..last).find(|number| !numbers.contains(number));
            if let Some(missing) = missing {
                let file = parts.values().next().map_or("", String::as_str);
                let detail = format!(
                    "`{file}` holds part {last} of process {process}, and part {missing} was not given; give the files of all parts (`{file}.{missing}` and so on), or say --callgrind-some-parts where the rest is left out on purpose"
                );
                return Err(Unreadable::whole(detail));
            }
        }
        Ok(())
    }
}

fn describe(parts: &[Part]) -> String {
    let first = &parts[0];
    let mut what = first
        .creator
        .as_deref()
        .unwrap_or("callgrind format")
        .to_owned();
    if let Some(pid) = &first.pid {
        what.push_str(&format!(", process {pid}"));
    }
    if let Some(thread) = first.thread {
        what.push_str(&format!(", thread {thread}"));
    }
    match (parts, first.number) {
        ([_], Some(number)) => what.push_str(&format!(", part {number}")),
        _ => what.push_str(&format!(", {}", plural(parts.len(), "part"))),
    }
    what
}

fn too_large(line: u64) -> Unreadable {
    Unreadable::at(
        line,
        "the counts are too large to be added; the file is damaged",
    )
}

/// The parts of a file; none where the file is empty.
fn read_parts<R: Read>(mut lines: Lines<R>) -> Result<Vec<Part>, CallgrindError> {
    // Where a part ends, and where one begins that should not yet.
    let ends = ["\ntotals:", "\nsummary:", "\nevents:", "\npart:"].map(Finder::new);
    let mut parts: Vec<Part> = Vec::new();
    let mut part = Part::default();
    let mut any = false;
    let mut ended = true;
    while let Some(line) = lines.next_line()? {
        if !any {
            line.check_first()?;
        }
        any = true;
        ended = line.ended;
        match part.take(&line)? {
            Step::Head => {}
            Step::Body => {
                // The line that was taken begins the body; the next that counts is far.
                lines.skip_to(&ends)?;
            }
            Step::End => {
                let next = Part::after(&part);
                parts.push(std::mem::replace(&mut part, next));
            }
        }
    }
    let last = lines.number();
    if !any {
        return Ok(Vec::new());
    }
    if !ended {
        return Err(Unreadable::at(last, CUT_SHORT).into());
    }
    if let Some(part) = part.at_end_of_file(last, parts.is_empty())? {
        parts.push(part);
    }
    Ok(parts)
}

/// Where a line leaves the reader of a part.
enum Step {
    Head,
    Body,
    End,
}

impl Part {
    /// The part after `part` in one file: its head repeats neither writer nor process.
    fn after(part: &Self) -> Self {
        Self {
            creator: part.creator.clone(),
            by_callgrind: part.by_callgrind,
            pid: part.pid.clone(),
            command: part.command.clone(),
            thread: part.thread,
            ..Self::default()
        }
    }

    fn take(&mut self, line: &Line) -> Result<Step, Unreadable> {
        let text = line.text();
        let Some((key, value)) = text.split_once(':').filter(|(key, _)| is_key(key)) else {
            let blank = text.trim().is_empty() || text.starts_with('#');
            return Ok(if blank || self.events.is_empty() {
                Step::Head
            } else {
                Step::Body
            });
        };
        let value = value.trim();
        match key {
            "creator" => {
                self.by_callgrind |= value.starts_with("callgrind");
                self.creator = Some(value.into());
            }
            "desc" => {
                let of_callgrind = ["Timerange:", "Trigger:"];
                self.by_callgrind |= of_callgrind.iter().any(|word| value.starts_with(word));
                if let Some(trigger) = value.strip_prefix("Trigger:") {
                    self.mark = Mark::of(trigger.trim());
                }
            }
            "pid" => self.pid = Some(value.into()),
            "cmd" => self.command = Some(value.into()),
            "thread" => self.thread = Some(whole_number(line, key, value)?),
            "part" => self.begin(line, value)?,
            "events" => self.set_events(line, value)?,
            "summary" => self.summary = Some(self.numbers(line, value)?),
            "totals" => {
                self.totals = Some(self.numbers(line, value)?);
                return Ok(Step::End);
            }
            _ => {}
        }
        Ok(Step::Head)
    }

    fn begin(&mut self, line: &Line, value: &str) -> Result<(), Unreadable> {
        if !self.events.is_empty() {
            return Err(Unreadable::at(line.number, CUT_SHORT));
        }
        self.first_line = line.number;
        self.number = Some(whole_number(line, "part", value)?);
        Ok(())
    }

    fn set_events(&mut self, line: &Line, value: &str) -> Result<(), Unreadable> {
        if !self.events.is_empty() {
            return Err(Unreadable::at(line.number, CUT_SHORT));
        }
        if self.first_line == 0 {
            self.first_line = line.number;
        }
        let events: Vec<String> = value.split_whitespace().map(modern).collect();
        let distinct: BTreeSet<&String> = events.iter().collect();
        let are_names = events.iter().all(|event| is_event(event));
        if events.is_empty() || distinct.len() != events.len() || !are_names {
            let detail =
                format!("`events: {value}` must name events, each once; the file is damaged");
            return Err(Unreadable::at(line.number, detail));
        }
        self.events = events;
        Ok(())
    }

    /// The numbers of a line, as many as there are events: zeros at the end are left out.
    fn numbers(&self, line: &Line, value: &str) -> Result<Vec<u64>, Unreadable> {
        let at = |detail: &str| Unreadable::at(line.number, detail);
        if !line.ended {
            return Err(at(CUT_SHORT));
        }
        if self.events.is_empty() {
            return Err(at("stands before `events:`; the file is damaged"));
        }
        let numbers: Option<Vec<u64>> = value
            .split_whitespace()
            .map(|word| word.parse().ok().filter(|_| !word.starts_with('+')))
            .collect();
        let mut numbers = numbers.ok_or_else(|| {
            at(&format!(
                "`{value}` must be whole numbers; the file is damaged"
            ))
        })?;
        if numbers.is_empty() || numbers.len() > self.events.len() {
            let detail = format!(
                "has {} for {}; the file is damaged",
                plural(numbers.len(), "number"),
                plural(self.events.len(), "event"),
            );
            return Err(at(&detail));
        }
        numbers.resize(self.events.len(), 0);
        Ok(numbers)
    }

    /// What is left when the file ends without a `totals:` line after the last part.
    fn at_end_of_file(self, line: u64, is_only: bool) -> Result<Option<Self>, Unreadable> {
        if self.events.is_empty() {
            if is_only {
                return Err(Unreadable::whole(NOT_CALLGRIND));
            }
            // A head without events: the next part was begun and not written.
            return match self.number {
                Some(_) => Err(Unreadable::at(line, CUT_SHORT)),
                None => Ok(None),
            };
        }
        if self.by_callgrind || self.summary.is_none() {
            return Err(Unreadable::at(line, CUT_SHORT));
        }
        Ok(Some(self))
    }

    fn costs(&self) -> Result<BTreeMap<String, u64>, Unreadable> {
        let numbers = self.totals.as_ref().or(self.summary.as_ref());
        let numbers = numbers.ok_or_else(|| Unreadable::at(self.first_line, CUT_SHORT))?;
        Ok(self
            .events
            .iter()
            .cloned()
            .zip(numbers.iter().copied())
            .collect())
    }
}

const CUT_SHORT: &str = "the part has no `totals:` line: the file was cut short, or is still being written; end the program in an orderly way and copy the file whole";
const NOT_CALLGRIND: &str = "has no `events:` line: this is no callgrind file, or it was cut short";

/// The number of a part or a thread. A part whose number cannot be read would count as another one.
fn whole_number(line: &Line, key: &str, value: &str) -> Result<u64, Unreadable> {
    value
        .parse()
        .ok()
        .filter(|number| *number > 0 && !value.starts_with('+'))
        .ok_or_else(|| {
            let detail =
                format!("`{key}: {value}` must be a whole number from 1 on; the file is damaged");
            Unreadable::at(line.number, detail)
        })
}

/// Whether a word may be an event: another line's words behind them are none.
fn is_event(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !word.contains(':')
}

/// Whether a line's start is the key of a header line, and not a piece of a function's name.
fn is_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase())
}

/// The name that callgrind uses today.
fn modern(event: &str) -> String {
    match event {
        "I2mr" => "ILmr",
        "D2mr" => "DLmr",
        "D2mw" => "DLmw",
        other => other,
    }
    .to_owned()
}

/// A region's dimension.
fn region(name: &str) -> Dim {
    Dim::scalar().with("region", name)
}

/// What a region counted, by event.
fn named(whole: &BTreeMap<String, u64>, counted: &[u64]) -> BTreeMap<String, u64> {
    let counted = counted.iter().copied();
    whole.keys().cloned().zip(counted).collect()
}

fn not_entered(name: &str, found: &Found) -> String {
    let names: Vec<&str> = found.regions.keys().map(String::as_str).collect();
    if names.is_empty() {
        return format!(
            "the program did not enter the region `{name}`, nor any other; check its name, and build the program with the instrumentation on"
        );
    }
    format!(
        "the program did not enter the region `{name}`; it entered {}",
        names.join(", ")
    )
}

/// That instructions were counted at all.
fn check_instructions(sums: &BTreeMap<String, u64>) -> Result<(), Unreadable> {
    match sums.get("Ir") {
        None => {
            let events: Vec<&str> = sums.keys().map(String::as_str).collect();
            let detail = format!(
                "has the events {}, and `Ir` is none of them: these are not callgrind's counts",
                events.join(" ")
            );
            Err(Unreadable::whole(detail))
        }
        Some(0) => {
            let detail = "not one instruction was counted; check --toggle-collect, --instr-atstart and callgrind_control";
            Err(Unreadable::whole(detail))
        }
        Some(_) => Ok(()),
    }
}

fn metrics(sums: &BTreeMap<String, u64>, dim: &Dim) -> Result<Vec<Metric>, Unreadable> {
    let sum = |events: &[&str]| -> Result<Option<u64>, Unreadable> {
        let costs: Option<Vec<u64>> = events.iter().map(|e| sums.get(*e).copied()).collect();
        let Some(costs) = costs else { return Ok(None) };
        let total = costs.into_iter().try_fold(0, u64::checked_add);
        total.map(Some).ok_or_else(|| too_large(1))
    };
    let ir = sum(&["Ir"])?;
    let l1 = sum(&["I1mr", "D1mr", "D1mw"])?;
    let llc = sum(&["ILmr", "DLmr", "DLmw"])?;
    let branch = sum(&["Bcm", "Bim"])?;
    let bus = sum(&["Ge"])?;
    let cycles = match (ir, l1, llc, branch) {
        (Some(instructions), Some(l1), Some(llc), Some(branch)) => {
            Some(estimated_cycles(instructions, l1, llc, branch).ok_or_else(|| too_large(1))?)
        }
        _ => None,
    };
    [
        ("callgrind.ir", ir),
        ("callgrind.l1_misses", l1),
        ("callgrind.llc_misses", llc),
        ("callgrind.branch_mispredicts", branch),
        ("callgrind.global_bus_events", bus),
        ("callgrind.estimated_cycles", cycles),
    ]
    .into_iter()
    .filter_map(|(key, count)| count.map(|count| (key, count)))
    .map(|(key, count)| {
        let value = number::count(count)?;
        metric(key, dim, value, Kind::Counted)
    })
    .collect::<Result<_, String>>()
    .map_err(Unreadable::whole)
}

/// Cachegrind's estimate: a miss of the first level costs ten cycles, one of the last a hundred, a
/// branch guessed wrong ten.
fn estimated_cycles(ir: u64, l1: u64, llc: u64, branch: u64) -> Option<u64> {
    ir.checked_add(l1.checked_mul(10)?)?
        .checked_add(llc.checked_mul(100)?)?
        .checked_add(branch.checked_mul(10)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
        let mut callgrind = Callgrind::default();
        for (name, text) in files {
            callgrind
                .add(name, text.as_bytes())
                .map_err(|error| error.to_string())?;
        }
        let reading = callgrind.finish(Parts::All).map_err(|e| e.to_string())?;
        Ok(reading
            .metrics
            .into_iter()
            .map(|m| (m.name.metric_key.to_string(), m.value.to_string()))
            .collect())
    }

    fn file(creator: &str, head: &str, events: &str, body: &str) -> String {
        format!("version: 1\n{creator}{head}positions: line\nevents: {events}\n{body}")
    }

    const BY_CALLGRIND: &str = "creator: callgrind-3.19.0\n";

    fn ir(value: &str) -> Result<Vec<(String, String)>, String> {
        Ok(vec![("callgrind.ir".to_owned(), value.to_owned())])
    }

    #[test]
    fn the_formula_is_the_documented_one() {
        let events = "Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim Ge";
        let body = "summary: 1\nfn=a\n1 1\ntotals: 388452 48324 222692 1350 1423 3859 1320 779 1739 236311 3460 345 176 6133\n";
        let found = read(&[("f", &file(BY_CALLGRIND, "", events, body))]).unwrap();
        let values: Vec<&str> = found.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["388452", "6632", "3838", "3636", "6133", "874932"]);
    }

    #[test]
    fn old_names_and_left_out_zeros_count() {
        let text = file(
            BY_CALLGRIND,
            "",
            "Ir Dr Dw I1mr D1mr D1mw I2mr D2mr D2mw",
            "summary: 0\ntotals: 133771 45985 33443 0 0 1\n",
        );
        let found = read(&[("f", &text)]).unwrap();
        let expected = [
            ("callgrind.ir", "133771"),
            ("callgrind.l1_misses", "1"),
            ("callgrind.llc_misses", "0"),
        ];
        assert_eq!(found, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    }

    #[test]
    fn another_writer_may_leave_a_summary_alone() {
        let text = file("creator: other\n", "", "Ir", "summary: 7\nfn=a\n1 7\n");
        assert_eq!(read(&[("f", &text)]), ir("7"));
        let last = file("", "", "Ir", "fn=a\n1 7\n\nsummary: 8\n");
        assert_eq!(read(&[("f", &last)]), ir("8"));
        let neither = file("", "", "Ir", "fn=a\n1 7\n");
        assert!(read(&[("f", &neither)]).unwrap_err().contains("cut short"));
    }

    #[test]
    fn every_cut_is_an_error() {
        let text = file(
            BY_CALLGRIND,
            "pid: 1\npart: 1\n",
            "Ir",
            "summary: 12\nfn=a::b\n1 12\n\ntotals: 12\n",
        );
        assert_eq!(read(&[("f", &text)]), ir("12"));
        for cut in 0..text.len() {
            assert!(read(&[("f", &text[..cut])]).is_err(), "{:?}", &text[..cut]);
        }
    }

    #[test]
    fn a_part_that_begins_before_the_last_has_ended_is_an_error() {
        let two = file(
            BY_CALLGRIND,
            "part: 1\n",
            "Ir",
            "summary: 1\nfn=a\n1 1\npart: 2\nevents: Ir\nsummary: 2\nfn=a\n1 2\ntotals: 2\n",
        );
        let error = read(&[("f", &two)]).unwrap_err();
        assert!(
            error.starts_with("line 9: ") && error.contains("cut short"),
            "{error}"
        );
    }

    #[test]
    fn parts_threads_and_processes_are_summed_each_once() {
        let part = |head: &str, total: u64| {
            file(
                BY_CALLGRIND,
                head,
                "Ir",
                &format!("summary: 0\n1 1\ntotals: {total}\n"),
            )
        };
        let one = part("pid: 7\npart: 1\nthread: 1\n", 1);
        let two = part("pid: 7\npart: 2\nthread: 1\n", 10);
        let other = part("pid: 8\npart: 1\n", 100);
        assert_eq!(
            read(&[("f.1-01", &one), ("f-01", &two), ("g", &other), ("f", "")]),
            ir("111")
        );
        let twice = read(&[("f", &one), ("g", &one)]).unwrap_err();
        assert!(twice.contains("stands in `f` already"), "{twice}");
        let missing = read(&[("f", &two)]).unwrap_err();
        assert!(missing.contains("part 1 was not given"), "{missing}");
    }

    #[test]
    fn a_process_that_became_another_program_counts_as_two() {
        let part = |head: &str| file(BY_CALLGRIND, head, "Ir", "totals: 1\n");
        let shell = part("pid: 7\ncmd: sh -c app\npart: 1\n");
        let app = part("pid: 7\ncmd: app\npart: 1\n");
        assert_eq!(read(&[("f.7.1", &shell), ("f.7", &app)]), ir("2"));
    }

    #[test]
    fn counts_that_are_no_counts_are_errors_with_their_line() {
        for (events, totals, said) in [
            ("Ir", "x", "line 5: `x` must be whole numbers"),
            ("Ir", "1 2", "line 5: has 2 numbers for 1 event"),
            ("Ir", "", "line 5: has 0 numbers for 1 event"),
            ("Ir", "+1", "line 5: `+1` must be"),
            ("Ir", "0", "not one instruction"),
            ("Ir Ir", "1", "line 4: `events: Ir Ir`"),
            ("Ir Gesummary: 1", "1", "line 4: `events: Ir Gesummary: 1`"),
            ("Ir 1", "1", "line 4: `events: Ir 1`"),
            ("Time Memory", "1 2", "`Ir` is none of them"),
            ("Ir", "99999999999999999999", "whole numbers"),
            ("Ir", "10000000000000000", "16 digits"),
        ] {
            let text = file(BY_CALLGRIND, "", events, &format!("totals: {totals}\n"));
            let error = read(&[("f", &text)]).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        assert!(read(&[("f", "\x1f\u{8b}")]).is_err());
    }

    #[test]
    fn a_part_or_a_thread_without_its_number_is_an_error() {
        for head in [
            "part: x\n",
            "part:\n",
            "part: 1 2\n",
            "part: 0\n",
            "part: -1\n",
            "thread: x\n",
        ] {
            let text = file(BY_CALLGRIND, head, "Ir", "totals: 1\n");
            let error = read(&[("f", &text)]).unwrap_err();
            let said = format!("line 3: `{}", head.trim_end().split(':').next().unwrap());
            assert!(error.starts_with(&said), "{error}");
            assert!(error.contains("must be a whole number"), "{error}");
        }
    }

    #[test]
    fn files_with_other_events_are_not_added() {
        let one = file("", "pid: 1\n", "Ir", "totals: 1\n");
        let two = file("", "pid: 2\n", "Ir Ge", "totals: 1 1\n");
        let error = read(&[("f", &one), ("g", &two)]).unwrap_err();
        assert!(error.contains("other events"), "{error}");
    }
}
