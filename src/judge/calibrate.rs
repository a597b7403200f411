//! The floors that a history asks for: as wide as the largest change that turned out to be nothing.
//!
//! A change of a run against the median of the runs before it was harmless where the next run came
//! back by more than half of it. Where the next run stayed, it was a step; where the value does not
//! belong to those around it, it was a wrong run. Neither says anything about noise.

use std::collections::BTreeMap;

use super::history::{History, HistoryPoint};
use super::metrics::Gating;
use super::outliers;
use super::policy::Policy;
use super::spread::Spread;
use super::window::{Multiple, Worse};
use crate::domain::{CommitSha, MetricKey, MetricName, RunDate, Value};

/// So many runs before a run say what its level was.
const BEFORE: usize = 5;
/// So many runs around a run say whether it belongs to them.
const AROUND: usize = 10;
/// A smaller change in percent is no wrong run, however far it lies from the others: a count that is
/// otherwise exact has no noise to tell it by.
const WRONG: f64 = 25.0;
/// Fewer runs than this say nothing about a metric.
pub const FEWEST_RUNS: usize = 6;
/// What a person would write for a floor, in percent.
const FLOORS: [f64; 22] = [
    0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.5, 10.0, 15.0,
    20.0, 30.0, 50.0, 100.0,
];

/// The floor that a metric asks for, whatever its dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Which metric.
    pub metric_key: MetricKey,
    /// In percent.
    pub floor: f64,
    /// How many runs say so.
    pub runs: usize,
    /// The largest change in percent that turned out to be nothing.
    pub harmless: f64,
    /// The run that made it.
    pub run: Option<(CommitSha, RunDate)>,
    /// How far the passes of one commit lie apart, in percent; `None` where there are none.
    pub passes: Option<f64>,
    /// Whether it is read off a clock.
    pub wallclock: bool,
}

/// The floors that the metrics of `history` ask for, and those of `passes`: several documents of one
/// commit, by metric.
pub fn calibrate(
    policy: &Policy,
    history: &History,
    passes: &BTreeMap<MetricName, Vec<Value>>,
) -> Vec<Proposal> {
    let mut proposals: BTreeMap<MetricKey, Proposal> = BTreeMap::new();
    for metric in &history.metrics {
        let terms = policy.terms(&metric.name);
        if terms.rule.ignore || terms.gating == Gating::Show {
            continue;
        }
        let mut points: Vec<&HistoryPoint> = metric.points.iter().collect();
        points.sort_by_key(|point| point.position());
        points.dedup_by_key(|point| point.run_id);
        if metric.wallclock
            && let Some(class) = points.last().map(|p| p.host_class.clone())
        {
            points.retain(|point| point.host_class == class);
        }
        if points.len() < FEWEST_RUNS {
            continue;
        }
        let found = largest_harmless(&points, &terms.with_k(Multiple::THREE), terms.worse);
        let passes = passes.get(&metric.name);
        let passes = passes.and_then(|values| Spread::of(values.clone())?.percent());
        let proposal = Proposal {
            metric_key: metric.name.metric_key.clone(),
            floor: 0.0,
            runs: points.len(),
            harmless: found.map_or(0.0, |(change, _)| change),
            run: found.map(|(_, point)| (point.commit.clone(), point.run_date)),
            passes,
            wallclock: metric.wallclock,
        };
        match proposals.get_mut(&proposal.metric_key) {
            Some(known) => known.join(proposal),
            None => {
                proposals.insert(proposal.metric_key.clone(), proposal);
            }
        }
    }
    let mut proposals: Vec<Proposal> = proposals.into_values().collect();
    for proposal in &mut proposals {
        proposal.floor = rounded_up(proposal.harmless.max(proposal.passes.unwrap_or(0.0)));
    }
    proposals
}

impl Proposal {
    /// Takes what another dimension of the metric says.
    fn join(&mut self, other: Self) {
        self.runs = self.runs.max(other.runs);
        if other.harmless > self.harmless {
            self.harmless = other.harmless;
            self.run = other.run;
        }
        self.passes = match (self.passes, other.passes) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
    }
}

