//! All metrics of a document against the history of their series, and those that it lacks.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::finding::{Finding, Judgement, MetricJudgement, Obstacle, Skip, Status, YoungLevel};
use super::policy::{AcceptedStep, Combine, MetricRule, Policy, Since};
use super::window::{Comparison, Level};
use crate::domain::{
    CommitSha, HostClass, Metric, MetricName, Parameter, ParameterName, Parameters, RunDate,
    Series, Value,
};

/// What is to be judged: what a document holds, and which commit it measured.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The series that it would join.
    pub series: Series,
    /// The commit; its own run, where history has one, is left out of every window.
    pub commit: Option<CommitSha>,
    /// Where it was measured.
    pub host_class: HostClass,
    /// Whether the workload ran to its end.
    pub succeeded: bool,
    /// What it ran with.
    pub parameters: Parameters,
    /// The numbers; each name once.
    pub metrics: Vec<Metric>,
}

/// What is known of the series: live runs that were merged and succeeded, in any order.
pub type History = Vec<MetricHistory>;

/// The values of one metric, in any order.
#[derive(Clone, Debug)]
pub struct MetricHistory {
    /// Its name.
    pub name: MetricName,
    /// Whether it is read off a real clock.
    pub wallclock: bool,
    /// Its values; a run counts once.
    pub points: Vec<HistoryPoint>,
}

/// One value of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPoint {
    /// The run; of two runs of one date, the larger is the newer.
    pub run_id: i64,
    /// Where it stands in history.
    pub run_date: RunDate,
    /// The commit.
    pub commit: CommitSha,
    /// Where it was measured.
    pub host_class: HostClass,
    /// The number.
    pub value: Value,
}

/// Where a run stands among others.
type Position = (RunDate, i64);

/// The values of a metric that count.
struct Counted<'a> {
    /// No more than the largest window takes.
    newest_first: Vec<Value>,
    /// The accepted step that older values were cut off at, if there are any.
    step: Option<&'a Arc<AcceptedStep>>,
}

/// The oldest run that counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Oldest {
    Run(Position),
    /// The candidate itself, which no run of the history is as new as.
    Candidate,
}

/// Holds `candidate` to `policy`.
///
/// The order of `history` and of its points changes nothing: windows are taken by date and run.
pub fn judge(policy: &Policy, candidate: &Candidate, history: &History) -> Judgement {
    let obstacles = obstacles(policy, candidate);
    let mut judgement = Judgement {
        obstacles,
        metrics: Vec::new(),
        unknown_steps: Vec::new(),
        windows: policy.windows.clone(),
    };
    if judgement.obstacles.is_empty() {
        let judge = Judge::new(policy, candidate, history);
        judgement.metrics = judge.metrics(history);
        judgement.unknown_steps = judge.unknown_steps(&judgement.metrics);
    }
    judgement
}

/// What keeps the document from being judged as a whole: known before any history is.
pub fn obstacles(policy: &Policy, candidate: &Candidate) -> Vec<Obstacle> {
    let mut obstacles = Vec::new();
    if !candidate.succeeded {
        obstacles.push(Obstacle::NotSucceeded);
    } else if candidate.metrics.is_empty() {
        obstacles.push(Obstacle::NoMetrics);
    }
    let Some(wanted) = &policy.parameters else {
        return obstacles;
    };
    let names: BTreeSet<&ParameterName> =
        wanted.keys().chain(candidate.parameters.keys()).collect();
    for name in names {
        let (wanted, found) = (wanted.get(name), candidate.parameters.get(name));
        if !same_parameter(wanted, found) {
            obstacles.push(Obstacle::OtherParameter {
                name: name.clone(),
                wanted: wanted.cloned(),
                found: found.cloned(),
            });
        }
    }
    obstacles
}

/// Numbers are the same where they have the same value, however they are written.
fn same_parameter(wanted: Option<&Parameter>, found: Option<&Parameter>) -> bool {
    let number = |parameter: Option<&Parameter>| match parameter {
        Some(Parameter::Number(number)) => number.as_str().parse::<rust_decimal::Decimal>().ok(),
        _ => None,
    };
    match (number(wanted), number(found)) {
        (Some(wanted), Some(found)) => wanted == found,
        _ => wanted == found,
    }
}

/// What a judgement is made from, looked up once.
struct Judge<'a> {
    policy: &'a Policy,
    candidate: &'a Candidate,
    /// Where the commits stand that an accepted step names.
    commits: HashMap<&'a CommitSha, Position>,
}

