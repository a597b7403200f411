//! What is known of a series: the runs that a candidate is held against, and those that are left out.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::domain::{
    CommitSha, HostClass, MetricKey, MetricName, Parameters, Pipeline, Repo, RunDate, Series, Value,
};

use super::policy::{Policy, Since};

/// Where a run stands among others: its date, and its number among those of one date.
pub type Position = (RunDate, i64);

/// What is known of a series.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The values of live runs that were merged and succeeded, in any order.
    pub metrics: Vec<MetricHistory>,
    /// Runs of the series that are no part of it, in any order.
    pub left_out: Vec<LeftOutRun>,
    /// Other series that may have been meant, the nearest first; looked for where there is no run.
    pub nearby: Vec<Nearby>,
}

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
    /// What it ran with, where that is known.
    pub parameters: Option<Arc<Parameters>>,
    /// The number.
    pub value: Value,
}

/// A run that is left out as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutRun {
    /// The run.
    pub run_id: i64,
    /// Where it stands in history.
    pub run_date: RunDate,
    /// The commit.
    pub commit: CommitSha,
    /// Why it is left out.
    pub why: LeftOut,
}

/// Why a run, or a value of it, is in no window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Its workload did not run to its end.
    Failed,
    /// It was taken back.
    Voided,
    /// It is a reference run of this tag.
    Reference(String),
    /// It is of another repository.
    OtherRepo(Repo),
    /// Another pipeline uploaded it.
    OtherPipeline(Pipeline),
    /// It is of the commit that is judged.
    OwnCommit,
    /// It is newer than the commit that the change is based on.
    NewerThanBase,
    /// It was measured on hosts of another class.
    OtherHostClass(HostClass),
    /// It ran with other parameters: these differ.
    OtherParameters(Vec<String>),
    /// It is older than an accepted step.
    BeforeStep,
    /// It does not belong to its window; see `outliers`.
    Outlier,
}

/// A series that has runs, and that may have been meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearby {
    /// The series.
    pub series: Series,
    /// The repositories that its runs are of.
    pub repos: Vec<Repo>,
    /// What differs, and how, such as ``branch `Main` for `main` ``.
    pub differs: Vec<String>,
    /// Whether the difference looks like a slip: letters' case, another word for the same
    /// architecture, a typing error.
    pub is_slip: bool,
}

impl From<Vec<MetricHistory>> for History {
    fn from(metrics: Vec<MetricHistory>) -> Self {
        Self {
            metrics,
            ..Self::default()
        }
    }
}

impl HistoryPoint {
    /// Where its run stands.
    pub fn position(&self) -> Position {
        (self.run_date, self.run_id)
    }
}

impl History {
    /// The history under the names that metrics have now. The runs of a name count from the rename
    /// on, those of the name before it until then.
    pub(super) fn renamed(&self, policy: &Policy) -> Option<Vec<MetricHistory>> {
        let renames: Vec<_> = policy.renamed.iter().collect();
        if renames.is_empty() {
            return None;
        }
        let since: Vec<Option<Position>> = renames
            .iter()
            .map(|rename| rename.since.as_ref().and_then(|since| self.position(since)))
            .collect();
        let mut joined: BTreeMap<MetricName, MetricHistory> = BTreeMap::new();
        for metric in &self.metrics {
            let mut taken = metric.clone();
            for (rename, since) in renames.iter().zip(&since) {
                let key = taken.name.metric_key.as_str();
                if let Some(new) = rename.new_key(key).filter(|new| new != key)
                    && let Ok(new) = new.parse::<MetricKey>()
                {
                    taken.name.metric_key = new;
                    let is_before =
                        |point: &HistoryPoint| since.is_none_or(|since| point.position() < since);
                    taken.points.retain(is_before);
                }
            }
            match joined.get_mut(&taken.name) {
                Some(known) => known.points.extend(taken.points),
                None => {
                    joined.insert(taken.name.clone(), taken);
                }
            }
        }
        Some(joined.into_values().collect())
    }

    fn position(&self, since: &Since) -> Option<Position> {
        match since {
            Since::Date(date) => Some((*date, i64::MIN)),
            Since::Commit(sha) => self.position_of(sha),
        }
    }

    /// Where the newest run of a commit stands.
    pub fn position_of(&self, sha: &CommitSha) -> Option<Position> {
        let points = self.metrics.iter().flat_map(|metric| &metric.points);
        let of_commit = points.filter(|point| point.commit == *sha);
        of_commit.map(HistoryPoint::position).max()
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed => f.write_str("the run failed"),
            Self::Voided => f.write_str("the run was taken back"),
            Self::Reference(tag) => write!(f, "a reference run of tag {tag}"),
            Self::OtherRepo(repo) => write!(f, "another repository, {repo}"),
            Self::OtherPipeline(pipeline) => write!(f, "another pipeline, {pipeline}"),
            Self::OwnCommit => f.write_str("the commit that is judged"),
            Self::NewerThanBase => f.write_str("newer than the base of the change"),
            Self::OtherHostClass(class) => write!(f, "another class of hosts, {class}"),
            Self::OtherParameters(names) => write!(f, "other parameters: {}", names.join(", ")),
            Self::BeforeStep => f.write_str("before an accepted step"),
            Self::Outlier => f.write_str("an outlier"),
        }
    }
}
