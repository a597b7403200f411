//! What a project has committed to hold its changes to.
//!
//! Of the rules that match a metric **the last one holds, and it alone**: nothing is merged between
//! rules, so that one table of `gate.toml` says all there is to say about a metric. The built-in
//! rules come first, so a project's own always win over them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::{Serialize, Serializer};

use super::metrics::{Gating, KnownMetric, STEADY_WAITS, Unit, known, known_metrics};
use super::pattern::Pattern;
use super::window::{Fraction, Multiple, Rule, SignedFraction, Worse};
use crate::domain::{
    Arch, Branch, CommitSha, Distro, HostClass, MetricName, Parameters, RunDate, Series, Value,
    Workload,
};

/// The most values that a window may take; what the service answers at most.
pub const MAX_WINDOW: u32 = 10_000;

/// Everything that `gate.toml` says.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The windows, and when they count.
    pub windows: Windows,
    /// The parameters of a document that may be judged; `None` asks for none.
    pub parameters: Option<Parameters>,
    /// The classes of hosts whose clocks are good enough to gate on.
    pub wallclock_host_classes: BTreeSet<HostClass>,
    /// The rules, the built-in ones first.
    pub rules: Vec<Arc<MetricRule>>,
    /// Steps that have been accepted.
    pub accepted: Vec<Arc<AcceptedStep>>,
    /// Metrics and workloads that had another name before.
    pub renamed: Vec<Arc<Rename>>,
}

/// The windows, and when they count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Windows {
    /// The sizes, each once, ascending; never none.
    pub sizes: Vec<u32>,
    /// The k of k·s.
    pub k: K,
    /// The share of builds without a change that may fail, where k is automatic.
    pub false_alarms: Fraction,
    /// What becomes of a value that does not belong to its window.
    pub outliers: Outliers,
    /// Fewer values than this are too few to judge.
    pub min_runs: u32,
    /// Whether one window is enough to fail, or all are needed.
    pub combine: Combine,
    /// What too few values come to.
    pub on_insufficient: OnInsufficient,
}

/// How many standard deviations are noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum K {
    /// This many.
    Fixed(Multiple),
    /// As many as keep the false alarms of a build below [`Windows::false_alarms`].
    Auto,
}

/// What becomes of a value that does not belong to its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outliers {
    /// The window is judged with it and without it, and the two must agree.
    Judge,
    /// The window is judged with it.
    Keep,
}

/// How the verdicts of several windows become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Combine {
    /// Worse in one window is worse.
    Any,
    /// Worse in every window is worse.
    All,
}

/// What too few values come to while the whole series has too few runs. A metric that is gone, or a
/// document of other parameters, is never passed by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnInsufficient {
    /// The gate could not judge.
    Fail,
    /// The metric counts as passed.
    Pass,
}

/// What a pattern's metrics are held to. What a rule leaves out is as the table of metrics has it.
#[derive(Clone, Debug)]
pub struct MetricRule {
    /// Which metrics, by `metric_key`.
    pub pattern: Pattern,
    /// Which of them, by `dim_key`; `None` for all.
    pub dim: Option<Pattern>,
    /// The least part of the mean that counts.
    pub floor: Fraction,
    /// The least difference that counts.
    pub floor_absolute: Option<Value>,
    /// Which direction is the bad one.
    pub worse: Option<Worse>,
    /// What a metric that got worse comes to.
    pub gating: Option<Gating>,
    /// What becomes of outliers.
    pub outliers: Option<Outliers>,
    /// Whether the metric is shown and not judged.
    pub ignore: bool,
    /// Where it stands.
    pub origin: RuleOrigin,
}

/// Where a rule stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleOrigin {
    /// In this program.
    BuiltIn,
    /// On this line of `gate.toml`.
    Line(usize),
}

/// What one metric is held to: its rule, with all that the rule leaves out.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The rule that holds.
    pub rule: Arc<MetricRule>,
    /// The least difference that counts.
    pub floor_absolute: Value,
    /// Which direction is the bad one.
    pub worse: Worse,
    /// What a worse value comes to.
    pub gating: Gating,
    /// What becomes of outliers.
    pub outliers: Outliers,
    /// What a value counts.
    pub unit: Unit,
}

