//! Points to SVG. Knows no page, no run and no store.
//!
//! A chart carries its colours as attributes, so that it can stand alone in a README; a page's stylesheet
//! overrides them through the classes.

mod axis;
mod badge;
mod spark;
mod svg;
mod thin;

pub(super) use badge::{Trend, badge};
pub(super) use spark::sparkline;

use std::fmt::Write as _;

use super::query::{Frame, Theme};
use axis::{TimeAxis, ValueAxis};
use svg::text;

pub use axis::Counts;
pub use thin::thin;

/// What a chart shows.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it is called.
    pub title: String,
    /// What the vertical axis counts.
    pub counts: Counts,
    /// The lines, each in its own colour.
    pub lines: Vec<Line>,
    /// Vertical marks with a label: releases, and where a distribution begins.
    pub marks: Vec<Mark>,
    /// Dates at which a run failed or was taken back.
    pub failed: Vec<i64>,
    /// Whether the axis reaches to values that lie far from all others.
    pub whole: bool,
    /// Size and colours.
    pub frame: Frame,
}

/// One line.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// The place of its colour.
    pub color: usize,
    /// Its points, oldest first.
    pub dots: Vec<Dot>,
    /// Where each point was expected, from the runs before it; drawn behind the line.
    pub band: Vec<Band>,
    /// Values of reference runs, drawn as rings.
    pub references: Vec<Dot>,
    /// Where the level changed.
    pub steps: Vec<Step>,
}

/// A value at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// Seconds since 1970.
    pub at: i64,
    /// The value.
    pub value: f64,
}

/// What was expected at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Seconds since 1970.
    pub at: i64,
    /// The lower edge.
    pub low: f64,
    /// The upper edge.
    pub high: f64,
}

/// A change of the level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The first point of the new level.
    pub to: Dot,
    /// Whether the new level is the worse one.
    pub is_worse: bool,
}

/// A vertical mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Seconds since 1970.
    pub at: i64,
    /// What stands beside it.
    pub label: String,
    /// What it marks.
    pub kind: MarkKind,
}

/// What a vertical mark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// A release or another reference run.
    Tag,
    /// The first run on a distribution.
    Distribution,
}

/// A drawn chart.
pub struct Drawn {
    /// The picture.
    pub svg: String,
    /// For each line, which of its points are in the picture.
    pub kept: Vec<Vec<usize>>,
    /// How many points lie outside of the axis.
    pub left_out: usize,
}

struct Palette {
    faint: &'static str,
    grid: &'static str,
    paper: &'static str,
    worse: &'static str,
    better: &'static str,
    lines: [&'static str; 7],
}

/// After Okabe and Ito, "Color Universal Design" (2008), whose colours stay apart for colour-blind readers.
const LIGHT: Palette = Palette {
    faint: "#5a6675",
    grid: "#e3e8ee",
    paper: "#ffffff",
    worse: "#b34700",
    better: "#00755a",
    lines: [
        "#0072b2", "#d55e00", "#009e73", "#a8518a", "#b07a00", "#3a86c8", "#5a6675",
    ],
};

const DARK: Palette = Palette {
    faint: "#9aa7b6",
    grid: "#2a3441",
    paper: "#12181f",
    worse: "#f59e52",
    better: "#4cc9a4",
    lines: [
        "#56b4e9", "#f0883e", "#2fbf93", "#d98cc0", "#e6b422", "#8fb8ff", "#aab4c0",
    ],
};

impl Palette {
    fn of(theme: Theme) -> &'static Self {
        match theme {
            Theme::Light => &LIGHT,
            Theme::Dark => &DARK,
        }
    }

    fn line(&self, color: usize) -> &'static str {
        self.lines[color % self.lines.len()]
    }
}

/// The part of the picture in which the lines are.
struct Plot {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    times: TimeAxis,
    values: ValueAxis,
}

