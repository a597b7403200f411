//! What moved, grouped by commit, the worst first: as text, Markdown and JSON.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use serde::Serialize;

use super::number::{computed, percent};
use super::sparkline::sparkline;
use super::verdict::label;
use super::words::{day, short};
use super::wrap::elided as cut;
use crate::domain::{CommitSha, DimKey, MetricKey, Repo, RunDate, Series};
use crate::judge::changes::Certainty;
use crate::judge::past::{Moved, Past, PastPoint};
use crate::terminal::tame;

/// Columns of a line of text.
const WIDTH: usize = 80;
/// Bars of a picture.
const BARS: usize = 40;

/// All that moved.
#[derive(Serialize)]
pub(crate) struct Report {
    /// The version of this form.
    format_version: u32,
    /// How many histories have enough runs to look for changes.
    histories: usize,
    /// The commits, the worst first.
    commits: Vec<Commit>,
}

/// A commit and what moved there.
#[derive(Serialize)]
struct Commit {
    commit: CommitSha,
    date: RunDate,
    repo: Option<Repo>,
    /// Its subject line, where the run or the checkout knows it.
    subject: Option<String>,
    /// The metrics, the worst first.
    metrics: Vec<Metric>,
}

/// A metric that moved.
#[derive(Serialize)]
struct Metric {
    series: Series,
    metric_key: MetricKey,
    dim_key: DimKey,
    before: f64,
    after: f64,
    change: f64,
    /// Null where the level before is 0.
    change_percent: Option<f64>,
    direction: &'static str,
    certainty: &'static str,
    /// The probability that noise alone shows such a step.
    chance: f64,
    /// Commits of the old level that were measured.
    commits_before: usize,
    /// Commits of the new level that were measured.
    commits_after: usize,
    /// The last run of the old level.
    last_before: Run,
    /// The first run of the new level.
    first_after: Run,
    accepted: Option<Accepted>,
    #[serde(skip)]
    label: String,
    #[serde(skip)]
    picture: String,
}

#[derive(Serialize)]
struct Run {
    run_id: i64,
    commit: CommitSha,
    date: RunDate,
}

/// The `[[accepted]]` table that a change is.
#[derive(Serialize)]
struct Accepted {
    why: String,
    by: String,
    line: usize,
}

