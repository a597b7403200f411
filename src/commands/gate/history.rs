//! The windows: fetched in as few requests as can be, or read from a file.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;

use super::judging::Question;
use super::{document, nearest};

use crate::api::{HistoryAnswer, MetricPoints, PointBody, SeriesBody};
use crate::client::{Client, Window};
use crate::commands::cursors::Cursors;
use crate::domain::{
    CommitSha, HostClass, MetricKey, MetricName, Parameters, Pipeline, Repo, RunDate, Series, Tag,
};
use crate::files::input::Input;
use crate::judge::{
    Candidate, History, HistoryPoint, LeftOut, LeftOutRun, MetricHistory, Nearby, Position, Renamed,
};
use crate::provenance;
use crate::terminal::shown;
use crate::terminal::tame;

/// Bytes of metric keys in one request, well below what servers and proxies take of an address.
const KEYS_A_REQUEST: usize = 4_000;

/// The most points of a metric that the service answers with.
const MAX_LIMIT: u32 = 10_000;

/// The most points that one request asks for; the service refuses twice as many.
const POINTS_A_REQUEST: u32 = 100_000;

/// The service looks for as many metrics by themselves in one page, those that are not in its newest runs.
const METRICS_A_REQUEST: u32 = 50;

/// Pages in which the service may look for a window that lies behind very many other runs, and pages
/// of series among which a near miss is looked for.
const MOST_PAGES: usize = 20;

/// Far more than any window takes: half a million points.
const MAX_HISTORY_BYTES: usize = 256 << 20;

/// A history that was saved, and the series that it is of.
pub(super) struct Saved {
    pub(super) series: Series,
    pub(super) history: History,
}

/// Reads saved histories, which are all of the document's series, or of the workload that it was
/// called before.
pub(super) fn read(question: &Question<'_>) -> anyhow::Result<Saved> {
    let mut windows = Windows::new(&question.past.pipeline, question.change.repo.as_ref());
    let mut series: Option<Series> = question
        .change
        .branch
        .clone()
        .map(|branch| document::series(question.document, branch));
    for path in &question.past.history {
        for answer in read_answers(path)? {
            let found = &answer.series;
            let wanted = series
                .get_or_insert_with(|| document::series(question.document, found.branch.clone()));
            let is_before = renamed_from(question, wanted).any(|before| before == *found);
            anyhow::ensure!(
                wanted == found || is_before,
                "{} is the history of {found}, and the document is of {wanted}",
                shown::path(path)
            );
            windows.add(answer)?;
        }
    }
    let series = series.context("the history is empty")?;
    let nearby = windows.other_repos(&series);
    let mut history = windows.into_history();
    if history
        .metrics
        .iter()
        .all(|metric| metric.points.is_empty())
    {
        history.nearby = nearby.into_iter().collect();
    }
    Ok(Saved { series, history })
}

/// The series that a renamed workload had before.
fn renamed_from<'q>(
    question: &'q Question<'_>,
    series: &'q Series,
) -> impl Iterator<Item = Series> + 'q {
    let renames = question.policy.renamed.iter();
    renames.filter_map(|rename| match &rename.what {
        Renamed::Workload { from, to } if *to == series.workload => Some(Series {
            workload: from.clone(),
            ..series.clone()
        }),
        _ => None,
    })
}

/// Where the windows end, by a saved history.
pub(super) fn saved_base(
    question: &Question<'_>,
    history: &History,
) -> anyhow::Result<Option<Position>> {
    let Some(base) = &question.past.base else {
        return Ok(None);
    };
    match history.position_of(base) {
        Some(position) => Ok(Some(position)),
        None => position_by_git(base).map(Some),
    }
}

/// Where the windows end: at the newest run of the base, or else at its date in the checkout.
pub(super) async fn base(
    client: &Client,
    candidate: &Candidate,
    question: &Question<'_>,
) -> anyhow::Result<Option<Position>> {
    let Some(base) = &question.past.base else {
        return Ok(None);
    };
    let mut query = series_query(&candidate.series);
    query.push(("commit_sha", base.to_string()));
    query.push(("tag", String::new()));
    query.push(("succeeded", "true".to_owned()));
    query.push(("pipeline", question.past.pipeline.to_string()));
    let page = client.runs(&query).await?;
    let positions = page.runs.iter().filter_map(|run| {
        let run = listed(run)?;
        Some((run.run_date, run.run_id))
    });
    match positions.max() {
        Some(position) => Ok(Some(position)),
        None => position_by_git(base).map(Some),
    }
}

