//! The signals that end a process, for one who has to clean up first, or hands them on.

use std::{fs, future, io};

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// A signal that came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Came {
    pub(crate) signal: Signal,
    pub(crate) name: &'static str,
}

/// From its making on, none of them ends this process. One that was ignored, as by `nohup`, stays so.
pub(crate) struct Signals {
    hangup: Option<unix::Signal>,
    interrupt: Option<unix::Signal>,
    quit: Option<unix::Signal>,
    terminate: Option<unix::Signal>,
}

impl Signals {
    pub(crate) fn take() -> io::Result<Self> {
        let ignored = ignored(&fs::read_to_string("/proc/self/status")?);
        let take = |kind: SignalKind| {
            let is_ignored = ignored >> (kind.as_raw_value() - 1) & 1 == 1;
            (!is_ignored).then(|| unix::signal(kind)).transpose()
        };
        Ok(Self {
            hangup: take(SignalKind::hangup())?,
            interrupt: take(SignalKind::interrupt())?,
            quit: take(SignalKind::quit())?,
            terminate: take(SignalKind::terminate())?,
        })
    }

    /// The next that comes, or came while nobody waited.
    pub(crate) async fn next(&mut self) -> Came {
        let (signal, name) = tokio::select! {
            () = receive(&mut self.hangup) => (Signal::HUP, "SIGHUP"),
            () = receive(&mut self.interrupt) => (Signal::INT, "SIGINT"),
            () = receive(&mut self.quit) => (Signal::QUIT, "SIGQUIT"),
            () = receive(&mut self.terminate) => (Signal::TERM, "SIGTERM"),
        };
        Came { signal, name }
    }
}

async fn receive(signal: &mut Option<unix::Signal>) {
    let received = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if received.is_none() {
        future::pending().await
    }
}

/// The signals that a process ignores, a bit each, as proc(5) writes them.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_off() {
        let status = "Name:\tx\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n";
        assert_eq!(ignored(status), 0x1001);
        assert_eq!(ignored(""), 0);
    }
}
