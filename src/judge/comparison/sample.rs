//! The numbers of one side: their median, and how far they lie apart.

/// Two numbers that differ by less than this share of their size count as equal. A change of
/// exactly 10 % is then on a limit of 10 %, although neither is exact in binary.
pub(super) const SLACK: f64 = 1e-9;

/// The median: the middle value, or the mean of the two in the middle. `None` of no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

pub(super) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(sorted[middle - 1], upper))
}

/// The median absolute deviation, as a share of the median's size. `None` of no values.
///
/// Around a median of zero there is no share to tell: it is 0 where half of the values are zero
/// themselves, and infinite otherwise.
pub fn relative_mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    if centre == 0.0 {
        let sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
        let mad = median(&sizes)?;
        return Some(if mad == 0.0 { 0.0 } else { f64::INFINITY });
    }
    // Dividing first keeps the difference of two huge values finite.
    let shares: Vec<f64> = values
        .iter()
        .map(|value| (value / centre - 1.0).abs())
        .collect();
    median(&shares)
}

/// The change from `from` to `to`, as a share of the size of `from`. A change away from zero is
/// infinite, with its sign.
pub fn relative_change(from: f64, to: f64) -> f64 {
    if from == to {
        return 0.0;
    }
    if from == 0.0 {
        return f64::INFINITY.copysign(to);
    }
    to / from.abs() - from.signum()
}

/// Whether `value` is above `limit` by more than rounding explains.
pub(super) fn is_above(value: f64, limit: f64) -> bool {
    value > limit + SLACK * limit.abs().max(SLACK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_few_values() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[3.0, 1.0]), Some(2.0));
        assert_eq!(median(&[3.0, 1.0, -5.0]), Some(1.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[5.0, 5.0, 5.0, 5.0, 1.0]), Some(5.0));
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(median(&[f64::MAX, -f64::MAX]), Some(0.0));
    }

    #[test]
    fn spreads_of_zeros_negatives_and_huge_values() {
        assert_eq!(relative_mad(&[]), None);
        assert_eq!(relative_mad(&[7.0]), Some(0.0));
        assert_eq!(relative_mad(&[0.0, 0.0, 9.0]), Some(0.0));
        assert_eq!(relative_mad(&[-1.0, 0.0, 1.0]), Some(f64::INFINITY));
        let spread = relative_mad(&[-90.0, -100.0, -120.0]).unwrap();
        assert!((spread - 0.1).abs() < 1e-12, "{spread}");
        let huge = relative_mad(&[f64::MAX, -f64::MAX, f64::MAX]).unwrap();
        assert_eq!(huge, 0.0);
        let both = relative_mad(&[f64::MAX, -f64::MAX, f64::MAX / 2.0]).unwrap();
        assert_eq!(both, 1.0);
    }

    #[test]
    fn changes_from_zero_and_across_it() {
        assert_eq!(relative_change(0.0, 0.0), 0.0);
        assert_eq!(relative_change(0.0, 1.0), f64::INFINITY);
        assert_eq!(relative_change(0.0, -1.0), f64::NEG_INFINITY);
        assert_eq!(relative_change(5.0, 0.0), -1.0);
        assert_eq!(relative_change(-5.0, 5.0), 2.0);
        assert_eq!(relative_change(-5.0, -10.0), -1.0);
        assert_eq!(relative_change(-f64::MAX, f64::MAX), 2.0);
    }

    #[test]
    fn on_the_limit_is_not_above_it() {
        assert!(!is_above(relative_change(0.7, 0.77), 0.1));
        assert!(!is_above(relative_change(100.0, 110.0), 0.1));
        assert!(is_above(relative_change(100.0, 110.001), 0.1));
        assert!(!is_above(0.0, 0.0));
        assert!(is_above(f64::INFINITY, 0.1));
    }
}
