//! What the commands that look back share: which series and metrics, and their histories.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use clap::Args;

use super::cursors::{Cursors, Query};
use super::gate;
use crate::api::{MetricPoints, PointBody};
use crate::client::{Client, Window};
use crate::domain::{
    Arch, Branch, Distro, HostClass, MetricKey, MetricName, Pipeline, Repo, Series, Tag, Workload,
};
use crate::judge::past::{Past, PastPoint, by_commit};
use crate::judge::{Pattern, Policy};

/// Runs that one request asks for.
const RUNS_A_REQUEST: usize = 200;

/// Which histories.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Which histories (every one that fits)")]
pub(super) struct SelectArgs {
    /// What was run
    #[arg(long, value_name = "NAME")]
    workload: Option<Workload>,
    /// The branch
    #[arg(long, value_name = "NAME")]
    branch: Option<Branch>,
    /// The processor architecture
    #[arg(long, value_name = "NAME")]
    arch: Option<Arch>,
    /// The distribution
    #[arg(long, value_name = "NAME")]
    distro: Option<Distro>,
    /// The repository
    #[arg(long, value_name = "NAME")]
    repo: Option<Repo>,
    /// Metrics by key, such as `callgrind.*`; repeatable [default: all that gate.toml does not ignore]
    #[arg(long = "metric", value_name = "PATTERN", value_parser = Pattern::new)]
    metrics: Vec<Pattern>,
    /// Class of hosts of clock readings [default: that of the newest run]
    #[arg(long, value_name = "NAME")]
    host_class: Option<HostClass>,
    /// Runs that this pipeline uploaded; what has merged
    #[arg(long, value_name = "NAME", default_value = "promote")]
    pipeline: Pipeline,
    /// File with the rules: worse directions, ignored metrics, accepted steps
    ///
    /// Without the flag, gate.toml in this folder if it is there, else the built-in rules.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// A history, and the reference value that it is held against.
pub(super) struct Fetched {
    pub(super) past: Past,
    pub(super) reference: Option<PastPoint>,
}

impl SelectArgs {
    /// The rules.
    ///
    /// # Errors
    /// If the file that is named cannot be read.
    pub(super) fn policy(&self) -> anyhow::Result<Policy> {
        let default = Path::new(gate::DEFAULT_CONFIG);
        match &self.config {
            Some(path) => gate::read_policy(path),
            None if default.exists() => gate::read_policy(default),
            None => Ok(Policy::default()),
        }
    }

    /// The histories of the newest `last` runs of each series, with the newest reference run of
    /// `tag` where one is named.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(super) async fn fetch(
        &self,
        client: &Client,
        policy: &Policy,
        last: usize,
        tag: Option<&Tag>,
    ) -> anyhow::Result<Vec<Fetched>> {
        let mut fetched = Vec::new();
        for series in self.series(client).await? {
            let live = self
                .points(client, &series, Window::History, last, None)
                .await?;
            let mut references = match tag {
                None => Histories::new(),
                Some(tag) => {
                    let tagged = self.points(client, &series, Window::Baseline, 1, Some(tag));
                    self.histories(&series, tagged.await?, policy, 1)
                }
            };
            for (key, past) in self.histories(&series, live, policy, last) {
                let reference = references
                    .remove(&key)
                    .and_then(|mut past| past.points.pop());
                fetched.push(Fetched { past, reference });
            }
        }
        Ok(fetched)
    }

    async fn series(&self, client: &Client) -> anyhow::Result<Vec<Series>> {
        let mut cursors = Cursors::new(given(&[
            ("workload", self.workload.as_ref().map(ToString::to_string)),
            ("branch", self.branch.as_ref().map(ToString::to_string)),
            ("arch", self.arch.as_ref().map(ToString::to_string)),
            ("distro", self.distro.as_ref().map(ToString::to_string)),
            ("repo", self.repo.as_ref().map(ToString::to_string)),
        ]));
        // A series with many metrics stands on several pages.
        let mut found = BTreeSet::new();
        loop {
            let page = client.series(cursors.query()).await?;
            found.extend(page.series.into_iter().map(|body| Series {
                workload: body.workload,
                branch: body.branch,
                arch: body.arch,
                distro: body.distro,
            }));
            match page.next {
                Some(cursor) => cursors.follow(cursor)?,
                None => return Ok(found.into_iter().collect()),
            }
        }
    }