fn position_by_git(base: &CommitSha) -> anyhow::Result<Position> {
    let date = provenance::commit_date(base)
        .map_err(|why| anyhow::anyhow!("the base {base} has no run in this series, and {why}"))?;
    Ok((date, i64::MAX))
}

/// The answers in a file: one, or several one after the other.
fn read_answers(path: &Path) -> anyhow::Result<Vec<HistoryAnswer>> {
    let shown = shown::path(path);
    let text = Input::of(path)
        .text(MAX_HISTORY_BYTES)
        .with_context(|| format!("cannot read the history {shown}"))?;
    let answers: Result<Vec<HistoryAnswer>, _> = serde_json::Deserializer::from_str(&text)
        .into_iter()
        .collect();
    let answers = answers.with_context(|| {
        format!("{shown} is no history as `perf-tracking history --format json` prints it")
    })?;
    anyhow::ensure!(!answers.is_empty(), "{shown} holds no history");
    Ok(answers)
}

/// Fetches the windows of `candidate`, and what else is to be told of its series.
pub(super) async fn fetch(
    client: &Client,
    candidate: &Candidate,
    question: &Question<'_>,
) -> anyhow::Result<History> {
    let repo = question.change.repo.as_ref();
    let mut windows = Windows::new(&question.past.pipeline, repo);
    fetch_series(client, candidate, &candidate.series, question, &mut windows).await?;
    for before in renamed_from(question, &candidate.series) {
        fetch_series(client, candidate, &before, question, &mut windows).await?;
    }
    let mut history = windows.into_history();
    if history
        .metrics
        .iter()
        .all(|metric| metric.points.is_empty())
    {
        let known = known_series(client, &candidate.series).await?;
        history.nearby = nearest::find(&candidate.series, repo, &known);
    }
    if question.explained {
        history.left_out = left_out(client, candidate, question).await?;
    }
    Ok(history)
}

/// The series that may have been meant: those of the same workload, and those of any, as far as a
/// few pages go. A store with more series than that has many names that are near.
async fn known_series(client: &Client, wanted: &Series) -> anyhow::Result<Vec<SeriesBody>> {
    let of_workload = vec![("workload", wanted.workload.to_string())];
    let mut known: Vec<SeriesBody> = Vec::new();
    let mut seen = BTreeSet::new();
    for query in [of_workload, Vec::new()] {
        let mut cursors = Cursors::new(query);
        for _ in 0..MOST_PAGES {
            let page = client.series(cursors.query()).await?;
            // A series with many metrics stands on several pages.
            known.extend(page.series.into_iter().filter(|body| {
                seen.insert((
                    body.workload.to_string(),
                    body.branch.to_string(),
                    body.arch.to_string(),
                    body.distro.to_string(),
                ))
            }));
            match page.next {
                Some(cursor) => cursors.follow(cursor)?,
                None => break,
            }
        }
    }
    Ok(known)
}

/// Fetches the windows of one series.
///
/// One request brings every metric of the newest runs, those that the document lacks among them;
/// only where that is a great many points it takes several. A metric that is not in each of these
/// runs is asked for again, by name, if there are older runs; so is a clock's, whose runs must be
/// of one class of hosts.
async fn fetch_series(
    client: &Client,
    candidate: &Candidate,
    series: &Series,
    question: &Question<'_>,
    windows: &mut Windows<'_>,
) -> anyhow::Result<()> {
    // One more than a window takes: the candidate's own run may be among them.
    let largest = question.policy.windows.largest();
    let limit = largest.saturating_add(1).min(MAX_LIMIT);
    let metrics = u32::try_from(candidate.metrics.len()).unwrap_or(u32::MAX);
    let page = limit.min((POINTS_A_REQUEST / metrics.max(1)).max(1));
    let mut base = query(
        series,
        question.change.repo.as_ref(),
        &question.past.pipeline,
    );
    if let Some((date, _)) = candidate.base {
        base.push(("before", second_after(date)?));
    }

    let mut next = None;
    for _ in 0..limit.div_ceil(page) {
        let mut query = base.clone();
        query.push(("limit", page.to_string()));
        query.extend(next.map(|cursor| ("cursor", cursor)));
        let mut newest = page_of(client, series, &query).await?;
        next = newest.next.take();
        windows.add(newest)?;
        if next.is_none() {
            return Ok(());
        }
    }
    for (host_class, keys) in windows.short(candidate, limit) {
        let most = (POINTS_A_REQUEST / limit).min(METRICS_A_REQUEST);
        for keys in in_requests(keys, most as usize) {
            let mut query = base.clone();
            query.push(("limit", limit.to_string()));
            query.extend(keys.into_iter().map(|key| ("metric_key", key.into())));
            query.extend(
                host_class
                    .iter()
                    .map(|class| ("host_class", class.to_string())),
            );
            windows.add_named(client, series, query, limit).await?;
        }
    }
    Ok(())
}

