//! The table of functions grows, and old and new run together.

use std::process::Command;

use crate::build;
use crate::counted::Document;

fn include(folder: &str) -> String {
    format!("-I{}", build::here().join(folder).display())
}

fn text(path: std::path::PathBuf) -> String {
    path.display().to_string()
}

#[test]
fn a_plugin_of_an_older_header_is_counted_by_a_newer_program() {
    let older = build::here().join("tests/older");
    let plugin = build::c(
        "plugin.so",
        [
            "-shared".to_owned(),
            "-fPIC".to_owned(),
            "-fvisibility=default".to_owned(),
            include("tests/older"),
            text(build::source("plugin.c")),
            text(older.join("pti.c")),
        ],
    );
    let libraries = build::c_libraries();
    let host = build::c(
        "host",
        [
            include("c"),
            text(build::source("host.c")),
            text(libraries.join("libpti_counting.a")),
            text(libraries.join("libpti.a")),
            "-lpthread".to_owned(),
            "-ldl".to_owned(),
            "-lm".to_owned(),
        ],
    );
    let metrics = build::folder().join("host.json");
    build::run(Command::new(host).arg(plugin).arg(&metrics));
    let document = Document::read(&metrics);
    // What it did before it had the table is not counted.
    assert_eq!(document.number("mutex.count", "plugin"), 7);
    assert_eq!(document.number("rwlock_read.count", "plugin"), 7);
    assert_eq!(document.number("mutex.count", "host"), 1);
    assert_eq!(document.number("file_write.bytes", "host"), 4);
}

#[test]
fn an_older_implementation_is_not_asked_for_what_it_does_not_have() {
    let program = build::c(
        "old_implementation",
        [
            include("c"),
            text(build::source("old_implementation.c")),
            text(build::c_libraries().join("libpti.a")),
            "-lpthread".to_owned(),
        ],
    );
    build::run(&mut Command::new(program));
}
