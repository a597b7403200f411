//! Numbers of a comparison as people read them. The unit is the one that a metric's name ends in.

use crate::judge::comparison::Quantity;
use crate::report::number::group;

/// Digits that say something about a measured number.
const DIGITS: i32 = 4;

/// Each unit is 1024 of the next.
const BYTES: [(f64, &str); 4] = [
    (1_073_741_824.0, "GiB"),
    (1_048_576.0, "MiB"),
    (1024.0, "KiB"),
    (1.0, "B"),
];

/// The size of the unit that a value of this metric is shown in, where units are no powers of ten.
pub(super) fn binary_unit(metric: &str, value: f64) -> f64 {
    let fits = BYTES.iter().find(|(size, _)| value.abs() >= *size);
    match fits {
        Some((size, _)) if metric.ends_with("_bytes") => *size,
        _ => 1.0,
    }
}

/// A value of a metric, with the unit that its name tells.
pub(super) fn value(metric: &str, value: f64) -> String {
    let scaled = |steps: &[(f64, &str)]| scaled(value, steps);
    if metric.ends_with("seconds") || metric.ends_with("seconds_per_unit") {
        return scaled(&[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]);
    }
    if metric.ends_with("_ns") {
        return scaled(&[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")]);
    }
    if metric.ends_with("_bytes") {
        return scaled(&BYTES);
    }
    if metric.ends_with("_ms") {
        return format!("{} ms", plain(value));
    }
    plain(value)
}

/// In the largest unit that leaves something before the point.
fn scaled(value: f64, steps: &[(f64, &str)]) -> String {
    let fits = steps.iter().find(|(size, _)| value.abs() >= *size);
    let last = if value == 0.0 {
        steps.first()
    } else {
        steps.last()
    };
    match fits.or(last) {
        Some((size, unit)) => format!("{} {unit}", plain(value / size)),
        None => plain(value),
    }
}

/// With four digits that say something, or with all that stand before its point.
fn plain(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let exponent = value.abs().log10().floor();
    if !(-6.0..15.0).contains(&exponent) {
        return format!("{value:.3e}");
    }
    let decimals = (DIGITS - 1 - exponent as i32).max(0);
    let text = format!("{value:.*}", decimals as usize);
    match text.contains('.') {
        true => group(text.trim_end_matches('0').trim_end_matches('.')),
        false => group(&text),
    }
}

/// Tenths of a percent say nothing of a tenfold change.
fn decimals(share: f64) -> usize {
    usize::from(share.abs() < 10.0)
}

/// A share in percent.
pub(super) fn share(share: Option<Quantity>) -> String {
    match share {
        Some(share) => {
            let share = share.get();
            format!("{:.*} %", decimals(share), share * 100.0)
        }
        None => "∞".to_owned(),
    }
}

/// A change in percent, with its sign.
pub(super) fn change(change: Option<Quantity>) -> String {
    let Some(change) = change else {
        return "from 0".to_owned();
    };
    let change = change.get();
    let text = format!("{:+.*} %", decimals(change), change * 100.0);
    match text.as_str() {
        "+0.0 %" | "-0.0 %" => "0.0 %".to_owned(),
        _ => text,
    }
}

/// A p-value.
pub(super) fn p(p: Quantity) -> String {
    match p.get() {
        p if p < 0.0001 => "under 0.0001".to_owned(),
        p => format!("{p:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_unit_of_their_name() {
        for (metric, number, text) in [
            ("wall_seconds", 1.2345, "1.234 s"),
            ("wall_seconds", 0.012_34, "12.34 ms"),
            ("cpu_seconds_per_unit", 0.000_001_5, "1.5 µs"),
            ("wall_seconds", 0.0, "0 s"),
            ("sysbench.latency_avg_ns", 1_500_000.0, "1.5 ms"),
            ("peak_memory_bytes", 1_572_864.0, "1.5 MiB"),
            ("peak_memory_bytes", 12.0, "12 B"),
            ("p99_ms", 12.3456, "12.35 ms"),
            ("records_per_second", 123_456.7, "123,457"),
            ("x", -0.5, "-0.5"),
            ("x", 1e300, "1.000e300"),
        ] {
            assert_eq!(value(metric, number), text, "{metric} {number}");
        }
    }

    #[test]
    fn changes_have_a_sign_and_zero_has_none() {
        let of = |number| change(Quantity::new(number));
        assert_eq!(of(0.1234), "+12.3 %");
        assert_eq!(of(-0.0001), "0.0 %");
        assert_eq!(of(180.29), "+18029 %");
        assert_eq!(change(None), "from 0");
        assert_eq!(share(Quantity::new(0.1)), "10.0 %");
        assert_eq!(share(None), "∞");
    }
}
