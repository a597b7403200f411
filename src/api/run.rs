//! Runs: what an upload holds, what became of it, and how a stored run is answered.

use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::openapi::schema::{
    AdditionalProperties, AllOfBuilder, AnyOfBuilder, ArrayBuilder, ObjectBuilder, Schema,
    SchemaType, Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::MetricValue;
use crate::domain::{
    Arch, Branch, Change, CommitSha, CommitSubject, DimKey, Distro, HostClass, MAX_METRICS, Metric,
    MetricKey, Moment, ParameterName, Parameters, Patchset, Pipeline, Repo, RunDate, Tag,
    VoidReason, Workload,
};
use crate::store::{RunHead, StoredRun, Voided};

/// The fields of a run to be stored; [`crate::domain::Run`] reads them.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a body that is read fault by fault")]
struct RunFields {
    /// What was run.
    workload: Workload,
    /// The repository that the commit belongs to.
    repo: Repo,
    /// The branch that the commit was merged to.
    branch: Branch,
    /// The whole name of the commit.
    commit_sha: CommitSha,
    /// The change that the commit came from.
    change: Option<Change>,
    /// The patch set of the change.
    patchset: Option<Patchset>,
    /// The job that uploads: `promote` for the runs of merged commits.
    pipeline: Pipeline,
    /// The distribution that the code was compiled and run on.
    distro: Distro,
    /// The processor architecture.
    arch: Arch,
    /// Where it was measured: `callgrind` for a simulated processor.
    host_class: HostClass,
    /// The name of a reference run; empty or left out for a live one.
    tag: Option<Tag>,
    /// The commit's date: where the run stands in history. Kept in UTC and whole seconds.
    run_date: RunDate,
    /// Whether the workload ran to its end.
    succeeded: bool,
    /// The first line of the commit's message.
    subject: Option<CommitSubject>,
    /// What the workload was told.
    #[schema(schema_with = parameters_or_null, required = false)]
    parameters: Parameters,
    /// The numbers; each name once, and at least one where the run succeeded.
    #[schema(schema_with = metrics_to_be_stored)]
    metrics: Vec<MetricUpload>,
}

/// Names with a text, a number, `true` or `false` each.
pub(super) fn parameters() -> Schema {
    parameters_builder().into()
}

/// The same in an upload, where `null` counts as left out.
fn parameters_or_null() -> Schema {
    let types = SchemaType::from_iter([Type::Object, Type::Null]);
    parameters_builder().schema_type(types).into()
}

fn parameters_builder() -> ObjectBuilder {
    let value = ObjectBuilder::new().schema_type(SchemaType::from_iter([
        Type::String,
        Type::Number,
        Type::Boolean,
    ]));
    let mut object = ObjectBuilder::new().additional_properties(Some(value));
    if let RefOr::T(name) = ParameterName::schema() {
        object = object.property_names(Some(name));
    }
    object
}

fn metrics_to_be_stored() -> Schema {
    ArrayBuilder::new()
        .items(MetricUpload::schema())
        .max_items(Some(MAX_METRICS))
        .into()
}

/// The fields of a metric to be stored.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a body that is read fault by fault")]
struct MetricFields {
    /// What was measured.
    metric_key: MetricKey,
    /// The parameters of a parameterised metric, in canonical form.
    dim_key: Option<DimKey>,
    /// The number: at most 16 digits before the point. A number with more than 4 digits after the
    /// point is rounded half away from zero, and refused where that changes it by more than one
    /// part in ten thousand.
    #[schema(schema_with = MetricValue::upload_schema)]
    value: MetricValue,
    /// Whether it was read off a real clock.
    wallclock: Option<bool>,
}

/// A run to be stored, as tightly as a JSON schema can describe it.
///
/// A schema cannot say that a metric stands once; the service says so when it happens.
pub struct RunUpload;

impl PartialSchema for RunUpload {
    fn schema() -> RefOr<Schema> {
        let failed = ObjectBuilder::new()
            .schema_type(Type::Boolean)
            .enum_values(Some([false]));
        let failed = ObjectBuilder::new().property("succeeded", failed);
        let measured = ArrayBuilder::new()
            .items(ObjectBuilder::new().schema_type(SchemaType::AnyValue))
            .min_items(Some(1));
        let measured = ObjectBuilder::new().property("metrics", measured);
        AllOfBuilder::new()
            .item(closed(RunFields::schema()))
            .item(AnyOfBuilder::new().item(failed).item(measured))
            .description(Some(
                "A run to be stored. Its identity is the commit, the series (workload, branch, \
                 arch, distro) and the tag.",
            ))
            .examples([json!({
                "workload": "perf", "repo": "drizzle", "branch": "main",
                "commit_sha": "0123456789abcdef0123456789abcdef01234567",
                "pipeline": "promote", "distro": "trixie", "arch": "amd64",
                "host_class": "callgrind", "run_date": "2026-11-30T09:00:00Z", "succeeded": true,
                "metrics": [{"metric_key": "callgrind.ir", "value": 1_234_567_890}],
            })])
            .into()
    }
}

impl ToSchema for RunUpload {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        RunFields::schemas(schemas);
    }
}

/// One number of a run to be stored.
struct MetricUpload;

impl PartialSchema for MetricUpload {
    fn schema() -> RefOr<Schema> {
        closed(MetricFields::schema())
    }
}

