//! What a finding means, in sentences.

use super::{Subject, label, number};
use crate::domain::{MetricName, Parameter, Series};
use crate::judge::{
    AcceptedStep, Comparison, Conclusion, Finding, Judgement, Level, MetricJudgement, MetricRule,
    Obstacle, OnInsufficient, Place, Policy, Skip, Status, Worse, YoungLevel,
};

/// The word for a status, as every report has it.
pub(super) fn status(status: Status) -> &'static str {
    match status {
        Status::Regression => "regression",
        Status::Missing => "missing",
        Status::Insufficient => "insufficient",
        Status::Accepted => "accepted",
        Status::Improved => "improved",
        Status::Pass => "pass",
        Status::Skipped => "skipped",
    }
}

/// `perf on main, amd64, trixie at 0123456789ab`
pub fn series_line(series: &Series, commit: Option<&crate::domain::CommitSha>) -> String {
    let at = commit.map_or_else(String::new, |sha| format!(" at {}", short(sha.as_str())));
    format!("{series}{at}")
}

/// What it all comes to: `regression: 1 of 9 metrics got worse`.
pub(super) fn conclusion(subject: &Subject<'_>) -> String {
    let judgement = subject.judgement;
    let all = metrics(judgement.metrics.len());
    let unjudged = unjudged(subject);
    let (worse, improved) = (
        subject.count(Status::Regression),
        subject.count(Status::Improved),
    );
    let improved = match improved {
        0 => String::new(),
        improved => format!(", {improved} improved"),
    };
    match judgement.conclusion() {
        Conclusion::Regression if unjudged > 0 => format!(
            "regression: {worse} of {all} got worse, {unjudged} could not be judged{improved}"
        ),
        Conclusion::Regression => format!("regression: {worse} of {all} got worse{improved}"),
        Conclusion::Undecided if !judgement.obstacles.is_empty() => {
            "undecided: the document cannot be judged".to_owned()
        }
        Conclusion::Undecided => {
            format!("undecided: {unjudged} of {all} could not be judged{improved}")
        }
        Conclusion::Passed if subject.count(Status::Skipped) == judgement.metrics.len() => {
            format!("passed: nothing was judged, {all} skipped")
        }
        Conclusion::Passed => match subject.count(Status::Accepted) {
            0 => format!("passed: none of {all} got worse{improved}"),
            accepted => format!(
                "passed: none of {all} got worse by more than is accepted, {accepted} within an \
                 accepted step{improved}"
            ),
        },
    }
}

/// How many metrics keep a change from passing though nothing is known to have got worse.
fn unjudged(subject: &Subject<'_>) -> usize {
    let insufficient = match subject.judgement.windows.on_insufficient {
        OnInsufficient::Fail => subject.count(Status::Insufficient),
        OnInsufficient::Pass => 0,
    };
    subject.count(Status::Missing) + insufficient
}

fn metrics(count: usize) -> String {
    format!("{count} metric{}", if count == 1 { "" } else { "s" })
}

/// Why a metric has the status that it has, in full; `None` of one that is as it was.
pub(super) fn why(subject: &Subject<'_>, metric: &MetricJudgement) -> Option<String> {
    let config = subject.config;
    let cut = metric.step.as_deref().map_or_else(String::new, |step| {
        format!(
            "; the windows start at the accepted step of {}",
            step_place(step, config)
        )
    });
    let text = match metric.finding {
        Finding::Pass => return None,
        Finding::Regression => {
            let limits = windows_at(subject.judgement, metric, Level::Worse);
            format!("{limits}; {}{cut}", rule_place(&metric.rule, config))
        }
        Finding::Improved => {
            let limits = windows_at(subject.judgement, metric, Level::Better);
            format!("{limits}{cut}")
        }
        Finding::Insufficient { runs, needed } => {
            let history = there_and_needed(runs, needed);
            let passed = match subject.judgement.windows.on_insufficient {
                OnInsufficient::Pass => "; passed, since on_insufficient = \"pass\"",
                OnInsufficient::Fail => "",
            };
            format!("too little history: {history}{passed}{cut}")
        }
        Finding::Missing { runs } => format!(
            "the history has it in {runs} of its newest runs and the document has not; if it is \
             gone for good, say so in {config}: `ignore = true` in a rule of it, or an \
             [[accepted]] step"
        ),
        Finding::Accepted(young) => format!("no worse than {}", young_level(metric, young, config)),
        Finding::BeyondStep(young) => format!("worse than {}", young_level(metric, young, config)),
        Finding::Skipped(Skip::Ignored) => {
            format!("not judged: {}", rule_place(&metric.rule, config))
        }
        Finding::Skipped(Skip::HostClass) => format!(
            "not judged: read off a clock on hosts of a class that {config} does not name in \
             wallclock.host_classes"
        ),
    };
    Some(text)
}

