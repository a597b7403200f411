//! The flags that say which runs a command is about.

use clap::Args;

use super::cursors::{Query, given};
use super::history::{bound, name_or_any};
use crate::domain::{Arch, Branch, CommitSha, Distro, HostClass, Pipeline, Repo, Tag, Workload};

/// What every list and every window can be narrowed by.
#[derive(Args, Debug)]
pub(super) struct CommonFilters {
    /// Runs of this repository
    #[arg(long, value_name = "NAME")]
    repo: Option<Repo>,
    /// Runs of this class of hosts
    #[arg(long, value_name = "NAME")]
    host_class: Option<HostClass>,
    /// Runs on or after this date, such as 2026-11-30 or 2026-11-30T09:00:00Z
    #[arg(long, value_name = "DATE", value_parser = bound)]
    since: Option<String>,
    /// Runs before this date
    #[arg(long, value_name = "DATE", value_parser = bound)]
    before: Option<String>,
}

/// What a list of runs can be narrowed by.
#[derive(Args, Debug)]
#[command(next_help_heading = "Which runs (left out: all)")]
pub(super) struct RunFilters {
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
    /// Runs of this commit
    #[arg(long, value_name = "SHA")]
    commit: Option<CommitSha>,
    #[command(flatten)]
    common: CommonFilters,
    /// Reference runs of this name; '' for live runs, `*` for all
    #[arg(long, value_name = "NAME", value_parser = name_or_any::<Tag>)]
    tag: Option<String>,
    /// Runs that this pipeline uploaded; `*` for any
    #[arg(long, value_name = "NAME", value_parser = name_or_any::<Pipeline>)]
    pipeline: Option<String>,
}

fn text(value: Option<&impl ToString>) -> Option<String> {
    value.map(ToString::to_string)
}

impl CommonFilters {
    /// The parameters, as the service names them.
    pub(super) fn query(&self) -> Query {
        given([
            ("repo", text(self.repo.as_ref())),
            ("host_class", text(self.host_class.as_ref())),
            ("since", self.since.clone()),
            ("before", self.before.clone()),
        ])
        .collect()
    }
}

impl RunFilters {
    /// The parameters, as the service names them.
    pub(super) fn query(&self) -> Query {
        given([
            ("workload", text(self.workload.as_ref())),
            ("branch", text(self.branch.as_ref())),
            ("arch", text(self.arch.as_ref())),
            ("distro", text(self.distro.as_ref())),
            ("commit_sha", text(self.commit.as_ref())),
            ("tag", self.tag.clone()),
            ("pipeline", self.pipeline.clone()),
        ])
        .chain(self.common.query())
        .collect()
    }
}
