//! The commands that call a service, as a shell sees them: exit code, standard output, standard
//! error, to the letter.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on ends; helpers of tests do not count as tests yet"
)]

mod document;
mod fake;
mod health;
mod history;
mod local;
mod output;
mod shell;
mod site;
#[path = "../support/mod.rs"]
mod support;
mod token;
mod unsteady;
mod upload;
mod welcome;
