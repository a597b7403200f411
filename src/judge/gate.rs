//! All metrics of a document against the history of their series, and those that it lacks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use rust_decimal::Decimal;

use super::finding::{
    Finding, Judgement, LeftOutValue, MetricJudgement, Obstacle, RunLabel, Skip, Status,
    WindowJudgement, WindowValue, YoungLevel,
};
use super::history::{History, HistoryPoint, LeftOut, LeftOutRun, MetricHistory, Position};
use super::metrics::Gating;
use super::outliers;
use super::policy::{AcceptedStep, Combine, Outliers, Policy, Since, Terms, UpTo};
use super::thresholds::Thresholds;
use super::window::{Comparison, Level};
use crate::domain::{
    CommitSha, HostClass, Metric, MetricName, Parameter, ParameterName, Parameters, Series, Value,
};

/// What is to be judged: what a document holds, and which commit it measured.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The series that it would join.
    pub series: Series,
    /// The commit; its own run, where history has one, is left out of every window.
    pub commit: Option<CommitSha>,
    /// Where the windows end: at the run of the commit that the change is based on. `None` takes the
    /// newest runs.
    pub base: Option<Position>,
    /// Where it was measured.
    pub host_class: HostClass,
    /// Whether the workload ran to its end.
    pub succeeded: bool,
    /// What it ran with.
    pub parameters: Parameters,
    /// The numbers; each name once.
    pub metrics: Vec<Metric>,
}

/// The values of a metric, as they can be compared with a candidate.
struct Baseline<'a> {
    /// Those that can be compared, newest first.
    comparable: Vec<&'a HistoryPoint>,
    /// How many of these count: none from before the newest accepted step, and no more than the
    /// largest window takes.
    counted: usize,
    /// How many of these are from the newest accepted step on.
    since_step: usize,
    /// The accepted step that older values were cut off at, if there are any.
    step: Option<&'a Arc<AcceptedStep>>,
    left_out: Vec<LeftOutValue>,
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
        unmatched_rules: Vec::new(),
        windows: policy.windows.clone(),
        host_class: candidate.host_class.clone(),
        series_runs: 0,
        runs: BTreeMap::new(),
        left_out: newest_first(&history.left_out),
        nearby: history.nearby.clone(),
    };
    if judgement.obstacles.is_empty() {
        let renamed = history.renamed(policy);
        let metrics = renamed.as_deref().unwrap_or(&history.metrics);
        let judge = Judge::new(policy, candidate, metrics);
        judgement.metrics = judge.metrics(metrics);
        judgement.unknown_steps = judge.unknown_steps(&judgement.metrics);
        let names = judgement.metrics.iter().map(|metric| &metric.name);
        let known = metrics.iter().map(|metric| &metric.name);
        judgement.unmatched_rules = policy.unmatched(names.chain(known));
        judgement.series_runs = judge.series_runs;
        judgement.runs = judge.runs;
    }
    judgement
}

fn newest_first(left_out: &[LeftOutRun]) -> Vec<LeftOutRun> {
    let mut left_out = left_out.to_vec();
    left_out.sort_by_key(|run| Reverse((run.run_date, run.run_id)));
    left_out
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

/// The names of the parameters that differ.
fn other_parameters(one: &Parameters, other: &Parameters) -> Vec<String> {
    let names: BTreeSet<&ParameterName> = one.keys().chain(other.keys()).collect();
    let differ = |name: &&ParameterName| !same_parameter(one.get(*name), other.get(*name));
    names
        .into_iter()
        .filter(differ)
        .map(ToString::to_string)
        .collect()
}

/// What a judgement is made from, looked up once.
struct Judge<'a> {
    policy: &'a Policy,
    candidate: &'a Candidate,
    thresholds: Thresholds,
    /// Where the commits stand that an accepted step names.
    commits: HashMap<&'a CommitSha, Position>,
    /// Every run that has a value.
    runs: BTreeMap<i64, RunLabel>,
    /// How many of them could be compared: not the candidate's own, and not newer than its base.
    series_runs: u32,
}

