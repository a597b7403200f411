//! Regions of a program, from the marks that `perf-instrument` leaves between the parts.
//!
//! A mark makes callgrind write a part, and stands in that part's trigger: `Client Request: perf-tracking-region enter NAME`.
//! A part belongs to every region that was open in it, once, however often the region had entered itself.
//!
//! The marks run instructions themselves. The program shows how many before its first mark, with two empty regions, one in
//! the other, whose marks are named `perf-tracking-calibration`. With a instructions behind an enter mark, b before one, c
//! before a leave mark and d behind one, their parts hold a + b, a + c and c + d. Only such sums occur where every region is
//! left, so that a can be set to zero.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Process, Unreadable};

/// More regions than a program has by hand. A part is added to each that is open, so that the number bounds the work.
const MAX_REGIONS: usize = 256;

/// What ended a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Mark {
    Enter(String),
    Leave(String),
    /// The first mark of a forked child.
    Forked,
    /// A forked child is inside this region.
    Inherit(String),
    EnterOuter,
    EnterInner,
    LeaveInner,
    LeaveOuter,
    /// The end of the program, a fork, or another's request.
    #[default]
    Other,
}

impl Mark {
    /// The mark that a part's trigger names.
    pub(super) fn of(trigger: &str) -> Self {
        let text = trigger.strip_prefix("Client Request: perf-tracking-");
        match text.and_then(|text| text.split_once(' ')) {
            Some(("region", words)) => Self::of_region(words),
            Some(("calibration", "enter outer")) => Self::EnterOuter,
            Some(("calibration", "enter inner")) => Self::EnterInner,
            Some(("calibration", "leave inner")) => Self::LeaveInner,
            Some(("calibration", "leave outer")) => Self::LeaveOuter,
            _ => Self::Other,
        }
    }

    fn of_region(words: &str) -> Self {
        match words.split_once(' ') {
            Some(("enter", name)) => Self::Enter(name.to_owned()),
            Some(("leave", name)) => Self::Leave(name.to_owned()),
            Some(("inherit", name)) => Self::Inherit(name.to_owned()),
            None if words == "forked" => Self::Forked,
            _ => Self::Other,
        }
    }

    /// Whether the part before it is calibration and nothing of the program's.
    fn ends_calibration(&self, before: &Self) -> bool {
        match self {
            Self::EnterInner | Self::LeaveInner | Self::LeaveOuter => true,
            Self::EnterOuter => *before == Self::LeaveOuter,
            _ => false,
        }
    }
}

/// The instructions that marks cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MarkCost {
    before_enter: i128,
    before_leave: i128,
    after_leave: i128,
}

impl MarkCost {
    /// The instructions of the marks in a part between two of them.
    fn between(&self, before: &Mark, after: &Mark) -> i128 {
        let start = match before {
            Mark::Leave(_) | Mark::LeaveOuter => self.after_leave,
            _ => 0,
        };
        let end = match after {
            Mark::Enter(_) | Mark::EnterOuter => self.before_enter,
            Mark::Leave(_) => self.before_leave,
            _ => 0,
        };
        start + end
    }
}

/// A part: what ended it, and what it counted, in the order of the events' names.
#[derive(Debug)]
struct Part {
    mark: Mark,
    costs: Vec<u64>,
}

/// The parts of all threads and processes, in the order in which each thread ran them.
#[derive(Debug, Default)]
pub(super) struct Regions {
    parts: BTreeMap<(Process, Option<u64>), BTreeMap<u64, Part>>,
    has_marks: bool,
}

/// What the marks of a program say.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// By region: what was counted in it, in the order of the events' names, without the instructions of marks.
    pub(super) regions: BTreeMap<String, Vec<u64>>,
    /// How often one was entered.
    pub(super) entries: usize,
    /// The instructions of the marks and of their calibration, which are in the parts of the whole program.
    pub(super) marks: u64,
}

impl Regions {
    pub(super) fn add(
        &mut self,
        process: &Process,
        thread: Option<u64>,
        number: u64,
        mark: Mark,
        costs: Vec<u64>,
    ) {
        self.has_marks |= mark != Mark::Other;
        let parts = self.parts.entry((process.clone(), thread)).or_default();
        parts.insert(number, Part { mark, costs });
    }

