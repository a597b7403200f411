//! No engine, no contract: said before anything is started.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;

use super::{Measured, measure};
use crate::support::wait;

#[test]
fn an_engine_that_does_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let (contract, document) = (
        folder.path().join("contract.toml"),
        folder.path().join("metrics.json"),
    );
    fs::write(&contract, super::images::contract("a", "b", "c", "d")).unwrap();
    let mut command = measure(&contract, &document);
    command.env("DOCKER_HOST", "unix:///nowhere.sock");
    let measured = Measured::of(command.output().unwrap());
    measured.failed(
        &document,
        &[
            "error: no container engine can be used:\n",
            "`docker ps --quiet` failed",
            "nowhere.sock",
        ],
    );
}

#[test]
fn a_contract_that_does_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let (contract, document) = (
        folder.path().join("contract.toml"),
        folder.path().join("metrics.json"),
    );
    let text = super::images::contract("a", "b", "c", "d").replace("events = 20", "event = 20");
    fs::write(&contract, text).unwrap();
    let measured = Measured::of(measure(&contract, &document).output().unwrap());
    measured.failed(
        &document,
        &[
            "contract.toml` is no contract\n",
            "contract.toml:7:1: `events` is missing\n",
            "contract.toml:10:1: `event` is no key",
        ],
    );
    fs::remove_file(&contract).unwrap();
    let measured = Measured::of(measure(&contract, &document).output().unwrap());
    measured.failed(
        &document,
        &[
            "cannot read the contract in `",
            "contract.toml`: No such file",
        ],
    );
}

/// Says that it is there, and never what images it has.
const HANGING: &str = r#"#!/bin/sh
case "$1" in
image) touch "$(dirname "$0")/asked"; exec sleep 600 ;;
esac
"#;

#[tokio::test]
async fn a_signal_while_an_engine_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(
        path("contract.toml"),
        super::images::contract("a", "b", "c", "d"),
    )
    .unwrap();
    fs::write(path("docker"), HANGING).unwrap();
    fs::set_permissions(path("docker"), fs::Permissions::from_mode(0o755)).unwrap();
    let search = std::env::var("PATH").unwrap();
    let child = measure(&path("contract.toml"), &path("metrics.json"))
        .env("PATH", format!("{}:{search}", folder.path().display()))
        .spawn()
        .unwrap();
    wait::until(
        "the engine is asked for images",
        Duration::from_secs(60),
        async || match path("asked").exists() {
            true => Ok(()),
            false => Err("not yet"),
        },
    )
    .await
    .unwrap();
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.unwrap().success());
    let measured = Measured::of(child.wait_with_output().unwrap());
    measured.failed(&path("metrics.json"), &["error: stopped by SIGINT"]);
}
