//! hyperfine's JSON (`--export-json`) -> how long each command took.
//!
//! `hyperfine.<command>.mean_ns`, `.median_ns`, `.min_ns`, `.max_ns`, `.user_ns` and `.system_ns`,
//! all wall-clock; the parameters of `-L` and `-P` are the dimension. A long command gets a short
//! name with hyperfine's `--command-name`.

use super::json::{self, At};
use super::number::Time;
use super::{Dim, Kind, Reading, Unreadable, metric, plural, tidy};
use crate::domain::Metric;

const TIMES: [&str; 6] = ["mean", "median", "min", "max", "user", "system"];

/// Reads an export.
///
/// # Errors
/// What does not fit, with its JSON pointer.
pub fn read(text: &str) -> Result<Reading, Unreadable> {
    let json = json::parse(text)?;
    let results = At::top(&json).field("results")?.items()?;
    let mut metrics = Vec::new();
    let mut failed = 0;
    for result in &results {
        read_result(result, &mut metrics)?;
        failed += usize::from(has_failed(result)?);
    }
    if metrics.is_empty() {
        return Err(Unreadable::whole(
            "holds no result: hyperfine measured nothing",
        ));
    }
    let mut what = format!("hyperfine, {}", plural(results.len(), "command"));
    if failed > 0 {
        what.push_str(&format!(", {failed} of which failed at times"));
    }
    Ok(Reading { metrics, what })
}

fn read_result(result: &At<'_>, metrics: &mut Vec<Metric>) -> Result<(), Unreadable> {
    let command = tidy(result.field("command")?.text()?);
    let mut dim = Dim::scalar();
    if let Some(parameters) = result.optional("parameters") {
        for (name, value) in parameters.entries()? {
            dim = dim.with(name, value.words());
        }
    }
    for name in TIMES {
        // An export of few runs or of an older release lacks some.
        let Some(time) = result.optional(name) else {
            continue;
        };
        let value = Time::Seconds
            .to_nanoseconds(time.digits()?)
            .map_err(|detail| time.wrong(detail))?;
        let key = format!("hyperfine.{command}.{name}_ns");
        let metric = metric(&key, &dim, value, Kind::Timed)
            .map_err(|detail| result.wrong(format_args!("{detail} (hyperfine --command-name)")))?;
        metrics.push(metric);
    }
    result.field("mean").map(|_| ())
}

/// Whether a run of a command failed, which hyperfine lets pass only when told so.
fn has_failed(result: &At<'_>) -> Result<bool, Unreadable> {
    match result.optional("exit_codes") {
        Some(codes) => Ok(codes.items()?.iter().any(|code| !code.is_zero())),
        None => Ok(false),
    }
}
