//! A policy out of the text of `gate.toml`.
//!
//! The text is read whole: every fault is told, each with its line and column, and a key that
//! nobody knows is one of them. See `gate.default.toml` beside this file for what can stand there.

use std::collections::BTreeSet;
use std::sync::Arc;

use toml::de::DeValue;

use super::policy::{
    AcceptedStep, Combine, MAX_WINDOW, MetricRule, OnInsufficient, Pattern, Place, Policy,
    SeriesFilter, Since, Windows,
};
use super::window::{Fraction, Worse};
use crate::domain::{RunDate, Value};
use crate::toml_table::{self, Table, filled, json};

pub use crate::toml_table::ConfigFault;

/// What `gate init` writes: the defaults, with what they mean.
pub const DEFAULT_TEXT: &str = include_str!("gate.default.toml");

impl Policy {
    /// Reads `gate.toml`.
    ///
    /// # Errors
    /// Every fault of the text at once, in the order of their places.
    pub fn parse(text: &str) -> Result<Self, Vec<ConfigFault>> {
        toml_table::parse(text, |root| Some(read(root)))
    }
}

fn read(mut root: Table<'_>) -> Policy {
    let mut policy = Policy::default();
    if let Some(table) = root.table("window") {
        policy.windows = read_windows(table);
    }
    if let Some(table) = root.table("parameters") {
        policy.parameters = Some(table.parameters());
    }
    if let Some(mut table) = root.table("wallclock") {
        let classes = table.list("host_classes", "a list of names", |value| match value {
            DeValue::String(text) => text.parse().map_err(|error| format!("{error}")),
            _ => Err("must be a string, the name of a class of hosts".to_owned()),
        });
        policy.wallclock_host_classes = classes.unwrap_or_default().into_iter().collect();
        table.finish();
    }
    let rules = root.tables("metric").into_iter().filter_map(read_rule);
    policy.rules.extend(rules.map(Arc::new));
    let steps = root.tables("accepted").into_iter().filter_map(read_step);
    policy.accepted = steps.map(Arc::new).collect();
    root.finish();
    policy
}

fn read_windows(mut table: Table<'_>) -> Windows {
    let defaults = Windows::default();
    let sizes = table.list(
        "sizes",
        "a list of whole numbers, such as [5, 20]",
        |value| {
            let size = json(value).and_then(|json| json.as_u64());
            let size = size.and_then(|size| u32::try_from(size).ok());
            size.filter(|size| (1..=MAX_WINDOW).contains(size))
                .ok_or_else(|| format!("must be a whole number from 1 to {MAX_WINDOW}"))
        },
    );
    let sizes: Option<BTreeSet<u32>> = sizes.map(|sizes| sizes.into_iter().collect());
    if sizes.as_ref().is_some_and(BTreeSet::is_empty) {
        table.fault("sizes", "must name at least one size, such as [5, 20]");
    }
    let sizes = sizes.map_or(defaults.sizes, |sizes| sizes.into_iter().collect());
    let smallest = sizes.first().copied().unwrap_or(MAX_WINDOW);
    let min_runs = table.integer("min_runs", 1..=MAX_WINDOW);
    let needed = min_runs.unwrap_or(defaults.min_runs);
    if needed > smallest && min_runs.is_some() {
        let detail = format!("is {needed}, which a window of {smallest} can never hold");
        table.fault("min_runs", detail);
    } else if needed > smallest {
        let detail =
            format!("has {smallest}, which can never hold the {needed} runs of `min_runs`");
        table.fault("sizes", detail);
    }
    let windows = Windows {
        sizes,
        k: table.number("k").unwrap_or(defaults.k),
        min_runs: needed,
        combine: table
            .word("combine", &[("any", Combine::Any), ("all", Combine::All)])
            .unwrap_or(defaults.combine),
        on_insufficient: table
            .word(
                "on_insufficient",
                &[
                    ("fail", OnInsufficient::Fail),
                    ("pass", OnInsufficient::Pass),
                ],
            )
            .unwrap_or(defaults.on_insufficient),
    };
    table.finish();
    windows
}

fn read_rule(mut table: Table<'_>) -> Option<MetricRule> {
    let place = Place::Line(table.line());
    let pattern = table.required("pattern", Pattern::new);
    let dim = table.optional("dim", Pattern::new);
    let floor = table.optional("floor", |text| {
        text.parse::<Fraction>().map_err(|error| error.to_string())
    });
    let floor_absolute = table.number::<Value>("floor_absolute");
    if floor_absolute.is_some_and(|floor| floor < Value::ZERO) {
        table.fault("floor_absolute", "must not be negative");
    }
    let worse = table.word(
        "worse",
        &[("higher", Worse::Higher), ("lower", Worse::Lower)],
    );
    let ignore = table.boolean("ignore");
    table.finish();
    Some(MetricRule {
        dim,
        floor: floor.unwrap_or(Fraction::ZERO),
        floor_absolute: floor_absolute.unwrap_or(Value::ZERO),
        worse: worse.unwrap_or(Worse::Higher),
        ignore: ignore.unwrap_or(false),
        ..MetricRule::new(pattern?, place)
    })
}

fn read_step(mut table: Table<'_>) -> Option<AcceptedStep> {
    let line = table.line();
    let pattern = table.required("metric", Pattern::new);
    let series = table.table("series").map(read_series).unwrap_or_default();
    let commit = table.parsed("since_commit").map(Since::Commit);
    let date = table
        .date("since_date", |text| text.parse::<RunDate>())
        .map(Since::Date);
    match (table.has("since_commit"), table.has("since_date")) {
        (false, false) => table.fault_here(
            "needs `since_commit` or `since_date`, the first run of the accepted level",
        ),
        (true, true) => table.fault(
            "since_date",
            "stands beside `since_commit`; keep one of them",
        ),
        _ => {}
    }
    let why = table.required("why", filled);
    let by = table.required("by", filled);
    let min_runs = table.integer("min_runs", 1..=MAX_WINDOW);
    let up_to = table.number::<Value>("up_to");
    table.finish();
    Some(AcceptedStep {
        pattern: pattern?,
        series,
        since: commit.or(date)?,
        why: why?,
        by: by?,
        min_runs,
        up_to,
        line,
    })
}

fn read_series(mut table: Table<'_>) -> SeriesFilter {
    let filter = SeriesFilter {
        workload: table.parsed("workload"),
        branch: table.parsed("branch"),
        arch: table.parsed("arch"),
        distro: table.parsed("distro"),
    };
    table.finish();
    filter
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
