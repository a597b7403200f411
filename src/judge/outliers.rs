//! Values of a window that do not belong to it: the numbers of a run that went wrong.
//!
//! A value is far where its distance from the median is more than [`FACTOR`] times the scaled median
//! absolute deviation (MAD × 1.4826, which estimates the standard deviation of normal noise), more
//! than the floors of the metric's rule, and more than [`LEAST`] of the median. Iglewicz and
//! Hoaglin, "How to Detect and Handle Outliers" (ASQC, 1993), take 3.5 for the factor and accept
//! false alarms; here a false alarm would keep a change from being judged, so the factor is larger,
//! and larger again ([`FACTOR_OF_FEW`], [`LEAST_OF_FEW`]) where there are fewer than [`FEW`] values,
//! whose MAD says little.
//!
//! A far value is an outlier where it is alone. Far values near one another are a level of their own
//! and stay: at least three anywhere, the newest two (a step that has merged, and that a second run
//! confirms), or the oldest two (what was left behind by a step).

use super::moments::units;
use super::window::Rule;
use crate::domain::Value;

/// How many scaled MADs away a value is far.
const FACTOR: f64 = 8.0;
/// The same where there are few values.
const FACTOR_OF_FEW: f64 = 10.0;
/// The least distance of a far value, as a part of the median.
const LEAST: f64 = 0.01;
/// The same where there are few values.
const LEAST_OF_FEW: f64 = 0.25;
/// Fewer values than this are few.
const FEW: usize = 10;
/// Fewer values than this have no outlier: nothing says which of them went wrong.
const FEWEST: usize = 4;
/// Turns the MAD of normal noise into its standard deviation.
const MAD_TO_DEVIATION: f64 = 1.4826;
/// Far values are near one another within this part of the smaller distance from the median.
const NEAR: f64 = 0.5;
/// So many values near one another are a level, wherever they stand.
const A_LEVEL: usize = 3;

/// The places of the outliers among `newest_first`, ascending.
pub(super) fn find(newest_first: &[Value], rule: &Rule) -> Vec<usize> {
    let count = newest_first.len();
    if count < FEWEST {
        return Vec::new();
    }
    let values: Vec<f64> = newest_first
        .iter()
        .map(|value| units(*value) as f64)
        .collect();
    let middle = median(values.clone());
    let distances: Vec<f64> = values.iter().map(|value| value - middle).collect();
    let mad = median(distances.iter().map(|distance| distance.abs()).collect());
    let (factor, least) = if count < FEW {
        (FACTOR_OF_FEW, LEAST_OF_FEW)
    } else {
        (FACTOR, LEAST)
    };
    let far = (factor * MAD_TO_DEVIATION * mad)
        .max(least * middle.abs())
        .max(rule.floor.to_f64() * middle.abs())
        .max(units(rule.floor_absolute) as f64);
    let far: Vec<usize> = (0..count)
        .filter(|&index| distances[index].abs() > far)
        .collect();
    let alone = |index: &usize| {
        let group: Vec<usize> = far
            .iter()
            .copied()
            .filter(|&other| are_near(distances[*index], distances[other]))
            .collect();
        !is_level(&group, count)
    };
    far.iter().copied().filter(alone).collect()
}

fn are_near(one: f64, other: f64) -> bool {
    one * other > 0.0 && (one - other).abs() <= NEAR * one.abs().min(other.abs())
}

/// Whether these places are more than single values that went wrong.
fn is_level(group: &[usize], count: usize) -> bool {
    let has = |index: usize| group.contains(&index);
    group.len() >= A_LEVEL || (has(0) && has(1)) || (has(count - 1) && has(count - 2))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        (values[middle - 1] + values[middle]) / 2.0
    }
}

#[cfg(test)]
#[path = "outliers_tests.rs"]
mod tests;
