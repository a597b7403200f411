//! The entries of `gate.toml` that accept what was found of a candidate.

use std::collections::BTreeMap;

use chrono::{TimeDelta, TimeZone as _, Utc};

use super::finding::{Judgement, MetricJudgement, Status};
use super::window::Worse;
use crate::domain::{RunDate, Series};

/// Who accepts a step, and why.
#[derive(Clone, Copy, Debug)]
pub struct Reason<'a> {
    /// The reason.
    pub why: &'a str,
    /// Who accepts it.
    pub by: &'a str,
}

/// What stands in the entry of a report until a person has filled it in.
pub const UNSAID: Reason<'static> = Reason {
    why: "…", by: "…"
};

/// The most metrics that are named in one entry.
const MOST: usize = 50;

/// The entries that let pass what got worse: one for each size of the change, so that none is wider
/// than it must be. `None` where nothing got worse, or nothing can be accepted.
///
/// They begin one second after the newest run of the series: that is before the change merges, and
/// after all that it was compared with.
pub fn entries(judgement: &Judgement, series: &Series, reason: Reason<'_>) -> Option<String> {
    let newest = judgement.runs.values().map(|run| run.run_date).max()?;
    let since = Utc.timestamp_opt(newest.timestamp(), 0).single()? + TimeDelta::seconds(1);
    let since = RunDate::new(since).ok()?;
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let worse = judgement
        .metrics
        .iter()
        .filter(|metric| metric.finding.status() == Status::Regression);
    for metric in worse {
        let names = groups.entry(up_to(metric)?).or_default();
        let name = quoted(&as_pattern(metric.name.metric_key.as_str()));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let entries: Vec<String> = groups
        .iter()
        .flat_map(|(up_to, names)| names.chunks(MOST).map(move |names| (up_to, names)))
        .map(|(up_to, names)| entry(names, series, since, up_to, reason))
        .collect();
    (!entries.is_empty()).then(|| entries.join("\n"))
}

fn entry(
    names: &[String],
    series: &Series,
    since: RunDate,
    up_to: &str,
    reason: Reason<'_>,
) -> String {
    let metric = match names {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let part = |name: &str, value: &str| format!("{name} = {}", quoted(value));
    let series = [
        part("workload", series.workload.as_str()),
        part("branch", series.branch.as_str()),
        part("arch", series.arch.as_str()),
        part("distro", series.distro.as_str()),
    ];
    format!(
        "[[accepted]]\nmetric = {metric}\nseries = {{ {} }}\nsince_date = {since}\nup_to = {up_to}\n\
         why = {}\nby = {}\n",
        series.join(", "),
        quoted(reason.why),
        quoted(reason.by)
    )
}

/// What a metric passes up to: the change from its level, rounded up; from a level of zero the value
/// itself.
fn up_to(metric: &MetricJudgement) -> Option<String> {
    let window = &metric.windows.first()?.all;
    let Some(percent) = window.change_percent else {
        return metric.candidate.map(|value| value.to_string());
    };
    let sign = match metric.terms.worse {
        Worse::Higher => '+',
        Worse::Lower => '-',
    };
    Some(format!("\"{sign}{} %\"", rounded_up(percent.abs())))
}

/// The next number above with so many digits as a person would write.
fn rounded_up(percent: f64) -> f64 {
    let step = match percent {
        percent if percent < 0.1 => 0.001,
        percent if percent < 1.0 => 0.1,
        percent if percent < 20.0 => 0.5,
        _ => 1.0,
    };
    // The reciprocal is a whole number, so that 7.5 does not become 7.500000000000001.
    let parts = (1.0_f64 / step).round();
    ((percent * parts).floor() + 1.0) / parts
}

/// A name as a pattern that matches it alone.
pub(crate) fn as_pattern(name: &str) -> String {
    if !name.contains(['*', '?', '[', ']', '{', '}', '\\']) {
        return name.to_owned();
    }
    let escaped = |c: char| match c {
        '*' | '?' | '[' | ']' | '{' | '}' => format!("[{c}]"),
        '\\' => "\\\\".to_owned(),
        c => c.to_string(),
    };
    name.chars().map(escaped).collect()
}

/// A basic string of TOML.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::super::pattern::Pattern;
    use super::*;

    #[test]
    fn a_change_is_rounded_up_as_a_person_would() {
        for (percent, rounded) in [
            (7.74, 8.0),
            (8.0, 8.5),
            (0.25, 0.3),
            (113.2, 114.0),
            (0.000_02, 0.001),
        ] {
            assert_eq!(rounded_up(percent), rounded, "{percent}");
        }
    }

    #[test]
    fn a_name_with_wildcards_matches_itself_alone() {
        for name in ["go.Benchmark[8].ns_per_op", "a*b", "a{b", "a\\b", "plain"] {
            let pattern = Pattern::new(&as_pattern(name)).unwrap();
            assert!(pattern.matches(name), "{name}");
            assert!(!pattern.matches("a*cb") || name != "a*b");
        }
    }

    #[test]
    fn a_text_is_one_string_of_toml() {
        assert_eq!(quoted("a \"b\" \\ \n"), r#""a \"b\" \\ \u000A""#);
    }
}
