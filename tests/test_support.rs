//! The support of the tests holds what it says: databases survive a kill, the network can be cut.

mod support;

use std::time::{Duration, Instant};

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, MySqlConnection};
use support::databases::{Database, Engine};
use support::images::{ensure_debian, mirror_in};
use support::network::NetworkGate;
use support::ports;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

#[test]
fn a_mirror_is_read_in_either_format_of_apt() {
    let stanzas = "Types: deb\nURIs: http://other/x\nSuites: stable-x\n\n\
        Types: deb\nURIs: http://mirror/debian\nSuites: trixie trixie-updates\nComponents: main\n";
    assert_eq!(
        mirror_in(stanzas, "trixie").as_deref(),
        Some("http://mirror/debian")
    );
    let lines = "# a comment\ndeb [arch=amd64 signed-by=/k] http://mirror/debian trixie main\n";
    assert_eq!(
        mirror_in(lines, "trixie").as_deref(),
        Some("http://mirror/debian")
    );
    assert_eq!(mirror_in(lines, "bookworm"), None);
}

#[test]
fn a_plain_debian_can_be_had() {
    ensure_debian("trixie", &[], "perf-tracking-test/debian:trixie").expect("is pulled or built");
}

#[tokio::test]
async fn mariadb_11_8_keeps_its_data_and_address_over_a_kill() {
    survives_a_kill(Engine::MariaDb11_8).await;
}

#[tokio::test]
async fn mariadb_10_11_keeps_its_data_and_address_over_a_kill() {
    survives_a_kill(Engine::MariaDb10_11).await;
}

#[tokio::test]
async fn mysql_9_7_keeps_its_data_and_address_over_a_kill() {
    survives_a_kill(Engine::MySql9_7).await;
}

async fn survives_a_kill(engine: Engine) {
    let started = Instant::now();
    let database = Database::start(engine).await;
    println!("{engine} started in {:?}", started.elapsed());
    let url = database.create_schema("kept").await;
    connect(&url)
        .await
        .execute("CREATE TABLE t (a INT)")
        .await
        .expect("a table is made");
    connect(&url)
        .await
        .execute("INSERT INTO t VALUES (7)")
        .await
        .expect("a row is written");

    database.kill().await;
    assert!(
        MySqlConnection::connect(&url).await.is_err(),
        "a killed server takes no connection"
    );

    let restarted = Instant::now();
    database.restart().await;
    database.wait_ready().await;
    println!("{engine} is back in {:?}", restarted.elapsed());
    let kept: i32 = sqlx::query_scalar("SELECT a FROM t")
        .fetch_one(&mut connect(&url).await)
        .await
        .expect("is kept");
    assert_eq!(kept, 7);
    let flush = "SELECT @@innodb_flush_log_at_trx_commit";
    let flush: u64 = sqlx::query_scalar(flush)
        .fetch_one(&mut connect(&url).await)
        .await
        .expect("is a number");
    assert_eq!(flush, 1, "a commit is on disk when it is answered");
}

async fn connect(url: &str) -> MySqlConnection {
    MySqlConnection::connect(url)
        .await
        .expect("the server takes connections")
}

#[tokio::test]
async fn a_gate_passes_cuts_refuses_and_heals() {
    let gate = NetworkGate::start(echo_server().await).await;
    let mut open = TcpStream::connect(gate.address())
        .await
        .expect("the gate takes connections");
    assert_eq!(echo(&mut open).await.as_deref(), Some("ping"));

    gate.blackhole().await;
    assert_eq!(
        echo(&mut open).await,
        None,
        "nothing moves on an open connection"
    );
    let mut new = TcpStream::connect(gate.address())
        .await
        .expect("new connections are taken");
    assert_eq!(
        echo(&mut new).await,
        None,
        "nothing moves on a new connection"
    );

    gate.heal().await;
    assert_eq!(
        receive(&mut open).await.as_deref(),
        Some("ping"),
        "what was held back arrives"
    );
    assert_eq!(
        receive(&mut new).await.as_deref(),
        Some("ping"),
        "what was held back arrives"
    );

    gate.refuse().await;
    let error = tokio::io::AsyncReadExt::read(&mut open, &mut [0; 4])
        .await
        .expect_err("is reset");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    let error = TcpStream::connect(gate.address())
        .await
        .expect_err("is refused");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);

    gate.heal().await;
    let mut again = TcpStream::connect(gate.address())
        .await
        .expect("the gate takes connections again");
    assert_eq!(echo(&mut again).await.as_deref(), Some("ping"));
}

async fn echo_server() -> std::net::SocketAddr {
    let address = ports::loopback(ports::free());
    let listener = TcpListener::bind(address)
        .await
        .expect("a free port can be bound");
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = client.split();
                tokio::io::copy(&mut from, &mut to).await
            });
        }
    });
    address
}

async fn echo(stream: &mut TcpStream) -> Option<String> {
    stream
        .write_all(b"ping")
        .await
        .expect("an open connection takes bytes");
    receive(stream).await
}

/// What arrives soon; nothing, where nothing does.
async fn receive(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = [0; 4];
    let read = tokio::io::AsyncReadExt::read_exact(stream, &mut bytes);
    tokio::time::timeout(Duration::from_millis(300), read)
        .await
        .ok()?
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[tokio::test]
async fn a_cut_network_hangs_a_query_and_a_healed_one_answers_it() {
    let database = Database::start(Engine::MariaDb11_8).await;
    let gate = NetworkGate::start(ports::loopback(database.port())).await;
    let url = gate.in_front_of(&database.create_schema("behind").await);
    let options: MySqlConnectOptions = url.parse().expect("is a URL");
    let mut connection = options
        .ssl_mode(MySqlSslMode::Preferred)
        .connect()
        .await
        .expect("the gate passes");

    gate.blackhole().await;
    let mut query = Box::pin(connection.execute("SELECT 1"));
    let early = tokio::time::timeout(Duration::from_millis(300), &mut query).await;
    assert!(early.is_err(), "no answer through a cut network");

    gate.heal().await;
    query
        .await
        .expect("the answer arrives once the network is back");
}
