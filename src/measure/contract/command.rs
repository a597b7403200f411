//! Runs a command of this machine and captures its output.

use std::ffi::{OsStr, OsString};
use std::process::Stdio;
use std::time::Duration;

use tokio::process;

use super::failure::Reason;

/// How many lines of a failed command's output a person is shown.
const SHOWN_LINES: usize = 20;

/// A command that is run once.
pub(in crate::measure) struct Command {
    words: Vec<OsString>,
    variables: Vec<(&'static str, String)>,
    limit: Option<Duration>,
}

/// The output of a command that has ended.
pub(in crate::measure) struct Said {
    pub(in crate::measure) succeeded: bool,
    pub(in crate::measure) stdout: String,
    pub(in crate::measure) stderr: String,
}

impl Command {
    pub(in crate::measure) fn new<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> Self {
        Self {
            words: words.into_iter().map(|w| w.as_ref().to_owned()).collect(),
            variables: Vec::new(),
            limit: None,
        }
    }

    pub(in crate::measure) fn args<W: AsRef<OsStr>>(
        mut self,
        words: impl IntoIterator<Item = W>,
    ) -> Self {
        self.words
            .extend(words.into_iter().map(|w| w.as_ref().to_owned()));
        self
    }

    pub(in crate::measure) fn variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    /// Kills the command when it takes longer than `limit`.
    pub(in crate::measure) fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Runs the command until it exits, with any exit code. Dropping the future kills it.
    ///
    /// # Errors
    /// The command could not be started, or took longer than its limit.
    pub(in crate::measure) async fn run(&self) -> Result<Said, Reason> {
        let (program, args) = self
            .words
            .split_first()
            .ok_or_else(|| self.failed("is empty", ""))?;
        let mut command = process::Command::new(program);
        command
            .args(args)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            // Ctrl-C must reach the runner only, which then stops its children in order.
            .process_group(0)
            .kill_on_drop(true);
        let output = async { Ok(command.output().await) };
        let output = match self.limit {
            None => output.await,
            Some(limit) => tokio::time::timeout(limit, output)
                .await
                .unwrap_or_else(|_| {
                    Err(self.failed(&format!("did not end within {} s", limit.as_secs()), ""))
                }),
        };
        let output =
            output?.map_err(|error| self.failed(&format!("cannot be run: {error}"), ""))?;
        Ok(Said {
            succeeded: output.status.success(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        })
    }

    /// Runs the command and returns its standard output, if it succeeded.
    ///
    /// # Errors
    /// As [`Command::run`]; or the command failed, with the last lines of its output.
    pub(in crate::measure) async fn output(&self) -> Result<String, Reason> {
        let said = self.run().await?;
        if said.succeeded {
            return Ok(said.stdout);
        }
        Err(self.failed("failed", &format!("{}\n{}", said.stdout, said.stderr)))
    }

    fn failed(&self, outcome: &str, said: &str) -> Reason {
        Reason::Command {
            command: self.shown(),
            outcome: outcome.to_owned(),
            said: last_lines(said, SHOWN_LINES).join("\n"),
        }
    }

    /// The command line, as one would type it.
    pub(in crate::measure) fn shown(&self) -> String {
        let words: Vec<String> = self
            .words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The last lines that are not empty, made safe for a terminal.
pub(in crate::measure) fn last_lines(text: &str, count: usize) -> Vec<String> {
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>())
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(count)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_command_that_fails_says_what_it_was_and_what_it_said() {
        let command = Command::new(["sh", "-c", "echo out; echo an error >&2; exit 3"]);
        let error = command.output().await.unwrap_err().to_string();
        assert_eq!(
            error,
            "`sh -c 'echo out; echo an error >&2; exit 3'` failed:\n  out\n  an error"
        );
    }

    #[tokio::test]
    async fn a_command_that_is_not_there_or_hangs_ends() {
        let missing = Command::new(["no-such-program"])
            .output()
            .await
            .unwrap_err();
        assert!(
            missing
                .to_string()
                .starts_with("`no-such-program` cannot be run: ")
        );
        let slow = Command::new(["sleep", "600"]).limit(Duration::from_millis(50));
        let error = slow.output().await.unwrap_err().to_string();
        assert_eq!(error, "`sleep 600` did not end within 0 s");
    }

    #[test]
    fn the_last_lines_say_something_and_hold_no_controls() {
        assert_eq!(last_lines("a\n\n\u{1b}[1mb\r\n \nc\n", 2), ["[1mb", "c"]);
        assert!(last_lines("", 2).is_empty());
    }
}
