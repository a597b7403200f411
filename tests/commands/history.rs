//! `perf-tracking history`.

use serde_json::Value as Json;

use crate::shell::{Place, RUN, Shell, places};
use crate::support::service::{Service, ServiceOptions};

/// A service and a file, each with three runs of one series.
async fn places_with_runs() -> Vec<(Place, Shell)> {
    let places = places("runs:read runs:write").await;
    for (_, shell) in &places {
        upload_three(shell).await;
    }
    places
}

/// A service with three runs of one series.
async fn service() -> (Service, Shell) {
    let service = Service::start(ServiceOptions::default()).await;
    let token = service.token("runs:read runs:write").await;
    let shell = Shell::at(&service.url()).token(&token);
    upload_three(&shell).await;
    (service, shell)
}

/// Uploads three runs of one series out of order, the middle one with two metrics.
async fn upload_three(shell: &Shell) {
    for (day, digit, value, more) in [
        ("03", "c", "9999999999999999.9999", ""),
        ("01", "a", "100", ""),
        (
            "02",
            "b",
            "-0.5",
            r#", {"metric_key": "sysbench.latency", "dim_key": "threads=16", "value": 1.25, "wallclock": true}"#,
        ),
    ] {
        let run = RUN
            .replace("2026-11-30", &format!("2026-11-{day}"))
            .replace(
                "0123456789abcdef0123456789abcdef01234567",
                &digit.repeat(40),
            )
            .replace(
                "\"value\": 1234567890}",
                &format!("\"value\": {value}}}{more}"),
            )
            .replace(
                "\"repo\"",
                "\"change\": \"12, 3\", \"patchset\": \"4\", \"repo\"",
            );
        assert_eq!(shell.upload(&[], &run).await.code, 0);
    }
}

const TABLE: &str = "\
date                  commit        metric            dim                              value  change
2026-11-03T09:00:00Z  cccccccccccc  callgrind.ir                  9,999,999,999,999,999.9999  12, 3,4
2026-11-02T09:00:00Z  bbbbbbbbbbbb  callgrind.ir                                        -0.5  12, 3,4
2026-11-02T09:00:00Z  bbbbbbbbbbbb  sysbench.latency  threads=16                        1.25  12, 3,4
2026-11-01T09:00:00Z  aaaaaaaaaaaa  callgrind.ir                                         100  12, 3,4
";

const CSV_HEADER: &str = "workload,branch,arch,distro,run_date,commit_sha,metric_key,dim_key,value,wallclock,run_id,tag,change,patchset,repo,pipeline,host_class,succeeded,subject,parameters\r\n";

#[tokio::test]
async fn a_history_is_a_table_newest_first() {
    for (_place, shell) in places_with_runs().await {
        shell.history(&[]).await.is(0, TABLE, "");
        shell
            .history(&["--all", "--limit=1"])
            .await
            .is(0, TABLE, "");
        let left = shell.history(&["--metric=callgrind.ir", "--limit=1"]).await;
        left.is(
            0,
            "\
date                  commit        metric                             value  change
2026-11-03T09:00:00Z  cccccccccccc  callgrind.ir  9,999,999,999,999,999.9999  12, 3,4
",
            "",
        );
        let left = shell
            .history(&["--since=2026-11-01", "--before=2026-11-02"])
            .await;
        left.is(
            0,
            "\
date                  commit        metric        value  change
2026-11-01T09:00:00Z  aaaaaaaaaaaa  callgrind.ir    100  12, 3,4
",
            "",
        );
    }
}

#[tokio::test]
async fn a_column_stands_where_rows_differ_in_it() {
    for (_place, shell) in places_with_runs().await {
        let failed = RUN
            .replace("\"succeeded\": true", "\"succeeded\": false")
            .replace(
                "\"pipeline\": \"promote\"",
                "\"pipeline\": \"check\", \"tag\": \"14.04\"",
            )
            .replace("callgrind\"", "box\"");
        assert_eq!(shell.upload(&[], &failed).await.code, 0);
        let left = shell
            .history(&[
                "--tag=*",
                "--pipeline=*",
                "--include-failed",
                "--limit=2",
                "--metric=callgrind.ir",
            ])
            .await;
        left.is(
        0,
        "\
date                  commit        metric                             value  tag    change   outcome  pipeline  host class
2026-11-30T09:00:00Z  0123456789ab  callgrind.ir               1,234,567,890  14.04           failed   check     box
2026-11-03T09:00:00Z  cccccccccccc  callgrind.ir  9,999,999,999,999,999.9999         12, 3,4           promote   callgrind
",
        "",
    );
        let left = shell.history(&["--baseline", "--include-failed"]).await;
        left.is(
            0,
            "\
date                  commit        metric                value  tag    outcome
2026-11-30T09:00:00Z  0123456789ab  callgrind.ir  1,234,567,890  14.04  failed
",
            "",
        );
    }
}

