//! What git says of a checkout. It asks no server and no person, and what a person has set for its
//! output has no say.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use chrono::{DateTime, SecondsFormat};

use crate::terminal::tame;

/// A commit, when it was committed (RFC 3339), and the first line of its message.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) sha: String,
    pub(crate) date: String,
    pub(crate) subject: String,
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
    // In seconds: a commit may have a time zone that no other program reads.
    let args = ["log", "-1", "--no-show-signature", "--format=%H %ct %s"];
    // The revision is not for git to read as anything but a name.
    let text = ask(
        folder,
        &[&args[..], &["--end-of-options", revision, "--"]].concat(),
    )?;
    let parse = |text: &str| {
        let mut parts = text.splitn(3, ' ');
        let (sha, seconds) = (parts.next()?, parts.next()?);
        let date = DateTime::from_timestamp(seconds.parse().ok()?, 0)?;
        Some(Commit {
            sha: sha.to_owned(),
            date: date.to_rfc3339_opts(SecondsFormat::Secs, true),
            subject: parts.next().unwrap_or_default().to_owned(),
        })
    };
    parse(&text).ok_or_else(|| format!("git says `{}`", tame(&text)))
}

/// The commits of a range such as `v1..main`, the oldest first, along first parents.
///
/// # Errors
/// That git knows no such range, or that no commit is in it.
pub(crate) fn first_parents(folder: &Path, range: &str) -> anyhow::Result<Vec<String>> {
    let args = [
        "rev-list",
        "--first-parent",
        "--reverse",
        "--end-of-options",
        range,
        "--",
    ];
    let text = ask(folder, &args)
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("git knows no commits {}", tame(range)))?;
    anyhow::ensure!(
        !text.is_empty(),
        "there is no commit in {}; the newer end of a range comes last",
        tame(range)
    );
    Ok(text.lines().map(str::to_owned).collect())
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_commit_of_an_odd_time_zone_has_its_date() {
        let folder = tempfile::tempdir().unwrap();
        let git = |args: &[&str], stdin: &str| {
            let mut child = Command::new("git")
                .arg("-C")
                .arg(folder.path())
                .args(args)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            child
                .stdin
                .take()
                .unwrap()
                .write_all(stdin.as_bytes())
                .unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{args:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        git(&["init", "--quiet"], "");
        let tree = git(&["hash-object", "-t", "tree", "-w", "--stdin"], "");
        let raw = format!(
            "tree {tree}\nauthor A <a@example.org> 1312735823 +051800\n\
             committer A <a@example.org> 1312735823 +051800\n\nold\n"
        );
        let hash = [
            "hash-object",
            "-t",
            "commit",
            "-w",
            "--literally",
            "--stdin",
        ];
        let sha = git(&hash, &raw);
        let found = commit(folder.path(), &sha).unwrap();
        assert_eq!(
            (found.sha, found.date.as_str()),
            (sha, "2011-08-07T16:50:23Z")
        );
        fs::remove_dir_all(folder.path().join(".git")).unwrap();
    }
}
