//! The JSON schema of a document, made from the same limits that the types hold.

use serde_json::{Value as Json, json};

use super::{Document, Measured};
use crate::domain::schema::{NAME, NAME_OR_EMPTY};
use crate::domain::{
    Arch, DimKey, Distro, HostClass, MAX_METRICS, MetricKey, ParameterName, Workload,
};

/// The first number that the column of values cannot hold.
const BOUND: i64 = 10_000_000_000_000_000;

pub(super) fn schema() -> Json {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A document of perf-tracking",
        "description": "The numbers of one measurement, and all that makes them comparable.",
        "type": "object",
        "additionalProperties": false,
        "required": [
            "format_version", "workload", "arch", "distro", "host_class", "succeeded",
            "parameters", "metrics"
        ],
        "properties": {
            "format_version": {
                "description": "The format; another one is refused.",
                "const": Document::FORMAT_VERSION
            },
            "workload": name("What was run.", Workload::MAX_CHARS),
            "arch": name("The processor architecture, such as amd64.", Arch::MAX_CHARS),
            "distro": name("The distribution that compiled and ran the code.", Distro::MAX_CHARS),
            "host_class": name(
                "The kind of host: callgrind for a simulated processor, else a class of real machines.",
                HostClass::MAX_CHARS
            ),
            "succeeded": {
                "description": "Whether the workload ran to its end.",
                "type": "boolean"
            },
            "parameters": {
                "description": "What the workload was told; numbers of other parameters are other numbers.",
                "type": "object",
                "propertyNames": name("What the parameter is called.", ParameterName::MAX_CHARS),
                "additionalProperties": {"type": ["string", "number", "boolean"]}
            },
            "measured": measured(),
            "metrics": {
                "description": "The numbers; each name once.",
                "type": "array",
                "maxItems": MAX_METRICS,
                "items": metric()
            }
        },
        "if": {"properties": {"succeeded": {"const": true}}},
        "then": {"properties": {"metrics": {"minItems": 1}}}
    })
}

fn measured() -> Json {
    let text = |description: &str| {
        json!({
            "description": description,
            "type": "string",
            "maxLength": Measured::MAX_CHARS,
            "pattern": r"^[^\x00-\x1f\x7f-\x9f]*$"
        })
    };
    json!({
        "description": "The commit that was measured, and with what, as far as that is known.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "commit_sha": {
                "description": "The commit, all 40 digits.",
                "type": "string",
                "pattern": "^[0-9A-Fa-f]{40}$"
            },
            "clean": {
                "description": "Whether the files of the commit were unchanged.",
                "type": "boolean"
            },
            "tool": text("The tool with its version, such as valgrind-3.19.0."),
            "caches": text("The caches that were simulated, as the tool's flags name them.")
        }
    })
}

fn metric() -> Json {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["metric_key", "value"],
        "properties": {
            "metric_key": name("What was measured, with its unit.", MetricKey::MAX_CHARS),
            "dim_key": {
                "description": "The parameters of a parameterised metric in canonical form: k=v pairs, sorted by k, with commas between.",
                "type": "string",
                "maxLength": DimKey::MAX_CHARS,
                "pattern": NAME_OR_EMPTY,
                "default": ""
            },
            "value": {
                "description": "The number: at most 16 digits before the point; of more than 4 after it, rounded if that changes it little.",
                "type": "number",
                "exclusiveMinimum": -BOUND,
                "exclusiveMaximum": BOUND
            },
            "wallclock": {
                "description": "Whether it was read off a real clock, and so holds for one class of hosts alone.",
                "type": "boolean",
                "default": false
            }
        }
    })
}

fn name(description: &str, max_chars: usize) -> Json {
    json!({
        "description": description,
        "type": "string",
        "minLength": 1,
        "maxLength": max_chars,
        "pattern": NAME
    })
}
