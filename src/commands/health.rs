//! `perf-tracking health`: asks a service once whether it can serve.

use std::time::Duration;

use clap::Args;

use super::{Outcome, print};

use crate::client::{Client, ClientSettings};
use crate::commands::flags::ServerArgs;

/// Less than what container engines give a health check.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Ask a service whether it can serve
///
/// It can when its database answers and is up to date. Made for the health check of a container:
/// asks once, waits three seconds at most, needs no token, and says in one line what it found.
/// Exits with 0 if the service can serve and with 2 if it cannot.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct HealthArgs {
    #[command(flatten)]
    server: ServerArgs,
}

const EXAMPLES: &str = "\
Example:
  perf-tracking health --server http://127.0.0.1:8080";

pub(super) fn run(args: HealthArgs) -> anyhow::Result<Outcome> {
    let server = args.server.check()?;
    let shown = server.to_string();
    let client = Client::new(ClientSettings {
        server,
        token: None,
        timeout: TIMEOUT,
        retry_for: Duration::ZERO,
        on_retry: |_, _| {},
        clock: crate::clock::now,
    })?;
    match super::runtime()?.block_on(client.ready()) {
        Ok(()) => print(&format!("{shown} is ready\n")),
        Err(error) => {
            crate::terminal::note(format_args!("{shown} is not ready: {}", error.reason()));
            Ok(Outcome::Refused)
        }
    }
}
