//! The whole history of a series, as `gate replay` and `gate calibrate` take it.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::history;
use crate::client::{Client, Window};
use crate::commands::flags::ClientArgs;
use crate::commands::history::pages::Pages;
use crate::domain::{Arch, Branch, Distro, Pipeline, Repo, Series, Workload};
use crate::judge::History;

/// Points of a metric in one page.
const PAGE: u32 = 1_000;

#[derive(Args, Debug)]
#[command(next_help_heading = "The series")]
pub(super) struct SeriesHistoryArgs {
    /// File with a saved history instead of a service; repeatable
    ///
    /// What `perf-tracking history --all --format json` prints. Nothing is fetched.
    #[arg(long, value_name = "FILE")]
    pub(super) history: Vec<PathBuf>,

    /// What was run
    #[arg(long, value_name = "NAME", required_unless_present = "history")]
    workload: Option<Workload>,
    /// The branch
    #[arg(long, value_name = "NAME", required_unless_present = "history")]
    branch: Option<Branch>,
    /// The processor architecture
    #[arg(long, value_name = "NAME", required_unless_present = "history")]
    arch: Option<Arch>,
    /// The distribution
    #[arg(long, value_name = "NAME", required_unless_present = "history")]
    distro: Option<Distro>,

    /// Only the runs of this repository
    #[arg(long, value_name = "NAME")]
    repo: Option<Repo>,

    /// Runs that this pipeline uploaded; what has merged
    #[arg(long, value_name = "NAME", default_value = "promote")]
    pipeline: Pipeline,

    #[command(flatten)]
    client: ClientArgs,
}

impl SeriesHistoryArgs {
    /// The series and all its runs.
    pub(super) fn read(self) -> anyhow::Result<(Series, History)> {
        let mut windows = history::Windows::new(&self.pipeline, self.repo.as_ref());
        if !self.history.is_empty() {
            let series = windows.add_files(&self.history)?;
            return Ok((series, windows.into_history()));
        }
        let series = Series {
            workload: self.workload.context("--workload is missing")?,
            branch: self.branch.context("--branch is missing")?,
            arch: self.arch.context("--arch is missing")?,
            distro: self.distro.context("--distro is missing")?,
        };
        let client = crate::commands::client::open(self.client)?;
        let mut query = history::query(&series, self.repo.as_ref(), &self.pipeline);
        query.push(("limit", PAGE.to_string()));
        let fetched = fetch(&client, query);
        let answer = crate::commands::runtime()?.block_on(fetched)?;
        anyhow::ensure!(
            answer.series == series,
            "the service answered with the history of another series"
        );
        windows.add(answer)?;
        Ok((series, windows.into_history()))
    }
}

async fn fetch(
    client: &Client,
    query: Vec<(&'static str, String)>,
) -> anyhow::Result<crate::api::HistoryAnswer> {
    let mut pages = Pages::new(client, Window::History, query);
    let first = pages.first().await?.content;
    pages.rest_of(first).await
}
