//! Numbers as tools print them, brought to one unit without a float.

use std::str::FromStr;

use rust_decimal::{Decimal, RoundingStrategy};

use crate::domain::{Value, ValueError};

/// Decimals of a nanosecond that are kept: a tenth of a picosecond, which no clock reads.
const TIME_DECIMALS: u32 = 4;

/// How a tool counts time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

impl Time {
    /// The decimal places from this unit to nanoseconds.
    fn places(self) -> i64 {
        match self {
            Self::Nanoseconds => 0,
            Self::Microseconds => 3,
            Self::Milliseconds => 6,
            Self::Seconds => 9,
        }
    }

    /// The unit that a tool calls by this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "ns" => Some(Self::Nanoseconds),
            "us" | "µs" | "μs" => Some(Self::Microseconds),
            "ms" => Some(Self::Milliseconds),
            "s" => Some(Self::Seconds),
            _ => None,
        }
    }

    /// This much time, in nanoseconds.
    ///
    /// A time is rounded to a tenth of a picosecond. One that would become zero by that is refused.
    pub(super) fn to_nanoseconds(self, text: &str) -> Result<Value, String> {
        match shifted(text, self.places()) {
            Err(ValueError::TooFine) => to_tenth_of_picosecond(text, self.places()).ok_or_else(|| {
                format!("`{text}` is less time than any clock reads; what was timed does nothing, so leave it out")
            }),
            other => other.map_err(|error| refused(text, &error)),
        }
    }

    /// So many a unit of time, as so many a second.
    pub(super) fn rate_to_seconds(self, text: &str) -> Result<Value, String> {
        shifted(text, 9 - self.places()).map_err(|error| refused(text, &error))
    }
}

/// The number as it is printed.
pub(super) fn plain(text: &str) -> Result<Value, String> {
    scaled(text, 0)
}

/// The number times ten to the power of `places`.
pub(super) fn scaled(text: &str, places: i64) -> Result<Value, String> {
    shifted(text, places).map_err(|error| refused(text, &error))
}

/// A count.
pub(super) fn count(number: u64) -> Result<Value, String> {
    plain(&number.to_string())
}

fn refused(text: &str, error: &ValueError) -> String {
    format!("`{text}` {error}")
}

/// Moves the point by way of the exponent, which leaves every digit where it is.
fn shifted(text: &str, places: i64) -> Result<Value, ValueError> {
    if places == 0 {
        return text.parse();
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let exponent: i64 = exponent.parse().map_err(|_| ValueError::Format)?;
            (mantissa, exponent)
        }
        None => (text, 0),
    };
    let exponent = exponent.saturating_add(places);
    format!("{mantissa}e{exponent}").parse()
}

fn to_tenth_of_picosecond(text: &str, places: i64) -> Option<Value> {
    let factor = Decimal::from(10_u64.pow(u32::try_from(places).ok()?));
    let rounded = to_four_decimals(decimal(text)?.checked_mul(factor)?);
    if rounded.is_zero() {
        return None;
    }
    Value::try_from(rounded).ok()
}

/// The number to four decimals, even where it becomes zero by that.
pub(super) fn rounded(text: &str) -> Option<Value> {
    Value::try_from(to_four_decimals(decimal(text)?)).ok()
}

fn decimal(text: &str) -> Option<Decimal> {
    let lower = text.to_ascii_lowercase();
    let read = if lower.contains('e') {
        Decimal::from_scientific(&lower)
    } else {
        Decimal::from_str(&lower)
    };
    read.ok()
}

fn to_four_decimals(number: Decimal) -> Decimal {
    number.round_dp_with_strategy(TIME_DECIMALS, RoundingStrategy::MidpointAwayFromZero)
}

/// The value in the middle, the lower of two: a value that was measured.
pub(super) fn middle(values: &mut [Value]) -> Option<Value> {
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// The middle value; of an even number of values, the mean of the two in the middle.
pub(crate) fn median(values: &mut [Value]) -> Option<Value> {
    values.sort_unstable();
    let upper = values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(*upper);
    }
    let lower = values.get(values.len() / 2 - 1)?;
    Value::try_from(to_four_decimals(
        (lower.decimal() + upper.decimal()) / Decimal::TWO,
    ))
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(text: &str, unit: Time) -> Result<String, String> {
        unit.to_nanoseconds(text).map(|value| value.to_string())
    }

    #[test]
    fn times_become_nanoseconds_digit_for_digit() {
        for (text, unit, expected) in [
            ("0.2712", Time::Seconds, "271200000"),
            ("8.11", Time::Milliseconds, "8110000"),
            ("1.9981817703493024e-07", Time::Seconds, "199.8182"),
            ("0", Time::Seconds, "0"),
            ("2.0816935473766868e+01", Time::Nanoseconds, "20.8169"),
            ("0.256382", Time::Nanoseconds, "0.2564"),
            ("1.0215541372521049E-1", Time::Microseconds, "102.1554"),
        ] {
            assert_eq!(ns(text, unit).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_time_never_becomes_a_zero_that_it_is_not() {
        for text in ["5.910001164011192e-07", "0.00001", "1e-400"] {
            assert!(ns(text, Time::Nanoseconds).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "NaN", "+Inf", "1e", "e5", "1ee5", "0x10", "1e5e"] {
            assert!(ns(text, Time::Seconds).is_err(), "{text}");
            assert!(plain(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_middle_is_a_value_that_was_measured_and_the_median_is_exact() {
        let mut values: Vec<Value> = ["3", "1", "2"].map(|text| text.parse().unwrap()).into();
        assert_eq!(middle(&mut values).unwrap().to_string(), "2");
        assert_eq!(median(&mut values).unwrap().to_string(), "2");
        values.push("2.5".parse().unwrap());
        assert_eq!(middle(&mut values).unwrap().to_string(), "2");
        assert_eq!(median(&mut values).unwrap().to_string(), "2.25");
        assert_eq!((middle(&mut []), median(&mut [])), (None, None));
    }

    #[test]
    fn a_remainder_is_rounded_where_that_is_asked_for() {
        for (text, expected) in [("1.2E-5", "0"), ("1.26e-4", "0.0001"), ("24.00004", "24")] {
            assert_eq!(rounded(text).unwrap().to_string(), expected);
        }
        assert_eq!(rounded("NaN"), None);
    }
}