#[tokio::test]
async fn csv_has_every_field_and_is_whole_over_pages() {
    for (_place, shell) in places_with_runs().await {
        let row = |day: &str, digit: &str, metric: &str, id: u8| {
            format!(
                "perf,main,amd64,trixie,2026-11-{day}T09:00:00Z,{},{metric},{id},,\"12, 3\",4,drizzle,promote,callgrind,true,,\r\n",
                digit.repeat(40)
            )
        };
        let rows = [
            row("03", "c", "callgrind.ir,,9999999999999999.9999,false", 1),
            row("02", "b", "callgrind.ir,,-0.5,false", 3),
            row("02", "b", "sysbench.latency,threads=16,1.25,true", 3),
            row("01", "a", "callgrind.ir,,100,false", 2),
        ];
        let expected = format!("{CSV_HEADER}{}", rows.concat());
        shell.history(&["--format=csv"]).await.is(0, &expected, "");
        let left = shell.history(&["--format=csv", "--all", "--limit=1"]).await;
        left.is(0, &expected, "");
    }
}

#[tokio::test]
async fn json_is_what_the_service_answers_and_pages_become_one() {
    let (service, shell) = service().await;
    let url = format!(
        "{}/v1/history?workload=perf&branch=main&arch=amd64&distro=trixie&limit=20",
        service.url()
    );
    let answer = crate::support::service::http_client()
        .get(url)
        .bearer_auth(service.token("runs:read").await)
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let expected = format!("{answer}\n");
    shell.history(&["--format=json"]).await.is(0, &expected, "");
    let left = shell
        .history(&["--format=json", "--all", "--limit=1"])
        .await;
    left.is(0, &expected, "");
    let left = shell.history(&["--format=json", "--limit=1"]).await;
    let page: Json = serde_json::from_str(&left.stdout).unwrap();
    assert!(page["next"].is_string(), "{page}");
    assert!(left.stdout.contains("\"value\":9999999999999999.9999"));
}

#[tokio::test]
async fn an_empty_history_says_so_and_is_no_failure() {
    for (_place, shell) in places_with_runs().await {
        let nothing = "no run fits: the series is not there, or the filters leave nothing of it\n";
        let note = &format!(
            "{nothing}without more, only live runs of the pipeline `promote` that succeeded count; \
         --pipeline '*', --tag '*' and --include-failed let others in\n"
        );
        let filter = "--repo=another";
        shell.history(&[filter]).await.is(0, "", note);
        let left = shell.history(&[filter, "--format=csv"]).await;
        left.is(0, CSV_HEADER, note);
        let left = shell.history(&[filter, "--format=json", "--all"]).await;
        left.is(
        0,
        "{\"series\":{\"workload\":\"perf\",\"branch\":\"main\",\"arch\":\"amd64\",\"distro\":\"trixie\"},\"metrics\":[]}\n",
        note,
    );
        let left = shell.history(&[filter, "--baseline"]).await;
        left.is(0, "", nothing);
    }
}

#[tokio::test]
async fn a_reader_that_has_had_enough_is_no_failure() {
    for (_place, shell) in places_with_runs().await {
        let script = format!(
            "{} history --workload perf --branch main --arch amd64 --distro trixie --all --limit 1 --format csv | head -n 1",
            env!("CARGO_BIN_EXE_perf-tracking")
        );
        let left = shell.script(&script).await;
        left.is(0, CSV_HEADER, "");
    }
}

#[tokio::test]
async fn a_flag_that_does_not_fit_is_refused_before_the_network() {
    let shell = Shell::at("http://127.0.0.1:1");
    for (flag, said) in [
        ("--limit=0", "0 is not in 1..=10000"),
        ("--since=yesterday", "such as 2026-11-30T09:00:00Z"),
        ("--tag= x", "must not start or end with white space"),
        ("--pipeline=", "must not be empty"),
        ("--dim=threads=16", "--metric <KEY>"),
        ("--format=xml", "table, json, csv"),
    ] {
        let left = shell.history(&[flag]).await;
        assert_eq!((left.code, left.stdout.as_str()), (2, ""), "{flag}");
        assert!(left.stderr.contains(said), "{flag}: {}", left.stderr);
    }
}