impl<'a> Judge<'a> {
    fn new(policy: &'a Policy, candidate: &'a Candidate, history: &'a [MetricHistory]) -> Self {
        let named: HashSet<&CommitSha> = policy
            .accepted
            .iter()
            .filter_map(|step| match &step.since {
                Since::Commit(sha) => Some(sha),
                Since::Date(_) => None,
            })
            .collect();
        let mut commits: HashMap<&CommitSha, Position> = HashMap::new();
        let mut runs: BTreeMap<i64, RunLabel> = BTreeMap::new();
        for point in history.iter().flat_map(|metric| &metric.points) {
            runs.entry(point.run_id).or_insert_with(|| RunLabel {
                run_date: point.run_date,
                commit: point.commit.clone(),
            });
            if let Some(sha) = named.get(&point.commit) {
                let known = commits.entry(sha).or_insert_with(|| point.position());
                *known = point.position().min(*known);
            }
        }
        let is_own = |run: &RunLabel| candidate.commit.as_ref() == Some(&run.commit);
        let is_newer =
            |id: i64, run: &RunLabel| candidate.base.is_some_and(|base| (run.run_date, id) > base);
        let series_runs = runs
            .iter()
            .filter(|(id, run)| !is_own(run) && !is_newer(**id, run))
            .count();
        let mut judge = Self {
            thresholds: Thresholds::new(&policy.windows, 0),
            policy,
            candidate,
            commits,
            runs,
            series_runs: u32::try_from(series_runs).unwrap_or(u32::MAX),
        };
        let gating = candidate.metrics.iter().filter(|m| judge.gates(m)).count();
        judge.thresholds = Thresholds::new(&policy.windows, gating);
        judge
    }

    /// Whether a metric of the document can fail it.
    fn gates(&self, metric: &Metric) -> bool {
        let terms = self.policy.terms(&metric.name);
        !terms.rule.ignore
            && terms.gating == Gating::Fail
            && (!metric.wallclock || self.gates_wallclock())
    }

