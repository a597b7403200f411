//! From numbers to a verdict. Pure and total: no I/O, no printing, no panic, no clock.
//!
//! [`Policy`] is what a project has committed in its `gate.toml`; [`judge`] holds a candidate to it.
//! What decides is computed in integers, from the decimals as they are stored: no rounding can turn
//! a value on the limit into one above it, and a number that is none (`NaN`) cannot come up. Floats
//! are made of the outcome alone, for people to read.
//!
//! - [`moments`]: mean and sample standard deviation, exact
//! - [`window`]: one candidate against its newest values
//! - [`policy`]: which rule holds for which metric, and what has been accepted
//! - [`changes`]: the runs from which on the level of a metric is another one
//! - [`config`]: a policy out of `gate.toml`, with line and column for each fault
//! - [`spread`]: how far the passes of one measurement lie apart
//! - [`finding`]: what can be found of a candidate, and what it comes to
//! - [`gate`]: all metrics of a document, and those that it lacks
//! - [`comparison`]: two builds side by side, from trials in floats, under a contract of its own

pub mod changes;
pub mod comparison;
pub mod config;
pub mod finding;
pub mod gate;
pub mod moments;
pub mod policy;
pub mod spread;
pub mod window;

pub use finding::{
    Conclusion, Finding, Judgement, MetricJudgement, Obstacle, Skip, Status, YoungLevel,
};
pub use gate::{Candidate, History, HistoryPoint, MetricHistory, judge, obstacles};
pub use policy::{
    AcceptedStep, Combine, MetricRule, OnInsufficient, Pattern, Place, Policy, SeriesFilter, Since,
    Windows,
};
pub use window::{Comparison, Fraction, Level, Multiple, Rule, Term, Worse};
