//! What was read of files: the metrics, which file each came from, and all that is wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::input::Input;
use crate::collect::{self, Reading, Sizes, Unreadable, plural, text};
use crate::domain::{Metric, MetricName};
use crate::terminal::tame;

/// Says what was read; a reader that has had enough is no failure.
pub(crate) fn say(path: &Path, what: &str) {
    use io::Write as _;
    let _ = writeln!(io::stderr(), "read {}: {what}", path.display());
}

/// More notes on one file than this are counted, not told.
const MAX_NOTES: usize = 20;

/// Says what a person must know of a file: benchmarks that were left out, names that were shortened.
pub(crate) fn say_notes(path: &Path, notes: &[String]) {
    use io::Write as _;
    let mut stderr = io::stderr();
    for note in notes.iter().take(MAX_NOTES) {
        let _ = writeln!(stderr, "note: {}: {}", path.display(), tame(note));
    }
    if notes.len() > MAX_NOTES {
        let more = notes.len() - MAX_NOTES;
        let _ = writeln!(stderr, "note: {}: and {more} more notes", path.display());
    }
}

/// What was read so far.
#[derive(Default)]
pub(crate) struct Gathered {
    metrics: Vec<Metric>,
    /// Which file each came from.
    origins: BTreeMap<MetricName, PathBuf>,
    faults: Vec<String>,
}

impl Gathered {
    pub(crate) fn take(&mut self, path: &Path, read: Result<Reading, impl fmt::Display>) {
        match read {
            Ok(Reading {
                metrics,
                what,
                notes,
            }) => {
                let count = plural(metrics.len(), "metric");
                say(path, &format!("{what} ({count})"));
                say_notes(path, &notes);
                self.add(path, metrics);
            }
            Err(fault) => self.fault(path, fault.to_string()),
        }
    }

    pub(crate) fn add(&mut self, path: &Path, metrics: Vec<Metric>) {
        for metric in metrics {
            match self.origins.insert(metric.name.clone(), path.to_owned()) {
                None => self.metrics.push(metric),
                Some(other) => {
                    let MetricName {
                        metric_key,
                        dim_key,
                    } = &metric.name;
                    let fault = format!(
                        "has `{metric_key}` with dimension `{dim_key}`, and so has {}; a document has it once, so leave one out or give it another name",
                        if other == path {
                            "another line of it".into()
                        } else {
                            other.display().to_string()
                        }
                    );
                    self.fault(path, fault);
                }
            }
        }
    }

    pub(crate) fn fault(&mut self, path: &Path, fault: impl Into<String>) {
        self.faults
            .push(format!("{}: {}", path.display(), fault.into()));
    }

    pub(crate) fn finish(self) -> anyhow::Result<Vec<Metric>> {
        match self.faults.as_slice() {
            [] => Ok(self.metrics),
            [fault] => anyhow::bail!("{fault}"),
            faults => anyhow::bail!("{} faults:\n  {}", faults.len(), faults.join("\n  ")),
        }
    }
}

pub(crate) fn unopened(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

/// Far more than any tool's report has that is not read line by line.
const MAX_TEXT_BYTES: usize = 256 << 20;

pub(crate) fn text_of(path: &Path) -> Result<String, String> {
    let bytes = Input::file(path)
        .bytes(MAX_TEXT_BYTES)
        .map_err(|error| unopened(&error))?;
    text::decode(bytes).map_err(|error| error.to_string())
}

pub(crate) fn read_text<T>(
    path: &Path,
    read: impl FnOnce(&str) -> Result<T, Unreadable>,
) -> Result<T, String> {
    read(&text_of(path)?).map_err(|error| error.to_string())
}

pub(crate) fn read_binary(path: &Path, name: Option<&str>) -> Result<Sizes, String> {
    let file = File::open(path).map_err(|error| unopened(&error))?;
    let cache = object::ReadCache::new(file);
    let own = path.file_name().unwrap_or_default().to_string_lossy();
    collect::read_binary(name.unwrap_or(&own), &cache).map_err(|error| error.to_string())
}