impl Plot {
    fn x(&self, at: i64) -> f64 {
        self.left + self.times.share(at) * (self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - self.values.share(value) * (self.bottom - self.top)
    }
}

impl Chart {
    /// Draws it.
    pub fn draw(&self) -> Drawn {
        let palette = Palette::of(self.frame.theme);
        let (width, height) = (f64::from(self.frame.width), f64::from(self.frame.height));
        let dots = || self.lines.iter().flat_map(|line| &line.dots);
        let references = || self.lines.iter().flat_map(|line| &line.references);
        let shown: Vec<f64> = dots().chain(references()).map(|dot| dot.value).collect();
        let times = dots().chain(references()).map(|dot| dot.at);
        let ticks = (((height - 60.0) / 56.0) as usize).clamp(2, 8);
        let values = ValueAxis::new(&shown, self.whole, ticks, self.counts);
        let left = 12.0 + 7.0 * values.widest() as f64;
        let plot = Plot {
            left,
            right: width - 14.0,
            top: 30.0,
            bottom: height - 28.0,
            times: TimeAxis::new(times),
            values,
        };
        let mut svg = String::with_capacity(32 << 10);
        let _ = write!(
            svg,
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{}" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif" font-size="12" data-left="{:.1}" data-right="{:.1}" data-top="{:.1}" data-bottom="{:.1}" data-t0="{}" data-t1="{}" data-v0="{}" data-v1="{}">"#,
            text(&self.title),
            plot.left,
            plot.right,
            plot.top,
            plot.bottom,
            plot.times.first,
            plot.times.last,
            plot.values.low,
            plot.values.high,
        );
        let _ = write!(svg, "<title>{}</title>", text(&self.title));
        let _ = write!(
            svg,
            r#"<rect class="paper" width="{width}" height="{height}" fill="{}"/>"#,
            palette.paper
        );
        if shown.is_empty() {
            let (x, y) = (width / 2.0, height / 2.0);
            let _ = write!(
                svg,
                r#"<text class="faint" x="{x}" y="{y}" text-anchor="middle" fill="{}">No run in this range</text></svg>"#,
                palette.faint
            );
            let kept = self.lines.iter().map(|_| Vec::new()).collect();
            return Drawn {
                svg,
                kept,
                left_out: 0,
            };
        }
        self.draw_grid(&mut svg, &plot, palette);
        self.draw_marks(&mut svg, &plot, palette);
        self.draw_failed(&mut svg, &plot, palette);
        let kept = self
            .lines
            .iter()
            .map(|line| draw_line(&mut svg, &plot, palette, line))
            .collect();
        let left_out = shown
            .iter()
            .filter(|value| !plot.values.holds(**value))
            .count();
        svg.push_str("</svg>");
        Drawn {
            svg,
            kept,
            left_out,
        }
    }

    fn draw_grid(&self, svg: &mut String, plot: &Plot, palette: &Palette) {
        for (value, label) in plot.values.ticks() {
            let y = plot.y(value);
            let _ = write!(
                svg,
                r#"<line class="grid" x1="{:.1}" x2="{:.1}" y1="{y:.1}" y2="{y:.1}" stroke="{}"/><text class="faint" x="{:.1}" y="{:.1}" text-anchor="end" fill="{}">{}</text>"#,
                plot.left,
                plot.right,
                palette.grid,
                plot.left - 6.0,
                y + 4.0,
                palette.faint,
                text(&label),
            );
        }
        let room = ((plot.right - plot.left) / 84.0) as usize;
        let mut end = f64::MIN;
        for (at, label) in plot.times.ticks(room.max(2)) {
            let half = label.chars().count() as f64 * 3.4;
            let x = plot.x(at).clamp(plot.left + half, plot.right - half);
            if x - half < end + 8.0 {
                continue;
            }
            end = x + half;
            let _ = write!(
                svg,
                r#"<line class="grid" x1="{0:.1}" x2="{0:.1}" y1="{1:.1}" y2="{2:.1}" stroke="{3}"/><text class="faint" x="{x:.1}" y="{4:.1}" text-anchor="middle" fill="{5}">{label}</text>"#,
                plot.x(at),
                plot.bottom,
                plot.bottom + 5.0,
                palette.grid,
                plot.bottom + 19.0,
                palette.faint,
            );
        }
    }

