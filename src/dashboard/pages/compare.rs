//! Two commits, tags or runs, metric by metric, the worst first.

use std::collections::HashMap;

use askama::Template;

use super::run::series_of;
use super::{Context, Difference, Page, Shell, Tab, names, page};
use crate::api::RunBody;
use crate::dashboard::query::{CompareQuery, MetricQuery, Narrowed, Side};
use crate::dashboard::source::Source;
use crate::dashboard::trace::{is_worse, live};
use crate::domain::{MetricName, Series, Tag};
use crate::judge::metrics::known;
use crate::report::number;
use crate::store::{HistoryQuery, RunQuery, TagFilter};

/// Runs of one side.
const RUNS: usize = 20;
/// Rows of the page.
const ROWS: usize = 500;
/// Points of one series that tell its noise.
const NOISE_POINTS: usize = 20_000;

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage {
    shell: Shell,
    base: String,
    head: String,
    find: String,
    all: bool,
    sides: Vec<SideShown>,
    missing: Vec<String>,
    rows: Vec<Shown>,
    within: usize,
    cut: usize,
    asked: bool,
    link: String,
    other_kinds: Vec<String>,
}

struct SideShown {
    label: &'static str,
    runs: Vec<RunShown>,
}

struct RunShown {
    link: String,
    commit: String,
    day: String,
    tag: String,
    subject: String,
    place: String,
}

struct Shown {
    link: String,
    key: String,
    dim: String,
    place: String,
    workload: String,
    base: String,
    head: String,
    change: Difference,
    noise: String,
    is_relevant: bool,
    badness: f64,
}

/// Two sides, metric by metric.
///
/// # Errors
/// Why the source has no answer.
pub async fn compare<S: Source>(
    context: &Context,
    source: &S,
    query: &CompareQuery,
) -> Result<Page, S::Error> {
    let base = runs_of(source, query.base.as_ref()).await?;
    let head = runs_of(source, query.head.as_ref()).await?;
    let pairs = pairs(query, &base, &head);
    let mut rows = Vec::new();
    for (one, other) in &pairs {
        let noise = noise(source, one).await?;
        rows.extend(compared(context, one, other, &noise, &query.narrowed));
    }
    let total = rows.len();
    if !query.all {
        rows.retain(|row| row.is_relevant);
    }
    let within = total - rows.len();
    rows.sort_by(|one, other| other.badness.total_cmp(&one.badness));
    let cut = rows.len().saturating_sub(ROWS);
    rows.truncate(ROWS);
    let text = |side: Option<&Side>| side.map(ToString::to_string).unwrap_or_default();
    let side = |label, runs: &[RunBody]| SideShown {
        label,
        runs: runs.iter().map(|run| run_shown(context, run)).collect(),
    };
    let missing = [(&query.base, &base), (&query.head, &head)];
    let missing = missing.into_iter().filter(|(_, runs)| runs.is_empty());
    Ok(page(&ComparePage {
        shell: context.shell(Tab::Compare, "Compare"),
        base: text(query.base.as_ref()),
        head: text(query.head.as_ref()),
        find: query.narrowed.find.clone().unwrap_or_default(),
        all: query.all,
        missing: missing
            .filter_map(|(side, _)| side.as_ref().map(ToString::to_string))
            .collect(),
        sides: vec![side("Base", &base), side("Head", &head)],
        asked: query.base.is_some() && query.head.is_some(),
        other_kinds: other_kinds(&pairs),
        rows,
        within,
        cut,
        link: context
            .links
            .compare(&CompareQuery {
                all: !query.all,
                ..query.clone()
            })
            .unwrap_or_default(),
    }))
}

async fn runs_of<S: Source>(source: &S, side: Option<&Side>) -> Result<Vec<RunBody>, S::Error> {
    let any = RunQuery {
        succeeded: Some(true),
        ..RunQuery::newest(RUNS)
    };
    match side {
        None => Ok(Vec::new()),
        Some(Side::Run(id)) => Ok(source.run(*id).await?.into_iter().collect()),
        Some(Side::Commit(commit)) => {
            let query = RunQuery {
                commit_sha: Some(commit.clone()),
                tag: TagFilter::Is(Tag::live()),
                ..any
            };
            source.whole_runs(&query).await
        }
        Some(Side::Tag(tag)) => {
            let query = RunQuery {
                tag: TagFilter::Is(tag.clone()),
                ..any
            };
            source.whole_runs(&query).await
        }
    }
}

/// The runs of both sides that are of one series, the newest of each. Two single runs are a pair
/// whatever their series are.
fn pairs<'a>(
    query: &CompareQuery,
    base: &'a [RunBody],
    head: &'a [RunBody],
) -> Vec<(&'a RunBody, &'a RunBody)> {
    if let (Some(Side::Run(_)), Some(Side::Run(_))) = (&query.base, &query.head) {
        return base.iter().zip(head).collect();
    }
    let mut pairs: Vec<(&RunBody, &RunBody)> = Vec::new();
    for one in base {
        let series = series_of(one);
        let is_known = pairs.iter().any(|(known, _)| series_of(known) == series);
        if is_known {
            continue;
        }
        if let Some(other) = head.iter().find(|other| series_of(other) == series) {
            pairs.push((one, other));
        }
    }
    pairs
}

