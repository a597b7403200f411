//! The number of a metric, exact from the request to the row and back.

use std::fmt;
use std::str::FromStr;

use rust_decimal::prelude::ToPrimitive as _;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AnyOfBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type,
};
use utoipa::{PartialSchema, ToSchema};

use super::exact::serialize_digits;

/// The number of a metric: a decimal of at most sixteen integer digits and four decimals.
///
/// It never passes through a float. A number of more decimals is rounded half away from zero, as
/// MySQL does, unless that would change it by more than one part in ten thousand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(Decimal);

/// Why a number is not a metric's value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Not a number as JSON writes them.
    #[error("must be a number")]
    Format,
    /// More than sixteen digits before the point.
    #[error("must have at most 16 digits before the point; choose a larger unit")]
    TooLarge,
    /// Rounding to four decimals would lose what was measured.
    #[error("has no four-decimal form within one part in ten thousand; choose a smaller unit")]
    TooFine,
}

/// Decimals that the column keeps.
const SCALE: u32 = 4;
/// Digits before the point that the column keeps.
const INTEGER_DIGITS: i64 = 16;
/// A change by more than one part in this many is refused.
const ROUNDING_PARTS: u32 = 10_000;

impl Value {
    /// Nothing.
    pub const ZERO: Self = Self(Decimal::ZERO);

    /// The number.
    pub fn decimal(self) -> Decimal {
        self.0
    }

    /// The nearest float, for statistics and never for storage.
    pub fn to_f64(self) -> f64 {
        // A decimal of twenty digits is always within the range of a float.
        self.0.to_f64().unwrap_or(f64::NAN)
    }
}

/// A JSON number as sign, significant digits and the place of the point.
struct Digits<'a> {
    negative: bool,
    integer: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> Digits<'a> {
    /// Splits `-12.5e3` in its parts; accepts what JSON accepts and a leading zero besides.
    fn parse(text: &'a str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (integer, fraction) = match mantissa.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (mantissa, ""),
        };
        let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if integer.is_empty() || !all_digits(integer) || !all_digits(fraction) {
            return None;
        }
        Some(Self {
            negative,
            integer,
            fraction,
            exponent,
        })
    }

    /// The number cut after its 28th decimal, or `None` for more integer digits than fit.
    ///
    /// Half away from zero looks at one digit past the last that stays, so a cut this late rounds
    /// as the whole text would.
    fn to_decimal(&self) -> Option<Decimal> {
        let digits: Vec<u8> = self.integer.bytes().chain(self.fraction.bytes()).collect();
        let Some(first) = digits.iter().position(|&d| d != b'0') else {
            return Some(Decimal::ZERO);
        };
        let digits = &digits[first..];
        let point = i64::try_from(self.integer.len()).ok()? - i64::try_from(first).ok()?;
        let point = point.checked_add(self.exponent)?;
        if point > INTEGER_DIGITS {
            return None;
        }
        let zeros = usize::try_from(-point).unwrap_or(0).min(28);
        let whole = usize::try_from(point).unwrap_or(0);
        let mut text = String::with_capacity(48);
        if self.negative {
            text.push('-');
        }
        text.extend((0..whole.max(1)).map(|i| digit_at(digits, i, whole)));
        text.push('.');
        text.extend(std::iter::repeat_n('0', zeros));
        let decimals = (28 - whole).saturating_sub(zeros);
        text.extend(
            digits
                .iter()
                .skip(whole)
                .take(decimals)
                .map(|&d| char::from(d)),
        );
        text.push('0');
        Decimal::from_str(&text).ok()
    }
}

/// The digit at `index` of a number's `whole` integer digits, zero past those that are written.
fn digit_at(digits: &[u8], index: usize, whole: usize) -> char {
    if whole == 0 {
        return '0';
    }
    digits.get(index).map_or('0', |&d| char::from(d))
}

/// An exponent; one too long for an integer is as good as the largest.
fn parse_exponent(text: &str) -> Option<i64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let size = unsigned
        .parse::<i64>()
        .unwrap_or(i64::MAX / 2)
        .min(i64::MAX / 2);
    Some(if text.starts_with('-') { -size } else { size })
}

