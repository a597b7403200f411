//! Files that are read whole, and only so far: what is larger may have no end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most that is read: several times the largest history that the gate can need.
const MOST: u64 = 256 << 20;

/// All that a file holds.
///
/// # Errors
/// If it cannot be read, or holds more than [`MOST`] bytes.
pub(super) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    bytes_of(File::open(path)?)
}

/// The same, as text.
///
/// # Errors
/// As of [`bytes`], or if it is no UTF-8.
pub(super) fn text(path: &Path) -> io::Result<String> {
    String::from_utf8(bytes(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no UTF-8 text"))
}

/// All that is left of `source`.
///
/// # Errors
/// As of [`bytes`].
pub(super) fn bytes_of(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return Err(io::Error::other(format!(
            "it holds more than {} MiB, which no file of its kind does",
            MOST >> 20
        )));
    }
    Ok(bytes)
}
