//! The wire types of the HTTP contract: what requests and answers hold.
//!
//! The service, the client and the reports share them, so a field is written down once. The JSON
//! schema of a name, a date or a value stands on its type in [`crate::domain`].

mod conflict;
mod history;
mod problem;
mod run;
mod series;
mod void;

pub use conflict::{
    ConflictBody, ConflictProblem, FieldDifferenceBody, MeasuredBody, MetricDifferenceBody,
};
pub use history::{HistoryAnswer, MetricPoints, PointBody};
pub(crate) use problem::NO_ROUTE;
pub use problem::{ProblemBody, Slug};
pub use run::{
    MetricBody, RecordAnswer, RecordOutcome, RunBody, RunUpload, RunsAnswer, VoidedBody, WholeRun,
};
pub use series::{SeriesAnswer, SeriesBody, SeriesMetricBody};
pub use void::{VoidAnswer, VoidConflictProblem, VoidOutcome, VoidRequest};

// The derive macros of utoipa take every type that is called `Value` for any JSON.
use crate::domain::Value as MetricValue;

/// Points of a window or runs of a page where a request names no limit: the longer of the two
/// windows that a gate takes.
pub const DEFAULT_LIMIT: usize = 20;
/// The most points of a window or runs of a page.
pub const MAX_LIMIT: usize = 10_000;
