//! Files, lines and folders, good ones and bad ones.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::shell::Shell;
use crate::world::{World, lines, run, table, with};

fn write(folder: &Path, name: &str, text: &str) -> String {
    let file = folder.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// A document of the sample's series.
pub(crate) fn document(value: u64) -> Json {
    json!({
        "format_version": 1, "workload": "perf", "arch": "amd64", "distro": "trixie",
        "host_class": "callgrind", "succeeded": true, "parameters": {},
        "metrics": [{"metric_key": "callgrind.ir", "value": value}],
    })
}

#[tokio::test]
async fn bad_lines_are_told_by_their_number_and_stop_no_other() {
    let world = World::new().await;
    let failed = with(run(5), json!({"succeeded": false}));
    world
        .load(&["--jobs=1"], &lines([run(2), failed]))
        .await
        .is(0, &table(2, 0, 0, 0), "");
    let conflict = with(
        run(2),
        json!({"host_class": "metal", "metrics": [{"metric_key": "callgrind.ir", "value": 7.5}, {"metric_key": "x", "dim_key": "t=1", "value": 1, "wallclock": true}]}),
    );
    let misfit = with(run(3), json!({"arch": "", "colour\u{1b}": 1}));
    let good = run(4).to_string();
    let repeated = good.replace("\"arch\":", "\"arch\":\"x\",\"arch\":");
    let text = [
        &run(1).to_string(),
        "",
        &conflict.to_string(),
        "{\"cut\": ",
        &misfit.to_string(),
        "[]",
        &format!("  {good}\r"),
        &repeated,
        &run(2).to_string(),
        "{\"name\": \"package\", \"version\": \"1\"}",
        "\u{0}",
        &run(5).to_string(),
    ]
    .join("\n");
    let expected = "\
created    2
unchanged  1
replaced   1
refused    7

refused:
  standard input:3: run 1 is stored with other content, and stays as it is: host_class is callgrind, sent metal; callgrind.ir is 1000002, sent 7.5; x t=1 is none, sent 1
  standard input:4: is not JSON: EOF while parsing a value at line 1 column 7
  standard input:5: /colour\u{fffd}: is not a field of this object; /arch: must not be empty
  standard input:6: holds no JSON object
  standard input:8: /arch: stands here more than once
  standard input:10: is neither a document, nor a run, nor a map of metrics to numbers
  standard input:11: is not JSON: expected value at line 1 column 1
";
    world.load(&[], &text).await.is(2, expected, "");
    // The same again: what was stored stays, what was refused is refused.
    let again = expected.replace(
        "created    2\nunchanged  1\nreplaced   1",
        "created    0\nunchanged  4\nreplaced   0",
    );
    world.load(&["--jobs=1"], &text).await.is(2, &again, "");
}

#[tokio::test]
async fn folders_are_walked_and_what_is_no_measurement_is_told() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "b/two.ndjson", &lines([run(2), run(3)]));
    write(
        root,
        "a/one.json",
        &serde_json::to_string_pretty(&run(1)).unwrap(),
    );
    write(root, "a/lines.json", &lines([run(4), run(5)]));
    write(root, "a/deep/er/six.JSON", &run(6).to_string());
    write(root, "b/.hidden/seven.jsonl", &lines([run(7)]));
    write(
        root,
        "b/package.json",
        "{\"name\": \"x\", \"version\": \"1\"}",
    );
    write(root, "b/list.json", "[1, 2]");
    write(root, "b/cut.json", "{\"workload\": \"perf\",\n");
    write(root, "b/empty.json", "");
    write(root, "b/notes.txt", "not looked at");
    write(root, "b/metrics.json", "{\"metrics\": []}");
    symlink(root, root.join("a/up")).unwrap();
    symlink("nowhere.json", root.join("a/lost.json")).unwrap();
    let at = root.to_str().unwrap();
    let expected = format!("\
created         7
unchanged       0
replaced        0
refused         5
no measurement  2

no measurement:
  {at}/b/list.json: holds no JSON object
  {at}/b/package.json: is neither a document, nor a run, nor a map of metrics to numbers

refused:
  {at}/a/lost.json: cannot be read: No such file or directory (os error 2)
  {at}/a/up: leads back to {at}
  {at}/b/cut.json: is not JSON: EOF while parsing an object at line 1 column 20
  {at}/b/empty.json: is empty
  {at}/b/metrics.json: the body: is neither a document, which is an object with a `format_version`, nor a run, which is one with a `commit_sha`
");
    let left = world.shell.run(&["backfill", at], "").await;
    left.is(2, &expected, "");
    let again = world
        .shell
        .run(
            &["backfill", at, at, &format!("{at}/a"), "-"],
            &lines([run(8)]),
        )
        .await;
    assert!(
        again
            .stdout
            .starts_with("created         1\nunchanged       7\n"),
        "{again:?}"
    );
}

