//! The first real input: a small program under callgrind, its totals posted as a run and read back, to the last digit.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};
use support::databases::{Database, Engine};
use support::service::{Service, ServiceOptions, http_client};

/// Enough of everything that is counted: memory is walked, branches depend on it, and a lock crosses the bus.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void) {
    enum { COUNT = 20000 };
    int *numbers = malloc(COUNT * sizeof *numbers);
    int locked = 0;
    unsigned state = 1;
    for (int i = 0; i < COUNT; i++) {
        state = state * 1103515245u + 12345u;
        numbers[i] = state >> 8 & 0xffff;
        if (numbers[i] % 7 == 0) __sync_fetch_and_add(&locked, 1);
    }
    qsort(numbers, COUNT, sizeof *numbers, compare);
    printf("%d %d\n", numbers[COUNT / 2], locked);
    free(numbers);
    return 0;
}
"#;

#[tokio::test]
async fn callgrind_totals_come_back_exactly_on_sqlite() {
    let service = Service::start(ServiceOptions::default()).await;
    come_back_exactly(&service).await;
}

#[tokio::test]
async fn callgrind_totals_come_back_exactly_on_mariadb() {
    let database = Database::start(Engine::MariaDb11_8).await;
    let url = database.create_schema("first_input").await;
    let service = Service::start(ServiceOptions::with_database(url)).await;
    come_back_exactly(&service).await;
}

async fn come_back_exactly(service: &Service) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let totals = callgrind(folder.path());
    for event in ["Ir", "Dr", "Dw", "Bc", "Bcm", "I1mr", "DLmr", "Ge"] {
        assert!(totals[event] > 0, "{event} was counted: {totals:?}");
    }
    println!("{totals:?}");
    let token = service.token("runs:read runs:write").await;
    let run = json!({
        "workload": "first-input", "repo": "perf-tracking", "branch": "main",
        "commit_sha": "0123456789abcdef0123456789abcdef01234567", "pipeline": "promote",
        "distro": "bookworm", "arch": "amd64", "host_class": "callgrind",
        "run_date": "2026-11-30T09:00:00Z", "succeeded": true,
        "metrics": totals.iter().map(|(event, total)| {
            json!({"metric_key": format!("callgrind.{event}"), "value": total})
        }).collect::<Vec<_>>(),
    });
    let answer = http_client()
        .post(format!("{}/v1/runs", service.url()))
        .bearer_auth(&token)
        .json(&run)
        .send()
        .await
        .expect("the service answers");
    assert_eq!(answer.status(), 201);

    let answer: Json = http_client()
        .get(format!("{}/v1/history", service.url()))
        .query(&[
            ("workload", "first-input"),
            ("branch", "main"),
            ("arch", "amd64"),
            ("distro", "bookworm"),
        ])
        .bearer_auth(&token)
        .send()
        .await
        .expect("the service answers")
        .json()
        .await
        .expect("is JSON");
    let metrics = answer["metrics"].as_array().expect("is a list");
    let read: BTreeMap<String, String> = metrics
        .iter()
        .map(|metric| {
            let key = metric["metric_key"].as_str().expect("is a text");
            assert_eq!(metric["points"].as_array().map(Vec::len), Some(1));
            (key.to_owned(), metric["points"][0]["value"].to_string())
        })
        .collect();
    let sent: BTreeMap<String, String> = totals
        .iter()
        .map(|(event, total)| (format!("callgrind.{event}"), total.to_string()))
        .collect();
    assert_eq!(read, sent);
}

/// The totals of the program, by callgrind's names of the events.
fn callgrind(folder: &Path) -> BTreeMap<String, u64> {
    fs::write(folder.join("program.c"), PROGRAM).expect("a file can be written");
    run(folder, "gcc", &["-O1", "-g", "-o", "program", "program.c"]);
    run(
        folder,
        "valgrind",
        &[
            "--tool=callgrind",
            "--callgrind-out-file=callgrind.out",
            "--cache-sim=yes",
            "--branch-sim=yes",
            "--collect-bus=yes",
            "./program",
        ],
    );
    let text = fs::read_to_string(folder.join("callgrind.out")).expect("callgrind wrote its file");
    let line = |name: &str| {
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix(name));
        let line = line.unwrap_or_else(|| panic!("callgrind's file has a line `{name}`"));
        line.split_whitespace().map(str::to_owned)
    };
    let totals = line("totals:").map(|total| total.parse().expect("a total is a number"));
    line("events:").zip(totals).collect()
}

fn run(folder: &Path, program: &str, args: &[&str]) {
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}; `tests/setup` installs it"));
    assert!(
        output.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
