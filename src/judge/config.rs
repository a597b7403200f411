//! A policy out of the text of `gate.toml`.
//!
//! The text is read whole: every fault is told, each with its line and column, and a key that
//! nobody knows is one of them. See `gate.default.toml` beside this file for what can stand there.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::policy::{
    AcceptedStep, Combine, MAX_WINDOW, MetricRule, OnInsufficient, Pattern, Place, Policy,
    SeriesFilter, Since, Windows,
};
use super::window::{Fraction, Worse};
use crate::domain::{Faults, RunDate, Value, read_parameters};
use crate::read::{
    Fields, Node, Notes, Place as ReadPlace, boolean, date, filled, number, parse_toml, parsed,
    text_with, whole, word,
};

/// What `gate init` writes: the defaults, with what they mean.
pub const DEFAULT_TEXT: &str = include_str!("gate.default.toml");

impl Policy {
    /// Reads `gate.toml`.
    ///
    /// # Errors
    /// Every fault of the text at once, in the order of their places.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        parse_toml(text, read)
    }
}

fn read(root: Node<'_>, notes: &Notes<'_>) -> Option<Policy> {
    const KNOWN: [&str; 5] = ["window", "parameters", "wallclock", "metric", "accepted"];
    let root = Fields::of(root, ReadPlace::ROOT, notes, &KNOWN)?;
    let mut policy = Policy::default();
    if let Some(windows) = root.object("window", &WINDOW_FIELDS, read_windows) {
        policy.windows = windows;
    }
    policy.parameters = read_parameters(&root);
    let classes = root.object("wallclock", &["host_classes"], |table| {
        table.list("host_classes", "a list of names", |value| {
            let is_text = value.text().is_ok();
            parsed(value).map_err(|detail| match is_text {
                true => detail,
                false => "must be a string, the name of a class of hosts".to_owned(),
            })
        })
    });
    policy.wallclock_host_classes = classes.flatten().unwrap_or_default().into_iter().collect();
    let rules = root.objects("metric", TABLES, &RULE_FIELDS, read_rule);
    policy.rules.extend(rules.into_iter().map(Arc::new));
    let steps = root.objects("accepted", TABLES, &STEP_FIELDS, read_step);
    policy.accepted = steps.into_iter().map(Arc::new).collect();
    Some(policy)
}

/// What a list of tables must be, for a message.
const TABLES: &str = "a list of tables, each under a line with its name in double brackets";

const WINDOW_FIELDS: [&str; 5] = ["sizes", "k", "min_runs", "combine", "on_insufficient"];

fn read_windows(table: &Fields<'_, '_>) -> Windows {
    let defaults = Windows::default();
    let sizes = table.list(
        "sizes",
        "a list of whole numbers, such as [5, 20]",
        whole(1..=MAX_WINDOW),
    );
    let sizes: Option<BTreeSet<u32>> = sizes.map(|sizes| sizes.into_iter().collect());
    if sizes.as_ref().is_some_and(BTreeSet::is_empty) {
        table.fault("sizes", "must name at least one size, such as [5, 20]");
    }
    let sizes = sizes.map_or(defaults.sizes, |sizes| sizes.into_iter().collect());
    let smallest = sizes.first().copied().unwrap_or(MAX_WINDOW);
    let min_runs = table.optional("min_runs", whole(1..=MAX_WINDOW));
    let needed = min_runs.unwrap_or(defaults.min_runs);
    if needed > smallest && min_runs.is_some() {
        let detail = format!("is {needed}, which a window of {smallest} can never hold");
        table.fault("min_runs", detail);
    } else if needed > smallest {
        let detail =
            format!("has {smallest}, which can never hold the {needed} runs of `min_runs`");
        table.fault("sizes", detail);
    }
    let combine = [("any", Combine::Any), ("all", Combine::All)];
    let on_insufficient = [
        ("fail", OnInsufficient::Fail),
        ("pass", OnInsufficient::Pass),
    ];
    Windows {
        sizes,
        k: table.optional("k", number).unwrap_or(defaults.k),
        min_runs: needed,
        combine: table
            .optional("combine", word(&combine))
            .unwrap_or(defaults.combine),
        on_insufficient: table
            .optional("on_insufficient", word(&on_insufficient))
            .unwrap_or(defaults.on_insufficient),
    }
}

const RULE_FIELDS: [&str; 6] = [
    "pattern",
    "dim",
    "floor",
    "floor_absolute",
    "worse",
    "ignore",
];

fn read_rule(table: &Fields<'_, '_>) -> Option<MetricRule> {
    let place = Place::Line(table.line());
    let pattern = table.needed("pattern", text_with(Pattern::new));
    let dim = table.optional("dim", text_with(Pattern::new));
    let floor = table.optional("floor", parsed::<Fraction>);
    let floor_absolute = table.optional("floor_absolute", number::<Value>);
    if floor_absolute.is_some_and(|floor| floor < Value::ZERO) {
        table.fault("floor_absolute", "must not be negative");
    }
    let worse = [("higher", Worse::Higher), ("lower", Worse::Lower)];
    let worse = table.optional("worse", word(&worse));
    let ignore = table.optional("ignore", boolean);
    Some(MetricRule {
        dim,
        floor: floor.unwrap_or(Fraction::ZERO),
        floor_absolute: floor_absolute.unwrap_or(Value::ZERO),
        worse: worse.unwrap_or(Worse::Higher),
        ignore: ignore.unwrap_or(false),
        ..MetricRule::new(pattern?, place)
    })
}

const STEP_FIELDS: [&str; 8] = [
    "metric",
    "series",
    "since_commit",
    "since_date",
    "why",
    "by",
    "min_runs",
    "up_to",
];

fn read_step(table: &Fields<'_, '_>) -> Option<AcceptedStep> {
    let pattern = table.needed("metric", text_with(Pattern::new));
    let series = table.object("series", &SERIES_FIELDS, read_series);
    let commit = table.optional("since_commit", parsed).map(Since::Commit);
    let since_date = table.optional("since_date", date::<RunDate>);
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
    let why = table.needed("why", text_with(filled));
    let by = table.needed("by", text_with(filled));
    let min_runs = table.optional("min_runs", whole(1..=MAX_WINDOW));
    let up_to = table.optional("up_to", number::<Value>);
    Some(AcceptedStep {
        pattern: pattern?,
        series: series.unwrap_or_default(),
        since: commit.or(since_date.map(Since::Date))?,
        why: why?,
        by: by?,
        min_runs,
        up_to,
        line: table.line(),
    })
}

const SERIES_FIELDS: [&str; 4] = ["workload", "branch", "arch", "distro"];

fn read_series(table: &Fields<'_, '_>) -> SeriesFilter {
    SeriesFilter {
        workload: table.optional("workload", parsed),
        branch: table.optional("branch", parsed),
        arch: table.optional("arch", parsed),
        distro: table.optional("distro", parsed),
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
