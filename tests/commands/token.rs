//! Where a command takes its token from.

use std::fs;

use crate::shell::{RUN, Shell};
use crate::support::ports;
use crate::support::service::{Service, ServiceOptions};

const CREATED: &str = "created run 1: perf on main, amd64, trixie at 0123456789ab\n";

const GET_WRITE: &str = "`perf-tracking token issue --scope runs:write --subject NAME --expires 90d` makes a token where the service keeps its secret; give it in a file with --token-file (PERF_TRACKING_TOKEN_FILE) or in the variable PERF_TRACKING_TOKEN\n";

#[tokio::test]
async fn an_upload_without_a_token_is_refused_before_the_network() {
    let url = format!("http://127.0.0.1:{}", ports::free());
    let expected = format!("error: an upload needs a token: {GET_WRITE}");
    let shell = Shell::at(&url);
    shell.upload(&[], RUN).await.is(2, "", &expected);
    shell.token("").upload(&[], RUN).await.is(2, "", &expected);
}

#[tokio::test]
async fn a_text_that_is_no_token_is_refused_and_not_shown() {
    let url = format!("http://127.0.0.1:{}", ports::free());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let path = file.to_str().unwrap();
    let shell = Shell::at(&url);
    let wrong =
        "holds more than a token: white space, control characters or letters beyond ASCII\n";
    for text in [
        "hunter2 hunter2",
        "hunter2\nhunter2",
        "hunter2é",
        "hunt\ter2",
    ] {
        let left = shell.clone().token(text).upload(&[], RUN).await;
        left.is(2, "", &format!("error: PERF_TRACKING_TOKEN {wrong}"));
        fs::write(&file, text).unwrap();
        let left = shell.upload(&["--token-file", path], RUN).await;
        left.is(2, "", &format!("error: the token file `{path}` {wrong}"));
    }
    fs::write(&file, b"\n").unwrap();
    let left = shell.upload(&["--token-file", path], RUN).await;
    left.is(
        2,
        "",
        &format!("error: the token file `{path}` holds no token\n"),
    );
    fs::remove_file(&file).unwrap();
    let left = shell.upload(&["--token-file", path], RUN).await;
    left.is(
        2,
        "",
        &format!(
            "error: cannot read the token file `{path}`: No such file or directory (os error 2)\n"
        ),
    );
    let left = shell
        .upload(&["--token-file", "eyJhbGci.eyJpc3Mi.c2ln"], RUN)
        .await;
    left.is(
        2,
        "",
        "error: cannot read the token file (not shown: a token, which must not stand on a command line): No such file or directory (os error 2)\n",
    );
}

#[tokio::test]
async fn a_file_wins_over_the_variable() {
    let service = Service::start(ServiceOptions::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, format!("{}\n", service.token("runs:write").await)).unwrap();
    let path = file.to_str().unwrap();
    let shell = Shell::at(&service.url()).token("eyJhbGci.eyJpc3Mi.c2ln");
    let left = shell.upload(&["--token-file", path], RUN).await;
    left.is(0, CREATED, "");
    let by_variable = shell.with("PERF_TRACKING_TOKEN_FILE", path);
    let left = by_variable.upload(&[], RUN).await;
    left.is(0, &CREATED.replace("created", "unchanged"), "");
}

#[tokio::test]
async fn a_token_that_does_not_do_is_told_with_the_scope_that_is_needed() {
    let service = Service::start(ServiceOptions::default()).await;
    let url = service.url();
    let shell = Shell::at(&url);
    let get_read = GET_WRITE.replace("runs:write", "runs:read");

    let left = shell.history(&[]).await;
    left.is(
        2,
        "",
        &format!(
            "error: {url}/v1/history: 401 A valid token is needed: send a token as \
             `Authorization: Bearer TOKEN`; `perf-tracking token issue` makes one\n\
             no token was sent: {get_read}"
        ),
    );
    let left = shell
        .clone()
        .token(&service.token("runs:write").await)
        .history(&[])
        .await;
    left.is(
        2,
        "",
        &format!(
            "error: {url}/v1/history: 403 The token lacks a scope: insufficient_scope: this needs \
             a token with the scope `runs:read`\n{get_read}"
        ),
    );
    let left = shell
        .clone()
        .token(&service.token("runs:read").await)
        .upload(&[], RUN)
        .await;
    left.is(
        2,
        "",
        &format!(
            "error: {url}/v1/runs: 403 The token lacks a scope: insufficient_scope: this needs a \
             token with the scope `runs:write`\n{GET_WRITE}"
        ),
    );
    let token = service.token("runs:write").await;
    let left = shell.token(&format!("{token}x")).upload(&[], RUN).await;
    assert_eq!((left.code, left.stdout.as_str()), (2, ""));
    assert!(left.stderr.contains("401 A valid token is needed: "));
    assert!(left.stderr.ends_with(&format!("\n{GET_WRITE}")));
}

#[tokio::test]
async fn a_token_that_is_narrowed_to_other_runs_is_told_as_such() {
    let service = Service::start(ServiceOptions::default()).await;
    let url = service.url();
    let flags = ["--scope=runs:write", "--expires=1h", "--branch=next"];
    let shell = Shell::at(&url).token(&service.issue(&flags).await);
    shell.upload(&[], RUN).await.is(
        2,
        "",
        &format!(
            "error: {url}/v1/runs: 403 The run is outside the token's claims: the token may not \
             write runs whose `branch` is `main`\n\
             the scope is right: use a token that is not narrowed, or is narrowed to what this run \
             is of. `perf-tracking token inspect` shows what a token is narrowed to, and the flags \
             --repo, --branch, --workload and --pipeline of `perf-tracking token issue` narrow one\n"
        ),
    );
}

#[tokio::test]
async fn public_reads_need_no_token() {
    let service = Service::start(ServiceOptions {
        args: vec!["--public-read".to_owned()],
        ..ServiceOptions::default()
    })
    .await;
    let left = Shell::at(&service.url()).history(&[]).await;
    left.is(
        0,
        "",
        "no run fits: the series is not there, or the filters leave nothing of it\n\
         without more, only live runs of the pipeline `promote` that succeeded count; \
         --pipeline '*', --tag '*' and --include-failed let others in\n",
    );
}
