//! The document that is judged.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Map, Value as Json};

use crate::cli::shown;
use crate::domain::{Branch, CommitSha, Fault, Run, Series};
use crate::judge::Candidate;

const FORMAT_VERSION: u64 = 1;

/// What a measurement wrote.
pub(super) struct Document {
    run: Run,
    parameters: BTreeMap<String, Json>,
}

impl Document {
    /// The series that it would join on `branch`.
    pub(super) fn series(&self, branch: Branch) -> Series {
        Series {
            branch,
            ..self.run.series.clone()
        }
    }

    pub(super) fn candidate(&self, series: Series, commit: Option<CommitSha>) -> Candidate {
        Candidate {
            series,
            commit,
            host_class: self.run.host_class.clone(),
            succeeded: self.run.succeeded,
            parameters: self.parameters.clone(),
            metrics: self.run.metrics.clone(),
        }
    }
}

/// The document in a file, or every reason why it is none.
pub(super) fn read(path: &Path) -> anyhow::Result<Document> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin {
        "standard input".to_owned()
    } else {
        shown::path(path)
    };
    let mut bytes = Vec::new();
    let result = if is_stdin {
        io::stdin().lock().read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|mut file| file.read_to_end(&mut bytes))
    };
    result.with_context(|| format!("cannot read the document in {name}"))?;
    let json = serde_json::from_slice(&bytes).with_context(|| format!("{name} is not JSON"))?;
    parse(json).map_err(|faults| {
        let lines = faults.iter().map(|fault| format!("\n  {fault}"));
        anyhow::anyhow!(
            "{name} holds no document that fits{}",
            lines.collect::<String>()
        )
    })
}

/// What a pipeline adds to a document before it is a run.
const ADDED: [(&str, &str); 5] = [
    ("repo", "document"),
    ("branch", "document"),
    ("commit_sha", "0000000000000000000000000000000000000000"),
    ("pipeline", "document"),
    ("run_date", "1970-01-01T00:00:00Z"),
];

/// A document is a run without what the pipeline knows, so it is read as one.
fn parse(json: Json) -> Result<Document, Vec<Fault>> {
    let Json::Object(mut object) = json else {
        return Err(vec![Fault::new("", "must be an object")]);
    };
    let mut faults = Vec::new();
    let version = object.remove("format_version").unwrap_or_default();
    if version.as_u64() != Some(FORMAT_VERSION) {
        let detail = format!("must be {FORMAT_VERSION}; use the release that wrote the document");
        return Err(vec![Fault::new("/format_version", detail)]);
    }
    let parameters = parameters(object.remove("parameters"), &mut faults);
    for name in ["change", "patchset", "tag"] {
        refuse(&mut object, name, &mut faults);
    }
    for (name, value) in ADDED {
        refuse(&mut object, name, &mut faults);
        object.insert(name.to_owned(), Json::from(value));
    }
    match Run::parse(&Json::Object(object)) {
        Ok(run) if faults.is_empty() => Ok(Document { run, parameters }),
        Ok(_) => Err(faults),
        Err(more) => Err([faults, more].concat()),
    }
}

fn refuse(object: &mut Map<String, Json>, name: &str, faults: &mut Vec<Fault>) {
    if object.remove(name).is_some() {
        let detail = "is not a field of this object";
        faults.push(Fault::new(format!("/{name}"), detail));
    }
}

fn parameters(json: Option<Json>, faults: &mut Vec<Fault>) -> BTreeMap<String, Json> {
    let Some(Json::Object(object)) = json else {
        faults.push(Fault::new(
            "/parameters",
            "must be an object; `{}` where there are none",
        ));
        return BTreeMap::new();
    };
    for (name, value) in &object {
        if matches!(value, Json::Null | Json::Array(_) | Json::Object(_)) {
            let name = name.replace('~', "~0").replace('/', "~1");
            let detail = "must be a string, a number, true or false";
            faults.push(Fault::new(format!("/parameters/{name}"), detail));
        }
    }
    object.into_iter().collect()
}
