//! Mean and sample standard deviation of a window, exact until they are read as floats.
//!
//! With S the sum of n values x, the mean is S/n, and n·x − S is n times a value's deviation from
//! it: an integer, where the values are integers. The sample variance is
//! Σ(n·x − S)² / (n²·(n − 1)), the two-pass form of Chan, Golub and LeVeque, "Algorithms for
//! Computing the Sample Variance" (The American Statistician 37, 1983), which does not subtract
//! large squares from one another. In integers nothing is lost at any offset, and the order of the
//! values changes nothing.

use num_bigint::BigUint;
use num_traits::ToPrimitive as _;

use crate::domain::Value;

/// Decimals of a [`Value`], which is counted here in ten-thousandths.
const SCALE: u32 = 4;
/// Ten-thousandths in one.
const UNITS_F64: f64 = 10_000.0;

/// A value in ten-thousandths. It has at most twenty digits, and an `i128` has room for 38.
pub(super) fn units(value: Value) -> i128 {
    let decimal = value.decimal();
    decimal.mantissa() * 10_i128.pow(SCALE.saturating_sub(decimal.scale()))
}

/// What is known of the values of a window: how many, their sum, and how far they scatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moments {
    n: u32,
    /// In ten-thousandths.
    sum: i128,
    /// Σ(n·x − S)², in ten-thousandths, squared.
    scatter: BigUint,
}

impl Moments {
    /// The moments of `values`, or `None` where there are none.
    pub fn of(values: &[Value]) -> Option<Self> {
        let n = u32::try_from(values.len()).ok().filter(|&n| n > 0)?;
        let sum: i128 = values.iter().copied().map(units).sum();
        let deviation = |value: &Value| i128::from(n) * units(*value) - sum;
        let scatter = values.iter().map(|value| square(deviation(value))).sum();
        Some(Self { n, sum, scatter })
    }

    /// How many values.
    pub fn n(&self) -> u32 {
        self.n
    }

    /// Their mean, to the nearest float or the one beside it.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / (f64::from(self.n) * UNITS_F64)
    }

    /// Their sample standard deviation (n − 1), which one value does not have.
    pub fn standard_deviation(&self) -> Option<f64> {
        let n = f64::from(self.n);
        let scatter = self.scatter.to_f64()?;
        (self.n > 1).then(|| (scatter / (n - 1.0)).sqrt() / (n * UNITS_F64))
    }

    /// n times how far `value` lies above the mean, in ten-thousandths.
    pub(super) fn deviation(&self, value: Value) -> i128 {
        i128::from(self.n) * units(value) - self.sum
    }

    /// n times the mean, in ten-thousandths.
    pub(super) fn sum(&self) -> i128 {
        self.sum
    }

    /// Σ(n·x − S)² in ten-thousandths, squared.
    pub(super) fn scatter(&self) -> &BigUint {
        &self.scatter
    }
}

/// `number` times itself.
pub(super) fn square(number: i128) -> BigUint {
    let size = BigUint::from(number.unsigned_abs());
    &size * &size
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::value::RawValue;

    use super::*;

    #[derive(Deserialize)]
    struct Reference {
        cases: BTreeMap<String, Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        n: u32,
        data: Vec<Box<RawValue>>,
        mean: Box<RawValue>,
        sd_sample: Option<Box<RawValue>>,
    }

    fn float(number: &RawValue) -> f64 {
        number.get().parse().unwrap()
    }

    fn values(texts: &[&str]) -> Vec<Value> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// Within two units in the last place, as two exact computations of it may be apart.
    fn assert_close(found: f64, expected: f64, what: &str) {
        let tolerance = expected.abs() * 2.0 * f64::EPSILON;
        assert!(
            (found - expected).abs() <= tolerance,
            "{what}: {found} is not {expected}"
        );
    }

    #[test]
    fn every_reference_case_is_met() {
        let text = include_str!("../../tests/fixtures/reference/location_scale.json");
        let reference: Reference = serde_json::from_str(text).unwrap();
        assert_eq!(reference.cases.len(), 11);
        for (name, case) in &reference.cases {
            let values: Vec<Value> = case.data.iter().map(|x| x.get().parse().unwrap()).collect();
            let moments = Moments::of(&values).unwrap();
            assert_eq!(moments.n(), case.n, "{name}");
            assert_close(moments.mean(), float(&case.mean), name);
            match (moments.standard_deviation(), &case.sd_sample) {
                (Some(found), Some(expected)) => assert_close(found, float(expected), name),
                (None, None) => {}
                (found, expected) => panic!("{name}: {found:?} is not {expected:?}"),
            }
        }
    }

    #[test]
    fn no_values_have_no_moments() {
        assert_eq!(Moments::of(&[]), None);
    }

    #[test]
    fn the_largest_values_keep_their_smallest_difference() {
        let values = values(&["9999999999999999.9999", "9999999999999999.9998"]);
        let moments = Moments::of(&values).unwrap();
        let expected = 0.0001 / 2.0_f64.sqrt();
        assert_close(moments.standard_deviation().unwrap(), expected, "deviation");
    }

    #[test]
    fn the_order_of_the_values_changes_nothing() {
        let ascending = values(&["0.1", "0.2", "0.3", "1000000000000000.4"]);
        let descending: Vec<Value> = ascending.iter().rev().copied().collect();
        assert_eq!(Moments::of(&ascending), Moments::of(&descending));
    }
}
