//! How an upload differs from the run that is stored for its identity.

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{AllOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::{MetricValue, ProblemBody};
use crate::domain::{DimKey, Metric, MetricKey};
use crate::store::{Conflict, FieldDifference, MetricDifference};

/// A problem of the type `run-conflict`, for the description: what every problem has, and how the
/// two runs differ.
pub struct ConflictProblem;

impl PartialSchema for ConflictProblem {
    fn schema() -> RefOr<Schema> {
        AllOfBuilder::new()
            .item(Ref::from_schema_name(ProblemBody::name()))
            .item(Ref::from_schema_name(ConflictBody::name()))
            .into()
    }
}

impl ToSchema for ConflictProblem {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((ProblemBody::name().into(), ProblemBody::schema()));
        ProblemBody::schemas(schemas);
        schemas.push((ConflictBody::name().into(), ConflictBody::schema()));
        ConflictBody::schemas(schemas);
    }
}

/// How an upload differs from the run that is stored for its identity.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ConflictBody {
    /// The stored run.
    pub run_id: i64,
    /// Whether what is stored is left out, as the token may not read runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub withheld: bool,
    /// The fields that differ.
    #[serde(default)]
    #[schema(required)]
    pub fields: Vec<FieldDifferenceBody>,
    /// The metrics that differ or that one side lacks.
    #[serde(default)]
    #[schema(required)]
    pub metrics: Vec<MetricDifferenceBody>,
}

/// A field that differs; `null` where one side lacks it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FieldDifferenceBody {
    /// Its name.
    pub field: String,
    /// What is stored, as text.
    #[schema(required)]
    pub stored: Option<String>,
    /// What was sent, as text.
    #[schema(required)]
    pub sent: Option<String>,
}

/// A metric that differs; `null` where one side lacks it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MetricDifferenceBody {
    /// What was measured.
    pub metric_key: MetricKey,
    /// With which parameters.
    pub dim_key: DimKey,
    /// What is stored.
    #[schema(required)]
    pub stored: Option<MeasuredBody>,
    /// What was sent.
    #[schema(required)]
    pub sent: Option<MeasuredBody>,
}

/// One side of a metric that differs.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MeasuredBody {
    /// The number.
    pub value: MetricValue,
    /// Whether it was read off a real clock.
    pub wallclock: bool,
}

impl From<Conflict> for ConflictBody {
    fn from(conflict: Conflict) -> Self {
        Self {
            run_id: conflict.run_id,
            withheld: false,
            fields: conflict.fields.into_iter().map(Into::into).collect(),
            metrics: conflict.metrics.into_iter().map(Into::into).collect(),
        }
    }
}

impl ConflictBody {
    /// The same for one who may not read runs: only what was sent.
    pub fn withhold_stored(&mut self) {
        self.withheld = true;
        self.fields.retain(|field| field.sent.is_some());
        self.metrics.retain(|metric| metric.sent.is_some());
        for field in &mut self.fields {
            field.stored = None;
        }
        for metric in &mut self.metrics {
            metric.stored = None;
        }
    }
}

impl From<FieldDifference> for FieldDifferenceBody {
    fn from(difference: FieldDifference) -> Self {
        Self {
            field: difference.field.to_owned(),
            stored: difference.stored,
            sent: difference.sent,
        }
    }
}

impl From<MetricDifference> for MetricDifferenceBody {
    fn from(difference: MetricDifference) -> Self {
        Self {
            metric_key: difference.name.metric_key,
            dim_key: difference.name.dim_key,
            stored: difference.stored.map(Into::into),
            sent: difference.sent.map(Into::into),
        }
    }
}

impl From<Metric> for MeasuredBody {
    fn from(metric: Metric) -> Self {
        Self {
            value: metric.value,
            wallclock: metric.wallclock,
        }
    }
}
