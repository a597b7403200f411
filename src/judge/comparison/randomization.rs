//! The randomization rule: would the difference of the medians be as large if the two sides were
//! one?
//!
//! Under the null hypothesis the values of both sides come from one distribution, so every way to
//! split them into two sides of the same sizes was equally likely. The differences that these
//! splits give are the randomization distribution (Box, Hunter and Hunter, *Statistics for
//! Experimenters*). Of up to [`EXACT`] values a side all splits are counted; of more, [`DRAWS`]
//! are drawn, from the same seed every time.

use super::budget::{Found, Side, worse_change};
use super::sample::{SLACK, is_above, median, median_of_sorted, relative_change};
use crate::judge::Worse;

/// Up to so many values on the larger side, every split is counted.
pub const EXACT: usize = 10;
/// The splits that are drawn where there are too many to count.
pub const DRAWS: u64 = 100_000;
/// The share of the distribution that a difference must be above.
pub const LEVEL: f64 = 0.95;
/// The change that matters, where the contract names no other.
pub const DEFAULT_FLOOR: f64 = 0.05;
/// With fewer distinct differences, the distribution has steps too coarse to say much.
pub const FEW_DISTINCT: usize = 10;

const SEED: u64 = 0x7065_7266_2d74_7261;

/// The absolute differences of the two medians over all splits, with how often each came.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// Distinct differences, the smallest first, each with its number of splits. They are shares
    /// of `scale`.
    steps: Vec<(f64, u64)>,
    splits: u64,
    scale: f64,
    is_exact: bool,
}

impl Distribution {
    /// The distribution of two sides; `None` where one has no value.
    pub fn of(left: &[f64], right: &[f64]) -> Option<Self> {
        if left.is_empty() || right.is_empty() {
            return None;
        }
        let mut pool: Vec<f64> = left.iter().chain(right).copied().collect();
        // The order of the rounds is not to matter, nor which side is called left.
        pool.sort_by(f64::total_cmp);
        let scale = scale(&pool);
        for value in &mut pool {
            *value /= scale;
        }
        let smaller = left.len().min(right.len());
        let is_exact = left.len().max(right.len()) <= EXACT;
        let differences = if is_exact {
            all_splits(&pool, smaller)
        } else {
            drawn_splits(&mut pool, smaller)
        };
        Some(Self {
            splits: differences.len() as u64,
            steps: steps(differences),
            scale,
            is_exact,
        })
    }

    /// The splits that were counted.
    pub fn splits(&self) -> u64 {
        self.splits
    }

    /// How many distinct differences they give.
    pub fn distinct(&self) -> usize {
        self.steps.len()
    }

    /// Whether all splits were counted, or some were drawn.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Every distinct difference with its number of splits, the smallest first.
    pub fn steps(&self) -> impl Iterator<Item = (f64, u64)> {
        self.steps
            .iter()
            .map(|(value, count)| (value * self.scale, *count))
    }

    /// The smallest difference that at least this share of the splits does not exceed.
    pub fn percentile(&self, share: f64) -> f64 {
        self.scaled_percentile(share) * self.scale
    }

    fn scaled_percentile(&self, share: f64) -> f64 {
        let wanted = share * self.splits as f64;
        let mut reached = 0;
        for (value, count) in &self.steps {
            reached += count;
            if reached as f64 >= wanted {
                return *value;
            }
        }
        self.steps.last().map_or(0.0, |(value, _)| *value)
    }

    /// How many splits give a difference of at least `difference`.
    pub fn count_reaching(&self, difference: f64) -> u64 {
        let least = difference / self.scale - SLACK;
        let reaching = self.steps.iter().filter(|(value, _)| *value >= least);
        reaching.map(|(_, count)| count).sum()
    }

    /// The share of the splits whose difference is the largest.
    pub fn share_of_largest(&self) -> f64 {
        let count = self.steps.last().map_or(0, |(_, count)| *count);
        count as f64 / self.splits as f64
    }
}

