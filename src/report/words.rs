//! What a finding means, in sentences; the same in every form.

use super::verdict::{About, Advice, Verdict, allowed, change, label, shown, telling};
use super::{number, wrap};
use crate::domain::{CommitSha, MetricName, Parameter, Series};
use crate::judge::{
    AcceptedStep, Combine, Comparison, Conclusion, Finding, Gating, Judgement, K, LeftOut,
    MetricJudgement, MetricRule, Obstacle, OnInsufficient, Policy, RuleOrigin, Since, Skip, Status,
    Term, UpTo, Worse, YoungLevel, accept,
};
use crate::terminal::tame;

/// The word for a status, as every report has it.
pub(super) fn status(status: Status) -> &'static str {
    match status {
        Status::Regression => "regression",
        Status::Missing => "missing",
        Status::Unsteady => "unsteady",
        Status::Insufficient => "insufficient",
        Status::Warning => "warning",
        Status::Accepted => "accepted",
        Status::New => "new",
        Status::Improved => "improved",
        Status::Pass => "pass",
        Status::Skipped => "skipped",
    }
}

/// `perf on main, amd64, trixie at 0123456789ab`
pub fn series_line(series: &Series, commit: Option<&CommitSha>) -> String {
    let at = commit.map_or_else(String::new, |sha| format!(" at {}", short(sha.as_str())));
    tame(&format!("{series}{at}"))
}

/// The series line of a verdict, with how many documents it is of.
pub(super) fn about_line(about: &About<'_>) -> String {
    let line = series_line(about.series, about.commit);
    match about.documents {
        0 | 1 => line,
        several => format!("{line}, medians of {several} documents"),
    }
}

/// What it all comes to: `regression: 1 of 9 metrics got worse`.
pub(super) fn summary(verdict: &Verdict<'_>) -> String {
    let judgement = verdict.judgement;
    let (all, judged) = (judgement.metrics.len(), judgement.judged());
    if !judgement.obstacles.is_empty() {
        return "undecided: the document cannot be judged".to_owned();
    }
    if judged == 0 {
        return format!("not judged: {}", nothing_judged(verdict));
    }
    let also = [
        (verdict.count(Status::Improved), "improved"),
        (
            verdict.count(Status::Warning),
            "worse but only warned about",
        ),
        (verdict.count(Status::Accepted), "within an accepted step"),
    ];
    let also: String = also
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    let unjudged = match all - judged {
        0 => String::new(),
        left => format!("; {left} not judged ({})", unjudged_kinds(verdict)),
    };
    let metrics = metrics(judged);
    match verdict.conclusion {
        Conclusion::Regression => {
            let worse = verdict.count(Status::Regression);
            format!("regression: {worse} of {metrics} got worse{also}{unjudged}")
        }
        Conclusion::Undecided => {
            let kept = [Status::Missing, Status::Unsteady, Status::Insufficient];
            let kept: usize = kept.iter().map(|status| verdict.count(*status)).sum();
            format!(
                "undecided: {kept} of {} could not be judged ({}){also}",
                self::metrics(all),
                unjudged_kinds(verdict)
            )
        }
        Conclusion::Passed => format!("passed: none of {metrics} got worse{also}{unjudged}"),
    }
}

/// Why no metric was judged.
fn nothing_judged(verdict: &Verdict<'_>) -> String {
    let judgement = verdict.judgement;
    let all = judgement.metrics.len();
    if judgement.series_runs == 0 {
        let none = format!("{all} of {} have no history", metrics(all));
        return match judgement.nearby.first() {
            None => format!("{none}; this series has no runs"),
            Some(nearby) => format!("{none}; {}", nearest(nearby)),
        };
    }
    if all == verdict.skipped(Skip::HostClass) {
        return format!(
            "{} read off a clock, and hosts of this class do not gate",
            match all {
                1 => "the only metric is".to_owned(),
                all => format!("all {all} metrics are"),
            }
        );
    }
    format!("{all} of {} ({})", metrics(all), unjudged_kinds(verdict))
}

fn nearest(nearby: &crate::judge::Nearby) -> String {
    let repos: Vec<&str> = nearby.repos.iter().map(|repo| repo.as_str()).collect();
    tame(&format!(
        "the nearest series with runs is {} of {} ({})",
        nearby.series,
        repos.join(", "),
        nearby.differs.join(", ")
    ))
}