/// The bound that has a run of this date before it.
fn second_after(date: RunDate) -> anyhow::Result<String> {
    let next = date.timestamp().checked_add(1);
    let next = next.and_then(|seconds| chrono::DateTime::from_timestamp(seconds, 0));
    let next = next.context("the base has a date without a second after it")?;
    Ok(next.to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
}

/// The newest runs of a series that are in no window, and why.
async fn left_out(
    client: &Client,
    candidate: &Candidate,
    question: &Question<'_>,
) -> anyhow::Result<Vec<LeftOutRun>> {
    let largest = question.policy.windows.largest();
    let mut query = series_query(&candidate.series);
    query.push(("include_voided", "true".to_owned()));
    query.push(("limit", largest.saturating_mul(2).min(1_000).to_string()));
    if let Some((date, _)) = candidate.base {
        query.push(("before", second_after(date)?));
    }
    let page = client.runs(&query).await?;
    let left_out = page.runs.iter().filter_map(|run| {
        let run = listed(run)?;
        let why = run.reason_against(question)?;
        Some(LeftOutRun {
            run_id: run.run_id,
            run_date: run.run_date,
            commit: run.commit_sha,
            why,
        })
    });
    Ok(left_out.collect())
}

/// A run of a list, as far as it matters here.
#[derive(serde::Deserialize)]
struct ListedRun {
    run_id: i64,
    run_date: RunDate,
    commit_sha: CommitSha,
    tag: Tag,
    repo: Repo,
    pipeline: Pipeline,
    succeeded: bool,
    /// That it was taken back, and why.
    #[serde(default)]
    voided: Option<serde::de::IgnoredAny>,
}

fn listed(run: &serde_json::value::RawValue) -> Option<ListedRun> {
    serde_json::from_str(run.get()).ok()
}

impl ListedRun {
    /// Why no value of the run is in a window; `None` where they are.
    fn reason_against(&self, question: &Question<'_>) -> Option<LeftOut> {
        if self.voided.is_some() {
            return Some(LeftOut::Voided);
        }
        if !self.succeeded {
            return Some(LeftOut::Failed);
        }
        if !self.tag.as_str().is_empty() {
            return Some(LeftOut::Reference(self.tag.to_string()));
        }
        let repo = question.change.repo.as_ref();
        if repo.is_some_and(|repo| *repo != self.repo) {
            return Some(LeftOut::OtherRepo(self.repo.clone()));
        }
        (self.pipeline != question.past.pipeline)
            .then(|| LeftOut::OtherPipeline(self.pipeline.clone()))
    }
}

/// A page of the history of `series`. That of another, such as a cache may give, would judge the
/// change by numbers that are not its own.
async fn page_of(
    client: &Client,
    series: &Series,
    query: &[(&'static str, String)],
) -> anyhow::Result<HistoryAnswer> {
    let answer = client.window(Window::History, query).await?.content;
    let found = &answer.series;
    anyhow::ensure!(
        found == series,
        "the service answered with the history of {}, and was asked for {series}; check --server \
         (PERF_TRACKING_URL), and the proxies in front of the service",
        tame(&found.to_string())
    );
    Ok(answer)
}

/// The parameters, as the service names them.
pub(super) fn query(
    series: &Series,
    repo: Option<&Repo>,
    pipeline: &Pipeline,
) -> Vec<(&'static str, String)> {
    let mut query = series_query(series);
    query.push(("pipeline", pipeline.to_string()));
    query.extend(repo.map(|repo| ("repo", repo.to_string())));
    query
}

fn series_query(series: &Series) -> Vec<(&'static str, String)> {
    vec![
        ("workload", series.workload.to_string()),
        ("branch", series.branch.to_string()),
        ("arch", series.arch.to_string()),
        ("distro", series.distro.to_string()),
    ]
}

/// Keys in as many lists as it takes to keep each request short, with `most` of them at most.
fn in_requests(keys: BTreeSet<MetricKey>, most: usize) -> Vec<Vec<MetricKey>> {
    let mut requests: Vec<Vec<MetricKey>> = Vec::new();
    let mut length = 0;
    for key in keys {
        // A byte takes up to three in an address, and each key has its name before it.
        let bytes = key.as_str().len() * 3 + "&metric_key=".len();
        length += bytes;
        match requests.last_mut() {
            Some(request) if length <= KEYS_A_REQUEST && request.len() < most => request.push(key),
            _ => {
                length = bytes;
                requests.push(vec![key]);
            }
        }
    }
    requests
}

/// The points that count, by metric and by run: what comes twice counts once.
pub(super) struct Windows<'a> {
    pipeline: &'a Pipeline,
    repo: Option<&'a Repo>,
    metrics: BTreeMap<MetricName, (bool, BTreeMap<i64, HistoryPoint>)>,
    /// Runs that do not count, each with the reason.
    left_out: BTreeMap<i64, LeftOutRun>,
}

impl<'a> Windows<'a> {
    pub(super) fn new(pipeline: &'a Pipeline, repo: Option<&'a Repo>) -> Self {
        Self {
            pipeline,
            repo,
            metrics: BTreeMap::new(),
            left_out: BTreeMap::new(),
        }
    }

    /// Fetches the windows of the metrics that `query` names. A page in which no window is whole and which
    /// another one follows ended early, as the service had examined enough runs for one request.
    async fn add_named(
        &mut self,
        client: &Client,
        series: &Series,
        mut query: Vec<(&'static str, String)>,
        limit: u32,
    ) -> anyhow::Result<()> {
        for _ in 0..MOST_PAGES {
            let mut page = page_of(client, series, &query).await?;
            let is_whole = |metric: &MetricPoints| {
                u32::try_from(metric.points.len()).is_ok_and(|n| n >= limit)
            };
            let ended_early = !page.metrics.iter().any(is_whole);
            let next = page.next.take();
            self.add(page)?;
            let Some(cursor) = next.filter(|_| ended_early) else {
                break;
            };
            query.retain(|(name, _)| *name != "cursor");
            query.push(("cursor", cursor));
        }
        Ok(())
    }

    /// Takes what belongs in a window: live runs that were merged and succeeded. A run that is there
    /// twice must be the same: of two services' runs of one number, one would be lost.
    pub(super) fn add(&mut self, answer: HistoryAnswer) -> anyhow::Result<()> {
        let sets: Vec<Arc<Parameters>> = answer.parameter_sets.into_iter().map(Arc::new).collect();
        let into_point = |point| into_point(point, &sets);
        for metric in answer.metrics {
            let name = MetricName {
                metric_key: metric.metric_key,
                dim_key: metric.dim_key,
            };
            let mut counted = Vec::with_capacity(metric.points.len());
            for point in metric.points {
                match self.reason_against(&point) {
                    None => counted.push(point),
                    Some(why) => {
                        self.left_out.entry(point.run_id).or_insert(LeftOutRun {
                            run_id: point.run_id,
                            run_date: point.run_date,
                            commit: point.commit_sha,
                            why,
                        });
                    }
                }
            }
            let (_, points) = self
                .metrics
                .entry(name.clone())
                .or_insert_with(|| (metric.wallclock, BTreeMap::new()));
            for point in counted.into_iter().map(into_point) {
                match points.entry(point.run_id) {
                    Entry::Vacant(place) => {
                        place.insert(point);
                    }
                    Entry::Occupied(known) => anyhow::ensure!(
                        *known.get() == point,
                        "the history has two values of {} for run {}, which differ; give what one \
                         service answered at one time",
                        tame(name.metric_key.as_str()),
                        point.run_id
                    ),
                }
            }
        }
        Ok(())
    }

    /// Why a point does not count; `None` where it does.
    fn reason_against(&self, point: &PointBody) -> Option<LeftOut> {
        if !point.succeeded {
            return Some(LeftOut::Failed);
        }
        if !point.tag.as_str().is_empty() {
            return Some(LeftOut::Reference(point.tag.to_string()));
        }
        if self.repo.is_some_and(|repo| point.repo != *repo) {
            return Some(LeftOut::OtherRepo(point.repo.clone()));
        }
        (point.pipeline != *self.pipeline).then(|| LeftOut::OtherPipeline(point.pipeline.clone()))
    }

    /// The series itself, where its runs are of other repositories: it has runs, and is not young.
    fn other_repos(&self, series: &Series) -> Option<Nearby> {
        let mut repos: Vec<Repo> = self
            .left_out
            .values()
            .filter_map(|run| match &run.why {
                LeftOut::OtherRepo(repo) => Some(repo.clone()),
                _ => None,
            })
            .collect();
        repos.sort();
        repos.dedup();
        let found: Vec<&str> = repos.iter().map(Repo::as_str).collect();
        let differs = format!("repo {}, not {}", found.join(", "), self.repo?);
        (!repos.is_empty()).then(|| Nearby {
            series: series.clone(),
            differs: vec![differs],
            repos: repos.clone(),
            is_slip: true,
        })
    }

    /// The metrics of the document with fewer points than a whole window, and the class of hosts
    /// that theirs must be of.
    fn short(
        &self,
        candidate: &Candidate,
        limit: u32,
    ) -> BTreeMap<Option<HostClass>, BTreeSet<MetricKey>> {
        let mut short: BTreeMap<Option<HostClass>, BTreeSet<MetricKey>> = BTreeMap::new();
        for metric in &candidate.metrics {
            let host_class = metric.wallclock.then(|| candidate.host_class.clone());
            let of_class = |point: &&HistoryPoint| {
                host_class
                    .as_ref()
                    .is_none_or(|class| point.host_class == *class)
            };
            let points = self
                .metrics
                .get(&metric.name)
                .map_or(0, |(_, points)| points.values().filter(of_class).count());
            if u32::try_from(points).is_ok_and(|points| points < limit) {
                let keys = short.entry(host_class).or_default();
                keys.insert(metric.name.metric_key.clone());
            }
        }
        short
    }

    /// Takes saved histories, which are all of one series.
    pub(super) fn add_files(&mut self, files: &[PathBuf]) -> anyhow::Result<Series> {
        let mut series: Option<Series> = None;
        for path in files {
            for answer in read_answers(path)? {
                let wanted = series.get_or_insert_with(|| answer.series.clone());
                anyhow::ensure!(
                    *wanted == answer.series,
                    "{} is the history of {}, and another file is of {wanted}",
                    shown::path(path),
                    answer.series
                );
                self.add(answer)?;
            }
        }
        series.context("the history is empty")
    }

    pub(super) fn into_history(self) -> History {
        let metrics = self.metrics.into_iter();
        let metrics = metrics.map(|(name, (wallclock, points))| MetricHistory {
            name,
            wallclock,
            points: points.into_values().collect(),
        });
        History {
            metrics: metrics.collect(),
            left_out: self.left_out.into_values().collect(),
            nearby: Vec::new(),
        }
    }
}

/// The point of a run whose parameters are one of `sets`. Runs that an older version stored have none,
/// and count as if theirs were those of the candidate.
fn into_point(point: PointBody, sets: &[Arc<Parameters>]) -> HistoryPoint {
    let set = point.parameter_set.and_then(|place| sets.get(place));
    HistoryPoint {
        run_id: point.run_id,
        run_date: point.run_date,
        commit: point.commit_sha,
        host_class: point.host_class,
        parameters: set.cloned(),
        value: point.value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_short_and_hold_every_key_once() {
        let key = |number: usize| format!("k.{number:070}").parse::<MetricKey>().unwrap();
        let keys: BTreeSet<MetricKey> = (0..1000).map(key).collect();
        for most in [1, 7, 1000] {
            let requests = in_requests(keys.clone(), most);
            let length =
                |keys: &Vec<MetricKey>| keys.iter().map(|key| key.as_str().len()).sum::<usize>();
            assert!(
                requests
                    .iter()
                    .all(|keys| keys.len() <= most && length(keys) <= KEYS_A_REQUEST)
            );
            let all: Vec<MetricKey> = requests.into_iter().flatten().collect();
            assert!(all.iter().eq(keys.iter()));
        }
    }
}
