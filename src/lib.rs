//! Keeps the performance history of a project and lets its CI judge a change against it.
//!
//! One upload passes through [`http`], which proves the right and reads the body, [`domain`],
//! which makes a run of it, and [`store`], which writes the rows.
//!
//! - [`domain`]: the words of the project as types, parsed once and valid ever after
//! - `read`: JSON, TOML and query strings of other people, with every fault told and bounded cost
//! - [`collect`]: what measuring tools leave -> metrics; no files, no network
//! - [`measure`]: runs what is measured, and reads what it leaves; no printing
//! - [`auth`]: from a token to a grant and back; knows no HTTP
//! - [`judge`]: from numbers to a verdict; no printing, no I/O
//! - [`report`]: verdicts and histories as text, Markdown, JSON, JUnit, CSV, OpenMetrics; decides nothing
//! - [`store`]: the runs and the questions asked of them, alone in knowing SQL
//! - [`api`]: the bodies of requests and answers, shared by the service, the client and the reports
//! - [`dashboard`]: pages and charts over what the store and the judge answer
//! - [`http`]: routes, extractors that prove a right, problems, OpenAPI; no SQL, no statistics
//! - [`client`]: the API from the other side, for the commands
//! - [`commands`]: one file a subcommand: flags, a call, an outcome
//! - `terminal`, `files`, `provenance`: what several commands share: output that is safe to print,
//!   files that are read and written whole, and where a measurement comes from

pub mod api;
pub mod auth;
pub mod client;
mod clock;
pub mod collect;
pub mod commands;
pub mod dashboard;
pub mod domain;
mod files;
pub mod http;
pub mod judge;
pub mod measure;
mod provenance;
mod read;
pub mod report;
mod signals;
pub mod store;
pub mod terminal;
