//! The words of the project as types. Pure: nothing here waits, opens or prints.
//!
//! Every type is parsed once, at an edge, and is valid ever after: a [`Run`] that exists can be
//! stored, a [`Series`] that exists can be asked for. What does not fit is told as a list of
//! [`Faults`], each with the place it was found at, so that one answer names them all.

mod commit;
mod document;
mod exact;
mod metric;
mod metrics;
mod moment;
mod name;
mod run;
mod run_date;
mod schema;
mod scope;
mod series;
mod text;
mod upload;
mod value;

pub use crate::read::{Fault, Faults, JsonText};
pub use commit::CommitSha;
pub(crate) use document::read_parameters;
pub use document::{
    Document, DocumentContent, DocumentError, MAX_PARAMETERS, MAX_PARAMETERS_CHARS, Measured,
    Parameter, Parameters, parameters_text, parse_parameters,
};
pub use exact::{ExactNumber, ExactNumberError};
pub use metric::{Metric, MetricName};
pub use metrics::{MAX_METRICS, Metrics, MetricsError};
pub use moment::Moment;
pub(crate) use name::is_invisible;
pub use name::{
    Arch, Branch, Change, CommitSubject, DimKey, Distro, HostClass, MetricKey, NameError,
    ParameterName, Patchset, Pipeline, Repo, Tag, VoidReason, Workload, any_or,
};
pub use run::{NoMetrics, Run, RunContent};
pub use run_date::{DateBound, RunDate, RunDateError};
pub use scope::{Scope, ScopeError};
pub use series::{Identity, Series};
pub use upload::{Provenance, Upload};
pub use value::{Value, ValueError};
