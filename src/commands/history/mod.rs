//! `perf-tracking history`: reads windows of a series.

pub(in crate::commands) mod pages;

use std::io;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::cursors::given;
use super::filters::CommonFilters;
use super::{Outcome, client, print};

use crate::api::{DEFAULT_LIMIT, HistoryAnswer, MAX_LIMIT};
use crate::client::{Answer, Window};
use crate::commands::flags::ClientArgs;
use crate::domain::{
    Arch, Branch, DateBound, DimKey, Distro, MetricKey, NameError, Pipeline, RunDateError, Tag,
    Workload, any_or,
};
use crate::report::history::{Csv, text};

use pages::Pages;

/// Read the history of a series: the newest values of its metrics, newest first
///
/// Without more, what merged commits measured: live runs of the pipeline `promote` that ran to
/// their end. A series without such runs is no fault: it is said on standard error, and the exit
/// code is 0.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct HistoryArgs {
    #[command(flatten)]
    series: SeriesArgs,
    #[command(flatten)]
    window: WindowArgs,

    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "table", help_heading = OUTPUT)]
    format: Format,

    #[command(flatten)]
    client: ClientArgs,
}

const OUTPUT: &str = "Output";

#[derive(Args, Debug)]
#[command(next_help_heading = "Series")]
struct SeriesArgs {
    /// What was run
    #[arg(long, value_name = "NAME")]
    workload: Workload,
    /// The branch
    #[arg(long, value_name = "NAME")]
    branch: Branch,
    /// The processor architecture
    #[arg(long, value_name = "NAME")]
    arch: Arch,
    /// The distribution
    #[arg(long, value_name = "NAME")]
    distro: Distro,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "What of it")]
struct WindowArgs {
    /// Metric to read; repeatable [default: every metric of the newest runs]
    #[arg(long = "metric", value_name = "KEY")]
    metrics: Vec<MetricKey>,

    /// Dimension to read, such as `threads=16`; repeatable, only with --metric [default: all]
    #[arg(long = "dim", value_name = "KEY", requires = "metrics")]
    dims: Vec<DimKey>,

    /// The most points of each metric
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = DEFAULT_LIMIT as u64,
        value_parser = clap::value_parser!(u64).range(1..=MAX_LIMIT as u64)
    )]
    limit: u64,

    /// Read on to the end, in pages of --limit points
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    filters: CommonFilters,

    /// Reference runs of this name; `*` for live and reference runs alike [default: live runs, or
    /// with --baseline every reference run]
    #[arg(long, value_name = "NAME", value_parser = name_or_any::<Tag>)]
    tag: Option<String>,

    /// Runs that this pipeline uploaded; `*` for any [default: `promote`, or with --baseline any]
    #[arg(long, value_name = "NAME", value_parser = name_or_any::<Pipeline>)]
    pipeline: Option<String>,

    /// Runs that did not run to their end, too
    #[arg(long)]
    include_failed: bool,

    /// Runs that were voided, too
    #[arg(long)]
    include_voided: bool,

    /// The reference runs instead of the live ones
    #[arg(long)]
    baseline: bool,
}

/// How a history is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One row a point, for people; a column that says nothing is left out.
    Table,
    /// The service's answer, with --all the pages as one.
    Json,
    /// One row a point with all its fields (RFC 4180); with --all, newest first within each page.
    Csv,
}

const EXAMPLES: &str = "\
Examples:
  perf-tracking history --workload perf --branch main --arch amd64 --distro trixie \\
    --metric callgrind.ir

  Everything since a date, for a spreadsheet:
    perf-tracking history --workload perf --branch main --arch amd64 --distro trixie \\
      --since 2026-01-01 --all --limit 1000 --format csv > history.csv";

pub(super) fn run(args: HistoryArgs) -> anyhow::Result<Outcome> {
    let client = client::open(args.client)?;
    let window = if args.window.baseline {
        Window::Baseline
    } else {
        Window::History
    };
    let pages = Pages::new(&client, window, query(&args.series, &args.window));
    super::runtime()?.block_on(show(pages, window, args.window.all, args.format))
}

