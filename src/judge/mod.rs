//! From numbers to a verdict. Pure and total: no I/O, no printing, no panic, no clock.
//!
//! [`Policy`] is what a project has committed in its `gate.toml`; [`judge`] holds a candidate to it.
//! What decides is computed in integers, from the decimals as they are stored: no rounding can turn
//! a value on the limit into one above it, and a number that is none (`NaN`) cannot come up. Floats
//! are made of the outcome alone, for people to read.
//!
//! - [`moments`]: mean and sample standard deviation, exact
//! - [`window`]: one candidate against its newest values
//! - [`metrics`]: what is known of the metrics that the readers make
//! - [`past`]: the history of one metric, one point for each commit
//! - [`policy`]: which rule holds for which metric, and what has been accepted
//! - [`bisection`]: the search for the first commit of a new level
//! - [`changes`]: the runs from which on the level of a metric is another one
//! - [`config`]: a policy out of `gate.toml`, with line and column for each fault
//! - [`lint`]: what in a policy has no effect
//! - [`spread`]: how far the passes of one measurement lie apart
//! - [`history`]: the runs that a candidate is held against, and those that are left out
//! - [`drift`]: a level that keeps moving, a little with each run
//! - [`finding`]: what can be found of a candidate, and what it comes to
//! - [`gate`]: all metrics of a document, and those that it lacks
//! - [`accept`]: the entry of `gate.toml` that accepts what was found
//! - [`replay`]: the runs of a history, each judged as the gate would have
//! - [`calibrate`]: the floors that a history asks for
//! - [`comparison`]: two builds side by side, from trials in floats, under a contract of its own
//!
//! `outliers` finds the values that do not belong to a window, and `thresholds` the k of `k = "auto"`.

pub mod accept;
pub mod bisection;
pub mod calibrate;
pub mod changes;
pub mod comparison;
pub mod config;
pub mod drift;
pub mod finding;
pub mod gate;
pub mod history;
pub mod lint;
pub mod metrics;
pub mod moments;
mod outliers;
pub mod past;
pub mod pattern;
pub mod policy;
pub mod replay;
pub mod spread;
mod thresholds;
pub mod window;

pub use finding::{
    Conclusion, Finding, Judgement, LeftOutValue, MetricJudgement, Obstacle, RunLabel, Skip,
    Status, WindowJudgement, WindowValue, YoungLevel,
};
pub use gate::{Candidate, judge, obstacles};
pub use history::{History, HistoryPoint, LeftOut, LeftOutRun, MetricHistory, Nearby, Position};
pub use metrics::{Gating, Unit};
pub use pattern::Pattern;
pub use policy::{
    AcceptedStep, Combine, K, MetricRule, OnInsufficient, Outliers, Policy, Rename, Renamed,
    RuleOrigin, SeriesFilter, Since, Terms, UpTo, Windows,
};
pub use window::{Comparison, Fraction, Level, Multiple, Rule, SignedFraction, Term, Worse};
