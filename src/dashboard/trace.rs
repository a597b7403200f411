//! The history of one metric as the pages look at it.

use std::collections::BTreeMap;

use crate::api::{MetricPoints, PointBody};
use crate::domain::{HostClass, MetricName, Repo, Series, Value};
use crate::judge::drift::{self, Limits};
use crate::judge::metrics::{KnownMetric, known};
use crate::judge::past::{Past, PastPoint, by_commit};
use crate::judge::{Comparison, Fraction, Level, Multiple, Policy, Rule, Worse};
use crate::store::{HistoryQuery, MAX_POINTS, MetricSelection, TagFilter};

/// The windows that a value is held against.
const WINDOWS: [u32; 2] = [5, 20];

/// The points of one metric, oldest first.
pub(super) struct Trace {
    pub(super) name: MetricName,
    pub(super) points: Vec<PointBody>,
}

/// A change of the level, with all that a page tells of it.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    pub(super) run_id: i64,
    pub(super) commit: String,
    pub(super) subject: Option<String>,
    pub(super) at: i64,
    pub(super) date: crate::domain::RunDate,
    pub(super) before: f64,
    pub(super) after: f64,
    pub(super) percent: Option<f64>,
    pub(super) is_worse: bool,
    pub(super) previous_run: i64,
}

/// The newest value beside those before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside {
    /// Change in percent against the mean of the last 5 and the last 20; `None` where there are none.
    pub(super) percent: [Option<f64>; 2],
    /// Where it lies beside the last 20.
    pub(super) level: Level,
}

/// The question for the newest `limit` live points of the promoted runs of a series.
pub(super) fn live(series: &Series, name: Option<&MetricName>, limit: usize) -> HistoryQuery {
    HistoryQuery {
        series: series.clone(),
        metrics: MetricSelection {
            keys: name
                .map(|name| name.metric_key.clone())
                .into_iter()
                .collect(),
            dims: name.map(|name| name.dim_key.clone()).into_iter().collect(),
        },
        limit,
        max_points: MAX_POINTS,
        since: None,
        before: None,
        repo: None,
        host_class: None,
        tag: TagFilter::Is(crate::domain::Tag::live()),
        pipeline: Some(crate::domain::Pipeline::promote()),
        include_failed: false,
        include_voided: false,
        after: None,
    }
}

impl Trace {
    /// The points of each repository apart. Of a metric that was read off a real clock, those of the
    /// newest class of hosts.
    pub(super) fn by_repo(metric: MetricPoints) -> BTreeMap<Repo, Self> {
        let name = MetricName {
            metric_key: metric.metric_key,
            dim_key: metric.dim_key,
        };
        let mut by_repo: BTreeMap<Repo, Vec<PointBody>> = BTreeMap::new();
        for point in metric.points {
            by_repo.entry(point.repo.clone()).or_default().push(point);
        }
        let trace = |(repo, points)| {
            let mut trace = Self {
                name: name.clone(),
                points,
            };
            if metric.wallclock {
                trace.keep_newest_class();
            }
            trace.points.reverse();
            (repo, trace)
        };
        by_repo.into_iter().map(trace).collect()
    }

    /// The points of all repositories.
    pub(super) fn of(metric: MetricPoints) -> Self {
        let mut trace = Self {
            name: MetricName {
                metric_key: metric.metric_key,
                dim_key: metric.dim_key,
            },
            points: metric.points,
        };
        if metric.wallclock {
            trace.keep_newest_class();
        }
        trace.points.reverse();
        trace
    }

    fn keep_newest_class(&mut self) {
        let class: Option<HostClass> = self.points.first().map(|point| point.host_class.clone());
        self.points
            .retain(|point| Some(&point.host_class) == class.as_ref());
    }

    pub(super) fn known(&self) -> &'static KnownMetric {
        known(self.name.metric_key.as_str())
    }

    /// The changes of the level among the newest `most` points, oldest first.
    pub(super) fn moved(&self, series: &Series, most: usize) -> Vec<Moved> {
        let from = self.points.len().saturating_sub(most);
        let past = Past {
            series: series.clone(),
            repo: None,
            name: self.name.clone(),
            points: by_commit(self.points[from..].iter().map(past_point)),
        };
        let policy = Policy::default();
        let moved = past.moved(&policy).into_iter().map(|moved| Moved {
            run_id: moved.first.run_id,
            commit: moved.first.commit.to_string(),
            subject: moved.first.subject.clone(),
            at: moved.first.date.timestamp(),
            date: moved.first.date,
            before: moved.point.before,
            after: moved.point.after,
            percent: moved.point.change_percent(),
            is_worse: moved.is_worse,
            previous_run: moved.previous.run_id,
        });
        moved.collect()
    }

    /// How the newest points drift.
    pub(super) fn drift(&self, most: usize) -> drift::Drift {
        let from = self.points.len().saturating_sub(most);
        let points = by_commit(self.points[from..].iter().map(past_point));
        let values: Vec<f64> = points.iter().map(|point| point.value).collect();
        drift::judge(&values, self.known().worse, Limits::default())
    }

    /// The newest value beside those before it.
    pub(super) fn beside(&self) -> Option<Beside> {
        let (newest, before) = self.points.split_last()?;
        let newest_first: Vec<Value> = before.iter().rev().take(20).map(|p| p.value).collect();
        Some(beside(newest.value, &newest_first, self.known()))
    }
}

/// A value beside those before it, newest first.
pub(super) fn beside(value: Value, newest_first: &[Value], known: &KnownMetric) -> Beside {
    let rule = Rule {
        k: Multiple::THREE,
        floor: Fraction::percent(known.floor_percent),
        floor_absolute: Value::from(known.floor_absolute),
        worse: known.worse,
    };
    let compare = |size| Comparison::new(value, newest_first, size, &rule);
    let [short, long] = WINDOWS.map(compare);
    Beside {
        percent: [
            short.as_ref().and_then(|short| short.change_percent),
            long.as_ref().and_then(|long| long.change_percent),
        ],
        level: long
            .filter(|long| long.n >= 5)
            .map_or(Level::Within, |long| long.level),
    }
}

/// Where a value is expected after those before it: their mean, and as far around it as passes.
///
/// For a picture, in floats; the verdicts of the judge are exact.
pub(super) fn expected(before: &[f64], known: &KnownMetric) -> Option<(f64, f64)> {
    let window = &before[before.len().saturating_sub(20)..];
    if window.len() < 5 {
        return None;
    }
    let n = window.len() as f64;
    let mean = window.iter().sum::<f64>() / n;
    let squares: f64 = window.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (n - 1.0)).sqrt();
    let floor = f64::from(known.floor_percent) / 100.0 * mean.abs();
    let room = (3.0 * deviation)
        .max(floor)
        .max(f64::from(known.floor_absolute));
    Some((mean - room, mean + room))
}

/// Whether a difference is one for the worse; `None` of no difference.
pub(super) fn is_worse(difference: f64, worse: Worse) -> Option<bool> {
    (difference != 0.0).then_some((difference > 0.0) == (worse == Worse::Higher))
}

fn past_point(point: &PointBody) -> PastPoint {
    PastPoint {
        run_id: point.run_id,
        commit: point.commit_sha.clone(),
        date: point.run_date,
        subject: point.subject.as_ref().map(ToString::to_string),
        value: point.value.to_f64(),
        runs: 1,
    }
}
