//! Two services write to one SQLite file.

use std::time::Duration;

use crate::audit::audit;
use crate::bench::{Bench, Ground, Place, impatient, recovery};
use crate::fleet::Fleet;
use crate::support::service::{Service, ServiceOptions};

/// Two services on one file, with one secret, so that a token of one is good for the other.
async fn pair(ground: &Ground<'_>) -> (Service, Service) {
    let first = Service::start(impatient(&ground.url)).await;
    let second = Service::start(ServiceOptions {
        data_dir: Some(first.data_dir()),
        ..impatient(&ground.url)
    });
    let second = second.await;
    (first, second)
}

pub(crate) async fn both_write(bench: &Bench) {
    let ground = bench.ground(Place::Sqlite).await;
    let (mut first, mut second) = pair(&ground).await;
    let fleet = Fleet::start(&[&first, &second]).await;
    fleet.await_acknowledged(1500).await;
    let report = fleet.finish().await;
    audit(&mut first, &ground, &report).await;
    audit(&mut second, &ground, &report).await;
    report.print("sqlite::two_services", &[]);
}

pub(crate) async fn one_is_killed(bench: &Bench) {
    let ground = bench.ground(Place::Sqlite).await;
    let (mut first, mut second) = pair(&ground).await;
    let fleet = Fleet::start(&[&first, &second]).await;
    let mut ready_again = Vec::new();
    for _ in 0..3 {
        fleet.await_acknowledged(200).await;
        second.kill().await;
        // The other one goes on as if nothing was.
        ready_again.push(recovery(&first, &fleet, Duration::from_secs(5)).await);
        fleet.await_acknowledged(200).await;
        second.restart().await;
    }
    fleet.await_acknowledged(200).await;
    let report = fleet.finish().await;
    audit(&mut second, &ground, &report).await;
    audit(&mut first, &ground, &report).await;
    report.print("sqlite::one_of_two_services_killed", &ready_again);
}
