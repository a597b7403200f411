//! `perf-tracking upload`.

use std::fs;

use crate::shell::{RUN, Shell, places};
use crate::support::ports;
use crate::support::service::{Service, ServiceOptions};

const WHERE: &str = "perf on main, amd64, trixie at 0123456789ab";

/// A shell whose service nobody is to reach.
fn offline() -> Shell {
    let url = format!("http://127.0.0.1:{}", ports::free());
    Shell::at(&url).token("not.asked.for")
}

#[tokio::test]
async fn every_outcome_is_one_line() {
    for (_place, shell) in places("runs:read runs:write").await {
        let failed = RUN
            .replace("\"succeeded\": true", "\"succeeded\": false")
            .replace(r#"{"metric_key": "callgrind.ir", "value": 1234567890}"#, "");
        let left = shell.upload(&[], &failed).await;
        left.is(0, &format!("created run 1: {WHERE}\n"), "");
        let left = shell.upload(&["-"], RUN).await;
        left.is(0, &format!("replaced run 1: {WHERE}\n"), "");

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.json");
        fs::write(&file, RUN).unwrap();
        let left = shell.upload(&[file.to_str().unwrap()], "").await;
        left.is(0, &format!("unchanged run 1: {WHERE}\n"), "");

        let tagged = RUN.replace("\"pipeline\"", "\"tag\": \"14.04\", \"pipeline\"");
        let left = shell.upload(&[], &tagged).await;
        left.is(0, &format!("created run 2: {WHERE}, tag 14.04\n"), "");
        let left = shell.upload(&["--json"], RUN).await;
        left.is(0, "{\"run_id\":1,\"outcome\":\"unchanged\"}\n", "");
    }
}

#[tokio::test]
async fn a_conflict_shows_what_differs() {
    for (_place, shell) in places("runs:read runs:write").await {
        let stored = RUN.replace(
        "\"value\": 1234567890}",
        r#""value": 1234567890}, {"metric_key": "size.text", "value": 4096.5}, {"metric_key": "sysbench.latency", "dim_key": "threads=16", "value": 3}"#,
    );
        shell
            .upload(&[], &stored)
            .await
            .is(0, &format!("created run 1: {WHERE}\n"), "");
        let sent = RUN
        .replace("\"value\": 1234567890}", r#""value": 9999999999999999.9999}, {"metric_key": "sysbench.latency", "dim_key": "threads=16", "value": 3, "wallclock": true}"#)
        .replace("\"host_class\": \"callgrind\"", "\"host_class\": \"box\", \"change\": \"123\"");
        let left = shell.upload(&["--retry-for=1m"], &sent).await;
        let table = "\
error: run 1 is stored with other content, and stays as it is: perf on main, amd64, trixie at 0123456789ab
                               stored      sent
  change                       none        123
  host_class                   callgrind   box
  callgrind.ir                 1234567890  9999999999999999.9999
  size.text                    4096.5      none
  sysbench.latency threads=16  3           3 wallclock
";
        left.is(2, "", table);
        let left = shell.upload(&["--json"], &sent).await;
        assert_eq!((left.code, left.stderr.as_str()), (2, table));
        let problem: serde_json::Value = serde_json::from_str(&left.stdout).unwrap();
        assert_eq!(problem["type"], "run-conflict");
    }
}

#[tokio::test]
async fn every_fault_is_told_before_anything_is_sent() {
    let run = RUN
        .replace("\"perf\"", "\"\"")
        .replace("\"arch\"", "\"arc\"")
        .replace("1234567890", "\"many\"");
    offline().upload(&[], &run).await.is(
        2,
        "",
        "error: standard input holds no run or document that fits; nothing was sent
  /arc: is not a field of this object
  /workload: must not be empty
  /arch: is missing
  /metrics/0/value: must be a number, is a string
",
    );
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let path = file.to_str().unwrap();
    offline().upload(&[path], "").await.is(
        2,
        "",
        &format!("error: cannot read `{path}`: No such file or directory (os error 2)\n"),
    );
    for (text, said) in [
        (
            "{\n  \"workload\": perf\n}",
            "expected value at line 2 column 15",
        ),
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{} {}", "trailing characters at line 1 column 4"),
    ] {
        fs::write(&file, text).unwrap();
        let left = offline().upload(&[path], "").await;
        left.is(2, "", &format!("error: `{path}` is not JSON: {said}\n"));
    }
    let token = "eyJhbGci.eyJpc3Mi.c2ln";
    let left = offline().upload(&[token], "").await;
    assert_eq!(left.code, 2);
    assert!(!left.stderr.contains(token), "{}", left.stderr);
}

#[tokio::test]
async fn an_address_that_is_none_is_refused_with_the_form() {
    let shell = Shell::at("http://u:hunter2@perf.example.org").token("a.b.c");
    shell.upload(&[], RUN).await.is(
        2,
        "",
        "error: --server (PERF_TRACKING_URL): the address holds a user or a password, which the \
         service does not take; leave out what stands before the `@`, and give a token\n",
    );
    let left = shell.upload(&["--server=perf.example.org"], RUN).await;
    left.is(
        2,
        "",
        "error: --server (PERF_TRACKING_URL): `perf.example.org` cannot be read; write scheme, \
         host and maybe a port and a path, such as https://perf.example.org\n",
    );
}

#[tokio::test]
async fn a_file_without_an_end_is_given_up() {
    let left = offline().run(&["upload", "/dev/zero"], "").await;
    let expected = "error: cannot read `/dev/zero`: it holds more than 64 MiB\n";
    left.is(2, "", expected);
}

#[tokio::test]
async fn a_name_that_stands_twice_is_told_before_anything_is_sent() {
    let run = RUN.replace("\"value\":", "\"value\": 7, \"value\":");
    let left = offline().upload(&[], &run).await;
    left.is(
        2,
        "",
        "error: standard input holds no run or document that fits; nothing was sent\n  \
         /metrics/0/value: stands here more than once\n",
    );
}

#[tokio::test]
async fn a_path_that_is_not_the_services_is_told_as_a_wrong_address() {
    let service = Service::start(ServiceOptions::default()).await;
    let url = format!("{}/perf", service.url());
    let shell = Shell::at(&url).token(&service.token("runs:write").await);
    shell.upload(&[], RUN).await.is(
        2,
        "",
        &format!(
            "error: {url}/v1/runs: 404 There is nothing here: nothing has the path /perf/v1/runs; \
             /docs lists all routes\n\
             the address of the service is perhaps wrong: check --server (PERF_TRACKING_URL), and \
             the path in it\n"
        ),
    );
}

/// A document as `measure` writes one, whose commit and whose checkout it names.
fn document(commit: &str, clean: bool) -> String {
    serde_json::json!({
        "format_version": 1, "workload": "perf", "arch": "amd64", "distro": "trixie",
        "host_class": "callgrind", "succeeded": true, "parameters": {},
        "measured": {"commit_sha": commit, "clean": clean, "tool": "valgrind-3.19.0"},
        "metrics": [{"metric_key": "callgrind.ir", "value": 1}],
    })
    .to_string()
}

#[tokio::test]
async fn another_commit_than_the_measured_one_is_refused_unless_told() {
    let flags = [
        "--dry-run",
        "--repo=owner/name",
        "--branch=main",
        "--pipeline=promote",
        "--run-date=2026-11-30T09:00:00Z",
        "--commit=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ];
    let (own, other) = ("a".repeat(40), "b".repeat(40));
    let left = offline().upload(&flags, &document(&own, true)).await;
    assert_eq!(left.code, 0, "{}", left.stderr);
    assert!(!left.stderr.contains("warning"), "{}", left.stderr);
    let left = offline().upload(&flags, &document(&own, false)).await;
    assert_eq!(left.code, 0, "{}", left.stderr);
    assert!(
        left.stderr
            .contains("warning: standard input was measured in a checkout with changed files"),
        "{}",
        left.stderr
    );
    let left = offline().upload(&flags, &document(&other, true)).await;
    assert_eq!((left.code, left.stdout.as_str()), (2, ""));
    let said = format!("says that {other} was measured, and the run would be of {own}");
    assert!(left.stderr.contains(&said), "{}", left.stderr);
    assert!(
        left.stderr.contains("--allow-other-commit"),
        "{}",
        left.stderr
    );
    let told = [&flags[..], &["--allow-other-commit"]].concat();
    let left = offline().upload(&told, &document(&other, true)).await;
    assert_eq!(left.code, 0, "{}", left.stderr);
}