impl<'a> Judge<'a> {
    fn new(policy: &'a Policy, candidate: &'a Candidate, history: &'a History) -> Self {
        let named: HashSet<&CommitSha> = policy
            .accepted
            .iter()
            .filter_map(|step| match &step.since {
                Since::Commit(sha) => Some(sha),
                Since::Date(_) => None,
            })
            .collect();
        let mut commits: HashMap<&CommitSha, Position> = HashMap::new();
        let points = history.iter().flat_map(|metric| &metric.points);
        for point in points.filter(|point| named.contains(&point.commit)) {
            let position = commits.entry(&point.commit).or_insert(position(point));
            *position = (*position).min(self::position(point));
        }
        Self {
            policy,
            candidate,
            commits,
        }
    }

    fn metrics(&self, history: &History) -> Vec<MetricJudgement> {
        let known: HashMap<&MetricName, &MetricHistory> = history
            .iter()
            .map(|metric| (&metric.name, metric))
            .collect();
        let measured: HashSet<&MetricName> = self
            .candidate
            .metrics
            .iter()
            .map(|metric| &metric.name)
            .collect();
        let judged = self.candidate.metrics.iter().map(|metric| {
            let points = known
                .get(&metric.name)
                .map_or(&[][..], |found| &found.points);
            self.metric(metric, points)
        });
        let gone = history
            .iter()
            .filter(|metric| !measured.contains(&metric.name))
            .filter_map(|metric| self.gone(metric));
        let mut metrics: Vec<MetricJudgement> = judged.chain(gone).collect();
        metrics.sort_by(|a, b| a.name.cmp(&b.name));
        metrics
    }

    fn metric(&self, metric: &Metric, points: &[HistoryPoint]) -> MetricJudgement {
        let rule = self.policy.rule(&metric.name);
        let comparable = self.comparable(points, metric.wallclock);
        let counted = self.counted(&metric.name, &comparable);
        let mut comparisons = self.comparisons(metric.value, &rule, &counted.newest_first);
        let finding = self.finding(metric, &rule, &counted, &comparisons);
        if matches!(finding, Finding::Accepted(_) | Finding::BeyondStep(_)) {
            comparisons = self.comparisons(metric.value, &rule, &self.newest(&comparable));
        }
        MetricJudgement {
            name: metric.name.clone(),
            candidate: Some(metric.value),
            finding,
            comparisons,
            rule,
            step: counted.step.cloned(),
        }
    }

    /// A value against each window of `newest_first`.
    fn comparisons(
        &self,
        value: Value,
        rule: &MetricRule,
        newest_first: &[Value],
    ) -> Vec<Comparison> {
        let numbers = rule.with_k(self.policy.windows.k);
        let sizes = self.policy.windows.sizes.iter();
        sizes
            .filter_map(|&size| Comparison::new(value, newest_first, size, &numbers))
            .collect()
    }

    fn finding(
        &self,
        metric: &Metric,
        rule: &MetricRule,
        counted: &Counted<'_>,
        comparisons: &[Comparison],
    ) -> Finding {
        if rule.ignore {
            return Finding::Skipped(Skip::Ignored);
        }
        if metric.wallclock && !self.gates_wallclock() {
            return Finding::Skipped(Skip::HostClass);
        }
        let of_step = counted.step.and_then(|step| step.min_runs);
        let needed = of_step.unwrap_or(self.policy.windows.min_runs);
        let runs = counted.runs();
        if runs >= needed {
            return combine(comparisons, self.policy.windows.combine);
        }
        let Some(up_to) = counted.step.and_then(|step| step.up_to) else {
            return Finding::Insufficient { runs, needed };
        };
        let young = YoungLevel {
            runs,
            needed,
            up_to,
        };
        if rule.worse.is_worse(metric.value, up_to) {
            Finding::BeyondStep(young)
        } else {
            Finding::Accepted(young)
        }
    }

    /// What history has and the document has not; `None` where that is as it should be.
    fn gone(&self, metric: &MetricHistory) -> Option<MetricJudgement> {
        let rule = self.policy.rule(&metric.name);
        if rule.ignore || (metric.wallclock && !self.gates_wallclock()) {
            return None;
        }
        let comparable = self.comparable(&metric.points, metric.wallclock);
        let counted = self.counted(&metric.name, &comparable);
        let runs = counted.runs();
        (runs > 0).then(|| MetricJudgement {
            name: metric.name.clone(),
            candidate: None,
            finding: Finding::Missing { runs },
            comparisons: Vec::new(),
            rule,
            step: counted.step.cloned(),
        })
    }

