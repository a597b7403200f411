//! What drifts, the worst first: as text, Markdown, JSON and JUnit.

use std::cmp::Ordering;
use std::fmt::Write as _;

use quick_junit::{NonSuccessKind, Report as JunitReport, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;

use super::changes::{beside, escaped};
use super::number::{change, computed, percent};
use super::sparkline::sparkline;
use super::verdict::label;
use super::words::{day, short};
use super::wrap::elided as cut;
use crate::domain::{CommitSha, DimKey, MetricKey, Repo, RunDate, Series};
use crate::judge::Worse;
use crate::judge::drift::{Drift, Limits, Rule, Status, Trend};
use crate::judge::past::{Past, PastPoint};
use crate::terminal::tame;

/// Columns of a line of text.
const WIDTH: usize = 80;
/// Bars of a picture.
const BARS: usize = 30;
/// A window of fewer days says too little of a year.
const FEWEST_DAYS: f64 = 7.0;
const DAYS_A_YEAR: f64 = 365.25;
/// The newest points whose median is held against a reference run.
const NEWEST: usize = 5;

/// What is found of one metric.
#[derive(Serialize)]
pub(crate) struct Row<'a> {
    pub(crate) status: Status,
    series: &'a Series,
    repo: Option<&'a Repo>,
    metric_key: &'a MetricKey,
    dim_key: &'a DimKey,
    worse: Worse,
    /// Commits in the window.
    commits: usize,
    oldest: Option<Value<'a>>,
    newest: Option<Value<'a>>,
    trend: Option<Numbers>,
    /// Null where the window has too few days.
    level_in_a_year: Option<f64>,
    level_in_a_year_percent: Option<f64>,
    steps: Vec<Step<'a>>,
    reference: Option<Reference<'a>>,
    #[serde(skip)]
    label: String,
    #[serde(skip)]
    picture: String,
}

#[derive(Serialize)]
struct Value<'a> {
    run_id: i64,
    commit: &'a CommitSha,
    date: RunDate,
    value: f64,
}

/// The numbers of a trend; the window of a step starts there.
#[derive(Serialize)]
struct Numbers {
    commits: usize,
    first_to_last_percent: f64,
    least_squares_slope: f64,
    least_squares_intercept: f64,
    least_squares_percent: Option<f64>,
    least_squares_p: Option<f64>,
    theil_sen_slope: f64,
    theil_sen_slope_low: f64,
    theil_sen_slope_high: f64,
    theil_sen_intercept: f64,
    fitted_percent: Option<f64>,
    kendall_tau_b: Option<f64>,
    kendall_p: f64,
}

#[derive(Serialize)]
struct Step<'a> {
    commit: &'a CommitSha,
    date: RunDate,
    before: f64,
    after: f64,
    change_percent: Option<f64>,
}

/// How far the newest level lies from a reference run.
#[derive(Serialize)]
struct Reference<'a> {
    commit: &'a CommitSha,
    date: RunDate,
    value: f64,
    level: f64,
    change_percent: Option<f64>,
    status: Status,
}

impl<'a> Row<'a> {
    /// The row of `points`, of which `found` was found.
    pub(crate) fn new(
        past: &'a Past,
        points: &'a [PastPoint],
        worse: Worse,
        found: Drift,
        reference: Option<&'a PastPoint>,
        limits: Limits,
    ) -> Self {
        let judged = &points[found.since..];
        let values: Vec<f64> = points.iter().map(|point| point.value).collect();
        let reference = reference.and_then(|point| Reference::new(point, past, worse, limits));
        let of_reference = reference.as_ref().map(|reference| reference.status);
        let in_a_year = found
            .trend
            .as_ref()
            .and_then(|trend| in_a_year(trend, judged));
        let of_level = |level: f64, trend: &Trend| {
            let now = trend.level();
            (now != 0.0).then(|| (level - now) / now.abs() * 100.0)
        };
        Self {
            // A reference run needs no window: a verdict against it stands alone.
            status: match (found.status, of_reference) {
                (Status::Insufficient, Some(status)) => status,
                (status, of_reference) => of_reference.map_or(status, |other| status.min(other)),
            },
            series: &past.series,
            repo: past.repo.as_ref(),
            metric_key: &past.name.metric_key,
            dim_key: &past.name.dim_key,
            worse,
            commits: points.len(),
            oldest: judged.first().map(Value::of),
            newest: judged.last().map(Value::of),
            level_in_a_year: in_a_year,
            level_in_a_year_percent: in_a_year
                .zip(found.trend.as_ref())
                .and_then(|(level, trend)| of_level(level, trend)),
            trend: found.trend.as_ref().map(Numbers::of),
            steps: found
                .steps
                .iter()
                .map(|step| Step {
                    commit: &points[step.at].commit,
                    date: points[step.at].date,
                    before: step.before,
                    after: step.after,
                    change_percent: step.change_percent(),
                })
                .collect(),
            reference,
            label: label(&past.name),
            picture: sparkline(&values, BARS),
        }
    }

