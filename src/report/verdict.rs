//! A judgement as every report tells it, computed once: its order, its counts, its words.

use std::collections::BTreeMap;

use super::{number, words};
use crate::domain::{CommitSha, MetricName, Series};
use crate::judge::{
    Comparison, Conclusion, Finding, Judgement, Level, MetricJudgement, Skip, Status, Term,
    WindowJudgement, Worse,
};
use crate::terminal::tame;

/// What a judgement is about.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The series.
    pub series: &'a Series,
    /// The commit that was measured, where it is known.
    pub commit: Option<&'a CommitSha>,
    /// What the rules were read from, for people.
    pub config: &'a str,
    /// How many documents the numbers are the medians of.
    pub documents: usize,
}

/// A judgement with what reports say of it.
#[derive(Debug)]
pub struct Verdict<'a> {
    pub(super) about: About<'a>,
    pub(super) judgement: &'a Judgement,
    pub(super) conclusion: Conclusion,
    /// The worst first: by status, then by how much a metric got worse, then by name.
    pub(super) rows: Vec<Row<'a>>,
    /// What it all comes to, in one line.
    pub(super) summary: String,
    /// What keeps the document from being judged, a line each.
    pub(super) obstacles: Vec<String>,
    /// What else there is to say, a line each.
    pub(super) notes: Vec<String>,
    /// Lines to paste into the rules, with a word before each block.
    pub(super) advice: Vec<Advice>,
    counts: BTreeMap<Status, usize>,
}

/// Lines to paste into the rules.
#[derive(Debug)]
pub(super) struct Advice {
    /// What they are for.
    pub(super) what: String,
    /// The lines.
    pub(super) lines: String,
}

/// One metric.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub(super) metric: &'a MetricJudgement,
    pub(super) status: Status,
    /// Its name, safe to print.
    pub(super) name: String,
    /// What the document has, with its unit.
    pub(super) value: String,
    /// How far it has moved.
    pub(super) change: String,
    /// How far it may move in the worse direction.
    pub(super) allowed: String,
    /// Why it has its status, in one short sentence; `None` of one that is as it was.
    pub(super) why: Option<String>,
    badness: f64,
}

impl<'a> Verdict<'a> {
    /// The verdict of a judgement.
    pub fn new(about: About<'a>, judgement: &'a Judgement) -> Self {
        let row = |metric| Row::new(metric, judgement, about.config);
        let mut rows: Vec<Row<'a>> = judgement.metrics.iter().map(row).collect();
        // Stable, and the metrics come ordered by name.
        rows.sort_by(|a, b| {
            let status = a.status.cmp(&b.status);
            status.then_with(|| b.badness.total_cmp(&a.badness))
        });
        let mut counts = BTreeMap::new();
        for row in &rows {
            *counts.entry(row.status).or_default() += 1;
        }
        let obstacles = judgement.obstacles.iter();
        let obstacles = obstacles.map(|obstacle| words::obstacle(obstacle, about.config));
        let mut verdict = Self {
            about,
            judgement,
            conclusion: judgement.conclusion(),
            rows,
            summary: String::new(),
            obstacles: obstacles.collect(),
            notes: words::notes(judgement, about.config),
            advice: words::advice(judgement, about),
            counts,
        };
        verdict.summary = words::summary(&verdict);
        verdict
    }

    /// What it all comes to, in one line.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    pub(super) fn count(&self, status: Status) -> usize {
        self.counts.get(&status).copied().unwrap_or_default()
    }

    pub(super) fn skipped(&self, why: Skip) -> usize {
        let findings = self.rows.iter().map(|row| row.metric.finding);
        findings
            .filter(|finding| *finding == Finding::Skipped(why))
            .count()
    }

    /// The worst metric, where something got worse.
    pub(super) fn worst(&self) -> Option<&Row<'a>> {
        self.rows
            .first()
            .filter(|row| row.status == Status::Regression)
    }
}