impl Report {
    /// Groups changes by commit.
    pub(crate) fn new(
        moved: &[(&Past, Moved<'_>)],
        subjects: &HashMap<CommitSha, String>,
        histories: usize,
    ) -> Self {
        let mut commits: BTreeMap<(Option<&Repo>, &CommitSha), Commit> = BTreeMap::new();
        for (past, moved) in moved {
            let first = moved.first;
            let commit = commits
                .entry((past.repo.as_ref(), &first.commit))
                .or_insert_with(|| Commit {
                    commit: first.commit.clone(),
                    date: first.date,
                    repo: past.repo.clone(),
                    subject: first
                        .subject
                        .clone()
                        .or_else(|| subjects.get(&first.commit).cloned()),
                    metrics: Vec::new(),
                });
            commit.metrics.push(Metric::new(past, moved));
        }
        let mut commits: Vec<Commit> = commits.into_values().collect();
        for commit in &mut commits {
            let metrics = &mut commit.metrics;
            metrics.sort_by(|one, other| other.badness().total_cmp(&one.badness()));
        }
        commits.sort_by(|one, other| other.badness().total_cmp(&one.badness()));
        Self {
            format_version: 1,
            histories,
            commits,
        }
    }

    /// One line that says how much moved.
    fn summary(&self) -> String {
        let metrics: usize = self.commits.iter().map(|commit| commit.metrics.len()).sum();
        match (self.histories, metrics) {
            (0, _) => "No metric has the five runs that a change can be seen in.".to_owned(),
            (histories, 0) => format!("Nothing moved in {}.", counted(histories, "history")),
            (_, _) => format!(
                "{} at {}, the worst first.",
                counted(metrics, "change"),
                counted(self.commits.len(), "commit"),
            ),
        }
    }
}

/// `1 change`, `2 changes`, `2 histories`.
fn counted(count: usize, word: &str) -> String {
    match (count, word.strip_suffix('y')) {
        (1, _) => format!("1 {word}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {word}s"),
    }
}

impl Commit {
    fn badness(&self) -> f64 {
        let of_metrics = self.metrics.iter().map(Metric::badness);
        of_metrics.fold(f64::NEG_INFINITY, f64::max)
    }
}

impl Metric {
    fn new(past: &Past, moved: &Moved<'_>) -> Self {
        let point = &moved.point;
        Self {
            series: past.series.clone(),
            metric_key: past.name.metric_key.clone(),
            dim_key: past.name.dim_key.clone(),
            before: point.before,
            after: point.after,
            change: point.change(),
            change_percent: point.change_percent(),
            direction: if moved.is_worse { "worse" } else { "better" },
            certainty: match point.certainty() {
                Certainty::Early => "early",
                Certainty::Likely => "likely",
                Certainty::Settled => "settled",
            },
            chance: point.chance,
            commits_before: point.values_before,
            commits_after: point.values_after,
            last_before: Run::of(moved.previous),
            first_after: Run::of(moved.first),
            accepted: moved.accepted.map(|step| Accepted {
                why: step.why.clone(),
                by: step.by.clone(),
                line: step.line,
            }),
            label: label(&past.name),
            picture: sparkline(&past.values(), BARS),
        }
    }

    /// By how many percent it got worse; below 0 where it got better.
    fn badness(&self) -> f64 {
        let size = self.change_percent.map_or(f64::MAX, f64::abs);
        match self.direction {
            "worse" => size,
            _ => -size,
        }
    }

    /// How sure the change is, in words.
    fn sure(&self) -> String {
        let seen = counted(self.commits_after, "commit");
        match self.certainty {
            "early" => format!("early: {seen} of the new level, the next can take it back"),
            "likely" => format!("likely: {seen} of the new level, later runs can still move it"),
            _ => format!("settled: {seen} of the new level"),
        }
    }
}

impl Run {
    fn of(point: &PastPoint) -> Self {
        Self {
            run_id: point.run_id,
            commit: point.commit.clone(),
            date: point.date,
        }
    }
}

/// For people, in 80 columns.
pub(crate) fn text(report: &Report) -> String {
    let mut out = report.summary();
    out.push('\n');
    for commit in &report.commits {
        let head = format!("{}  {}", short(commit.commit.as_str()), day(commit.date));
        let subject = commit.subject.as_deref().unwrap_or("");
        let line = format!("\n{head}  {}", tame(subject));
        let _ = writeln!(out, "{}", cut(line.trim_end(), WIDTH + 1));
        for metric in &commit.metrics {
            let numbers = format!(
                "{} -> {}  {}  {}",
                computed(metric.before),
                computed(metric.after),
                percent(metric.change_percent),
                metric.direction
            );
            for line in beside(&metric.label, &numbers) {
                let _ = writeln!(out, "  {line}");
            }
            let _ = writeln!(out, "    {}", metric.picture);
            let _ = writeln!(out, "    {}", metric.sure());
            let series = tame(&metric.series.to_string());
            let _ = writeln!(out, "    {}", cut(&series, WIDTH - 4));
            let last = short(metric.last_before.commit.as_str());
            let _ = writeln!(out, "    last run of the old level: {last}");
            if let Some(accepted) = &metric.accepted {
                let accepted = format!("accepted by {}: {}", accepted.by, accepted.why);
                let _ = writeln!(out, "    {}", cut(&tame(&accepted), WIDTH - 4));
            }
        }
    }
    out
}

/// For a comment or a summary.
pub(crate) fn markdown(report: &Report) -> String {
    let mut out = format!("## What moved\n\n{}\n", report.summary());
    for commit in &report.commits {
        let subject = commit.subject.as_deref().unwrap_or("");
        let (sha, date) = (short(commit.commit.as_str()), day(commit.date));
        let subject = escaped(subject);
        let _ = write!(out, "\n### `{sha}` {date} {subject}");
        out.truncate(out.trim_end().len());
        out.push_str(
            "\n\n| metric | before | after | change | | how sure | series | accepted |\n\
             | --- | ---: | ---: | ---: | --- | --- | --- | --- |\n",
        );
        for metric in &commit.metrics {
            let accepted = metric.accepted.as_ref();
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} {} | {} | {} | {} | {} |",
                escaped(&metric.label),
                computed(metric.before),
                computed(metric.after),
                percent(metric.change_percent),
                metric.direction,
                metric.picture,
                metric.sure(),
                escaped(&metric.series.to_string()),
                accepted.map_or_else(String::new, |step| escaped(&step.why)),
            );
        }
    }
    out
}

/// For programs.
pub(crate) fn json(report: &Report) -> String {
    // Names, numbers and texts: there is nothing in it that JSON cannot hold.
    let text = serde_json::to_string_pretty(report).unwrap_or_default();
    format!("{text}\n")
}

/// Both in one line where they fit, else in two.
pub(super) fn beside(left: &str, right: &str) -> Vec<String> {
    let width = WIDTH - 2;
    let used = left.chars().count() + right.chars().count();
    if used + 2 <= width {
        let gap = " ".repeat(width - used);
        return vec![format!("{left}{gap}{right}")];
    }
    let indent = " ".repeat(width.saturating_sub(right.chars().count()));
    vec![cut(left, width), format!("{indent}{right}")]
}

/// A text of strangers in a cell of Markdown: it makes no link, no mention, no markup and no cell.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in tame(text).chars() {
        match letter {
            '|' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '\\' | '~' | '!' => {
                out.push('\\');
                out.push(letter);
            }
            // An empty comment keeps a mention or a reference from being one.
            '@' | '#' => {
                out.push(letter);
                out.push_str("<!-- -->");
            }
            _ => out.push(letter),
        }
    }
    out
}
