//! Where a document goes.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;

use crate::cli::whole_file::WholeFile;

/// Writes `text` to `path`, whole or not at all.
pub(super) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    write_to(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

fn write_to(path: &Path, text: &str) -> io::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(text.as_bytes())?;
    file.keep()
}
