//! A contract out of TOML. Every key is read before any `?`, so that one fault does not hide the
//! next.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{
    Build, Cell, CellName, Collector, Contract, FEWEST_ROUNDS, Interleave, MOST_ROUNDS, MetricRule,
    Mode, OnUnstable, Rule, Start, Subject, own_metrics,
};
use crate::judge::comparison::quantity::Quantity;
use crate::judge::comparison::randomization::{LEVEL, share_of_largest};
use crate::judge::{Fraction, Worse};
use crate::read::{
    Fields, Node, Notes, Place, boolean, filled, number, parsed, text_with, whole, word,
};

/// A day: no step of a comparison takes longer and is worth waiting for.
const MOST_SECONDS: u32 = 86_400;
const BUILD_SECONDS: u32 = 3600;
const READY_SECONDS: u32 = 60;
const SETUP_SECONDS: u32 = 600;
const STOP_SECONDS: u32 = 30;
const TRIAL_SECONDS: u32 = 600;
/// The floor of the randomization rule, where the contract names no other.
const RANDOMIZATION_FLOOR: Fraction = Fraction::percent(5);

const FIELDS: [&str; 8] = [
    "name",
    "mode",
    "rounds",
    "interleave",
    "build",
    "subject",
    "metric",
    "cell",
];
const SUBJECT_FIELDS: [&str; 9] = [
    "start",
    "compose",
    "service",
    "load_service",
    "ready",
    "ready_seconds",
    "setup",
    "setup_seconds",
    "stop_seconds",
];
const CELL_FIELDS: [&str; 8] = [
    "name", "command", "collect", "seconds", "units", "judged", "expect", "metric",
];
const METRIC_FIELDS: [&str; 6] = ["name", "worse", "rule", "floor", "variance", "unstable"];
/// What a list of tables must be, for a message.
const TABLES: &str = "a list of tables, each under a line with its name in double brackets";

pub(super) fn contract(root: Node<'_>, notes: &Notes<'_>) -> Option<Contract> {
    let root = Fields::of(root, Place::ROOT, notes, &FIELDS)?;
    let name = root.needed("name", text_with(versioned));
    let modes = [
        ("regression", Mode::Regression),
        ("difference", Mode::Difference),
    ];
    let mode = root.optional("mode", word(&modes));
    let rounds = root.needed("rounds", whole(FEWEST_ROUNDS..=MOST_ROUNDS));
    let interleaves = [("round", Interleave::Round), ("trial", Interleave::Trial)];
    let interleave = root.optional("interleave", word(&interleaves));
    let build = root.object("build", &["command", "seconds"], build);
    let subject = root.object("subject", &SUBJECT_FIELDS, subject);
    let common = metrics(&root, rounds);
    let mut names = BTreeSet::new();
    root.check_there("cell");
    let cells = root.objects("cell", TABLES, &CELL_FIELDS, |table| {
        cell(table, rounds, &common, &mut names)
    });
    Some(Contract {
        name: name?,
        mode: mode.unwrap_or(Mode::Regression),
        rounds: rounds?,
        interleave: interleave.unwrap_or(Interleave::Round),
        build: build.flatten(),
        subject: subject.flatten(),
        cells,
    })
}

/// A report is judged by the version that its name tells.
fn versioned(text: &str) -> Result<String, String> {
    let name = filled(text)?;
    let version = name.rsplit_once("-v").map(|(_, version)| version);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !version.is_some_and(is_number) {
        return Err(
            "must end in a version, such as `broker-v1`; raise it when a budget changes".to_owned(),
        );
    }
    Ok(name)
}

fn build(table: &Fields<'_, '_>) -> Option<Build> {
    let command = table.needed("command", text_with(script));
    let limit = seconds(table, "seconds", BUILD_SECONDS);
    Some(Build {
        command: command?,
        limit,
    })
}

fn subject(table: &Fields<'_, '_>) -> Option<Subject> {
    let start = start(table);
    let ready = table.needed("ready", text_with(script));
    let ready_limit = seconds(table, "ready_seconds", READY_SECONDS);
    let setup = table.optional("setup", text_with(script));
    let setup_limit = seconds(table, "setup_seconds", SETUP_SECONDS);
    let stop_limit = seconds(table, "stop_seconds", STOP_SECONDS);
    Some(Subject {
        start: start?,
        ready: ready?,
        ready_limit,
        setup,
        setup_limit,
        stop_limit,
    })
}

fn start(table: &Fields<'_, '_>) -> Option<Start> {
    let command = table.optional("start", text_with(script));
    let file = table.optional("compose", text_with(filled));
    let service = table.optional("service", text_with(filled));
    let load_service = table.optional("load_service", text_with(filled));
    if table.has("start") == table.has("compose") {
        table.fault_here("needs either `start`, a command line, or `compose`, a compose file");
        return None;
    }
    if table.has("start") {
        for key in ["service", "load_service"] {
            if table.has(key) {
                table.fault(key, "belongs to `compose`, which is not there");
            }
        }
        return command.map(Start::Command);
    }
    if !table.has("service") {
        table.fault(
            "service",
            "is missing: the service of the compose file that is measured",
        );
    }
    Some(Start::Compose {
        file: file?,
        service: service?,
        load_service,
    })
}

