//! The container engine.

use anyhow::{Context as _, Result};
use testcontainers::bollard::Docker;
use testcontainers::core::client::docker_client_instance;

/// The engine's client, once the engine has answered.
///
/// # Errors
/// Where no engine answers, with the command that installs and starts one.
pub(crate) async fn connect() -> Result<Docker> {
    answering()
        .await
        .context("no container engine answers; run `tests/setup`, which installs and starts one")
}

async fn answering() -> Result<Docker> {
    let engine = docker_client_instance().await?;
    engine.ping().await?;
    Ok(engine)
}
