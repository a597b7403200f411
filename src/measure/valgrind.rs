//! The two tools of valgrind that count: how they are told to, and what is read of what they leave.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;

use crate::collect::{Callgrind, Massif, Parts, Reading};

/// A tool; they cannot share a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Tool {
    /// Instructions, cache misses, branches and atomic operations
    Callgrind,
    /// The peak of the heap
    Massif,
}

/// All events are collected. The caches are those of no host: callgrind would else take the sizes
/// of the processor that it runs on, and no two hosts would count alike. They are 32 KiB for
/// instructions and for data, and 8 MiB at the last level, as a server of today has or nearly so.
///
/// A forked process starts with the counts of its parent. They are written, and so begin at zero,
/// before each fork, lest they be summed twice; these are the names of it in the C libraries.
const CALLGRIND: [&str; 12] = [
    "--cache-sim=yes",
    "--branch-sim=yes",
    "--collect-bus=yes",
    "--I1=32768,8,64",
    "--D1=32768,8,64",
    "--LL=8388608,16,64",
    "--dump-before=fork",
    "--dump-before=__fork",
    "--dump-before=__libc_fork",
    "--dump-before=_Fork",
    "--dump-before=vfork",
    "--dump-before=__vfork",
];

/// Why the files of a pass give no number.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {detail}")]
pub struct FileFault {
    /// Its name, without its folder.
    pub file: String,
    /// What is wrong with it, and what to do about it.
    pub detail: String,
}

impl Tool {
    /// What valgrind calls it, and what the metrics' keys start with.
    pub fn name(self) -> &'static str {
        match self {
            Self::Callgrind => "callgrind",
            Self::Massif => "massif",
        }
    }

    /// The flags that make its numbers what they are.
    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Callgrind => &CALLGRIND,
            Self::Massif => &[],
        }
    }

    /// The flag that says into which folder its files go, one a process; see [`Tool::file_of`].
    pub fn out_flag(self, folder: &Path) -> std::ffi::OsString {
        let mut flag = std::ffi::OsString::from(format!("--{}-out-file=", self.name()));
        flag.push(literal(folder));
        flag.push(format!("/{}.out.%p", self.name()));
        flag
    }

    /// The file of a process; callgrind puts the number of a part behind it where there are several.
    pub fn file_of(self, folder: &Path, process: u32) -> PathBuf {
        folder.join(format!("{}.out.{process}", self.name()))
    }

    /// Whether a process wrote what it had counted. Callgrind makes an empty file at its start, which
    /// stays where the process is killed or becomes a program that is not counted.
    pub fn wrote(self, folder: &Path, process: u32) -> bool {
        let file = self.file_of(folder, process).metadata();
        file.is_ok_and(|found| found.len() > 0)
    }

    /// All its files in a folder, with massif those of the regions, too.
    ///
    /// # Errors
    /// That the folder cannot be read.
    pub fn files_in(self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let prefix = format!("{}.out.", self.name());
        let mut files = Vec::new();
        for entry in folder.read_dir()? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(&prefix) || self == Self::Massif && name.starts_with("region.") {
                files.push(entry.path());
            }
        }
        files.sort();
        Ok(files)
    }

    /// The metrics of all files of one pass: counts are summed, of peaks the highest is taken. With a region, its alone.
    ///
    /// # Errors
    /// What is wrong with which file.
    pub fn read(self, files: &[PathBuf], region: Option<&str>) -> Result<Reading, FileFault> {
        match self {
            Self::Callgrind => read_callgrind(files, region),
            Self::Massif => read_massif(files, region),
        }
    }

    /// The environment variable that tells a program where massif puts the snapshots of its regions. None where the
    /// folder has a name that massif does not take.
    pub fn region_variable(self, folder: &Path) -> Option<(&'static str, &Path)> {
        let has_space = folder
            .as_os_str()
            .as_encoded_bytes()
            .iter()
            .any(u8::is_ascii_whitespace);
        (self == Self::Massif && !has_space).then_some(("PERF_TRACKING_REGION_FOLDER", folder))
    }
}

