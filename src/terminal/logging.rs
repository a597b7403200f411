//! Logs go to standard error, so that standard output is a command's result and nothing else.

use std::io::{self, IsTerminal};

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, LogSettings};

/// Starts logging; once in a process.
pub(crate) fn start(settings: &LogSettings) -> anyhow::Result<()> {
    // It logs each certificate that it refuses, which a command says itself and better.
    let filter = format!("rustls_platform_verifier=off,{}", settings.filter);
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