    fn metrics(&self, history: &'a [MetricHistory]) -> Vec<MetricJudgement> {
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

    fn metric(&self, metric: &Metric, points: &'a [HistoryPoint]) -> MetricJudgement {
        let terms = self.policy.terms(&metric.name);
        let baseline = self.baseline(&metric.name, points, metric.wallclock);
        let mut values = self.values(&baseline.comparable[..baseline.counted], &terms);
        let mut windows = self.windows(metric.value, &terms, &values);
        let finding = self.finding(metric, &terms, &baseline, &windows, points);
        if matches!(finding, Finding::Accepted(_) | Finding::BeyondStep(_)) {
            let uncut = baseline.comparable.len().min(self.largest());
            values = self.values(&baseline.comparable[..uncut], &terms);
            windows = self.windows(metric.value, &terms, &values);
        }
        MetricJudgement {
            name: metric.name.clone(),
            candidate: Some(metric.value),
            finding,
            windows,
            terms,
            step: baseline.step.cloned(),
            values,
            left_out: baseline.left_out,
        }
    }

    /// The values of the largest window, with the outliers among them marked.
    fn values(&self, newest_first: &[&HistoryPoint], terms: &Terms) -> Vec<WindowValue> {
        let value = |point: &&HistoryPoint| WindowValue {
            run_id: point.run_id,
            value: point.value,
            is_outlier: false,
        };
        let mut values: Vec<WindowValue> = newest_first.iter().map(value).collect();
        if terms.outliers == Outliers::Judge {
            let numbers: Vec<Value> = values.iter().map(|value| value.value).collect();
            let count = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            for index in outliers::find(&numbers, &terms.with_k(self.thresholds.k(count))) {
                values[index].is_outlier = true;
            }
        }
        values
    }

    /// A value against each window of `newest_first`.
    fn windows(
        &self,
        value: Value,
        terms: &Terms,
        newest_first: &[WindowValue],
    ) -> Vec<WindowJudgement> {
        let sizes = self.policy.windows.sizes.iter();
        sizes
            .filter_map(|&size| {
                let size_taken = usize::try_from(size).unwrap_or(usize::MAX);
                let taken = &newest_first[..newest_first.len().min(size_taken)];
                let compare = |numbers: Vec<Value>| {
                    let n = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                    let rule = terms.with_k(self.thresholds.k(n));
                    Comparison::new(value, &numbers, size, &rule)
                };
                let all = compare(taken.iter().map(|value| value.value).collect())?;
                let has_outlier = taken.iter().any(|value| value.is_outlier);
                let kept = taken.iter().filter(|value| !value.is_outlier);
                let kept = has_outlier.then(|| kept.map(|value| value.value).collect());
                Some(WindowJudgement {
                    all,
                    without_outliers: kept.and_then(compare),
                })
            })
            .collect()
    }

    fn finding(
        &self,
        metric: &Metric,
        terms: &Terms,
        baseline: &Baseline<'_>,
        windows: &[WindowJudgement],
        points: &[HistoryPoint],
    ) -> Finding {
        if terms.rule.ignore {
            return Finding::Skipped(Skip::Ignored);
        }
        if metric.wallclock && !self.gates_wallclock() {
            return Finding::Skipped(Skip::HostClass);
        }
        if terms.gating == Gating::Show {
            return Finding::Skipped(Skip::Shown);
        }
        let of_step = baseline.step.and_then(|step| step.min_runs);
        let needed = of_step.unwrap_or(self.policy.windows.min_runs);
        let runs = count(baseline.counted);
        if runs >= needed {
            return self.compared(terms, windows);
        }
        let Some(up_to) = self.up_to(baseline) else {
            let is_new =
                baseline.step.is_none() && self.series_runs >= needed && self.seen(points) < needed;
            return if is_new {
                Finding::New { runs, needed }
            } else {
                Finding::Insufficient { runs, needed }
            };
        };
        let young = YoungLevel {
            runs,
            needed,
            up_to,
        };
        if terms.worse.is_worse(metric.value, up_to) {
            Finding::BeyondStep(young)
        } else {
            Finding::Accepted(young)
        }
    }

    /// What the windows come to, with and without their outliers.
    fn compared(&self, terms: &Terms, windows: &[WindowJudgement]) -> Finding {
        let combined = self.policy.windows.combine;
        let all = combine(windows.iter().map(|window| &window.all), combined);
        let kept = windows
            .iter()
            .map(|window| window.without_outliers.as_ref().unwrap_or(&window.all));
        let kept = combine(kept, combined);
        let is_worse = |finding| finding == Finding::Regression;
        match (is_worse(all), is_worse(kept), terms.gating) {
            (false, false, _) => all,
            (_, _, Gating::Warn) => Finding::Warning,
            (true, true, _) => Finding::Regression,
            _ => Finding::Unsteady,
        }
    }

    /// How many runs the metric has, whatever host they ran on and whatever they ran with.
    fn seen(&self, points: &[HistoryPoint]) -> u32 {
        let counts = |point: &&HistoryPoint| {
            self.candidate.commit.as_ref() != Some(&point.commit)
                && self
                    .candidate
                    .base
                    .is_none_or(|base| point.position() <= base)
        };
        let runs: HashSet<i64> = points.iter().filter(counts).map(|p| p.run_id).collect();
        count(runs.len())
    }

    /// The last value that passes while the level after an accepted step is young.
    fn up_to(&self, baseline: &Baseline<'_>) -> Option<Value> {
        match baseline.step?.up_to? {
            UpTo::Value(value) => Some(value),
            UpTo::Change(change) => {
                let smallest = self.policy.windows.sizes.first().copied().unwrap_or(1);
                let before = baseline.comparable[baseline.since_step..].iter();
                let before: Vec<Decimal> = before
                    .take(usize::try_from(smallest).unwrap_or(1))
                    .map(|point| point.value.decimal())
                    .collect();
                let sum = before
                    .iter()
                    .try_fold(Decimal::ZERO, |sum, value| sum.checked_add(*value))?;
                let level = sum.checked_div(Decimal::from(before.len()))?;
                change.of(level)
            }
        }
    }

    /// What history has and the document has not; `None` where that is as it should be.
    fn gone(&self, metric: &'a MetricHistory) -> Option<MetricJudgement> {
        let terms = self.policy.terms(&metric.name);
        if terms.rule.ignore
            || terms.gating == Gating::Show
            || (metric.wallclock && !self.gates_wallclock())
        {
            return None;
        }
        let baseline = self.baseline(&metric.name, &metric.points, metric.wallclock);
        let runs = count(baseline.counted);
        (runs > 0).then(|| MetricJudgement {
            name: metric.name.clone(),
            candidate: None,
            finding: Finding::Missing { runs },
            windows: Vec::new(),
            values: self.values(&baseline.comparable[..baseline.counted], &terms),
            terms,
            step: baseline.step.cloned(),
            left_out: baseline.left_out,
        })
    }

    fn gates_wallclock(&self) -> bool {
        let classes = &self.policy.wallclock_host_classes;
        classes.contains(&self.candidate.host_class)
    }

    /// The values that can be compared, and which of them count.
    fn baseline(
        &self,
        name: &MetricName,
        points: &'a [HistoryPoint],
        wallclock: bool,
    ) -> Baseline<'a> {
        let mut newest_first: Vec<&HistoryPoint> = points.iter().collect();
        newest_first.sort_by_key(|point| Reverse(point.position()));
        newest_first.dedup_by_key(|point| point.run_id);
        let mut comparable = Vec::with_capacity(newest_first.len());
        let mut left_out = Vec::new();
        for point in newest_first {
            match self.reason_against(point, wallclock) {
                None => comparable.push(point),
                Some(why) => left_out.push(left_out_value(point, why)),
            }
        }
        let start = self.start(name);
        let is_new = |point: &&&HistoryPoint| {
            start.is_none_or(|(oldest, _)| Oldest::Run(point.position()) >= oldest)
        };
        let since_step = comparable.iter().take_while(is_new).count();
        let reach = comparable.len().min(self.largest());
        let before_step = &comparable[since_step.min(reach)..reach];
        left_out.extend(
            before_step
                .iter()
                .map(|point| left_out_value(point, LeftOut::BeforeStep)),
        );
        Baseline {
            counted: since_step.min(reach),
            since_step,
            step: start.map(|(_, step)| step).filter(|_| since_step < reach),
            comparable,
            left_out,
        }
    }

    /// Why a value cannot be compared with the candidate's; `None` where it can.
    fn reason_against(&self, point: &HistoryPoint, wallclock: bool) -> Option<LeftOut> {
        let candidate = self.candidate;
        if candidate.commit.as_ref() == Some(&point.commit) {
            return Some(LeftOut::OwnCommit);
        }
        if candidate.base.is_some_and(|base| point.position() > base) {
            return Some(LeftOut::NewerThanBase);
        }
        if wallclock && point.host_class != candidate.host_class {
            return Some(LeftOut::OtherHostClass(point.host_class.clone()));
        }
        let parameters = point.parameters.as_deref()?;
        let differ = other_parameters(parameters, &candidate.parameters);
        (!differ.is_empty()).then_some(LeftOut::OtherParameters(differ))
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

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn left_out_value(point: &HistoryPoint, why: LeftOut) -> LeftOutValue {
    LeftOutValue {
        run_id: point.run_id,
        value: point.value,
        why,
    }
}

fn combine<'c>(windows: impl Iterator<Item = &'c Comparison> + Clone, combine: Combine) -> Finding {
    let found = |level| match combine {
        Combine::Any => windows.clone().any(|window| window.level == level),
        Combine::All => windows.clone().all(|window| window.level == level),
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