/// The caches that callgrind is told to simulate: `I1=32768,8,64 D1=32768,8,64 LL=8388608,16,64`.
pub fn caches() -> String {
    let flags = CALLGRIND.iter().filter_map(|flag| flag.strip_prefix("--"));
    let caches = flags.filter(|flag| {
        ["I1=", "D1=", "LL="]
            .iter()
            .any(|name| flag.starts_with(name))
    });
    caches.collect::<Vec<_>>().join(" ")
}

/// What valgrind calls itself, such as `valgrind-3.19.0`; `None` where it cannot be asked.
pub fn version() -> Option<String> {
    let output = Command::new("valgrind").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let version = text.lines().next().unwrap_or_default().trim();
    (output.status.success() && !version.is_empty()).then(|| version.to_owned())
}

/// The processes that have a log and no file in the folder of a pass: they were killed, or became a
/// program that was not counted.
///
/// # Errors
/// That the folder cannot be read.
pub fn uncounted(tool: Tool, folder: &Path) -> io::Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in folder.read_dir()? {
        let name = entry?.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix("log."));
        let process = process.and_then(|word| word.parse().ok());
        found.extend(process.filter(|process| !tool.wrote(folder, *process)));
    }
    found.sort_unstable();
    Ok(found)
}

/// A folder as valgrind takes it literally: it gives `%` a meaning.
fn literal(folder: &Path) -> std::ffi::OsString {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let bytes = folder.as_os_str().as_bytes();
    let doubled = bytes
        .iter()
        .flat_map(|&byte| std::iter::repeat_n(byte, if byte == b'%' { 2 } else { 1 }));
    std::ffi::OsString::from_vec(doubled.collect())
}

/// The flag for what valgrind itself says, a file a process; see [`log_of`].
pub fn log_flag(folder: &Path) -> std::ffi::OsString {
    let mut flag = std::ffi::OsString::from("--log-file=");
    flag.push(literal(folder));
    flag.push("/log.%p");
    flag
}

/// What valgrind itself said of a process.
pub fn log_of(folder: &Path, process: u32) -> PathBuf {
    folder.join(format!("log.{process}"))
}

fn read_callgrind(files: &[PathBuf], region: Option<&str>) -> Result<Reading, FileFault> {
    let mut callgrind = Callgrind::default();
    for path in files {
        File::open(path)
            .map_err(Into::into)
            .and_then(|file| callgrind.add(&name(path), file))
            .map_err(|error| fault(path, error))?;
    }
    // All that there are were added: a part without those before it is one of a forked process.
    let read = match region {
        Some(name) => callgrind.finish_region(name, Parts::Given),
        None => callgrind.finish(Parts::Given),
    };
    read.map_err(|error| fault(&common(files), error))
}

fn read_massif(files: &[PathBuf], region: Option<&str>) -> Result<Reading, FileFault> {
    let mut massif = Massif::default();
    for path in files {
        File::open(path)
            .and_then(|file| massif.add_named(&name(path), file))
            .map_err(|error| fault(path, error))?
            .map_err(|error| fault(path, error))?;
    }
    let read = match region {
        Some(name) => massif.finish_region(name),
        None => massif.finish(),
    };
    read.map_err(|error| fault(&common(files), error))
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn common(files: &[PathBuf]) -> PathBuf {
    files.first().cloned().unwrap_or_default()
}

fn fault(path: &Path, error: impl std::fmt::Display) -> FileFault {
    FileFault {
        file: name(path),
        detail: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caches_are_those_of_the_flags() {
        assert_eq!(caches(), "I1=32768,8,64 D1=32768,8,64 LL=8388608,16,64");
    }

    #[test]
    fn a_folder_is_taken_literally() {
        let flag = Tool::Massif.out_flag(Path::new("/a%p/b"));
        assert_eq!(flag, "--massif-out-file=/a%%p/b/massif.out.%p");
        assert_eq!(log_flag(Path::new("/a")), "--log-file=/a/log.%p");
    }
}
