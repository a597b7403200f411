//! The file of a store that a command opens itself.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What the address of a store's file starts with.
const SCHEME: &str = "sqlite:";

/// Ends the address of a file that must not change.
const READ_ONLY: &str = "?mode=ro";

/// A SQLite file that holds runs, as `--server sqlite:FILE` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFile {
    path: PathBuf,
    read_only: bool,
}

impl StoreFile {
    /// Whether `text` is the address of a file, well formed or not.
    pub(super) fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the address asks to leave the file as it is.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }
}

impl FromStr for StoreFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix(SCHEME).unwrap_or(text);
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        let (file, read_only) = match rest.strip_suffix(READ_ONLY) {
            Some(file) => (file, true),
            None => (rest, false),
        };
        if file.is_empty() {
            return Err(format!("`{text}` names no file; write sqlite:FILE"));
        }
        if file == ":memory:" {
            return Err(format!(
                "`{text}` would forget every run when the command ends; write sqlite:FILE"
            ));
        }
        if file.contains('?') {
            return Err(format!(
                "`{text}` has a parameter that is not known; the only one is `{READ_ONLY}`"
            ));
        }
        Ok(Self {
            path: file.into(),
            read_only,
        })
    }
}

impl fmt::Display for StoreFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.read_only { READ_ONLY } else { "" };
        write!(f, "{SCHEME}{}{mode}", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_be_written_with_or_without_slashes() {
        for (text, path, read_only) in [
            ("sqlite:perf.db", "perf.db", false),
            ("sqlite://perf.db", "perf.db", false),
            ("sqlite:/srv/perf.db", "/srv/perf.db", false),
            ("sqlite:///srv/perf.db", "/srv/perf.db", false),
            ("sqlite:a b#1%.db", "a b#1%.db", false),
            ("sqlite:perf.db?mode=ro", "perf.db", true),
        ] {
            let file: StoreFile = text.parse().unwrap();
            assert_eq!((file.path(), file.read_only), (Path::new(path), read_only));
        }
    }

    #[test]
    fn a_file_that_would_keep_nothing_is_refused() {
        for (text, said) in [
            ("sqlite:", "names no file"),
            ("sqlite://", "names no file"),
            ("sqlite:?mode=ro", "names no file"),
            ("sqlite::memory:", "would forget every run"),
            (
                "sqlite:perf.db?mode=memory",
                "a parameter that is not known",
            ),
            (
                "sqlite:perf.db?immutable=1",
                "a parameter that is not known",
            ),
        ] {
            let error = text.parse::<StoreFile>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