    fn gates_wallclock(&self) -> bool {
        let classes = &self.policy.wallclock_host_classes;
        classes.contains(&self.candidate.host_class)
    }

    /// The values that can be compared, newest first: not the candidate's own, and of a clock those
    /// of its class of hosts alone.
    fn comparable<'p>(&self, points: &'p [HistoryPoint], wallclock: bool) -> Vec<&'p HistoryPoint> {
        let own = self.candidate.commit.as_ref();
        let mut comparable: Vec<&HistoryPoint> = points
            .iter()
            .filter(|point| own != Some(&point.commit))
            .filter(|point| !wallclock || point.host_class == self.candidate.host_class)
            .collect();
        comparable.sort_by_key(|point| std::cmp::Reverse(position(point)));
        comparable.dedup_by_key(|point| point.run_id);
        comparable
    }

    /// Of the values that can be compared, those that count: none from before the newest accepted
    /// step.
    fn counted(&self, name: &MetricName, comparable: &[&HistoryPoint]) -> Counted<'a> {
        let start = self.start(name);
        let is_new = |point: &&HistoryPoint| {
            start.is_none_or(|(oldest, _)| Oldest::Run(position(point)) >= oldest)
        };
        let new = comparable.iter().take_while(|point| is_new(point)).count();
        Counted {
            newest_first: self.newest(&comparable[..new]),
            step: start
                .map(|(_, step)| step)
                .filter(|_| new < comparable.len().min(self.largest())),
        }
    }

    /// As many of the newest as the largest window takes.
    fn newest(&self, newest_first: &[&HistoryPoint]) -> Vec<Value> {
        let newest = newest_first.iter().take(self.largest());
        newest.map(|point| point.value).collect()
    }

    fn largest(&self) -> usize {
        usize::try_from(self.policy.windows.largest()).unwrap_or(usize::MAX)
    }

    /// The newest accepted step of a metric that is known to have happened.
    fn start(&self, name: &MetricName) -> Option<(Oldest, &'a Arc<AcceptedStep>)> {
        let steps = self.policy.accepted_steps(name, &self.candidate.series);
        steps
            .filter_map(|step| Some((self.oldest(&step.since)?, step)))
            .max_by_key(|(oldest, _)| *oldest)
    }

    fn oldest(&self, since: &Since) -> Option<Oldest> {
        match since {
            Since::Date(date) => Some(Oldest::Run((*date, i64::MIN))),
            Since::Commit(sha) => match self.commits.get(sha) {
                Some(position) => Some(Oldest::Run(*position)),
                None => (self.candidate.commit.as_ref() == Some(sha)).then_some(Oldest::Candidate),
            },
        }
    }

    /// The steps at a commit that no run has, of metrics that might pass if it had one.
    ///
    /// Such a commit is older than all that was fetched, or not stored yet. Neither cuts a window,
    /// and the second makes the gate stricter, never laxer.
    fn unknown_steps(&self, judged: &[MetricJudgement]) -> Vec<Arc<AcceptedStep>> {
        let failed = |metric: &&MetricJudgement| metric.finding.status() <= Status::Insufficient;
        let concerns_failed = |step: &AcceptedStep| {
            let mut failed = judged.iter().filter(failed);
            failed.any(|metric| step.applies_to(&metric.name, &self.candidate.series))
        };
        let unknown = self
            .policy
            .accepted
            .iter()
            .filter(|step| self.oldest(&step.since).is_none());
        unknown
            .filter(|step| concerns_failed(step))
            .cloned()
            .collect()
    }
}

impl Counted<'_> {
    fn runs(&self) -> u32 {
        u32::try_from(self.newest_first.len()).unwrap_or(u32::MAX)
    }
}

fn position(point: &HistoryPoint) -> Position {
    (point.run_date, point.run_id)
}

fn combine(comparisons: &[Comparison], combine: Combine) -> Finding {
    let found = |level| match combine {
        Combine::Any => comparisons.iter().any(|window| window.level == level),
        Combine::All => comparisons.iter().all(|window| window.level == level),
    };
    if found(Level::Worse) {
        Finding::Regression
    } else if found(Level::Better) {
        Finding::Improved
    } else {
        Finding::Pass
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
