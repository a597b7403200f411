//! The committed description is the one that the service gives.

use std::path::Path;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi/perf-tracking.json");

#[test]
fn the_committed_description_is_the_services_own() {
    let text = perf_tracking::http::openapi_document()
        .to_pretty_json()
        .expect("a description has a JSON form");
    let text = format!("{text}\n");
    let file = Path::new(FILE);
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(file, &text).expect("the file can be written");
    }
    let committed = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        committed == text,
        "openapi/perf-tracking.json is not what the service describes; if the change is meant, run\n\
         UPDATE_OPENAPI=1 cargo test --test openapi\nand look at what changed"
    );
}
