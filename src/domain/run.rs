//! One measurement of one commit.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value as Json;

use super::{
    Change, CommitSha, DimKey, Fault, Fields, HostClass, Identity, JsonText, Metric, MetricName,
    Patchset, Pipeline, Repo, RunDate, Series, Tag,
};

/// The most metrics that one run may have.
pub const MAX_METRICS: usize = 10_000;

/// One measurement of one commit, whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// The series that it belongs to.
    #[serde(flatten)]
    pub series: Series,
    /// The repository that the commit belongs to; no part of the identity.
    pub repo: Repo,
    /// The commit that was measured.
    pub commit_sha: CommitSha,
    /// The change that the commit came from; `None` for a backfill.
    pub change: Option<Change>,
    /// The patch set of the change.
    pub patchset: Option<Patchset>,
    /// Who uploaded it.
    pub pipeline: Pipeline,
    /// Where it was measured.
    pub host_class: HostClass,
    /// Empty for a live run.
    pub tag: Tag,
    /// Where it stands in history.
    pub run_date: RunDate,
    /// Whether the workload ran to its end. A failed run keeps its place but is no part of a window.
    pub succeeded: bool,
    /// The numbers, ordered by name; each name once.
    pub metrics: Vec<Metric>,
}

impl Run {
    /// Reads a run out of a JSON body.
    ///
    /// # Errors
    /// Every fault of the body at once, each with its JSON pointer.
    pub fn parse(body: &JsonText) -> Result<Self, Vec<Fault>> {
        let mut faults = body.repeated.clone();
        let run = Self::read(&body.content, &mut faults);
        match run {
            Some(run) if faults.is_empty() => Ok(run),
            _ => Err(faults),
        }
    }

    /// What makes this run one of a kind.
    pub fn identity(&self) -> Identity {
        Identity {
            commit_sha: self.commit_sha.clone(),
            series: self.series.clone(),
            tag: self.tag.clone(),
        }
    }

    /// Reads every field before any `?`, so that one bad field does not hide the next.
    fn read(body: &Json, faults: &mut Vec<Fault>) -> Option<Self> {
        let mut fields = Fields::of(body, "", faults)?;
        let workload = fields.text("workload");
        let repo = fields.text("repo");
        let branch = fields.text("branch");
        let commit_sha = fields.text("commit_sha");
        let change = fields.text_option("change");
        let patchset = fields.text_option("patchset");
        let pipeline = fields.text("pipeline");
        let distro = fields.text("distro");
        let arch = fields.text("arch");
        let host_class = fields.text("host_class");
        let tag = fields.text_or("tag", Tag::live());
        let run_date = fields.text("run_date");
        let succeeded = fields.boolean("succeeded");
        let metrics = read_metrics(&mut fields, succeeded);
        fields.finish();
        Some(Self {
            series: Series {
                workload: workload?,
                branch: branch?,
                arch: arch?,
                distro: distro?,
            },
            repo: repo?,
            commit_sha: commit_sha?,
            change: change?,
            patchset: patchset?,
            pipeline: pipeline?,
            host_class: host_class?,
            tag: tag?,
            run_date: run_date?,
            succeeded: succeeded?,
            metrics: metrics?,
        })
    }
}

/// The metrics of a run or a document: each name once, and at least one where it succeeded.
pub(super) fn read_metrics(
    fields: &mut Fields<'_>,
    succeeded: Option<bool>,
) -> Option<Vec<Metric>> {
    let items = fields.list("metrics")?;
    if items.len() > MAX_METRICS {
        let detail = format!(
            "must have at most {MAX_METRICS} metrics, has {}",
            items.len()
        );
        fields.fault("metrics", detail);
        return None;
    }
    if items.is_empty() && succeeded == Some(true) {
        fields.fault(
            "metrics",
            "must have at least one metric when the run succeeded",
        );
    }
    let faults = fields.faults();
    let mut metrics: Vec<Metric> = Vec::with_capacity(items.len());
    let mut names = HashSet::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let pointer = format!("/metrics/{index}");
        let Some(metric) = read_metric(item, &pointer, faults) else {
            continue;
        };
        if !names.insert(metric.name.clone()) {
            let MetricName {
                metric_key,
                dim_key,
            } = &metric.name;
            let detail = format!("`{metric_key}` with dimension `{dim_key}` stands here twice");
            faults.push(Fault::new(pointer, detail));
        }
        metrics.push(metric);
    }
    metrics.sort_by(|a, b| a.name.cmp(&b.name));
    Some(metrics)
}