/// A number that the column keeps as it is written, which nearly every one is: nothing to round, and
/// an integer of a machine's word holds its digits. `None` for one that wants a closer look.
fn kept_as_written(text: &str) -> Option<Value> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut digits: i64 = 0;
    let mut point = None;
    for (index, byte) in unsigned.bytes().enumerate().take(DIGITS_OF_A_WORD + 1) {
        match byte {
            b'0'..=b'9' => {
                digits = digits
                    .checked_mul(10)?
                    .checked_add(i64::from(byte - b'0'))?
            }
            b'.' if point.is_none() => point = Some(index),
            _ => return None,
        }
    }
    let length = unsigned.len();
    let (whole, decimals) = point.map_or((length, 0), |point| (point, length - point - 1));
    let kept = (1..=INTEGER_DIGITS as usize).contains(&whole)
        && whole + decimals <= DIGITS_OF_A_WORD
        && decimals <= SCALE as usize
        && (point.is_none() || decimals > 0);
    if !kept {
        return None;
    }
    let scale = u32::try_from(decimals).ok()?;
    let decimal = Decimal::new(if negative { -digits } else { digits }, scale);
    Some(Value(decimal.normalize()))
}

/// Digits that every integer of 64 bits has room for.
const DIGITS_OF_A_WORD: usize = 18;

impl FromStr for Value {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        kept_as_written(text).map_or_else(|| rounded(text), Ok)
    }
}

/// The number as the column keeps it.
fn rounded(text: &str) -> Result<Value, ValueError> {
    let exact = Digits::parse(text)
        .ok_or(ValueError::Format)?
        .to_decimal()
        .ok_or(ValueError::TooLarge)?;
    let written_as_zero = !text
        .split(['e', 'E'])
        .next()
        .unwrap_or_default()
        .bytes()
        .any(|b| matches!(b, b'1'..=b'9'));
    if exact.is_zero() && !written_as_zero {
        return Err(ValueError::TooFine);
    }
    let rounded = exact
        .round_dp_with_strategy(SCALE, RoundingStrategy::MidpointAwayFromZero)
        .normalize();
    if (rounded - exact).abs() * Decimal::from(ROUNDING_PARTS) > exact.abs() {
        return Err(ValueError::TooFine);
    }
    Value::try_from(rounded)
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self(Decimal::from(number))
    }
}

impl TryFrom<Decimal> for Value {
    type Error = ValueError;

    /// The value of a number that has at most four decimals already, such as a row's.
    fn try_from(decimal: Decimal) -> Result<Self, ValueError> {
        let decimal = decimal.normalize();
        if decimal.scale() > SCALE {
            return Err(ValueError::TooFine);
        }
        if decimal.trunc().abs() >= Decimal::from(10_u64.pow(16)) {
            return Err(ValueError::TooLarge);
        }
        // A zero with a sign is written without it.
        Ok(Self(if decimal.is_zero() {
            Decimal::ZERO
        } else {
            decimal
        }))
    }
}

impl Value {
    /// The JSON schema of a number that can be stored: it says which numbers have a form of four
    /// decimals that is near enough.
    pub(crate) fn upload_schema() -> Schema {
        // Half a unit of the last decimal is one part in ten thousand of this; from here on every
        // number has a form that is near enough.
        const ROUNDABLE: f64 = 0.5;
        let number = || ObjectBuilder::new().schema_type(Type::Number);
        AnyOfBuilder::new()
            .item(
                number()
                    .minimum(Some(ROUNDABLE))
                    .exclusive_maximum(Some(TOO_LARGE)),
            )
            .item(
                number()
                    .maximum(Some(-ROUNDABLE))
                    .exclusive_minimum(Some(-TOO_LARGE)),
            )
            .item(
                number()
                    .minimum(Some(-ROUNDABLE))
                    .maximum(Some(ROUNDABLE))
                    .multiple_of(Some(0.0001)),
            )
            .into()
    }
}

/// The first number that the column cannot hold.
const TOO_LARGE: f64 = 1e16;

impl PartialSchema for Value {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Number)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Double)))
            // Inclusive, as a float next to the largest value is this very number.
            .minimum(Some(-TOO_LARGE))
            .maximum(Some(TOO_LARGE))
            .into()
    }
}

