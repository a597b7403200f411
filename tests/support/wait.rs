//! Waiting for what no event announces.

use std::fmt::Display;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};

/// Short enough not to be felt, long enough not to load a machine that starts three databases.
const PAUSE: Duration = Duration::from_millis(50);

/// Calls `attempt` until it succeeds; after `deadline` its last error is the answer.
pub(crate) async fn until<T, E: Display>(
    what: &str,
    deadline: Duration,
    attempt: impl AsyncFnMut() -> Result<T, E>,
) -> Result<T> {
    let mut attempt = attempt;
    let mut last_error = None;
    let attempts = async {
        loop {
            match attempt().await {
                Ok(value) => return value,
                Err(error) => last_error = Some(anyhow!("{error:#}")),
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    let outcome = tokio::time::timeout(deadline, attempts).await;
    match (outcome, last_error) {
        (Ok(value), _) => Ok(value),
        (Err(_), Some(error)) => {
            Err(error).with_context(|| format!("{what}: not within {deadline:?}"))
        }
        (Err(_), None) => Err(anyhow!("{what}: no answer within {deadline:?}")),
    }
}