/// `2 missing, 12 wall-clock`
fn unjudged_kinds(verdict: &Verdict<'_>) -> String {
    let kinds = [
        (verdict.count(Status::Missing), "missing"),
        (verdict.count(Status::Unsteady), "unsteady"),
        (
            verdict.count(Status::Insufficient),
            "with too little history",
        ),
        (verdict.count(Status::New), "new"),
        (verdict.skipped(Skip::HostClass), "wall-clock"),
        (verdict.skipped(Skip::Shown), "only shown"),
        (verdict.skipped(Skip::Ignored), "ignored"),
    ];
    let kinds = kinds.iter().filter(|(count, _)| *count > 0);
    let kinds: Vec<String> = kinds
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    kinds.join(", ")
}

pub(super) fn metrics(count: usize) -> String {
    format!("{count} metric{}", if count == 1 { "" } else { "s" })
}

/// Why a metric has the status that it has, in one short sentence; `None` of one that is as it was.
pub(super) fn why(metric: &MetricJudgement, judgement: &Judgement, config: &str) -> Option<String> {
    let cut = metric.step.as_deref().map_or_else(String::new, |step| {
        format!(
            "; the windows start at the step accepted in {} ({})",
            step_place(step, config),
            since(step)
        )
    });
    let text = match metric.finding {
        Finding::Pass => return None,
        Finding::Regression | Finding::Warning => {
            let window = telling(metric)?;
            format!("{}{cut}", worse(metric, window, judgement, config))
        }
        Finding::Improved => {
            let window = telling(metric)?;
            format!("{} against {}{cut}", change(window), runs_of(window))
        }
        Finding::Unsteady => unsteady(metric, judgement),
        Finding::Insufficient { runs, needed } => {
            let other = other_parameters(metric);
            let other = other.map_or_else(String::new, |names| {
                format!("; the other runs differ in {names}")
            });
            format!("{}{other}{cut}", there_and_needed(runs, needed))
        }
        Finding::New { runs, needed } => {
            format!("new in this series, {}", there_and_needed(runs, needed))
        }
        Finding::Missing { runs } => format!(
            "{runs} of the newest runs have it and the document does not; if that is meant, write \
             `ignore = true` in a rule for it, or a [[renamed]] entry, in {config}"
        ),
        Finding::Accepted(young) => format!("no worse than {}", young_level(metric, young, config)),
        Finding::BeyondStep(young) => format!("worse than {}", young_level(metric, young, config)),
        Finding::Skipped(Skip::Ignored) => {
            format!("ignored by {}", rule_place(&metric.terms.rule, config))
        }
        Finding::Skipped(Skip::HostClass) => format!(
            "read off a clock, on hosts of a class that {config} does not name in \
             wallclock.host_classes"
        ),
        Finding::Skipped(Skip::Shown) => {
            format!("shown only, by {}", rule_place(&metric.terms.rule, config))
        }
    };
    Some(text)
}

/// `+7.2 %; up to +5 % is allowed by gate.toml line 54`
fn worse(
    metric: &MetricJudgement,
    window: &Comparison,
    judgement: &Judgement,
    config: &str,
) -> String {
    let (change, allowed) = (change(window), allowed(metric, window));
    let place = rule_place(&metric.terms.rule, config);
    match window.limit_by {
        Term::Floor | Term::FloorAbsolute => {
            format!("{change}; up to {allowed} is allowed by {place}")
        }
        Term::Deviation => format!(
            "{change}; up to {allowed} is noise ({} deviations of {})",
            judgement.windows.k,
            runs_of(window)
        ),
    }
}

/// `the newest 5 runs`
fn runs_of(window: &Comparison) -> String {
    match window.n {
        1 => "the newest run".to_owned(),
        n => format!("the newest {n} runs"),
    }
}

/// Which run makes a window unsteady, and what helps.
fn unsteady(metric: &MetricJudgement, judgement: &Judgement) -> String {
    let runs: Vec<String> = metric
        .outliers()
        .map(|outlier| {
            let label = judgement.runs.get(&outlier.run_id);
            let of = label.map_or_else(String::new, |run| {
                format!(" of {} ({})", short(run.commit.as_str()), day(run.run_date))
            });
            let value = number::with_unit(outlier.value, metric.terms.unit);
            format!("run {}{of} has {value}", outlier.run_id)
        })
        .collect();
    let without = metric
        .windows
        .iter()
        .map(shown)
        .find(|window| window.level == crate::judge::Level::Worse);
    let without = without.map_or_else(
        || "worse with it and not without it".to_owned(),
        |window| format!("{} without it, within the noise with it", change(window)),
    );
    format!(
        "{}: {without}; if the run is wrong, take it back (`perf-tracking run void`), if the step \
         is meant, accept it, or keep such values with outliers = \"keep\"",
        runs.join(", ")
    )
}

