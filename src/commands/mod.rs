//! The command line: one file a subcommand, from flags over a call to an [`Outcome`].

mod about;
mod backfill;
mod changes;
mod client;
mod compare;
mod cursors;
mod document;
mod drift;
mod export;
mod filters;
mod find;
mod flags;
mod gate;
mod health;
mod history;
mod load;
mod measure;
mod migrate;
mod parse;
mod past;
mod run;
mod runs;
mod serve;
mod site;
mod template;
mod token;
mod upload;
mod walk;
mod welcome;
mod worktree;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::terminal::logging::{self, LogSettings};
use flags::{MigrateArgs, ServeArgs};

pub use parse::parse;

/// How a command ended, and what the shell hears of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, or judged and nothing got worse.
    Passed,
    /// Judged, and something got worse. No failure of the tool.
    Regression,
    /// Wrong use, or the service could not be reached or refused.
    Refused,
    /// Could not judge: too little history, something missing, other parameters.
    Undecided,
    /// Could not judge, as a bisection hears of it: the commit is to be skipped.
    Untestable,
}

impl Outcome {
    /// The exit code; scripts rely on it.
    pub fn code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Regression => 1,
            Self::Refused => 2,
            Self::Undecided => 3,
            Self::Untestable => 125,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome.code())
    }
}

/// Keeps the performance history of a project and lets its CI judge a change against it.
///
/// A service keeps runs: the numbers that one commit measured. Jobs upload to it and read from it
/// with tokens that say what each of them may do.
#[derive(Debug, Parser)]
#[command(
    name = "perf-tracking",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "Run `perf-tracking COMMAND --help` for the settings of a command and examples.",
    after_long_help = EXIT_CODES
)]
pub struct Cli {
    #[command(flatten)]
    log: LogSettings,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done, or nothing got worse
  1  a regression
  2  wrong use, or the service could not be reached or refused
  3  could not judge: too little history, something missing, other parameters

Run `perf-tracking COMMAND --help` for the settings of a command and examples.";

/// A new subcommand is a line here and a line in [`Cli::run`].
#[derive(Debug, Subcommand)]
enum Command {
    Serve(ServeArgs),
    Migrate(MigrateArgs),
    Measure(Box<measure::MeasureArgs>),
    Document(Box<document::DocumentArgs>),
    Gate(Box<gate::GateArgs>),
    /// Compare two builds under a contract: trials in turn, a verdict, and a report
    #[command(subcommand)]
    Compare(compare::CompareCommand),
    Upload(upload::UploadArgs),
    History(history::HistoryArgs),
    Runs(Box<runs::RunsArgs>),
    /// Show one run, or take runs back
    #[command(subcommand)]
    Run(Box<run::RunCommand>),
    Changes(Box<changes::ChangesArgs>),
    Drift(Box<drift::DriftArgs>),
    Find(Box<find::FindArgs>),
    Site(Box<site::SiteArgs>),
    Walk(Box<walk::WalkArgs>),
    Export(Box<export::ExportArgs>),
    Backfill(Box<backfill::BackfillArgs>),
    Health(health::HealthArgs),
    /// Make a token for a job, or see what one says
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Print the version
    Version,
    #[command(subcommand, hide = true)]
    Load(load::LoadCommand),
}

impl Command {
    /// What is logged unless a setting says otherwise. Whoever starts a service watches its log; a
    /// command says what matters by itself.
    fn log_level(&self) -> &'static str {
        match self {
            Self::Serve(_) | Self::Migrate(_) => "info",
            // The driver warns of each statement that waits for another process.
            _ => "warn,sqlx=error",
        }
    }
}

impl Cli {
    /// Starts logging and does what the command line says.
    ///
    /// # Errors
    /// Why the command could not be carried out; to be shown with its causes, and to exit as
    /// [`Outcome::Refused`].
    pub fn run(self) -> anyhow::Result<Outcome> {
        let level = self.command.log_level();
        let _log = match self.command {
            Command::Serve(_) => logging::start_in_background(&self.log, level)?,
            _ => logging::start(&self.log, level)?,
        };
        match self.command {
            Command::Serve(args) => serve::run(args),
            Command::Migrate(args) => migrate::run(args),
            Command::Measure(args) => args.run(),
            Command::Document(args) => args.run(),
            Command::Gate(args) => args.run(),
            Command::Compare(command) => command.run(),
            Command::Upload(args) => upload::run(args),
            Command::History(args) => history::run(args),
            Command::Runs(args) => runs::run(*args),
            Command::Run(command) => command.run(),
            Command::Changes(args) => args.run(),
            Command::Drift(args) => args.run(),
            Command::Find(args) => args.run(),
            Command::Site(args) => args.run(),
            Command::Walk(args) => args.run(),
            Command::Export(args) => export::run(*args),
            Command::Backfill(args) => backfill::run(*args),
            Command::Health(args) => health::run(args),
            Command::Token(command) => command.run(),
            Command::Load(command) => command.run(),
            Command::Version => print(&format!("perf-tracking {}\n", env!("CARGO_PKG_VERSION"))),
        }
    }
}

/// As much as the main thread has. A build that is not optimised holds a nested future several times on its stack.
const WORKER_STACK: usize = 8 << 20;

/// What a command that waits for others runs on.
fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(WORKER_STACK)
        .enable_all()
        .build()
}

/// Writes to standard output. A reader that has had enough (`| head`) is no failure.
fn print(text: &str) -> anyhow::Result<Outcome> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(Outcome::Passed),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn exit_codes_are_a_contract() {
        let outcomes = [
            Outcome::Passed,
            Outcome::Regression,
            Outcome::Refused,
            Outcome::Undecided,
            Outcome::Untestable,
        ];
        assert_eq!(outcomes.map(Outcome::code), [0, 1, 2, 3, 125]);
    }
}