    /// Orders the worst first.
    pub(crate) fn worst_first(&self, other: &Self) -> Ordering {
        let badness = |row: &Self| match row.worse {
            Worse::Higher => row.percent().unwrap_or(0.0),
            Worse::Lower => -row.percent().unwrap_or(0.0),
        };
        other
            .status
            .cmp(&self.status)
            .then_with(|| badness(self).total_cmp(&badness(other)))
    }

    /// The change that is told first.
    fn percent(&self) -> Option<f64> {
        self.trend.as_ref().and_then(|trend| trend.fitted_percent)
    }

    fn word(&self) -> &'static str {
        match self.status {
            Status::Drift => "DRIFT",
            Status::Warning => "WARNING",
            Status::Ok => "OK",
            Status::Insufficient => "insufficient",
        }
    }

    /// Everything else that there is to say, a sentence a line.
    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for step in &self.steps {
            lines.push(format!(
                "a step of {} at {} on {}; the trend is of what came since",
                percent(step.change_percent),
                short(step.commit.as_str()),
                day(step.date)
            ));
        }
        if let (Some(oldest), Some(newest), Some(trend)) = (&self.oldest, &self.newest, &self.trend)
        {
            for (word, value) in [("oldest", oldest), ("newest", newest)] {
                lines.push(format!(
                    "{word}: {} ({} on {})",
                    computed(value.value),
                    short(value.commit.as_str()),
                    day(value.date)
                ));
            }
            lines.push(format!(
                "first to last: {}; least squares: {} a run",
                percent(Some(trend.first_to_last_percent)),
                change(trend.least_squares_slope)
            ));
            lines.push(format!(
                "fitted: {} a run, 95 % from {} to {}",
                change(trend.theil_sen_slope),
                change(trend.theil_sen_slope_low),
                change(trend.theil_sen_slope_high)
            ));
            let tau = trend
                .kendall_tau_b
                .map_or("none".to_owned(), |tau| format!("{tau:.2}"));
            lines.push(format!(
                "Kendall's tau: {tau}, p {}",
                probability(trend.kendall_p)
            ));
        } else {
            let commits = self.newest.as_ref().map_or(0, |_| self.commits);
            lines.push(format!("too few runs to judge: {commits} in the window"));
        }
        if let Some(level) = self.level_in_a_year {
            lines.push(format!(
                "in a year at this rate: {} ({})",
                computed(level),
                percent(self.level_in_a_year_percent)
            ));
        }
        if let Some(reference) = &self.reference {
            lines.push(format!(
                "against the reference run {} on {}: {} -> {}, {}",
                short(reference.commit.as_str()),
                day(reference.date),
                computed(reference.value),
                computed(reference.level),
                percent(reference.change_percent)
            ));
        }
        lines
    }
}

impl<'a> Value<'a> {
    fn of(point: &'a PastPoint) -> Self {
        Self {
            run_id: point.run_id,
            commit: &point.commit,
            date: point.date,
            value: point.value,
        }
    }
}

impl Numbers {
    fn of(trend: &Trend) -> Self {
        Self {
            commits: trend.n,
            first_to_last_percent: trend.first_to_last_percent,
            least_squares_slope: trend.least_squares_slope,
            least_squares_intercept: trend.least_squares_intercept,
            least_squares_percent: trend.least_squares_percent,
            least_squares_p: trend.least_squares_p,
            theil_sen_slope: trend.slope,
            theil_sen_slope_low: trend.slope_interval.0,
            theil_sen_slope_high: trend.slope_interval.1,
            theil_sen_intercept: trend.intercept,
            fitted_percent: trend.fitted_percent,
            kendall_tau_b: trend.tau,
            kendall_p: trend.p,
        }
    }
}

impl<'a> Reference<'a> {
    fn new(point: &'a PastPoint, past: &Past, worse: Worse, limits: Limits) -> Option<Self> {
        let mut newest: Vec<f64> = past
            .newest(NEWEST)
            .iter()
            .map(|point| point.value)
            .collect();
        newest.sort_by(f64::total_cmp);
        let level = *newest.get(newest.len().checked_sub(1)? / 2)?;
        let percent =
            (point.value != 0.0).then(|| (level - point.value) / point.value.abs() * 100.0);
        Some(Self {
            commit: &point.commit,
            date: point.date,
            value: point.value,
            level,
            change_percent: percent,
            status: percent.map_or(Status::Ok, |percent| limits.status_of(percent, worse)),
        })
    }
}

