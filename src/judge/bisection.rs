//! A search for the first commit of a new level, in a row of commits with the old level at its
//! start and the new one at its end.

use std::ops::RangeInclusive;

/// On which level a measured value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// On the old level.
    Old,
    /// On the new level.
    New,
}

/// The two levels that a value is told apart by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// The value of the last run of the old level.
    pub old: f64,
    /// The value of the first run of the new level.
    pub new: f64,
}

/// The least part of the step in the history that the two ends must show when they are measured
/// again.
const LEAST_PART: f64 = 0.5;

impl Levels {
    /// The level that `value` is nearer to.
    pub fn side(self, value: f64) -> Side {
        match (value - self.old).abs() < (value - self.new).abs() {
            true => Side::Old,
            false => Side::New,
        }
    }

    /// The step from the old level to the new one.
    pub fn step(self) -> f64 {
        self.new - self.old
    }

    /// Whether these levels, measured again, show the step that the history has: in the same
    /// direction, and at least half as large.
    pub fn repeat(self, history: f64) -> bool {
        self.step() * history.signum() >= history.abs() * LEAST_PART && self.step() != 0.0
    }
}

/// The state of a search. Commits are numbered from 0, the last one known on the old level.
#[derive(Clone, Debug)]
pub struct Bisection {
    /// The newest commit that is known to be on the old level.
    old: usize,
    /// The oldest commit that is known to be on the new level.
    new: usize,
    /// Which commits cannot be measured.
    skipped: Vec<bool>,
}

impl Bisection {
    /// A search among `count` commits: the first is on the old level, the last on the new one.
    pub fn new(count: usize) -> Self {
        Self {
            old: 0,
            new: count.saturating_sub(1),
            skipped: vec![false; count],
        }
    }

    /// The commit to measure next: the one nearest to the middle that can be measured.
    pub fn next(&self) -> Option<usize> {
        let middle = (self.old + self.new) / 2;
        let candidates = (self.old + 1..self.new).filter(|&index| !self.skipped[index]);
        candidates.min_by_key(|index| index.abs_diff(middle))
    }

    /// Takes in that commit `index` was measured.
    pub fn measured(&mut self, index: usize, side: Side) {
        match side {
            Side::Old => self.old = self.old.max(index),
            Side::New => self.new = self.new.min(index),
        }
    }

    /// Takes in that commit `index` cannot be measured.
    pub fn skip(&mut self, index: usize) {
        if let Some(skipped) = self.skipped.get_mut(index) {
            *skipped = true;
        }
    }

    /// The newest commit that is known to be on the old level.
    pub fn last_old(&self) -> usize {
        self.old
    }

    /// The commits of which one is the first of the new level; a single one where it is found.
    pub fn suspects(&self) -> RangeInclusive<usize> {
        self.old + 1..=self.new
    }

    /// The most commits that remain to be measured, if none of them is skipped.
    pub fn steps_left(&self) -> u32 {
        (self.new - self.old).next_power_of_two().trailing_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(count: usize, first_new: usize, broken: &[usize]) -> (Bisection, usize) {
        let mut search = Bisection::new(count);
        let mut measured = 0;
        while let Some(index) = search.next() {
            measured += 1;
            match broken.contains(&index) {
                true => search.skip(index),
                false => {
                    let side = if index < first_new {
                        Side::Old
                    } else {
                        Side::New
                    };
                    search.measured(index, side);
                }
            }
        }
        (search, measured)
    }

    #[test]
    fn every_commit_is_found_in_as_many_steps_as_halving_takes() {
        for count in 2..70 {
            let most = Bisection::new(count).steps_left() as usize;
            for first_new in 1..count {
                let (search, measured) = search(count, first_new, &[]);
                assert_eq!(search.suspects(), first_new..=first_new, "{count}");
                assert!(measured <= most, "{count} {first_new}: {measured} > {most}");
            }
        }
    }

    #[test]
    fn commits_that_cannot_be_measured_remain_suspects_only_beside_the_step() {
        for first_new in 1..12 {
            for broken in [&[5, 6, 7][..], &[1], &[10], &[2, 4, 6, 8, 10]] {
                let (search, _) = search(12, first_new, broken);
                let suspects = search.suspects();
                assert!(suspects.contains(&first_new), "{first_new} {broken:?}");
                let measured = suspects.clone().filter(|index| !broken.contains(index));
                assert_eq!(measured.collect::<Vec<_>>(), [*suspects.end()]);
            }
        }
    }

    #[test]
    fn a_value_belongs_to_the_nearer_level_and_a_step_that_is_gone_is_told() {
        let levels = Levels {
            old: 100.0,
            new: 90.0,
        };
        assert_eq!(levels.side(96.0), Side::Old);
        assert_eq!(levels.side(94.0), Side::New);
        assert_eq!(levels.side(40.0), Side::New);
        assert!(levels.repeat(-12.0));
        assert!(!levels.repeat(-30.0), "only a third of the step");
        assert!(!levels.repeat(10.0), "the other direction");
        let flat = Levels { old: 1.0, new: 1.0 };
        assert!(!flat.repeat(0.0));
    }
}
