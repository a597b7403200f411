//! Names, dates and runs as pages show them.

use crate::domain::{MetricName, RunDate, Series};

/// The digits of a commit that tell it apart.
pub(super) fn short(commit: &str) -> String {
    commit.chars().take(12).collect()
}

/// The day of a date.
pub(super) fn day(date: RunDate) -> String {
    date.to_string().chars().take(10).collect()
}

/// Day and time to the minute.
pub(super) fn minute(date: RunDate) -> String {
    let text: String = date.to_string().chars().take(16).collect();
    text.replace('T', " ")
}

/// The key and the dimension of a metric.
pub(super) fn metric(name: &MetricName) -> String {
    match name.dim_key.as_str() {
        "" => name.metric_key.to_string(),
        dim => format!("{} {dim}", name.metric_key),
    }
}

/// The parts of a series beside its workload.
pub(super) fn place(series: &Series) -> String {
    format!("{} · {} · {}", series.branch, series.arch, series.distro)
}
