//! The whole story, as a project lives it with the recipes in `deploy/ci`: each stage runs the commands of the recipe
//! itself, read out of its files, on a real checkout, against a real service.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on ends; helpers of tests do not count as tests yet"
)]

#[path = "../support/mod.rs"]
mod support;

mod branch;
mod comment;
mod condition;
mod first_minute;
mod github;
mod gitlab;
mod project;
mod shell;
mod zuul;

use serde_json::Value as Json;
use support::service::{Service, http_client};

/// The address that stands in every recipe for the one of the service.
const RECIPE_URL: &str = "https://perf.example.org";

/// A file of the recipes, as a project has it that has put in where its service is.
fn recipe(path: &str, service: &Service) -> Json {
    let path = format!("{}/deploy/ci/{path}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(!text.contains(&service.url()));
    serde_saphyr::from_str(&text.replace(RECIPE_URL, &service.url()))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A token as `deploy/ci/README.md` has it minted for the job that judges.
async fn reader(service: &Service) -> String {
    service
        .issue(&["--scope", "runs:read", "--expires", "90d"])
        .await
}

/// A token as `deploy/ci/README.md` has it minted for the job that uploads.
async fn writer(service: &Service, repo: &str) -> String {
    let narrowed = ["--repo", repo, "--branch", "main", "--pipeline", "promote"];
    let flags = ["--scope", "runs:write", "--expires", "90d"];
    service.issue(&[&flags[..], &narrowed].concat()).await
}

/// How many runs are stored, over all series.
async fn stored_runs(service: &Service, token: &str) -> u64 {
    let answer = http_client()
        .get(format!("{}/v1/series", service.url()))
        .bearer_auth(token)
        .send()
        .await
        .unwrap();
    let series: Json = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    let series = series["series"].as_array().expect("a list of series");
    series
        .iter()
        .map(|one| one["run_count"].as_u64().unwrap())
        .sum()
}