/// The largest change in the worse direction, in percent, that the next run took back.
fn largest_harmless<'p>(
    oldest_first: &[&'p HistoryPoint],
    rule: &super::window::Rule,
    worse: Worse,
) -> Option<(f64, &'p HistoryPoint)> {
    let values: Vec<f64> = oldest_first.iter().map(|p| p.value.to_f64()).collect();
    let change = |index: usize, level: f64| {
        let change = (values[index] - level) / level.abs() * 100.0;
        match worse {
            Worse::Higher => change,
            Worse::Lower => -change,
        }
    };
    let harmless = (1..values.len().saturating_sub(1)).filter_map(|index| {
        let before = &values[index.saturating_sub(BEFORE)..index];
        let level = median(before.to_vec());
        let (now, next) = (change(index, level), change(index + 1, level));
        let counts = level != 0.0 && now > 0.0 && next <= now / 2.0;
        let is_wrong = now > WRONG && is_outlier(oldest_first, index, rule);
        (counts && !is_wrong).then_some((now, oldest_first[index]))
    });
    harmless.max_by(|(one, _), (other, _)| one.total_cmp(other))
}

fn is_outlier(oldest_first: &[&HistoryPoint], index: usize, rule: &super::window::Rule) -> bool {
    let start = index.saturating_sub(AROUND);
    let end = (index + AROUND).min(oldest_first.len());
    let around = oldest_first[start..end].iter().rev();
    let newest_first: Vec<Value> = around.map(|point| point.value).collect();
    outliers::find(&newest_first, rule).contains(&(end - 1 - index))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        (values[middle - 1] + values[middle]) / 2.0
    }
}

/// The next floor that a person would write.
fn rounded_up(percent: f64) -> f64 {
    let floor = FLOORS.iter().copied().find(|floor| *floor >= percent);
    floor
        .unwrap_or_else(|| (percent / 100.0).ceil() * 100.0)
        .min(1000.0)
}

#[cfg(test)]
mod tests {
    use super::super::history::MetricHistory;
    use super::*;
    use crate::domain::DimKey;

    fn proposals(oldest_first: &[&str]) -> Vec<Proposal> {
        let name = MetricName {
            metric_key: "callgrind.ir".parse().unwrap(),
            dim_key: DimKey::scalar(),
        };
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
        let history = History::from(vec![MetricHistory {
            name: name.clone(),
            wallclock: false,
            points: oldest_first.iter().enumerate().map(point).collect(),
        }]);
        let passes =
            BTreeMap::from([(name, vec!["100".parse().unwrap(), "100.3".parse().unwrap()])]);
        calibrate(&Policy::default(), &history, &passes)
    }

    #[test]
    fn the_floor_is_the_largest_change_that_came_back() {
        let quiet = ["100", "100.4", "100", "101.2", "100", "100.3", "100"];
        let found = proposals(&quiet);
        assert_eq!(found.len(), 1);
        assert!((found[0].harmless - 1.2).abs() < 1e-9, "{found:?}");
        assert_eq!((found[0].floor, found[0].runs), (1.5, 7));
        assert!((found[0].passes.unwrap() - 0.3).abs() < 1e-9);
    }

    #[test]
    fn a_step_and_a_wrong_run_are_no_noise() {
        let step = [["100"; 8].as_slice(), &["120"; 8]].concat();
        assert_eq!(proposals(&step)[0].harmless, 0.0);
        // The passes of one commit differ by 0.3 %.
        assert_eq!(proposals(&step)[0].floor, 0.3);
        let mut wrong = vec!["100"; 16];
        wrong[8] = "1000";
        assert_eq!(proposals(&wrong)[0].harmless, 0.0);
    }

    #[test]
    fn few_runs_say_nothing() {
        assert!(proposals(&["100"; 5]).is_empty());
    }
}