impl<'a> Row<'a> {
    fn new(metric: &'a MetricJudgement, judgement: &Judgement, config: &str) -> Self {
        let window = telling(metric);
        Self {
            metric,
            status: metric.finding.status(),
            name: label(&metric.name),
            value: metric.candidate.map_or_else(number::dash, |value| {
                number::with_unit(value, metric.terms.unit)
            }),
            change: window.map_or_else(number::dash, change),
            allowed: window.map_or_else(number::dash, |window| allowed(metric, window)),
            why: words::why(metric, judgement, config),
            badness: badness(metric),
        }
    }

    /// Whether the metric is as it was, or is not judged.
    pub(super) fn is_quiet(&self) -> bool {
        matches!(self.status, Status::Pass | Status::Skipped)
    }
}

/// A change in percent; from a mean of zero, in the metric's own unit.
pub(super) fn change(window: &Comparison) -> String {
    match window.change_percent {
        Some(percent) => number::percent(Some(percent)),
        None => number::change(window.change),
    }
}

/// How far a metric may move in the worse direction, as its limit says.
pub(super) fn allowed(metric: &MetricJudgement, window: &Comparison) -> String {
    let rule = &metric.terms.rule;
    let sign = match metric.terms.worse {
        Worse::Higher => "+",
        Worse::Lower => "-",
    };
    match window.limit_by {
        Term::Floor => format!("{sign}{}", rule.floor),
        Term::FloorAbsolute => format!("{sign}{}", number::value(metric.terms.floor_absolute)),
        Term::Deviation if window.mean == 0.0 => {
            format!(
                "{sign}{}",
                number::computed((window.limit - window.mean).abs())
            )
        }
        Term::Deviation => {
            let percent = (window.limit - window.mean) / window.mean.abs() * 100.0;
            number::percent(Some(percent))
        }
    }
}

/// How far a metric has moved towards its worse side, in percent; from a mean of 0, without end.
fn badness(metric: &MetricJudgement) -> f64 {
    let of = |window: &Comparison| {
        let change = window
            .change_percent
            .unwrap_or(window.change * f64::INFINITY);
        match metric.terms.worse {
            Worse::Higher => change,
            Worse::Lower => -change,
        }
    };
    let moved = metric.windows.iter().map(|window| of(shown(window)));
    let moved = moved.filter(|change| !change.is_nan());
    moved.max_by(f64::total_cmp).unwrap_or(0.0)
}

/// The comparison of a window that says more: the one without outliers, where there are some.
pub(super) fn shown(window: &WindowJudgement) -> &Comparison {
    window.without_outliers.as_ref().unwrap_or(&window.all)
}

/// The windows worth a line: one that found no more values than a smaller one says nothing new.
pub(super) fn distinct(windows: &[WindowJudgement]) -> impl Iterator<Item = &WindowJudgement> {
    let is_new = |index: usize| index == 0 || windows[index].all.n > windows[index - 1].all.n;
    windows
        .iter()
        .enumerate()
        .filter(move |(index, _)| is_new(*index))
        .map(|(_, window)| window)
}

/// The comparison that a line has room for: the first that decided, else the first.
pub(super) fn telling(metric: &MetricJudgement) -> Option<&Comparison> {
    let status = metric.finding.status();
    let wanted = match status {
        Status::Regression | Status::Warning => Some(Level::Worse),
        Status::Improved => Some(Level::Better),
        _ => None,
    };
    let of_all = metric.windows.iter().map(|window| &window.all);
    let of_shown = metric.windows.iter().map(shown);
    let decisive = |comparison: &&Comparison| wanted.is_some_and(|level| comparison.level == level);
    of_all
        .chain(of_shown)
        .find(decisive)
        .or_else(|| metric.windows.first().map(shown))
}

/// Whether the windows of a metric say different things.
pub(super) fn windows_disagree(metric: &MetricJudgement) -> bool {
    let mut levels = metric.windows.iter().map(|window| window.all.level);
    let first = levels.next();
    metric.finding.status().is_judged() && levels.any(|level| Some(level) != first)
}

/// `callgrind.ir`, or `sysbench.tps threads=16`; safe to print.
pub(super) fn label(name: &MetricName) -> String {
    match name.dim_key.as_str() {
        "" => tame(name.metric_key.as_str()),
        dim => tame(&format!("{} {dim}", name.metric_key)),
    }
}
