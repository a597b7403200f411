//! The service is killed in the middle of uploads and started again.

use std::time::Instant;

use crate::audit::audit;
use crate::bench::{Bench, Place, impatient};
use crate::fleet::Fleet;
use crate::support::service::Service;

pub(crate) async fn service_killed(bench: &Bench, place: Place, times: usize) {
    let ground = bench.ground(place).await;
    let mut service = Service::start(impatient(&ground.url)).await;
    let fleet = Fleet::start(&[&service]).await;
    let mut ready_again = Vec::new();
    for _ in 0..times {
        fleet.await_acknowledged(100).await;
        service.kill().await;
        let killed = Instant::now();
        service.restart().await;
        ready_again.push(killed.elapsed());
    }
    fleet.await_acknowledged(100).await;
    let report = fleet.finish().await;
    audit(&mut service, &ground, &report).await;
    report.print(&format!("{}::service_killed", place.name()), &ready_again);
}
