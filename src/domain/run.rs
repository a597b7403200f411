//! One measurement of one commit.

use std::collections::HashSet;
use std::ops::Deref;
use std::str::FromStr;

use serde::Serialize;

use super::document::read_parameters;
use super::name::check_new;
use super::{
    Change, CommitSha, CommitSubject, DimKey, Faults, HostClass, Identity, JsonText, MAX_METRICS,
    Metric, MetricName, Metrics, MetricsError, NameError, Parameters, Patchset, Pipeline, Repo,
    RunDate, Series, Tag,
};
use crate::read::{Fields, Node, Notes, Place, boolean, number, parsed, text_with};

/// One measurement of one commit, whole and valid.
///
/// Its fields can be read through [`RunContent`] and changed by nobody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Run(RunContent);

/// What a run consists of. [`Run::new`] makes a run of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunContent {
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
    /// The first line of the commit's message. It describes the commit, so two runs that differ in
    /// it alone have the same content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<CommitSubject>,
    /// What the workload was told; numbers of other parameters are other numbers.
    #[serde(skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// The numbers, at least one where the run succeeded.
    pub metrics: Metrics,
}

/// A run or a document that succeeded without a number, which would pass any judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must have at least one metric when the run succeeded")]
pub struct NoMetrics;

impl NoMetrics {
    /// Whether a run with this outcome may have these metrics.
    pub(super) fn check(succeeded: bool, metrics: &Metrics) -> Result<(), Self> {
        if succeeded && metrics.is_empty() {
            return Err(Self);
        }
        Ok(())
    }
}

impl Deref for Run {
    type Target = RunContent;

    fn deref(&self) -> &RunContent {
        &self.0
    }
}

impl Run {
    /// The run that consists of `content`.
    ///
    /// # Errors
    /// If it succeeded and has no metric.
    pub fn new(content: RunContent) -> Result<Self, NoMetrics> {
        NoMetrics::check(content.succeeded, &content.metrics)?;
        Ok(Self(content))
    }

    /// A run of a document, which keeps the same rules.
    pub(super) fn of_document(content: RunContent) -> Self {
        Self(content)
    }

    /// Reads a run out of a JSON body.
    ///
    /// # Errors
    /// Every fault of the body at once, each with its JSON pointer.
    pub fn parse(body: JsonText<'_>) -> Result<Self, Faults> {
        body.read(|node, notes| Self::read(node, notes, Age::New))
    }

    /// Reads a run as the service lists it: with its `run_id` and who uploaded or voided it, which
    /// are no part of the run.
    ///
    /// # Errors
    /// As [`Run::parse`].
    pub fn parse_listed(body: JsonText<'_>) -> Result<Self, Faults> {
        body.read(|node, notes| Self::read(node, notes, Age::Stored))
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
    fn read(body: Node<'_>, notes: &Notes<'_>, age: Age) -> Option<Self> {
        let known = match age {
            Age::New => &LISTED_FIELDS[LISTED..],
            Age::Stored => &LISTED_FIELDS,
        };
        let fields = Fields::of(body, Place::ROOT, notes, known)?;
        let workload = fields.needed("workload", |node| name(node, age));
        let repo = fields.needed("repo", |node| name(node, age));
        let branch = fields.needed("branch", |node| name(node, age));
        let commit_sha = fields.needed("commit_sha", parsed);
        let change = fields.optional("change", |node| name(node, age));
        let patchset = fields.optional("patchset", |node| name(node, age));
        let pipeline = fields.needed("pipeline", |node| name(node, age));
        let distro = fields.needed("distro", |node| name(node, age));
        let arch = fields.needed("arch", |node| name(node, age));
        let host_class = fields.needed("host_class", |node| name(node, age));
        let tag = fields.optional("tag", |node| name(node, age));
        let run_date = fields.needed("run_date", parsed);
        let succeeded = fields.needed("succeeded", boolean);
        let subject = fields.optional("subject", |node| name(node, age));
        let parameters = match fields.has("parameters") {
            true => read_parameters(&fields),
            false => Some(Parameters::new()),
        };
        let metrics = read_metrics(&fields, succeeded, age);
        let content = RunContent {
            series: Series {
                workload: workload?,
                branch: branch?,
                arch: arch?,
                distro: distro?,
            },
            repo: repo?,
            commit_sha: commit_sha?,
            change,
            patchset,
            pipeline: pipeline?,
            host_class: host_class?,
            tag: tag.unwrap_or_else(Tag::live),
            run_date: run_date?,
            succeeded: succeeded?,
            subject,
            parameters: parameters?,
            metrics: metrics?,
        };
        // A fault that was noted keeps the run from its reader in any case.
        Self::new(content).ok()
    }
}

/// Whether what is read is new to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    New,
    /// Read back from the store, which may hold names that are no longer taken.
    Stored,
}