/// A power of two near the largest size, so that scaling rounds nothing and nothing overflows.
fn scale(values: &[f64]) -> f64 {
    let largest = values
        .iter()
        .fold(0.0, |size: f64, value| size.max(value.abs()));
    if largest == 0.0 {
        return 1.0;
    }
    let exponent = largest.log2().floor().clamp(-1000.0, 1000.0);
    2_f64.powi(exponent as i32)
}

/// The difference that every choice of `size` values of the sorted pool gives.
fn all_splits(pool: &[f64], size: usize) -> Vec<f64> {
    let mut differences = Vec::new();
    let (mut one, mut other) = (Vec::new(), Vec::new());
    let full: u32 = 1 << pool.len();
    for choice in 0..full {
        if choice.count_ones() as usize != size {
            continue;
        }
        one.clear();
        other.clear();
        for (index, value) in pool.iter().enumerate() {
            let side = if choice >> index & 1 == 1 {
                &mut one
            } else {
                &mut other
            };
            side.push(*value);
        }
        differences.push(difference(&one, &other));
    }
    differences
}

/// The differences of splits drawn at random, each by shuffling as much of the pool as one side
/// holds.
fn drawn_splits(pool: &mut [f64], size: usize) -> Vec<f64> {
    let mut random = Random(SEED);
    let draw = |_| {
        for index in 0..size {
            let other = index + random.below(pool.len() - index);
            pool.swap(index, other);
        }
        let (one, other) = pool.split_at(size);
        let (mut one, mut other) = (one.to_vec(), other.to_vec());
        one.sort_by(f64::total_cmp);
        other.sort_by(f64::total_cmp);
        difference(&one, &other)
    };
    (0..DRAWS).map(draw).collect()
}

/// Between the medians of two sorted sides.
fn difference(one: &[f64], other: &[f64]) -> f64 {
    match (median_of_sorted(one), median_of_sorted(other)) {
        (Some(one), Some(other)) => (one - other).abs(),
        _ => 0.0,
    }
}

/// Sorts and counts; differences that only rounding tells apart are one.
fn steps(mut differences: Vec<f64>) -> Vec<(f64, u64)> {
    differences.sort_by(f64::total_cmp);
    let mut steps: Vec<(f64, u64)> = Vec::new();
    for difference in differences {
        match steps.last_mut() {
            Some((value, count)) if difference - *value <= SLACK => *count += 1,
            _ => steps.push((difference, 1)),
        }
    }
    steps
}

/// SplitMix64 (Steele, Lea and Flood, 2014). A crate's generator may change between versions, and
/// a verdict must not.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; the bias of a bound this small is far below anything that counts.
    fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.next()) * bound as u128;
        (wide >> 64) as usize
    }
}

/// The share of all splits that give the largest difference where no two values are alike, with
/// `size` values a side. No difference is above the percentile while this share is above 5 %.
pub fn share_of_largest(size: usize) -> f64 {
    if size > EXACT {
        return 0.0;
    }
    // Powers of two have no two equal differences.
    let values = |from: usize| -> Vec<f64> {
        let exponents = (from..).step_by(2).take(size);
        exponents
            .map(|exponent| 2_f64.powi(exponent as i32))
            .collect()
    };
    Distribution::of(&values(0), &values(1)).map_or(1.0, |all| all.share_of_largest())
}

/// The rule's numbers for one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The reference.
    pub reference: Side,
    /// The candidate.
    pub candidate: Side,
    /// The change of the median, as a share of the reference's, positive where it is worse.
    pub worse_change: f64,
    /// The 95th percentile of the distribution, as the same share; infinite from zero.
    pub percentile: f64,
    /// The share of splits with a difference as large as the observed one.
    pub p: f64,
    /// The distribution.
    pub distribution: Distribution,
    /// What that comes to. [`Found::TooVaried`] is an unstable metric.
    pub found: Found,
}

