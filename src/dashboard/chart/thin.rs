//! Leaves out points that nobody would see.

/// The indices of the points to draw: of each column of pixels the lowest and the highest one, and the
/// first and the last point of all. `points` are in pixels, ordered by x.
pub fn thin(points: &[(f64, f64)]) -> Vec<usize> {
    let mut kept = Vec::new();
    let mut from = 0;
    while from < points.len() {
        let column = points[from].0.floor();
        let to = points[from..]
            .iter()
            .position(|(x, _)| x.floor() != column)
            .map_or(points.len(), |length| from + length);
        let by_height = |one: &usize, other: &usize| points[*one].1.total_cmp(&points[*other].1);
        let low = (from..to).min_by(by_height).unwrap_or(from);
        let high = (from..to).max_by(by_height).unwrap_or(from);
        for index in [0, low.min(high), low.max(high), points.len() - 1] {
            let is_here = (from..to).contains(&index);
            if is_here && kept.last().is_none_or(|last| *last < index) {
                kept.push(index);
            }
        }
        from = to;
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn extremes(points: impl IntoIterator<Item = (f64, f64)>) -> BTreeMap<i64, (f64, f64)> {
        let mut columns: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
        for (x, y) in points {
            let column = columns.entry(x.floor() as i64).or_insert((y, y));
            *column = (column.0.min(y), column.1.max(y));
        }
        columns
    }

    proptest! {
        #[test]
        fn each_column_keeps_its_minimum_and_its_maximum(
            mut points in prop::collection::vec((0.0_f64..50.0, -1e9_f64..1e9), 0..400)
        ) {
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            let kept = thin(&points);
            prop_assert!(kept.is_sorted_by(|one, other| one < other));
            prop_assert_eq!(
                extremes(kept.iter().map(|&index| points[index])),
                extremes(points.iter().copied())
            );
            prop_assert!(kept.len() <= 2 * 50 + 2);
            prop_assert_eq!(kept.first().copied(), (!points.is_empty()).then_some(0));
            prop_assert_eq!(kept.last().copied(), points.len().checked_sub(1));
        }
    }
}