/// A step in a metric that somebody has accepted: its windows start anew there.
#[derive(Clone, Debug)]
pub struct AcceptedStep {
    /// Which metrics, by `metric_key`; never none.
    pub patterns: Vec<Pattern>,
    /// In which series.
    pub series: SeriesFilter,
    /// The first run of the new level.
    pub since: Since,
    /// The reason.
    pub why: String,
    /// Who accepted it.
    pub by: String,
    /// Fewer values than this from the step on are too few; `None` for the general number.
    pub min_runs: Option<u32>,
    /// The last value that passes while there are too few values from the step on: of the change
    /// that makes the step, and of those after it. `None` lets none pass.
    pub up_to: Option<UpTo>,
    /// The line of `gate.toml`.
    pub line: usize,
}

/// The last value that passes after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpTo {
    /// This value.
    Value(Value),
    /// The level that a metric had before the step, changed by so much.
    Change(SignedFraction),
}

/// A metric or a workload that had another name before: its history goes on under the new one.
#[derive(Clone, Debug)]
pub struct Rename {
    /// What was renamed.
    pub what: Renamed,
    /// The first run under the new name; `None` for all runs that have it.
    pub since: Option<Since>,
    /// The line of `gate.toml`.
    pub line: usize,
}

/// The two names of a [`Rename`].
#[derive(Clone, Debug)]
pub enum Renamed {
    /// Metrics, by `metric_key`. A `*` stands for the same text in both names.
    Metric {
        /// The name before.
        from: Pattern,
        /// The name now.
        to: Pattern,
    },
    /// A workload.
    Workload {
        /// The name before.
        from: Workload,
        /// The name now.
        to: Workload,
    },
}

/// The first run of a new level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Since {
    /// That of this commit.
    Commit(CommitSha),
    /// The first on or after this date.
    Date(RunDate),
}

/// Some series; a part that is left out is any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesFilter {
    /// What was run.
    pub workload: Option<Workload>,
    /// The branch.
    pub branch: Option<Branch>,
    /// The architecture.
    pub arch: Option<Arch>,
    /// The distribution.
    pub distro: Option<Distro>,
}

/// The rules that hold where `gate.toml` has none: those of the table of metrics, and one for the
/// waits whose counts are steady.
static BUILT_IN: LazyLock<Vec<Arc<MetricRule>>> = LazyLock::new(|| {
    let known = known_metrics().iter().map(built_in);
    known.chain(steady_waits()).map(Arc::new).collect()
});

fn steady_waits() -> Option<MetricRule> {
    let key = Pattern::new("waits.count").ok()?;
    Some(MetricRule {
        dim: Some(Pattern::new(STEADY_WAITS).ok()?),
        floor: Fraction::percent(1),
        gating: Some(Gating::Fail),
        ..MetricRule::new(key, RuleOrigin::BuiltIn)
    })
}

fn built_in(known: &KnownMetric) -> MetricRule {
    MetricRule {
        floor: Fraction::percent(known.floor_percent),
        floor_absolute: Some(Value::from(known.floor_absolute)),
        worse: Some(known.worse),
        gating: Some(known.gating),
        ..MetricRule::new(known.pattern.clone(), RuleOrigin::BuiltIn)
    }
}

impl Default for Policy {
    /// What an empty `gate.toml` says.
    fn default() -> Self {
        Self {
            windows: Windows::default(),
            parameters: None,
            wallclock_host_classes: BTreeSet::new(),
            rules: BUILT_IN.clone(),
            accepted: Vec::new(),
            renamed: Vec::new(),
        }
    }
}

impl Default for Windows {
    fn default() -> Self {
        Self {
            sizes: vec![5, 20],
            k: K::Fixed(Multiple::THREE),
            false_alarms: Fraction::percent(1),
            outliers: Outliers::Judge,
            min_runs: 5,
            combine: Combine::Any,
            on_insufficient: OnInsufficient::Fail,
        }
    }
}

impl Policy {
    /// The rules that match a metric, in the order in which they stand. The last one holds.
    pub fn matching(&self, name: &MetricName) -> impl DoubleEndedIterator<Item = &Arc<MetricRule>> {
        self.rules.iter().filter(|rule| rule.matches(name))
    }

    /// The rule that holds for a metric.
    pub fn rule(&self, name: &MetricName) -> Arc<MetricRule> {
        self.matching(name).next_back().map_or_else(
            || Arc::new(MetricRule::new(Pattern::any(), RuleOrigin::BuiltIn)),
            Arc::clone,
        )
    }

