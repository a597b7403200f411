//! The same requests have the same answers, byte for byte, whatever the database.
//!
//! `session.jsonl` beside this file holds one exchange a line. After a change of the answers that is meant, write it
//! anew with `UPDATE_SESSION=1 cargo test --test backends -- sqlite::session`, and look at what changed.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::api::{Answer, Api, date, run, with};
use crate::model::{Dice, varied_run};
use crate::support::harness::Context;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/backends/session.jsonl");

#[derive(Default)]
struct Transcript(String);

impl Transcript {
    fn add(&mut self, request: &str, answer: &Answer) {
        // A string keeps the body's very bytes, which a parsed body would not.
        let line = json!({
            "request": request, "status": answer.status, "type": answer.header("content-type"),
            "location": answer.header("location"), "body": without_upload(&answer.text),
        });
        writeln!(self.0, "{line}").unwrap();
    }

    async fn post(&mut self, api: &Api, name: &str, run: &Json) {
        self.add(&format!("POST {name}"), &api.post(run).await);
    }

    /// The answers to `path` and to all its pages.
    async fn get(&mut self, api: &Api, path: &str) {
        let mut next = String::new();
        for _ in 0..20 {
            let page = format!("{path}{next}");
            let answer = api.get(&page).await;
            self.add(&format!("GET {page}"), &answer);
            match serde_json::from_str::<Json>(&answer.text)
                .unwrap()
                .get("next")
            {
                Some(cursor) => next = format!("&cursor={}", cursor.as_str().unwrap()),
                None => return,
            }
        }
    }
}

pub(crate) async fn is_the_same_on_every_database(context: &Context) {
    let api = Api::start(context).await;
    let mut transcript = Transcript::default();
    let mut dice = Dice::new(42);
    // New runs come first: a server's counter of ids may skip one for each upload that was stored already.
    for number in 0..24 {
        let sent = varied_run(number, &mut dice);
        transcript
            .post(&api, &format!("varied {number}"), &sent)
            .await;
    }
    let exact: Json = serde_json::from_str("900719925474.0001").unwrap();
    let nasty = with(
        run(100),
        json!({
            "workload": "it's", "branch": "a\\b\"c", "distro": "é😀", "tag": "%_", "change": "e\u{301}", "patchset": "--",
            "metrics": [{"metric_key": "ß", "dim_key": "/*", "value": exact}],
        }),
    );
    transcript.post(&api, "nasty", &nasty).await;
    let failed = with(
        run(101),
        json!({"succeeded": false, "metrics": [], "workload": "fails"}),
    );
    transcript.post(&api, "failed", &failed).await;

    let mut again = Dice::new(42);
    transcript
        .post(&api, "the first again", &varied_run(0, &mut again))
        .await;
    let other = with(
        run(0),
        json!({"repo": "x", "run_date": date(9), "metrics": [{"metric_key": "always", "value": 1.25}]}),
    );
    transcript.post(&api, "other content", &other).await;
    transcript
        .post(
            &api,
            "failed, now succeeded",
            &with(run(101), json!({"workload": "fails"})),
        )
        .await;
    transcript
        .post(
            &api,
            "a bad run",
            &with(run(1), json!({"tag": " ", "colour": 1, "metrics": [{}]})),
        )
        .await;

    let series = "workload=perf&branch=main&arch=amd64&distro=trixie";
    let gets = [
        format!("/v1/history?{series}"),
        format!("/v1/history?{series}&limit=3&tag=*&pipeline=*&include_failed=true"),
        format!("/v1/history?{series}&metric_key=always&limit=4"),
        format!("/v1/history?{series}&metric_key=rare&metric_key=dims&limit=2"),
        format!("/v1/history?{series}&metric_key=dims&dim_key=threads%3D16"),
        format!("/v1/baseline?{series}&limit=2"),
        format!("/v1/history?{series}&limit=0&colour=red"),
        "/v1/history?workload=it%27s&branch=a%5Cb%22c&arch=amd64&distro=%C3%A9%F0%9F%98%80&tag=%25_".to_owned(),
        "/v1/runs?limit=7".to_owned(),
        "/v1/runs?repo=fork".to_owned(),
        "/v1/runs/1".to_owned(),
        "/v1/runs/25".to_owned(),
        "/v1/runs/26".to_owned(),
        "/v1/runs/999".to_owned(),
        "/v1/series".to_owned(),
        "/v1/series?repo=fork".to_owned(),
        "/nowhere".to_owned(),
    ];
    for path in gets {
        transcript.get(&api, &path).await;
    }
    compare(Path::new(FILE), &transcript.0);
}

/// An answer without who uploaded a run with which token, and when.
fn without_upload(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(",\"uploaded_by\":") {
        kept.push_str(before);
        let (_, after) = after.split_once("\"uploaded_at\":\"").unwrap();
        rest = after.split_once('"').unwrap().1;
    }
    kept + rest
}

fn compare(file: &Path, found: &str) {
    if std::env::var_os("UPDATE_SESSION").is_some() {
        std::fs::write(file, found).unwrap();
    }
    let committed = std::fs::read_to_string(file).unwrap();
    for (number, (found, committed)) in found.lines().zip(committed.lines()).enumerate() {
        assert_eq!(
            found,
            committed,
            "line {} of {}",
            number + 1,
            file.display()
        );
    }
    assert_eq!(found.lines().count(), committed.lines().count());
}
