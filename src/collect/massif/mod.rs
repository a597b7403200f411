//! massif.out -> `massif.peak_heap_bytes`, the most memory that was held at a time.
//!
//! It is the highest of heap + extra + stacks over all snapshots, not the snapshot that massif
//! labels as the peak: a label is set only when the heap has grown by more than one per cent
//! (`--peak-inaccuracy`), and not at all with `--heap=no`.
//!
//! Where the program marks its regions with `perf-instrument`, the peak of each has the dimension `region=NAME`.
//!
//! The format has no end mark. A file cut short is told by a last snapshot that is not whole.

mod regions;

use std::collections::BTreeMap;
use std::io::{self, Read};

use super::lines::{Line, Lines};
use super::{Dim, Kind, Reading, Unreadable, metric, number, plural};
use crate::domain::Metric;
use regions::{Mark, Place, Point};

/// One snapshot as far as it was read.
#[derive(Debug, Default)]
struct Snapshot {
    time: Option<u64>,
    heap: Option<u64>,
    extra: Option<u64>,
    stacks: Option<u64>,
    /// The lines that the heap tree still owes; `None` before its first line.
    owed: Option<u64>,
}

impl Snapshot {
    fn bytes(&self, line: u64) -> Result<u64, Unreadable> {
        let (Some(heap), Some(extra), Some(stacks)) = (self.heap, self.extra, self.stacks) else {
            return Err(Unreadable::at(line, CUT_SHORT));
        };
        heap.checked_add(extra)
            .and_then(|sum| sum.checked_add(stacks))
            .ok_or_else(|| {
                Unreadable::at(
                    line,
                    "the bytes are too many to be added; the file is damaged",
                )
            })
    }

    fn is_whole(&self) -> bool {
        self.owed == Some(0)
    }

    fn take(&mut self, line: &Line) -> Result<(), Unreadable> {
        let text = line.text();
        let Some((key, value)) = text.split_once('=') else {
            self.take_tree(&text);
            return Ok(());
        };
        let field = match key {
            "time" => &mut self.time,
            "mem_heap_B" => &mut self.heap,
            "mem_heap_extra_B" => &mut self.extra,
            "mem_stacks_B" => &mut self.stacks,
            "heap_tree" => {
                // The tree of an empty snapshot has no line, any other a root.
                self.owed = Some(u64::from(value != "empty"));
                return Ok(());
            }
            _ => {
                self.take_tree(&text);
                return Ok(());
            }
        };
        let bytes = value.parse().map_err(|_| {
            let detail = format!("`{text}` must be a whole number; the file is damaged");
            Unreadable::at(line.number, detail)
        })?;
        if field.replace(bytes).is_some() {
            let detail = format!("`{key}` stands in the snapshot twice; the file is damaged");
            return Err(Unreadable::at(line.number, detail));
        }
        Ok(())
    }

    /// A line `n2: ...` stands for itself and announces two more.
    fn take_tree(&mut self, text: &str) {
        let Some(owed) = &mut self.owed else { return };
        let node = text.trim_start().strip_prefix('n');
        let children = node.and_then(|rest| rest.split_once(':')?.0.parse::<u64>().ok());
        if let Some(children) = children {
            *owed = owed.saturating_sub(1).saturating_add(children);
        }
    }
}

const CUT_SHORT: &str = "the snapshot is not whole: the file was cut short, or is still being written; end the program in an orderly way and copy the file whole";
const NOT_MASSIF: &str =
    "has no `snapshot=` line: this is no massif file, or it is empty or cut short";

/// The files of one measurement, one a process, and those of the regions.
///
/// The peak is that of the process with the highest: processes need not hold their most at the same
/// moment, and a forked one starts out with what its parent held.
#[derive(Debug, Default)]
pub struct Massif {
    files: usize,
    snapshots: usize,
    highest: u64,
    /// By process: massif's own snapshots, where the name of the file says which process it is.
    points: BTreeMap<u64, Vec<Point>>,
    /// By process, in the order in which they were made.
    marks: BTreeMap<u64, BTreeMap<u64, Mark>>,
}