    /// What a metric is held to.
    pub fn terms(&self, name: &MetricName) -> Terms {
        let rule = self.rule(name);
        let known = known(name.metric_key.as_str());
        // A rule for everything says nothing about one metric, such as that a maximum gates.
        let says_all = rule.pattern.is_any() && rule.dim.is_none();
        let unsaid = if says_all { known.gating } else { Gating::Fail };
        Terms {
            floor_absolute: rule
                .floor_absolute
                .unwrap_or_else(|| Value::from(known.floor_absolute)),
            worse: rule.worse.unwrap_or(known.worse),
            gating: rule.gating.unwrap_or(unsaid),
            outliers: rule.outliers.unwrap_or(self.windows.outliers),
            unit: known.unit,
            rule,
        }
    }

    /// The project's own rules that match none of these metrics.
    pub fn unmatched<'n>(
        &self,
        names: impl Iterator<Item = &'n MetricName> + Clone,
    ) -> Vec<Arc<MetricRule>> {
        let own = self
            .rules
            .iter()
            .filter(|rule| rule.origin != RuleOrigin::BuiltIn);
        own.filter(|rule| !names.clone().any(|name| rule.matches(name)))
            .cloned()
            .collect()
    }

    /// The accepted steps of a metric in a series.
    pub fn accepted_steps(
        &self,
        name: &MetricName,
        series: &Series,
    ) -> impl Iterator<Item = &'_ Arc<AcceptedStep>> {
        self.accepted
            .iter()
            .filter(move |step| step.applies_to(name, series))
    }
}

impl AcceptedStep {
    /// Whether this step is one of that metric in that series.
    pub fn applies_to(&self, name: &MetricName, series: &Series) -> bool {
        self.series.matches(series) && self.is_of(name)
    }

    /// Whether this step is one of that metric, in whatever series.
    pub fn is_of(&self, name: &MetricName) -> bool {
        let key = name.metric_key.as_str();
        self.patterns.iter().any(|pattern| pattern.matches(key))
    }
}

impl Windows {
    /// The largest window.
    pub fn largest(&self) -> u32 {
        self.sizes.iter().copied().max().unwrap_or_default()
    }
}

impl MetricRule {
    /// A rule that leaves everything as it is without one.
    pub fn new(pattern: Pattern, origin: RuleOrigin) -> Self {
        Self {
            pattern,
            dim: None,
            floor: Fraction::ZERO,
            floor_absolute: None,
            worse: None,
            gating: None,
            outliers: None,
            ignore: false,
            origin,
        }
    }

    /// Whether this rule speaks of a metric.
    pub fn matches(&self, name: &MetricName) -> bool {
        self.pattern.matches(name.metric_key.as_str())
            && self
                .dim
                .as_ref()
                .is_none_or(|dim| dim.matches(name.dim_key.as_str()))
    }
}

impl Terms {
    /// The numbers that a window is judged by.
    pub fn with_k(&self, k: Multiple) -> Rule {
        Rule {
            k,
            floor: self.rule.floor,
            floor_absolute: self.floor_absolute,
            worse: self.worse,
        }
    }
}

impl Rename {
    /// The name now of a metric that was called `key` before; `None` where it is another's.
    pub fn new_key(&self, key: &str) -> Option<String> {
        match &self.what {
            Renamed::Metric { from, to } => from.captured(key).and_then(|text| to.filled(text)),
            Renamed::Workload { .. } => None,
        }
    }
}

impl Serialize for K {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(k) => k.serialize(serializer),
            Self::Auto => serializer.serialize_str("auto"),
        }
    }
}

impl fmt::Display for K {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(k) => k.fmt(f),
            Self::Auto => f.write_str("k"),
        }
    }
}

impl SeriesFilter {
    fn matches(&self, series: &Series) -> bool {
        fn fits<T: PartialEq>(wanted: Option<&T>, found: &T) -> bool {
            wanted.is_none_or(|wanted| wanted == found)
        }
        fits(self.workload.as_ref(), &series.workload)
            && fits(self.branch.as_ref(), &series.branch)
            && fits(self.arch.as_ref(), &series.arch)
            && fits(self.distro.as_ref(), &series.distro)
    }
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit(sha) => write!(f, "commit {sha}"),
            Self::Date(date) => date.fmt(f),
        }
    }
}
