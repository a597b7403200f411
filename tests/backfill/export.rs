//! `perf-tracking export`.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

use crate::fake::{Fake, Reply};
use crate::shell::Shell;
use crate::support::wait;
use crate::world::{World, lines, run, table, with};

#[tokio::test]
async fn an_empty_store_is_an_empty_export() {
    let world = World::new().await;
    world.shell.run(&["export"], "").await.is(0, "", "");
    world.load(&[], "").await.is(0, &table(0, 0, 0, 0), "");
    world.load(&[], "\n \n").await.is(0, &table(0, 0, 0, 0), "");
}

#[tokio::test]
async fn every_filter_narrows() {
    let world = World::new().await;
    let others = [
        json!({}),
        json!({"workload": "slap"}),
        json!({"branch": "stable"}),
        json!({"arch": "arm64"}),
        json!({"distro": "sid"}),
        json!({"repo": "fork"}),
        json!({"host_class": "metal"}),
        json!({"tag": "14.04"}),
        json!({"pipeline": "nightly"}),
        json!({"succeeded": false}),
        json!({"run_date": "2020-01-01T00:00:00Z"}),
        json!({"run_date": "2026-03-01T00:00:00Z"}),
    ];
    let runs = (0..)
        .zip(others)
        .map(|(number, other)| with(run(number), other));
    world
        .load(&["--jobs=1"], &lines(runs))
        .await
        .is(0, &table(12, 0, 0, 0), "");
    let commit = format!("{:040x}", 3);
    for (flags, expected) in [
        (&[][..], (0..12).collect()),
        (&["--workload=slap"], vec![1]),
        (&["--branch=stable"], vec![2]),
        (&["--arch=arm64"], vec![3]),
        (&["--distro=sid"], vec![4]),
        (&["--repo=fork"], vec![5]),
        (&["--host-class=metal"], vec![6]),
        (&["--tag=14.04"], vec![7]),
        (&["--tag="], vec![0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11]),
        (&["--pipeline=nightly"], vec![8]),
        (&["--tag=*", "--pipeline=*"], (0..12).collect()),
        (
            &["--only-succeeded"],
            vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11],
        ),
        (&["--before=2026-01-01"], vec![10]),
        (&["--since=2026-02-01"], vec![11]),
        (&[&format!("--commit={commit}")], vec![3]),
        (&["--workload=none"], vec![]),
    ] {
        let left = world.shell.run(&[&["export"], flags].concat(), "").await;
        assert_eq!((left.code, left.stderr.as_str()), (0, ""), "{flags:?}");
        let numbers: Vec<u64> = left
            .stdout
            .lines()
            .map(|line| {
                let run: Json = serde_json::from_str(line).unwrap();
                u64::from_str_radix(run["commit_sha"].as_str().unwrap(), 16).unwrap()
            })
            .collect();
        assert_eq!(numbers, expected, "{flags:?}");
    }
}

#[tokio::test]
async fn a_line_is_what_an_upload_takes() {
    let world = World::new().await;
    let sent = with(run(1), json!({"change": "é", "tag": "14.04"}));
    world
        .load(&[], &lines([sent]))
        .await
        .is(0, &table(1, 0, 0, 0), "");
    let left = world.shell.upload(&[], &world.export().await).await;
    assert!(left.stdout.starts_with("unchanged run 1: "), "{left:?}");
}

#[tokio::test]
async fn more_than_a_page_is_exported_whole_in_the_order_it_was_stored() {
    let world = World::new().await;
    let runs = (0..2_300).rev().map(run);
    world
        .load(&["--jobs=32"], &lines(runs))
        .await
        .is(0, &table(2_300, 0, 0, 0), "");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.ndjson");
    let path = file.to_str().unwrap();
    let left = world.shell.run(&["export", "-o", path], "").await;
    left.is(0, "", &format!("2300 runs in `{path}`\n"));
    let export = fs::read_to_string(&file).unwrap();
    assert_eq!(export, world.export().await);
    let mut commits: Vec<Json> = export
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap()["commit_sha"].clone())
        .collect();
    commits.sort_by_key(Json::to_string);
    commits.dedup();
    assert_eq!(commits.len(), 2_300);
    // A reader that goes away has no whole export, and the shell can see it.
    let left = world
        .shell
        .clone()
        .with("PROGRAM", env!("CARGO_BIN_EXE_perf-tracking"))
        .script("set +e; \"$PROGRAM\" export | head -n 1 >/dev/null; echo \"${PIPESTATUS[0]}\"")
        .await;
    assert_eq!((left.code, left.stdout.as_str()), (0, "2\n"), "{left:?}");
    assert!(left.stderr.contains("the export is not whole"), "{left:?}");
}

