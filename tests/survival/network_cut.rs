//! The network between the service and its database is cut and healed, in each way that networks are.

use std::time::Duration;

use crate::audit::audit;
use crate::bench::{Bench, PATIENCE, Place, gauge, impatient, recovery};
use crate::fleet::Fleet;
use crate::support::network::NetworkGate;
use crate::support::service::Service;
use crate::support::{ports, wait};

/// The database's two seconds, for what hangs at the moment of healing, and as much again for a busy machine.
const SECONDS: Duration = Duration::from_secs(5);
/// More than there are connections and uploaders: some were turned away twice, a whole database timeout apart.
const LONG: u64 = 24;

pub(crate) async fn network_cut(bench: &Bench) {
    let ground = bench.ground(Place::MariaDb).await;
    let server = ground.server.expect("MariaDB is a server");
    let gate = NetworkGate::start(ports::loopback(server.port())).await;
    let mut service = Service::start(impatient(&gate.in_front_of(&ground.url))).await;
    let fleet = Fleet::start(&[&service]).await;
    let mut ready_again = Vec::new();

    // A cut that is over before anybody gives up.
    fleet.await_acknowledged(100).await;
    gate.blackhole().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    gate.heal().await;
    ready_again.push(recovery(&service, &fleet, SECONDS).await);

    // One that outlasts the database timeout.
    fleet.await_acknowledged(100).await;
    gate.blackhole().await;
    fleet.await_refused(LONG).await;
    service.await_status("/readyz", 503).await;
    gate.heal().await;
    ready_again.push(recovery(&service, &fleet, SECONDS).await);

    // One after which nobody knows the old connections any more.
    for _ in 0..2 {
        fleet.await_acknowledged(100).await;
        gate.blackhole().await;
        fleet.await_refused(LONG).await;
        gate.heal_for_new_connections().await;
        ready_again.push(recovery(&service, &fleet, SECONDS).await);
        fleet.await_acknowledged(100).await;
    }

    // A server that is away while its host is up.
    fleet.await_acknowledged(100).await;
    gate.refuse().await;
    fleet.await_refused(LONG).await;
    service.await_status("/readyz", 503).await;
    gate.heal().await;
    ready_again.push(recovery(&service, &fleet, SECONDS).await);

    fleet.await_acknowledged(100).await;
    let report = fleet.finish().await;
    await_idle_pool(&service).await;
    audit(&mut service, &ground, &report).await;
    report.print("mariadb::network_cut", &ready_again);
}

/// No connection stays out of the pool once nobody works.
async fn await_idle_pool(service: &Service) {
    const BUSY: &str = "perf_tracking_database_connections{state=\"busy\"}";
    wait::until("the pool is idle", SECONDS, async || {
        match gauge(service, BUSY).await {
            Some(0.0) => Ok(()),
            busy => Err(format!("{busy:?} connections are busy")),
        }
    })
    .await
    .unwrap_or_else(|error| panic!("{error:#}"));
}

/// Idle connections that a firewall forgot over night cost nobody a request in the morning.
pub(crate) async fn idle_connections_die(bench: &Bench) {
    let ground = bench.ground(Place::MariaDb).await;
    let server = ground.server.expect("MariaDB is a server");
    let gate = NetworkGate::start(ports::loopback(server.port())).await;
    let mut service = Service::start(impatient(&gate.in_front_of(&ground.url))).await;
    let fleet = Fleet::start(&[&service]).await;
    fleet.await_acknowledged(100).await;
    let report = fleet.finish().await;
    await_idle_pool(&service).await;
    // Long enough that no connection is trusted unasked.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    gate.heal_for_new_connections().await;
    for _ in 0..3 {
        let status = service.status("/readyz").await;
        assert_eq!(status, Some(200), "{}", service.log_tail());
    }
    audit(&mut service, &ground, &report).await;
    report.print("mariadb::idle_connections_die", &[]);
}

/// A database that takes connections and says nothing, then is not there at all, then comes up.
pub(crate) async fn started_before_its_database(bench: &Bench) {
    let ground = bench.ground(Place::MariaDb).await;
    let server = ground.server.expect("MariaDB is a server");
    let gate = NetworkGate::start(ports::loopback(server.port())).await;
    gate.blackhole().await;
    let mut service = Service::spawn(impatient(&gate.in_front_of(&ground.url)))
        .await
        .expect("the service starts");
    wait::until("it waits for the database", PATIENCE, async || {
        let waits = service.log().contains("waiting for the database");
        waits.then_some(()).ok_or("not yet")
    })
    .await
    .unwrap_or_else(|error| panic!("{error:#}\n{}", service.log()));
    service.await_status("/readyz", 503).await;
    gate.refuse().await;
    let fleet = Fleet::start(&[&service]).await;
    fleet.await_refused(16).await;
    gate.heal().await;
    let ready_again = recovery(&service, &fleet, SECONDS).await;
    fleet.await_acknowledged(100).await;
    let report = fleet.finish().await;
    audit(&mut service, &ground, &report).await;
    report.print("mariadb::started_before_its_database", &[ready_again]);
}
