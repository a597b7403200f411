//! How many standard deviations are noise, where the policy says `k = "auto"`.
//!
//! A new value of normal noise lies beyond mean + k·s of n values before it with the probability
//! that Student's t with n − 1 degrees of freedom exceeds k / √(1 + 1/n): the prediction interval of
//! one future observation (Hahn, "Factors for Calculating Two-Sided Prediction Intervals for Samples
//! from a Normal Distribution", Journal of the American Statistical Association 64, 1969; Whitmore,
//! "Prediction Limits for a Univariate Normal Observation", The American Statistician 40, 1986).
//!
//! With M metrics that gate and W windows a build makes M·W such comparisons. Each is given the part
//! α/(M·W) of the false alarms that are allowed to the build (Bonferroni), which holds whether or not
//! they depend on one another.

use std::cell::RefCell;
use std::collections::HashMap;

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::policy::{K, Windows};
use super::window::{Fraction, Multiple};

/// The k of each number of values.
#[derive(Debug)]
pub(super) struct Thresholds {
    k: K,
    /// The probability of a false alarm that one comparison is allowed.
    each: f64,
    known: RefCell<HashMap<u32, Multiple>>,
}

impl Thresholds {
    /// The thresholds for a document in which `metrics` gate.
    pub(super) fn new(windows: &Windows, metrics: usize) -> Self {
        Self {
            k: windows.k,
            each: each(windows.false_alarms, metrics, windows.sizes.len()),
            known: RefCell::default(),
        }
    }

    /// The k for a window that found `n` values.
    pub(super) fn k(&self, n: u32) -> Multiple {
        if let K::Fixed(k) = self.k {
            return k;
        }
        let mut known = self.known.borrow_mut();
        *known.entry(n).or_insert_with(|| automatic(n, self.each))
    }
}

/// The part of the false alarms that one comparison is allowed.
fn each(all: Fraction, metrics: usize, windows: usize) -> f64 {
    let comparisons = metrics.max(1) * windows.max(1);
    all.to_f64() / comparisons as f64
}

/// One value has no deviation, and its k changes nothing.
fn automatic(n: u32, each: f64) -> Multiple {
    let quantile = n
        .checked_sub(1)
        .and_then(|degrees| StudentsT::new(0.0, 1.0, f64::from(degrees)).ok())
        .map_or(0.0, |t| -t.inverse_cdf(each));
    Multiple::at_least(quantile * (1.0 + 1.0 / f64::from(n.max(1))).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of Student's t out of a table of the distribution, to three decimals:
    /// t(0.99; 4) = 3.747, t(0.995; 19) = 2.861, t(0.9995; 4) = 8.610.
    #[test]
    fn k_is_the_quantile_of_a_prediction() {
        for (n, each, quantile) in [(5, 0.01, 3.747), (20, 0.005, 2.861), (5, 0.0005, 8.610)] {
            let expected = quantile * (1.0 + 1.0 / f64::from(n)).sqrt();
            let found = automatic(n, each).to_f64();
            assert!(
                (found - expected).abs() < 0.003,
                "{n} {each}: {found} {expected}"
            );
        }
    }

    #[test]
    fn more_metrics_and_fewer_values_are_given_more_room() {
        let windows = Windows {
            k: K::Auto,
            ..Windows::default()
        };
        let k = |metrics, n| Thresholds::new(&windows, metrics).k(n).to_f64();
        assert!(k(1, 5) < k(10, 5) && k(10, 5) < k(1000, 5));
        assert!(k(10, 20) < k(10, 5));
    }

    #[test]
    fn a_written_k_stays_what_it_is() {
        let thresholds = Thresholds::new(&Windows::default(), 1000);
        assert_eq!(thresholds.k(5), Multiple::THREE);
    }
}