fn page(runs: &[Json], next: Option<&str>) -> Reply {
    let mut page = json!({"runs": runs});
    if let Some(next) = next {
        page["next"] = json!(next);
    }
    Reply::new(
        "200 OK",
        &["Content-Type: application/json"],
        &page.to_string(),
    )
}

#[tokio::test]
async fn an_export_that_breaks_leaves_the_file_as_it_was() {
    let listed = with(run(1), json!({"run_id": 1}));
    let problem =
        r#"{"type":"internal","title":"The service failed","status":500,"detail":"see its log"}"#;
    let odd = with(listed.clone(), json!({"colour": "red"}));
    for (second, said) in [
        (
            Reply::new("500 Internal Server Error", &[], problem),
            "500 The service failed",
        ),
        (Reply::Bytes(String::new()), "the connection broke"),
        (
            page(std::slice::from_ref(&listed), Some("x")),
            "the answer has no end",
        ),
        (
            page(&[odd], None),
            "this program cannot read run 1 of the service (/colour: is not a field",
        ),
        (page(&[json!(7)], None), "this program cannot read run"),
        (
            Reply::new("200 OK", &[], "{\"runs\": [{}"),
            "not the service's",
        ),
    ] {
        let fake = Fake::start(vec![page(std::slice::from_ref(&listed), Some("x")), second]).await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.ndjson");
        fs::write(&file, "as it was").unwrap();
        let shell = Shell::at(&fake.url).token("a.b.c");
        let left = shell
            .run(&["export", "-o", file.to_str().unwrap()], "")
            .await;
        assert_eq!((left.code, left.stdout.as_str()), (2, ""), "{left:?}");
        assert!(left.stderr.contains(said), "{said}: {left:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "as it was");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert_eq!(fake.requests().len(), 2, "{said}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_told_before_anything_is_asked() {
    let shell = Shell::at("http://127.0.0.1:1").token("a.b.c");
    let left = shell
        .run(&["export", "-o", "/no/such/folder/runs.ndjson"], "")
        .await;
    assert_eq!(left.code, 2);
    assert!(
        left.stderr
            .starts_with("error: `/no/such/folder/runs.ndjson` cannot be written: "),
        "{left:?}"
    );
}

#[tokio::test]
async fn a_signal_ends_an_export_that_nobody_reads_on() {
    // More than a pipe holds.
    let listed: Vec<Json> = (0..1_000)
        .map(|number| with(run(number), json!({"run_id": number})))
        .collect();
    let fake = Fake::start(vec![page(&listed, Some("x")), Reply::Silence]).await;
    let mut child = start(&fake, &[]);
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0]).await.unwrap();
    ended(child, Signal::TERM).await;
    drop(stdout);
}

#[tokio::test]
async fn a_signal_leaves_the_file_as_it_was() {
    let listed = with(run(1), json!({"run_id": 1}));
    for signal in [Signal::TERM, Signal::HUP] {
        let fake = Fake::start(vec![
            page(std::slice::from_ref(&listed), Some("x")),
            Reply::Silence,
        ])
        .await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.ndjson");
        fs::write(&file, "as it was").unwrap();
        let child = start(&fake, &["--output", file.to_str().unwrap()]);
        wait::until(
            "the second page is asked for",
            Duration::from_secs(30),
            async || match fake.requests().len() {
                2.. => Ok(()),
                found => Err(format!("{found} requests")),
            },
        )
        .await
        .unwrap();
        ended(child, signal).await;
        assert_eq!(fs::read_to_string(&file).unwrap(), "as it was");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}

/// An export under way.
fn start(fake: &Fake, args: &[&str]) -> Child {
    // Whoever runs the tests may have them ignore a signal, and what is ignored stays so.
    Command::new("/usr/bin/env")
        .args(["--default-signal", env!("CARGO_BIN_EXE_perf-tracking")])
        .args(["export", "--server", &fake.url])
        .args(args)
        .env_clear()
        .env("PERF_TRACKING_TOKEN", "a.b.c")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// Sends a signal, which must end it.
async fn ended(child: Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    kill_process(pid, signal).unwrap();
    let output = tokio::time::timeout(Duration::from_secs(60), child.wait_with_output());
    let output = output.await.expect("it ends").unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("error: ended by SIG") && said.ends_with(": the export is not whole\n"),
        "{said}"
    );
}