impl ToSchema for MetricUpload {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        MetricFields::schemas(schemas);
    }
}

/// The object `schema` without any field that it does not name.
fn closed(schema: RefOr<Schema>) -> RefOr<Schema> {
    match schema {
        RefOr::T(Schema::Object(mut object)) => {
            object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
            RefOr::T(Schema::Object(object))
        }
        other => other,
    }
}

/// What became of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RecordOutcome {
    /// The identity is new.
    Created,
    /// The identity is stored with the same content.
    Unchanged,
    /// The run took the place of a failed one.
    Replaced,
}

/// The answer to an upload.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecordAnswer {
    /// The run's id.
    pub run_id: i64,
    /// What became of the upload.
    pub outcome: RecordOutcome,
}

/// A stored run.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunBody {
    /// The run's id.
    pub run_id: i64,
    /// What was run.
    pub workload: Workload,
    /// The repository.
    pub repo: Repo,
    /// The branch.
    pub branch: Branch,
    /// The commit.
    pub commit_sha: CommitSha,
    /// The change that the commit came from.
    #[schema(required)]
    pub change: Option<Change>,
    /// The patch set of the change.
    #[schema(required)]
    pub patchset: Option<Patchset>,
    /// The job that uploaded it.
    pub pipeline: Pipeline,
    /// The distribution.
    pub distro: Distro,
    /// The architecture.
    pub arch: Arch,
    /// Where it was measured.
    pub host_class: HostClass,
    /// Empty for a live run.
    pub tag: Tag,
    /// Where it stands in history.
    pub run_date: RunDate,
    /// Whether the workload ran to its end.
    pub succeeded: bool,
    /// The first line of the commit's message, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub subject: Option<CommitSubject>,
    /// What the workload was told, where it was told anything.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    #[schema(schema_with = parameters, required = false)]
    pub parameters: Parameters,
    /// Who uploaded the run: `sub` of the token. Left out for a run of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub uploaded_by: Option<String>,
    /// The id of the token that uploaded the run, `jti`, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub token_id: Option<String>,
    /// When the run was uploaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub uploaded_at: Option<Moment>,
    /// Who took the run back, when and why. Left out for a run that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub voided: Option<VoidedBody>,
    /// The numbers, ordered by name. A list leaves them out unless they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub metrics: Option<Vec<MetricBody>>,
}

/// How a run was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VoidedBody {
    /// Why.
    pub reason: VoidReason,
    /// Who took it back: `sub` of the token.
    pub by: String,
    /// When.
    pub at: Moment,
}

/// One number of a stored run.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MetricBody {
    /// What was measured.
    pub metric_key: MetricKey,
    /// With which parameters.
    pub dim_key: DimKey,
    /// The number.
    pub value: MetricValue,
    /// Whether it was read off a real clock.
    pub wallclock: bool,
}

/// A stored run that always has its metrics, for the description.
pub struct WholeRun;

impl PartialSchema for WholeRun {
    fn schema() -> RefOr<Schema> {
        AllOfBuilder::new()
            .item(Ref::from_schema_name(RunBody::name()))
            .item(ObjectBuilder::new().required("metrics"))
            .description(Some("A stored run with all its metrics."))
            .into()
    }
}

impl ToSchema for WholeRun {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((RunBody::name().into(), RunBody::schema()));
        RunBody::schemas(schemas);
    }
}

/// Some runs, in the order that was asked for.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunsAnswer {
    /// The runs; without their metrics, unless these were asked for.
    pub runs: Vec<RunBody>,
    /// The `cursor` of the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
}

impl From<RunHead> for RunBody {
    fn from(head: RunHead) -> Self {
        Self {
            run_id: head.run_id,
            workload: head.series.workload,
            repo: head.repo,
            branch: head.series.branch,
            commit_sha: head.commit_sha,
            change: head.change,
            patchset: head.patchset,
            pipeline: head.pipeline,
            distro: head.series.distro,
            arch: head.series.arch,
            host_class: head.host_class,
            tag: head.tag,
            run_date: head.run_date,
            succeeded: head.succeeded,
            subject: head.details.subject,
            parameters: head.details.parameters,
            uploaded_by: head
                .details
                .uploaded
                .as_ref()
                .map(|signed| signed.by.subject.to_string()),
            uploaded_at: head.details.uploaded.as_ref().map(|signed| signed.at),
            token_id: head.details.uploaded.and_then(|signed| signed.by.token_id),
            voided: head.details.voided.map(VoidedBody::from),
            metrics: None,
        }
    }
}

impl From<Voided> for VoidedBody {
    fn from(voided: Voided) -> Self {
        Self {
            reason: voided.reason,
            by: voided.signed.by.subject.to_string(),
            at: voided.signed.at,
        }
    }
}

impl From<StoredRun> for RunBody {
    fn from(run: StoredRun) -> Self {
        let metrics = run.metrics.into_iter().map(MetricBody::from).collect();
        Self {
            metrics: Some(metrics),
            ..run.head.into()
        }
    }
}

impl From<Metric> for MetricBody {
    fn from(metric: Metric) -> Self {
        Self {
            metric_key: metric.name.metric_key,
            dim_key: metric.name.dim_key,
            value: metric.value,
            wallclock: metric.wallclock,
        }
    }
}
