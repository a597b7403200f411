//! What the pages ask, as questions to a service or to the file of a local store.

use std::future::Future;

use crate::api::{MetricPoints, RunBody, SeriesBody};
use crate::client::{Client, ClientError, Window};
use crate::dashboard::{Listed, Source};
use crate::domain::{DateBound, Repo, Series, Tag};
use crate::store::{
    HistoryQuery, NewestValue, RunId, RunQuery, SeriesFilter, SeriesMetric, SeriesSummary,
    TagFilter,
};

/// Points or runs of one request.
const A_REQUEST: usize = 1_000;
/// Requests of one question.
const REQUESTS: usize = 1_000;

/// The runs behind a client, or those of one repository alone.
pub(super) struct Behind<'a> {
    pub(super) client: &'a Client,
    pub(super) repo: Option<Repo>,
}

type Query = Vec<(&'static str, String)>;

impl Source for Behind<'_> {
    type Error = ClientError;

    /// A site is made once, so that nothing is kept that could be old.
    async fn version(&self) -> Result<u64, ClientError> {
        Ok(0)
    }

    async fn series(
        &self,
        filter: &SeriesFilter,
        most_metrics: usize,
    ) -> Result<Listed, ClientError> {
        let mut query = given([
            ("workload", text(filter.workload.as_ref())),
            ("branch", text(filter.branch.as_ref())),
            ("arch", text(filter.arch.as_ref())),
            ("distro", text(filter.distro.as_ref())),
            ("repo", text(filter.repo.as_ref().or(self.repo.as_ref()))),
        ]);
        let mut listed = Listed::default();
        let mut metrics = 0;
        for _ in 0..REQUESTS {
            let page = self.client.series(&query).await?;
            for body in page.series {
                metrics += body.metrics.len();
                listed.add(summary(body));
            }
            listed.more = page.next.is_some();
            let Some(cursor) = page.next.filter(|_| metrics < most_metrics) else {
                break;
            };
            follow(&mut query, cursor);
        }
        Ok(listed)
    }

    async fn history(&self, query: &HistoryQuery) -> Result<Vec<MetricPoints>, ClientError> {
        let window = match &query.tag {
            TagFilter::Is(tag) if *tag == Tag::live() => Window::History,
            _ => Window::Baseline,
        };
        let Series {
            workload,
            branch,
            arch,
            distro,
        } = &query.series;
        let pipeline = query.pipeline.as_ref();
        let mut asked = given([
            ("workload", text(Some(workload))),
            ("branch", text(Some(branch))),
            ("arch", text(Some(arch))),
            ("distro", text(Some(distro))),
            ("limit", text(Some(query.limit.min(A_REQUEST)))),
            ("since", query.since.as_ref().map(date)),
            ("before", query.before.as_ref().map(date)),
            ("repo", text(query.repo.as_ref().or(self.repo.as_ref()))),
            ("host_class", text(query.host_class.as_ref())),
            ("tag", tag(&query.tag)),
            (
                "pipeline",
                Some(pipeline.map_or_else(|| "*".to_owned(), ToString::to_string)),
            ),
            ("include_failed", flag(query.include_failed)),
            ("include_voided", flag(query.include_voided)),
        ]);
        let keys = query.metrics.keys.iter();
        asked.extend(keys.map(|key| ("metric_key", key.to_string())));
        let dims = query.metrics.dims.iter();
        asked.extend(dims.map(|dim| ("dim_key", dim.to_string())));
        let mut found: Vec<MetricPoints> = Vec::new();
        for _ in 0..REQUESTS {
            let page = self.client.window(window, &asked).await?.content;
            for metric in page.metrics {
                add_points(&mut found, metric);
            }
            let is_enough = found.iter().any(|one| one.points.len() >= query.limit);
            let Some(cursor) = page.next.filter(|_| !is_enough) else {
                break;
            };
            follow(&mut asked, cursor);
        }
        for metric in &mut found {
            metric.points.truncate(query.limit);
        }
        Ok(found)
    }

    fn runs(
        &self,
        query: &RunQuery,
    ) -> impl Future<Output = Result<Vec<RunBody>, ClientError>> + Send {
        self.list(query, false)
    }

    fn whole_runs(
        &self,
        query: &RunQuery,
    ) -> impl Future<Output = Result<Vec<RunBody>, ClientError>> + Send {
        self.list(query, true)
    }

    async fn run(&self, id: RunId) -> Result<Option<RunBody>, ClientError> {
        Ok(Some(self.client.run(id).await?.content))
    }
}

