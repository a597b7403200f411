//! `perf-tracking compare` with images as its sides: their processes are found on this machine.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on ends; helpers of tests do not count as tests yet"
)]

use std::fs;
use std::process::Command;

use serde_json::Value as Json;

use crate::docker::docker;
use crate::support::engine;
use crate::support::images::ensure_debian;

const DEBIAN: &str = "perf-tracking-test/debian:trixie";

const CONTRACT: &str = r#"
name = "containers-v1"
rounds = 3

[subject]
compose = "compose.yaml"
service = "perf-tracking-test-compared"
load_service = "perf-tracking-test-compared"
ready = "test -e /tmp/up"
setup = "mkdir /tmp/made-by-setup"
stop_seconds = 5

[[cell]]
name = "work"
command = "test -d /tmp/made-by-setup && kill -USR1 1 && sleep 1 && echo '{\"counts\": {\"done\": 4}}'"
units = "done"
expect = { done = 4 }

[[cell.metric]]
name = "peak_memory_bytes"
worse = "higher"
floor = "50 %"
variance = "50 %"
"#;

/// The server of a side: two processes, which work when they are sent a signal.
const COMPOSE: &str = r#"
version: "3.8"
services:
  perf-tracking-test-compared:
    image: ${COMPARE_IMAGE}
    command:
      - sh
      - -c
      - |
        trap 'exit 0' TERM
        trap 'i=0; while [ $$i -lt 100000 ]; do i=$$((i + 1)); done' USR1
        sleep 600 &
        touch /tmp/up
        while :; do wait; done
    network_mode: none
"#;

#[tokio::test]
async fn images_are_compared_by_their_processes_on_this_machine() {
    engine::connect().await.unwrap();
    tokio::task::spawn_blocking(compare_images).await.unwrap();
}

fn compare_images() {
    ensure_debian("trixie", &[], DEBIAN).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("compare.toml"), CONTRACT).unwrap();
    fs::write(folder.path().join("compose.yaml"), COMPOSE).unwrap();
    let side = format!("image:{DEBIAN}");
    let output = Command::new(env!("CARGO_BIN_EXE_perf-tracking"))
        .args(["compare", "run", "--engine", "docker", "--output", "out"])
        .args(["--reference", &side, "--candidate", &side])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}\n{output:?}");
    let record = fs::read(folder.path().join("out/record.json")).unwrap();
    let record: Json = serde_json::from_slice(&record).unwrap();
    let digest = record["sides"]["candidate"]["image_digest"].as_str();
    assert!(digest.unwrap().starts_with("sha256:"), "{digest:?}");
    assert_eq!(record["trials"].as_array().unwrap().len(), 6);
    for trial in record["trials"].as_array().unwrap() {
        assert_eq!(trial["processes_before"], trial["processes_after"]);
        let names: Vec<&Json> = trial["processes_before"]
            .as_array()
            .unwrap()
            .iter()
            .map(|process| &process["name"])
            .collect();
        assert_eq!(names, ["sh", "sleep"], "{trial}");
        assert!(trial["cpu_seconds"].as_f64().unwrap() > 0.0, "{trial}");
        let per_unit = trial["cpu_seconds_per_unit"].as_f64().unwrap();
        let cpu = trial["cpu_seconds"].as_f64().unwrap();
        assert!((per_unit * 4.0 - cpu).abs() < 1e-9, "{trial}");
    }
    let filter = "name=perf-tracking-test-compared";
    let left = docker(&["ps", "--all", "--quiet", "--filter", filter]);
    assert_eq!(left.unwrap(), "", "containers are left");
}
