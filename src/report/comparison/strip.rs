//! Every trial of a metric as a point: where things are drawn.

use super::{Row, Subject, number};
use crate::judge::comparison::record::SideName;
use crate::judge::comparison::verdict::WorseDirection;

/// The drawing, in its own units.
pub(super) const WIDTH: f64 = 640.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 22.0;
const ROW: f64 = 30.0;
/// About so many labels on the axis.
const TICKS: f64 = 4.0;
/// A limit further away than so many times the data's width is drawn at the edge.
const FAR: f64 = 4.0;

/// A drawing.
pub(super) struct Strip {
    /// What stands left of the limit passes, or right of it: the shaded part.
    pub(super) band: Option<Band>,
    pub(super) rows: Vec<StripRow>,
    pub(super) ticks: Vec<Tick>,
}

pub(super) struct Band {
    pub(super) x: String,
    pub(super) width: String,
    /// Where the limit on the bad side is, where it is within the drawing.
    pub(super) limit: Option<String>,
}

pub(super) struct StripRow {
    pub(super) class: &'static str,
    pub(super) label: &'static str,
    pub(super) y: String,
    pub(super) median: String,
    pub(super) median_title: String,
    pub(super) points: Vec<Point>,
}

pub(super) struct Point {
    pub(super) x: String,
    pub(super) y: String,
    pub(super) title: String,
}

pub(super) struct Tick {
    pub(super) x: String,
    pub(super) label: String,
}

struct Scale {
    from: f64,
    to: f64,
}

impl Scale {
    fn x(&self, value: f64) -> f64 {
        let share = (value - self.from) / (self.to - self.from);
        LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn holds(&self, value: f64) -> bool {
        (self.from..=self.to).contains(&value)
    }
}

/// The drawing of one metric.
pub(super) fn strip(subject: &Subject<'_>, row: &Row<'_>) -> Strip {
    let metric = row.metric;
    let points = |side| subject.record.points(row.cell, &metric.name, side);
    let sides = [
        (SideName::Reference, metric.reference.median.get()),
        (SideName::Candidate, metric.candidate.median.get()),
    ];
    let limits = limits(row);
    let values: Vec<f64> = sides
        .iter()
        .flat_map(|(side, _)| points(*side))
        .map(|(_, value)| value)
        .collect();
    let scale = scale(&values, limits.map(|(_, worse)| worse));
    let rows = sides.iter().zip(0..).map(|((side, median), index)| {
        let y = TOP + ROW * f64::from(index);
        StripRow {
            class: side.as_str(),
            label: side.as_str(),
            y: at(y),
            median: at(scale.x(*median)),
            median_title: format!("median {}", number::value(&metric.name, *median)),
            points: row_points(&points(*side), y, &scale, &metric.name),
        }
    });
    Strip {
        band: limits.map(|(better, worse)| {
            let (from, to) = (better.min(worse), better.max(worse));
            let (from, to) = (scale.x(from), scale.x(to));
            Band {
                x: at(from),
                width: at(to - from),
                limit: scale.holds(worse).then(|| at(scale.x(worse))),
            }
        }),
        rows: rows.collect(),
        ticks: ticks(&scale, &metric.name),
    }
}

/// The values of the candidate's median that pass: the good and the bad end.
fn limits(row: &Row<'_>) -> Option<(f64, f64)> {
    let metric = row.metric;
    let median = metric.reference.median.get();
    let allowed = metric.allowed?.get() * median.abs();
    Some(match metric.worse {
        WorseDirection::Higher => (median - allowed, median + allowed),
        WorseDirection::Lower => (median + allowed, median - allowed),
    })
}

fn scale(values: &[f64], limit: Option<f64>) -> Scale {
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut from, mut to) = if smallest <= largest {
        (smallest, largest)
    } else {
        (0.0, 1.0)
    };
    let width = (to - from)
        .max(to.abs().max(from.abs()) * 0.05)
        .max(f64::MIN_POSITIVE);
    if let Some(limit) = limit
        && limit > from - FAR * width
        && limit < to + FAR * width
    {
        from = from.min(limit);
        to = to.max(limit);
    }
    let margin = ((to - from) * 0.06).max(width * 0.05);
    Scale {
        from: from - margin,
        to: to + margin,
    }
}

/// Trials stand a little above one another by their rounds, so that equal ones can be told apart.
fn row_points(points: &[(u32, f64)], y: f64, scale: &Scale, metric: &str) -> Vec<Point> {
    let middle = (points.len() as f64 - 1.0) / 2.0;
    let step = if points.len() > 1 {
        (14.0 / (points.len() as f64 - 1.0)).min(3.0)
    } else {
        0.0
    };
    let point = |(index, (round, value)): (usize, &(u32, f64))| Point {
        x: at(scale.x(*value)),
        y: at(y + (index as f64 - middle) * step),
        title: format!("round {round}: {}", number::value(metric, *value)),
    };
    points.iter().enumerate().map(point).collect()
}

fn ticks(scale: &Scale, metric: &str) -> Vec<Tick> {
    let unit = number::binary_unit(metric, scale.to);
    let rough = (scale.to - scale.from) / TICKS / unit;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough)
        * unit;
    if !step.is_finite() || step <= 0.0 {
        return Vec::new();
    }
    let first = (scale.from / step).ceil();
    let tick = |index: i32| {
        let value = (first + f64::from(index)) * step;
        scale.holds(value).then(|| Tick {
            x: at(scale.x(value)),
            label: number::value(metric, value),
        })
    };
    (0..12).filter_map(tick).collect()
}

/// A tenth of a unit is finer than anyone sees.
fn at(position: f64) -> String {
    format!("{position:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_and_a_near_limit_are_inside() {
        let near = scale(&[1.0, 1.2], Some(1.3));
        assert!(near.holds(1.0) && near.holds(1.3));
        let far = scale(&[1.0, 1.2], Some(9.0));
        assert!(!far.holds(9.0) && far.holds(1.2));
        let one = scale(&[5.0, 5.0], None);
        assert!(one.x(5.0) > LEFT && one.x(5.0) < WIDTH - RIGHT);
        let none = scale(&[0.0], None);
        assert!(none.x(0.0).is_finite());
    }

    #[test]
    fn ticks_are_round_and_few() {
        let ticks = ticks(
            &Scale {
                from: 0.97,
                to: 1.24,
            },
            "x",
        );
        let labels: Vec<&str> = ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["1", "1.1", "1.2"]);
        let mebibytes = Scale {
            from: 28.6 * 1_048_576.0,
            to: 32.5 * 1_048_576.0,
        };
        let ticks = super::ticks(&mebibytes, "peak_memory_bytes");
        let labels: Vec<&str> = ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["29 MiB", "30 MiB", "31 MiB", "32 MiB"]);
    }
}
