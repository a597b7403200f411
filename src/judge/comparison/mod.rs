//! Two builds side by side: from the trials of a comparison to its verdict.
//!
//! One engine of statistics serves every stage. [`budget`] and [`randomization`] are the two rules,
//! and a [`Contract`] names one of them for each metric. [`evaluate()`] holds a [`Record`] to its
//! contract; the [`Verdict`] that comes of it says all that a report shows.
//!
//! - [`contract`]: what is run, what must come out right, and what may change
//! - [`record`]: every trial of both sides, and where they were run
//! - [`verdict`]: what it comes to, with every number and a reason in one sentence
//! - [`calibration`]: budgets for a contract, from two sides that are the same build
//! - [`sample`]: the median of one side, and how far its trials lie apart
//! - [`budget`]: the change of the medians against a floor and the spread
//! - [`randomization`]: the difference of the medians against what chance would give
//! - [`ranks`]: two more tests, for a reader who doubts; they decide nothing
//! - [`schema`]: the JSON schemas of a record and a verdict

pub mod budget;
pub mod calibration;
pub mod contract;
mod evaluate;
mod quantity;
pub mod randomization;
pub mod ranks;
pub mod record;
pub mod sample;
pub mod schema;
pub mod verdict;
mod words;

pub use contract::{Cell, CellName, Contract, Sha};
pub use evaluate::evaluate;
pub use quantity::Quantity;
pub use record::{Record, SideName, Trial};
pub use verdict::Verdict;
