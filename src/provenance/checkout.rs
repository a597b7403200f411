//! What git says of a checkout. It asks no server and no person, and what a person has set for its
//! output has no say.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::terminal::tame;

/// A commit, and when it was committed (RFC 3339).
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) sha: String,
    pub(crate) date: String,
}

/// Whether `folder` stands in a checkout.
///
/// # Errors
/// Why it does not, or cannot be asked, as the end of a sentence.
pub(crate) fn checkout(folder: &Path) -> Result<(), String> {
    ask(folder, &["rev-parse", "--git-dir"])
        .map(drop)
        .map_err(|why| format!("there is no git checkout to ask: {why}"))
}

/// The commit that `revision` names in the checkout of `folder`.
///
/// # Errors
/// What git says instead.
pub(crate) fn commit(folder: &Path, revision: &str) -> Result<Commit, String> {
    let args = ["log", "-1", "--no-show-signature", "--format=%H %cI"];
    // The revision is not for git to read as anything but a name.
    let text = ask(
        folder,
        &[&args[..], &["--end-of-options", revision, "--"]].concat(),
    )?;
    let (sha, date) = text
        .split_once(' ')
        .ok_or_else(|| format!("git says `{}`", tame(&text)))?;
    Ok(Commit {
        sha: sha.to_owned(),
        date: date.to_owned(),
    })
}

/// What git prints, without its line end.
///
/// # Errors
/// What it says first, or why it cannot be run.
pub(crate) fn ask(folder: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(args)
        .env("LC_ALL", "C")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        // A commit that is not here is asked of no server.
        .env("GIT_NO_LAZY_FETCH", "1")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => "git is not installed".to_owned(),
            _ => format!("git cannot be run: {error}"),
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().next().unwrap_or("git failed");
        return Err(tame(line.strip_prefix("fatal: ").unwrap_or(line)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
