//! The runs of a history, each judged as the gate would have judged it before it was merged.

use std::collections::{BTreeMap, HashMap};

use super::finding::{Conclusion, Finding, Judgement, Status};
use super::gate::{Candidate, judge};
use super::history::{History, HistoryPoint, MetricHistory, Position};
use super::policy::{Policy, Since};
use crate::domain::{CommitSha, Metric, MetricName, Parameters, RunDate, Series};

/// What the gate would have said of one run.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The run.
    pub run_id: i64,
    /// Where it stands in history.
    pub run_date: RunDate,
    /// The commit.
    pub commit: CommitSha,
    /// What it would have come to.
    pub conclusion: Conclusion,
    /// How many metrics would have been compared with their history.
    pub judged: usize,
    /// The metrics that would have failed it, the worst first, with their change in percent.
    pub worse: Vec<(MetricName, Option<f64>)>,
    /// Metrics that would have kept it from being judged.
    pub undecided: usize,
}

/// The runs of a history, oldest first, and the judgement of the newest.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// What would have been said of each.
    pub runs: Vec<Replayed>,
    /// What was found of the newest run.
    pub newest: Option<Judgement>,
}

impl Replay {
    /// How many runs would have failed.
    pub fn failed(&self) -> usize {
        self.count(Conclusion::Regression)
    }

    /// How many runs were judged: those that were compared with something.
    pub fn judged(&self) -> usize {
        self.runs.iter().filter(|run| run.judged > 0).count()
    }

    fn count(&self, conclusion: Conclusion) -> usize {
        let found = self.runs.iter().filter(|run| run.conclusion == conclusion);
        found.count()
    }
}

/// Judges every run of `history` by those before it.
///
/// An accepted step counts from its own run on: what was accepted later was not known then.
pub fn replay(policy: &Policy, series: &Series, history: &History) -> Replay {
    let renamed = history.renamed(policy);
    let metrics = renamed.as_deref().unwrap_or(&history.metrics);
    let sorted: Vec<Sorted<'_>> = metrics.iter().map(Sorted::new).collect();
    let mut runs: BTreeMap<Position, Vec<(usize, usize)>> = BTreeMap::new();
    for (metric, points) in sorted.iter().enumerate() {
        for (index, point) in points.oldest_first.iter().enumerate() {
            let run = runs.entry(point.position()).or_default();
            run.push((metric, index));
        }
    }
    let positions: Vec<Position> = runs.keys().copied().collect();
    let reach = usize::try_from(policy.windows.largest()).unwrap_or(usize::MAX);
    let reach = reach.saturating_add(1);
    let mut replay = Replay::default();
    for (number, (position, points)) in runs.iter().enumerate() {
        let oldest = positions[number.saturating_sub(reach)];
        let Some((metric, index)) = points.first() else {
            continue;
        };
        let point = sorted[*metric].oldest_first[*index];
        let measured: HashMap<usize, usize> = points.iter().copied().collect();
        let past = sorted.iter().enumerate().map(|(metric, points)| {
            let end = measured.get(&metric).copied();
            points.before(*position, end, reach, oldest)
        });
        let past = History::from(past.collect::<Vec<_>>());
        let candidate = Candidate {
            series: series.clone(),
            commit: Some(point.commit.clone()),
            base: None,
            host_class: point.host_class.clone(),
            succeeded: true,
            parameters: point
                .parameters
                .as_deref()
                .cloned()
                .unwrap_or_else(Parameters::new),
            metrics: points
                .iter()
                .map(|&(metric, index)| sorted[metric].metric(index))
                .collect(),
        };
        let judgement = judge(&known_then(policy, history, *position), &candidate, &past);
        replay.runs.push(replayed(point, &judgement));
        replay.newest = Some(judgement);
    }
    replay
}

fn replayed(point: &HistoryPoint, judgement: &Judgement) -> Replayed {
    let statuses = judgement.metrics.iter().map(|m| m.finding.status());
    let mut worse: Vec<(MetricName, Option<f64>)> = judgement
        .metrics
        .iter()
        .filter(|metric| metric.finding.status() == Status::Regression)
        .map(|metric| {
            let windows = metric.windows.iter();
            let changes = windows.filter_map(|window| window.all.change_percent);
            let most = changes.max_by(|a, b| a.abs().total_cmp(&b.abs()));
            (metric.name.clone(), most)
        })
        .collect();
    worse.sort_by(|(_, a), (_, b)| {
        let size = |change: &Option<f64>| change.map_or(f64::INFINITY, f64::abs);
        size(b).total_cmp(&size(a))
    });
    Replayed {
        run_id: point.run_id,
        run_date: point.run_date,
        commit: point.commit.clone(),
        conclusion: judgement.conclusion(),
        judged: judgement.judged(),
        worse,
        undecided: statuses
            .filter(|status| {
                matches!(
                    status,
                    Status::Missing | Status::Unsteady | Status::Insufficient
                )
            })
            .count(),
    }
}

/// The policy without the steps that were accepted after a run.
fn known_then(policy: &Policy, history: &History, position: Position) -> Policy {
    if policy.accepted.is_empty() {
        return policy.clone();
    }
    let mut then = policy.clone();
    then.accepted.retain(|step| match &step.since {
        Since::Date(date) => *date <= position.0,
        Since::Commit(sha) => history.position_of(sha).is_none_or(|step| step <= position),
    });
    then
}