#[tokio::test]
async fn what_a_person_names_must_be_a_measurement() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let package = write(folder.path(), "package.json", "{\"name\": \"x\"}");
    let good = write(folder.path(), "good.txt", &run(1).to_string());
    let left = world
        .shell
        .run(&["backfill", "/no/such.json", &package, &good], "")
        .await;
    let expected = format!(
        "{}\nrefused:\n  /no/such.json: cannot be read: No such file or directory (os error 2)\n  \
         {package}: is neither a document, nor a run, nor a map of metrics to numbers\n",
        table(1, 0, 0, 2)
    );
    left.is(2, &expected, "");
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let left = world
        .shell
        .run(&["backfill", empty.to_str().unwrap()], "")
        .await;
    left.is(0, &table(0, 0, 0, 0), "");
}

#[tokio::test]
async fn a_dry_run_shows_what_would_be_sent_and_asks_nobody() {
    let shell = Shell::at("http://127.0.0.1:1");
    let text = format!("{}{{}}\n", lines([run(1), run(2)]));
    let left = shell.run(&["backfill", "--dry-run", "-"], &text).await;
    let expected = "\
would be sent  2
refused        1

refused:
  standard input:3: is neither a document, nor a run, nor a map of metrics to numbers
";
    assert_eq!((left.code, left.stderr.as_str()), (2, expected));
    // It is what a backfill takes.
    let world = World::new().await;
    world
        .load(&[], &left.stdout)
        .await
        .is(0, &table(2, 0, 0, 0), "");
    let left = shell
        .run(&["backfill", "--dry-run", "-"], &left.stdout)
        .await;
    assert_eq!((left.code, left.stdout.lines().count()), (0, 2));
}

#[tokio::test]
async fn a_run_outside_of_a_narrow_token_is_refused_alone() {
    let world = World::new().await;
    let token = world
        .service
        .issue(&[
            "--scope",
            "runs:write",
            "--expires",
            "1h",
            "--branch",
            "main",
        ])
        .await;
    let shell = world.shell.clone().token(&token);
    let other = with(run(1), json!({"branch": "stable"}));
    let left = shell.run(&["backfill", "-"], &lines([other, run(2)])).await;
    assert_eq!(left.code, 2);
    let table = table(1, 0, 0, 1);
    assert!(
        left.stdout
            .starts_with(&format!("{table}\nrefused:\n  standard input:1: 403 ")),
        "{left:?}"
    );
    assert!(left.stdout.contains("stable"), "{left:?}");
}

#[tokio::test]
async fn what_is_longer_than_any_run_is_refused_and_the_next_line_is_read() {
    let world = World::new().await;
    let said = "holds more than any run does (64 MiB)";
    let left = world.shell.run(&["backfill", "/dev/zero"], "").await;
    let expected = format!("{}\nrefused:\n  /dev/zero: {said}\n", table(0, 0, 0, 1));
    left.is(2, &expected, "");
    let folder = tempfile::tempdir().unwrap();
    let long = " ".repeat(65 << 20);
    let text = format!("{}{long}x\n{}", lines([run(1)]), lines([run(2)]));
    let file = write(folder.path(), "runs.ndjson", &text);
    let left = world.shell.run(&["backfill", &file], "").await;
    let expected = format!("{}\nrefused:\n  {file}:2: {said}\n", table(2, 0, 0, 1));
    left.is(2, &expected, "");
    // Spread over lines, too.
    let file = write(
        folder.path(),
        "run.json",
        &format!("{{\n{}", long.replace("  ", " \n")),
    );
    let left = world.shell.run(&["backfill", &file], "").await;
    let expected = format!("{}\nrefused:\n  {file}: {said}\n", table(0, 0, 0, 1));
    left.is(2, &expected, "");
}
