//! Numbers as people read them: digits in groups of three, no more of them than say something.

use crate::domain::Value;
use crate::judge::Unit;

/// Digits that a computed number is shown with, unless it has more before its point.
const DIGITS: usize = 7;
/// Decimals of a value, which no mean of them is worth more than.
const DECIMALS: usize = 4;

/// A value, exact.
pub(super) fn value(value: Value) -> String {
    group(&value.to_string())
}

/// A computed number.
pub(super) fn computed(number: f64) -> String {
    let decimals = decimals(number.abs());
    group(trim(&format!("{number:.decimals$}")))
}

/// How many decimals leave a number of this size with [`DIGITS`] digits.
fn decimals(size: f64) -> usize {
    let mut decimals = DECIMALS;
    let mut bound = 10_f64.powi((DIGITS - DECIMALS) as i32);
    while decimals > 0 && size >= bound {
        decimals -= 1;
        bound *= 10.0;
    }
    decimals
}

/// A change, with its sign.
pub(super) fn change(number: f64) -> String {
    signed(computed(number))
}

/// A change in percent, with its sign; a dash where there is none to tell. What is no zero is not
/// shown as one: a byte of a megabyte is `+0.0001 %`.
pub(super) fn percent(number: Option<f64>) -> String {
    let Some(number) = number else {
        return dash();
    };
    let decimals = match number.abs() {
        0.0 => 0,
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.01 => 2,
        // One digit that says something.
        size => (-size.log10()).ceil().clamp(2.0, 12.0) as usize,
    };
    format!("{} %", signed(group(&format!("{number:.decimals$}"))))
}

/// A value with its unit: times in the unit that they are best read in, all else exact.
pub(super) fn with_unit(value: Value, unit: Unit) -> String {
    let symbol = unit.symbol();
    match unit {
        Unit::None => self::value(value),
        Unit::Nanoseconds => duration(value.to_f64()),
        Unit::PerSecond | Unit::PerThousandSeconds => format!("{}{symbol}", self::value(value)),
        _ => format!("{} {symbol}", self::value(value)),
    }
}

/// A time of so many nanoseconds, in four digits.
fn duration(nanoseconds: f64) -> String {
    let size = nanoseconds.abs();
    let (number, unit) = match size {
        size if size < 1e3 => (nanoseconds, "ns"),
        size if size < 1e6 => (nanoseconds / 1e3, "µs"),
        size if size < 1e9 => (nanoseconds / 1e6, "ms"),
        _ => (nanoseconds / 1e9, "s"),
    };
    let decimals = match number.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        _ => 3,
    };
    format!("{} {unit}", group(trim(&format!("{number:.decimals$}"))))
}

/// What stands where there is no number.
pub(super) fn dash() -> String {
    "-".to_owned()
}

fn signed(text: String) -> String {
    let is_zero = !text.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    match text.strip_prefix('-') {
        Some(size) if is_zero => size.to_owned(),
        None if !is_zero => format!("+{text}"),
        _ => text,
    }
}

/// Without zeros that say nothing.
fn trim(text: &str) -> &str {
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.')
}

fn group(text: &str) -> String {
    let (sign, size) = text
        .strip_prefix('-')
        .map_or(("", text), |size| ("-", size));
    let (whole, decimals) = size
        .find('.')
        .map_or((size, ""), |point| size.split_at(point));
    let mut grouped = String::with_capacity(text.len() * 4 / 3 + 1);
    grouped.push_str(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped.push_str(decimals);
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_short() {
        for (number, shown) in [
            (0.0, "0"),
            (1_030_865_200.0, "1,030,865,200"),
            (5_074_741.372_7, "5,074,741"),
            (-12_345.678, "-12,345.68"),
            (147.434_164_9, "147.4342"),
            (0.000_07, "0.0001"),
            (999.999_99, "1,000"),
            (100.0, "100"),
        ] {
            assert_eq!(computed(number), shown);
        }
        let exact: Value = "9999999999999999.9999".parse().unwrap();
        assert_eq!(value(exact), "9,999,999,999,999,999.9999");
    }

    #[test]
    fn times_are_told_in_the_unit_that_they_are_read_in() {
        for (nanoseconds, shown) in [
            ("0", "0 ns"),
            ("812.5", "812.5 ns"),
            ("6213400", "6.213 ms"),
            ("61500", "61.5 µs"),
            ("123456789012", "123.5 s"),
            ("7200000000000", "7,200 s"),
        ] {
            let value: Value = nanoseconds.parse().unwrap();
            assert_eq!(with_unit(value, Unit::Nanoseconds), shown);
        }
        let value: Value = "1234567.5".parse().unwrap();
        assert_eq!(with_unit(value, Unit::PerSecond), "1,234,567.5/s");
        assert_eq!(with_unit(value, Unit::Bytes), "1,234,567.5 B");
    }

    #[test]
    fn changes_have_a_sign_and_zero_has_none() {
        assert_eq!(change(1234.0), "+1,234");
        assert_eq!(change(-0.5), "-0.5");
        assert_eq!(change(-0.000_001), "0");
        assert_eq!(percent(Some(7.891)), "+7.89 %");
        assert_eq!(percent(Some(-0.001)), "-0.001 %");
        assert_eq!(percent(Some(0.000_019_07)), "+0.00002 %");
        assert_eq!(percent(Some(113.4)), "+113 %");
        assert_eq!(percent(Some(-12.34)), "-12.3 %");
        assert_eq!(percent(Some(0.0)), "0 %");
        assert_eq!(percent(None), "-");
    }
}