/// Reads a name.
pub(super) fn name<T: FromStr<Err = NameError>>(node: Node<'_>, age: Age) -> Result<T, String> {
    text_with(|text| {
        let name = text.parse()?;
        if age == Age::New {
            check_new(text)?;
        }
        Ok::<T, NameError>(name)
    })(node)
}

/// What the service tells of a run beside its own fields.
const LISTED: usize = 5;

/// The fields of a run in a list. All but the first [`LISTED`] are the fields of a run.
const LISTED_FIELDS: [&str; 21] = [
    "run_id",
    "uploaded_by",
    "token_id",
    "uploaded_at",
    "voided",
    "workload",
    "repo",
    "branch",
    "commit_sha",
    "change",
    "patchset",
    "pipeline",
    "distro",
    "arch",
    "host_class",
    "tag",
    "run_date",
    "succeeded",
    "subject",
    "parameters",
    "metrics",
];

/// The fields of a metric.
const METRIC_FIELDS: [&str; 4] = ["metric_key", "dim_key", "value", "wallclock"];

/// The metrics of a run or a document: each name once, and at least one where it succeeded.
pub(super) fn read_metrics(
    fields: &Fields<'_, '_>,
    succeeded: Option<bool>,
    age: Age,
) -> Option<Metrics> {
    fields.check_there("metrics");
    // Counted first, so that a list that is too long is one fault and not ten thousand.
    let count = fields.count("metrics")?;
    if count > MAX_METRICS {
        fields.fault("metrics", MetricsError::TooMany(count));
        return None;
    }
    if count == 0 && succeeded == Some(true) {
        fields.fault("metrics", NoMetrics);
    }
    let mut metrics: Vec<Metric> = Vec::with_capacity(count);
    let mut names = HashSet::with_capacity(count);
    fields.each("metrics", |item, place, notes| {
        let Some(metric) = read_metric(item, place, notes, age) else {
            return;
        };
        if !names.insert(metric.name.clone()) {
            let MetricName {
                metric_key,
                dim_key,
            } = &metric.name;
            let detail = format!("`{metric_key}` with dimension `{dim_key}` stands here twice");
            notes.add(&place, detail);
        }
        metrics.push(metric);
    });
    Metrics::new(metrics).ok()
}

fn read_metric(item: Node<'_>, place: Place<'_>, notes: &Notes<'_>, age: Age) -> Option<Metric> {
    let fields = Fields::of(item, place, notes, &METRIC_FIELDS)?;
    let metric_key = fields.needed("metric_key", |node| name(node, age));
    let dim_key = fields.optional("dim_key", |node| name(node, age));
    let value = fields.needed("value", number);
    let wallclock = fields.optional("wallclock", boolean);
    Some(Metric {
        name: MetricName {
            metric_key: metric_key?,
            dim_key: dim_key.unwrap_or_else(DimKey::scalar),
        },
        value: value?,
        wallclock: wallclock.unwrap_or(false),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

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

    fn parse(body: Json) -> Result<Run, Faults> {
        Run::parse(JsonText::parse(body.to_string().as_bytes()).unwrap())
    }

    fn faults(change: impl FnOnce(&mut Json)) -> Vec<String> {
        let mut body = body();
        change(&mut body);
        let faults = parse(body).expect_err("the body does not fit");
        faults.lines().collect()
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
                "/a~1b~0c: is not a field of this object",
                "/workload: must not be empty",
                "/commit_sha: must be 40 hexadecimal digits, the whole name of a commit",
                "/arch: is missing",
                "/succeeded: must be true or false, is a string",
                "/metrics/0/value: must be a number, is a string",
                "/metrics/1/colour: is not a field of this object",
                "/metrics/1/value: has no four-decimal form within one part in ten thousand; choose a smaller unit",
                "/metrics/2: must be an object, is a number",
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
