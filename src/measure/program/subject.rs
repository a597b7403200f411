//! The program that is measured: found, and looked at, before anything is run.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::ProgramError;

/// Rights of another user or group, which valgrind cannot give.
const SET_ID: u32 = 0o6000;
/// Runnable by anyone.
const RUNNABLE: u32 = 0o111;

/// Programs whose work is to start others.
const SHELLS: [&str; 8] = [
    "sh", "bash", "dash", "zsh", "ksh", "busybox", "make", "time",
];

/// A program that can be run.
#[derive(Clone, Debug)]
pub struct Subject {
    /// As it was called: what the program sees as its own name.
    pub(super) name: OsString,
    path: PathBuf,
    is_script: bool,
}

impl Subject {
    /// Finds a program as a shell does.
    ///
    /// # Errors
    /// Why it cannot be run, and what to do about it.
    pub fn find(name: &OsStr) -> Result<Self, ProgramError> {
        let shown = name.to_string_lossy().into_owned();
        let path = which::which(name).map_err(|_| unfound(shown))?;
        let not_runnable = |why| ProgramError::NotRunnable {
            path: path.display().to_string(),
            why,
        };
        let unread = |error| ProgramError::File {
            what: format!("`{}`", path.display()),
            done: "read",
            error,
        };
        let mut file = File::open(&path).map_err(unread)?;
        let mode = file.metadata().map_err(unread)?.permissions().mode();
        if mode & SET_ID != 0 {
            return Err(not_runnable(
                "runs with the rights of its owner (setuid or setgid), which valgrind refuses; measure a copy without",
            ));
        }
        let mut first = [0; 2];
        let is_script = file.read_exact(&mut first).is_ok() && first == *b"#!";
        Ok(Self {
            name: name.to_owned(),
            path,
            is_script,
        })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a text that another program runs.
    pub fn is_script(&self) -> bool {
        self.is_script
    }

    /// Whether it is there to start others: a script, or a shell that is given one.
    pub(super) fn is_wrapper(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default();
        self.is_script || SHELLS.iter().any(|shell| name == *shell)
    }
}

/// Why a name leads to no program.
fn unfound(name: String) -> ProgramError {
    let Some(found) = fs::metadata(&name).ok().filter(|_| name.contains('/')) else {
        return ProgramError::NotFound(name);
    };
    let why = if found.is_dir() {
        "is a folder; name the program in it"
    } else if found.permissions().mode() & RUNNABLE == 0 {
        "is not executable; `chmod +x` makes it so"
    } else {
        "may not be run by this user; see its permissions"
    };
    ProgramError::NotRunnable { path: name, why }
}
