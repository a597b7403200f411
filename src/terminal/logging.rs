//! Logs go to standard error, so that standard output is a command's result and nothing else.
//!
//! A command writes its lines at once. A service hands them to a thread of their own: whoever reads
//! standard error may stop reading without closing it, and no request waits for that. Lines that the
//! thread cannot get rid of are dropped and counted.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::str::FromStr;
use std::sync::OnceLock;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

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

/// Lines that may wait for standard error: a few seconds of a busy service, and a few MB.
const WAITING_LINES: usize = 8_192;

static DROPPED: OnceLock<ErrorCounter> = OnceLock::new();

/// Keeps the log going. Dropped at the end of the process, it writes the lines that still wait.
pub(crate) struct Log(#[expect(dead_code, reason = "held for its drop")] Option<WorkerGuard>);

/// Log lines that were dropped because nobody read standard error.
pub(crate) fn dropped_lines() -> usize {
    DROPPED.get().map_or(0, ErrorCounter::dropped_lines)
}

/// Starts the log of a command, which waits for each of its lines; once in a process. Logs at
/// `level` unless the settings say another.
pub(crate) fn start(settings: &LogSettings, level: &str) -> anyhow::Result<Log> {
    init(settings, level, io::stderr).map(|()| Log(None))
}

/// Starts the log of a service, which never waits for it; as [`start`] otherwise.
pub(crate) fn start_in_background(settings: &LogSettings, level: &str) -> anyhow::Result<Log> {
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(WAITING_LINES)
        .lossy(true)
        .thread_name("log")
        .finish(io::stderr());
    let _ = DROPPED.set(writer.error_counter());
    init(settings, level, writer).map(|()| Log(Some(guard)))
}

fn init(
    settings: &LogSettings,
    level: &str,
    writer: impl for<'w> MakeWriter<'w, Writer: Write> + Send + Sync + 'static,
) -> anyhow::Result<()> {
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
        .with_writer(BoxMakeWriter::new(writer))
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
