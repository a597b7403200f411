//! `/metrics/latest`: the newest value of each metric of chosen series, for Prometheus.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use super::params::{Params, describe};
use super::problem::{BadQuery, Problem, Refusals, Slug};
use super::rights::CanRead;
use super::{AppState, series};
use crate::domain::{MetricKey, Repo};
use crate::judge::metrics::known;
use crate::report::label_text;
use crate::store::{SeriesFilter, SeriesQuery, SeriesSummary};

/// Samples of an answer: what one Prometheus target should have at most.
const MOST_SAMPLES: usize = 5_000;
/// Series of one page of the store's list.
const SERIES_A_PAGE: usize = 200;
/// Pages that one answer looks at. A page examines a bounded number of series for those that were asked for.
const PAGES: usize = 25;

/// The newest value of each metric of chosen series, as Prometheus text.
///
/// One gauge for each metric of each series, `perf_tracking_latest_value`, with the labels `workload`, `branch`,
/// `arch`, `distro`, `metric`, `dim` and `unit`; and one for each series, `perf_tracking_latest_run_timestamp_seconds`,
/// the date of its newest run. No label holds a commit or a run, so the number of time series does not grow
/// with the number of runs. The values are those of `/v1/series`: of the newest run that succeeded.
///
/// A filter is needed, so that nobody scrapes a whole store by mistake. An answer has five thousand values at most;
/// `perf_tracking_latest_cut` is 1 where there are more, and the filter should be narrower then.
#[utoipa::path(
    get,
    path = "/metrics/latest",
    tag = "operation",
    security(("token" = ["runs:read"])),
    params(LatestParams),
    responses(
        (status = 200, description = "Gauges", body = String, content_type = "text/plain"),
        BadQuery,
        Refusals,
    )
)]
pub(super) async fn latest(
    State(state): State<AppState>,
    _right: CanRead,
    mut params: Params,
) -> Result<Response, Problem> {
    let filter = series::filter(&mut params);
    let metrics: BTreeSet<MetricKey> = params.all("metric_key").into_iter().collect();
    let filter = params.finish(Some(filter))?;
    if is_open(&filter) {
        let detail = "name the series, by at least one of repo, workload, branch, arch and distro";
        return Err(Problem::new(Slug::InvalidRequest, detail));
    }
    let mut query = SeriesQuery {
        filter,
        after: None,
        limit: SERIES_A_PAGE,
    };
    let mut gauges = Gauges::new(metrics);
    for _ in 0..PAGES {
        let page = state.store.series(&query).await?;
        for series in &page.series {
            gauges.add(series);
        }
        query.after = page.next;
        if query.after.is_none() || gauges.is_cut {
            break;
        }
    }
    gauges.is_cut |= query.after.is_some();
    let text = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((text, gauges.text()).into_response())
}

fn is_open(filter: &SeriesFilter) -> bool {
    filter.workload.is_none()
        && filter.branch.is_none()
        && filter.arch.is_none()
        && filter.distro.is_none()
        && filter.repo.is_none()
}

/// The text under way.
struct Gauges {
    /// The metrics that were asked for; none asks for all.
    wanted: BTreeSet<MetricKey>,
    samples: usize,
    values: String,
    dates: String,
    last: Option<String>,
    is_cut: bool,
}

impl Gauges {
    fn new(wanted: BTreeSet<MetricKey>) -> Self {
        Self {
            wanted,
            samples: 0,
            values: String::new(),
            dates: String::new(),
            last: None,
            is_cut: false,
        }
    }

    /// Adds a series, or more metrics of the last one.
    fn add(&mut self, summary: &SeriesSummary) {
        let series = &summary.series;
        let labels = format!(
            "workload=\"{}\",branch=\"{}\",arch=\"{}\",distro=\"{}\"",
            label_text(series.workload.as_str()),
            label_text(series.branch.as_str()),
            label_text(series.arch.as_str()),
            label_text(series.distro.as_str()),
        );
        for metric in &summary.metrics {
            let Some(newest) = metric.newest else {
                continue;
            };
            let key = &metric.name.metric_key;
            if !self.wanted.is_empty() && !self.wanted.contains(key) {
                continue;
            }
            if self.samples == MOST_SAMPLES {
                self.is_cut = true;
                return;
            }
            self.samples += 1;
            // Writing to a string cannot fail.
            let _ = writeln!(
                self.values,
                "perf_tracking_latest_value{{{labels},metric=\"{}\",dim=\"{}\",unit=\"{}\"}} {}",
                label_text(key.as_str()),
                label_text(metric.name.dim_key.as_str()),
                label_text(known(key.as_str()).unit.symbol()),
                newest.value,
            );
        }
        if self.last.as_ref() == Some(&labels) {
            return;
        }
        let _ = writeln!(
            self.dates,
            "perf_tracking_latest_run_timestamp_seconds{{{labels}}} {}",
            summary.last_run_date.timestamp(),
        );
        self.last = Some(labels);
    }

