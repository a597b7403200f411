//! The baseline of every metric: which runs its windows hold, and which they leave out, and why.

use super::verdict::{Row, Verdict, distinct};
use super::{number, words};
use crate::judge::{Judgement, LeftOutRun, LeftOutValue, WindowJudgement, WindowValue};

/// The windows of every metric, a block each, and the runs that are left out as a whole.
pub(super) fn text(verdict: &Verdict<'_>) -> String {
    let mut blocks: Vec<String> = verdict
        .rows
        .iter()
        .map(|row| metric(row, verdict.judgement))
        .collect();
    if !verdict.judgement.left_out.is_empty() {
        let runs = verdict.judgement.left_out.iter().map(left_out_run);
        blocks.push(format!(
            "left out of every window:\n{}",
            runs.collect::<String>()
        ));
    }
    blocks.join("\n")
}

fn metric(row: &Row<'_>, judgement: &Judgement) -> String {
    let mut text = format!("{}\n", row.name);
    for window in distinct(&row.metric.windows) {
        text += &window_line(window);
    }
    let values = row.metric.values.iter();
    text += &values
        .map(|value| value_line(value, row, judgement))
        .collect::<String>();
    let left_out = row.metric.left_out.iter();
    text += &left_out
        .map(|left| left_out_line(left, row, judgement))
        .collect::<String>();
    if row.metric.values.is_empty() && row.metric.left_out.is_empty() {
        text += "  no run has it\n";
    }
    text
}

fn window_line(window: &WindowJudgement) -> String {
    let line = |comparison: &crate::judge::Comparison, of: &str| {
        let deviation = comparison
            .standard_deviation
            .map_or_else(number::dash, number::computed);
        format!(
            "  newest {}{of}: mean {}, deviation {deviation}, limit {}, {}\n",
            comparison.n,
            number::computed(comparison.mean),
            number::computed(comparison.limit),
            super::verdict::change(comparison),
        )
    };
    let mut text = line(&window.all, "");
    if let Some(kept) = &window.without_outliers {
        text += &line(kept, " without outliers");
    }
    text
}

fn value_line(value: &WindowValue, row: &Row<'_>, judgement: &Judgement) -> String {
    let outlier = if value.is_outlier { "  outlier" } else { "" };
    let number = number::with_unit(value.value, row.metric.terms.unit);
    format!("    {}  {number}{outlier}\n", run(value.run_id, judgement))
}

fn left_out_line(left: &LeftOutValue, row: &Row<'_>, judgement: &Judgement) -> String {
    let number = number::with_unit(left.value, row.metric.terms.unit);
    format!(
        "    {}  {number}  left out: {}\n",
        run(left.run_id, judgement),
        left.why
    )
}

fn left_out_run(run: &LeftOutRun) -> String {
    let commit = words::short(run.commit.as_str());
    format!(
        "    {}  {commit}  run {}  {}\n",
        words::day(run.run_date),
        run.run_id,
        run.why
    )
}

fn run(run_id: i64, judgement: &Judgement) -> String {
    match judgement.runs.get(&run_id) {
        Some(label) => {
            let commit = words::short(label.commit.as_str());
            format!("{}  {commit}  run {run_id}", words::day(label.run_date))
        }
        None => format!("run {run_id}"),
    }
}
