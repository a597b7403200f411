//! What a query may hold, for the OpenAPI description: as tight as a JSON schema can say it.
//!
//! The lengths are those of the domain's types, the patterns those of an upload's fields.

use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn, ParameterStyle};
use utoipa::openapi::schema::{ArrayBuilder, KnownFormat, SchemaFormat, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Required, Schema};

use super::params::{DEFAULT_LIMIT, MAX_LIMIT};
use super::upload_schema::{NAME, NAME_OR_EMPTY};
use crate::domain::{
    Arch, Branch, DimKey, Distro, HostClass, MetricKey, Pipeline, Repo, Tag, Workload,
};

/// The same as a name, or `*`, or nothing.
const TAG_FILTER: &str =
    r"^([^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?)?$";
/// The same as a name, or `*`.
const NAME_FILTER: &str =
    r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$";

/// The parameters of a window.
pub(super) struct HistoryParams;

/// The parameters of a list of runs.
pub(super) struct RunsParams;

/// The parameters of a list of series.
pub(super) struct SeriesParams;

fn parameter(name: &str, description: &str, schema: impl Into<RefOr<Schema>>) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

fn needed(mut parameter: Parameter) -> Parameter {
    parameter.required = Required::True;
    parameter
}

/// May stand several times, once for each value.
fn repeatable(name: &str, description: &str, item: ObjectBuilder) -> Parameter {
    let mut parameter = parameter(name, description, ArrayBuilder::new().items(item));
    parameter.style = Some(ParameterStyle::Form);
    parameter.explode = Some(true);
    parameter
}

fn text(max_chars: usize, pattern: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .max_length(Some(max_chars))
        .pattern(Some(pattern))
}

fn name(max_chars: usize) -> ObjectBuilder {
    text(max_chars, NAME).min_length(Some(1))
}

fn date() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
}

fn series() -> [Parameter; 4] {
    [
        parameter("workload", "What was run.", name(Workload::MAX_CHARS)),
        parameter("branch", "The branch.", name(Branch::MAX_CHARS)),
        parameter("arch", "The architecture.", name(Arch::MAX_CHARS)),
        parameter("distro", "The distribution.", name(Distro::MAX_CHARS)),
    ]
}

fn repo() -> Parameter {
    parameter("repo", "Of this repository.", name(Repo::MAX_CHARS))
}

fn host_class() -> Parameter {
    parameter(
        "host_class",
        "Measured on this class of hosts.",
        name(HostClass::MAX_CHARS),
    )
}

fn tag(description: &str) -> Parameter {
    parameter("tag", description, text(Tag::MAX_CHARS, TAG_FILTER))
}

fn pipeline(description: &str) -> Parameter {
    let schema = text(Pipeline::MAX_CHARS, NAME_FILTER).min_length(Some(1));
    parameter("pipeline", description, schema)
}

fn dates() -> [Parameter; 2] {
    [
        parameter("since", "Runs on or after this date.", date()),
        parameter("before", "Runs before this date.", date()),
    ]
}

fn page(limit: &str) -> [Parameter; 2] {
    let count = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(Some(MAX_LIMIT))
        .default(Some(DEFAULT_LIMIT.into()));
    // No pattern tells a cursor from another text, and its length is bounded by that of an address.
    let cursor = ObjectBuilder::new().schema_type(Type::String);
    [
        parameter("limit", limit, count),
        parameter(
            "cursor",
            "`next` of the page before, as it came and with the same parameters. No other text is a cursor.",
            cursor,
        ),
    ]
}

impl IntoParams for HistoryParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let metrics = [
            repeatable(
                "metric_key",
                "Metrics to answer for. Left out: every metric of the newest runs.",
                name(MetricKey::MAX_CHARS),
            ),
            repeatable(
                "dim_key",
                "Dimensions to answer for. Left out: all.",
                text(DimKey::MAX_CHARS, NAME_OR_EMPTY),
            ),
        ];
        let include_failed = ObjectBuilder::new()
            .schema_type(Type::Boolean)
            .default(Some(false.into()));
        let filters = [
            repo(),
            host_class(),
            tag(
                "Runs of this tag, empty for live ones; `*` for all. Left out: live runs in a history, reference runs in a baseline.",
            ),
            pipeline(
                "Runs of this pipeline; `*` for any. Left out: `promote` in a history, any in a baseline.",
            ),
            parameter(
                "include_failed",
                "Whether runs that failed count.",
                include_failed,
            ),
        ];
        let mut all: Vec<Parameter> = series().map(needed).into();
        all.extend(metrics);
        all.extend(page("The most points of each metric."));
        all.extend(dates());
        all.extend(filters);
        all
    }
}

impl IntoParams for RunsParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let commit = text(40, "^[0-9a-fA-F]{40}$").min_length(Some(40));
        let filters = [
            repo(),
            host_class(),
            tag("Runs of this tag, empty for live ones; `*` or left out for all."),
            pipeline("Runs of this pipeline; `*` or left out for any."),
        ];
        let flag = || ObjectBuilder::new().schema_type(Type::Boolean);
        let order = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(["newest", "stored"]))
            .default(Some("newest".into()));
        let forms = [
            parameter(
                "succeeded",
                "Runs that succeeded, or those that failed. Left out: both.",
                flag(),
            ),
            parameter(
                "order",
                "`newest` first by date and id, or as they were `stored`: by id, so that what is stored later comes last.",
                order,
            ),
            parameter(
                "metrics",
                "Whether each run comes whole, with its metrics.",
                flag().default(Some(false.into())),
            ),
        ];
        let mut all = vec![parameter("commit_sha", "Runs of this commit.", commit)];
        all.extend(series());
        all.extend(page("The most runs of a page."));
        all.extend(dates());
        all.extend(filters);
        all.extend(forms);
        all
    }
}

impl IntoParams for SeriesParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut all: Vec<Parameter> = series().into();
        all.push(repo());
        all
    }
}
