//! From a JSON text to the run that it stands for.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use super::files::Source;
use super::git::Git;
use super::known::{Field, Known};
use super::pattern::Pattern;
use crate::collect::{self, Kind};
use crate::domain::{Document, Fault, JsonText, Run, Upload};

/// Why a text yields no run.
pub(super) enum NoRun {
    /// It is no measurement of any kind: why.
    Other(String),
    /// It is a measurement that makes no run: why.
    Refused(String),
}

/// Reads texts; knows what they leave out.
#[derive(Debug)]
pub(super) struct Reader {
    /// What the command line says of files that do not say it themselves.
    pub(super) flags: Known,
    pub(super) pattern: Option<Pattern>,
    pub(super) kind: Kind,
    pub(super) git: Git,
}

impl Reader {
    /// The run that `text` of `source` stands for.
    pub(super) fn read(&mut self, source: &Source, text: &[u8]) -> Result<Run, NoRun> {
        let json = JsonText::parse(text.trim_ascii_end())
            .map_err(|error| NoRun::Refused(format!("is not JSON: {error}")))?;
        let Json::Object(object) = &json.content else {
            return Err(NoRun::Other("holds no JSON object".to_owned()));
        };
        let read = if is_map(object) {
            self.map(source, &json, object)
        } else if is_measurement(object) {
            self.upload(source, &json)
        } else {
            return Err(NoRun::Other(
                "is neither a document, nor a run, nor a map of metrics to numbers".to_owned(),
            ));
        };
        read.map_err(NoRun::Refused)
    }

    fn upload(&mut self, source: &Source, json: &JsonText) -> Result<Run, String> {
        match Upload::parse(json).map_err(|faults| list(&faults))? {
            Upload::Run(run) => Ok(run),
            Upload::Document(document) => {
                let known = self.complete(source, Known::default())?;
                Ok(document.into_run(known.provenance()?))
            }
        }
    }

    /// A flat map: numbers are metrics, and texts are fields of the run.
    fn map(
        &mut self,
        source: &Source,
        json: &JsonText,
        object: &Map<String, Json>,
    ) -> Result<Run, String> {
        if !json.repeated.is_empty() {
            return Err(list(&json.repeated));
        }
        let mut own = Known::default();
        let mut numbers = Map::new();
        for (name, value) in object {
            match value {
                Json::String(text) => own.set(name.parse()?, text),
                value => _ = numbers.insert(name.clone(), value.clone()),
            }
        }
        let reading = collect::read_values(&Json::Object(numbers).to_string(), self.kind);
        let mut metrics = reading.map_err(|error| error.to_string())?.metrics;
        metrics.sort_by(|a, b| a.name.cmp(&b.name));
        let known = self.complete(source, own)?;
        let document = Document {
            workload: known.needed(Field::Workload)?,
            arch: known.needed(Field::Arch)?,
            distro: known.needed(Field::Distro)?,
            host_class: known.needed(Field::HostClass)?,
            succeeded: true,
            parameters: Default::default(),
            metrics,
        };
        Ok(document.into_run(known.provenance()?))
    }

    /// What the file says itself, then what its path says, the command line, its name and git.
    fn complete(&mut self, source: &Source, mut known: Known) -> Result<Known, String> {
        let path: PathBuf = source.path.clone().unwrap_or_default();
        if let Some(pattern) = &self.pattern {
            let from_path = pattern.read(&path).ok_or_else(|| {
                format!(
                    "its path is not of the form `{}` (--from-path)",
                    pattern.as_str()
                )
            })?;
            known.fill_from(&from_path);
        }
        known.fill_from(&self.flags);
        if known.get(Field::Tag).is_none() {
            known.set(Field::Tag, &self.default_tag(&path));
        }
        self.ask_git(&path, &mut known)?;
        Ok(known)
    }

    /// A file is a release, named after it, unless --from-path says what its path says.
    fn default_tag(&self, path: &Path) -> String {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        match self.pattern {
            Some(_) => String::new(),
            None => stem.into_owned(),
        }
    }

    /// Looks up the commit of a release, and the date of a commit.
    fn ask_git(&mut self, path: &Path, known: &mut Known) -> Result<(), String> {
        let tag = known.get(Field::Tag).unwrap_or_default().to_owned();
        let commit = match known.get(Field::CommitSha).map(str::to_owned) {
            Some(_) if known.get(Field::RunDate).is_some() => return Ok(()),
            Some(sha) => self.git.commit(path, &sha).map_err(|why| {
                format!("has no `run_date`, and {why}: say it with --run-date, in the path with --from-path, or name a checkout with --git")
            })?,
            None if tag.is_empty() => return Ok(()),
            None => self.git.tag(path, &tag).map_err(|why| {
                format!("has no `commit_sha`, and {why}: say it with --commit, in the path with --from-path, or name a checkout with --git")
            })?,
        };
        let mut found = Known::default();
        found.set(Field::CommitSha, &commit.sha);
        found.set(Field::RunDate, &commit.date);
        known.fill_from(&found);
        Ok(())
    }
}

/// Numbers, and perhaps texts under the names of a run's fields.
fn is_map(object: &Map<String, Json>) -> bool {
    let fits = |(name, value): (&String, &Json)| match value {
        Json::Number(_) => name != "format_version",
        Json::String(_) => name.parse::<Field>().is_ok(),
        _ => false,
    };
    object.iter().all(fits) && object.values().any(Json::is_number)
}

/// What a document or a run has, and hardly anything else.
fn is_measurement(object: &Map<String, Json>) -> bool {
    let has = |name: &str| object.contains_key(name);
    has("format_version") || has("commit_sha") || has("run_date") || has("metrics")
}

/// Faults of one text that are told: it may have as many as it has metrics.
const TOLD: usize = 20;

/// Faults as one line.
pub(super) fn list(faults: &[Fault]) -> String {
    let mut told: Vec<String> = faults.iter().take(TOLD).map(Fault::to_string).collect();
    if faults.len() > TOLD {
        told.push(format!("and {} more", faults.len() - TOLD));
    }
    told.join("; ")
}