fn other_parameters(metric: &MetricJudgement) -> Option<String> {
    metric.left_out.iter().find_map(|left| match &left.why {
        LeftOut::OtherParameters(names) => Some(names.join(", ")),
        _ => None,
    })
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

/// `1,080,000,000, up to which a step is accepted in gate.toml line 12 (why, by whom); …`
fn young_level(metric: &MetricJudgement, young: YoungLevel, config: &str) -> String {
    let step = metric.step.as_deref().map_or_else(String::new, |step| {
        let place = step_place(step, config);
        format!(" in {place} ({}, by {})", tame(&step.why), tame(&step.by))
    });
    format!(
        "{}, up to which a step is accepted{step}; of the new level {}",
        number::with_unit(young.up_to, metric.terms.unit),
        there_and_needed(young.runs, young.needed)
    )
}

/// `gate.toml line 12`, or ``the built-in rule `callgrind.ir` ``
fn rule_place(rule: &MetricRule, config: &str) -> String {
    match rule.origin {
        RuleOrigin::BuiltIn => format!("the built-in rule `{}`", rule.pattern),
        RuleOrigin::Line(line) => format!("{} line {line}", tame(config)),
    }
}

/// ``rule `callgrind.ir` (gate.toml line 12)``
fn rule_name(rule: &MetricRule, config: &str) -> String {
    let dim = rule
        .dim
        .as_ref()
        .map_or_else(String::new, |dim| format!(" with dim `{dim}`"));
    match rule.origin {
        RuleOrigin::BuiltIn => format!("rule `{}`{dim} (built in)", rule.pattern),
        RuleOrigin::Line(line) => {
            format!(
                "rule `{}`{dim} ({} line {line})",
                rule.pattern,
                tame(config)
            )
        }
    }
}

fn step_place(step: &AcceptedStep, config: &str) -> String {
    format!("{} line {}", tame(config), step.line)
}

/// The first run of an accepted level, in short.
fn since(step: &AcceptedStep) -> String {
    match &step.since {
        Since::Commit(sha) => format!("commit {}", short(sha.as_str())),
        Since::Date(date) => day(*date),
    }
}

/// What keeps a document from being judged.
pub(super) fn obstacle(obstacle: &Obstacle, config: &str) -> String {
    // As JSON, so that a text and a number are not taken for one another.
    let shown = |parameter: &Parameter| {
        let text = serde_json::to_string(parameter).unwrap_or_else(|_| parameter.to_string());
        tame(&text)
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
            (None, Some(found)) => format!(
                "parameter `{name}` is {}, and {config} does not name it",
                shown(found)
            ),
            (None, None) => format!("parameter `{name}` differs"),
        },
    }
}

/// What else there is to say of a judgement, a line each.
pub(super) fn notes(judgement: &Judgement, config: &str) -> Vec<String> {
    let mut notes: Vec<String> = judgement
        .unknown_steps
        .iter()
        .map(|step| {
            format!(
                "the step accepted in {} changes nothing: no run that was read is of {}",
                step_place(step, config),
                step.since
            )
        })
        .collect();
    notes.extend(unmatched(judgement, config));
    if judgement.windows.on_insufficient == OnInsufficient::Pass
        && judgement.tolerates_insufficient()
        && judgement
            .metrics
            .iter()
            .any(|m| m.finding.status() == Status::Insufficient)
    {
        notes.push(format!(
            "what has too little history passes, since on_insufficient = \"pass\" and the series \
             has {} of {} runs",
            judgement.series_runs, judgement.windows.min_runs
        ));
    }
    for nearby in judgement.nearby.iter().skip(1) {
        notes.push(nearest(nearby).replace("the nearest series", "another series"));
    }
    notes
}

/// The rules that match nothing, in one line.
fn unmatched(judgement: &Judgement, config: &str) -> Option<String> {
    let lines = judgement
        .unmatched_rules
        .iter()
        .filter_map(|rule| match rule.origin {
            RuleOrigin::BuiltIn => None,
            RuleOrigin::Line(line) => Some(format!("`{}` (line {line})", rule.pattern)),
        });
    let lines: Vec<String> = lines.collect();
    match lines.as_slice() {
        [] => None,
        [one] => Some(format!("a rule in {config} matches no metric: {one}")),
        several => Some(format!(
            "{} rules in {config} match no metric: {}",
            several.len(),
            several.join(", ")
        )),
    }
}

/// More entries than this are not pasted by hand.
const MOST_ENTRIES: usize = 8;

