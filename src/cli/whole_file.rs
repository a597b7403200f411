//! A file that is written whole or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Readable and writable as the process's umask lets it be.
const MODE: u32 = 0o666;

/// A file beside its place, moved there by [`WholeFile::keep`]; dropped before, it leaves what was
/// there as it was.
pub(super) enum WholeFile {
    Beside {
        file: NamedTempFile,
        path: PathBuf,
    },
    /// A pipe or a device has no half.
    Device(File),
}

impl WholeFile {
    /// A file that will stand at `path`.
    ///
    /// # Errors
    /// If there can be none.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Ok(Self::Device(File::options().write(true).open(path)?));
        }
        // A link stays one: what it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(MODE))
            .tempfile_in(folder)?;
        Ok(Self::Beside { file, path })
    }

    /// Puts the file in its place, once it is on disk.
    ///
    /// # Errors
    /// If it cannot be put there; what was there stays.
    pub(super) fn keep(self) -> io::Result<()> {
        if let Self::Beside { file, path } = self {
            file.as_file().sync_all()?;
            file.persist(path)?;
        }
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Beside { file, .. } => file.write(bytes),
            Self::Device(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Beside { file, .. } => file.flush(),
            Self::Device(file) => file.flush(),
        }
    }
}
