//! The command line, read without repeating the secrets that stand in it.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;

use super::{Cli, Outcome};

use crate::terminal::note;
use crate::terminal::shown::hide;

/// What the name of every setting's environment variable starts with.
const PREFIX: &str = "PERF_TRACKING_";

/// Parses a command line; a wrong one is explained, and comes back as the code to exit with.
///
/// # Errors
/// The exit code, once help, version or the fault has been printed.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, ExitCode> {
    let args: Vec<OsString> = args.into_iter().collect();
    let settings = env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with(PREFIX));
    let words: Vec<String> = args
        .iter()
        .cloned()
        .chain(settings.map(|(_, value)| value))
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    Cli::try_parse_from(args).map_err(|error| explain(&error, &words))
}

fn explain(error: &clap::Error, words: &[String]) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        // A reader that has had enough of the help is no failure.
        let _ = error.print();
        return Outcome::Passed.into();
    }
    let styled = error.render();
    let message = if io::stderr().is_terminal() {
        styled.ansi().to_string()
    } else {
        styled.to_string()
    };
    note(hide(message, words).trim_end_matches('\n'));
    Outcome::Refused.into()
}
