//! Two builds side by side: from the trials of a comparison to its verdict.
//!
//! One engine of statistics serves every stage. [`budget`] and [`randomization`] are the two rules,
//! and a contract names one of them for each metric.
//!
//! - [`sample`]: the median of one side, and how far its trials lie apart
//! - [`budget`]: the change of the medians against a floor and the spread
//! - [`randomization`]: the difference of the medians against what chance would give
//! - [`ranks`]: two more tests, for a reader who doubts; they decide nothing

pub mod budget;
pub mod randomization;
pub mod ranks;
pub mod sample;
