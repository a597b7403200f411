//! The document as the judge takes it: one, or the medians of several.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::collect;
use crate::domain::{
    Branch, CommitSha, Document, DocumentContent, Metric, MetricName, Metrics, Series, Value,
};
use crate::files::input::Input;
use crate::judge::Candidate;
use crate::terminal::{shown, tame};

/// Reads the documents of one commit, and makes one of them: the median of every metric.
pub(super) fn read(paths: &[PathBuf]) -> anyhow::Result<Document> {
    let (first, others) = paths.split_first().context("--document is missing")?;
    let one = Input::of(first).document()?;
    if others.is_empty() {
        return Ok(one);
    }
    let mut succeeded = one.succeeded;
    let mut values: BTreeMap<MetricName, Vec<Value>> = BTreeMap::new();
    let mut add = |metrics: &[Metric]| {
        for metric in metrics {
            let values = values.entry(metric.name.clone()).or_default();
            values.push(metric.value);
        }
    };
    add(&one.metrics);
    for path in others {
        let other = Input::of(path).document()?;
        check_alike(first, &one, path, &other)?;
        add(&other.metrics);
        succeeded &= other.succeeded;
    }
    let median = |metric: &Metric| {
        let mut values = values.get(&metric.name).cloned().unwrap_or_default();
        let value = collect::median(&mut values);
        let value = value
            .with_context(|| format!("{} has no median", tame(metric.name.metric_key.as_str())))?;
        Ok(Metric {
            value,
            ..metric.clone()
        })
    };
    let medians: anyhow::Result<Vec<Metric>> = one.metrics.iter().map(median).collect();
    let content = DocumentContent {
        metrics: Metrics::new(medians?)?,
        succeeded,
        ..one.into_content()
    };
    Ok(Document::new(content)?)
}

/// Refuses two documents that are not two measurements of the same.
fn check_alike(first: &Path, one: &Document, path: &Path, other: &Document) -> anyhow::Result<()> {
    let named = |document: &Document| {
        let DocumentContent {
            workload,
            arch,
            distro,
            host_class,
            ..
        } = &**document;
        format!("{workload}, {arch}, {distro}, {host_class}")
    };
    let (first, path) = (shown::path(first), shown::path(path));
    anyhow::ensure!(
        named(one) == named(other),
        "{first} and {path} are no documents of one measurement: the one is of {}, the other of {}",
        tame(&named(one)),
        tame(&named(other))
    );
    anyhow::ensure!(
        one.parameters == other.parameters,
        "{first} and {path} were measured with other parameters"
    );
    let names = |document: &Document| -> Vec<MetricName> {
        let mut names: Vec<_> = document.metrics.iter().map(|m| m.name.clone()).collect();
        names.sort();
        names
    };
    let (one, other) = (names(one), names(other));
    let mut lacking = one.iter().filter(|name| !other.contains(name));
    let mut lacked = other.iter().filter(|name| !one.contains(name));
    if let Some(name) = lacking.next().or_else(|| lacked.next()) {
        anyhow::bail!(
            "only one of {first} and {path} has the metric {}",
            tame(name.metric_key.as_str())
        );
    }
    Ok(())
}

/// The series that a document would join on `branch`.
pub(super) fn series(document: &Document, branch: Branch) -> Series {
    Series {
        workload: document.workload.clone(),
        branch,
        arch: document.arch.clone(),
        distro: document.distro.clone(),
    }
}

/// The candidate that a document is.
pub(super) fn candidate(
    document: &Document,
    series: Series,
    commit: Option<CommitSha>,
) -> Candidate {
    Candidate {
        series,
        commit,
        base: None,
        host_class: document.host_class.clone(),
        succeeded: document.succeeded,
        parameters: document.parameters.clone(),
        metrics: document.metrics.to_vec(),
    }
}
