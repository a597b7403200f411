//! The names of tables and columns, as the migrations spell them.

use sea_query::Iden;

/// One row a run.
#[derive(Clone, Copy, Iden)]
pub(super) enum Runs {
    Table,
    RunId,
    Workload,
    Repo,
    Branch,
    CommitSha,
    Change,
    Patchset,
    Pipeline,
    Distro,
    Arch,
    HostClass,
    Tag,
    RunDate,
    Succeeded,
}

/// One row a number.
#[derive(Clone, Copy, Iden)]
pub(super) enum Metrics {
    Table,
    RunId,
    MetricKey,
    DimKey,
    Value,
    Wallclock,
}

/// One row for each repository of a series.
#[derive(Clone, Copy, Iden)]
pub(super) enum SeriesRepos {
    Table,
    Workload,
    Branch,
    Arch,
    Distro,
    Repo,
    RunCount,
}

/// One row for each metric that a series ever had.
#[derive(Clone, Copy, Iden)]
pub(super) enum SeriesMetrics {
    Table,
    Workload,
    Branch,
    Arch,
    Distro,
    MetricKey,
    DimKey,
    RunId,
    RunDate,
    Value,
    Wallclock,
    FirstRunDate,
    LastRunDate,
}

/// One row for each reference run. Its columns have the names that they have in [`Runs`].
#[derive(Clone, Copy, Iden)]
pub(super) enum ReferenceRuns {
    Table,
    RunId,
    Workload,
    Branch,
    Arch,
    Distro,
    Tag,
    RunDate,
}
