//! The windows: fetched in as few requests as can be, or read from a file.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{Question, document};

use crate::api::{HistoryAnswer, MetricPoints, PointBody};
use crate::client::{Client, Window};
use crate::domain::{HostClass, MetricKey, MetricName, Pipeline, Repo, Series};
use crate::files::input::Input;
use crate::judge::{Candidate, History, HistoryPoint, MetricHistory};
use crate::terminal::shown;
use crate::terminal::tame;

/// Bytes of metric keys in one request, well below what servers and proxies take of an address.
const KEYS_A_REQUEST: usize = 4_000;

/// The most points of a metric that the service answers with.
const MAX_LIMIT: u32 = 10_000;

/// The most points that one request asks for; the service refuses twice as many.
const POINTS_A_REQUEST: u32 = 100_000;

/// Far more than any window takes: half a million points.
const MAX_HISTORY_BYTES: usize = 256 << 20;

/// A history that was saved, and the series that it is of.
pub(super) struct Saved {
    pub(super) series: Series,
    pub(super) history: History,
}

/// Reads saved histories, which are all of the document's series.
pub(super) fn read(files: &[PathBuf], question: &Question<'_>) -> anyhow::Result<Saved> {
    let mut windows = Windows::new(question.pipeline, question.change.repo.as_ref());
    let mut series: Option<Series> = question
        .change
        .branch
        .clone()
        .map(|branch| document::series(question.document, branch));
    for path in files {
        for answer in read_answers(path)? {
            let found = &answer.series;
            let wanted = series
                .get_or_insert_with(|| document::series(question.document, found.branch.clone()));
            anyhow::ensure!(
                wanted == found,
                "{} is the history of {found}, and the document is of {wanted}",
                shown::path(path)
            );
            windows.add(answer.metrics)?;
        }
    }
    let series = series.context("the history is empty")?;
    Ok(Saved {
        series,
        history: windows.into_history(),
    })
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

/// Fetches the windows of `candidate`.
///
/// One request brings every metric of the newest runs, those that the document lacks among them;
/// only where that is a great many points it takes several. A metric that is not in each of these
/// runs is asked for again, by name, if there are older runs; so is a clock's, whose runs must be
/// of one class of hosts.
pub(super) async fn fetch(
    client: &Client,
    candidate: &Candidate,
    question: &Question<'_>,
) -> anyhow::Result<History> {
    let repo = question.change.repo.as_ref();
    let mut windows = Windows::new(question.pipeline, repo);
    // One more than a window takes: the candidate's own run may be among them.
    let largest = question.policy.windows.largest();
    let limit = largest.saturating_add(1).min(MAX_LIMIT);
    let metrics = u32::try_from(candidate.metrics.len()).unwrap_or(u32::MAX);
    let page = limit.min((POINTS_A_REQUEST / metrics.max(1)).max(1));
    let base = query(&candidate.series, repo, question.pipeline);

    let mut next = None;
    for _ in 0..limit.div_ceil(page) {
        let mut query = base.clone();
        query.push(("limit", page.to_string()));
        query.extend(next.map(|cursor| ("cursor", cursor)));
        let newest = page_of(client, &candidate.series, &query).await?;
        windows.add(newest.metrics)?;
        next = newest.next;
        if next.is_none() {
            return Ok(windows.into_history());
        }
    }
    for (host_class, keys) in windows.short(candidate, limit) {
        for keys in in_requests(keys, (POINTS_A_REQUEST / limit) as usize) {
            let mut query = base.clone();
            query.push(("limit", limit.to_string()));
            query.extend(keys.into_iter().map(|key| ("metric_key", key.into())));
            query.extend(
                host_class
                    .iter()
                    .map(|class| ("host_class", class.to_string())),
            );
            windows.add(page_of(client, &candidate.series, &query).await?.metrics)?;
        }
    }
    Ok(windows.into_history())
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
fn query(series: &Series, repo: Option<&Repo>, pipeline: &Pipeline) -> Vec<(&'static str, String)> {
    let mut query = vec![
        ("workload", series.workload.to_string()),
        ("branch", series.branch.to_string()),
        ("arch", series.arch.to_string()),
        ("distro", series.distro.to_string()),
        ("pipeline", pipeline.to_string()),
    ];
    query.extend(repo.map(|repo| ("repo", repo.to_string())));
    query
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
struct Windows<'a> {
    pipeline: &'a Pipeline,
    repo: Option<&'a Repo>,
    metrics: BTreeMap<MetricName, (bool, BTreeMap<i64, HistoryPoint>)>,
}

impl<'a> Windows<'a> {
    fn new(pipeline: &'a Pipeline, repo: Option<&'a Repo>) -> Self {
        Self {
            pipeline,
            repo,
            metrics: BTreeMap::new(),
        }
    }

    /// Takes what belongs in a window: live runs that were merged and succeeded. A run that is there
    /// twice must be the same: of two services' runs of one number, one would be lost.
    fn add(&mut self, metrics: Vec<MetricPoints>) -> anyhow::Result<()> {
        for metric in metrics {
            let name = MetricName {
                metric_key: metric.metric_key,
                dim_key: metric.dim_key,
            };
            let mut counted = metric.points;
            counted.retain(|point| self.counts(point));
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

    fn counts(&self, point: &PointBody) -> bool {
        point.succeeded
            && point.tag.as_str().is_empty()
            && point.pipeline == *self.pipeline
            && self.repo.is_none_or(|repo| point.repo == *repo)
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

    fn into_history(self) -> History {
        let metrics = self.metrics.into_iter();
        let metrics = metrics.map(|(name, (wallclock, points))| MetricHistory {
            name,
            wallclock,
            points: points.into_values().collect(),
        });
        metrics.collect()
    }
}

fn into_point(point: PointBody) -> HistoryPoint {
    HistoryPoint {
        run_id: point.run_id,
        run_date: point.run_date,
        commit: point.commit_sha,
        host_class: point.host_class,
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