/// `2 runs are there, 5 are needed`
fn there_and_needed(runs: u32, needed: u32) -> String {
    let there = match runs {
        0 => "no run is there".to_owned(),
        1 => "1 run is there".to_owned(),
        runs => format!("{runs} runs are there"),
    };
    let need = if needed == 1 { "is" } else { "are" };
    format!("{there}, {needed} {need} needed")
}

/// `1,080,000,000, up to which a step is accepted (commit …, gate.toml, line 12): why, by whom; …`
fn young_level(metric: &MetricJudgement, young: YoungLevel, config: &str) -> String {
    let step = metric.step.as_deref().map_or_else(String::new, |step| {
        let place = step_place(step, config);
        format!(" ({place}): {}, accepted by {}", step.why, step.by)
    });
    format!(
        "{}, up to which a step is accepted{step}; to judge by runs from the step on, {}; the \
         windows shown reach back past it",
        number::value(young.up_to),
        there_and_needed(young.runs, young.needed)
    )
}

/// What each window at `level` had to say.
fn windows_at(judgement: &Judgement, metric: &MetricJudgement, level: Level) -> String {
    let of_level = super::distinct(&metric.comparisons).filter(|window| window.level == level);
    let told: Vec<String> = of_level
        .map(|window| window_at(judgement, &metric.rule, window))
        .collect();
    told.join("; ")
}

/// `+77,600,000 (+7.74 %) against the newest 5 runs; allowed is max(3·s = 17,441,330, 3 % of |m| =
/// 30,072,000), so the limit is 1,032,472,000`
fn window_at(judgement: &Judgement, rule: &MetricRule, window: &Comparison) -> String {
    let change = number::change(window.change);
    let change = match window.change_percent {
        Some(percent) => format!("{change} ({})", number::percent(Some(percent))),
        None => change,
    };
    let runs = match window.n {
        1 => "the newest run".to_owned(),
        n => format!("the newest {n} runs"),
    };
    let allowance = allowance(judgement, rule, window);
    match window.level {
        Level::Better => format!("{change} against {runs}, of which {allowance} is noise"),
        Level::Worse | Level::Within => {
            let limit = number::computed(window.limit);
            format!("{change} against {runs}; allowed is {allowance}, so the limit is {limit}")
        }
    }
}

fn allowance(judgement: &Judgement, rule: &MetricRule, window: &Comparison) -> String {
    let k = judgement.windows.k;
    let mut terms = Vec::new();
    if let Some(s) = window.standard_deviation {
        terms.push(format!("{k}·s = {}", number::computed(k.to_f64() * s)));
    }
    let floor = rule.floor.to_f64() * window.mean.abs();
    terms.push(format!(
        "{} of |m| = {}",
        rule.floor,
        number::computed(floor)
    ));
    if rule.floor_absolute > crate::domain::Value::ZERO {
        terms.push(number::value(rule.floor_absolute));
    }
    format!("max({})", terms.join(", "))
}