/// What a history leaves out that is not asked for.
const NARROW: &str = "without more, only live runs of the pipeline `promote` that succeeded count; \
    --pipeline '*', --tag '*' and --include-failed let others in";

async fn show(
    mut pages: Pages<'_>,
    window: Window,
    all: bool,
    format: Format,
) -> anyhow::Result<Outcome> {
    let first = pages.first().await?;
    if is_empty(&first.content) {
        crate::terminal::note(
            "no run fits: the series is not there, or the filters leave nothing of it",
        );
        if window == Window::History {
            crate::terminal::note(NARROW);
        }
    }
    match format {
        Format::Csv => csv(pages, first, all).await,
        Format::Json if !all => print(&format!("{}\n", first.text.trim_end())),
        Format::Json => {
            let whole = pages.rest_of(first.content).await?;
            print(&format!("{}\n", serde_json::to_string(&whole)?))
        }
        Format::Table if all => print(&text(&pages.rest_of(first.content).await?)),
        Format::Table => print(&text(&first.content)),
    }
}

/// Page by page, so that a long history needs little memory and is seen as it comes.
async fn csv(
    mut pages: Pages<'_>,
    first: Answer<HistoryAnswer>,
    all: bool,
) -> anyhow::Result<Outcome> {
    let mut csv = Csv::new(io::stdout())?;
    let mut page = first.content;
    while written(csv.page(&page))? {
        match page.next.take() {
            Some(cursor) if all => page = pages.after(cursor).await?.content,
            _ => break,
        }
    }
    Ok(Outcome::Passed)
}

/// Whether someone still reads; a reader that has had enough (`| head`) is no failure.
fn written(result: csv::Result<()>) -> anyhow::Result<bool> {
    let Err(error) = result else {
        return Ok(true);
    };
    match error.kind() {
        csv::ErrorKind::Io(io) if io.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        _ => Err(error.into()),
    }
}

fn is_empty(answer: &HistoryAnswer) -> bool {
    answer.metrics.iter().all(|metric| metric.points.is_empty())
}

/// The parameters, as the service names them. What has a default there is left to it.
fn query(series: &SeriesArgs, window: &WindowArgs) -> Vec<(&'static str, String)> {
    let mut query = vec![
        ("workload", series.workload.to_string()),
        ("branch", series.branch.to_string()),
        ("arch", series.arch.to_string()),
        ("distro", series.distro.to_string()),
        ("limit", window.limit.to_string()),
    ];
    let metrics = window.metrics.iter();
    query.extend(metrics.map(|key| ("metric_key", key.to_string())));
    query.extend(window.dims.iter().map(|key| ("dim_key", key.to_string())));
    let flag = |is_set: bool| is_set.then(|| "true".to_owned());
    query.extend(window.filters.query());
    query.extend(given([
        ("tag", window.tag.clone()),
        ("pipeline", window.pipeline.clone()),
        ("include_failed", flag(window.include_failed)),
        ("include_voided", flag(window.include_voided)),
    ]));
    query
}

/// A date alone is its first moment in UTC.
pub(super) fn moment(text: &str) -> String {
    match text.len() {
        10 => format!("{text}T00:00:00Z"),
        _ => text.to_owned(),
    }
}

/// A date that parts runs, as it is sent.
pub(super) fn bound(text: &str) -> Result<String, String> {
    let text = moment(text);
    match text.parse::<DateBound>() {
        Ok(_) => Ok(text),
        Err(RunDateError::Format) => Err(
            "must be a date, such as 2026-11-30, or a date and time as in RFC 3339, such as \
             2026-11-30T09:00:00Z"
                .to_owned(),
        ),
        Err(error) => Err(error.to_string()),
    }
}

/// A name, or the wildcard.
pub(super) fn name_or_any<T: FromStr<Err = NameError>>(text: &str) -> Result<String, NameError> {
    any_or::<T>(text)?;
    Ok(text.to_owned())
}
