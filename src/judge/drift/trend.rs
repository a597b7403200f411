//! The numbers of a trend: least squares, Theil and Sen, Kendall.
//!
//! The Theil-Sen line and its interval are those of Sen, "Estimates of the regression coefficient
//! based on Kendall's tau" (Journal of the American Statistical Association 63, 1968), as
//! `scipy.stats.theilslopes` computes them; tau-b and its p-value are those of
//! `scipy.stats.kendalltau`: exact without ties up to 33 values, else normal with ties.

use statrs::function::beta::beta_reg;

use crate::judge::comparison::ranks::two_sided_normal;

use super::FEWEST;

/// The 97.5th percentile of the standard normal distribution.
const Z_95: f64 = 1.959_963_984_540_054;
/// Up to so many values without ties, p-values are exact.
const EXACT: usize = 33;
/// What the seed of this rule divides by where the first value is 0 or near it.
const LEAST_FIRST: f64 = 0.001;

/// How the values of a window move with the number of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// How many values.
    pub n: usize,
    /// The change from the first value to the last, in percent of the first.
    pub first_to_last_percent: f64,
    /// The change from the median of the first three to that of the last three, in percent; `None`
    /// where the two share a value or the first is 0.
    pub medians_percent: Option<f64>,
    /// The least-squares slope, a run.
    pub least_squares_slope: f64,
    /// The least-squares line at the first value.
    pub least_squares_intercept: f64,
    /// The change that the least-squares line makes, in percent of its start.
    pub least_squares_percent: Option<f64>,
    /// The probability of a least-squares slope this far from 0 without a trend, by the t test of
    /// `scipy.stats.linregress`; `None` where all values are the same.
    pub least_squares_p: Option<f64>,
    /// The Theil-Sen slope, a run: the median of the slopes between all pairs.
    pub slope: f64,
    /// The 95 % interval of the slope.
    pub slope_interval: (f64, f64),
    /// The Theil-Sen line at the first value.
    pub intercept: f64,
    /// The change that the Theil-Sen line makes, in percent of its start; `None` from 0.
    pub fitted_percent: Option<f64>,
    /// Kendall's tau-b; `None` where all values are the same.
    pub tau: Option<f64>,
    /// The probability of a tau this far from 0 without a trend; 1 where there is no tau.
    pub p: f64,
}

impl Trend {
    /// The fitted level at the last value.
    pub fn level(&self) -> f64 {
        self.slope.mul_add((self.n - 1) as f64, self.intercept)
    }
}

/// The trend of `values`, oldest first; `None` of fewer than [`FEWEST`].
pub fn trend(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < FEWEST {
        return None;
    }
    let (first, last) = (values[0], values[n - 1]);
    let (least_squares_slope, least_squares_intercept) = least_squares(values);
    let signs = Signs::of(values);
    let mut slopes = slopes(values);
    slopes.sort_by(f64::total_cmp);
    let slope = median_of_sorted(&slopes);
    let middle = (n - 1) as f64 / 2.0;
    let intercept = slope.mul_add(-middle, median(values.to_vec()));
    Some(Trend {
        n,
        first_to_last_percent: (last - first) / first.abs().max(LEAST_FIRST) * 100.0,
        medians_percent: medians_percent(values),
        least_squares_slope,
        least_squares_intercept,
        least_squares_percent: line_percent(least_squares_slope, least_squares_intercept, n),
        least_squares_p: least_squares_p(values, least_squares_slope, least_squares_intercept),
        slope,
        slope_interval: signs.slope_interval(&slopes, n),
        intercept,
        fitted_percent: line_percent(slope, intercept, n),
        tau: signs.tau(n),
        p: signs.p(n),
    })
}

/// The change that a line makes over `n` values, in percent of its start.
fn line_percent(slope: f64, start: f64, n: usize) -> Option<f64> {
    (start != 0.0).then(|| slope * (n - 1) as f64 / start.abs() * 100.0)
}

fn medians_percent(values: &[f64]) -> Option<f64> {
    if values.len() < 6 {
        return None;
    }
    let first = median(values[..3].to_vec());
    let last = median(values[values.len() - 3..].to_vec());
    (first != 0.0).then(|| (last - first) / first.abs() * 100.0)
}

/// Slope and intercept, from deviations, so that large values lose no digits.
fn least_squares(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / n;
    let (mut products, mut squares) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let distance = index as f64 - middle;
        products += distance * (value - mean);
        squares += distance * distance;
    }
    let slope = products / squares;
    (slope, slope.mul_add(-middle, mean))
}

