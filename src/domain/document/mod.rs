//! What a measurement writes and an upload sends.
//!
//! A document says what was measured, how, and with which numbers; it knows nothing of commits and
//! branches, which an upload adds. It is parsed as strictly as a run: what is written by a newer
//! format, or has a field too many, is refused rather than half understood.

mod schema;

use std::collections::BTreeMap;
use std::fmt;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use serde_json::{Number, Value as Json};

use super::run::read_metrics;
use super::{Arch, Distro, Fault, Fields, HostClass, JsonText, Metric, ParameterName, Workload};

/// The numbers of one measurement, and all that makes them comparable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// What was run.
    pub workload: Workload,
    /// The processor architecture.
    pub arch: Arch,
    /// The distribution.
    pub distro: Distro,
    /// Where it was measured.
    pub host_class: HostClass,
    /// Whether the workload ran to its end.
    pub succeeded: bool,
    /// What the workload was told; numbers of other parameters are other numbers.
    pub parameters: Parameters,
    /// The numbers, ordered by name; each name once.
    pub metrics: Vec<Metric>,
}

/// What a workload was told, in the order of the names.
pub type Parameters = BTreeMap<ParameterName, Parameter>;

/// The value of one parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Parameter {
    /// `true` or `false`.
    Flag(bool),
    /// A number, kept digit for digit.
    Number(Number),
    /// Anything else.
    Text(String),
}

impl Document {
    /// The format that is written, and the only one that is read.
    pub const FORMAT_VERSION: u32 = 1;

    /// Reads a document out of JSON.
    ///
    /// # Errors
    /// Every fault at once, each with its JSON pointer.
    pub fn parse(text: &JsonText) -> Result<Self, Vec<Fault>> {
        let mut faults = text.repeated.clone();
        let document = Self::read(&text.content, &mut faults);
        match document {
            Some(document) if faults.is_empty() => Ok(document),
            _ => Err(faults),
        }
    }

    /// The JSON schema of a document, as tight as a schema can say it.
    ///
    /// That a metric stands once, and how a value is rounded, is beyond a schema.
    pub fn schema() -> Json {
        schema::schema()
    }

    /// Reads every field before any `?`, so that one bad field does not hide the next.
    fn read(json: &Json, faults: &mut Vec<Fault>) -> Option<Self> {
        let mut fields = Fields::of(json, "", faults)?;
        read_format_version(&mut fields)?;
        let workload = fields.text("workload");
        let arch = fields.text("arch");
        let distro = fields.text("distro");
        let host_class = fields.text("host_class");
        let succeeded = fields.boolean("succeeded");
        let parameters = read_parameters(&mut fields);
        let metrics = read_metrics(&mut fields, succeeded);
        fields.finish();
        Some(Self {
            workload: workload?,
            arch: arch?,
            distro: distro?,
            host_class: host_class?,
            succeeded: succeeded?,
            parameters: parameters?,
            metrics: metrics?,
        })
    }
}

/// Another format ends the reading: what it calls its fields is not known.
fn read_format_version(fields: &mut Fields<'_>) -> Option<()> {
    let version: u32 = fields.number("format_version")?;
    if version != Document::FORMAT_VERSION {
        let detail = format!(
            "is {version}, and this program reads {}; use the release that wrote the document",
            Document::FORMAT_VERSION
        );
        fields.fault("format_version", detail);
        return None;
    }
    Some(())
}

fn read_parameters(fields: &mut Fields<'_>) -> Option<Parameters> {
    let json = fields.required("parameters")?;
    let Json::Object(object) = json else {
        fields.fault("parameters", "must be an object; `{}` where there are none");
        return None;
    };
    let faults = fields.faults();
    let mut parameters = Parameters::new();
    for (name, value) in object {
        let pointer = format!("/parameters/{}", super::fields::escape(name));
        let name = name
            .parse::<ParameterName>()
            .map_err(|error| faults.push(Fault::new(&pointer, format!("the name {error}"))));
        let value = Parameter::read(value);
        if value.is_none() {
            let detail = "must be a string, a number, true or false";
            faults.push(Fault::new(&pointer, detail));
        }
        if let (Ok(name), Some(value)) = (name, value) {
            parameters.insert(name, value);
        }
    }
    Some(parameters)
}