fn read_metric(item: &Json, pointer: &str, faults: &mut Vec<Fault>) -> Option<Metric> {
    let mut fields = Fields::of(item, pointer, faults)?;
    let metric_key = fields.text("metric_key");
    let dim_key = fields.text_or("dim_key", DimKey::scalar());
    let value = fields.number("value");
    let wallclock = fields.boolean_or("wallclock", false);
    fields.finish();
    Some(Metric {
        name: MetricName {
            metric_key: metric_key?,
            dim_key: dim_key?,
        },
        value: value?,
        wallclock: wallclock?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body() -> Json {
        json!({
            "workload": "perf", "repo": "drizzle", "branch": "main",
            "commit_sha": "0123456789abcdef0123456789abcdef01234567",
            "pipeline": "promote", "distro": "trixie", "arch": "amd64",
            "host_class": "callgrind", "run_date": "2026-11-30T01:02:03Z", "succeeded": true,
            "metrics": [{"metric_key": "callgrind.ir", "value": 1}],
        })
    }

    fn parse(body: Json) -> Result<Run, Vec<Fault>> {
        Run::parse(&body.into())
    }

    fn faults(change: impl FnOnce(&mut Json)) -> Vec<String> {
        let mut body = body();
        change(&mut body);
        let faults = parse(body).expect_err("the body does not fit");
        faults.iter().map(Fault::to_string).collect()
    }

    #[test]
    fn optional_fields_have_their_defaults() {
        let run = parse(body()).unwrap();
        assert_eq!(run.tag, Tag::live());
        assert_eq!(run.change, None);
        assert_eq!(run.metrics[0].name.dim_key, DimKey::scalar());
        assert!(!run.metrics[0].wallclock);
    }

    #[test]
    fn all_faults_come_at_once_each_with_its_pointer() {
        let found = faults(|body| {
            body["workload"] = json!("");
            body["commit_sha"] = json!("abc");
            body["succeeded"] = json!("yes");
            body["a/b~c"] = json!(1);
            body["metrics"] = json!([
                {"metric_key": "x", "value": "1"},
                {"metric_key": "y", "value": 0.00001, "colour": "red"},
                7,
            ]);
            body.as_object_mut().unwrap().remove("arch");
        });
        assert_eq!(
            found,
            [
                "/workload: must not be empty",
                "/commit_sha: must be 40 hexadecimal digits, the whole name of a commit",
                "/arch: is missing",
                "/succeeded: must be true or false, is a string",
                "/metrics/0/value: must be a number, is a string",
                "/metrics/1/value: has no four-decimal form within one part in ten thousand; choose a smaller unit",
                "/metrics/1/colour: is not a field of this object",
                "/metrics/2: must be an object, is a number",
                "/a~1b~0c: is not a field of this object",
            ]
        );
    }

    #[test]
    fn a_metric_stands_once() {
        let found = faults(|body| {
            body["metrics"] = json!([
                {"metric_key": "x", "value": 1},
                {"metric_key": "x", "dim_key": "", "value": 2},
                {"metric_key": "x", "dim_key": "threads=2", "value": 2},
            ]);
        });
        assert_eq!(
            found,
            ["/metrics/1: `x` with dimension `` stands here twice"]
        );
    }

    #[test]
    fn a_succeeded_run_has_a_metric_and_a_failed_one_may_have_none() {
        let found = faults(|body| body["metrics"] = json!([]));
        assert_eq!(found.len(), 1);
        let mut failed = body();
        failed["metrics"] = json!([]);
        failed["succeeded"] = json!(false);
        assert!(parse(failed).unwrap().metrics.is_empty());
    }

    #[test]
    fn too_many_metrics_are_one_fault_not_ten_thousand() {
        let found = faults(|body| body["metrics"] = json!(vec![7; MAX_METRICS + 1]));
        assert_eq!(
            found,
            ["/metrics: must have at most 10000 metrics, has 10001"]
        );
    }

    #[test]
    fn order_of_metrics_is_no_part_of_a_run() {
        let mut one = body();
        one["metrics"] = json!([{"metric_key": "a", "value": 1}, {"metric_key": "b", "value": 2}]);
        let mut other = body();
        other["metrics"] =
            json!([{"metric_key": "b", "value": 2}, {"metric_key": "a", "value": 1.0}]);
        assert_eq!(parse(one), parse(other));
    }
}
