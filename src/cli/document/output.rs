//! Writes a file whole or not at all.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;

/// Readable and writable as the process's umask lets it be.
const MODE: u32 = 0o666;

/// Writes `text` to a file beside `path` and moves it there.
pub(super) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    write_to(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

fn write_to(path: &Path, text: &str) -> anyhow::Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        // A pipe or a device has no half.
        return Ok(fs::write(path, text)?);
    }
    // A link stays one: what it points to is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&path)?;
    Ok(())
}
