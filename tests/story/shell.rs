//! Commands as a CI runs them: with bash, in a folder, and with no variables but those that it sets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Environment variables.
pub(crate) type Variables = BTreeMap<String, String>;

/// What commands left.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) code: i32,
    /// Standard output and error, one after the other.
    pub(crate) said: String,
}

impl Left {
    #[track_caller]
    pub(crate) fn assert(&self, code: i32, said: &[&str]) {
        assert_eq!(self.code, code, "{}", self.said);
        for part in said {
            assert!(self.said.contains(part), "no {part:?} in:\n{}", self.said);
        }
    }
}

/// Runs a script by the shell that GitHub and GitLab call bash.
pub(crate) fn bash(script: &str, folder: &Path, variables: &Variables) -> Left {
    let flags = ["--noprofile", "--norc", "-eo", "pipefail", "-c", script];
    run("bash", &flags, folder, variables)
}

/// Runs a program to its end.
pub(crate) fn run(program: &str, args: &[&str], folder: &Path, variables: &Variables) -> Left {
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("PATH", path())
        .env("LC_ALL", "C.UTF-8")
        .envs(variables)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| {
            panic!("`{program}` cannot be run ({error}); tests/setup installs what the tests need")
        });
    let said = [output.stdout, output.stderr].concat();
    Left {
        code: output.status.code().expect("nothing kills it"),
        said: String::from_utf8(said).unwrap(),
    }
}

/// Where programs are, perf-tracking among them as though it were installed.
fn path() -> String {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_perf-tracking"));
    let folder = binary.parent().unwrap().display();
    format!("{folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
}
