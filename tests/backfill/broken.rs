//! Services that go away in the middle, and people who do.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

use crate::fake::{Fake, Reply};
use crate::shell::Shell;
use crate::support::{ports, wait};
use crate::world::{World, lines, run, table};

const AGAIN: &str =
    "not everything was sent; run it again to go on: what is stored is left as it is\n";

/// `backfill -` under way, with an open standard input.
fn start(url: &str, token: &str, retry_for: &str) -> Child {
    // Whoever runs the tests may have them ignore a signal, and what is ignored stays so.
    Command::new("/usr/bin/env")
        .args(["--default-signal", env!("CARGO_BIN_EXE_perf-tracking")])
        .args(["backfill", "-", "--retry-for", retry_for])
        .env_clear()
        .env("PERF_TRACKING_URL", url)
        .env("PERF_TRACKING_TOKEN", token)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

async fn end(child: Child) -> (i32, String, String) {
    let output = tokio::time::timeout(Duration::from_secs(60), child.wait_with_output());
    let output = output.await.expect("the command ends").unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

async fn stored(world: &World) -> usize {
    world.export().await.lines().count()
}

async fn until_stored(world: &World, count: usize) {
    wait::until(
        "runs are stored",
        Duration::from_secs(30),
        async || match stored(world).await {
            found if found >= count => Ok(()),
            found => Err(format!("{found} of {count}")),
        },
    )
    .await
    .unwrap();
}

/// The counts of a table, in its order.
fn counts(table: &str) -> Vec<usize> {
    let lines = table.lines().take(4);
    lines
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect()
}

const RUNS: u64 = 3_000;

#[tokio::test]
async fn a_backfill_that_lost_its_service_goes_on_where_it_was() {
    let mut world = World::new().await;
    let all = lines((0..RUNS).map(run));
    let token = world.service.token("runs:write").await;
    let mut child = start(&world.service.url(), &token, "0s");
    let mut stdin = child.stdin.take().unwrap();
    // The rest comes only once the service is gone.
    let (first, rest) = all.split_at(all.match_indices('\n').nth(400).unwrap().0 + 1);
    stdin.write_all(first.as_bytes()).await.unwrap();
    until_stored(&world, 401).await;
    world.service.kill().await;
    // It may be gone before it has read everything.
    let _ = stdin.write_all(rest.as_bytes()).await;
    drop(stdin);
    let (code, stdout, stderr) = end(child).await;
    assert_eq!(code, 2, "{stderr}");
    // The last answers may have been lost with the service.
    let told = counts(&stdout);
    assert!(told[0] <= 401 && told[1..] == [0, 0, 0], "{stdout}");
    let why = ["cannot be reached", "the connection broke"];
    assert!(
        why.iter().any(|why| stderr.contains(why)) && stderr.ends_with(AGAIN),
        "{stderr}"
    );
    world.service.restart().await;
    let left = world.load(&[], &all).await;
    left.is(0, &table(RUNS - 401, 401, 0, 0), "");
    assert_eq!(stored(&world).await as u64, RUNS);
}

#[tokio::test]
async fn a_service_that_is_killed_under_way_loses_nothing_and_stores_nothing_twice() {
    let mut world = World::new().await;
    let all = lines((0..RUNS).map(run));
    let token = world.service.token("runs:write").await;
    let mut child = start(&world.service.url(), &token, "1m");
    let mut stdin = child.stdin.take().unwrap();
    let writing = tokio::spawn(async move {
        stdin.write_all(all.as_bytes()).await.unwrap();
        all
    });
    for count in [200, 600] {
        until_stored(&world, count).await;
        world.service.kill().await;
        world.service.restart().await;
    }
    let all = writing.await.unwrap();
    let (code, stdout, stderr) = end(child).await;
    assert_eq!(code, 0, "{stdout}{stderr}");
    let counts = counts(&stdout);
    // An upload whose answer was lost is found stored.
    assert_eq!(counts[0] + counts[1], RUNS as usize, "{stdout}");
    assert_eq!(stored(&world).await as u64, RUNS);
    world.load(&[], &all).await.is(0, &table(0, RUNS, 0, 0), "");
}

#[tokio::test]
async fn a_token_that_does_not_do_ends_it_at_once() {
    let world = World::new().await;
    for (token, said) in [
        ("a.b.c".to_owned(), "401"),
        (world.service.token("runs:read").await, "insufficient_scope"),
    ] {
        let shell = world.shell.clone().token(&token);
        let left = shell
            .run(&["backfill", "-"], &lines((0..500).map(run)))
            .await;
        assert_eq!(
            (left.code, left.stdout.as_str()),
            (2, table(0, 0, 0, 0).as_str())
        );
        assert!(
            left.stderr.contains(said) && left.stderr.ends_with(AGAIN),
            "{left:?}"
        );
        assert_eq!(left.stderr.matches("error: ").count(), 1, "{left:?}");
    }
    let left = Shell::at(&world.service.url())
        .run(&["backfill", "-"], "")
        .await;
    assert_eq!(left.code, 2);
    assert!(
        left.stderr.starts_with("error: a backfill needs a token: "),
        "{left:?}"
    );
}

#[tokio::test]
async fn a_service_that_is_not_there_is_one_error() {
    let shell = Shell::at(&format!("http://127.0.0.1:{}", ports::free())).token("a.b.c");
    let left = shell
        .run(&["backfill", "-"], &lines((0..500).map(run)))
        .await;
    assert_eq!(
        (left.code, left.stdout.as_str()),
        (2, table(0, 0, 0, 0).as_str())
    );
    assert_eq!(
        left.stderr.matches("cannot be reached").count(),
        1,
        "{left:?}"
    );
    // While it is tried again, that is said once, not by every upload.
    let left = shell
        .run(
            &["backfill", "-", "--retry-for=500ms"],
            &lines((0..500).map(run)),
        )
        .await;
    assert_eq!(left.stderr.matches("trying again").count(), 1, "{left:?}");
}

#[tokio::test]
async fn an_interrupt_ends_it_with_what_was_done() {
    for (signal, name) in [(Signal::INT, "SIGINT"), (Signal::TERM, "SIGTERM")] {
        let world = World::new().await;
        let token = world.service.token("runs:write").await;
        let mut child = start(&world.service.url(), &token, "1m");
        let mut stdin = child.stdin.take().unwrap();
        stdin
            .write_all(lines((0..3).map(run)).as_bytes())
            .await
            .unwrap();
        until_stored(&world, 3).await;
        let pid = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
        let (code, stdout, stderr) = end(child).await;
        assert_eq!((code, stdout.as_str()), (2, table(3, 0, 0, 0).as_str()));
        assert_eq!(stderr, format!("error: ended by {name}\n{AGAIN}"));
        drop(stdin);
    }
}

#[tokio::test]
async fn an_interrupt_ends_it_though_the_service_hangs() {
    let fake = Fake::start(vec![Reply::Silence]).await;
    let mut child = start(&fake.url, "a.b.c", "1m");
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(lines((0..300).map(run)).as_bytes())
        .await
        .unwrap();
    wait::until(
        "uploads hang",
        Duration::from_secs(30),
        async || match fake.requests().len() {
            0 => Err("none yet"),
            _ => Ok(()),
        },
    )
    .await
    .unwrap();
    let pid = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let (code, stdout, _) = end(child).await;
    assert_eq!((code, stdout.as_str()), (2, table(0, 0, 0, 0).as_str()));
    drop(stdin);
}