/// Holds two sides to the rule; `None` where a side has no trial.
///
/// Changed is what is above `floor` and above the 95th percentile. Unstable is what is below
/// `floor` while the percentile is above it: differences beyond the floor then come by chance more
/// often than one time in twenty.
pub fn judge(reference: &[f64], candidate: &[f64], worse: Worse, floor: f64) -> Option<Judged> {
    let distribution = Distribution::of(reference, candidate)?;
    let scaled = |values: &[f64]| -> Option<f64> {
        let values: Vec<f64> = values
            .iter()
            .map(|value| value / distribution.scale)
            .collect();
        median(&values)
    };
    let (left, right) = (scaled(reference)?, scaled(candidate)?);
    let observed = (right - left).abs();
    let percentile = distribution.scaled_percentile(LEVEL);
    let relative_percentile = relative_change(left, left + percentile).abs();
    let (reference, candidate) = (Side::of(reference)?, Side::of(candidate)?);
    let worse_change = worse_change(reference.median, candidate.median, worse);
    let is_material = is_above(worse_change.abs(), floor);
    let is_significant = observed > percentile + SLACK;
    let found = if is_material && is_significant {
        if worse_change > 0.0 {
            Found::Worse
        } else {
            Found::Better
        }
    } else if is_material {
        Found::Noisy
    } else if is_above(floor, worse_change.abs()) && is_above(relative_percentile, floor) {
        Found::TooVaried
    } else {
        Found::Within
    };
    let reaching = distribution.count_reaching(observed * distribution.scale);
    Some(Judged {
        reference,
        candidate,
        worse_change,
        percentile: relative_percentile,
        p: reaching as f64 / distribution.splits as f64,
        distribution,
        found,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(reference: &[f64], candidate: &[f64]) -> Found {
        let judged = judge(reference, candidate, Worse::Higher, DEFAULT_FLOOR);
        judged.unwrap().found
    }

    #[test]
    fn many_values_are_drawn_and_come_to_the_same_every_time() {
        let left: Vec<f64> = (0..15).map(f64::from).collect();
        let right: Vec<f64> = (0..15).map(|value| f64::from(value) + 0.5).collect();
        let one = Distribution::of(&left, &right).unwrap();
        assert!(!one.is_exact());
        assert_eq!(one.splits(), DRAWS);
        assert_eq!(one, Distribution::of(&right, &left).unwrap());
    }

    #[test]
    fn what_is_drawn_is_near_what_is_counted() {
        let left = [1.0, 1.02, 1.01, 1.03, 0.99, 1.04, 0.98];
        let right = [1.015, 1.035, 1.005, 1.045, 0.995, 1.055, 1.025];
        let exact = Distribution::of(&left, &right).unwrap();
        let mut pool: Vec<f64> = left.iter().chain(&right).copied().collect();
        let drawn = steps(drawn_splits(&mut pool, 7));
        assert_eq!(drawn.len(), exact.distinct());
        for ((value, count), (of_exact, of_all)) in drawn.iter().zip(exact.steps()) {
            assert!((value - of_exact).abs() < 1e-9);
            let share = *count as f64 / DRAWS as f64;
            let expected = of_all as f64 / exact.splits() as f64;
            // Five standard deviations of a share near a half.
            assert!((share - expected).abs() < 0.008, "{share} for {expected}");
        }
    }

    #[test]
    fn four_values_a_side_can_never_be_above_the_percentile_and_five_can() {
        assert!(share_of_largest(4) > 1.0 - LEVEL);
        assert!(share_of_largest(5) <= 1.0 - LEVEL);
        let low = [1.0, 2.0, 3.0, 4.0, 5.0].map(|value| 100.0 + value);
        let high = low.map(|value| value * 2.0);
        assert_eq!(found(&low[..4], &high[..4]), Found::Noisy);
        assert_eq!(found(&low, &high), Found::Worse);
        assert_eq!(found(&high, &low), Found::Better);
    }

    #[test]
    fn zeros_and_single_values_are_judged() {
        assert_eq!(found(&[0.0; 5], &[0.0; 5]), Found::Within);
        assert_eq!(found(&[1.0], &[1.0]), Found::Within);
        assert_eq!(found(&[1.0], &[2.0]), Found::Noisy);
        assert_eq!(judge(&[], &[1.0], Worse::Higher, 0.05), None);
        let huge = [f64::MAX, -f64::MAX, f64::MAX, -f64::MAX, 1.0];
        assert!(judge(&huge, &huge, Worse::Higher, 0.05).is_some());
    }
}