impl ToSchema for Value {
    fn name() -> std::borrow::Cow<'static, str> {
        "MetricValue".into()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Nearly every value is an integer, which needs no text in between.
        match self.0.to_i64() {
            Some(whole) if self.0.is_integer() => serializer.serialize_i64(whole),
            _ => serialize_digits(&self.to_string(), serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = <&RawValue>::deserialize(deserializer)?;
        number.get().parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(text: &str) -> Result<String, ValueError> {
        text.parse::<Value>().map(|value| value.to_string())
    }

    #[test]
    fn numbers_of_the_column_come_back_without_trailing_zeros() {
        for (text, expected) in [
            ("0", "0"),
            ("-0.0", "0"),
            ("0e999999999999999999999", "0"),
            ("1234567890", "1234567890"),
            ("1.50", "1.5"),
            ("100", "100"),
            ("1e3", "1000"),
            ("1E+3", "1000"),
            ("12.34e1", "123.4"),
            ("12345e-4", "1.2345"),
            ("-0.0001", "-0.0001"),
            ("9999999999999999.9999", "9999999999999999.9999"),
            ("-9999999999999999.9999", "-9999999999999999.9999"),
            ("0.00000000000000000000000000000001e32", "1"),
        ] {
            assert_eq!(value(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn more_decimals_are_rounded_half_away_from_zero() {
        for (text, expected) in [
            ("1.00005", "1.0001"),
            ("-1.00005", "-1.0001"),
            ("1.00004999999999999999999999999999999999999999", "1"),
            ("1.00015", "1.0002"),
            ("0.5000500000000000000000000000001", "0.5001"),
            ("1234.567891234", "1234.5679"),
            ("3.3333333333333333333333333333333333333333333", "3.3333"),
        ] {
            assert_eq!(value(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn rounding_by_more_than_one_part_in_ten_thousand_is_refused() {
        for text in [
            "0.12345",
            "0.00001",
            "-0.00005",
            "1e-400",
            "0.1234567",
            "1e-99999999999999999999",
        ] {
            assert_eq!(value(text), Err(ValueError::TooFine), "{text}");
        }
        // Exactly one part in ten thousand is no more than that.
        assert_eq!(value("0.50005").as_deref(), Ok("0.5001"));
        assert_eq!(value("0.49995"), Err(ValueError::TooFine));
    }

    #[test]
    fn more_than_sixteen_integer_digits_are_refused() {
        for text in [
            "10000000000000000",
            "-10000000000000000",
            "1e16",
            "1e99999999999999999999",
            "9999999999999999.99995",
        ] {
            assert_eq!(value(text), Err(ValueError::TooLarge), "{text}");
        }
        assert_eq!(value("0000000000000000000000001").as_deref(), Ok("1"));
    }

    proptest! {
        #[test]
        fn the_short_way_finds_what_the_long_way_does(text in "-?[0-9]{0,20}([.][0-9]{0,6})?") {
            if let Some(value) = kept_as_written(&text) {
                prop_assert_eq!(Ok(value), rounded(&text));
                prop_assert_eq!(value.to_string(), rounded(&text).unwrap().to_string());
            }
        }
    }

    #[test]
    fn a_value_is_written_and_read_digit_for_digit() {
        for text in [
            "0",
            "-1",
            "9999999999999999",
            "9007199254740993.0001",
            "-9999999999999999.9999",
            "0.0001",
        ] {
            let value: Value = text.parse().unwrap();
            assert_eq!(serde_json::to_string(&value).unwrap(), text);
            assert_eq!(serde_json::from_str::<Value>(text).unwrap(), value);
        }
        for text in ["\"1\"", "null", "[1]", "true"] {
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn usual_numbers_take_the_short_way() {
        for text in [
            "0",
            "-0.0",
            "1234567890",
            "-1.50",
            "9999999999999999.99",
            "0.0001",
        ] {
            assert!(kept_as_written(text).is_some(), "{text}");
        }
        for text in ["", "-", ".5", "1.", "1e3", "1.00005", "12345678901234567"] {
            assert!(kept_as_written(text).is_none(), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "-", "NaN", "1.", ".5", "1e", "0x10", "1 ", "١"] {
            assert_eq!(value(text), Err(ValueError::Format), "{text}");
        }
    }
}
