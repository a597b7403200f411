//! No engine, no contract: said before anything is started.

use std::fs;

use super::{Measured, measure};

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
