//! The SQLite file that the service has open, held against what its path names now.
//!
//! A file that is deleted or replaced stays open: every write to it succeeds, and every run that was
//! acknowledged is gone with the last connection. So an upload is acknowledged only while the path
//! still leads to the file that was opened first.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::StoreError;

/// How every SQLite file begins.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// A SQLite file. Cheap to clone.
#[derive(Clone)]
pub(super) struct DataFile(Arc<Inner>);

struct Inner {
    path: PathBuf,
    /// Whether there is a write-ahead log beside the file while it is open.
    has_log: bool,
    /// The file that the first connection opened.
    opened: OnceLock<Identity>,
    read_only: AtomicBool,
}

/// What tells one file from every other.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl From<Metadata> for Identity {
    fn from(found: Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
        }
    }
}

impl DataFile {
    pub(super) fn new(path: &Path, has_log: bool) -> Self {
        Self(Arc::new(Inner {
            path: path.to_owned(),
            has_log,
            opened: OnceLock::new(),
            read_only: AtomicBool::new(false),
        }))
    }

    /// Notes which file a connection has opened. The first one decides; a later connection to
    /// another file is refused.
    pub(super) fn note_opened(&self) -> Result<(), StoreError> {
        let found = self.identity()?;
        if *self.0.opened.get_or_init(|| found) == found {
            return Ok(());
        }
        Err(self.lost("was replaced by another file"))
    }

    /// Checks that the path still leads to the open file, and that the file is a SQLite file.
    ///
    /// # Errors
    /// [`StoreError::FileLost`] with what became of it.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        self.note_opened()?;
        let mut start = [0; MAGIC.len()];
        File::open(&self.0.path)
            .and_then(|mut file| file.read_exact(&mut start))
            .map_err(|error| self.lost(&format!("cannot be read: {error}")))?;
        if start != *MAGIC {
            return Err(self.lost("is no SQLite file any more"));
        }
        if !self.0.has_log || self.was_read_only() {
            return Ok(());
        }
        // Connections are open, so the write-ahead log that they write into must be there.
        match std::fs::metadata(self.log_path()) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.lost(&format!("has lost its write-ahead log: {error}"))),
        }
    }

    /// Remembers whether the last write was refused because the file is read-only.
    pub(super) fn note_read_only(&self, read_only: bool) {
        self.0.read_only.store(read_only, Ordering::Relaxed);
    }

    /// Whether the last write was refused because the file is read-only.
    pub(super) fn was_read_only(&self) -> bool {
        self.0.read_only.load(Ordering::Relaxed)
    }

    fn identity(&self) -> Result<Identity, StoreError> {
        match std::fs::metadata(&self.0.path) {
            Ok(found) => Ok(found.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(self.lost("was deleted or moved away"))
            }
            Err(error) => Err(self.lost(&format!("cannot be read: {error}"))),
        }
    }

    fn log_path(&self) -> PathBuf {
        let mut path = self.0.path.clone().into_os_string();
        path.push("-wal");
        path.into()
    }

    fn lost(&self, what: &str) -> StoreError {
        StoreError::FileLost {
            path: self.0.path.display().to_string(),
            what: what.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(folder: &Path) -> DataFile {
        let path = folder.join("runs.db");
        std::fs::write(&path, [MAGIC.as_slice(), &[0; 84]].concat()).unwrap();
        std::fs::write(folder.join("runs.db-wal"), "").unwrap();
        let file = DataFile::new(&path, true);
        file.note_opened().unwrap();
        file.check().unwrap();
        file
    }

    fn refusal(file: &DataFile) -> String {
        file.check().unwrap_err().to_string()
    }

    #[test]
    fn a_deleted_file_is_told_and_one_that_comes_back_is_good_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = database(folder.path());
        let (path, away) = (folder.path().join("runs.db"), folder.path().join("away"));
        std::fs::rename(&path, &away).unwrap();
        assert!(refusal(&file).contains("was deleted or moved away"));
        std::fs::rename(&away, &path).unwrap();
        file.check().unwrap();
    }

    #[test]
    fn a_replaced_a_malformed_and_a_halved_file_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = database(folder.path());
        std::fs::remove_file(folder.path().join("runs.db-wal")).unwrap();
        assert!(refusal(&file).contains("write-ahead log"));
        std::fs::write(folder.path().join("runs.db"), "garbage that is long enough").unwrap();
        assert!(refusal(&file).contains("no SQLite file"));
        let other = folder.path().join("other");
        std::fs::write(&other, MAGIC).unwrap();
        std::fs::rename(other, folder.path().join("runs.db")).unwrap();
        assert!(refusal(&file).contains("was replaced"));
    }
}