impl Parameter {
    fn read(json: &Json) -> Option<Self> {
        match json {
            Json::Bool(flag) => Some(Self::Flag(*flag)),
            Json::Number(number) => Some(Self::Number(number.clone())),
            Json::String(text) => Some(Self::Text(text.clone())),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// The value that a person wrote: a JSON number, `true`, `false`, or else a text as it is.
    pub fn from_words(text: &str) -> Self {
        serde_json::from_str(text)
            .ok()
            .as_ref()
            .and_then(Self::read)
            .unwrap_or_else(|| Self::Text(text.to_owned()))
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Document", 8)?;
        fields.serialize_field("format_version", &Self::FORMAT_VERSION)?;
        fields.serialize_field("workload", &self.workload)?;
        fields.serialize_field("arch", &self.arch)?;
        fields.serialize_field("distro", &self.distro)?;
        fields.serialize_field("host_class", &self.host_class)?;
        fields.serialize_field("succeeded", &self.succeeded)?;
        fields.serialize_field("parameters", &self.parameters)?;
        fields.serialize_field("metrics", &self.metrics)?;
        fields.end()
    }
}

/// As a file holds it: JSON for people, with a line end.
impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?;
        writeln!(f, "{text}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body() -> Json {
        json!({
            "format_version": 1, "workload": "perf", "arch": "amd64", "distro": "trixie",
            "host_class": "callgrind", "succeeded": true,
            "parameters": {"script": "oltp_read_write", "threads": 1, "trx": true},
            "metrics": [{"metric_key": "callgrind.ir", "dim_key": "", "value": 1, "wallclock": false}],
        })
    }

    fn parse(body: Json) -> Result<Document, Vec<Fault>> {
        Document::parse(&body.into())
    }

    fn faults(change: impl FnOnce(&mut Json)) -> Vec<String> {
        let mut body = body();
        change(&mut body);
        let faults = parse(body).expect_err("the document does not fit");
        faults.iter().map(Fault::to_string).collect()
    }

    #[test]
    fn what_is_written_is_what_was_read_digit_for_digit() {
        let text = r#"{"format_version":1,"workload":"perf","arch":"amd64","distro":"trixie","host_class":"callgrind","succeeded":true,"parameters":{"a":1.50,"b":100000000000000000001,"c":"x","d":false},"metrics":[{"metric_key":"k","dim_key":"threads=2","value":9999999999999999.9999,"wallclock":true}]}"#;
        let document = parse(serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(serde_json::to_string(&document).unwrap(), text);
        let again = serde_json::from_str(&document.to_string()).unwrap();
        assert_eq!(parse(again), Ok(document));
    }

    #[test]
    fn parameters_stand_in_the_order_of_their_names() {
        let mut other = body();
        other["parameters"] = json!({"trx": true, "threads": 1, "script": "oltp_read_write"});
        assert_eq!(parse(body()), parse(other));
    }

    #[test]
    fn all_faults_come_at_once_each_with_its_pointer() {
        let found = faults(|body| {
            body["workload"] = json!("");
            body["succeeded"] = json!(1);
            body["parameters"] = json!({"a/b": [], "": 1, "n": null});
            body["metrics"] = json!([{"metric_key": "x", "value": "1"}, {"value": 1, "unit": "s"}]);
            body["commit_sha"] = json!("0");
            body.as_object_mut().unwrap().remove("distro");
        });
        assert_eq!(
            found,
            [
                "/workload: must not be empty",
                "/distro: is missing",
                "/succeeded: must be true or false, is a number",
                "/parameters/: the name must not be empty",
                "/parameters/a~1b: must be a string, a number, true or false",
                "/parameters/n: must be a string, a number, true or false",
                "/metrics/0/value: must be a number, is a string",
                "/metrics/1/metric_key: is missing",
                "/metrics/1/unit: is not a field of this object",
                "/commit_sha: is not a field of this object",
            ]
        );
    }

    #[test]
    fn another_format_is_one_fault() {
        let found = faults(|body| {
            body["format_version"] = json!(2);
            body["workload"] = json!("");
        });
        assert_eq!(
            found,
            [
                "/format_version: is 2, and this program reads 1; use the release that wrote the document"
            ]
        );
        assert_eq!(
            faults(|body| *body = json!({})),
            ["/format_version: is missing"]
        );
        assert_eq!(faults(|body| body["format_version"] = json!("1")).len(), 1);
        assert_eq!(faults(|body| body["format_version"] = json!(1.5)).len(), 1);
    }

    #[test]
    fn a_measurement_that_succeeded_has_a_metric() {
        let none = |body: &mut Json| body["metrics"] = json!([]);
        assert_eq!(faults(none).len(), 1);
        let mut failed = body();
        failed["metrics"] = json!([]);
        failed["succeeded"] = json!(false);
        assert!(parse(failed).unwrap().metrics.is_empty());
    }

    #[test]
    fn a_parameter_is_what_a_person_would_take_it_for() {
        for (words, written) in [
            ("1", "1"),
            ("-2.50", "-2.50"),
            ("true", "true"),
            ("007", "\"007\""),
            ("oltp_read_write", "\"oltp_read_write\""),
            ("\"1\"", "\"1\""),
            ("null", "\"null\""),
            ("[1]", "\"[1]\""),
            ("", "\"\""),
        ] {
            let parameter = Parameter::from_words(words);
            assert_eq!(serde_json::to_string(&parameter).unwrap(), written);
        }
    }

    /// `perf-tracking document schema > openapi/document.schema.json` brings them together.
    #[test]
    fn the_committed_schema_is_the_schema() {
        let committed: Json =
            serde_json::from_str(include_str!("../../../openapi/document.schema.json")).unwrap();
        assert_eq!(committed, Document::schema());
    }

    #[test]
    fn the_schema_names_every_field() {
        let schema = Document::schema();
        let written = serde_json::to_value(parse(body()).unwrap()).unwrap();
        let names =
            |json: &Json| -> Vec<String> { json.as_object().unwrap().keys().cloned().collect() };
        assert_eq!(names(&schema["properties"]), names(&written));
        let metric = &schema["properties"]["metrics"]["items"]["properties"];
        assert_eq!(names(metric), names(&written["metrics"][0]));
    }
}
