//! Reads series a line and answers each with its change points, for the comparison with others.

use std::io::{self, BufRead as _, Write as _};

use anyhow::Context as _;
use serde::Deserialize;

use crate::commands::Outcome;
use crate::judge::changes;

#[derive(Deserialize)]
struct Series {
    values: Vec<f64>,
}

pub(super) fn run() -> anyhow::Result<Outcome> {
    let mut out = io::stdout().lock();
    for (index, line) in io::stdin().lock().lines().enumerate() {
        let line = line.context("standard input cannot be read")?;
        if line.trim().is_empty() {
            continue;
        }
        let series: Series = serde_json::from_str(&line).with_context(|| {
            let line = index + 1;
            format!("line {line} is no series; write {{\"name\": \"a\", \"values\": [1, 2]}}")
        })?;
        let points = changes::find(&series.values);
        let indices: Vec<usize> = points.iter().map(|point| point.at).collect();
        writeln!(out, "{}", serde_json::to_string(&indices)?)?;
        out.flush()?;
    }
    Ok(Outcome::Passed)
}
