//! A small picture of values in a line.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Values in at most `width` bars, the oldest first; each bar is the median of the values that it
/// stands for. Empty of no values.
pub(super) fn sparkline(values: &[f64], width: usize) -> String {
    let columns = width.min(values.len());
    let heights: Vec<f64> = (0..columns)
        .map(|column| {
            let from = column * values.len() / columns;
            let to = (column + 1) * values.len() / columns;
            let mut of_column = values[from..to].to_vec();
            of_column.sort_by(f64::total_cmp);
            of_column[of_column.len() / 2]
        })
        .collect();
    let low = heights.iter().copied().fold(f64::INFINITY, f64::min);
    let high = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let bar = |height: &f64| {
        let share = if high > low {
            (height - low) / (high - low)
        } else {
            0.5
        };
        // A share is from 0 to 1, and the highest bar is for 1 alone and what rounds to it.
        BARS[(share * (BARS.len() - 1) as f64).round() as usize]
    };
    heights.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_the_shape_of_the_values() {
        for (values, width, picture) in [
            (&[][..], 10, ""),
            (&[5.0, 5.0], 10, "▅▅"),
            (&[1.0, 8.0], 10, "▁█"),
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 10, "▁▂▃▄▅▆▇█"),
            (&[1.0, 1.0, 1.0, 1.0, 9.0, 9.0], 3, "▁▁█"),
        ] {
            assert_eq!(sparkline(values, width), picture, "{values:?}");
        }
    }
}
