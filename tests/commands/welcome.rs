//! The lines that `perf-tracking serve` prints for a newcomer work as printed.

use std::time::Duration;

use crate::shell::Shell;
use crate::support::service::{Service, ServiceOptions};
use crate::support::wait;

#[tokio::test]
async fn the_first_look_works_as_printed() {
    let service = Service::start(ServiceOptions::default()).await;
    let lines = wait::until(
        "the welcome is printed",
        Duration::from_secs(10),
        async || {
            let log = service.log();
            let (_, after) = log.split_once("A first look").ok_or("not yet")?;
            let lines: Vec<&str> = after
                .lines()
                .filter(|line| line.starts_with("  "))
                .collect();
            if lines.len() < 4 {
                return Err("not all yet");
            }
            Ok(lines.join("\n"))
        },
    )
    .await
    .unwrap();
    let first = Shell::default().script(&lines).await;
    let table = "\
date                  commit        metric                value
2026-11-30T09:00:00Z  0123456789ab  callgrind.ir  1,234,567,890
";
    let stored = "run 1: perf on main, amd64, trixie at 0123456789ab\n";
    first.is(0, &format!("created {stored}{table}"), "");
    let second = Shell::default().script(&lines).await;
    second.is(0, &format!("unchanged {stored}{table}"), "");
}