/// The points of a metric in the order of their runs.
struct Sorted<'a> {
    metric: &'a MetricHistory,
    oldest_first: Vec<&'a HistoryPoint>,
}

impl<'a> Sorted<'a> {
    fn new(metric: &'a MetricHistory) -> Self {
        let mut oldest_first: Vec<&HistoryPoint> = metric.points.iter().collect();
        oldest_first.sort_by_key(|point| point.position());
        oldest_first.dedup_by_key(|point| point.run_id);
        Self {
            metric,
            oldest_first,
        }
    }

    fn metric(&self, index: usize) -> Metric {
        Metric {
            name: self.metric.name.clone(),
            value: self.oldest_first[index].value,
            wallclock: self.metric.wallclock,
        }
    }

    /// As many points before a run as a window takes. Of a metric that the run does not have, only
    /// those of the runs that a gate would have read.
    fn before(
        &self,
        position: Position,
        measured: Option<usize>,
        reach: usize,
        oldest: Position,
    ) -> MetricHistory {
        let is_before = |point: &&HistoryPoint| point.position() < position;
        let end = measured.unwrap_or_else(|| self.oldest_first.partition_point(is_before));
        let points = &self.oldest_first[end.saturating_sub(reach)..end];
        let counts = |point: &&&HistoryPoint| measured.is_some() || point.position() >= oldest;
        MetricHistory {
            name: self.metric.name.clone(),
            wallclock: self.metric.wallclock,
            points: points.iter().filter(counts).map(|&p| p.clone()).collect(),
        }
    }
}

/// The smallest step of each metric that a judgement would have seen, in percent of its mean: the
/// tightest of its windows. Metrics that do not gate have none.
pub fn smallest_steps(judgement: &Judgement) -> Vec<f64> {
    let gating = judgement
        .metrics
        .iter()
        .filter(|metric| metric.finding.status().is_judged() && metric.finding != Finding::Warning);
    let tightest = gating.filter_map(|metric| {
        let windows = metric.windows.iter().map(|window| &window.all);
        let steps = windows.filter(|window| window.mean != 0.0);
        let steps = steps.map(|w| ((w.limit - w.mean) / w.mean).abs() * 100.0);
        steps.min_by(f64::total_cmp)
    });
    let mut steps: Vec<f64> = tightest.collect();
    steps.sort_by(f64::total_cmp);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::DimKey;

    fn history(oldest_first: &[&str]) -> History {
        let point = |(index, value): (usize, &&str)| HistoryPoint {
            run_id: i64::try_from(index).unwrap(),
            run_date: format!("2026-01-{:02}T00:00:00Z", index + 1)
                .parse()
                .unwrap(),
            commit: format!("{index:040x}").parse().unwrap(),
            host_class: "callgrind".parse().unwrap(),
            parameters: None,
            value: value.parse().unwrap(),
        };
        History::from(vec![MetricHistory {
            name: MetricName {
                metric_key: "callgrind.ir".parse().unwrap(),
                dim_key: DimKey::scalar(),
            },
            wallclock: false,
            points: oldest_first.iter().enumerate().map(point).collect(),
        }])
    }

    fn series() -> Series {
        Series {
            workload: "perf".parse().unwrap(),
            branch: "main".parse().unwrap(),
            arch: "amd64".parse().unwrap(),
            distro: "trixie".parse().unwrap(),
        }
    }

    #[test]
    fn every_run_is_judged_by_those_before_it() {
        let values = [["100"; 6].as_slice(), &["110"], &["100"; 3]].concat();
        let found = replay(&Policy::default(), &series(), &history(&values));
        let failed: Vec<i64> = found
            .runs
            .iter()
            .filter(|run| run.conclusion == Conclusion::Regression)
            .map(|run| run.run_id)
            .collect();
        assert_eq!((failed, found.failed(), found.judged()), (vec![6], 1, 5));
        assert_eq!(found.runs[6].worse[0].1, Some(10.0));
        assert_eq!(found.runs[0].judged, 0);
    }

    #[test]
    fn a_step_that_was_accepted_later_was_not_known_then() {
        let policy = "[[accepted]]\nmetric = \"*\"\nsince_date = 2026-01-08\nwhy = \"w\"\nby = \"b\"\nup_to = 200\n";
        let policy = Policy::parse(policy).unwrap();
        let values = [["100"; 6].as_slice(), &["120"; 4]].concat();
        let found = replay(&policy, &series(), &history(&values));
        let conclusions: Vec<Conclusion> = found.runs[6..].iter().map(|r| r.conclusion).collect();
        assert_eq!(conclusions[0], Conclusion::Regression);
        assert_eq!(conclusions[1], Conclusion::Passed);
    }

    #[test]
    fn the_tightest_window_says_which_step_is_seen() {
        let found = replay(&Policy::default(), &series(), &history(&["100"; 8]));
        let steps = smallest_steps(&found.newest.unwrap());
        assert_eq!(steps.len(), 1);
        assert!((steps[0] - 3.0).abs() < 1e-9, "{steps:?}");
    }
}
