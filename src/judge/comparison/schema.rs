//! The JSON schemas of `record.json` and `verdict.json`, made from the types themselves.

use serde_json::{Map, Value as Json, json};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::record::Record;
use super::verdict::Verdict;

/// That of a record.
///
/// # Errors
/// If a schema cannot be written as JSON.
pub fn record() -> Result<Json, serde_json::Error> {
    schema::<Record>("A record of a comparison")
}

/// That of a verdict.
///
/// # Errors
/// If a schema cannot be written as JSON.
pub fn verdict() -> Result<Json, serde_json::Error> {
    schema::<Verdict>("A verdict of a comparison")
}

fn schema<T: ToSchema + PartialSchema>(title: &str) -> Result<Json, serde_json::Error> {
    let mut parts: Vec<(String, RefOr<Schema>)> = Vec::new();
    T::schemas(&mut parts);
    let mut definitions = Map::new();
    for (name, part) in parts {
        definitions.insert(name, relocated(serde_json::to_value(part)?));
    }
    let mut whole = relocated(serde_json::to_value(T::schema())?);
    whole["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    whole["title"] = json!(title);
    whole["$defs"] = Json::Object(definitions);
    Ok(whole)
}

/// OpenAPI keeps its parts in another place than a schema that stands alone.
fn relocated(value: Json) -> Json {
    match value {
        Json::Object(entries) => {
            let moved = entries.into_iter().map(|(key, value)| match value {
                Json::String(target) if key == "$ref" => {
                    let target = target.replace("#/components/schemas/", "#/$defs/");
                    (key, Json::String(target))
                }
                value => (key, relocated(value)),
            });
            Json::Object(moved.collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(relocated).collect()),
        value => value,
    }
}