    fn text(self) -> String {
        let Self {
            values,
            dates,
            is_cut,
            ..
        } = self;
        format!(
            "# HELP perf_tracking_latest_value The newest value of a metric, in the unit that its label tells.\n\
             # TYPE perf_tracking_latest_value gauge\n{values}\
             # HELP perf_tracking_latest_run_timestamp_seconds The date of the newest run of a series.\n\
             # TYPE perf_tracking_latest_run_timestamp_seconds gauge\n{dates}\
             # HELP perf_tracking_latest_cut Whether there are more values than one answer has.\n\
             # TYPE perf_tracking_latest_cut gauge\n\
             perf_tracking_latest_cut {}\n",
            u8::from(is_cut)
        )
    }
}

/// The parameters, for the description.
pub(super) struct LatestParams;

impl IntoParams for LatestParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut all: Vec<Parameter> = describe::series().into();
        all.push(describe::of_type::<Repo>(
            "repo",
            "Series that have a run of this repository.",
        ));
        all.push(describe::repeatable::<MetricKey>(
            "metric_key",
            "Only these metrics.",
        ));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{MetricName, RunDate, Series};
    use crate::store::SeriesMetric;

    fn date() -> RunDate {
        "2026-11-30T00:00:00Z".parse().unwrap()
    }

    fn summary(workload: &str, keys: impl Iterator<Item = String>) -> SeriesSummary {
        let metric = |key: String| SeriesMetric {
            name: MetricName {
                metric_key: key.parse().unwrap(),
                dim_key: "threads=\"4\"".parse().unwrap(),
            },
            newest: Some(crate::store::NewestValue {
                run_id: 7,
                run_date: date(),
                value: "1.5".parse().unwrap(),
                wallclock: false,
            }),
        };
        SeriesSummary {
            series: Series {
                workload: workload.parse().unwrap(),
                branch: "main".parse().unwrap(),
                arch: "amd64".parse().unwrap(),
                distro: "sid".parse().unwrap(),
            },
            repos: Vec::new(),
            run_count: 1,
            first_run_date: date(),
            last_run_date: date(),
            metrics: keys.map(metric).collect(),
        }
    }

    #[test]
    fn a_hostile_name_stays_inside_its_label() {
        let mut gauges = Gauges::new(BTreeSet::new());
        gauges.add(&summary("a\"} 1\\", ["x.y_bytes".to_owned()].into_iter()));
        let text = gauges.text();
        let expected = r#"perf_tracking_latest_value{workload="a\"} 1\\",branch="main",arch="amd64",distro="sid",metric="x.y_bytes",dim="threads=\"4\"",unit="B"} 1.5"#;
        assert!(text.lines().any(|line| line == expected), "{text}");
    }

    #[test]
    fn an_answer_is_bounded_and_says_so() {
        let mut gauges = Gauges::new(BTreeSet::new());
        gauges.add(&summary("a", (0..MOST_SAMPLES).map(|n| format!("m{n}"))));
        assert!(!gauges.is_cut);
        gauges.add(&summary("b", ["one_more".to_owned()].into_iter()));
        let text = gauges.text();
        assert!(text.contains("perf_tracking_latest_cut 1\n"));
        let count = text.matches("perf_tracking_latest_value{").count();
        assert_eq!(count, MOST_SAMPLES);
    }

    #[test]
    fn a_series_that_goes_on_has_one_date() {
        let mut gauges = Gauges::new(BTreeSet::from(["b".parse().unwrap()]));
        for key in ["a", "b"] {
            gauges.add(&summary("w", [key.to_owned()].into_iter()));
        }
        let text = gauges.text();
        assert_eq!(text.matches("timestamp_seconds{").count(), 1);
        assert_eq!(text.matches("latest_value{").count(), 1);
    }
}
