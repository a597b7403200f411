//! What the parameters of a query may hold, for the OpenAPI description: by their names, as one
//! name means one thing on every route.
//!
//! That a `dim_key` needs a `metric_key` beside it, and that a `cursor` is one that the service
//! gave, is beyond a schema; the service says so when it happens.

use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{KnownFormat, SchemaFormat, Type};
use utoipa::openapi::{ObjectBuilder, OpenApi, RefOr, Schema};

use super::upload_schema::{DATE_CHARS, NAME, NAME_OR_EMPTY, YEARS};
use crate::domain::{
    Arch, Branch, DimKey, Distro, HostClass, MetricKey, Pipeline, Repo, Tag, Workload,
};

/// A name, or the wildcard.
const NAME_OR_ANY: &str =
    r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$";
/// A name, nothing, or the wildcard.
const NAME_OR_EMPTY_OR_ANY: &str =
    r"^([^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?)?$";

/// Gives each text parameter of a query the bounds that it is read with.
pub(super) fn tighten(document: &mut OpenApi) {
    let paths = document.paths.paths.values_mut();
    let queries = paths.filter_map(|path| path.get.as_mut());
    for parameter in queries.flat_map(|query| query.parameters.iter_mut().flatten()) {
        match parameter {
            RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => bound(parameter),
            _ => {}
        }
    }
}

fn bound(parameter: &mut Parameter) {
    let Some(tight) = schema(&parameter.name) else {
        return;
    };
    match &mut parameter.schema {
        Some(RefOr::T(Schema::Array(list))) => list.items = RefOr::from(tight).into(),
        schema => *schema = Some(tight.into()),
    }
}

fn schema(parameter: &str) -> Option<ObjectBuilder> {
    Some(match parameter {
        "workload" => name(Workload::MAX_CHARS),
        "branch" => name(Branch::MAX_CHARS),
        "arch" => name(Arch::MAX_CHARS),
        "distro" => name(Distro::MAX_CHARS),
        "repo" => name(Repo::MAX_CHARS),
        "host_class" => name(HostClass::MAX_CHARS),
        "metric_key" => name(MetricKey::MAX_CHARS),
        "dim_key" => text(DimKey::MAX_CHARS, NAME_OR_EMPTY),
        "pipeline" => text(Pipeline::MAX_CHARS, NAME_OR_ANY).min_length(Some(1)),
        "tag" => text(Tag::MAX_CHARS, NAME_OR_EMPTY_OR_ANY),
        "since" | "before" => {
            text(DATE_CHARS, YEARS).format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        }
        _ => return None,
    })
}

fn name(max_chars: usize) -> ObjectBuilder {
    text(max_chars, NAME).min_length(Some(1))
}

fn text(max_chars: usize, pattern: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .max_length(Some(max_chars))
        .pattern(Some(pattern))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    /// The parameter of the history, as it is served.
    fn parameter(name: &str) -> Json {
        let document = serde_json::to_value(crate::http::openapi_document()).unwrap();
        let parameters = document["paths"]["/v1/history"]["get"]["parameters"].as_array();
        let mut found = parameters.unwrap().iter();
        found.find(|found| found["name"] == name).unwrap().clone()
    }

    #[test]
    fn a_filter_is_described_as_tightly_as_it_is_read() {
        let workload = parameter("workload");
        assert_eq!(workload["required"], true);
        assert!(workload["description"].is_string());
        let workload = &workload["schema"];
        assert_eq!(
            (&workload["minLength"], &workload["maxLength"]),
            (&json!(1), &json!(40))
        );
        assert_eq!(parameter("metric_key")["required"], false);
        assert_eq!(parameter("metric_key")["schema"]["items"]["maxLength"], 80);
        assert_eq!(parameter("since")["schema"]["format"], "date-time");
        let tag = parameter("tag");
        assert!(
            tag["schema"]["minLength"].is_null(),
            "an empty tag is a live run's"
        );
    }
}
