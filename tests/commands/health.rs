//! `perf-tracking health`.

use std::time::{Duration, Instant};

use crate::fake::{Fake, Reply};
use crate::shell::Shell;
use crate::support::ports;
use crate::support::service::{Service, ServiceOptions};

#[tokio::test]
async fn a_service_is_ready_until_it_stops() {
    let mut service = Service::start(ServiceOptions::default()).await;
    let url = service.url();
    // The address alone: no token is looked at, and a container may have no certificates.
    let shell = Shell::default()
        .with("PERF_TRACKING_TOKEN", "not a token")
        .with("SSL_CERT_FILE", "/nonexistent")
        .with("SSL_CERT_DIR", "/nonexistent");
    let args = ["health", "--server", &url];
    shell
        .run(&args, "")
        .await
        .is(0, &format!("{url} is ready\n"), "");
    service.terminate().await;
    shell.run(&args, "").await.is(
        2,
        "",
        &format!("{url} is not ready: cannot be reached: Connection refused (os error 111)\n"),
    );
}

#[tokio::test]
async fn a_service_that_waits_for_its_database_is_not_ready() {
    let options =
        ServiceOptions::with_database(format!("mysql://u:p@127.0.0.1:{}/perf", ports::free()));
    let service = Service::spawn(options).await.unwrap();
    let url = service.url();
    let shell = Shell::default();
    let args = ["health", "--server", &url];
    service.await_status("/healthz", 200).await;
    shell.run(&args, "").await.is(
        2,
        "",
        &format!(
            "{url} is not ready: 503 The service is starting: the service waits for its database, or is bringing it up \
             to date\n"
        ),
    );
}

#[tokio::test]
async fn whatever_else_answers_is_not_ready() {
    for (reply, said) in [
        (
            Reply::new("200 OK", &[], "<html>\nwelcome"),
            "200 OK with an answer that is not the service's: <html> welcome",
        ),
        (
            Reply::new("500 Internal Server Error", &[], ""),
            "500 Internal Server Error with an answer that is not the service's, empty",
        ),
        (Reply::Silence, "no whole answer within 3s"),
    ] {
        let fake = Fake::start(vec![reply]).await;
        let started = Instant::now();
        let left = Shell::at(&fake.url).run(&["health"], "").await;
        left.is(2, "", &format!("{} is not ready: {said}\n", fake.url));
        // Not as long as what is tried again, however busy the machine.
        assert!(started.elapsed() < Duration::from_secs(30));
        assert_eq!(fake.requests().len(), 1);
    }
}
