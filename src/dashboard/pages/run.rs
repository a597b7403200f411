//! One run whole, between the runs before and after it.

use std::collections::HashMap;

use askama::Template;
use chrono::{DateTime, TimeDelta};

use super::metric::{all_runs, runs_compared};
use super::{Context, Difference, Page, Shell, Tab, names, page};
use crate::api::RunBody;
use crate::dashboard::query::MetricQuery;
use crate::dashboard::source::Source;
use crate::dashboard::trace::{beside, live};
use crate::domain::{DateBound, MetricName, RunDate, Series, Tag, Value};
use crate::judge::Level;
use crate::judge::metrics::known;
use crate::report::number;
use crate::store::{HistoryQuery, MAX_POINTS, RunId, RunQuery, TagFilter};

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    shell: Shell,
    id: RunId,
    commit: String,
    short: String,
    subject: String,
    facts: Vec<(&'static str, String)>,
    links: Vec<(String, String)>,
    parameters: Vec<(String, String)>,
    failed: bool,
    voided: Option<String>,
    previous: Option<Neighbour>,
    next: Option<Neighbour>,
    metrics: Vec<Shown>,
    compare: Option<String>,
}

struct Neighbour {
    link: String,
    commit: String,
    day: String,
}

struct Shown {
    link: String,
    key: String,
    dim: String,
    value: String,
    exact: String,
    before: Difference,
    twenty: Difference,
    wallclock: bool,
}

/// The page of a run; `None` where there is no such run.
///
/// # Errors
/// Why the source has no answer.
pub async fn run<S: Source>(
    context: &Context,
    source: &S,
    id: RunId,
) -> Result<Option<Page>, S::Error> {
    let Some(run) = source.run(id).await? else {
        return Ok(None);
    };
    let series = series_of(&run);
    let before = values_before(source, &run, &series).await?;
    let previous = previous(source, &run, &series).await?;
    let next = next(source, &run, &series).await?;
    let neighbour = |run: &RunBody| Neighbour {
        link: context.links.run(run.run_id),
        commit: names::short(run.commit_sha.as_str()),
        day: names::day(run.run_date),
    };
    Ok(Some(page(&RunPage {
        shell: context.shell(Tab::None, format!("Run {id}")),
        id,
        commit: run.commit_sha.to_string(),
        short: names::short(run.commit_sha.as_str()),
        subject: run
            .subject
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        facts: facts(&run),
        links: context.addresses(&run),
        parameters: run
            .parameters
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
        failed: !run.succeeded && run.voided.is_none(),
        voided: run.voided.as_ref().map(|voided| {
            format!(
                "{} took it back on {}: {}",
                voided.by, voided.at, voided.reason
            )
        }),
        compare: previous
            .as_ref()
            .and_then(|previous| runs_compared(context, previous.run_id, id)),
        previous: previous.as_ref().map(neighbour),
        next: next.as_ref().map(neighbour),
        metrics: metrics(context, &run, &series, &before),
    })))
}

pub(super) fn series_of(run: &RunBody) -> Series {
    Series {
        workload: run.workload.clone(),
        branch: run.branch.clone(),
        arch: run.arch.clone(),
        distro: run.distro.clone(),
    }
}

