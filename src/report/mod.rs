//! A judgement as text, Markdown, JSON, JUnit and OpenMetrics, and a history as a table and CSV; how
//! far passes differ, as a table.
//! Decides nothing.
//!
//! [`Verdict`] is a judgement as every form tells it: ordered, the worst first, counted, and in
//! words, computed once.

pub(crate) mod changes;
pub mod comparison;
pub(crate) mod conflict;
pub(crate) mod drift;
mod explained;
pub(crate) mod find;
pub(crate) mod history;
mod json;
mod junit;
mod markdown;
pub(crate) mod number;
mod openmetrics;
mod past;
pub(crate) mod runs;
mod sparkline;
mod spread;
mod text;
mod verdict;
mod words;
mod wrap;

pub use json::{json, json_of_nothing};
pub use junit::{junit, junit_of_nothing};
pub use markdown::{MARKDOWN_LIMIT, markdown, markdown_of_nothing};
pub(crate) use openmetrics::label_text;
pub use openmetrics::openmetrics;
pub use past::{Calibration, proposed_rules, replay};
pub use spread::spread;
pub use text::{TextForm, text};
pub use verdict::{About, Verdict};
pub use words::{NothingMeasured, explain, series_line};
