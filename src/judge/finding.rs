//! What can be found of a candidate, and what it comes to.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::history::{LeftOut, LeftOutRun, Nearby};
use super::policy::{AcceptedStep, MetricRule, OnInsufficient, RuleOrigin, Terms, Windows};
use super::window::Comparison;
use crate::domain::{CommitSha, HostClass, MetricName, Parameter, ParameterName, RunDate, Value};

/// What has been found of a candidate.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// What keeps the document as a whole from being judged; then there are no metrics.
    pub obstacles: Vec<Obstacle>,
    /// Every metric of the document and every one that it lacks, ordered by name.
    pub metrics: Vec<MetricJudgement>,
    /// Accepted steps at a commit that no run of the history has, so that they change nothing.
    pub unknown_steps: Vec<Arc<AcceptedStep>>,
    /// Rules of the project that match no metric of the document or the history.
    pub unmatched_rules: Vec<Arc<MetricRule>>,
    /// The windows that were taken.
    pub windows: Windows,
    /// Where the document was measured.
    pub host_class: HostClass,
    /// How many runs of the series could be compared at all.
    pub series_runs: u32,
    /// The runs that values are of.
    pub runs: BTreeMap<i64, RunLabel>,
    /// Runs that are left out as a whole, the newest first.
    pub left_out: Vec<LeftOutRun>,
    /// Other series that may have been meant, where this one has no runs.
    pub nearby: Vec<Nearby>,
}

/// A run, as people know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLabel {
    /// Where it stands in history.
    pub run_date: RunDate,
    /// The commit.
    pub commit: CommitSha,
}

/// What keeps a document from being judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The measurement failed.
    NotSucceeded,
    /// There is nothing in it.
    NoMetrics,
    /// A parameter is not the one that the policy names. `None` where there is none.
    OtherParameter {
        /// Its name.
        name: ParameterName,
        /// What the policy names.
        wanted: Option<Parameter>,
        /// What the document has.
        found: Option<Parameter>,
    },
}

/// What has been found of one metric.
#[derive(Clone, Debug)]
pub struct MetricJudgement {
    /// Its name.
    pub name: MetricName,
    /// What the document has; `None` where the metric is gone.
    pub candidate: Option<Value>,
    /// What was found.
    pub finding: Finding,
    /// The candidate against each window, ascending by size; none without a history.
    pub windows: Vec<WindowJudgement>,
    /// What it is held to.
    pub terms: Terms,
    /// The accepted step at which the windows start, where one cut them.
    pub step: Option<Arc<AcceptedStep>>,
    /// The values of the largest window, newest first; a smaller window takes the first of them.
    pub values: Vec<WindowValue>,
    /// The values that are in no window, newest first.
    pub left_out: Vec<LeftOutValue>,
}

/// A candidate against one window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowJudgement {
    /// Against all its values.
    #[serde(flatten)]
    pub all: Comparison,
    /// Against those that are no outliers, where the window has outliers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_outliers: Option<Comparison>,
}

/// A value in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WindowValue {
    /// Its run.
    pub run_id: i64,
    /// The number.
    pub value: Value,
    /// Whether it does not belong to the others.
    #[serde(rename = "outlier", skip_serializing_if = "std::ops::Not::not")]
    pub is_outlier: bool,
}

/// A value that is in no window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutValue {
    /// Its run.
    pub run_id: i64,
    /// The number.
    pub value: Value,
    /// Why it is left out.
    pub why: LeftOut,
}

/// What was found of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// No further from the mean than noise.
    Pass,
    /// Better by more than noise.
    Improved,
    /// Worse by more than noise.
    Regression,
    /// Worse by more than noise, in a metric that warns and does not gate.
    Warning,
    /// Worse by more than noise with the outliers of a window or without them, and not both.
    Unsteady,
    /// Too few values.
    Insufficient {
        /// How many there are.
        runs: u32,
        /// How many are needed.
        needed: u32,
    },
    /// The series has runs enough, and this metric has come to it lately.
    New {
        /// How many values there are.
        runs: u32,
        /// How many are needed.
        needed: u32,
    },
    /// History has it and the document does not.
    Missing {
        /// How many values history has.
        runs: u32,
    },
    /// No worse than the value up to which a step is accepted; the new level has too few values to
    /// judge by. The windows are those that no step cuts.
    Accepted(YoungLevel),
    /// Worse than that value. The windows are as there.
    BeyondStep(YoungLevel),
    /// Not judged.
    Skipped(Skip),
}