/// The lines that a person may want to paste into the rules.
pub(super) fn advice(judgement: &Judgement, about: About<'_>) -> Vec<Advice> {
    let mut advice = Vec::new();
    let entries = accept::entries(judgement, about.series, accept::UNSAID);
    let count = entries
        .as_ref()
        .map_or(0, |lines| lines.matches("[[accepted]]").count());
    if count > MOST_ENTRIES {
        advice.push(Advice {
            what: format!(
                "If this is meant, `perf-tracking gate accept --why … --by …` adds {count} entries \
                 to {}.",
                about.config
            ),
            lines: String::new(),
        });
    } else if let Some(lines) = entries {
        advice.push(Advice {
            what: format!(
                "If this is meant, add to {} (or run `perf-tracking gate accept --why … --by …`):",
                about.config
            ),
            lines,
        });
    }
    if judgement.is_blind() {
        advice.push(Advice {
            what: format!("To judge these metrics, add to {}:", about.config),
            lines: blind_lines(judgement),
        });
    }
    advice
}

/// What lets the metrics of a document gate that has none which does.
fn blind_lines(judgement: &Judgement) -> String {
    let mut lines = String::new();
    let is_clock = |metric: &&MetricJudgement| metric.finding == Finding::Skipped(Skip::HostClass);
    if judgement.metrics.iter().any(|metric| is_clock(&metric)) {
        let class = judgement.host_class.as_str();
        lines += "# Hosts of this class repeat their times well enough; see how well with\n\
                  # `perf-tracking gate calibrate`.\n[wallclock]\nhost_classes = [";
        lines += &accept::quoted(class);
        lines += "]\n\n[[metric]]\npattern = \"*\"\nfloor = \"5 %\"\n";
    }
    for metric in judgement.metrics.iter().filter(|m| !is_clock(m)).take(5) {
        lines += &format!(
            "[[metric]]\npattern = {}\nfloor = \"5 %\"\ngate = \"fail\"\n",
            accept::quoted(metric.name.metric_key.as_str())
        );
    }
    lines
}

/// Which rule holds for a metric, and which others would have.
pub fn explain(policy: &Policy, name: &MetricName, config: &str) -> String {
    let terms = policy.terms(name);
    let rule = &terms.rule;
    let windows = &policy.windows;
    let sizes: Vec<String> = windows.sizes.iter().map(ToString::to_string).collect();
    let direction = match terms.worse {
        Worse::Higher => "higher",
        Worse::Lower => "lower",
    };
    let mut lines = vec![format!("{}: {}", label(name), rule_name(rule, config))];
    if rule.ignore {
        lines.push("  shown and not judged (ignore = true)".to_owned());
    } else if terms.gating == Gating::Show {
        lines.push(format!(
            "  {direction} is worse; shown and not judged (gate = \"show\")"
        ));
    } else {
        let absolute = match terms.floor_absolute > crate::domain::Value::ZERO {
            true => format!(", {}", number::value(terms.floor_absolute)),
            false => String::new(),
        };
        lines.push(format!(
            "  {direction} is worse; a regression is worse than the mean m by more than \
             max({}·s, {} of |m|{absolute})",
            windows.k, rule.floor
        ));
        if windows.k == K::Auto {
            lines.push(format!(
                "  k is set so that {} of the builds without a change fail",
                windows.false_alarms
            ));
        }
        if terms.gating == Gating::Warn {
            lines.push("  what is worse warns, and does not fail (gate = \"warn\")".to_owned());
        }
        let combine = match windows.combine {
            Combine::Any => "one is enough",
            Combine::All => "all must agree",
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
            rule_name(other, config),
            other.floor
        ));
    }
    for step in policy.accepted.iter().filter(|step| step.is_of(name)) {
        let up_to = match step.up_to {
            None => String::new(),
            Some(UpTo::Value(value)) => {
                format!(", up to {} while it is young", number::value(value))
            }
            Some(UpTo::Change(change)) => format!(", up to {change} while it is young"),
        };
        lines.push(format!(
            "  accepted step: {}, {}{up_to}: {}, by {}",
            step_place(step, config),
            step.since,
            tame(&step.why),
            tame(&step.by)
        ));
    }
    lines.join("\n") + "\n"
}

/// A date without its time.
pub(super) fn day(date: crate::domain::RunDate) -> String {
    date.to_string().chars().take(10).collect()
}

pub(super) fn short(sha: &str) -> &str {
    sha.get(..12).unwrap_or(sha)
}

/// What a gate says that was told that nothing was measured.
#[derive(Clone, Debug)]
pub struct NothingMeasured(String);

impl NothingMeasured {
    /// For this reason.
    pub fn new(why: &str) -> Self {
        Self(tame(why))
    }

    /// In one line.
    pub fn summary(&self) -> String {
        format!("not judged: nothing was measured on purpose: {}", self.0)
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        wrap::wrapped(&self.summary(), 80, "  ") + "\n"
    }
}
