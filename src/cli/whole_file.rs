//! Writes a file whole or not at all.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;

/// Readable and writable as the process's umask lets it be.
const MODE: u32 = 0o666;

/// Writes `text` to a file beside `path` and moves it there.
pub(super) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    write_to(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// Says now what would keep [`write`] from writing later, for one who works long before he writes.
///
/// # Errors
/// That the folder is missing, or that nothing can be made in it.
pub(super) fn check(path: &Path) -> anyhow::Result<()> {
    let made = if path.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else if is_special(path) {
        Ok(())
    } else {
        tempfile::tempfile_in(folder(path)).map(drop)
    };
    made.with_context(|| format!("{} cannot be written", path.display()))
}

/// A pipe or a device has no half.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file())
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn write_to(path: &Path, text: &str) -> anyhow::Result<()> {
    if is_special(path) {
        return Ok(fs::write(path, text)?);
    }
    // A link stays one: what it points to is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(folder(&path))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&path)?;
    Ok(())
}
