//! A policy out of the text of `gate.toml`.
//!
//! The text is read whole: every fault is told, each with its line and column, and a key that
//! nobody knows is one of them. See `gate.default.toml` beside this file for what can stand there.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::metrics::Gating;
use super::pattern::Pattern;
use super::policy::{
    AcceptedStep, Combine, K, MAX_WINDOW, MetricRule, OnInsufficient, Outliers, Policy, Rename,
    Renamed, RuleOrigin, SeriesFilter, Since, UpTo, Windows,
};
use super::window::{Fraction, Worse};
use crate::domain::{Faults, RunDate, Value, read_parameters};
use crate::read::{
    Fields, Node, Notes, Place, boolean, date, filled, number, parse_toml, parsed, text_with,
    whole, word,
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
    const KNOWN: [&str; 6] = [
        "window",
        "parameters",
        "wallclock",
        "metric",
        "accepted",
        "renamed",
    ];
    let root = Fields::of(root, Place::ROOT, notes, &KNOWN)?;
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
    let renames = root.objects("renamed", TABLES, &RENAME_FIELDS, read_rename);
    policy.renamed = renames.into_iter().map(Arc::new).collect();
    Some(policy)
}

/// What a list of tables must be, for a message.
const TABLES: &str = "a list of tables, each under a line with its name in double brackets";

const WINDOW_FIELDS: [&str; 7] = [
    "sizes",
    "k",
    "false_alarms",
    "min_runs",
    "combine",
    "on_insufficient",
    "outliers",
];

/// Fewer values than this say too little of their deviation for an automatic k.
const LEAST_FOR_AUTO: u32 = 3;

const OUTLIERS: [(&str, Outliers); 2] = [("judge", Outliers::Judge), ("keep", Outliers::Keep)];

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
    let k = table.optional("k", read_k).unwrap_or(defaults.k);
    if k == K::Auto && needed < LEAST_FOR_AUTO {
        let detail = format!(
            "is {needed}, and k = \"auto\" needs at least {LEAST_FOR_AUTO} values to know their \
             deviation"
        );
        table.fault("min_runs", detail);
    }
    Windows {
        sizes,
        k,
        false_alarms: table
            .optional("false_alarms", read_false_alarms)
            .unwrap_or(defaults.false_alarms),
        outliers: table
            .optional("outliers", word(&OUTLIERS))
            .unwrap_or(defaults.outliers),
        min_runs: needed,
        combine: table
            .optional("combine", word(&combine))
            .unwrap_or(defaults.combine),
        on_insufficient: table
            .optional("on_insufficient", word(&on_insufficient))
            .unwrap_or(defaults.on_insufficient),
    }
}

/// A number, or `"auto"`.
fn read_k(node: Node<'_>) -> Result<K, String> {
    match node.text().as_deref() {
        Ok("auto") => Ok(K::Auto),
        Ok(_) => Err("must be a number, or \"auto\"".to_owned()),
        Err(_) => number(node).map(K::Fixed),
    }
}

/// A percentage above nothing and below all.
fn read_false_alarms(node: Node<'_>) -> Result<Fraction, String> {
    let share = parsed::<Fraction>(node)?;
    if share > Fraction::ZERO && share < Fraction::percent(100) {
        return Ok(share);
    }
    Err("must be more than 0 % and less than 100 %".to_owned())
}

const RULE_FIELDS: [&str; 8] = [
    "pattern",
    "dim",
    "floor",
    "floor_absolute",
    "worse",
    "gate",
    "outliers",
    "ignore",
];

const GATING: [(&str, Gating); 3] = [
    ("fail", Gating::Fail),
    ("warn", Gating::Warn),
    ("show", Gating::Show),
];

