//! What can be found of a candidate, and what it comes to.

use std::sync::Arc;

use serde::Serialize;

use super::policy::{AcceptedStep, MetricRule, OnInsufficient, Windows};
use super::window::Comparison;
use crate::domain::{MetricName, Parameter, ParameterName, Value};

/// What has been found of a candidate.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// What keeps the document as a whole from being judged; then there are no metrics.
    pub obstacles: Vec<Obstacle>,
    /// Every metric of the document and every one that it lacks, ordered by name.
    pub metrics: Vec<MetricJudgement>,
    /// Accepted steps at a commit that no run of the history has, so that they change nothing.
    pub unknown_steps: Vec<Arc<AcceptedStep>>,
    /// The windows that were taken.
    pub windows: Windows,
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
    pub comparisons: Vec<Comparison>,
    /// The rule that holds.
    pub rule: Arc<MetricRule>,
    /// The accepted step at which the windows start, where one cut them.
    pub step: Option<Arc<AcceptedStep>>,
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
    /// Too few values.
    Insufficient {
        /// How many there are.
        runs: u32,
        /// How many are needed.
        needed: u32,
    },
    /// History has it and the document does not.
    Missing {
        /// How many values history has.
        runs: u32,
    },
    /// No worse than the value up to which a step is accepted, of whose level there are too few
    /// values. The comparisons are with windows that no step cuts.
    Accepted(YoungLevel),
    /// Worse than that value. The comparisons are as there.
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
}

/// A finding without its numbers, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Worse by more than noise.
    Regression,
    /// Gone.
    Missing,
    /// Too few values.
    Insufficient,
    /// Within a step that somebody has accepted.
    Accepted,
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
            Self::Insufficient { .. } => Status::Insufficient,
            Self::Missing { .. } => Status::Missing,
            Self::Accepted(_) => Status::Accepted,
            Self::Skipped(_) => Status::Skipped,
        }
    }
}

impl Judgement {
    /// What it all comes to. A regression outweighs what could not be judged.
    pub fn conclusion(&self) -> Conclusion {
        let has = |status| self.metrics.iter().any(|m| m.finding.status() == status);
        let tolerant = self.windows.on_insufficient == OnInsufficient::Pass;
        if has(Status::Regression) {
            Conclusion::Regression
        } else if !self.obstacles.is_empty()
            || has(Status::Missing)
            || (has(Status::Insufficient) && !tolerant)
        {
            Conclusion::Undecided
        } else {
            Conclusion::Passed
        }
    }
}
