//! `deploy/perf-tracking.service`, under a systemd that is process 1 of a container.

use std::path::Path;
use std::time::Duration;

use serde_json::Value as Json;

use crate::docker::{Container, ROOT, docker};
use crate::support::images::ensure_debian;
use crate::support::{engine, wait};
use crate::upload::TOKEN;

/// The Debian whose systemd still starts where the engine has control groups of the first version.
const SUITE: &str = "bookworm";
const TAG: &str = "perf-tracking-test/debian-systemd:bookworm";
const UNIT: &str = "/etc/systemd/system/perf-tracking.service";
const DEADLINE: Duration = Duration::from_secs(60);
/// 1.5 of 10, where 10 is a service that may do everything.
const EXPOSURE_LIMIT: &str = "--threshold=15";

async fn machine() -> Container {
    engine::connect().await.expect("a container engine runs");
    tokio::task::spawn_blocking(|| ensure_debian(SUITE, &["systemd", "procps"], TAG))
        .await
        .expect("does not panic")
        .expect("a Debian with systemd can be had");
    let mut args = vec![
        // To mount what a unit may see, and to map its users: systemd needs no more of the machine than that.
        "--cap-add=SYS_ADMIN",
        "--cap-add=SYS_PTRACE",
        "--security-opt=seccomp=unconfined",
        "--security-opt=apparmor=unconfined",
        "--tmpfs=/run",
        "--tmpfs=/tmp",
        "--env=container=docker",
        "--stop-signal=SIGRTMIN+3",
    ];
    args.push(if Path::new("/sys/fs/cgroup/systemd").exists() {
        "--volume=/sys/fs/cgroup:/sys/fs/cgroup:ro"
    } else {
        "--volume=/sys/fs/cgroup:/sys/fs/cgroup:rw"
    });
    args.extend([TAG, "/lib/systemd/systemd"]);
    let machine = Container::run("systemd", &args);
    for (file, place) in [
        (
            env!("CARGO_BIN_EXE_perf-tracking"),
            "/usr/local/bin/perf-tracking",
        ),
        (&format!("{ROOT}/deploy/perf-tracking.service"), UNIT),
    ] {
        docker(&[
            "cp",
            "--follow-link",
            file,
            &format!("{}:{place}", machine.0),
        ])
        .expect("a file is copied");
    }
    until(&machine, &["systemctl", "daemon-reload"]).await;
    machine
}

/// What the command prints once it succeeds.
async fn until(machine: &Container, command: &[&str]) -> String {
    wait::until(&command.join(" "), DEADLINE, async || machine.exec(command))
        .await
        .unwrap_or_else(|error| panic!("{error:#}"))
}

fn now(machine: &Container, command: &[&str]) -> String {
    machine.exec(command).unwrap_or_else(|error| {
        let journal = machine.exec(&["journalctl", "--unit=perf-tracking", "--lines=30"]);
        panic!("{error:#}\n{}", journal.unwrap_or_default())
    })
}

fn property(machine: &Container, name: &str) -> String {
    let property = format!("--property={name}");
    now(
        machine,
        &["systemctl", "show", "--value", &property, "perf-tracking"],
    )
}

/// The log lines of the service, each a JSON object.
fn journal(machine: &Container) -> Vec<Json> {
    let lines = now(
        machine,
        &[
            "journalctl",
            "--unit=perf-tracking",
            "--output=cat",
            "--all",
        ],
    );
    let lines = lines.lines().filter(|line| line.starts_with('{'));
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}

#[tokio::test]
async fn the_unit_starts_reloads_and_stops_a_service_that_is_nobody() {
    let machine = machine().await;
    assert_eq!(now(&machine, &["systemd-analyze", "verify", UNIT]), "");
    let exposure = [
        "systemd-analyze",
        "security",
        "--offline=true",
        "--no-pager",
        EXPOSURE_LIMIT,
        UNIT,
    ];
    println!(
        "{}",
        now(&machine, &exposure).lines().last().unwrap_or_default()
    );

    now(&machine, &["systemctl", "start", "perf-tracking"]);
    let health = ["perf-tracking", "health", "--server=http://127.0.0.1:8080"];
    println!("{}", until(&machine, &health).await);
    assert_eq!(property(&machine, "ActiveState"), "active");
    assert_eq!(property(&machine, "NRestarts"), "0");

    let process = format!("/proc/{}", property(&machine, "MainPID"));
    let user = now(&machine, &["stat", "--format=%u", &process]);
    assert_ne!(user, "0", "it runs as nobody");
    for (name, mode) in [
        ("", "700"),
        ("/perf-tracking.db", "600"),
        ("/token-secret", "600"),
    ] {
        let path = format!("/var/lib/private/perf-tracking{name}");
        let found = now(&machine, &["stat", "--format=%a %u", &path]);
        assert_eq!(found, format!("{mode} {user}"), "{path}");
    }
    let secret = ["--token-secret-file", "/var/lib/perf-tracking/token-secret"];
    assert!(!now(&machine, &[&TOKEN, &secret[..]].concat()).is_empty());

    now(&machine, &["systemctl", "reload", "perf-tracking"]);
    wait::until("the journal tells of the reload", DEADLINE, async || {
        let log = journal(&machine);
        let told = log
            .iter()
            .any(|line| line.to_string().contains("token files read anew"));
        if told {
            Ok(())
        } else {
            Err(format!("{log:?}"))
        }
    })
    .await
    .unwrap_or_else(|error| panic!("{error:#}"));
    println!("{}", until(&machine, &health).await);

    now(&machine, &["systemctl", "stop", "perf-tracking"]);
    assert_eq!(property(&machine, "ActiveState"), "inactive");
    assert_eq!(property(&machine, "Result"), "success");
    assert_eq!(property(&machine, "ExecMainStatus"), "0");
    let log = journal(&machine);
    let last = log.last().map(Json::to_string).unwrap_or_default();
    assert!(last.contains("stopped"), "{last}");
}
