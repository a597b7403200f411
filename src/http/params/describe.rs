//! Describes the parameters of a query for OpenAPI, with the schemas of the domain's types.

use utoipa::PartialSchema;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn, ParameterStyle};
use utoipa::openapi::schema::{ArrayBuilder, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Required, Schema};

use crate::api::MAX_LIMIT;
use crate::domain::{Arch, Branch, DateBound, Distro, Workload};

/// A name or `*`: no control characters, no white space at the ends.
const NAME_OR_ANY: &str =
    r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$";
/// The same, or nothing.
const NAME_ANY_OR_EMPTY: &str =
    r"^([^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?)?$";

/// A parameter that may be left out, with any schema.
pub(in crate::http) fn parameter(
    name: &str,
    description: &str,
    schema: impl Into<RefOr<Schema>>,
) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

/// A parameter that may be left out and holds a `T`.
pub(in crate::http) fn of_type<T: PartialSchema>(name: &str, description: &str) -> Parameter {
    parameter(name, description, T::schema())
}

/// The same parameter, which must be there.
pub(in crate::http) fn needed(mut parameter: Parameter) -> Parameter {
    parameter.required = Required::True;
    parameter
}

/// A parameter that may stand several times, once for each `T`.
pub(in crate::http) fn repeatable<T: PartialSchema>(name: &str, description: &str) -> Parameter {
    let mut parameter = parameter(name, description, ArrayBuilder::new().items(T::schema()));
    parameter.style = Some(ParameterStyle::Form);
    parameter.explode = Some(true);
    parameter
}

/// A name of `min_chars` to `max_chars` characters, or `*` for any.
pub(in crate::http) fn name_or_any(
    name: &str,
    description: &str,
    max_chars: usize,
    min_chars: usize,
) -> Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .max_length(Some(max_chars));
    let schema = match min_chars {
        0 => schema.pattern(Some(NAME_ANY_OR_EMPTY)),
        min => schema.pattern(Some(NAME_OR_ANY)).min_length(Some(min)),
    };
    parameter(name, description, schema)
}

/// `true` or `false`; `false` where it is left out.
pub(in crate::http) fn flag(name: &str, description: &str) -> Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .default(Some(false.into()));
    parameter(name, description, schema)
}

/// Whether runs that were taken back count.
pub(in crate::http) fn include_voided() -> Parameter {
    flag("include_voided", "Whether runs that were voided count.")
}

/// The parts of a series.
pub(in crate::http) fn series() -> [Parameter; 4] {
    [
        of_type::<Workload>("workload", "What was run."),
        of_type::<Branch>("branch", "The branch."),
        of_type::<Arch>("arch", "The architecture."),
        of_type::<Distro>("distro", "The distribution."),
    ]
}

/// The bounds on run dates.
pub(in crate::http) fn dates() -> [Parameter; 2] {
    [
        of_type::<DateBound>("since", "Runs on or after this date."),
        of_type::<DateBound>("before", "Runs before this date."),
    ]
}

/// The size of a page and where it begins.
pub(in crate::http) fn page(limit: &str, default: usize) -> [Parameter; 2] {
    let count = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(Some(MAX_LIMIT))
        .default(Some(default.into()));
    // No pattern tells a cursor from another text, and the length of an address bounds it.
    let cursor = ObjectBuilder::new().schema_type(Type::String);
    [
        parameter("limit", limit, count),
        parameter(
            "cursor",
            "`next` of the page before, as it came and with the same parameters. No other text is \
             a cursor.",
            cursor,
        ),
    ]
}
