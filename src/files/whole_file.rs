//! A file that is written whole or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::NamedTempFile;

use crate::terminal::shown;

/// The mode of a new file, less what the process's umask takes away.
const MODE: u32 = 0o666;

/// Writes `text` to a file beside `path` and moves it there.
///
/// # Errors
/// Why it cannot be written; what was there stays.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let write = || {
        let mut file = WholeFile::create(path)?;
        file.write_all(text.as_bytes())?;
        file.keep()
    };
    write().with_context(|| format!("{} cannot be written", shown::path(path)))
}

/// Says now what would keep [`write`] from writing later, for one who works long before he writes.
///
/// # Errors
/// That the folder is missing, or that nothing can be made in it.
pub(crate) fn check(path: &Path) -> anyhow::Result<()> {
    let made = if path.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else if is_special(path) {
        Ok(())
    } else {
        tempfile::tempfile_in(folder(path)).map(drop)
    };
    made.with_context(|| format!("{} cannot be written", shown::path(path)))
}

/// A pipe or a device has no half.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file())
}

/// The folder that a file is or will be in.
pub(crate) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A file beside its place, moved there by [`WholeFile::keep`]; dropped before, it leaves what was
/// there as it was.
pub(crate) enum WholeFile {
    Beside { file: NamedTempFile, path: PathBuf },
    Device(File),
}

impl WholeFile {
    /// A file that will stand at `path`.
    ///
    /// # Errors
    /// If there can be none.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        if is_special(path) {
            return Ok(Self::Device(File::options().write(true).open(path)?));
        }
        // A link stays one: what it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(MODE))
            .tempfile_in(folder(&path))?;
        // A file that only its owner can read stays so: the umask is asked for new files alone.
        if let Ok(replaced) = fs::metadata(&path) {
            let mode = replaced.permissions().mode() & 0o777;
            file.as_file()
                .set_permissions(Permissions::from_mode(mode))?;
        }
        Ok(Self::Beside { file, path })
    }

    /// Puts the file in its place, once it is on disk.
    ///
    /// # Errors
    /// If it cannot be put there; what was there stays.
    pub(crate) fn keep(self) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_replaced_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        for mode in [0o600, 0o640, 0o604, 0o400] {
            let _ = fs::remove_file(&path);
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            write(&path, "new").unwrap();
            let found = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{found:o}");
            assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        }
    }
}
