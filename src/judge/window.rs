//! One candidate against the newest values of its series: the trailing-window rule.
//!
//! With mean m and sample standard deviation s of a window, a candidate is a regression where it is
//! worse than m by more than max(k·s, floor·|m|, absolute floor). On the limit it passes. It is an
//! improvement where it is better than m by more than the same.
//!
//! Nothing of this is decided in floats. With S the sum of the n values, D = n·candidate − S in the
//! worse direction, and R = Σ(n·x − S)², all of them integers (see [`moments`](super::moments)):
//!
//! - worse by more than k·s is D > 0 and D²·(n − 1) > k²·R,
//! - worse by more than floor·|m| is D > floor·|S|,
//! - worse by more than the absolute floor is D > n·floor,
//!
//! with k in thousandths and the relative floor in millionths. So 103 against five times 100 and a
//! floor of 3 % is on the limit, and not a rounding above or below it. s = 0 is no special case.
//! One value has no deviation, and is judged by the floors alone.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use num_bigint::BigUint;
use serde::{Serialize, Serializer};

use super::moments::{Moments, square, units};
use crate::domain::Value;

/// How many standard deviations are noise, in thousandths of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Multiple(u32);

/// A part of a mean, in millionths of it; written in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fraction(u32);

/// A change of a level, in percent with its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedFraction {
    negative: bool,
    size: Fraction,
}

/// Which direction of a metric is the bad one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Worse {
    /// Instructions, bytes, latencies.
    Higher,
    /// Transactions per second.
    Lower,
}

impl SignedFraction {
    /// Whether it is a change downwards.
    pub fn is_negative(self) -> bool {
        self.negative
    }

    /// `level`, changed by so much, and rounded away from it to the decimals of a value. `None`
    /// where the result is no value.
    pub(super) fn of(self, level: rust_decimal::Decimal) -> Option<Value> {
        let size = rust_decimal::Decimal::new(self.size.0.into(), 6).checked_mul(level.abs())?;
        let (changed, rounding) = if self.negative {
            (
                level.checked_sub(size)?,
                rust_decimal::RoundingStrategy::ToNegativeInfinity,
            )
        } else {
            (
                level.checked_add(size)?,
                rust_decimal::RoundingStrategy::ToPositiveInfinity,
            )
        };
        Value::try_from(changed.round_dp_with_strategy(4, rounding)).ok()
    }
}

impl FromStr for SignedFraction {
    type Err = RuleNumberError;

    fn from_str(text: &str) -> Result<Self, RuleNumberError> {
        let (negative, size) = match text.split_at_checked(1) {
            Some(("+", size)) => (false, size),
            Some(("-", size)) => (true, size),
            _ => return Err(RuleNumberError::SignedFraction),
        };
        let size = size.trim_start().parse();
        let size = size.map_err(|_| RuleNumberError::SignedFraction)?;
        Ok(Self { negative, size })
    }
}

impl fmt::Display for SignedFraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.negative { "-" } else { "+" }, self.size)
    }
}

impl Worse {
    /// Whether `value` lies on the bad side of `other`.
    pub fn is_worse(self, value: Value, other: Value) -> bool {
        match self {
            Self::Higher => value > other,
            Self::Lower => value < other,
        }
    }
}

/// What one metric is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The k of k·s.
    pub k: Multiple,
    /// The least part of the mean that counts.
    pub floor: Fraction,
    /// The least difference that counts, in the metric's own unit.
    pub floor_absolute: Value,
    /// Which direction is the bad one.
    pub worse: Worse,
}

/// Where a candidate lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Above the limit (below it, where lower is worse).
    Worse,
    /// No further from the mean than noise, the limit included.
    Within,
    /// As far on the good side as a regression is on the bad one.
    Better,
}

/// What sets the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Term {
    /// k·s.
    Deviation,
    /// floor·|m|.
    Floor,
    /// The absolute floor.
    FloorAbsolute,
}

/// A candidate held against one window. The floats are for people; `level` was found without them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The most values that the window takes.
    pub size: u32,
    /// The values that it found.
    pub n: u32,
    /// Their mean.
    pub mean: f64,
    /// Their sample standard deviation; `None` of one value.
    pub standard_deviation: Option<f64>,
    /// The last value that passes.
    pub limit: f64,
    /// What set the limit.
    pub limit_by: Term,
    /// Candidate − mean.
    pub change: f64,
    /// The change in percent of |mean|; `None` where the mean is 0.
    pub change_percent: Option<f64>,
    /// Where the candidate lies.
    pub level: Level,
}

impl Comparison {
    /// Holds `candidate` against the first `size` of `newest_first`; `None` where there are none.
    pub fn new(candidate: Value, newest_first: &[Value], size: u32, rule: &Rule) -> Option<Self> {
        let taken = usize::try_from(size).map_or(newest_first.len(), |n| n.min(newest_first.len()));
        let moments = Moments::of(&newest_first[..taken])?;
        let (mean, standard_deviation) = (moments.mean(), moments.standard_deviation());
        let (allowance, limit_by) = rule.allowance(mean, standard_deviation);
        let deviation = moments.deviation(candidate);
        let change = deviation as f64 / (f64::from(moments.n()) * 10_000.0);
        Some(Self {
            size,
            n: moments.n(),
            mean,
            standard_deviation,
            limit: match rule.worse {
                Worse::Higher => mean + allowance,
                Worse::Lower => mean - allowance,
            },
            limit_by,
            change,
            change_percent: (moments.sum() != 0)
                .then(|| deviation as f64 / moments.sum().unsigned_abs() as f64 * 100.0),
            level: rule.level(&moments, candidate),
        })
    }
}

