//! The history of one metric as points: one for each commit, oldest first.

use super::changes::{self, ChangePoint};
use super::policy::{AcceptedStep, Policy, Since};
use super::window::Worse;
use crate::domain::{CommitSha, MetricName, Repo, RunDate, Series};

/// What the runs of one commit measured of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct PastPoint {
    /// The first of the runs.
    pub run_id: i64,
    /// The commit.
    pub commit: CommitSha,
    /// Where the run stands in history.
    pub date: RunDate,
    /// The commit's subject line, where it is known.
    pub subject: Option<String>,
    /// The median of the values of its runs.
    pub value: f64,
    /// How many runs the commit has.
    pub runs: usize,
}

/// The history of one metric.
#[derive(Clone, Debug)]
pub struct Past {
    /// The series.
    pub series: Series,
    /// The repository, where it is known.
    pub repo: Option<Repo>,
    /// The metric.
    pub name: MetricName,
    /// The points, oldest first.
    pub points: Vec<PastPoint>,
}

/// A change point as commits and runs.
#[derive(Clone, Debug)]
pub struct Moved<'a> {
    /// The numbers.
    pub point: ChangePoint,
    /// The last commit of the old level that was measured.
    pub previous: &'a PastPoint,
    /// The first commit of the new level that was measured.
    pub first: &'a PastPoint,
    /// Whether the new level is the worse one.
    pub is_worse: bool,
    /// The accepted step that it is.
    pub accepted: Option<&'a AcceptedStep>,
}

/// A change is found at its commit or beside it, and an accepted step names one commit.
const BESIDE: usize = 2;

impl Past {
    /// The values, oldest first.
    pub fn values(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.value).collect()
    }

    /// The newest `count` points.
    pub fn newest(&self, count: usize) -> &[PastPoint] {
        &self.points[self.points.len().saturating_sub(count)..]
    }

    /// The change points, oldest first.
    pub fn moved<'a>(&'a self, policy: &'a Policy) -> Vec<Moved<'a>> {
        let worse = policy.terms(&self.name).worse;
        let accepted: Vec<(usize, &AcceptedStep)> = self.accepted(policy).collect();
        let of = |point: ChangePoint| Moved {
            previous: &self.points[point.at - 1],
            first: &self.points[point.at],
            is_worse: (point.after > point.before) == (worse == Worse::Higher),
            accepted: accepted
                .iter()
                .filter(|(at, _)| at.abs_diff(point.at) <= BESIDE)
                .min_by_key(|(at, _)| at.abs_diff(point.at))
                .map(|(_, step)| *step),
            point,
        };
        changes::find(&self.values()).into_iter().map(of).collect()
    }

    /// The index of the newest point at which an accepted step starts; 0 where none does.
    pub fn restart(&self, policy: &Policy) -> usize {
        self.accepted(policy).map(|(at, _)| at).max().unwrap_or(0)
    }

    /// The accepted steps that lie in this history, and the first point of each.
    fn accepted<'a>(
        &'a self,
        policy: &'a Policy,
    ) -> impl Iterator<Item = (usize, &'a AcceptedStep)> {
        let steps = policy.accepted_steps(&self.name, &self.series);
        steps.filter_map(|step| {
            let is_first = |point: &PastPoint| match &step.since {
                Since::Commit(commit) => point.commit == *commit,
                Since::Date(date) => point.date >= *date,
            };
            Some((self.points.iter().position(is_first)?, &**step))
        })
    }
}

/// One point for each commit. `points` are of one metric, oldest first, one a run.
pub fn by_commit(points: impl IntoIterator<Item = PastPoint>) -> Vec<PastPoint> {
    let mut grouped: Vec<(PastPoint, Vec<f64>)> = Vec::new();
    let mut place = std::collections::HashMap::new();
    for point in points {
        match place.get(&point.commit) {
            Some(&index) => {
                let (_, values): &mut (PastPoint, Vec<f64>) = &mut grouped[index];
                values.push(point.value);
            }
            None => {
                place.insert(point.commit.clone(), grouped.len());
                let values = vec![point.value];
                grouped.push((point, values));
            }
        }
    }
    let of_commit = |(point, mut values): (PastPoint, Vec<f64>)| PastPoint {
        runs: values.len(),
        value: changes::median(&mut values),
        ..point
    };
    grouped.into_iter().map(of_commit).collect()
}
