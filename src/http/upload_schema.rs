//! What an upload may hold, for the OpenAPI description: as tight as a JSON schema can say it.
//!
//! The lengths are those of the domain's types. That a metric stands once, that a succeeded run
//! has one, and how a value is rounded is beyond a schema; the service says so when it happens.

use serde_json::json;
use utoipa::openapi::schema::{
    AdditionalProperties, AllOfBuilder, AnyOfBuilder, ArrayBuilder, ArrayItems, KnownFormat,
    SchemaFormat, SchemaType, Type,
};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::domain::{
    Arch, Branch, Change, DimKey, Distro, HostClass, MAX_METRICS, MetricKey, Patchset, Pipeline,
    Repo, Tag, Workload,
};

/// No control characters, no white space at the ends, and not the wildcard of a filter.
pub(super) const NAME: &str =
    r"^(?!\*$)[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$";
/// The same, or nothing.
pub(super) const NAME_OR_EMPTY: &str =
    r"^(?!\*$)([^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?)?$";

/// A run to be stored.
pub(super) struct RunUpload;

/// One number of a run to be stored.
pub(super) struct MetricUpload;

fn text(description: &str, max_chars: usize, pattern: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
        .max_length(Some(max_chars))
        .pattern(Some(pattern))
}

fn name(description: &str, max_chars: usize) -> ObjectBuilder {
    text(description, max_chars, NAME).min_length(Some(1))
}

fn optional(text: ObjectBuilder) -> ObjectBuilder {
    text.schema_type(SchemaType::from_iter([Type::String, Type::Null]))
}

fn flag(description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .description(Some(description))
}

impl PartialSchema for RunUpload {
    fn schema() -> RefOr<Schema> {
        let commit = text("The whole name of the commit.", 40, "^[0-9a-fA-F]{40}$");
        let date = text(
            "The commit's date: where the run stands in history. Kept in UTC and whole seconds.",
            64,
            "^(19[7-9][0-9]|[2-9][0-9]{3})-",
        )
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
        let metrics = ArrayBuilder::new()
            .description(Some(
                "The numbers; each name once, and at least one where the run succeeded.",
            ))
            .items(MetricUpload::schema())
            .max_items(Some(MAX_METRICS));
        let fields: [(&str, Schema); 12] = [
            (
                "workload",
                name("What was run.", Workload::MAX_CHARS).into(),
            ),
            (
                "repo",
                name(
                    "The repository that the commit belongs to.",
                    Repo::MAX_CHARS,
                )
                .into(),
            ),
            (
                "branch",
                name(
                    "The branch that the commit was merged to.",
                    Branch::MAX_CHARS,
                )
                .into(),
            ),
            ("commit_sha", commit.into()),
            (
                "pipeline",
                name(
                    "Who uploads: `promote` for the runs of merged commits.",
                    Pipeline::MAX_CHARS,
                )
                .into(),
            ),
            (
                "distro",
                name(
                    "The distribution that the code was compiled and run on.",
                    Distro::MAX_CHARS,
                )
                .into(),
            ),
            (
                "arch",
                name("The processor architecture.", Arch::MAX_CHARS).into(),
            ),
            (
                "host_class",
                name(
                    "Where it was measured: `callgrind` for a simulated processor.",
                    HostClass::MAX_CHARS,
                )
                .into(),
            ),
            ("run_date", date.into()),
            (
                "succeeded",
                flag("Whether the workload ran to its end.").into(),
            ),
            ("metrics", metrics.into()),
            (
                "tag",
                text(
                    "The name of a reference run; empty or left out for a live one.",
                    Tag::MAX_CHARS,
                    NAME_OR_EMPTY,
                )
                .into(),
            ),
        ];
        let object = fields
            .into_iter()
            .fold(ObjectBuilder::new(), |object, (field, schema)| {
                let object = object.property(field, schema);
                if field == "tag" {
                    object
                } else {
                    object.required(field)
                }
            });
        let object = object
            .property(
                "change",
                optional(name(
                    "The change that the commit came from.",
                    Change::MAX_CHARS,
                )),
            )
            .property(
                "patchset",
                optional(name("The patch set of the change.", Patchset::MAX_CHARS)),
            )
            .additional_properties(Some(AdditionalProperties::FreeForm(false)));
        let failed = ObjectBuilder::new()
            .schema_type(Type::Boolean)
            .enum_values(Some([false]));
        let failed = ObjectBuilder::new().property("succeeded", failed);
        let measured = ArrayBuilder::new()
            .items(ArrayItems::RefOrSchema(Box::new(RefOr::T(Schema::Object(
                ObjectBuilder::new()
                    .schema_type(SchemaType::AnyValue)
                    .build(),
            )))))
            .min_items(Some(1));
        let measured = ObjectBuilder::new().property("metrics", measured);
        AllOfBuilder::new()
            .item(object)
            .item(AnyOfBuilder::new().item(failed).item(measured))
            .description(Some("A run to be stored. Its identity is the commit, the series (workload, branch, arch, distro) and the tag."))
            .examples([json!({
                "workload": "perf", "repo": "drizzle", "branch": "main",
                "commit_sha": "0123456789abcdef0123456789abcdef01234567",
                "pipeline": "promote", "distro": "trixie", "arch": "amd64", "host_class": "callgrind",
                "run_date": "2026-11-30T09:00:00Z", "succeeded": true,
                "metrics": [{"metric_key": "callgrind.ir", "value": 1_234_567_890}],
            })])
            .into()
    }
}

impl ToSchema for RunUpload {}

impl PartialSchema for MetricUpload {
    fn schema() -> RefOr<Schema> {
        // Half a unit of the last decimal is one part in ten thousand of this; from here on every
        // number has a form that is near enough.
        const ROUNDABLE: f64 = 0.5;
        const TOO_LARGE: f64 = 1e16;
        let number = || ObjectBuilder::new().schema_type(Type::Number);
        let value = AnyOfBuilder::new()
            .item(number().minimum(Some(ROUNDABLE)).exclusive_maximum(Some(TOO_LARGE)))
            .item(number().maximum(Some(-ROUNDABLE)).exclusive_minimum(Some(-TOO_LARGE)))
            .item(number().minimum(Some(-ROUNDABLE)).maximum(Some(ROUNDABLE)).multiple_of(Some(0.0001)))
            .description(Some("The number: at most 16 digits before the point; of more than 4 after it, rounded half away from zero, and refused where that changes it by more than one part in ten thousand."));
        let dim = text(
            "The parameters of a parameterised metric, in canonical form.",
            DimKey::MAX_CHARS,
            NAME_OR_EMPTY,
        );
        ObjectBuilder::new()
            .property(
                "metric_key",
                name("What was measured.", MetricKey::MAX_CHARS),
            )
            .required("metric_key")
            .property("dim_key", dim)
            .property("value", value)
            .required("value")
            .property("wallclock", flag("Whether it was read off a real clock."))
            .additional_properties(Some(AdditionalProperties::FreeForm(false)))
            .into()
    }
}

impl ToSchema for MetricUpload {}
