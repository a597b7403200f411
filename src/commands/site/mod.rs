//! `perf-tracking site`: the pages of the dashboard as files.

mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use anyhow::Context as _;
use clap::Args;
use regex::Regex;

use super::{Outcome, client};
use crate::commands::flags::ClientArgs;
use crate::dashboard::{
    Boards, ChangesQuery, Context, Frame, Links, MetricQuery, OverviewQuery, Source as _,
    UrlPattern, assets, pages,
};
use crate::domain::Repo;
use crate::files::whole_file;
use crate::store::RunId;
use crate::terminal::shown;
use source::Behind;

/// Write the dashboard as static files, for GitHub Pages, GitLab Pages or an artifact
///
/// Writes the overview, the changes, and a page for each metric and each run that one of these leads to. All
/// links are relative, so the folder can be served from any address, or opened as a file. Files that would not
/// change are left alone. What only a service can answer is left out: comparisons, filters and ranges.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct SiteArgs {
    /// Folder that the files go to; it is made if need be
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    /// Only runs of this repository
    #[arg(long, value_name = "NAME")]
    repo: Option<Repo>,
    /// Address of a commit, with {repo} and {commit}, such as 'https://github.com/{repo}/commit/{commit}'
    #[arg(long, value_name = "PATTERN")]
    commit_url: Option<UrlPattern>,
    /// Address of a change, with {repo}, {change} and {patchset}
    #[arg(long, value_name = "PATTERN")]
    change_url: Option<UrlPattern>,

    #[command(flatten)]
    client: ClientArgs,
}

const EXAMPLES: &str = "\
Examples:
  From the file that a CI keeps:
    perf-tracking site --server sqlite:perf.db --output public

  One project of a service:
    perf-tracking site --server https://perf.example.org --repo owner/project --output public";

impl SiteArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let client = client::open(self.client)?;
        let context = |links| Context {
            links,
            patterns: self
                .commit_url
                .iter()
                .chain(&self.change_url)
                .cloned()
                .collect::<Arc<[_]>>(),
            signed_in: false,
        };
        let source = Behind {
            client: &client,
            repo: self.repo,
        };
        let mut site = Site {
            folder: self.output,
            top: context(Links::Files),
            beside: context(Links::FilesBeside),
            runs: BTreeSet::new(),
            written: 0,
            unchanged: 0,
        };
        super::runtime()?.block_on(site.make(&source))?;
        let Site {
            folder,
            written,
            unchanged,
            ..
        } = site;
        super::print(&format!(
            "{written} files written, {unchanged} unchanged in {}\n",
            shown::path(&folder)
        ))
    }
}

/// A site that is being written.
struct Site {
    folder: PathBuf,
    /// For pages at the top.
    top: Context,
    /// For pages in a folder.
    beside: Context,
    /// Runs that a page leads to.
    runs: BTreeSet<RunId>,
    written: usize,
    unchanged: usize,
}

/// A link to the page of a run.
static RUN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"run/([0-9]+)\.html").ok());

impl Site {
    async fn make(&mut self, source: &Behind<'_>) -> anyhow::Result<()> {
        for asset in assets::ALL {
            self.write(&Links::Files.asset(asset.name), asset.content)?;
        }
        let version = source.version().await?;
        let boards = Boards::default();
        boards.refresh(source, version).await?;
        let board = boards.current();
        self.list(|site, page| {
            let query = |page| OverviewQuery {
                page,
                ..OverviewQuery::default()
            };
            let html = pages::overview(&site.top, &board, &query(page)).html;
            (
                html,
                Links::Files.overview(&query(page)),
                Links::Files.overview(&query(page + 1)),
            )
        })?;
        self.list(|site, page| {
            let query = |page| ChangesQuery {
                page,
                ..ChangesQuery::default()
            };
            let html = pages::changes(&site.top, &board, &query(page)).html;
            (
                html,
                Links::Files.changes(&query(page)),
                Links::Files.changes(&query(page + 1)),
            )
        })?;
        let metrics: BTreeSet<_> = board.metrics().collect();
        for (series, name) in metrics {
            let query = MetricQuery::of(series.clone(), name.clone());
            let page = pages::metric(&self.beside, source, &query).await?;
            self.page(&Links::Files.metric(&query), &page.html)?;
            let frame = Frame::default();
            let chart = pages::chart(source, &query, frame).await?;
            self.write(&Links::Files.chart(&query, frame), &chart)?;
            let badge = pages::badge(source, &query).await?;
            self.write(&Links::Files.badge(&query), &badge)?;
        }
        self.run_pages(source).await
    }

    /// The pages of a list: each leads to the next, and the last does not. `make` gives a page, its file, and
    /// the file of the next page.
    fn list(
        &mut self,
        make: impl Fn(&Self, usize) -> (String, String, String),
    ) -> anyhow::Result<()> {
        for number in 0.. {
            let (html, file, next) = make(self, number);
            self.page(&file, &html)?;
            if !html.contains(&next) {
                break;
            }
        }
        Ok(())
    }

    /// The pages of all runs that other pages lead to, those of runs included.
    async fn run_pages(&mut self, source: &Behind<'_>) -> anyhow::Result<()> {
        let mut done = BTreeSet::new();
        while let Some(id) = self.runs.pop_first() {
            if !done.insert(id) {
                continue;
            }
            if let Some(page) = pages::run(&self.beside, source, id).await? {
                self.page(&Links::Files.run(id), &page.html)?;
            }
            self.runs.retain(|id| !done.contains(id));
        }
        Ok(())
    }

    /// Writes a page, and notes the runs that it leads to.
    fn page(&mut self, file: &str, html: &str) -> anyhow::Result<()> {
        let links = RUN.iter().flat_map(|link| link.captures_iter(html));
        let ids = links.filter_map(|link| link.get(1)?.as_str().parse::<RunId>().ok());
        self.runs.extend(ids);
        self.write(file, html)
    }

    fn write(&mut self, file: &str, text: &str) -> anyhow::Result<()> {
        let path = self.folder.join(file);
        if fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
            self.unchanged += 1;
            return Ok(());
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)
            .with_context(|| format!("the folder {} cannot be made", shown::path(folder)))?;
        whole_file::write(&path, text)?;
        self.written += 1;
        Ok(())
    }
}