/// The level after an accepted step that has too few values to judge by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YoungLevel {
    /// How many there are.
    pub runs: u32,
    /// How many are needed.
    pub needed: u32,
    /// What a candidate is held to until then.
    pub up_to: Value,
}

/// Why a metric is not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Its rule says so.
    Ignored,
    /// Its numbers were read off a clock, on hosts of a class that the policy does not name.
    HostClass,
    /// It is one that is shown: a maximum, a counter of the user's, or what a rule shows.
    Shown,
}

/// A finding without its numbers, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Worse by more than noise.
    Regression,
    /// Gone.
    Missing,
    /// Worse or not, as an outlier counts or not.
    Unsteady,
    /// Too few values.
    Insufficient,
    /// Worse by more than noise, and no reason to fail.
    Warning,
    /// Within a step that somebody has accepted.
    Accepted,
    /// New in a series that has runs.
    New,
    /// Better by more than noise.
    Improved,
    /// No further from the mean than noise.
    Pass,
    /// Not judged.
    Skipped,
}

/// What a judgement comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Conclusion {
    /// Nothing got worse.
    Passed,
    /// Something got worse.
    Regression,
    /// Nothing is known to have got worse, and not everything could be judged.
    Undecided,
}

impl Finding {
    /// The finding without its numbers.
    pub fn status(self) -> Status {
        match self {
            Self::Pass => Status::Pass,
            Self::Improved => Status::Improved,
            Self::Regression | Self::BeyondStep(_) => Status::Regression,
            Self::Warning => Status::Warning,
            Self::Unsteady => Status::Unsteady,
            Self::Insufficient { .. } => Status::Insufficient,
            Self::New { .. } => Status::New,
            Self::Missing { .. } => Status::Missing,
            Self::Accepted(_) => Status::Accepted,
            Self::Skipped(_) => Status::Skipped,
        }
    }
}

impl Status {
    /// Whether a metric of this status was compared with its history.
    pub fn is_judged(self) -> bool {
        match self {
            Self::Regression | Self::Warning | Self::Accepted | Self::Improved | Self::Pass => true,
            Self::Missing | Self::Unsteady | Self::Insufficient | Self::New | Self::Skipped => {
                false
            }
        }
    }
}

impl MetricJudgement {
    /// Whether the metric is not judged, and no rule of the project says that it should not be.
    fn is_skipped_unasked(&self) -> bool {
        match self.finding {
            Finding::Skipped(Skip::HostClass) => true,
            Finding::Skipped(Skip::Shown) => self.terms.rule.origin == RuleOrigin::BuiltIn,
            _ => false,
        }
    }

    /// The values that do not belong to their window, newest first.
    pub fn outliers(&self) -> impl Iterator<Item = &WindowValue> {
        self.values.iter().filter(|value| value.is_outlier)
    }
}

impl Judgement {
    /// What it all comes to. A regression outweighs what could not be judged.
    pub fn conclusion(&self) -> Conclusion {
        let has = |status| self.metrics.iter().any(|m| m.finding.status() == status);
        if has(Status::Regression) {
            Conclusion::Regression
        } else if !self.obstacles.is_empty()
            || has(Status::Missing)
            || has(Status::Unsteady)
            || (has(Status::Insufficient) && !self.tolerates_insufficient())
            || self.is_blind()
        {
            Conclusion::Undecided
        } else {
            Conclusion::Passed
        }
    }

    /// How many metrics were compared with their history.
    pub fn judged(&self) -> usize {
        let statuses = self.metrics.iter().map(|metric| metric.finding.status());
        statuses.filter(|status| status.is_judged()).count()
    }

    /// Whether metrics with too few values pass: the policy says so, and the whole series is young.
    /// A series without runs beside one that was perhaps meant is not young.
    pub fn tolerates_insufficient(&self) -> bool {
        let is_young = self.series_runs < self.windows.min_runs;
        let is_slip = self.nearby.iter().any(|nearby| nearby.is_slip);
        self.windows.on_insufficient == OnInsufficient::Pass && is_young && !is_slip
    }

    /// Whether no metric can ever be judged, though no rule of the project says so.
    pub fn is_blind(&self) -> bool {
        let mut metrics = self.metrics.iter();
        metrics.all(|metric| metric.finding.status() == Status::Skipped)
            && self.metrics.iter().any(MetricJudgement::is_skipped_unasked)
    }
}
