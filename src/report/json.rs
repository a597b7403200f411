//! A judgement as JSON, for programs.

use serde::Serialize;

use super::{Subject, words};
use crate::domain::{CommitSha, DimKey, MetricKey, Series, Value};
use crate::judge::{
    Comparison, Conclusion, Finding, Fraction, MetricJudgement, Place, Status, Windows, Worse,
};

#[derive(Serialize)]
struct Report<'a> {
    conclusion: Conclusion,
    summary: String,
    series: &'a Series,
    commit_sha: Option<&'a CommitSha>,
    window: &'a Windows,
    /// Why nothing was judged.
    obstacles: Vec<String>,
    /// What else there is to say.
    notes: Vec<String>,
    metrics: Vec<Metric<'a>>,
}

#[derive(Serialize)]
struct Metric<'a> {
    metric_key: &'a MetricKey,
    dim_key: &'a DimKey,
    status: Status,
    why: Option<String>,
    candidate: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs_needed: Option<u32>,
    rule: Rule,
    windows: &'a [Comparison],
}

#[derive(Serialize)]
struct Rule {
    pattern: String,
    dim: Option<String>,
    /// The line in the configuration; `null` of a rule that is built in.
    line: Option<usize>,
    floor: Fraction,
    floor_absolute: Value,
    worse: Worse,
    ignore: bool,
}

/// The report, ordered as every report is: the worst first.
///
/// # Errors
/// None that can come up: the report holds nothing that JSON cannot.
pub fn json(subject: &Subject<'_>) -> serde_json::Result<String> {
    let judgement = subject.judgement;
    let obstacles = judgement.obstacles.iter();
    let steps = judgement.unknown_steps.iter();
    let report = Report {
        conclusion: judgement.conclusion(),
        summary: words::conclusion(subject),
        series: subject.series,
        commit_sha: subject.commit,
        window: &judgement.windows,
        obstacles: obstacles
            .map(|obstacle| words::obstacle(obstacle, subject.config))
            .collect(),
        notes: steps
            .map(|step| words::unknown_step(step, subject.config))
            .collect(),
        metrics: subject
            .worst_first()
            .into_iter()
            .map(|m| metric(subject, m))
            .collect(),
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

fn metric<'a>(subject: &Subject<'_>, metric: &'a MetricJudgement) -> Metric<'a> {
    let (runs, runs_needed) = match metric.finding {
        Finding::Insufficient { runs, needed } => (Some(runs), Some(needed)),
        Finding::Accepted(young) | Finding::BeyondStep(young) => {
            (Some(young.runs), Some(young.needed))
        }
        Finding::Missing { runs } => (Some(runs), None),
        _ => (None, None),
    };
    let rule = &metric.rule;
    Metric {
        metric_key: &metric.name.metric_key,
        dim_key: &metric.name.dim_key,
        status: metric.finding.status(),
        why: words::why(subject, metric),
        candidate: metric.candidate,
        runs,
        runs_needed,
        rule: Rule {
            pattern: rule.pattern.to_string(),
            dim: rule.dim.as_ref().map(ToString::to_string),
            line: match rule.place {
                Place::BuiltIn => None,
                Place::Line(line) => Some(line),
            },
            floor: rule.floor,
            floor_absolute: rule.floor_absolute,
            worse: rule.worse,
            ignore: rule.ignore,
        },
        windows: &metric.comparisons,
    }
}
