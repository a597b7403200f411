//! The service is asked to end, as an upgrade does.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::StatusCode;
use sqlx::{Connection as _, Executor as _, SqliteConnection};
use tokio::net::TcpStream;

use crate::audit::audit;
use crate::bench::{Bench, PATIENCE, Place, gauge, impatient};
use crate::fleet::{Fleet, UPLOADERS};
use crate::plan::Planned;
use crate::support::service::{Service, ServiceOptions, http_client};
use crate::support::wait;

const FREE_PLACES: &str = "perf_tracking_free_places ";

/// Uploads that wait for the file when the service is asked to end are stored and answered.
pub(crate) async fn answers_what_is_under_way(bench: &Bench) {
    let ground = bench.ground(Place::Sqlite).await;
    let mut service = Service::start(ServiceOptions::with_database(&ground.url)).await;
    let token = service.token("runs:write").await;
    let free = gauge(&service, FREE_PLACES)
        .await
        .expect("the service tells");
    let mut holder = SqliteConnection::connect(&ground.url)
        .await
        .expect("the file opens");
    holder
        .execute("BEGIN IMMEDIATE")
        .await
        .expect("nobody writes");
    let uploads: Vec<_> = (0..UPLOADERS)
        .map(|uploader| {
            let request = http_client()
                .post(format!("{}/v1/runs", service.url()))
                .bearer_auth(&token)
                .json(
                    &Planned {
                        uploader,
                        number: 1,
                    }
                    .body(),
                );
            tokio::spawn(request.send())
        })
        .collect();
    wait::until("all uploads are under way", PATIENCE, async || {
        let found = gauge(&service, FREE_PLACES).await;
        match found {
            Some(places) if places <= free - f64::from(UPLOADERS) => Ok(()),
            _ => Err(format!("{found:?} of {free} places are free")),
        }
    })
    .await
    .unwrap_or_else(|error| panic!("{error:#}"));
    service.ask_to_end();
    wait::until(
        "it takes no more connections",
        PATIENCE,
        async || match TcpStream::connect(service.address()).await {
            Ok(_) => Err("it does"),
            Err(_) => Ok(()),
        },
    )
    .await
    .unwrap_or_else(|error| panic!("{error:#}"));
    holder
        .execute("ROLLBACK")
        .await
        .expect("it can be given up");
    for answer in join_all(uploads).await {
        let answer = answer.expect("no panic").expect("every upload is answered");
        assert_eq!(answer.status(), StatusCode::CREATED);
    }
    let status = service.terminate().await;
    assert!(status.success(), "the service ended with {status}");
    let stored: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM metrics")
        .fetch_one(&mut holder)
        .await
        .expect("the file can be read");
    assert_eq!(stored, i64::from(UPLOADERS) * 9);
    println!(
        "sqlite::stopped_with_uploads_under_way: {UPLOADERS} runs acknowledged, 0 retries, never away"
    );
}

/// A browser opens connections that it may never use; a stop does not wait for them.
pub(crate) async fn silent_connections_do_not_hold_it(bench: &Bench) {
    let ground = bench.ground(Place::Sqlite).await;
    let mut service = Service::start(ServiceOptions::with_database(&ground.url)).await;
    let silent = TcpStream::connect(service.address()).await;
    let silent = silent.expect("the service listens");
    // Answered after it, so the silent one is accepted by then.
    service.await_status("/readyz", 200).await;
    let asked = Instant::now();
    let status = service.terminate().await;
    assert!(status.success(), "the service ended with {status}");
    let took = asked.elapsed();
    assert!(
        took < Duration::from_secs(8),
        "it ended only after {took:?}"
    );
    drop(silent);
}

/// An upgrade under load: it ends well, and what it acknowledged is there when it starts again.
pub(crate) async fn under_load(bench: &Bench, place: Place) {
    let ground = bench.ground(place).await;
    let mut service = Service::start(impatient(&ground.url)).await;
    let fleet = Fleet::start(&[&service]).await;
    let mut ready_again = Vec::new();
    for _ in 0..3 {
        fleet.await_acknowledged(100).await;
        let asked = Instant::now();
        let status = service.terminate().await;
        assert!(status.success(), "the service ended with {status}");
        service.restart().await;
        ready_again.push(asked.elapsed());
    }
    fleet.await_acknowledged(100).await;
    let report = fleet.finish().await;
    audit(&mut service, &ground, &report).await;
    report.print(
        &format!("{}::stopped_under_load", place.name()),
        &ready_again,
    );
}
