//! Parses the command line and turns an outcome into an exit code.

use std::env;
use std::process::ExitCode;

use perf_tracking::commands::{self, Outcome};
use perf_tracking::terminal;

fn main() -> ExitCode {
    let cli = match commands::parse(env::args_os()) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    match cli.run() {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            terminal::note(format_args!("error: {error:#}"));
            Outcome::Refused.into()
        }
    }
}
