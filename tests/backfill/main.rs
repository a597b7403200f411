//! Old history out of files and out of other services, as a shell sees it.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on ends; helpers of tests do not count as tests yet"
)]

mod broken;
mod export;
#[path = "../commands/fake.rs"]
#[expect(dead_code, reason = "shared with the tests of the other commands")]
mod fake;
mod files;
mod releases;
mod round_trip;
#[path = "../commands/shell.rs"]
#[expect(dead_code, reason = "shared with the tests of the other commands")]
mod shell;
#[path = "../support/mod.rs"]
mod support;
mod voided;
mod world;
