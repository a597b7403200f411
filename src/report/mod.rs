//! A judgement as text, Markdown, JSON, JUnit and OpenMetrics, and a history as a table and CSV; how
//! far passes differ, as a table.
//! Decides nothing.
//!
//! What is worst comes first, everywhere. [`words`] says in sentences what a finding means, the
//! same in every form.

pub(crate) mod conflict;
pub(crate) mod history;
mod json;
mod junit;
mod markdown;
mod number;
mod openmetrics;
mod spread;
mod text;
mod words;

use crate::domain::{CommitSha, MetricName, Series};
use crate::judge::{Comparison, Judgement, Level, MetricJudgement, Status, Worse};

pub use json::json;
pub use junit::junit;
pub use markdown::{MARKDOWN_LIMIT, markdown};
pub use openmetrics::openmetrics;
pub use spread::spread;
pub use text::text;
pub use words::{explain, series_line};

/// A judgement and what it is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The series.
    pub series: &'a Series,
    /// The commit that was measured, where it is known.
    pub commit: Option<&'a CommitSha>,
    /// What the rules were read from, for people.
    pub config: &'a str,
    /// What was found.
    pub judgement: &'a Judgement,
}

impl Subject<'_> {
    /// The metrics, the worst first: by status, then by how much they got worse, then by name.
    fn worst_first(&self) -> Vec<&MetricJudgement> {
        let mut metrics: Vec<&MetricJudgement> = self.judgement.metrics.iter().collect();
        // Stable, and the metrics come ordered by name.
        metrics.sort_by(|a, b| {
            let key = |metric: &MetricJudgement| metric.finding.status();
            key(a)
                .cmp(&key(b))
                .then_with(|| badness(b).total_cmp(&badness(a)))
        });
        metrics
    }

    fn count(&self, status: Status) -> usize {
        let metrics = self.judgement.metrics.iter();
        metrics
            .filter(|metric| metric.finding.status() == status)
            .count()
    }
}

/// How far a metric has moved towards its worse side, in percent; from a mean of 0, without end.
fn badness(metric: &MetricJudgement) -> f64 {
    let of = |window: &Comparison| {
        let change = window
            .change_percent
            .unwrap_or(window.change * f64::INFINITY);
        match metric.rule.worse {
            Worse::Higher => change,
            Worse::Lower => -change,
        }
    };
    let moved = metric
        .comparisons
        .iter()
        .map(of)
        .filter(|change| !change.is_nan());
    moved.max_by(f64::total_cmp).unwrap_or(0.0)
}

/// The windows worth a line: one that found no more values than a smaller one says nothing new.
fn distinct(windows: &[Comparison]) -> impl Iterator<Item = &Comparison> {
    let is_new = |index: usize| index == 0 || windows[index].n > windows[index - 1].n;
    windows
        .iter()
        .enumerate()
        .filter(move |(index, _)| is_new(*index))
        .map(|(_, window)| window)
}

/// The window that a line has room for: the first that decided, else the first.
fn telling(metric: &MetricJudgement) -> Option<&Comparison> {
    let decisive = |window: &&Comparison| match metric.finding.status() {
        Status::Regression => window.level == Level::Worse,
        Status::Improved => window.level == Level::Better,
        _ => true,
    };
    metric.comparisons.iter().find(decisive)
}

/// `callgrind.ir`, or `sysbench.tps threads=16`.
fn label(name: &MetricName) -> String {
    match name.dim_key.as_str() {
        "" => name.metric_key.to_string(),
        dim => format!("{} {dim}", name.metric_key),
    }
}