    /// The points of the newest `last` runs of a series, newest first.
    async fn points(
        &self,
        client: &Client,
        series: &Series,
        window: Window,
        last: usize,
        tag: Option<&Tag>,
    ) -> anyhow::Result<Vec<MetricPoints>> {
        let mut cursors = Cursors::new(given(&[
            ("workload", Some(series.workload.to_string())),
            ("branch", Some(series.branch.to_string())),
            ("arch", Some(series.arch.to_string())),
            ("distro", Some(series.distro.to_string())),
            ("limit", Some(last.min(RUNS_A_REQUEST).to_string())),
            ("repo", self.repo.as_ref().map(ToString::to_string)),
            ("tag", tag.map(ToString::to_string)),
            ("pipeline", tag.is_none().then(|| self.pipeline.to_string())),
        ]));
        let mut metrics: BTreeMap<(MetricKey, String), MetricPoints> = BTreeMap::new();
        let mut runs = HashSet::new();
        loop {
            let page = client.window(window, cursors.query()).await?.content;
            for mut metric in page.metrics {
                runs.extend(metric.points.iter().map(|point| point.run_id));
                let key = (metric.metric_key.clone(), metric.dim_key.to_string());
                match metrics.get_mut(&key) {
                    Some(known) => known.points.append(&mut metric.points),
                    None => drop(metrics.insert(key, metric)),
                }
            }
            match page.next {
                Some(cursor) if runs.len() < last => cursors.follow(cursor)?,
                _ => return Ok(metrics.into_values().collect()),
            }
        }
    }

    /// The points that count, by repository and metric.
    fn histories(
        &self,
        series: &Series,
        metrics: Vec<MetricPoints>,
        policy: &Policy,
        last: usize,
    ) -> Histories {
        let mut histories = Histories::new();
        for metric in metrics {
            let name = MetricName {
                metric_key: metric.metric_key,
                dim_key: metric.dim_key,
            };
            if !self.wants(&name, policy) {
                continue;
            }
            let mut by_repo: BTreeMap<Repo, Vec<PointBody>> = BTreeMap::new();
            for point in metric.points {
                by_repo.entry(point.repo.clone()).or_default().push(point);
            }
            for (repo, mut points) in by_repo {
                if metric.wallclock {
                    let class = self.host_class.clone();
                    let class = class.or_else(|| Some(points.first()?.host_class.clone()));
                    points.retain(|point| Some(&point.host_class) == class.as_ref());
                }
                // Pages are whole, and may hold more than was asked for.
                points.truncate(last);
                let oldest_first = points.into_iter().rev().map(into_point);
                let past = Past {
                    series: series.clone(),
                    repo: Some(repo.clone()),
                    name: name.clone(),
                    points: by_commit(oldest_first),
                };
                histories.insert((repo, name.clone()), past);
            }
        }
        histories
    }

    fn wants(&self, name: &MetricName, policy: &Policy) -> bool {
        let key = name.metric_key.as_str();
        match self.metrics.as_slice() {
            [] => !policy.rule(name).ignore,
            patterns => patterns.iter().any(|pattern| pattern.matches(key)),
        }
    }
}

type Histories = BTreeMap<(Repo, MetricName), Past>;

/// The parameters that have a value.
fn given(parameters: &[(&'static str, Option<String>)]) -> Query {
    let given = |(name, value): &(&'static str, Option<String>)| Some((*name, value.clone()?));
    parameters.iter().filter_map(given).collect()
}

fn into_point(point: PointBody) -> PastPoint {
    PastPoint {
        run_id: point.run_id,
        commit: point.commit_sha,
        date: point.run_date,
        subject: point.subject.as_ref().map(ToString::to_string),
        value: point.value.to_f64(),
        runs: 1,
    }
}