/// ``rule `callgrind.ir` (gate.toml, line 12)``
fn rule_place(rule: &MetricRule, config: &str) -> String {
    let dim = rule
        .dim
        .as_ref()
        .map_or_else(String::new, |dim| format!(" with dim `{dim}`"));
    match rule.place {
        Place::BuiltIn => format!("rule `{}`{dim} (built in)", rule.pattern),
        Place::Line(line) => format!("rule `{}`{dim} ({config}, line {line})", rule.pattern),
    }
}

fn step_place(step: &AcceptedStep, config: &str) -> String {
    format!("{}, {config}, line {}", step.since, step.line)
}

/// What keeps a document from being judged.
pub(super) fn obstacle(obstacle: &Obstacle, config: &str) -> String {
    // As JSON, so that a text and a number are not taken for one another.
    let shown = |parameter: &Parameter| {
        serde_json::to_string(parameter).unwrap_or_else(|_| parameter.to_string())
    };
    match obstacle {
        Obstacle::NotSucceeded => {
            "the measurement failed: the document says `succeeded: false`".to_owned()
        }
        Obstacle::NoMetrics => "the document has no metrics".to_owned(),
        Obstacle::OtherParameter {
            name,
            wanted,
            found,
        } => match (wanted, found) {
            (Some(wanted), Some(found)) => format!(
                "parameter `{name}` is {}, and {config} asks for {}",
                shown(found),
                shown(wanted)
            ),
            (Some(wanted), None) => format!(
                "parameter `{name}` is not there, and {config} asks for {}",
                shown(wanted)
            ),
            (None, Some(found)) => {
                format!(
                    "parameter `{name}` is {}, and {config} does not name it",
                    shown(found)
                )
            }
            (None, None) => format!("parameter `{name}` differs"),
        },
    }
}

/// A step that cuts nothing because nobody knows its commit.
pub(super) fn unknown_step(step: &AcceptedStep, config: &str) -> String {
    format!(
        "the accepted step of {} changes nothing: no run that was read is of that commit",
        step_place(step, config)
    )
}

/// Which rule holds for a metric, and which others would have.
pub fn explain(policy: &Policy, name: &MetricName, config: &str) -> String {
    let rule = policy.rule(name);
    let windows = &policy.windows;
    let sizes: Vec<String> = windows.sizes.iter().map(ToString::to_string).collect();
    let direction = match rule.worse {
        Worse::Higher => "higher",
        Worse::Lower => "lower",
    };
    let mut lines = vec![format!("{}: {}", label(name), rule_place(&rule, config))];
    if rule.ignore {
        lines.push("  shown and not judged (ignore = true)".to_owned());
    } else {
        let absolute = match rule.floor_absolute > crate::domain::Value::ZERO {
            true => format!(", {}", number::value(rule.floor_absolute)),
            false => String::new(),
        };
        lines.push(format!(
            "  {direction} is worse; a regression is worse than the mean m by more than \
             max({}·s, {} of |m|{absolute})",
            windows.k, rule.floor
        ));
        let combine = match windows.combine {
            crate::judge::Combine::Any => "one is enough",
            crate::judge::Combine::All => "all must agree",
        };
        lines.push(format!(
            "  windows of the newest {} runs, {combine}; at least {} runs",
            sizes.join(" and "),
            windows.min_runs
        ));
    }
    let mut others: Vec<&std::sync::Arc<MetricRule>> = policy.matching(name).collect();
    others.pop();
    lines.push("  it is the last rule that matches, and so it holds alone".to_owned());
    for other in others.into_iter().rev() {
        lines.push(format!(
            "  overruled: {}, {}",
            rule_place(other, config),
            other.floor
        ));
    }
    for step in policy
        .accepted
        .iter()
        .filter(|step| step.pattern.matches(name.metric_key.as_str()))
    {
        let up_to = step.up_to.map_or_else(String::new, |value| {
            format!(", up to {} while it is young", number::value(value))
        });
        lines.push(format!(
            "  accepted step: {}{up_to}: {}, by {}",
            step_place(step, config),
            step.why,
            step.by
        ));
    }
    lines.join("\n") + "\n"
}

fn short(sha: &str) -> &str {
    sha.get(..12).unwrap_or(sha)
}
