//! The newest value of a metric in a line of a README.

use super::svg::text;

/// Pixels of a character, on average, and some more: a label never runs out of its box.
const LETTER: f64 = 6.8;
const PADDING: f64 = 8.0;

/// How the newest value lies beside those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dashboard) enum Trend {
    Worse,
    Better,
    Steady,
}

/// A badge: what was measured on the left, its newest value and trend on the right.
pub(in crate::dashboard) fn badge(label: &str, value: &str, trend: Trend) -> String {
    let label: String = label.chars().take(40).collect();
    let value = match trend {
        Trend::Worse => format!("{value} · worse"),
        Trend::Better => format!("{value} · better"),
        Trend::Steady => value.to_owned(),
    };
    // Dark enough for white letters on it.
    let color = match trend {
        Trend::Worse => "#b34700",
        Trend::Better => "#00755a",
        Trend::Steady => "#00629b",
    };
    let wide = |text: &str| text.chars().count() as f64 * LETTER + 2.0 * PADDING;
    let (left, right) = (wide(&label), wide(&value));
    let width = left + right;
    let (label, value) = (text(&label), text(&value));
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="20" role="img" aria-label="{label}: {value}"><title>{label}: {value}</title><rect width="{width:.0}" height="20" rx="3" fill="#3b4550"/><path d="M{left:.1} 0h{0:.1}a3 3 0 0 1 3 3v14a3 3 0 0 1 -3 3h-{0:.1}z" fill="{color}"/><g fill="#ffffff" font-family="Verdana, 'DejaVu Sans', Geneva, sans-serif" font-size="11"><text x="{PADDING}" y="14">{label}</text><text x="{1:.1}" y="14">{value}</text></g></svg>"##,
        right - 3.0,
        left + PADDING,
    )
}