/// What keeps two runs from being compared like for like.
fn other_kinds(pairs: &[(&RunBody, &RunBody)]) -> Vec<String> {
    let mut said = Vec::new();
    for (one, other) in pairs {
        if series_of(one) != series_of(other) {
            said.push(format!(
                "The runs are of two series: {} and {}.",
                series_of(one),
                series_of(other)
            ));
        }
        if one.host_class != other.host_class {
            said.push(format!(
                "Clock readings were taken on two classes of hosts: {} and {}.",
                one.host_class, other.host_class
            ));
        }
        if one.parameters != other.parameters {
            said.push("The runs were told different parameters.".to_owned());
        }
    }
    said
}

/// For each metric the noise of the base's series: three sample standard deviations of the newest
/// values up to the base, in percent of their mean.
async fn noise<S: Source>(
    source: &S,
    base: &RunBody,
) -> Result<HashMap<MetricName, f64>, S::Error> {
    let metrics = base.metrics.as_ref().map_or(0, Vec::len).max(1);
    let limit = (NOISE_POINTS / metrics).clamp(2, 20);
    let before = chrono::DateTime::from_timestamp(base.run_date.timestamp() + 1, 0);
    let before = before.and_then(|date| crate::domain::RunDate::new(date).ok());
    let query = HistoryQuery {
        before: before.and_then(|date| date.to_string().parse().ok()),
        repo: Some(base.repo.clone()),
        host_class: Some(base.host_class.clone()),
        ..live(&series_of(base), None, limit)
    };
    let mut noise = HashMap::new();
    for metric in source.history(&query).await? {
        let values: Vec<f64> = metric.points.iter().map(|p| p.value.to_f64()).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        if values.len() < 5 || mean == 0.0 {
            continue;
        }
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (n - 1.0)).sqrt();
        let name = MetricName {
            metric_key: metric.metric_key,
            dim_key: metric.dim_key,
        };
        noise.insert(name, 3.0 * deviation / mean.abs() * 100.0);
    }
    Ok(noise)
}

fn compared(
    context: &Context,
    base: &RunBody,
    head: &RunBody,
    noise: &HashMap<MetricName, f64>,
    narrowed: &Narrowed,
) -> Vec<Shown> {
    let series: Series = series_of(head);
    let place = names::place(&series);
    let values: HashMap<(&str, &str), _> = base
        .metrics
        .iter()
        .flatten()
        .map(|metric| {
            (
                (metric.metric_key.as_str(), metric.dim_key.as_str()),
                metric.value,
            )
        })
        .collect();
    let find = narrowed.find.as_ref().map(|find| find.to_lowercase());
    let mut rows = Vec::new();
    for metric in head.metrics.iter().flatten() {
        let name = MetricName {
            metric_key: metric.metric_key.clone(),
            dim_key: metric.dim_key.clone(),
        };
        let text = format!(
            "{} {} {} {place}",
            name.metric_key, name.dim_key, series.workload
        );
        let text = text.to_lowercase();
        let is_wanted = |find: &String| find.split_whitespace().all(|word| text.contains(word));
        let key = (metric.metric_key.as_str(), metric.dim_key.as_str());
        let Some(before) = values
            .get(&key)
            .filter(|_| find.as_ref().is_none_or(is_wanted))
        else {
            continue;
        };
        let known = known(name.metric_key.as_str());
        let (before, after) = (before.to_f64(), metric.value.to_f64());
        let percent = (before != 0.0).then(|| (after - before) / before.abs() * 100.0);
        let noise = noise.get(&name).copied();
        let floor = f64::from(known.floor_percent);
        let size = percent.map_or(f64::MAX, f64::abs);
        let is_relevant = before != after && size > noise.unwrap_or_default().max(floor);
        let sign = match is_worse(after - before, known.worse) {
            Some(true) => 1.0,
            Some(false) => -1.0,
            None => 0.0,
        };
        rows.push(Shown {
            link: context.links.metric(&MetricQuery::of(series.clone(), name)),
            key: metric.metric_key.to_string(),
            dim: metric.dim_key.to_string(),
            place: place.clone(),
            workload: series.workload.to_string(),
            base: number::readable(before, known.unit),
            head: number::readable(after, known.unit),
            change: Difference::new(percent, known.worse, is_relevant),
            noise: noise.map_or_else(
                || "–".to_owned(),
                |noise| format!("±{}", number::percent(Some(noise)).trim_start_matches('+')),
            ),
            is_relevant,
            badness: if is_relevant {
                sign * size
            } else {
                sign * size / 1e9
            },
        });
    }
    rows
}

fn run_shown(context: &Context, run: &RunBody) -> RunShown {
    RunShown {
        link: context.links.run(run.run_id),
        commit: names::short(run.commit_sha.as_str()),
        day: names::day(run.run_date),
        tag: run.tag.to_string(),
        subject: run
            .subject
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        place: format!("{} · {}", run.workload, names::place(&series_of(run))),
    }
}