fn read_rule(table: &Fields<'_, '_>) -> Option<MetricRule> {
    let origin = RuleOrigin::Line(table.line());
    let pattern = table.needed("pattern", text_with(Pattern::new));
    let dim = table.optional("dim", text_with(Pattern::new));
    let floor = table.optional("floor", parsed::<Fraction>);
    let floor_absolute = table.optional("floor_absolute", number::<Value>);
    if floor_absolute.is_some_and(|floor| floor < Value::ZERO) {
        table.fault("floor_absolute", "must not be negative");
    }
    let worse = [("higher", Worse::Higher), ("lower", Worse::Lower)];
    let worse = table.optional("worse", word(&worse));
    let gating = table.optional("gate", word(&GATING));
    let outliers = table.optional("outliers", word(&OUTLIERS));
    let ignore = table.optional("ignore", boolean);
    Some(MetricRule {
        dim,
        floor: floor.unwrap_or(Fraction::ZERO),
        floor_absolute,
        worse,
        gating,
        outliers,
        ignore: ignore.unwrap_or(false),
        ..MetricRule::new(pattern?, origin)
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
    let patterns = read_patterns(table);
    let series = table.object("series", &SERIES_FIELDS, read_series);
    let since = read_since(table);
    if !table.has("since_commit") && !table.has("since_date") {
        table.fault_here(
            "needs `since_commit` or `since_date`, the first run of the accepted level",
        );
    }
    let why = table.needed("why", text_with(filled));
    let by = table.needed("by", text_with(filled));
    let min_runs = table.optional("min_runs", whole(1..=MAX_WINDOW));
    let up_to = table.optional("up_to", read_up_to);
    Some(AcceptedStep {
        patterns: patterns?,
        series: series.unwrap_or_default(),
        since: since?,
        why: why?,
        by: by?,
        min_runs,
        up_to,
        line: table.line(),
    })
}

/// One pattern, or a list of them.
fn read_patterns(table: &Fields<'_, '_>) -> Option<Vec<Pattern>> {
    let is_text = table.optional("metric", |node| Ok(node.text().is_ok()));
    if is_text != Some(false) {
        return Some(vec![table.needed("metric", text_with(Pattern::new))?]);
    }
    let wanted = "a pattern, or a list of patterns";
    let patterns = table.list("metric", wanted, |node| text_with(Pattern::new)(node))?;
    if patterns.is_empty() {
        table.fault("metric", "must name at least one pattern");
    }
    Some(patterns)
}

/// The commit or the date from which on something holds; not both.
fn read_since(table: &Fields<'_, '_>) -> Option<Since> {
    let commit = table.optional("since_commit", parsed).map(Since::Commit);
    let since_date = table.optional("since_date", date::<RunDate>);
    if table.has("since_commit") && table.has("since_date") {
        table.fault(
            "since_date",
            "stands beside `since_commit`; keep one of them",
        );
    }
    commit.or(since_date.map(Since::Date))
}

/// A value, or a change such as `"+8 %"`.
fn read_up_to(node: Node<'_>) -> Result<UpTo, String> {
    match node.text() {
        Ok(text) => text.parse().map(UpTo::Change).map_err(|_| {
            "must be a number, or a change in percent with its sign, such as \"+8 %\"".to_owned()
        }),
        Err(_) => number(node).map(UpTo::Value),
    }
}

const RENAME_FIELDS: [&str; 5] = ["metric", "workload", "to", "since_commit", "since_date"];

fn read_rename(table: &Fields<'_, '_>) -> Option<Rename> {
    let since = read_since(table);
    let what = match (table.has("metric"), table.has("workload")) {
        (true, false) => read_renamed_metric(table),
        (false, true) => {
            let from = table.optional("workload", parsed);
            let to = table.needed("to", parsed);
            from.zip(to)
                .map(|(from, to)| Renamed::Workload { from, to })
        }
        _ => {
            table.fault_here("needs `metric` or `workload`, the name before, and not both");
            None
        }
    };
    Some(Rename {
        what: what?,
        since,
        line: table.line(),
    })
}

fn read_renamed_metric(table: &Fields<'_, '_>) -> Option<Renamed> {
    let from = table.optional("metric", text_with(Pattern::new));
    let to = table.needed("to", text_with(Pattern::new));
    let (from, to) = from.zip(to)?;
    match (from.stars(), to.stars()) {
        (Some(one), Some(other)) if one == other => Some(Renamed::Metric { from, to }),
        _ => {
            let detail = "must have one `*` where `metric` has one, which stands for the same \
                          text in both, and no other wildcard";
            table.fault("to", detail);
            None
        }
    }
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