/// The least share that a line leaves: a line through all points has a p-value above 0, the same as
/// in `scipy.stats.linregress`.
const LEAST_LEFT: f64 = 2e-20;

/// The two-sided p-value of the slope: of t² = (n - 2)·r² / (1 - r²) with n - 2 degrees of freedom,
/// which is the regularised incomplete beta function at 1 - r², the share that the line leaves.
fn least_squares_p(values: &[f64], slope: f64, intercept: f64) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let whole: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if whole == 0.0 {
        return None;
    }
    let fitted = |index: usize| slope.mul_add(index as f64, intercept);
    let left = values.iter().enumerate();
    let left: f64 = left
        .map(|(index, value)| (value - fitted(index)).powi(2))
        .sum();
    let freedom = (values.len() - 2) as f64;
    Some(beta_reg(
        freedom / 2.0,
        0.5,
        (left / whole).clamp(LEAST_LEFT, 1.0),
    ))
}

/// The slopes between all pairs.
fn slopes(values: &[f64]) -> Vec<f64> {
    let later = |(index, value): (usize, &f64)| {
        let value = *value;
        values[index + 1..]
            .iter()
            .enumerate()
            .map(move |(gap, later)| (later - value) / (gap + 1) as f64)
    };
    values.iter().enumerate().flat_map(later).collect()
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    median_of_sorted(&values)
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    match sorted {
        [] => 0.0,
        _ if sorted.len() % 2 == 1 => sorted[sorted.len() / 2],
        _ => f64::midpoint(sorted[sorted.len() / 2 - 1], sorted[sorted.len() / 2]),
    }
}

/// How many pairs rise and fall, and how many values are tied.
struct Signs {
    rising: usize,
    falling: usize,
    /// The sizes of the groups of equal values.
    ties: Vec<usize>,
}

impl Signs {
    fn of(values: &[f64]) -> Self {
        let (mut rising, mut falling) = (0, 0);
        for (index, value) in values.iter().enumerate() {
            for later in &values[index + 1..] {
                rising += usize::from(later > value);
                falling += usize::from(later < value);
            }
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let groups = sorted.chunk_by(|one, other| one == other).map(<[f64]>::len);
        Self {
            rising,
            falling,
            ties: groups.filter(|&size| size > 1).collect(),
        }
    }

    /// The sum of `of` over the sizes of the tied groups.
    fn over_ties(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.ties.iter().map(|&size| of(size as f64)).sum()
    }

    fn tau(&self, n: usize) -> Option<f64> {
        let pairs = (n * (n - 1) / 2) as f64;
        let untied = pairs - self.over_ties(|size| size * (size - 1.0) / 2.0);
        (untied > 0.0).then(|| (self.rising as f64 - self.falling as f64) / (pairs * untied).sqrt())
    }

    /// The variance of rising less falling pairs without a trend.
    fn variance(&self, n: usize) -> f64 {
        let n = n as f64;
        let of = |size: f64| size * (size - 1.0) * (2.0 * size + 5.0);
        (of(n) - self.over_ties(of)) / 18.0
    }

    fn p(&self, n: usize) -> f64 {
        let fewer = self.rising.min(self.falling);
        if self.ties.is_empty() && n <= EXACT {
            return exact_p(n, fewer);
        }
        let variance = self.variance(n);
        if variance <= 0.0 {
            return 1.0;
        }
        two_sided_normal(self.rising.abs_diff(self.falling) as f64 / variance.sqrt())
    }

    fn slope_interval(&self, sorted: &[f64], n: usize) -> (f64, f64) {
        let half = Z_95 * self.variance(n).max(0.0).sqrt();
        let count = sorted.len() as f64;
        let upper = ((count + half) / 2.0).round_ties_even();
        let lower = ((count - half) / 2.0).round_ties_even() - 1.0;
        let at = |rank: f64| sorted[rank.clamp(0.0, count - 1.0) as usize];
        (at(lower), at(upper))
    }
}

/// The share of the orderings of `n` values that have as few inversions as `fewer`, twice.
fn exact_p(n: usize, fewer: usize) -> f64 {
    // shares[k] is the share of the orderings with k inversions.
    let mut shares = vec![1.0];
    for size in 2..=n {
        let mut next = vec![0.0; shares.len() + size - 1];
        for (inversions, share) in shares.iter().enumerate() {
            for more in 0..size {
                next[inversions + more] += share / size as f64;
            }
        }
        shares = next;
    }
    (2.0 * shares.iter().take(fewer + 1).sum::<f64>()).min(1.0)
}
