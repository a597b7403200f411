//! A judgement as JSON, for programs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::NothingMeasured;
use super::verdict::{Row, Verdict};
use crate::domain::{CommitSha, DimKey, MetricKey, RunDate, Series, Value};
use crate::judge::{
    Conclusion, Finding, Fraction, Gating, RuleOrigin, Status, Unit, WindowJudgement, WindowValue,
    Windows, Worse,
};

#[derive(Serialize)]
struct Report<'a> {
    conclusion: Conclusion,
    summary: &'a str,
    series: &'a Series,
    commit_sha: Option<&'a CommitSha>,
    /// How many documents the values are the medians of.
    documents: usize,
    window: &'a Windows,
    /// How many runs of the series could be compared.
    series_runs: u32,
    /// How many metrics were compared with their history.
    judged: usize,
    /// Why nothing was judged.
    obstacles: &'a [String],
    /// What else there is to say.
    notes: &'a [String],
    /// Lines to paste into the rules.
    advice: Vec<Advice<'a>>,
    metrics: Vec<Metric<'a>>,
    /// The runs that `values` and `left_out` name.
    runs: BTreeMap<String, Run<'a>>,
    /// Runs that are left out as a whole, newest first.
    left_out_runs: Vec<LeftOutRun<'a>>,
}

#[derive(Serialize)]
struct Advice<'a> {
    what: &'a str,
    lines: &'a str,
}

#[derive(Serialize)]
struct Run<'a> {
    commit_sha: &'a CommitSha,
    run_date: RunDate,
}

#[derive(Serialize)]
struct LeftOutRun<'a> {
    run_id: i64,
    commit_sha: &'a CommitSha,
    run_date: RunDate,
    why: String,
}

#[derive(Serialize)]
struct Metric<'a> {
    metric_key: &'a MetricKey,
    dim_key: &'a DimKey,
    status: Status,
    why: Option<&'a str>,
    candidate: Option<Value>,
    unit: Unit,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs_needed: Option<u32>,
    rule: Rule,
    windows: &'a [WindowJudgement],
    /// Newest first; a window takes the first of them.
    values: &'a [WindowValue],
    left_out: Vec<LeftOutValue>,
}

#[derive(Serialize)]
struct LeftOutValue {
    run_id: i64,
    value: Value,
    why: String,
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
    gate: Gating,
    ignore: bool,
}

/// The report, ordered as every report is: the worst first.
///
/// # Errors
/// None that can come up: the report holds nothing that JSON cannot.
pub fn json(verdict: &Verdict<'_>) -> serde_json::Result<String> {
    let judgement = verdict.judgement;
    let report = Report {
        conclusion: verdict.conclusion,
        summary: verdict.summary(),
        series: verdict.about.series,
        commit_sha: verdict.about.commit,
        documents: verdict.about.documents,
        window: &judgement.windows,
        series_runs: judgement.series_runs,
        judged: judgement.judged(),
        obstacles: &verdict.obstacles,
        notes: &verdict.notes,
        advice: verdict
            .advice
            .iter()
            .map(|advice| Advice {
                what: &advice.what,
                lines: &advice.lines,
            })
            .collect(),
        metrics: verdict.rows.iter().map(metric).collect(),
        runs: judgement
            .runs
            .iter()
            .map(|(id, run)| {
                let run = Run {
                    commit_sha: &run.commit,
                    run_date: run.run_date,
                };
                (id.to_string(), run)
            })
            .collect(),
        left_out_runs: judgement
            .left_out
            .iter()
            .map(|run| LeftOutRun {
                run_id: run.run_id,
                commit_sha: &run.commit,
                run_date: run.run_date,
                why: run.why.to_string(),
            })
            .collect(),
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

/// The report of a job that was told that nothing was measured.
///
/// # Errors
/// None that can come up.
pub fn json_of_nothing(nothing: &NothingMeasured) -> serde_json::Result<String> {
    let report = serde_json::json!({
        "conclusion": Conclusion::Passed,
        "summary": nothing.summary(),
        "judged": 0,
        "obstacles": [],
        "notes": [],
        "metrics": [],
    });
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

fn metric<'a>(row: &'a Row<'a>) -> Metric<'a> {
    let metric = row.metric;
    let (runs, runs_needed) = match metric.finding {
        Finding::Insufficient { runs, needed } | Finding::New { runs, needed } => {
            (Some(runs), Some(needed))
        }
        Finding::Accepted(young) | Finding::BeyondStep(young) => {
            (Some(young.runs), Some(young.needed))
        }
        Finding::Missing { runs } => (Some(runs), None),
        _ => (None, None),
    };
    let terms = &metric.terms;
    let left_out = metric.left_out.iter().map(|left| LeftOutValue {
        run_id: left.run_id,
        value: left.value,
        why: left.why.to_string(),
    });
    Metric {
        metric_key: &metric.name.metric_key,
        dim_key: &metric.name.dim_key,
        status: row.status,
        why: row.why.as_deref(),
        candidate: metric.candidate,
        unit: terms.unit,
        runs,
        runs_needed,
        rule: Rule {
            pattern: terms.rule.pattern.to_string(),
            dim: terms.rule.dim.as_ref().map(ToString::to_string),
            line: match terms.rule.origin {
                RuleOrigin::BuiltIn => None,
                RuleOrigin::Line(line) => Some(line),
            },
            floor: terms.rule.floor,
            floor_absolute: terms.floor_absolute,
            worse: terms.worse,
            gate: terms.gating,
            ignore: terms.rule.ignore,
        },
        windows: &metric.windows,
        values: &metric.values,
        left_out: left_out.collect(),
    }
}
