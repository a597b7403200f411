//! Files that a command writes once, for a person to change.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;

use super::{Outcome, print};
use crate::terminal::shown;

/// Writes `text` to `file`, or to standard output if it is `-`.
///
/// # Errors
/// A file that is there already, which stays as it is, or one that cannot be written.
pub(super) fn write(file: &Path, text: &str) -> anyhow::Result<Outcome> {
    if file == Path::new("-") {
        return print(text);
    }
    let shown = shown::path(file);
    let mut new = File::create_new(file).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            anyhow::anyhow!("{shown} is there already, and was left as it is")
        }
        _ => anyhow::Error::new(error).context(format!("cannot write {shown}")),
    })?;
    new.write_all(text.as_bytes())
        .with_context(|| format!("cannot write {shown}"))?;
    print(&format!(
        "wrote {shown}; read it, change it, and commit it\n"
    ))
}
