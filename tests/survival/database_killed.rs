//! The database is killed in the middle of uploads and comes back; the service is left alone.

use std::time::Duration;

use crate::audit::audit;
use crate::bench::{Bench, Place, impatient, recovery};
use crate::fleet::Fleet;
use crate::support::service::Service;

pub(crate) async fn database_killed(bench: &Bench, place: Place, times: usize) {
    let ground = bench.ground(place).await;
    let server = ground
        .server
        .expect("a database that can be killed is a server");
    let mut service = Service::start(impatient(&ground.url)).await;
    let fleet = Fleet::start(&[&service]).await;
    let mut ready_again = Vec::new();
    for _ in 0..times {
        fleet.await_acknowledged(100).await;
        server.kill().await;
        service.await_status("/readyz", 503).await;
        server.restart().await;
        server.wait_ready().await;
        ready_again.push(recovery(&service, &fleet, Duration::from_secs(10)).await);
    }
    fleet.await_acknowledged(100).await;
    let report = fleet.finish().await;
    audit(&mut service, &ground, &report).await;
    report.print(&format!("{}::database_killed", place.name()), &ready_again);
}