impl Massif {
    /// Adds a file of a process, of any size in constant memory.
    ///
    /// # Errors
    /// What cannot be read, as the stream says; or what of the file does not fit.
    pub fn add(&mut self, input: impl Read) -> io::Result<Result<(), Unreadable>> {
        let read = read_snapshots(input, None)?;
        Ok(read.map(|found| self.take(&found)))
    }

    /// Adds a file of a process or of a region, as its name says: `massif.out.PID` or `region.PID.NUMBER.enter.NAME`.
    ///
    /// # Errors
    /// As [`Massif::add`].
    pub fn add_named(
        &mut self,
        name: &str,
        input: impl Read,
    ) -> io::Result<Result<(), Unreadable>> {
        let mut points = Vec::new();
        let read = read_snapshots(input, Some(&mut points))?;
        Ok(read.map(|found| match Place::of(name) {
            Some(place) => self.add_mark(place, &points),
            None => {
                self.take(&found);
                let process = name.rsplit('.').next().and_then(|word| word.parse().ok());
                if let Some(process) = process {
                    self.points.insert(process, points);
                }
            }
        }))
    }

    fn take(&mut self, (snapshots, highest): &(usize, u64)) {
        self.files += 1;
        self.snapshots += snapshots;
        self.highest = self.highest.max(*highest);
    }

    fn add_mark(&mut self, place: Place, points: &[Point]) {
        let mark = points.first().map(|point| Mark {
            region: place.region,
            is_enter: place.is_enter,
            point: *point,
        });
        let marks = self.marks.entry(place.process).or_default();
        marks.extend(mark.map(|mark| (place.number, mark)));
    }

    /// The metric of all that was added, and of each region.
    ///
    /// # Errors
    /// That none of it held a byte.
    pub fn finish(self) -> Result<Reading, Unreadable> {
        if self.highest == 0 {
            let detail = "no snapshot holds a byte: the program ended before it was measured, or nothing was; check --heap and --stacks, and leave massif out where the program allocates nothing or is linked statically";
            return Err(Unreadable::whole(detail));
        }
        let mut metrics = vec![peak(self.highest, &Dim::scalar())?];
        for (name, highest) in self.regions()? {
            metrics.push(peak(highest, &Dim::scalar().with("region", name))?);
        }
        Ok(self.reading(metrics))
    }

    /// The metric of one region alone.
    ///
    /// # Errors
    /// That the program did not enter it.
    pub fn finish_region(self, name: &str) -> Result<Reading, Unreadable> {
        let Some(highest) = self.regions()?.remove(name) else {
            let detail = format!(
                "the program did not enter the region `{name}`; check its name, and build the program with the instrumentation on"
            );
            return Err(Unreadable::whole(detail));
        };
        let metrics = vec![peak(highest, &Dim::scalar().with("region", name))?];
        Ok(self.reading(metrics))
    }

    /// The peak of each region, in the process where it was highest.
    fn regions(&self) -> Result<BTreeMap<String, u64>, Unreadable> {
        let mut highest: BTreeMap<String, u64> = BTreeMap::new();
        for (process, marks) in &self.marks {
            let marks: Vec<Mark> = marks.values().cloned().collect();
            let points = self.points.get(process).map_or(&[][..], Vec::as_slice);
            let peaks = regions::peaks(&marks, points).ok_or_else(|| {
                let detail = format!(
                    "there are more than {} regions; give regions that belong together one name",
                    regions::MAX_REGIONS
                );
                Unreadable::whole(detail)
            })?;
            for (name, bytes) in peaks {
                let peak = highest.entry(name).or_default();
                *peak = bytes.max(*peak);
            }
        }
        Ok(highest)
    }