    /// Vertical marks; a label that would run into the one before is left to the tooltip.
    fn draw_marks(&self, svg: &mut String, plot: &Plot, palette: &Palette) {
        let mut marks: Vec<&Mark> = self.marks.iter().collect();
        marks.sort_by_key(|mark| mark.at);
        let mut end = f64::MIN;
        for mark in marks {
            let x = plot.x(mark.at);
            let (class, dashes) = match mark.kind {
                MarkKind::Tag => ("mark", "2 3"),
                MarkKind::Distribution => ("mark distribution", "6 3"),
            };
            let label: String = mark.label.chars().take(24).collect();
            let _ = write!(
                svg,
                r#"<g class="{class}"><title>{}</title><line x1="{x:.1}" x2="{x:.1}" y1="{:.1}" y2="{:.1}" stroke="{}" stroke-dasharray="{dashes}"/>"#,
                text(&mark.label),
                plot.top - 8.0,
                plot.bottom,
                palette.faint,
            );
            let half = label.chars().count() as f64 * 3.3;
            let middle = x.clamp(plot.left + half, (plot.right - half).max(plot.left + half));
            if middle - half > end + 6.0 {
                end = middle + half;
                let _ = write!(
                    svg,
                    r#"<text class="faint" x="{middle:.1}" y="{:.1}" text-anchor="middle" font-size="11" fill="{}">{}</text>"#,
                    plot.top - 13.0,
                    palette.faint,
                    text(&label),
                );
            }
            svg.push_str("</g>");
        }
    }

