//! The sizes of programs and plugins: flags -> readers -> metrics.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use super::gathered::{Gathered, read_binary, read_text};
use crate::collect::{self, Sizes};

/// Which sizes.
#[derive(Args, Debug, Default)]
pub(crate) struct SizeArgs {
    /// What `size` printed, in any of its forms
    #[arg(long, value_name = "FILE", num_args = 1..)]
    size: Vec<PathBuf>,
    /// What `size` printed of the plugins: their number, and their size together
    #[arg(long, value_name = "FILE", num_args = 1..)]
    plugin_size: Vec<PathBuf>,
    /// A program, library or archive whose size is read off; named as its file, or as said
    #[arg(long, value_name = "[NAME=]FILE", num_args = 1..)]
    binary: Vec<NamedFile>,
    /// The plugins, to be counted and measured together
    #[arg(long, value_name = "FILE", num_args = 1..)]
    plugin: Vec<PathBuf>,
}

/// A file, and perhaps what to call it.
#[derive(Clone, Debug)]
struct NamedFile {
    name: Option<String>,
    path: PathBuf,
}

impl FromStr for NamedFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = match text.split_once('=') {
            Some((name, path)) => (Some(name.to_owned()), path),
            None => (None, text),
        };
        if path.is_empty() || name.as_deref() == Some("") {
            return Err("must be FILE or NAME=FILE".to_owned());
        }
        Ok(Self {
            name,
            path: path.into(),
        })
    }
}

impl SizeArgs {
    /// The programs whose size is asked for by file.
    pub(crate) fn binaries(&self) -> impl Iterator<Item = &PathBuf> {
        self.binary.iter().map(|file| &file.path)
    }

    /// Reads every one of them.
    pub(crate) fn gather(&self, gathered: &mut Gathered) {
        for path in &self.size {
            gathered.take(
                path,
                read_text(path, |text| collect::read_sizes(text)?.of_files()),
            );
        }
        for NamedFile { name, path } in &self.binary {
            let read = read_binary(path, name.as_deref())
                .and_then(|sizes| sizes.of_files().map_err(|error| error.to_string()));
            gathered.take(path, read);
        }
        let mut plugins = Sizes::default();
        let mut last = None;
        let printed = self.plugin_size.iter().map(|path| (path, true));
        let files = self.plugin.iter().map(|path| (path, false));
        for (path, is_printed) in printed.chain(files) {
            let read = if is_printed {
                read_text(path, collect::read_sizes)
            } else {
                read_binary(path, None)
            };
            match read {
                Ok(sizes) => {
                    plugins.files.extend(sizes.files);
                    last = Some(path);
                }
                Err(fault) => gathered.fault(path, fault),
            }
        }
        if let Some(path) = last {
            gathered.take(path, plugins.of_set().map_err(|error| error.to_string()));
        }
    }
}
