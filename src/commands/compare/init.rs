//! `perf-tracking compare init`.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::DEFAULT_CONTRACT;
use crate::commands::{Outcome, print};
use crate::judge::comparison::contract::DEFAULT_TEXT;
use crate::terminal::shown;

/// Write a contract, with what each key means
///
/// A file that is there already is left as it is, and the exit code is 2.
#[derive(Args, Debug)]
pub(in crate::commands) struct InitArgs {
    /// File to write; `-` is standard output
    #[arg(value_name = "FILE", default_value = DEFAULT_CONTRACT)]
    file: PathBuf,
}

impl InitArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        if self.file == Path::new("-") {
            return print(DEFAULT_TEXT);
        }
        let shown = shown::path(&self.file);
        let mut file = File::create_new(&self.file).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                anyhow::anyhow!("{shown} is there already, and was left as it is")
            }
            _ => anyhow::Error::new(error).context(format!("cannot write {shown}")),
        })?;
        file.write_all(DEFAULT_TEXT.as_bytes())
            .with_context(|| format!("cannot write {shown}"))?;
        print(&format!(
            "wrote {shown}; read it, change it, and commit it\n"
        ))
    }
}