    fn reading(&self, metrics: Vec<Metric>) -> Reading {
        let mut what = format!("massif, {}", plural(self.snapshots, "snapshot"));
        if self.files > 1 {
            what.push_str(&format!(" of {} files, the highest taken", self.files));
        }
        let marks: usize = self.marks.values().map(BTreeMap::len).sum();
        if marks > 0 {
            what.push_str(&format!("; {marks} where regions were entered and left"));
        }
        Reading {
            metrics,
            what,
            notes: Vec::new(),
        }
    }
}

fn peak(bytes: u64, dim: &Dim) -> Result<Metric, Unreadable> {
    number::count(bytes)
        .and_then(|value| metric("massif.peak_heap_bytes", dim, value, Kind::Counted))
        .map_err(Unreadable::whole)
}

/// How many snapshots a file has, and the highest, in bytes. All of them go into `points`, where they are asked for.
fn read_snapshots(
    input: impl Read,
    points: Option<&mut Vec<Point>>,
) -> io::Result<Result<(usize, u64), Unreadable>> {
    let mut lines = Lines::new(input);
    let mut reader = Reader {
        points,
        ..Reader::default()
    };
    while let Some(line) = lines.next_line()? {
        if let Err(error) = reader.take(&line) {
            return Ok(Err(error));
        }
    }
    Ok(reader.finish(lines.number()))
}

/// Reads a massif file, of any size in constant memory.
///
/// # Errors
/// What cannot be read, as the stream says; or what of the file does not fit.
pub fn read(input: impl Read) -> io::Result<Result<Reading, Unreadable>> {
    let mut massif = Massif::default();
    let added = massif.add(input)?;
    Ok(added.and_then(|()| massif.finish()))
}

#[derive(Debug, Default)]
struct Reader<'a> {
    points: Option<&'a mut Vec<Point>>,
    snapshot: Option<Snapshot>,
    snapshots: usize,
    highest: u64,
    ended: bool,
}

