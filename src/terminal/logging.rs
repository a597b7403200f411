//! Logs go to standard error, so that standard output is a command's result and nothing else.

use std::fmt;
use std::io::{self, IsTerminal};
use std::str::FromStr;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

const LOGS: &str = "Logs";

/// How a log line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Text if standard error is a terminal, JSON otherwise.
    #[default]
    Auto,
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What is logged, to standard error, and how. The same for every command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = LOGS)]
pub(crate) struct LogSettings {
    /// What to log: error, warn, info, debug, trace or off, or `part=level` with commas between
    /// [default: info for the service, warn for other commands]
    // A global argument is found by its id in every command, so no flag of one may have it.
    #[arg(
        id = "log",
        long = "log",
        env = "PERF_TRACKING_LOG",
        value_name = "FILTER",
        global = true
    )]
    pub(crate) filter: Option<LogFilter>,

    /// How log lines look
    #[arg(
        id = "log-format",
        long = "log-format",
        env = "PERF_TRACKING_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "auto",
        global = true
    )]
    pub(crate) format: LogFormat,
}

/// What is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogFilter(String);

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for LogFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write error, warn, info, debug, trace or off, \
                            or `part=level` with commas between";
        // The filter takes a word that is no level for a part, and logs all of it and nothing else.
        let levels = ["error", "warn", "info", "debug", "trace", "off"];
        let lone_word = text.chars().all(char::is_alphanumeric);
        if lone_word && !levels.contains(&text.to_ascii_lowercase().as_str()) {
            return Err(FORM.to_owned());
        }
        match EnvFilter::try_new(text) {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(error) => Err(format!("{error}; {FORM}")),
        }
    }
}

/// Starts logging, at `level` unless the settings say another; once in a process.
pub(crate) fn start(settings: &LogSettings, level: &str) -> anyhow::Result<()> {
    let filter = settings.filter.as_ref().map_or(level, |filter| &filter.0);
    // It logs each certificate that it refuses, which a command says itself and better.
    let filter = format!("rustls_platform_verifier=off,{filter}");
    let filter = EnvFilter::try_new(filter).context("--log")?;
    let terminal = io::stderr().is_terminal();
    let as_text = match settings.format {
        LogFormat::Auto => terminal,
        LogFormat::Text => true,
        LogFormat::Json => false,
    };
    let builder = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(terminal)
        // It would be told on standard error as well, by a macro that panics where that is full or gone.
        .log_internal_errors(false)
        .with_env_filter(filter);
    let started = if as_text {
        builder.try_init()
    } else {
        // A line belongs to one request at most; a list of spans would say it twice.
        builder
            .json()
            .flatten_event(true)
            .with_span_list(false)
            .try_init()
    };
    started.map_err(|error| anyhow::anyhow!("logging could not be started: {error}"))
}