    /// Adds up each region; `instructions` is the place of `Ir` among the events.
    ///
    /// # Errors
    /// That there are too many regions.
    pub(super) fn finish(&self, instructions: Option<usize>) -> Result<Found, Unreadable> {
        if !self.has_marks {
            return Ok(Found::default());
        }
        let costs = self.mark_costs(instructions);
        let mut sums = Sums {
            instructions,
            ..Sums::default()
        };
        for (((_, command), _), parts) in &self.parts {
            let cost = costs.get(command).copied().unwrap_or_default();
            sums.add_thread(parts, cost)?;
        }
        Ok(sums.found())
    }

    /// What marks cost, by program: the last calibration counts, for the first time costs more.
    fn mark_costs(&self, instructions: Option<usize>) -> BTreeMap<&Option<Arc<str>>, MarkCost> {
        let mut costs = BTreeMap::new();
        for (((_, command), _), parts) in &self.parts {
            let cost = |mark: &Mark| {
                let part = parts.values().rev().find(|part| part.mark == *mark)?;
                part.costs.get(instructions?).copied().map(i128::from)
            };
            let sums = [Mark::EnterInner, Mark::LeaveInner, Mark::LeaveOuter].map(|m| cost(&m));
            if let [Some(before_enter), Some(before_leave), Some(both)] = sums {
                let cost = MarkCost {
                    before_enter,
                    before_leave,
                    after_leave: both - before_leave,
                };
                costs.insert(command, cost);
            }
        }
        costs
    }
}

#[derive(Debug, Default)]
struct Sums {
    instructions: Option<usize>,
    regions: BTreeMap<String, Vec<i128>>,
    entries: usize,
    marks: i128,
}

impl Sums {
    fn add_thread(
        &mut self,
        parts: &BTreeMap<u64, Part>,
        cost: MarkCost,
    ) -> Result<(), Unreadable> {
        // How often each region has been entered and not left.
        let mut open: BTreeMap<&str, usize> = BTreeMap::new();
        let mut before = &Mark::Other;
        for part in parts.values() {
            let of_marks = cost.between(before, &part.mark);
            self.add_part(part, before, of_marks, &open)?;
            match &part.mark {
                Mark::Enter(name) => {
                    self.entries += 1;
                    *open.entry(name).or_default() += 1;
                    self.region(name, part.costs.len())?;
                }
                Mark::Inherit(name) => *open.entry(name).or_default() += 1,
                Mark::Leave(name) => leave(&mut open, name),
                _ => {}
            }
            before = &part.mark;
        }
        Ok(())
    }

    fn add_part(
        &mut self,
        part: &Part,
        before: &Mark,
        of_marks: i128,
        open: &BTreeMap<&str, usize>,
    ) -> Result<(), Unreadable> {
        let place = self.instructions;
        if part.mark.ends_calibration(before) {
            let own = place.and_then(|place| part.costs.get(place)).copied();
            self.marks += i128::from(own.unwrap_or(0));
            return Ok(());
        }
        self.marks += of_marks;
        if matches!(part.mark, Mark::Inherit(_)) {
            return Ok(());
        }
        for name in open.keys() {
            let sums = self.region(name, part.costs.len())?;
            for (index, (sum, cost)) in sums.iter_mut().zip(&part.costs).enumerate() {
                *sum += i128::from(*cost);
                if place == Some(index) {
                    *sum -= of_marks;
                }
            }
        }
        Ok(())
    }

    fn region(&mut self, name: &str, events: usize) -> Result<&mut Vec<i128>, Unreadable> {
        if !self.regions.contains_key(name) && self.regions.len() == MAX_REGIONS {
            let detail = format!(
                "names more than {MAX_REGIONS} regions; give regions that belong together one name"
            );
            return Err(Unreadable::whole(detail));
        }
        let sums = self.regions.entry(name.to_owned());
        Ok(sums.or_insert_with(|| vec![0; events]))
    }

    fn found(self) -> Found {
        let count = |sum: i128| u64::try_from(sum.max(0)).unwrap_or(u64::MAX);
        let regions = self.regions.into_iter();
        Found {
            regions: regions
                .map(|(name, sums)| (name, sums.into_iter().map(count).collect()))
                .collect(),
            entries: self.entries,
            marks: count(self.marks),
        }
    }
}

