//! A small line without axes.

use std::fmt::Write as _;

use super::thin;

const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 28.0;
/// Room for the stroke and the dot at the end.
const MARGIN: f64 = 3.0;

/// Values, oldest first, as a line whose newest point is a dot. Decoration: the numbers stand beside it.
pub(in crate::dashboard) fn sparkline(values: &[f32]) -> String {
    let mut svg = format!(
        r#"<svg class="spark" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" aria-hidden="true">"#
    );
    let low = values.iter().copied().fold(f32::INFINITY, f32::min);
    let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let steps = values.len().saturating_sub(1).max(1) as f64;
    let place = |(index, value): (usize, &f32)| {
        let share = if high > low {
            f64::from((value - low) / (high - low))
        } else {
            0.5
        };
        let x = MARGIN + index as f64 / steps * (WIDTH - 2.0 * MARGIN);
        (x, HEIGHT - MARGIN - share * (HEIGHT - 2.0 * MARGIN))
    };
    let places: Vec<(f64, f64)> = values.iter().enumerate().map(place).collect();
    svg.push_str(r#"<path class="line" d=""#);
    for (index, point) in thin(&places).into_iter().enumerate() {
        let (x, y) = places[point];
        let letter = if index == 0 { 'M' } else { 'L' };
        let _ = write!(svg, "{letter}{x:.1} {y:.1}");
    }
    svg.push_str("\"/>");
    if let Some((x, y)) = places.last() {
        let _ = write!(
            svg,
            r#"<circle class="dot" cx="{x:.1}" cy="{y:.1}" r="2.4"/>"#
        );
    }
    svg.push_str("</svg>");
    svg
}