impl Rule {
    /// Where `candidate` lies; see the top of the module for the arithmetic.
    fn level(&self, moments: &Moments, candidate: Value) -> Level {
        let deviation = moments.deviation(candidate);
        if !self.exceeds(moments, deviation.unsigned_abs()) {
            return Level::Within;
        }
        match (deviation.cmp(&0), self.worse) {
            (Ordering::Greater, Worse::Higher) | (Ordering::Less, Worse::Lower) => Level::Worse,
            _ => Level::Better,
        }
    }

    /// Whether a deviation of this size, times n, is more than noise.
    fn exceeds(&self, moments: &Moments, size: u128) -> bool {
        let n = u128::from(moments.n());
        let floor = u128::from(self.floor.0) * moments.sum().unsigned_abs();
        let floor_absolute = n * units(self.floor_absolute).unsigned_abs();
        size > 0
            && size * 1_000_000 > floor
            && size > floor_absolute
            && self.exceeds_deviation(moments, size)
    }

    fn exceeds_deviation(&self, moments: &Moments, size: u128) -> bool {
        let Some(degrees) = moments.n().checked_sub(1).filter(|&degrees| degrees > 0) else {
            return true;
        };
        let size = BigUint::from(size);
        let k_squared = square(self.k.0.into());
        &size * &size * degrees * 1_000_000_u32 > k_squared * moments.scatter()
    }

    /// The distance from mean to limit for people to read, and what sets it.
    fn allowance(&self, mean: f64, deviation: Option<f64>) -> (f64, Term) {
        let by_deviation = deviation.map_or(0.0, |s| self.k.to_f64() * s);
        let by_floor = self.floor.to_f64() * mean.abs();
        let by_floor_absolute = self.floor_absolute.to_f64().abs();
        let floors = if by_floor_absolute > by_floor {
            (by_floor_absolute, Term::FloorAbsolute)
        } else {
            (by_floor, Term::Floor)
        };
        if by_deviation > floors.0 {
            (by_deviation, Term::Deviation)
        } else {
            floors
        }
    }
}

/// Why a text is no multiple or no fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleNumberError {
    /// For k.
    #[error("must be a number from 0 to 1000 with at most three decimals, such as 3 or 2.5")]
    Multiple,
    /// For a relative floor.
    #[error(
        "must be a percentage from 0 % to 1000 % with at most four decimals and its sign, such as \"3 %\""
    )]
    Fraction,
    /// For a change.
    #[error("must be a change in percent with its sign, such as \"+8 %\" or \"-8 %\"")]
    SignedFraction,
}

/// A number from 0 to 1000 in units of ten to the minus `decimals`.
fn fixed(text: &str, decimals: usize) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let fraction_digits = fraction.trim_end_matches('0');
    if !digits(whole) || !digits(fraction) || fraction_digits.len() > decimals {
        return None;
    }
    let scaled = format!("{whole}{fraction_digits:0<decimals$}").parse::<u32>();
    let most = 1000 * 10_u32.pow(u32::try_from(decimals).ok()?);
    scaled.ok().filter(|&number| number <= most)
}

impl Multiple {
    /// Three standard deviations.
    pub const THREE: Self = Self(3000);

    /// The smallest that is no smaller than `number`.
    pub(super) fn at_least(number: f64) -> Self {
        // A cast takes what is too large for the largest.
        Self((number * 1000.0).ceil() as u32)
    }

    /// The nearest float.
    pub fn to_f64(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

impl FromStr for Multiple {
    type Err = RuleNumberError;

    fn from_str(text: &str) -> Result<Self, RuleNumberError> {
        fixed(text, 3).map(Self).ok_or(RuleNumberError::Multiple)
    }
}

impl fmt::Display for Multiple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_f64().fmt(f)
    }
}

impl Fraction {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// So many hundredths.
    pub const fn percent(whole: u16) -> Self {
        Self(whole as u32 * 10_000)
    }

    /// The nearest float: 0.03 for 3 %.
    pub fn to_f64(self) -> f64 {
        f64::from(self.0) / 1_000_000.0
    }
}

impl FromStr for Fraction {
    type Err = RuleNumberError;

    fn from_str(text: &str) -> Result<Self, RuleNumberError> {
        text.strip_suffix('%')
            .and_then(|number| fixed(number.trim_end(), 4))
            .map(Self)
            .ok_or(RuleNumberError::Fraction)
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", f64::from(self.0) / 10_000.0)
    }
}

impl Serialize for Multiple {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.to_f64())
    }
}

impl Serialize for Fraction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.to_f64())
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
