//! What a measurement writes and an upload sends.
//!
//! A document says what was measured, how, and with which numbers; it knows nothing of commits and
//! branches, which an upload adds. It is parsed as strictly as a run: what is written by a newer
//! format, or has a field too many, is refused rather than half understood.

mod measured;
mod schema;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use serde::de::Error as _;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::name::check_new;
use super::run::{Age, name, read_metrics};
use super::{
    Arch, CommitSha, Distro, ExactNumber, Faults, HostClass, JsonText, Metrics, NameError,
    NoMetrics, ParameterName, Workload,
};
pub use measured::Measured;

use crate::read::{Fields, Node, Notes, Place, boolean, number};

/// The numbers of one measurement, and all that makes them comparable.
///
/// Its fields can be read through [`DocumentContent`] and changed by nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document(DocumentContent);

/// What a document consists of. [`Document::new`] makes a document of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentContent {
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
    /// The commit that was measured, and with what, as far as that is known.
    pub measured: Measured,
    /// The numbers, at least one where the workload succeeded.
    pub metrics: Metrics,
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
    Number(ExactNumber),
    /// Anything else.
    Text(String),
}

/// Why a content makes no document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// It succeeded without a number.
    #[error(transparent)]
    NoMetrics(#[from] NoMetrics),
    /// A name of it would not be taken by an upload.
    #[error("{0} {1}")]
    Name(&'static str, NameError),
}

impl Deref for Document {
    type Target = DocumentContent;

    fn deref(&self) -> &DocumentContent {
        &self.0
    }
}

impl Document {
    /// The document that consists of `content`.
    ///
    /// # Errors
    /// If the workload succeeded and there is no metric, or if a name holds a character that is not
    /// seen, which no upload takes.
    pub fn new(content: DocumentContent) -> Result<Self, DocumentError> {
        NoMetrics::check(content.succeeded, &content.metrics)?;
        let own = [
            ("the workload", content.workload.as_str()),
            ("the arch", content.arch.as_str()),
            ("the distro", content.distro.as_str()),
            ("the host class", content.host_class.as_str()),
        ];
        let of_metrics = content.metrics.into_iter().flat_map(|metric| {
            [
                ("a metric_key", metric.name.metric_key.as_str()),
                ("a dim_key", metric.name.dim_key.as_str()),
            ]
        });
        for (what, text) in own.into_iter().chain(of_metrics) {
            check_new(text).map_err(|error| DocumentError::Name(what, error))?;
        }
        Ok(Self(content))
    }

    /// The document with the commit that was checked out, and whether its files were unchanged.
    #[must_use]
    pub fn with_checkout(mut self, commit_sha: Option<CommitSha>, clean: Option<bool>) -> Self {
        self.0.measured.commit_sha = commit_sha;
        self.0.measured.clean = clean;
        self
    }

    /// What the document consists of.
    pub fn into_content(self) -> DocumentContent {
        self.0
    }

    /// The format that is written, and the only one that is read.
    pub const FORMAT_VERSION: u32 = 1;

    /// Reads a document out of JSON.
    ///
    /// # Errors
    /// Every fault at once, each with its JSON pointer.
    pub fn parse(text: JsonText<'_>) -> Result<Self, Faults> {
        text.read(Self::read)
    }

    /// The JSON schema of a document, as tight as a schema can say it.
    ///
    /// That a metric stands once, and how a value is rounded, is beyond a schema.
    pub fn schema() -> Json {
        schema::schema()
    }

    /// Reads every field before any `?`, so that one bad field does not hide the next.
    fn read(json: Node<'_>, notes: &Notes<'_>) -> Option<Self> {
        check_format_version(json, notes)?;
        let fields = Fields::of(json, Place::ROOT, notes, &FIELDS)?;
        let workload = fields.needed("workload", |node| name(node, Age::New));
        let arch = fields.needed("arch", |node| name(node, Age::New));
        let distro = fields.needed("distro", |node| name(node, Age::New));
        let host_class = fields.needed("host_class", |node| name(node, Age::New));
        let succeeded = fields.needed("succeeded", boolean);
        fields.check_there("parameters");
        let parameters = read_parameters(&fields);
        let measured = fields.object("measured", &Measured::FIELDS, Measured::read);
        let metrics = read_metrics(&fields, succeeded, Age::New);
        let content = DocumentContent {
            workload: workload?,
            arch: arch?,
            distro: distro?,
            host_class: host_class?,
            succeeded: succeeded?,
            parameters: parameters?,
            measured: measured.unwrap_or_default(),
            metrics: metrics?,
        };
        // A fault that was noted keeps the document from its reader in any case.
        Self::new(content).ok()
    }
}

/// The fields of a document.
const FIELDS: [&str; 9] = [
    "format_version",
    "workload",
    "arch",
    "distro",
    "host_class",
    "succeeded",
    "parameters",
    "measured",
    "metrics",
];

/// Another format ends the reading, since the names of its fields are not known.
fn check_format_version(json: Node<'_>, notes: &Notes<'_>) -> Option<()> {
    // What is no object is told by the reader of its fields.
    let Ok(version) = json.entry("format_version") else {
        return Some(());
    };
    let detail = match version.map(number::<u32>) {
        Some(Ok(Document::FORMAT_VERSION)) => return Some(()),
        Some(Ok(other)) => format!(
            "is {other}, and this program reads {}; use the release that wrote the document",
            Document::FORMAT_VERSION
        ),
        Some(Err(detail)) => detail,
        None => "is missing".to_owned(),
    };
    notes.add(&Place::ROOT.field("format_version", 0), detail);
    None
}

/// The most parameters of a document.
pub const MAX_PARAMETERS: usize = 1000;

/// The parameters under `parameters`, in a document or in a configuration.
pub(crate) fn read_parameters(fields: &Fields<'_, '_>) -> Option<Parameters> {
    let mut parameters = Parameters::new();
    let mut count = 0_usize;
    fields.entries("parameters", |name, node, place, notes| {
        count += 1;
        if count > MAX_PARAMETERS {
            return;
        }
        let name = name
            .parse::<ParameterName>()
            .map_err(|error| notes.add(&place, format_args!("the name {error}")));
        let value = Parameter::read(node).map_err(|detail| notes.add(&place, detail));
        if let (Ok(name), Ok(value)) = (name, value)
            && parameters.insert(name, value).is_some()
        {
            notes.add(&place, "stands here more than once");
        }
    })?;
    if count > MAX_PARAMETERS {
        let detail = format!("must have at most {MAX_PARAMETERS} parameters, has {count}");
        fields.fault("parameters", detail);
        return None;
    }
    let length = parameters_text(&parameters).chars().count();
    if length > MAX_PARAMETERS_CHARS {
        let detail =
            format!("must have at most {MAX_PARAMETERS_CHARS} characters as JSON, has {length}");
        fields.fault("parameters", detail);
    }
    Some(parameters)
}

/// The most characters that all parameters of a run may have together, as [`parameters_text`]
/// writes them.
pub const MAX_PARAMETERS_CHARS: usize = 8000;

/// Parameters as JSON in canonical form: equal ones have equal texts.
pub fn parameters_text(parameters: &Parameters) -> String {
    // Names, texts, numbers and booleans always have a JSON form.
    serde_json::to_string(parameters).unwrap_or_default()
}

/// The parameters that [`parameters_text`] wrote.
///
/// # Errors
/// What does not fit.
pub fn parse_parameters(text: &str) -> Result<Parameters, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

impl Parameter {
    /// The most characters of a text.
    pub const MAX_CHARS: usize = 1000;

    fn read(node: Node<'_>) -> Result<Self, String> {
        if let Ok(flag) = boolean(node) {
            return Ok(Self::Flag(flag));
        }
        if let Ok(digits) = node.digits() {
            let number = digits.parse().map_err(|error| format!("{error}"));
            return number.map(Self::Number);
        }
        let text = node
            .text()
            .map_err(|_| "must be a string, a number, true or false")?;
        let length = text.chars().count();
        if length > Self::MAX_CHARS {
            let most = Self::MAX_CHARS;
            return Err(format!(
                "must be at most {most} characters long, has {length}"
            ));
        }
        Ok(Self::Text(text.into_owned()))
    }

    /// The value that a person wrote: a JSON number, `true`, `false`, or else a text as it is.
    pub fn from_words(text: &str) -> Self {
        let json = JsonText::parse(text.as_bytes()).ok();
        let read = json.and_then(|json| Self::read(json.node()).ok());
        read.unwrap_or_else(|| Self::Text(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Parameter {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(source)?;
        let json = JsonText::parse(json.get().as_bytes()).map_err(D::Error::custom)?;
        Self::read(json.node()).map_err(D::Error::custom)
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
        let count = if self.measured.is_empty() { 8 } else { 9 };
        let mut fields = serializer.serialize_struct("Document", count)?;
        fields.serialize_field("format_version", &Self::FORMAT_VERSION)?;
        fields.serialize_field("workload", &self.workload)?;
        fields.serialize_field("arch", &self.arch)?;
        fields.serialize_field("distro", &self.distro)?;
        fields.serialize_field("host_class", &self.host_class)?;
        fields.serialize_field("succeeded", &self.succeeded)?;
        fields.serialize_field("parameters", &self.parameters)?;
        if self.measured.is_empty() {
            fields.skip_field("measured")?;
        } else {
            fields.serialize_field("measured", &self.measured)?;
        }
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
            "measured": {
                "commit_sha": "0123456789abcdef0123456789abcdef01234567", "clean": true,
                "tool": "valgrind-3.19.0", "caches": "I1=32768,8,64",
            },
            "metrics": [{"metric_key": "callgrind.ir", "dim_key": "", "value": 1, "wallclock": false}],
        })
    }

    fn parse(body: Json) -> Result<Document, Faults> {
        parse_text(&body.to_string())
    }

    fn parse_text(text: &str) -> Result<Document, Faults> {
        Document::parse(JsonText::parse(text.as_bytes()).unwrap())
    }

    fn faults(change: impl FnOnce(&mut Json)) -> Vec<String> {
        let mut body = body();
        change(&mut body);
        let faults = parse(body).expect_err("the document does not fit");
        faults.lines().collect()
    }

    #[test]
    fn a_document_with_a_character_that_is_not_seen_cannot_be_made() {
        let text = br#"{"format_version": 1, "workload": "w", "arch": "amd64", "distro": "trixie",
            "host_class": "callgrind", "succeeded": true, "parameters": {},
            "metrics": [{"metric_key": "a", "value": 1}]}"#;
        let document = Document::parse(JsonText::parse(text).unwrap()).unwrap();
        let mut content = document.into_content();
        assert!(Document::new(content.clone()).is_ok());
        content.workload = "w\u{200b}".parse().unwrap();
        let error = Document::new(content.clone()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the workload must not hold characters that are not seen, has U+200B"
        );
        content.workload = "w".parse().unwrap();
        let mut metrics: Vec<_> = content.metrics.into_iter().cloned().collect();
        metrics[0].name.dim_key = "a=\u{202e}b".parse().unwrap();
        content.metrics = Metrics::new(metrics).unwrap();
        assert!(Document::new(content).is_err());
    }

    #[test]
    fn what_is_written_is_what_was_read_digit_for_digit() {
        let text = r#"{"format_version":1,"workload":"perf","arch":"amd64","distro":"trixie","host_class":"callgrind","succeeded":true,"parameters":{"a":1.50,"b":100000000000000000001,"c":"x","d":false},"metrics":[{"metric_key":"k","dim_key":"threads=2","value":9999999999999999.9999,"wallclock":true}]}"#;
        let document = parse_text(text).unwrap();
        assert_eq!(serde_json::to_string(&document).unwrap(), text);
        assert_eq!(parse_text(&document.to_string()), Ok(document));
    }

    #[test]
    fn what_was_measured_may_be_left_out_and_is_checked_where_it_stands() {
        let text = body().to_string();
        let document = parse_text(&text).unwrap();
        assert_eq!(document.measured.clean, Some(true));
        assert_eq!(parse_text(&document.to_string()).as_ref(), Ok(&document));
        let mut older = body();
        older.as_object_mut().unwrap().remove("measured");
        let older = parse(older).unwrap();
        assert!(older.measured.is_empty());
        assert!(!older.to_string().contains("measured"));
        let found = faults(|body| {
            body["measured"] =
                json!({"commit_sha": "abc", "clean": 1, "tool": "a\u{7}", "colour": 1});
        });
        assert_eq!(
            found,
            [
                "/measured/colour: is not a field of this object",
                "/measured/commit_sha: must be 40 hexadecimal digits, the whole name of a commit",
                "/measured/clean: must be true or false, is a number",
                "/measured/tool: must not hold control characters",
            ]
        );
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
                "/commit_sha: is not a field of this object",
                "/workload: must not be empty",
                "/distro: is missing",
                "/succeeded: must be true or false, is a number",
                "/parameters/: the name must not be empty",
                "/parameters/a~1b: must be a string, a number, true or false",
                "/parameters/n: must be a string, a number, true or false",
                "/metrics/0/value: must be a number, is a string",
                "/metrics/1/unit: is not a field of this object",
                "/metrics/1/metric_key: is missing",
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
