//! Taking a run back.

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{AllOfBuilder, ObjectBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::{ProblemBody, VoidedBody};
use crate::domain::{Faults, JsonText, VoidReason};
use crate::read::{Fields, Place, parsed};

/// Why a run is taken back.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VoidRequest {
    /// Why, in one line.
    pub reason: VoidReason,
}

impl VoidRequest {
    /// Reads the request out of a body.
    ///
    /// # Errors
    /// Every fault of the body.
    pub fn parse(body: JsonText<'_>) -> Result<Self, Faults> {
        body.read(|node, notes| {
            let fields = Fields::of(node, Place::ROOT, notes, &["reason"])?;
            let reason = fields.needed("reason", parsed)?;
            Some(Self { reason })
        })
    }
}

/// The answer to a void.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct VoidAnswer {
    /// The run's id.
    pub run_id: i64,
    /// What became of the request.
    pub outcome: VoidOutcome,
}

/// What became of a void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum VoidOutcome {
    /// The run no longer counts.
    Voided,
    /// The run was voided for the same reason before.
    Unchanged,
}

/// A problem of the type `run-voided`, for the description: what every problem has, and who took the
/// run back, when and why.
pub struct VoidConflictProblem;

impl PartialSchema for VoidConflictProblem {
    fn schema() -> RefOr<Schema> {
        let voided = ObjectBuilder::new()
            .property("voided", Ref::from_schema_name(VoidedBody::name()))
            .required("voided");
        AllOfBuilder::new()
            .item(Ref::from_schema_name(ProblemBody::name()))
            .item(voided)
            .into()
    }
}

impl ToSchema for VoidConflictProblem {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((ProblemBody::name().into(), ProblemBody::schema()));
        ProblemBody::schemas(schemas);
        schemas.push((VoidedBody::name().into(), VoidedBody::schema()));
        VoidedBody::schemas(schemas);
    }
}
