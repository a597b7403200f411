//! What `deploy/` and the Containerfile ship, started for real: the image, compose with MariaDB, the systemd unit, a
//! measured MariaDB.
//!
//! Everything that is made in the container engine is named `perf-tracking-test-…` and goes away with its test; the
//! images stay, so that a second run builds only what has changed.

#[path = "../support/mod.rs"]
mod support;

mod compare;
mod compose;
mod docker;
mod image;
mod measure;
mod systemd;
mod upload;
