//! The service runs out of file descriptors, or starts with fewer than its settings need.

use std::process::Command;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpStream;

use crate::support::service::{Service, ServiceOptions};

pub(crate) async fn run_out() {
    let service = start_with_soft_limit(128).await;
    let process = service.process_id().expect("the service runs").to_string();
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).expect("Linux tells");
    let soft = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .and_then(|line| line.split_whitespace().next())
        .expect("the limit is told");
    assert!(soft.parse::<u64>().expect("a number") > 1024, "{limits}");

    limit(&process, "30:4096");
    let mut connections = Vec::new();
    for _ in 0..60 {
        connections.push(
            TcpStream::connect(service.address())
                .await
                .expect("a backlog"),
        );
    }
    service.log_with("could not accept connections").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let told = service
        .log()
        .matches("could not accept connections")
        .count();
    assert!(told <= 2, "{told} lines in three seconds");
    limit(&process, "4096:4096");
    drop(connections);
    service.await_status("/readyz", 200).await;
}

/// A service whose soft limit of open files is lower than its settings need.
async fn start_with_soft_limit(soft: u64) -> Service {
    let own = getrlimit(Resource::Nofile);
    let lower = Rlimit {
        current: Some(soft),
        ..own
    };
    setrlimit(Resource::Nofile, lower).expect("a soft limit can be lowered");
    let service = Service::spawn(ServiceOptions::default()).await;
    setrlimit(Resource::Nofile, own).expect("a soft limit can be raised again");
    let mut service = service.expect("the service starts");
    service.wait_ready().await.expect("it is ready");
    service
}

fn limit(process: &str, limits: &str) {
    let status = Command::new("prlimit")
        .args(["--pid", process, &format!("--nofile={limits}")])
        .status()
        .expect("`prlimit` (util-linux) is there");
    assert!(status.success(), "prlimit ended with {status}");
}
