//! What in a policy has no effect, or another one than it seems to have.

use super::policy::{MetricRule, Policy, Renamed, RuleOrigin, UpTo};
use super::window::Worse;
use crate::domain::{DimKey, MetricName};

/// One thing that a person should look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// The line of `gate.toml`.
    pub line: usize,
    /// What there is to say.
    pub text: String,
}

/// The tools whose readers tell every number as read off a clock.
const CLOCKS: [&str; 8] = [
    "sysbench.",
    "locust.",
    "hyperfine.",
    "criterion.",
    "pytest.",
    "google_benchmark.",
    "jmh.",
    "go.",
];

/// The remarks on a policy, in the order of its lines.
pub fn lint(policy: &Policy) -> Vec<Remark> {
    let mut remarks = overruled(policy);
    remarks.extend(on_no_host(policy));
    remarks.extend(upside_down(policy));
    remarks.extend(unchanged_names(policy));
    remarks.sort();
    remarks
}

fn line(rule: &MetricRule) -> Option<usize> {
    match rule.origin {
        RuleOrigin::BuiltIn => None,
        RuleOrigin::Line(line) => Some(line),
    }
}

/// Rules that can never hold, since a later one matches all that they match.
fn overruled(policy: &Policy) -> Vec<Remark> {
    let own: Vec<(usize, &MetricRule)> = policy
        .rules
        .iter()
        .filter_map(|rule| Some((line(rule)?, rule.as_ref())))
        .collect();
    let covers = |later: &MetricRule, rule: &MetricRule| {
        let dim = |rule: &MetricRule| rule.dim.as_ref().map(ToString::to_string);
        let same_dim = later.dim.is_none() || dim(later) == dim(rule);
        let same = later.pattern.is_any() || later.pattern.to_string() == rule.pattern.to_string();
        same_dim && same
    };
    let remark = |(index, (line, rule)): (usize, &(usize, &MetricRule))| {
        let (later, _) = own[index + 1..]
            .iter()
            .find(|(_, later)| covers(later, rule))?;
        Some(Remark {
            line: *line,
            text: format!(
                "the rule `{}` never holds: the one on line {later} matches the same metrics, and \
                 the last rule that matches holds alone",
                rule.pattern
            ),
        })
    };
    own.iter().enumerate().filter_map(remark).collect()
}

/// Rules of metrics that are read off a clock, where no class of hosts gates.
fn on_no_host(policy: &Policy) -> Vec<Remark> {
    if !policy.wallclock_host_classes.is_empty() {
        return Vec::new();
    }
    let is_clock = |rule: &MetricRule| {
        let pattern = rule.pattern.to_string();
        CLOCKS.iter().any(|tool| pattern.starts_with(tool)) && !rule.ignore
    };
    let rules = policy.rules.iter().filter(|rule| is_clock(rule));
    rules
        .filter_map(|rule| {
            Some(Remark {
                line: line(rule)?,
                text: format!(
                    "the rule `{}` judges nothing: its metrics are read off a clock, and \
                     `host_classes` under [wallclock] names no class of hosts",
                    rule.pattern
                ),
            })
        })
        .collect()
}

/// Accepted steps whose change goes in the better direction.
fn upside_down(policy: &Policy) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for step in &policy.accepted {
        let Some(UpTo::Change(change)) = step.up_to else {
            continue;
        };
        for pattern in step.patterns.iter().filter(|p| p.stars() == Some(0)) {
            let Ok(metric_key) = pattern.to_string().parse() else {
                continue;
            };
            let name = MetricName {
                metric_key,
                dim_key: DimKey::scalar(),
            };
            let worse = policy.terms(&name).worse;
            if change.is_negative() != (worse == Worse::Lower) {
                let direction = match worse {
                    Worse::Higher => "higher",
                    Worse::Lower => "lower",
                };
                remarks.push(Remark {
                    line: step.line,
                    text: format!(
                        "`up_to = \"{change}\"` lets only better values of `{pattern}` pass, for \
                         which {direction} is worse"
                    ),
                });
            }
        }
    }
    remarks
}

fn unchanged_names(policy: &Policy) -> Vec<Remark> {
    let is_same = |what: &Renamed| match what {
        Renamed::Metric { from, to } => from.to_string() == to.to_string(),
        Renamed::Workload { from, to } => from == to,
    };
    let same = policy.renamed.iter().filter(|rename| is_same(&rename.what));
    same.map(|rename| Remark {
        line: rename.line,
        text: "the two names of this [[renamed]] are the same".to_owned(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let remarks = lint(&Policy::parse(text).unwrap());
        remarks.iter().map(|remark| remark.line).collect()
    }

    #[test]
    fn what_has_no_effect_is_told_with_its_line() {
        let rules = "[[metric]]\npattern = \"a\"\n[[metric]]\npattern = \"a\"\nfloor = \"1 %\"\n";
        assert_eq!(lines(rules), [1]);
        assert_eq!(
            lines(&format!("{rules}[[metric]]\npattern = \"*\"\n")),
            [1, 3]
        );
        let narrow = "[[metric]]\npattern = \"a\"\n[[metric]]\npattern = \"a\"\ndim = \"t=1\"\n";
        assert!(lines(narrow).is_empty());
        let clock = "[[metric]]\npattern = \"sysbench.*\"\nfloor = \"5 %\"\n";
        assert_eq!(lines(clock), [1]);
        assert!(lines(&format!("wallclock.host_classes = [\"m\"]\n{clock}")).is_empty());
        let step = |metric: &str| {
            format!(
                "[[accepted]]\nmetric = \"{metric}\"\nsince_date = 2026-01-01\nwhy = \"w\"\nby = \"b\"\nup_to = \"-8 %\"\n"
            )
        };
        assert_eq!(lines(&step("callgrind.ir")), [1]);
        assert!(lines(&step("sysbench.transactions_per_second")).is_empty());
        let rename = "[[renamed]]\nmetric = \"a\"\nto = \"a\"\n";
        assert_eq!(lines(rename), [1]);
    }
}
