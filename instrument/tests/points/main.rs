//! The points from outside: programs that are built with them, run, and asked what was counted.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on ends; helpers of tests do not count as tests yet"
)]

mod build;
mod counted;
mod plain;
mod regions;
mod versions;