/// A leave without its enter is one of a region that was entered before anything was counted.
fn leave(open: &mut BTreeMap<&str, usize>, name: &str) {
    if let Some(times) = open.get_mut(name) {
        *times -= 1;
        if *times == 0 {
            open.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of one thread with the events `Bc` and `Ir`, each ended by a mark.
    fn find(parts: &[(&str, u64)]) -> Found {
        let mut regions = Regions::default();
        let process = ("7".into(), None);
        for (number, (mark, ir)) in (1..).zip(parts) {
            let trigger = format!("Client Request: perf-tracking-{mark}");
            regions.add(&process, None, number, Mark::of(&trigger), vec![1, *ir]);
        }
        regions.finish(Some(1)).unwrap()
    }

    fn ir(found: &Found) -> Vec<(&str, u64)> {
        let regions = found.regions.iter();
        regions
            .map(|(name, sums)| (name.as_str(), sums[1]))
            .collect()
    }

    #[test]
    fn nested_and_recursive_regions_count_once_and_with_what_they_hold() {
        let found = find(&[
            ("region enter a", 1),
            ("region enter b c", 10),
            ("region enter a", 100),
            ("region leave a", 1000),
            ("region leave b c", 10_000),
            ("region leave a", 100_000),
            ("end", 1_000_000),
        ]);
        assert_eq!(ir(&found), [("a", 111_110), ("b c", 11_100)]);
        assert_eq!(found.regions["a"], [5, 111_110]);
        assert_eq!((found.entries, found.marks), (3, 0));
    }

    #[test]
    fn what_marks_cost_is_taken_off_the_regions_and_the_whole() {
        // a = 5, b = 20, c = 7, d = 11; the first round costs more.
        let found = find(&[
            ("calibration enter outer", 1000),
            ("calibration enter inner", 500),
            ("calibration leave inner", 13),
            ("calibration leave outer", 19),
            ("calibration enter outer", 40),
            ("calibration enter inner", 25),
            ("calibration leave inner", 12),
            ("calibration leave outer", 18),
            ("region enter out", 11 + 600 + 20),
            ("region enter in", 5 + 50 + 20),
            ("region leave in", 5 + 7),
            ("region enter in", 11 + 20),
            ("region leave in", 5 + 300 + 7),
            ("region leave out", 11 + 4 + 7),
            ("end", 11 + 70),
        ]);
        assert_eq!(ir(&found), [("in", 300), ("out", 354)]);
        let whole = 1000 + 500 + 13 + 19 + 40 + 25 + 12 + 18 + 631 + 75 + 12 + 31 + 312 + 22 + 81;
        // The first part holds b of the calibration, which is 20, and counts as a + b; the last d, which counts as d - a.
        assert_eq!(whole - found.marks, 1000 - 25 + 600 + 50 + 300 + 4 + 70 + 5);
    }

    #[test]
    fn a_forked_child_is_inside_the_regions_of_its_parent() {
        let found = find(&[
            ("region forked", 500),
            ("region inherit a", 7),
            ("region inherit b", 7),
            ("region leave b", 100),
            ("region leave a", 1000),
            ("end", 9),
        ]);
        assert_eq!(ir(&found), [("a", 1100), ("b", 100)]);
        assert_eq!(found.entries, 0);
    }

    #[test]
    fn a_region_that_is_not_left_lasts_to_the_end_and_a_leave_without_enter_is_none() {
        let found = find(&[("region leave x", 5), ("region enter a", 6), ("end", 7)]);
        assert_eq!(ir(&found), [("a", 7)]);
        let found = find(&[("region enter a", 6)]);
        assert_eq!(ir(&found), [("a", 0)]);
    }

    #[test]
    fn threads_and_processes_have_regions_of_their_own() {
        let mut regions = Regions::default();
        for (process, thread) in [("7", Some(1)), ("7", Some(2)), ("8", None)] {
            let process = (process.into(), None);
            regions.add(&process, thread, 1, Mark::Enter("a".to_owned()), vec![3]);
            regions.add(&process, thread, 9, Mark::Other, vec![5]);
        }
        let found = regions.finish(Some(0)).unwrap();
        assert_eq!(found.regions["a"], [15]);
    }

    #[test]
    fn too_many_regions_are_an_error() {
        let mut regions = Regions::default();
        for number in 0..=MAX_REGIONS as u64 {
            let mark = Mark::Enter(number.to_string());
            regions.add(&("7".into(), None), None, number, mark, vec![1]);
        }
        let error = regions.finish(Some(0)).unwrap_err();
        assert!(error.detail.contains("more than 256 regions"), "{error}");
    }

    #[test]
    fn other_triggers_are_no_marks() {
        for trigger in [
            "Program termination",
            "--dump-before=fork",
            "Client Request: mine",
            "Client Request: perf-tracking-region",
            "Client Request: perf-tracking-region enter",
            "Client Request: perf-tracking-region open a",
            "Client Request: perf-tracking-other enter a",
        ] {
            assert_eq!(Mark::of(trigger), Mark::Other, "{trigger}");
        }
    }
}
