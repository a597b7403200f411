//! From the paths of a command line to the files that are read.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::terminal::tame;

/// Endings of the files that a folder is searched for.
const ENDINGS: [&str; 3] = ["json", "ndjson", "jsonl"];

/// Something to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// Where it is; `None` for standard input.
    pub(super) path: Option<PathBuf>,
    /// Whether a person named it, rather than a folder that it stands in: then it must hold a
    /// measurement.
    pub(super) is_named: bool,
}

/// What is to be read, and what cannot be.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// Ordered by path, each once; standard input comes first.
    pub(super) found: Vec<Source>,
    /// Paths that cannot be looked at, and why.
    pub(super) lost: Vec<(Source, String)>,
}

impl Source {
    /// Whether its lines are read one by one, whatever they hold.
    pub(super) fn is_lines(&self) -> bool {
        let ending = self.path.as_deref().map(ending);
        ending.is_none_or(|ending| matches!(ending.as_str(), "ndjson" | "jsonl"))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => f.write_str(&tame(&path.to_string_lossy())),
            None => f.write_str("standard input"),
        }
    }
}

fn ending(path: &Path) -> String {
    let ending = path.extension().unwrap_or_default();
    ending.to_string_lossy().to_ascii_lowercase()
}

impl Sources {
    /// Everything at or below `paths`; `-` is standard input. Links are followed, and a folder that
    /// leads back to itself is told, not walked for ever.
    pub(super) fn find(paths: &[PathBuf]) -> Self {
        let mut files: BTreeMap<Option<PathBuf>, bool> = BTreeMap::new();
        let mut sources = Self::default();
        for path in paths {
            if path == Path::new("-") {
                files.insert(None, true);
                continue;
            }
            for entry in WalkDir::new(path).follow_links(true).sort_by_file_name() {
                match entry {
                    Ok(entry) if entry.depth() == 0 && !entry.file_type().is_dir() => {
                        files.insert(Some(entry.into_path()), true);
                    }
                    Ok(entry) if is_wanted(&entry) => {
                        files.entry(Some(entry.into_path())).or_insert(false);
                    }
                    Ok(_) => {}
                    Err(error) => sources.lost.push(lost(path, error)),
                }
            }
        }
        let found = files.into_iter();
        sources.found = found
            .map(|(path, is_named)| Source { path, is_named })
            .collect();
        sources
    }

    /// How many bytes there are; `None` where standard input is among them.
    pub(super) fn size(&self) -> Option<u64> {
        let sizes = self.found.iter().map(|source| {
            let path = source.path.as_ref()?;
            Some(path.metadata().map_or(0, |found| found.len()))
        });
        sizes.sum()
    }
}

/// macOS puts a file `._NAME` beside a file on disks that are not its own; it is no JSON.
fn is_wanted(entry: &walkdir::DirEntry) -> bool {
    let is_of_macos = entry.file_name().to_string_lossy().starts_with("._");
    entry.file_type().is_file() && !is_of_macos && ENDINGS.contains(&ending(entry.path()).as_str())
}

fn lost(named: &Path, error: walkdir::Error) -> (Source, String) {
    let source = Source {
        path: Some(error.path().unwrap_or(named).to_owned()),
        is_named: true,
    };
    let why = match (error.loop_ancestor(), error.io_error()) {
        (Some(ancestor), _) => format!("leads back to {}", ancestor.display()),
        (None, Some(io)) => format!("cannot be read: {io}"),
        (None, None) => format!("cannot be read: {error}"),
    };
    (source, why)
}