fn facts(run: &RunBody) -> Vec<(&'static str, String)> {
    let text = |value: Option<String>| value.unwrap_or_default();
    let change = match (&run.change, &run.patchset) {
        (Some(change), Some(patchset)) => format!("{change}, patch set {patchset}"),
        (Some(change), None) => change.to_string(),
        _ => String::new(),
    };
    let facts = [
        ("Repository", run.repo.to_string()),
        ("Workload", run.workload.to_string()),
        ("Branch", run.branch.to_string()),
        ("Architecture", run.arch.to_string()),
        ("Distribution", run.distro.to_string()),
        ("Class of hosts", run.host_class.to_string()),
        ("Date", names::minute(run.run_date)),
        ("Tag", run.tag.to_string()),
        ("Change", change),
        ("Pipeline", run.pipeline.to_string()),
        ("Uploaded by", text(run.uploaded_by.clone())),
        (
            "Uploaded at",
            text(run.uploaded_at.map(|at| at.to_string())),
        ),
    ];
    facts
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

/// A bound that has the run's date and all before it on one side.
fn after(date: RunDate) -> Option<DateBound> {
    let seconds = DateTime::from_timestamp(date.timestamp() + 1, 0)?;
    RunDate::new(seconds).ok()?.to_string().parse().ok()
}

/// For each metric the values of the live runs before this one, newest first.
async fn values_before<S: Source>(
    source: &S,
    run: &RunBody,
    series: &Series,
) -> Result<HashMap<MetricName, Vec<Value>>, S::Error> {
    let metrics = run.metrics.as_ref().map_or(0, Vec::len).max(1);
    let query = HistoryQuery {
        before: after(run.run_date),
        limit: (MAX_POINTS / 8 / metrics).clamp(1, 21),
        repo: Some(run.repo.clone()),
        ..live(series, None, 21)
    };
    let found = source.history(&query).await?;
    let is_before = |id: i64, date: RunDate| (date, id) < (run.run_date, run.run_id);
    let values = found.into_iter().map(|metric| {
        let name = MetricName {
            metric_key: metric.metric_key,
            dim_key: metric.dim_key,
        };
        let points = metric.points.into_iter();
        let points = points.filter(|point| is_before(point.run_id, point.run_date));
        let points = points.filter(|point| !metric.wallclock || point.host_class == run.host_class);
        (name, points.map(|point| point.value).collect())
    });
    Ok(values.collect())
}

async fn previous<S: Source>(
    source: &S,
    run: &RunBody,
    series: &Series,
) -> Result<Option<RunBody>, S::Error> {
    let query = RunQuery {
        before: after(run.run_date),
        ..like(run, series)
    };
    let runs = source.runs(&query).await?;
    let is_before = |other: &RunBody| (other.run_date, other.run_id) < (run.run_date, run.run_id);
    Ok(runs.into_iter().find(is_before))
}

/// The runs beside a live run, or beside a reference run of the same tag.
fn like(run: &RunBody, series: &Series) -> RunQuery {
    let pipeline = (run.tag == Tag::live()).then(|| run.pipeline.clone());
    RunQuery {
        tag: TagFilter::Is(run.tag.clone()),
        pipeline,
        repo: Some(run.repo.clone()),
        ..all_runs(series, 50)
    }
}

/// Lists are newest first, so the run after this one is the last of a list that ends soon after it.
async fn next<S: Source>(
    source: &S,
    run: &RunBody,
    series: &Series,
) -> Result<Option<RunBody>, S::Error> {
    for days in [1, 7, 60, 720, 9_000] {
        let end = DateTime::from_timestamp(run.run_date.timestamp(), 0)
            .and_then(|date| date.checked_add_signed(TimeDelta::days(days)))
            .and_then(|date| RunDate::new(date).ok())
            .unwrap_or(RunDate::LATEST);
        let query = RunQuery {
            since: run.run_date.to_string().parse().ok(),
            before: end.to_string().parse().ok(),
            limit: 1_000,
            ..like(run, series)
        };
        let runs = source.runs(&query).await?;
        let is_cut = runs.len() == query.limit;
        let is_after =
            |other: &&RunBody| (other.run_date, other.run_id) > (run.run_date, run.run_id);
        let next = runs.iter().rev().find(is_after).cloned();
        // Of a list that was cut, the oldest one is not the run after this one.
        if is_cut {
            return Ok(None);
        }
        if next.is_some() {
            return Ok(next);
        }
    }
    Ok(None)
}

fn metrics(
    context: &Context,
    run: &RunBody,
    series: &Series,
    before: &HashMap<MetricName, Vec<Value>>,
) -> Vec<Shown> {
    let mut shown: Vec<(f64, Shown)> = Vec::new();
    for metric in run.metrics.iter().flatten() {
        let name = MetricName {
            metric_key: metric.metric_key.clone(),
            dim_key: metric.dim_key.clone(),
        };
        let known = known(name.metric_key.as_str());
        let none = Vec::new();
        let before = before.get(&name).unwrap_or(&none);
        let window = &before[..before.len().min(20)];
        let beside = beside(metric.value, window, known);
        let notable = beside.level != Level::Within;
        let last = before
            .first()
            .map(|value| value.to_f64())
            .filter(|value| *value != 0.0);
        let to_last = last.map(|last| (metric.value.to_f64() - last) / last.abs() * 100.0);
        let size = beside.percent[1].unwrap_or_default().abs();
        let rank = if notable { 1e9 + size } else { 0.0 };
        shown.push((
            rank,
            Shown {
                link: context.links.metric(&MetricQuery::of(series.clone(), name)),
                key: metric.metric_key.to_string(),
                dim: metric.dim_key.to_string(),
                value: number::readable(metric.value.to_f64(), known.unit),
                exact: number::value(metric.value),
                before: Difference::new(to_last, known.worse, notable),
                twenty: Difference::new(beside.percent[1], known.worse, notable),
                wallclock: metric.wallclock,
            },
        ));
    }
    shown.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    shown.into_iter().map(|(_, shown)| shown).collect()
}