fn cell(
    table: &Fields<'_, '_>,
    rounds: Option<u32>,
    common: &[MetricRule],
    names: &mut BTreeSet<CellName>,
) -> Option<Cell> {
    let name = table.needed("name", parsed::<CellName>);
    if let Some(name) = &name
        && !names.insert(name.clone())
    {
        table.fault("name", "is another cell's too");
    }
    let command = table.optional("command", text_with(script));
    let collect = table.optional("collect", word(&Collector::ALL));
    let limit = seconds(table, "seconds", TRIAL_SECONDS);
    let units = table.optional("units", text_with(filled));
    let expect = expect(table);
    let rules = rules(table, rounds, common);
    let needs_units = |rule: &MetricRule| rule.name == own_metrics::CPU_SECONDS_PER_UNIT;
    if !table.has("units") && rules.iter().any(needs_units) {
        table.fault_here("judges `cpu_seconds_per_unit`, so `units` must name the count of units");
    }
    Some(Cell {
        name: name?,
        command,
        collect,
        limit,
        units,
        expect,
        metrics: rules,
    })
}

/// The cell's own metrics, else those of all cells.
fn rules(table: &Fields<'_, '_>, rounds: Option<u32>, common: &[MetricRule]) -> Vec<MetricRule> {
    let is_judged = table.optional("judged", boolean).unwrap_or(true);
    let own = metrics(table, rounds);
    if !is_judged {
        if table.has("metric") {
            table.fault("judged", "is false, so `[[cell.metric]]` has no meaning");
        }
        return Vec::new();
    }
    if table.has("metric") {
        return own;
    }
    if common.is_empty() {
        table.fault_here(
            "has no metric to judge; add `[[cell.metric]]`, or `[[metric]]` for all cells, or say \
             `judged = false`",
        );
    }
    common.to_vec()
}

fn expect(table: &Fields<'_, '_>) -> BTreeMap<String, Quantity> {
    let mut expected = BTreeMap::new();
    table.entries("expect", |name, node, place, notes| {
        match number::<Quantity>(node) {
            Ok(count) => {
                expected.insert(name.to_owned(), count);
            }
            Err(detail) => notes.add(&place, detail),
        }
    });
    expected
}

fn metrics(table: &Fields<'_, '_>, rounds: Option<u32>) -> Vec<MetricRule> {
    let mut names = BTreeSet::new();
    table.objects("metric", TABLES, &METRIC_FIELDS, |table| {
        metric(table, rounds, &mut names)
    })
}

fn metric(
    table: &Fields<'_, '_>,
    rounds: Option<u32>,
    names: &mut BTreeSet<String>,
) -> Option<MetricRule> {
    let name = table.needed("name", text_with(filled));
    if let Some(name) = &name
        && !names.insert(name.clone())
    {
        table.fault("name", "is another metric's too");
    }
    let directions = [("higher", Worse::Higher), ("lower", Worse::Lower)];
    let worse = table.needed("worse", word(&directions));
    let rules = [("budget", false), ("randomization", true)];
    let is_randomization = table.optional("rule", word(&rules)).unwrap_or(false);
    let rule = if is_randomization {
        Some(randomization(table, rounds))
    } else {
        budget(table)
    };
    Some(MetricRule {
        name: name?,
        worse: worse?,
        rule: rule?,
    })
}

fn budget(table: &Fields<'_, '_>) -> Option<Rule> {
    let floor = table.needed("floor", parsed::<Fraction>);
    let variance = table.needed("variance", parsed::<Fraction>);
    if table.has("unstable") {
        table.fault("unstable", "belongs to the rule \"randomization\"");
    }
    Some(Rule::Budget {
        floor: floor?,
        variance: variance?,
    })
}

fn randomization(table: &Fields<'_, '_>, rounds: Option<u32>) -> Rule {
    let floor = table.optional("floor", parsed::<Fraction>);
    let words = [
        ("inconclusive", OnUnstable::Inconclusive),
        ("show", OnUnstable::Show),
    ];
    let unstable = table.optional("unstable", word(&words));
    if table.has("variance") {
        table.fault("variance", "belongs to the rule \"budget\"");
    }
    // A rule that can never find a change would be a silent pass.
    let share = rounds.map_or(0.0, |rounds| share_of_largest(rounds as usize));
    if share > 1.0 - LEVEL {
        let detail = format!(
            "can find no change in so few rounds: even the largest difference comes by chance in \
             {:.0} % of all cases; ask for 5 rounds or more",
            share * 100.0
        );
        table.fault("rule", detail);
    }
    Rule::Randomization {
        floor: floor.unwrap_or(RANDOMIZATION_FLOOR),
        unstable: unstable.unwrap_or(OnUnstable::Inconclusive),
    }
}

fn seconds(table: &Fields<'_, '_>, key: &'static str, default: u32) -> Duration {
    let seconds = table.optional(key, whole(1..=MOST_SECONDS));
    Duration::from_secs(seconds.unwrap_or(default).into())
}

/// A text for `sh`, of one line or more.
fn script(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("must be a command line".to_owned());
    }
    if text.contains('\0') {
        return Err("must not hold a NUL".to_owned());
    }
    Ok(text.trim().to_owned())
}
