//! Numbers as people read them: digits in groups of three, no more of them than say something.

use crate::domain::Value;

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
    let size = number.abs();
    let decimals = match size {
        size if size == 0.0 || size >= 0.01 => 2,
        size if size >= 0.0001 => 4,
        _ => 8,
    };
    format!("{} %", signed(group(&format!("{number:.decimals$}"))))
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
    fn changes_have_a_sign_and_zero_has_none() {
        assert_eq!(change(1234.0), "+1,234");
        assert_eq!(change(-0.5), "-0.5");
        assert_eq!(change(-0.000_001), "0");
        assert_eq!(percent(Some(7.891)), "+7.89 %");
        assert_eq!(percent(Some(-0.001)), "-0.0010 %");
        assert_eq!(percent(Some(0.000_019_07)), "+0.00001907 %");
        assert_eq!(percent(Some(0.0)), "0.00 %");
        assert_eq!(percent(None), "-");
    }
}