impl Reader<'_> {
    fn take(&mut self, line: &Line) -> Result<(), Unreadable> {
        self.ended = line.ended;
        if line.number == 1 {
            line.check_first()?;
        }
        if let Some(number) = line.bytes.strip_prefix(b"snapshot=") {
            self.close(line.number)?;
            self.begin(number, line.number)?;
            return Ok(());
        }
        match &mut self.snapshot {
            Some(snapshot) if !line.bytes.starts_with(b"#") => snapshot.take(line),
            _ => Ok(()),
        }
    }

    /// Snapshots are numbered from 0 on; one that is missing may be the highest.
    fn begin(&mut self, number: &[u8], line: u64) -> Result<(), Unreadable> {
        if number.trim_ascii() != self.snapshots.to_string().as_bytes() {
            let detail = format!(
                "`snapshot={}` must be `snapshot={}`: one is missing or there twice, so the file is \
                 damaged",
                String::from_utf8_lossy(number),
                self.snapshots
            );
            return Err(Unreadable::at(line, detail));
        }
        self.snapshot = Some(Snapshot::default());
        self.snapshots += 1;
        Ok(())
    }

    fn close(&mut self, line: u64) -> Result<(), Unreadable> {
        if let Some(snapshot) = self.snapshot.take() {
            let bytes = snapshot.bytes(line)?;
            self.highest = self.highest.max(bytes);
            if let (Some(points), Some(time)) = (&mut self.points, snapshot.time) {
                points.push(Point { time, bytes });
            }
        }
        Ok(())
    }

    /// How many snapshots there are, and the highest, in bytes.
    fn finish(mut self, line: u64) -> Result<(usize, u64), Unreadable> {
        let Some(last) = &self.snapshot else {
            return Err(Unreadable::whole(NOT_MASSIF));
        };
        if !last.is_whole() || !self.ended {
            return Err(Unreadable::at(line, CUT_SHORT));
        }
        self.close(line)?;
        Ok((self.snapshots, self.highest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peak(text: &str) -> Result<String, String> {
        let reading = read(text.as_bytes()).unwrap();
        reading
            .map(|reading| reading.metrics[0].value.to_string())
            .map_err(|error| error.to_string())
    }

    fn snapshot(heap: &str, extra: u64, stacks: u64, tree: &str) -> String {
        numbered(0, heap, extra, stacks, tree)
    }

    fn numbered(number: u64, heap: &str, extra: u64, stacks: u64, tree: &str) -> String {
        format!(
            "#-----------\nsnapshot={number}\n#-----------\ntime=0\nmem_heap_B={heap}\nmem_heap_extra_B={extra}\nmem_stacks_B={stacks}\nheap_tree={tree}\n"
        )
    }

    const TREE: &str = "peak\nn2: 4 (heap allocation functions) a=b\n n0: 2 0x1: work (in /build/app)\n n1: 2 0x2: n7:\n  n0: 2 in 3 places";

    #[test]
    fn the_peak_is_the_highest_and_not_the_labelled() {
        let text = [
            "desc: x\ncmd: x\ntime_unit: i\n".to_owned(),
            numbered(0, "10", 2, 3, "empty"),
            numbered(1, "20", 2, 3, "empty"),
            numbered(2, "4", 0, 0, TREE),
        ];
        assert_eq!(peak(&text.concat()).as_deref(), Ok("25"));
    }

    #[test]
    fn every_cut_within_the_last_snapshot_is_an_error() {
        let head = format!("cmd: x\n{}", snapshot("9", 0, 0, "empty"));
        let text = format!("{head}{}", numbered(1, "10", 2, 3, TREE));
        assert_eq!(peak(&text).as_deref(), Ok("15"));
        for cut in (0..text.len()).filter(|cut| *cut != head.len()) {
            let whole_before = text[..cut].ends_with("#-----------\n") && cut == head.len() + 13;
            if !whole_before {
                assert!(peak(&text[..cut]).is_err(), "{:?}", &text[..cut]);
            }
        }
    }

    #[test]
    fn what_is_not_massif_or_holds_nothing_is_an_error() {
        assert!(peak("").unwrap_err().contains("no massif file"));
        assert!(peak("events: Ir\n").unwrap_err().contains("no massif file"));
        assert!(
            peak(&snapshot("x", 0, 0, "empty"))
                .unwrap_err()
                .starts_with("line 5: `mem_heap_B=x`")
        );
        assert!(peak(&snapshot("-1", 0, 0, "empty")).is_err());
        assert!(
            peak(&snapshot("0", 0, 0, "empty"))
                .unwrap_err()
                .contains("no snapshot holds a byte")
        );
        let huge = snapshot(&u64::MAX.to_string(), 1, 0, "empty");
        assert!(peak(&huge).unwrap_err().contains("too many"));
    }

    #[test]
    fn a_snapshot_that_is_missing_or_mixed_with_another_is_an_error() {
        let one = numbered(0, "10", 2, 3, "empty");
        let three = numbered(2, "4", 0, 0, "empty");
        let error = peak(&format!("{one}{three}")).unwrap_err();
        assert!(
            error.contains("`snapshot=2` must be `snapshot=1`"),
            "{error}"
        );
        let mixed = format!("{one}{}", three.replace("snapshot=2\n", ""));
        let error = peak(&mixed).unwrap_err();
        assert!(
            error.contains("`time` stands in the snapshot twice"),
            "{error}"
        );
    }

    #[test]
    fn of_several_processes_the_highest_counts_and_one_may_hold_nothing() {
        let mut massif = Massif::default();
        for heap in ["10", "30", "0"] {
            let text = snapshot(heap, 0, 0, "empty");
            massif.add(text.as_bytes()).unwrap().unwrap();
        }
        let reading = massif.finish().unwrap();
        assert_eq!(reading.metrics[0].value.to_string(), "30");
        assert_eq!(
            reading.what,
            "massif, 3 snapshots of 3 files, the highest taken"
        );
    }
}
