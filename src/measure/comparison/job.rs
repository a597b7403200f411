//! Command lines of a contract, each below a holder of its own.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, ChildStdin, Command};

use super::hold::Ended;
use crate::measure::contract::command::last_lines;

/// The lines of what a program printed that a person is shown.
pub(super) const SHOWN_LINES: usize = 20;
/// As much of the end of an output as can hold them.
const SHOWN_BYTES: usize = 64 * 1024;
/// How long a program may take to stop that is no subject.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// A command line for `sh`, and where it runs.
pub(super) struct Job<'a> {
    pub(super) script: &'a str,
    pub(super) cleanup: Option<&'a str>,
    pub(super) folder: &'a Path,
    pub(super) variables: &'a [(String, OsString)],
    pub(super) stdout: &'a Path,
    pub(super) stderr: &'a Path,
    pub(super) grace: Duration,
    /// Where the holder writes how it ended.
    pub(super) result: PathBuf,
}

/// A program under its holder. Dropping it ends the program too, some time later.
pub(super) struct Held {
    holder: Child,
    /// While this is open, the holder knows that this process lives.
    lifeline: Option<ChildStdin>,
    result: PathBuf,
}

impl Job<'_> {
    pub(super) fn start(&self) -> io::Result<Held> {
        let _ = fs::remove_file(&self.result);
        // This program, even where its file was replaced since it was started.
        let mut command = Command::new("/proc/self/exe");
        command
            .args(["compare", "hold", "--grace-ms"])
            .arg(self.grace.as_millis().to_string())
            .arg("--result")
            .arg(&self.result);
        if let Some(cleanup) = self.cleanup {
            command.arg("--cleanup").arg(cleanup);
        }
        command
            .arg("--")
            .arg(self.script)
            .current_dir(self.folder)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(File::create(self.stdout)?)
            .stderr(if self.stderr == self.stdout {
                File::options().append(true).open(self.stdout)?
            } else {
                File::create(self.stderr)?
            })
            // Ctrl-C is for the runner alone.
            .process_group(0);
        let mut holder = command.spawn()?;
        Ok(Held {
            lifeline: holder.stdin.take(),
            holder,
            result: self.result.clone(),
        })
    }

    /// Runs it to its end, and no longer than `limit`.
    ///
    /// # Errors
    /// Why it did not come to its own end.
    pub(super) async fn run(&self, limit: Duration) -> Result<Ended, String> {
        let cannot = |error: io::Error| format!("`{}` cannot be run: {error}", self.script);
        let mut held = self.start().map_err(cannot)?;
        match tokio::time::timeout(limit, held.ended()).await {
            Ok(ended) => ended.map_err(cannot),
            Err(_) => {
                held.stop().await.map_err(cannot)?;
                Err(format!("did not end within {} s", limit.as_secs()))
            }
        }
    }
}

impl Held {
    /// The holder's process.
    pub(super) fn pid(&self) -> Option<u32> {
        self.holder.id()
    }

    /// Waits for the program's own end.
    pub(super) async fn ended(&mut self) -> io::Result<Ended> {
        let status = self.holder.wait().await?;
        Ended::read(&self.result).map_err(|error| {
            let detail = format!("its holder ended with {status} and left no result: {error}");
            io::Error::new(error.kind(), detail)
        })
    }

    /// How it ended, if it has.
    pub(super) fn has_ended(&mut self) -> io::Result<Option<Ended>> {
        match self.holder.try_wait()? {
            None => Ok(None),
            Some(_) => Ended::read(&self.result).map(Some),
        }
    }

    /// Tells the program to stop, and waits until all of it is gone.
    pub(super) async fn stop(&mut self) -> io::Result<Ended> {
        self.lifeline = None;
        self.ended().await
    }
}

/// The last lines of files, in their order.
pub(super) fn last_lines_of(files: &[&Path]) -> Vec<String> {
    let mut text = String::new();
    for file in files {
        let bytes = fs::read(file).unwrap_or_default();
        let end = &bytes[bytes.len().saturating_sub(SHOWN_BYTES)..];
        text += &String::from_utf8_lossy(end);
        text.push('\n');
    }
    last_lines(&text, SHOWN_LINES)
}