    fn draw_failed(&self, svg: &mut String, plot: &Plot, palette: &Palette) {
        for at in self.failed.iter().filter(|at| plot.times.holds(**at)) {
            let (x, y) = (plot.x(*at), plot.bottom - 6.0);
            let _ = write!(
                svg,
                r#"<path class="worse" d="M{:.1} {:.1}l7 7m0 -7l-7 7" stroke="{}" stroke-width="1.5" fill="none"/>"#,
                x - 3.5,
                y - 3.5,
                palette.worse,
            );
        }
    }
}

/// Draws one line, and returns which of its points are in the picture.
fn draw_line(svg: &mut String, plot: &Plot, palette: &Palette, line: &Line) -> Vec<usize> {
    let (class, color) = (
        line.color % palette.lines.len() + 1,
        palette.line(line.color),
    );
    let place = |dot: &Dot| (plot.x(dot.at), plot.y(dot.value));
    let places: Vec<(f64, f64)> = line.dots.iter().map(place).collect();
    let kept = thin(&places);
    draw_band(svg, plot, line, class, color);
    let _ = write!(
        svg,
        r#"<path class="line s{class}" fill="none" stroke="{color}" stroke-width="1.6" stroke-linejoin="round" d=""#
    );
    for (index, &point) in kept.iter().enumerate() {
        let (x, y) = places[point];
        let letter = if index == 0 { 'M' } else { 'L' };
        let _ = write!(svg, "{letter}{x:.1} {y:.1}");
    }
    svg.push_str("\"/>");
    for &point in &kept {
        let (x, y) = places[point];
        let value = line.dots[point].value;
        if !plot.values.holds(value) {
            let up = if value > plot.values.high { -1.0 } else { 1.0 };
            let _ = write!(
                svg,
                r#"<path class="dot s{class}" fill="{color}" d="M{x:.1} {y:.1}l5 {0:.1}h-10z"/>"#,
                -8.0 * up
            );
        } else if kept.len() <= 150 {
            let _ = write!(
                svg,
                r#"<circle class="dot s{class}" cx="{x:.1}" cy="{y:.1}" r="2.2" fill="{color}"/>"#
            );
        }
    }
    for reference in &line.references {
        let (x, y) = place(reference);
        let _ = write!(
            svg,
            r#"<circle class="ring s{class}" cx="{x:.1}" cy="{y:.1}" r="4" fill="{}" stroke="{color}" stroke-width="1.6"/>"#,
            palette.paper
        );
    }
    for step in &line.steps {
        let (x, y) = place(&step.to);
        let (class, color) = match step.is_worse {
            true => ("worse", palette.worse),
            false => ("better", palette.better),
        };
        // A diamond for better and a square for worse: colour alone tells nobody enough.
        let shape = match step.is_worse {
            true => format!("M{:.1} {:.1}h9v9h-9z", x - 4.5, y - 4.5),
            false => format!("M{x:.1} {:.1}l6 6l-6 6l-6 -6z", y - 6.0),
        };
        let _ = write!(
            svg,
            r#"<path class="step {class}" d="{shape}" fill="{color}" stroke="{}" stroke-width="1.5"/>"#,
            palette.paper
        );
    }
    kept
}

fn draw_band(svg: &mut String, plot: &Plot, line: &Line, class: usize, color: &str) {
    if line.band.len() < 2 {
        return;
    }
    let upper: Vec<(f64, f64)> = line
        .band
        .iter()
        .map(|band| (plot.x(band.at), plot.y(band.high)))
        .collect();
    let lower: Vec<(f64, f64)> = line
        .band
        .iter()
        .map(|band| (plot.x(band.at), plot.y(band.low)))
        .collect();
    let _ = write!(
        svg,
        r#"<path class="band s{class}" fill="{color}" fill-opacity="0.13" d=""#
    );
    let forth = thin(&upper).into_iter().map(|index| upper[index]);
    let back = thin(&lower).into_iter().rev().map(|index| lower[index]);
    for (index, (x, y)) in forth.chain(back).enumerate() {
        let letter = if index == 0 { 'M' } else { 'L' };
        let _ = write!(svg, "{letter}{x:.1} {y:.1}");
    }
    svg.push_str("z\"/>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Unit;

    fn chart(values: &[f64]) -> Chart {
        let dot = |(index, value): (usize, &f64)| Dot {
            at: 1_700_000_000 + index as i64 * 86_400,
            value: *value,
        };
        Chart {
            title: "a <b> & \"c\" \u{202e}".to_owned(),
            counts: Counts::Unit(Unit::Bytes),
            lines: vec![Line {
                dots: values.iter().enumerate().map(dot).collect(),
                ..Line::default()
            }],
            marks: vec![Mark {
                at: 1_700_000_000,
                label: "<script>".to_owned(),
                kind: MarkKind::Tag,
            }],
            failed: Vec::new(),
            whole: false,
            frame: Frame::default(),
        }
    }

    #[test]
    fn hostile_names_are_text() {
        let svg = chart(&[1.0, 2.0]).draw().svg;
        assert!(!svg.contains("<b>") && !svg.contains("<script>"), "{svg}");
        assert!(svg.contains("a &lt;b&gt; &amp; &quot;c&quot;"));
        assert!(svg.contains("&lt;script&gt;"));
        assert!(!svg.contains("style="), "a strict policy takes no style");
    }

    #[test]
    fn no_number_of_points_breaks_a_chart() {
        for values in [&[][..], &[0.0], &[5.0, 5.0], &[-1.0, 1.0], &[1e15, 2e15]] {
            let drawn = chart(values).draw();
            assert!(drawn.svg.ends_with("</svg>"));
            assert!(!drawn.svg.contains("NaN") && !drawn.svg.contains("inf"));
            assert_eq!(drawn.kept[0].len(), values.len());
        }
    }

    #[test]
    fn one_far_value_is_left_out_and_counted() {
        let mut values: Vec<f64> = (0..60).map(|index| 100.0 + f64::from(index % 5)).collect();
        values[30] = 90_000.0;
        let mut chart = chart(&values);
        assert_eq!(chart.draw().left_out, 1);
        chart.whole = true;
        assert_eq!(chart.draw().left_out, 0);
    }
}
