//! Drift: a level that keeps moving, a little with each run, so that no single change is to blame.
//!
//! [`judge`] takes the newest values of one metric, oldest first, and says whether they drift in the
//! worse direction. Two rules decide, as [`Rule`] tells:
//!
//! - [`Rule::Fitted`]: the change that the Theil-Sen line makes from the first value to the last,
//!   and only where the trend is significant. A step is told as a step, and what came since is
//!   judged alone.
//! - [`Rule::FirstToLast`]: the change from the first value to the last, whatever lies between.
//!
//! [`trend`] has the numbers of both.

mod trend;

use serde::Serialize;

use super::changes::{self, ChangePoint};
use super::window::Worse;

pub use trend::{Trend, trend};

/// Fewer values than this show no trend.
pub const FEWEST: usize = 5;

/// A trend whose p-value is above this may be chance.
const SIGNIFICANT: f64 = 0.01;

/// The numbers that decide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// A change by more percent than this is a warning.
    pub warn: f64,
    /// A change by more percent than this is drift.
    pub drift: f64,
    /// Which change counts.
    pub rule: Rule,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            warn: 10.0,
            drift: 15.0,
            rule: Rule::Fitted,
        }
    }
}

/// Which change is held against the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// That of the fitted line, where the trend is significant.
    Fitted,
    /// That from the first value to the last.
    FirstToLast,
}

/// What a window comes to, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It got worse by more than the limit for drift.
    Drift,
    /// It got worse by more than the limit for a warning.
    Warning,
    /// It has too few values.
    Insufficient,
    /// It did not get worse by so much.
    Ok,
}

/// What is found in a window.
#[derive(Clone, Debug)]
pub struct Drift {
    /// What it comes to.
    pub status: Status,
    /// The index of the first value that is judged: that of the newest step, or 0.
    pub since: usize,
    /// The trend of the values from there on; `None` where they are too few.
    pub trend: Option<Trend>,
    /// The steps in the window, oldest first.
    pub steps: Vec<ChangePoint>,
}

/// Judges the values of a window, oldest first.
pub fn judge(values: &[f64], worse: Worse, limits: Limits) -> Drift {
    let steps = match limits.rule {
        Rule::Fitted => steps(values),
        Rule::FirstToLast => Vec::new(),
    };
    let since = steps.last().map_or(0, |step| step.at);
    let trend = trend(&values[since..]);
    let status = trend
        .as_ref()
        .map_or(Status::Insufficient, |trend| limits.status(trend, worse));
    Drift {
        status,
        since,
        trend,
        steps,
    }
}

impl Limits {
    fn status(self, trend: &Trend, worse: Worse) -> Status {
        match self.rule {
            Rule::FirstToLast => self.status_of(trend.first_to_last_percent, worse),
            Rule::Fitted if trend.p <= SIGNIFICANT => trend
                .fitted_percent
                .map_or(Status::Ok, |change| self.status_of(change, worse)),
            Rule::Fitted => Status::Ok,
        }
    }

    /// What a change by so many percent comes to. A change on a limit does not exceed it.
    pub fn status_of(self, percent: f64, worse: Worse) -> Status {
        let worsening = match worse {
            Worse::Higher => percent,
            Worse::Lower => -percent,
        };
        match worsening {
            worsening if worsening > self.drift => Status::Drift,
            worsening if worsening > self.warn => Status::Warning,
            _ => Status::Ok,
        }
    }
}

/// The steps of a window. The level of a drift also moves, and a fit of levels makes a staircase of
/// it. So each number of steps is tried with a line after the last of them, and the staircase stays
/// only where it explains the values better than any of these, for as many numbers as it takes.
fn steps(values: &[f64]) -> Vec<ChangePoint> {
    let mut steps = changes::find(values);
    let starts: Vec<usize> = steps.iter().map(|step| step.at).collect();
    let mut best = (
        cost(
            values,
            distance_from_levels(values, &starts),
            2 * starts.len() + 1,
        ),
        starts.len(),
    );
    for kept in 0..=starts.len() {
        let from = kept.checked_sub(1).map_or(0, |last| starts[last]);
        let Some(from_line) = distance_from_line(&values[from..]) else {
            continue;
        };
        let from_levels = distance_from_levels(&values[..from], &starts[..kept.saturating_sub(1)]);
        let cost = cost(values, from_levels + from_line, 2 * kept + 2);
        if cost < best.0 {
            best = (cost, kept);
        }
    }
    steps.truncate(best.1);
    steps
}

/// Schwarz's criterion for distances (Laplace noise) of a fit with so many numbers.
fn cost(values: &[f64], distance: f64, numbers: usize) -> f64 {
    let n = values.len() as f64;
    n * distance.ln() + numbers as f64 * n.ln() / 2.0
}

/// The sum of the distances of the values from their Theil-Sen line.
fn distance_from_line(values: &[f64]) -> Option<f64> {
    let line = trend(values)?;
    let at = |index: usize| line.slope.mul_add(index as f64, line.intercept);
    let distances = values.iter().enumerate();
    Some(
        distances
            .map(|(index, value)| (value - at(index)).abs())
            .sum(),
    )
}

/// The sum of the distances of the values from the medians of their levels.
fn distance_from_levels(values: &[f64], starts: &[usize]) -> f64 {
    let mut from = 0;
    let ends = starts.iter().copied().chain([values.len()]);
    let of_level = |to: usize| {
        let level = &values[from..to];
        from = to;
        let median = trend::median(level.to_vec());
        level
            .iter()
            .map(|value| (value - median).abs())
            .sum::<f64>()
    };
    ends.map(of_level).sum()
}

#[cfg(test)]
mod tests;
