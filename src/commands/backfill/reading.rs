//! From a JSON text to the run that it stands for.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::files::Source;
use super::git::Git;
use super::known::{Field, Known};
use super::pattern::Pattern;
use crate::api::VoidedBody;
use crate::collect::{self, Kind};
use crate::domain::{
    Document, DocumentContent, Faults, JsonText, Measured, Metrics, Parameters, Run, Upload,
    VoidReason,
};
use crate::files::gathered::say_notes;
use crate::read::Place;

/// Why a text yields no run.
pub(super) enum NoRun {
    /// It is no measurement of any kind: why.
    Other(String),
    /// It is a measurement that makes no run: why.
    Refused(String),
}

/// A run, and why it is voided, if it is.
type Found = (Run, Option<VoidReason>);

/// A voided run, as an export writes it.
fn voided(json: JsonText<'_>) -> Result<Found, String> {
    let run = Run::parse_listed(json).map_err(|faults| list(&faults))?;
    let voided: VoidedBody = json
        .field("voided")
        .map_err(|error| format!("/voided: {error}"))?;
    Ok((run, Some(voided.reason)))
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
    pub(super) fn read(&mut self, source: &Source, text: &[u8]) -> Result<Found, NoRun> {
        let json = JsonText::parse(text.trim_ascii_end())
            .map_err(|error| NoRun::Refused(format!("is not JSON: {error}")))?;
        if !json.is_object() {
            return Err(NoRun::Other("holds no JSON object".to_owned()));
        }
        let read = if json.has("voided") {
            voided(json)
        } else if is_map(json) {
            self.map(source, json).map(|run| (run, None))
        } else if is_measurement(json) {
            self.upload(source, json).map(|run| (run, None))
        } else {
            return Err(NoRun::Other(
                "is neither a document, nor a run, nor a map of metrics to numbers".to_owned(),
            ));
        };
        read.map_err(NoRun::Refused)
    }

    fn upload(&mut self, source: &Source, json: JsonText<'_>) -> Result<Run, String> {
        match Upload::parse(json).map_err(|faults| list(&faults))? {
            Upload::Run(run) => Ok(*run),
            Upload::Document(document) => {
                let known = self.complete(source, Known::default())?;
                Ok(document.into_run(known.provenance()?))
            }
        }
    }

    /// A flat map: numbers are metrics, and texts are fields of the run.
    fn map(&mut self, source: &Source, json: JsonText<'_>) -> Result<Run, String> {
        let FlatMap { own, numbers } = FlatMap::read(json).map_err(|faults| list(&faults))?;
        let reading = collect::read_values(&numbers, self.kind);
        let reading = reading.map_err(|error| error.to_string())?;
        if let Some(path) = &source.path {
            say_notes(path, &reading.notes);
        }
        let metrics = reading.metrics;
        let known = self.complete(source, own)?;
        let content = DocumentContent {
            workload: known.needed(Field::Workload)?,
            arch: known.needed(Field::Arch)?,
            distro: known.needed(Field::Distro)?,
            host_class: known.needed(Field::HostClass)?,
            succeeded: true,
            parameters: Parameters::new(),
            measured: Measured::default(),
            metrics: Metrics::new(metrics).map_err(|error| error.to_string())?,
        };
        let document = Document::new(content).map_err(|error| error.to_string())?;
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
            Some(sha) if known.get(Field::RunDate).is_some() => {
                // The run is whole without the subject, so nothing is said where git has none.
                if let Ok(commit) = self.git.commit(path, &sha) {
                    known.fill_from(&Known::of_subject(&commit.subject));
                }
                return Ok(());
            }
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
        found.fill_from(&Known::of_subject(&commit.subject));
        known.fill_from(&found);
        Ok(())
    }
}

/// Whether an object holds numbers, and perhaps texts under the names of a run's fields.
fn is_map(json: JsonText<'_>) -> bool {
    let mut has_number = false;
    let fits = json.all_entries(|name, value| {
        let is_number = value.digits().is_ok();
        has_number |= is_number;
        if is_number {
            name != "format_version"
        } else {
            value.text().is_ok() && name.parse::<Field>().is_ok()
        }
    });
    fits && has_number
}

/// Whether an object has what a document or a run has, and hardly anything else.
fn is_measurement(json: JsonText<'_>) -> bool {
    ["format_version", "commit_sha", "run_date", "metrics"]
        .iter()
        .any(|name| json.has(name))
}

/// What a flat map says.
struct FlatMap {
    /// The fields of the run that it says.
    own: Known,
    /// The map of its numbers alone, as JSON.
    numbers: String,
}

impl FlatMap {
    fn read(json: JsonText<'_>) -> Result<Self, Faults> {
        json.read(|node, notes| {
            let mut own = Known::default();
            let mut numbers = String::new();
            let mut names = HashSet::new();
            let read = node.entries(&mut |name, _, value| {
                if !names.insert(name.to_string()) {
                    notes.add(&Place::ROOT.field(&name, 0), "stands here more than once");
                } else if let (Ok::<Field, _>(field), Ok(text)) = (name.parse(), value.text()) {
                    own.set(field, &text);
                } else if let Ok(digits) = value.digits() {
                    let separator = if numbers.is_empty() { '{' } else { ',' };
                    let _ = write!(numbers, "{separator}{}:{digits}", Json::from(&*name));
                }
            });
            numbers.push('}');
            read.map_err(|detail| notes.add(&Place::ROOT, detail))
                .ok()?;
            Some(Self { own, numbers })
        })
    }
}

/// Faults of one text that are told: a backfill reads many texts.
const TOLD: usize = 20;

/// Faults as one line.
pub(super) fn list(faults: &Faults) -> String {
    faults.first(TOLD).collect::<Vec<_>>().join("; ")
}