impl Behind<'_> {
    async fn list(&self, query: &RunQuery, whole: bool) -> Result<Vec<RunBody>, ClientError> {
        let mut asked = given([
            ("commit_sha", text(query.commit_sha.as_ref())),
            ("workload", text(query.workload.as_ref())),
            ("branch", text(query.branch.as_ref())),
            ("arch", text(query.arch.as_ref())),
            ("distro", text(query.distro.as_ref())),
            ("tag", tag(&query.tag)),
            ("repo", text(query.repo.as_ref().or(self.repo.as_ref()))),
            ("pipeline", text(query.pipeline.as_ref())),
            ("host_class", text(query.host_class.as_ref())),
            ("since", query.since.as_ref().map(date)),
            ("before", query.before.as_ref().map(date)),
            ("succeeded", text(query.succeeded)),
            ("include_voided", flag(query.include_voided)),
            ("metrics", flag(whole)),
            ("limit", text(Some(query.limit.min(A_REQUEST)))),
        ]);
        let mut found = Vec::new();
        for _ in 0..REQUESTS {
            let page = self.client.run_list(&asked).await?.content;
            found.extend(page.runs);
            let Some(cursor) = page.next.filter(|_| found.len() < query.limit) else {
                break;
            };
            follow(&mut asked, cursor);
        }
        found.truncate(query.limit);
        Ok(found)
    }
}

/// Adds a page of a metric's points behind those that are known.
fn add_points(found: &mut Vec<MetricPoints>, metric: MetricPoints) {
    let known = found
        .iter_mut()
        .find(|known| known.metric_key == metric.metric_key && known.dim_key == metric.dim_key);
    match known {
        Some(known) => known.points.extend(metric.points),
        None => found.push(metric),
    }
}

/// What was given of the parameters.
fn given<const N: usize>(all: [(&'static str, Option<String>); N]) -> Query {
    let given = all.into_iter();
    given
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

fn follow(query: &mut Query, cursor: String) {
    query.retain(|(name, _)| *name != "cursor");
    query.push(("cursor", cursor));
}

fn text(value: Option<impl ToString>) -> Option<String> {
    value.map(|value| value.to_string())
}

fn flag(is_set: bool) -> Option<String> {
    is_set.then(|| "true".to_owned())
}

fn date(bound: &DateBound) -> String {
    let first = bound.last_second_before() + chrono::TimeDelta::seconds(1);
    format!("{}Z", first.format("%Y-%m-%dT%H:%M:%S"))
}

/// The parameter; left out where the kind of window says it.
fn tag(filter: &TagFilter) -> Option<String> {
    match filter {
        TagFilter::Any => Some("*".to_owned()),
        TagFilter::Reference => None,
        TagFilter::Is(tag) => Some(tag.to_string()),
    }
}

fn summary(body: SeriesBody) -> SeriesSummary {
    let metric = |metric: crate::api::SeriesMetricBody| {
        let newest = || {
            Some(NewestValue {
                run_id: metric.run_id?,
                run_date: metric.run_date?,
                value: metric.value?,
                wallclock: metric.wallclock?,
            })
        };
        let newest = newest();
        SeriesMetric {
            name: crate::domain::MetricName {
                metric_key: metric.metric_key,
                dim_key: metric.dim_key,
            },
            newest,
        }
    };
    SeriesSummary {
        series: Series {
            workload: body.workload,
            branch: body.branch,
            arch: body.arch,
            distro: body.distro,
        },
        repos: body.repos,
        run_count: body.run_count,
        first_run_date: body.first_run_date,
        last_run_date: body.last_run_date,
        metrics: body.metrics.into_iter().map(metric).collect(),
    }
}
