//! What a verdict does not tell: a metric that passes each time and drifts, and a step in a window
//! that nobody has accepted. A hint changes no verdict and no exit code.

use crate::judge::drift::{self, Limits, Status};
use crate::judge::past::{Past, PastPoint, by_commit};
use crate::judge::{Candidate, History, MetricHistory, Policy};
use crate::terminal::tame;

/// One line about the first metric that has something to tell, and how many more have.
pub(super) fn of(policy: &Policy, candidate: &Candidate, history: &History) -> Option<String> {
    let judged = history.metrics.iter().filter(|metric| {
        let is_measured = candidate.metrics.iter().any(|own| own.name == metric.name);
        is_measured && !policy.rule(&metric.name).ignore
    });
    let mut told = judged.filter_map(|metric| {
        let past = past(candidate, metric);
        drifts(policy, &past).or_else(|| steps(policy, &past))
    });
    let first = told.next()?;
    Some(match told.count() {
        0 => format!("hint: {first}"),
        1 => format!("hint: {first}; one more metric has a hint"),
        more => format!("hint: {first}; {more} more metrics have hints"),
    })
}

fn past(candidate: &Candidate, metric: &MetricHistory) -> Past {
    let mut points: Vec<_> = metric
        .points
        .iter()
        .filter(|point| Some(&point.commit) != candidate.commit.as_ref())
        .filter(|point| !metric.wallclock || point.host_class == candidate.host_class)
        .collect();
    points.sort_by_key(|point| (point.run_date, point.run_id));
    let points = points.into_iter().map(|point| PastPoint {
        run_id: point.run_id,
        commit: point.commit.clone(),
        date: point.run_date,
        subject: None,
        value: point.value.to_f64(),
        runs: 1,
    });
    Past {
        series: candidate.series.clone(),
        repo: None,
        name: metric.name.clone(),
        points: by_commit(points),
    }
}

fn drifts(policy: &Policy, past: &Past) -> Option<String> {
    let values = past.values();
    let judged = &values[past.restart(policy)..];
    let found = drift::judge(judged, policy.terms(&past.name).worse, Limits::default());
    let change = found.trend?.fitted_percent?;
    (found.status == Status::Drift).then(|| {
        let key = tame(past.name.metric_key.as_str());
        format!(
            "{key} drifts by {change:+.1} % over the runs of its window; `perf-tracking drift \
             --metric '{key}'` shows more"
        )
    })
}

fn steps(policy: &Policy, past: &Past) -> Option<String> {
    let moved = past.moved(policy);
    let step = moved
        .iter()
        .rev()
        .find(|moved| moved.is_worse && moved.accepted.is_none())?;
    let key = tame(past.name.metric_key.as_str());
    let commit = &step.first.commit.as_str()[..12];
    Some(format!(
        "the window of {key} holds a step for the worse at {commit} that no [[accepted]] names; \
         `perf-tracking changes --metric '{key}'` shows more"
    ))
}
