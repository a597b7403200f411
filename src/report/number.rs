//! Numbers as people read them: digits in groups of three, no more of them than say something.

use crate::domain::Value;
use crate::judge::Unit;

/// Digits that a computed number is shown with, unless it has more before its point.
const DIGITS: usize = 7;
/// Decimals of a value, which no mean of them is worth more than.
const DECIMALS: usize = 4;

/// A value, exact.
pub(crate) fn value(value: Value) -> String {
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
pub(crate) fn percent(number: Option<f64>) -> String {
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

/// A unit that a number is read in: the number is divided by `factor`, and `suffix` stands behind it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Magnitude {
    pub(crate) factor: f64,
    pub(crate) suffix: String,
}

/// The unit that a number of this size is best read in: from 1 to 999 of it.
pub(crate) fn magnitude(size: f64, unit: Unit) -> Magnitude {
    const COUNTS: [(f64, &str); 5] = [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")];
    const BYTES: [(f64, &str); 5] = [
        (1.0, "B"),
        (1024.0, "KiB"),
        (1_048_576.0, "MiB"),
        (1_073_741_824.0, "GiB"),
        (1_099_511_627_776.0, "TiB"),
    ];
    const TIMES: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];
    let steps: &[(f64, &str)] = match unit {
        Unit::Bytes | Unit::BytesPerSecond => &BYTES,
        Unit::Nanoseconds => &TIMES,
        Unit::MegabytesPerSecond | Unit::MebibytesPerSecond => &COUNTS[..1],
        _ => &COUNTS,
    };
    // What rounds to 1,000 of one unit is 1 of the next.
    let fits = |&&(factor, _): &&(f64, &str)| size >= factor * 0.9995;
    let (factor, prefix) = steps.iter().rev().find(fits).unwrap_or(&steps[0]);
    let word = match unit {
        Unit::None | Unit::Bytes | Unit::Nanoseconds => "",
        Unit::BytesPerSecond => "/s",
        _ => unit.symbol(),
    };
    let space = if prefix.is_empty() { "" } else { " " };
    let between = match word {
        "" => "",
        word if word.starts_with('/') => "",
        _ => " ",
    };
    Magnitude {
        factor: *factor,
        suffix: format!("{space}{prefix}{between}{word}"),
    }
}

/// A number in three digits and the unit that it is best read in: `1.23 G instr`, `61.0 MiB`.
pub(crate) fn readable(number: f64, unit: Unit) -> String {
    let magnitude = magnitude(number.abs(), unit);
    let shown = number / magnitude.factor;
    let is_count = magnitude.factor == 1.0 && number.fract() == 0.0;
    let decimals = match shown.abs() {
        _ if is_count => 0,
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.1 => 2,
        _ => DECIMALS,
    };
    format!(
        "{}{}",
        group(&format!("{shown:.decimals$}")),
        magnitude.suffix
    )
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

pub(super) fn group(text: &str) -> String {
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
    fn numbers_are_read_in_three_digits() {
        for (number, unit, shown) in [
            (1_234_567_890.0, Unit::Instructions, "1.23 G instr"),
            (63_963_136.0, Unit::Bytes, "61.0 MiB"),
            (999_600.0, Unit::None, "1.00 M"),
            (812.0, Unit::None, "812"),
            (0.0, Unit::Bytes, "0 B"),
            (6_213_400.0, Unit::Nanoseconds, "6.21 ms"),
            (-1_530.0, Unit::PerSecond, "-1.53 k/s"),
            (147.434, Unit::PerSecond, "147/s"),
            (2_048.0, Unit::BytesPerSecond, "2.00 KiB/s"),
            (1_500.5, Unit::MegabytesPerSecond, "1,500 MB/s"),
            (0.0012, Unit::None, "0.0012"),
        ] {
            assert_eq!(readable(number, unit), shown);
        }
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