/// The fitted level a year after the newest run, at the rate of the window.
fn in_a_year(trend: &Trend, points: &[PastPoint]) -> Option<f64> {
    let seconds = points.last()?.date.timestamp() - points.first()?.date.timestamp();
    let days = seconds as f64 / 86_400.0;
    let runs = (trend.n - 1) as f64;
    (days >= FEWEST_DAYS).then(|| trend.level() + trend.slope * runs / days * DAYS_A_YEAR)
}

fn probability(p: f64) -> String {
    match p {
        p if p < 0.0001 => "under 0.0001".to_owned(),
        p => format!("{p:.4}"),
    }
}

fn summary(rows: &[Row<'_>], limits: Limits) -> String {
    let count = |status| rows.iter().filter(|row| row.status == status).count();
    let rule = match limits.rule {
        Rule::Fitted => "fitted change",
        Rule::FirstToLast => "change from first to last",
    };
    format!(
        "{} drift, {} warn, {} are steady, {} have too few runs\n({rule} for the worse above {} % \
         warns, above {} % is drift)",
        count(Status::Drift),
        count(Status::Warning),
        count(Status::Ok),
        count(Status::Insufficient),
        limits.warn,
        limits.drift
    )
}

/// For people, in 80 columns. What is steady takes one line.
pub(crate) fn text(rows: &[Row<'_>], limits: Limits) -> anyhow::Result<String> {
    let mut out = summary(rows, limits);
    out.push('\n');
    for row in rows {
        let head = format!("{}  {}", row.word(), row.label);
        let numbers = format!("{}  {}", row.picture, percent(row.percent()));
        out.push('\n');
        for line in beside(&head, &numbers) {
            writeln!(out, "{line}")?;
        }
        let series = tame(&row.series.to_string());
        writeln!(out, "    {}", cut(&series, WIDTH - 4))?;
        if row.status == Status::Ok && row.steps.is_empty() && row.reference.is_none() {
            continue;
        }
        for line in row.lines() {
            writeln!(out, "    {}", cut(&line, WIDTH - 4))?;
        }
    }
    Ok(out)
}

/// For an issue or a summary.
pub(crate) fn markdown(rows: &[Row<'_>], limits: Limits) -> anyhow::Result<String> {
    let mut out = format!(
        "## Drift\n\n{}\n\n",
        summary(rows, limits).replace('\n', " ")
    );
    out.push_str("| status | metric | change | | series |\n| --- | --- | ---: | --- | --- |\n");
    for row in rows {
        writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            row.word(),
            escaped(&row.label),
            percent(row.percent()),
            row.picture,
            escaped(&row.series.to_string())
        )?;
    }
    for row in rows.iter().filter(|row| row.status < Status::Insufficient) {
        writeln!(out, "\n### {}: {}\n", row.word(), escaped(&row.label))?;
        for line in row.lines() {
            writeln!(out, "- {}", escaped(&line))?;
        }
    }
    Ok(out)
}

/// For programs.
pub(crate) fn json(rows: &[Row<'_>], limits: Limits) -> anyhow::Result<String> {
    #[derive(Serialize)]
    struct Document<'a> {
        format_version: u32,
        warn_percent: f64,
        drift_percent: f64,
        rule: Rule,
        metrics: &'a [Row<'a>],
    }
    let document = Document {
        format_version: 1,
        warn_percent: limits.warn,
        drift_percent: limits.drift,
        rule: limits.rule,
        metrics: rows,
    };
    Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
}

/// For a CI: a metric is a test case, and drift is a failure.
pub(crate) fn junit(rows: &[Row<'_>], _: Limits) -> anyhow::Result<String> {
    let mut suite = TestSuite::new("drift");
    for row in rows {
        let why = row.lines().join("; ");
        let status = match row.status {
            Status::Drift => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_type("drift").set_message(&why);
                status
            }
            Status::Insufficient => {
                let mut status = TestCaseStatus::skipped();
                status.set_message(&why);
                status
            }
            Status::Warning | Status::Ok => TestCaseStatus::success(),
        };
        let mut case = TestCase::new(&row.label, status);
        case.set_classname(row.series.to_string());
        suite.add_test_case(case);
    }
    let mut report = JunitReport::new("perf-tracking drift");
    report.add_test_suite(suite);
    Ok(report.to_string()?)
}
