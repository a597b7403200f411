//! What a project has committed to hold its changes to.
//!
//! Of the rules that match a metric **the last one holds, and it alone**: nothing is merged between
//! rules, so that one table of `gate.toml` says all there is to say about a metric. The built-in
//! rules come first, so a project's own always win over them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, LazyLock};

use globset::{GlobBuilder, GlobMatcher};
use serde::Serialize;

use super::window::{Fraction, Multiple, Rule, Worse};
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
}

/// The windows, and when they count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Windows {
    /// The sizes, each once, ascending; never none.
    pub sizes: Vec<u32>,
    /// The k of k·s.
    pub k: Multiple,
    /// Fewer values than this are too few to judge.
    pub min_runs: u32,
    /// Whether one window is enough to fail, or all are needed.
    pub combine: Combine,
    /// What too few values come to.
    pub on_insufficient: OnInsufficient,
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

/// What too few values come to. A metric that is gone, or a document of other parameters, is never
/// passed by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnInsufficient {
    /// The gate could not judge.
    Fail,
    /// The metric counts as passed.
    Pass,
}

/// What a pattern's metrics are held to.
#[derive(Clone, Debug)]
pub struct MetricRule {
    /// Which metrics, by `metric_key`.
    pub pattern: Pattern,
    /// Which of them, by `dim_key`; `None` for all.
    pub dim: Option<Pattern>,
    /// The least part of the mean that counts.
    pub floor: Fraction,
    /// The least difference that counts.
    pub floor_absolute: Value,
    /// Which direction is the bad one.
    pub worse: Worse,
    /// Whether the metric is shown and not judged.
    pub ignore: bool,
    /// Where it stands.
    pub place: Place,
}

/// Where a rule stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this program.
    BuiltIn,
    /// On this line of `gate.toml`.
    Line(usize),
}

/// A step in a metric that somebody has accepted: its windows start anew there.
#[derive(Clone, Debug)]
pub struct AcceptedStep {
    /// Which metrics, by `metric_key`.
    pub pattern: Pattern,
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
    pub up_to: Option<Value>,
    /// The line of `gate.toml`.
    pub line: usize,
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

/// A glob over names: `*` any characters, `?` one, `[ab]` one of these, `{a,b}` either.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    /// `None` of `*`, which matches everything.
    matcher: Option<GlobMatcher>,
}

/// The rules that hold where `gate.toml` has none: pattern and floor in percent. Callgrind counts
/// every thread, and background work varies; atomics vary more; what the cycles are estimated from
/// besides moves with the layout of the code; sizes are exact to the bit.
const BUILT_IN_RULES: [(&str, u16); 6] = [
    ("callgrind.ir", 3),
    ("callgrind.estimated_cycles", 3),
    ("callgrind.{l1_misses,llc_misses,branch_mispredicts}", 5),
    ("callgrind.global_bus_events", 5),
    ("massif.peak_heap_bytes", 1),
    ("size.*", 0),
];

static BUILT_IN: LazyLock<Vec<Arc<MetricRule>>> = LazyLock::new(|| {
    let every_metric = ("*", 0);
    std::iter::once(every_metric)
        .chain(BUILT_IN_RULES)
        .map(|(pattern, floor)| {
            let pattern = Pattern::new(pattern).expect("a built-in pattern is one");
            Arc::new(MetricRule {
                floor: Fraction::percent(floor),
                ..MetricRule::new(pattern, Place::BuiltIn)
            })
        })
        .collect()
});

impl Default for Policy {
    /// What an empty `gate.toml` says.
    fn default() -> Self {
        Self {
            windows: Windows::default(),
            parameters: None,
            wallclock_host_classes: BTreeSet::new(),
            rules: BUILT_IN.clone(),
            accepted: Vec::new(),
        }
    }
}

impl Default for Windows {
    fn default() -> Self {
        Self {
            sizes: vec![5, 20],
            k: Multiple::THREE,
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
            || Arc::new(MetricRule::new(Pattern::any(), Place::BuiltIn)),
            Arc::clone,
        )
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
        self.series.matches(series) && self.pattern.matches(name.metric_key.as_str())
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
    pub fn new(pattern: Pattern, place: Place) -> Self {
        Self {
            pattern,
            dim: None,
            floor: Fraction::ZERO,
            floor_absolute: Value::ZERO,
            worse: Worse::Higher,
            ignore: false,
            place,
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

    /// The numbers of the rule.
    pub fn with_k(&self, k: Multiple) -> Rule {
        Rule {
            k,
            floor: self.floor,
            floor_absolute: self.floor_absolute,
            worse: self.worse,
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

impl Pattern {
    /// The pattern that `text` spells.
    ///
    /// # Errors
    /// Why it is none.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("must not be empty; `*` matches everything".to_owned());
        }
        if text.chars().any(char::is_control) {
            return Err("must not hold control characters, which no name does".to_owned());
        }
        if text == "*" {
            return Ok(Self::any());
        }
        let glob = GlobBuilder::new(text)
            .build()
            .map_err(|error| format!("is no pattern: {}", error.kind()))?;
        Ok(Self {
            text: text.to_owned(),
            matcher: Some(glob.compile_matcher()),
        })
    }

    fn any() -> Self {
        Self {
            text: "*".to_owned(),
            matcher: None,
        }
    }

    /// Whether `name` fits. A name that is spelled as the pattern is fits, even with brackets in it.
    pub fn matches(&self, name: &str) -> bool {
        self.text == name || self.matcher.as_ref().is_none_or(|glob| glob.is_match(name))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
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
