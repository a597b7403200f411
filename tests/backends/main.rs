//! What every database must do alike: each case runs against SQLite, MariaDB, MySQL and a server that takes text only.
//!
//! A case is an `async fn(&Context)` in a module of this folder; a line in [`main`] adds it to the suite.

mod connection;
#[path = "../support/mod.rs"]
mod support;

use std::process::ExitCode;

use support::harness::{Case, run};

fn main() -> ExitCode {
    run([Case::new(connection::answers_a_query)])
}
