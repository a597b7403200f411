//! Ctrl-C and its like, for commands that have something to put in order before they end.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Ends with the first SIGINT or SIGTERM, and answers its name. From the call on, neither ends the
/// process by itself.
pub(super) fn interrupted() -> io::Result<impl Future<Output = &'static str>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
        }
    })
}
