//! `perf-tracking compare`: two builds side by side, from the statistics to the reports.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on ends; helpers of tests do not count as tests yet"
)]

mod ends;
mod reports;
mod schemas;
mod servers;
mod sides;
mod stages;
mod statistics;
mod verdicts;
mod world;
