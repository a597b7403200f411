//! hyperfine's JSON (`--export-json`) -> how long each command took.
//!
//! `hyperfine.<command>.mean_ns`, `.median_ns`, `.min_ns`, `.max_ns`, `.user_ns` and `.system_ns`,
//! all wall-clock; the parameters of `-L` and `-P` are the dimension. Exports of 1.0 to 1.5 have no
//! median, and those of 1.6 to 1.10 have a single `parameter` without a name, which becomes the
//! dimension `parameter=...`. A long command gets a short name with hyperfine's `--command-name`.
//!
//! hyperfine stops at a command that fails, unless `--ignore-failure` is given. The times of such a
//! command are those of its failure, so they are refused unless the caller takes them.

use super::json::{self, At};
use super::list::MetricList;
use super::number::Time;
use super::{Dim, Failures, Kind, Reading, Unreadable, measured, plural, tidy};

const TIMES: [&str; 6] = ["mean", "median", "min", "max", "user", "system"];

/// Reads an export.
///
/// # Errors
/// What does not fit, with its JSON pointer; or which command failed.
pub fn read(text: &str, failures: Failures) -> Result<Reading, Unreadable> {
    let json = json::parse(text)?;
    let results = At::top(&json).field("results")?.items()?;
    let mut list = MetricList::default();
    for result in &results {
        check_failures(result, failures, &mut list)?;
        read_result(result, &mut list)?;
    }
    let what = format!("hyperfine, {}", plural(results.len(), "command"));
    list.finish(what, "holds no result: hyperfine measured nothing")
}

fn read_result(result: &At<'_>, list: &mut MetricList) -> Result<(), Unreadable> {
    let command = tidy(result.field("command")?.text()?);
    let dim = read_dim(result)?;
    result.field("mean")?;
    for name in TIMES {
        // An export of few runs or of an older release lacks some.
        let Some(time) = result.optional(name) else {
            continue;
        };
        let mut value = Time::Seconds
            .to_nanoseconds(time.digits()?)
            .map_err(|detail| time.wrong(detail))?;
        if name == "mean" {
            value = measured(format_args!("(`{command}`)"), value).map_err(|d| time.wrong(d))?;
        }
        let key = format!("hyperfine.{command}.{name}_ns");
        list.add(&key, &dim, value, Kind::Timed)
            .map_err(|detail| result.wrong(format_args!("{detail} (hyperfine --command-name)")))?;
    }
    Ok(())
}

fn read_dim(result: &At<'_>) -> Result<Dim, Unreadable> {
    let mut dim = Dim::scalar();
    if let Some(parameter) = result.optional("parameter") {
        dim = dim.with("parameter", tidy(&parameter.scalar()?));
    }
    if let Some(parameters) = result.optional("parameters") {
        for (name, value) in parameters.entries()? {
            dim = dim.with(name, tidy(&value.scalar()?));
        }
    }
    Ok(dim)
}

/// A run that a signal ended has `null` for its exit code.
fn check_failures(
    result: &At<'_>,
    failures: Failures,
    list: &mut MetricList,
) -> Result<(), Unreadable> {
    let Some(codes) = result.optional("exit_codes") else {
        return Ok(());
    };
    let codes = codes.items()?;
    let failed = codes.iter().filter(|code| !code.is_zero()).count();
    if failed == 0 {
        return Ok(());
    }
    let command = tidy(result.field("command")?.text()?);
    let said = format!(
        "`{command}` failed in {failed} of {}",
        plural(codes.len(), "run")
    );
    if failures == Failures::Refused {
        return Err(result.wrong(format_args!(
            "cannot be judged: {said}, so these are the times of a failure; mend the command, or \
             say --allow-failures"
        )));
    }
    list.note(said);
    Ok(())
}
