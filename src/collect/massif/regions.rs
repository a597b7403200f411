//! The heap of a program's regions, from the snapshots that massif writes where `perf-instrument` asks for one: on entering and
//! on leaving a region.
//!
//! The peak of a region is the highest of these and of massif's own snapshots while it was open. Massif does not take one at
//! each allocation, so the peak may have been a little higher; a program that does the same again has the same snapshots.

use std::collections::BTreeMap;

/// More regions than a program has by hand. A snapshot is held against each that is open, so that the number bounds the work.
pub(super) const MAX_REGIONS: usize = 256;

/// What the heap held at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) time: u64,
    pub(super) bytes: u64,
}

/// A region was entered or left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) region: String,
    pub(super) is_enter: bool,
    pub(super) point: Point,
}

/// A mark's place among those of all processes, from the name of its file: `region.PID.NUMBER.enter.NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) process: u64,
    pub(super) number: u64,
    pub(super) is_enter: bool,
    pub(super) region: String,
}

impl Place {
    /// `None` where this is not the name of such a file.
    pub(super) fn of(file: &str) -> Option<Self> {
        let mut words = file.strip_prefix("region.")?.splitn(4, '.');
        let process = words.next()?.parse().ok()?;
        let number = words.next()?.parse().ok()?;
        let is_enter = match words.next()? {
            "enter" => true,
            "leave" => false,
            _ => return None,
        };
        let region = percent_encoding::percent_decode_str(words.next()?);
        Some(Self {
            process,
            number,
            is_enter,
            region: region.decode_utf8().ok()?.into_owned(),
        })
    }
}

/// The peak of each region of one process; `marks` are in the order in which they were made.
///
/// `None` where there are more than [`MAX_REGIONS`].
pub(super) fn peaks(marks: &[Mark], points: &[Point]) -> Option<BTreeMap<String, u64>> {
    let mut peaks: BTreeMap<String, u64> = BTreeMap::new();
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    let mut points: Vec<Point> = points.to_vec();
    points.sort_by_key(|point| point.time);
    let mut points = points.into_iter().peekable();
    let mut raise = |open: &BTreeMap<&str, usize>, bytes: u64| {
        for name in open.keys() {
            let peak = peaks.entry((*name).to_owned()).or_default();
            *peak = bytes.max(*peak);
        }
        peaks.len() <= MAX_REGIONS
    };
    for mark in marks {
        while let Some(point) = points.next_if(|point| point.time < mark.point.time) {
            raise(&open, point.bytes);
        }
        let times = open.entry(&mark.region).or_default();
        *times += usize::from(mark.is_enter);
        if !raise(&open, mark.point.bytes) {
            return None;
        }
        if !mark.is_enter {
            leave(&mut open, &mark.region);
        }
    }
    for point in points {
        raise(&open, point.bytes);
    }
    Some(peaks)
}

fn leave(open: &mut BTreeMap<&str, usize>, name: &str) {
    let Some(times) = open.get_mut(name) else {
        return;
    };
    *times = times.saturating_sub(1);
    if *times == 0 {
        open.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(what: &str, time: u64, bytes: u64) -> Mark {
        let (done, region) = what.split_once(' ').unwrap();
        Mark {
            region: region.to_owned(),
            is_enter: done == "enter",
            point: Point { time, bytes },
        }
    }

    fn points(points: &[(u64, u64)]) -> Vec<Point> {
        let points = points.iter();
        points.map(|&(time, bytes)| Point { time, bytes }).collect()
    }

    #[test]
    fn the_peak_of_a_region_is_the_highest_while_it_was_open() {
        let marks = [
            mark("enter a", 10, 5),
            mark("enter b", 20, 6),
            mark("enter a", 30, 7),
            mark("leave a", 40, 20),
            mark("leave b", 50, 3),
            mark("leave a", 60, 4),
            mark("enter c", 70, 1),
        ];
        let points = points(&[(0, 1000), (25, 9), (45, 11), (55, 30), (65, 1000), (75, 8)]);
        let peaks = peaks(&marks, &points).unwrap();
        let expected = [("a", 30), ("b", 20), ("c", 8)];
        assert_eq!(
            peaks,
            expected.map(|(name, peak)| (name.to_owned(), peak)).into()
        );
    }

    #[test]
    fn a_files_name_says_which_mark_it_is() {
        let place = Place::of("region.17.3.enter.load%20data%2Fx").unwrap();
        assert_eq!((place.process, place.number, place.is_enter), (17, 3, true));
        assert_eq!(place.region, "load data/x");
        for other in [
            "massif.out.17",
            "region.17.3.enter",
            "region.17.x.enter.a",
            "region.17.3.open.a",
        ] {
            assert_eq!(Place::of(other), None, "{other}");
        }
    }

    #[test]
    fn too_many_regions_are_refused() {
        let marks: Vec<Mark> = (0..=MAX_REGIONS)
            .map(|number| mark(&format!("enter {number}"), 1, 1))
            .collect();
        assert_eq!(peaks(&marks, &[]), None);
        assert_eq!(peaks(&marks[1..], &[]).unwrap().len(), MAX_REGIONS);
    }
}
