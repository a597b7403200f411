//! The board: what every metric of every series comes to, kept between requests.
//!
//! The store's catalogue tells which series have a run that the board does not know. Only these are read and
//! summed up again, so a request costs as much as has changed since the one before. A board is bounded in
//! metrics, and one request waits for it for a bounded time: what is not summed up yet is shown with its newest
//! value, and the work goes on behind the answer.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::source::{Listed, Source};
use super::trace::{Beside, Moved, Trace, live};
use crate::api::MetricPoints;
use crate::domain::{MetricName, Repo, RunDate, Series};
use crate::judge::drift::{Drift, Status};
use crate::judge::{Level, Unit, Worse};
use crate::store::{NewestValue, SeriesFilter, SeriesSummary};

/// Metrics of a board.
pub const MOST_METRICS: usize = 20_000;

/// Points of each metric that are looked at.
const POINTS: usize = 100;

/// Points of one series that are read at once.
const POINTS_A_SERIES: usize = 50_000;

/// Points of a sparkline.
const SPARK: usize = 60;

/// After this time, series are read again even if nothing tells of a change: another service can have
/// taken back a run without one.
const OLDEST: Duration = Duration::from_secs(600);

/// All that the overview and the list of changes show.
#[derive(Default)]
pub struct Board {
    pub(super) rows: Vec<Arc<Row>>,
    /// Whether the store has more metrics than a board holds.
    pub(super) more: bool,
    /// Series that are not summed up yet.
    pub(super) pending: usize,
    /// The version of the source that the board shows.
    version: Option<u64>,
}

/// One metric of one series in one repository.
pub(super) struct Row {
    pub(super) repo: Option<Repo>,
    pub(super) series: Series,
    pub(super) name: MetricName,
    pub(super) unit: Unit,
    pub(super) worse: Worse,
    pub(super) newest: Option<NewestValue>,
    /// `None` until the metric is summed up, or where no promoted run has it of late.
    pub(super) sums: Option<Sums>,
    /// The text that a filter looks in, in lower case.
    pub(super) text: String,
}

/// What the newest points of a metric come to.
pub(super) struct Sums {
    pub(super) value: f64,
    pub(super) exact: String,
    pub(super) date: RunDate,
    pub(super) beside: Beside,
    pub(super) spark: Vec<f32>,
    pub(super) drift: Status,
    pub(super) drift_percent: Option<f64>,
    pub(super) moved: Vec<Moved>,
}

/// What is known of a series, and of which state of it.
struct Known {
    print: Print,
    read: Instant,
    rows: Vec<Arc<Row>>,
}

/// Differs when a series has gained or lost a run.
#[derive(Clone, PartialEq, Eq)]
struct Print {
    run_count: i64,
    last: RunDate,
    newest: Vec<(MetricName, Option<i64>)>,
}

impl Print {
    fn of(summary: &SeriesSummary) -> Self {
        let newest = summary.metrics.iter();
        Self {
            run_count: summary.run_count,
            last: summary.last_run_date,
            newest: newest
                .map(|metric| {
                    (
                        metric.name.clone(),
                        metric.newest.map(|newest| newest.run_id),
                    )
                })
                .collect(),
        }
    }
}

/// The board of a source, and what it is made of.
#[derive(Clone, Default)]
pub struct Boards(Arc<Shared>);

#[derive(Default)]
struct Shared {
    current: Mutex<Arc<Board>>,
    /// Held by the one who reads.
    known: tokio::sync::Mutex<HashMap<Series, Known>>,
}

impl Boards {
    /// The board as it is now, however old.
    pub fn current(&self) -> Arc<Board> {
        Arc::clone(
            &self
                .0
                .current
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Brings the board up to date: reads each series that has changed, and shows what it comes to.
    ///
    /// Series are read one after another, by one reader at a time. `version` is what the source said
    /// before; a reader who finds that another one has come so far has nothing to do.
    ///
    /// # Errors
    /// Why the source has no answer. What was read until then is shown.
    pub async fn refresh<S: Source>(&self, source: &S, version: u64) -> Result<(), S::Error> {
        let mut known = self.0.known.lock().await;
        if self.current().is_of(version) {
            return Ok(());
        }
        let listed = source
            .series(&SeriesFilter::default(), MOST_METRICS)
            .await?;
        let names: HashSet<&Series> = listed.series.iter().map(|one| &one.series).collect();
        known.retain(|series, _| names.contains(series));
        let stale: Vec<&SeriesSummary> = listed
            .series
            .iter()
            .filter(|summary| {
                known
                    .get(&summary.series)
                    .is_none_or(|known| !known.is(summary))
            })
            .collect();
        let mut shown = Instant::now();
        for (index, summary) in stale.iter().enumerate() {
            let entry = read(source, summary).await?;
            known.insert(summary.series.clone(), entry);
            let pending = stale.len() - index - 1;
            if pending > 0 && shown.elapsed() > Duration::from_millis(250) {
                self.show(Board::new(&known, &listed, pending, None));
                shown = Instant::now();
            }
        }
        self.show(Board::new(&known, &listed, 0, Some(version)));
        Ok(())
    }

    fn show(&self, board: Board) {
        *self
            .0
            .current
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(board);
    }
}

impl Known {
    fn is(&self, summary: &SeriesSummary) -> bool {
        self.read.elapsed() < OLDEST && self.print == Print::of(summary)
    }
}

impl Board {
    fn new(
        known: &HashMap<Series, Known>,
        listed: &Listed,
        pending: usize,
        version: Option<u64>,
    ) -> Self {
        let mut rows = Vec::new();
        for summary in &listed.series {
            match known.get(&summary.series) {
                Some(known) => rows.extend(known.rows.iter().cloned()),
                None => rows.extend(bare(summary).map(Arc::new)),
            }
        }
        Self {
            rows,
            more: listed.more,
            pending,
            version,
        }
    }

    /// Whether it shows everything that the source had at `version`.
    pub fn is_of(&self, version: u64) -> bool {
        self.version == Some(version)
    }

    /// The series and metrics of the board, each once: what a static site has a page for.
    pub fn metrics(&self) -> impl Iterator<Item = (&Series, &MetricName)> {
        self.rows.iter().map(|row| (&row.series, &row.name))
    }
}

/// Reads a series, and sums up its metrics on a thread that may take its time.
async fn read<S: Source>(source: &S, summary: &SeriesSummary) -> Result<Known, S::Error> {
    let metrics = summary.metrics.len().max(1);
    let limit = (POINTS_A_SERIES / metrics).clamp(2, POINTS);
    let found = source.history(&live(&summary.series, None, limit)).await?;
    let summary = summary.clone();
    let work = move || sum_up(&summary, found);
    let rows = tokio::task::spawn_blocking(work).await;
    let (print, rows) = rows.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    Ok(Known {
        print,
        read: Instant::now(),
        rows: rows.into_iter().map(Arc::new).collect(),
    })
}

fn sum_up(summary: &SeriesSummary, found: Vec<MetricPoints>) -> (Print, Vec<Row>) {
    let several = summary.repos.len() > 1;
    let mut rows = Vec::new();
    let mut found: HashMap<MetricName, MetricPoints> = found
        .into_iter()
        .map(|metric| {
            let name = MetricName {
                metric_key: metric.metric_key.clone(),
                dim_key: metric.dim_key.clone(),
            };
            (name, metric)
        })
        .collect();
    for mut row in bare(summary) {
        let Some(points) = found.remove(&row.name) else {
            rows.push(row);
            continue;
        };
        let traces = Trace::by_repo(points);
        if !several {
            row.sums = traces
                .into_values()
                .next()
                .and_then(|trace| sums(&row.series, &trace));
            rows.push(row);
            continue;
        }
        for (repo, trace) in traces {
            let sums = sums(&row.series, &trace);
            rows.push(Row::new(
                summary,
                row.name.clone(),
                row.newest,
                Some(repo),
                sums,
            ));
        }
    }
    (Print::of(summary), rows)
}

/// The metrics of a series with nothing but their newest values.
fn bare(summary: &SeriesSummary) -> impl Iterator<Item = Row> {
    let repo = summary.repos.first();
    summary.metrics.iter().map(move |metric| {
        Row::new(
            summary,
            metric.name.clone(),
            metric.newest,
            repo.cloned(),
            None,
        )
    })
}

impl Row {
    fn new(
        summary: &SeriesSummary,
        name: MetricName,
        newest: Option<NewestValue>,
        repo: Option<Repo>,
        sums: Option<Sums>,
    ) -> Self {
        let known = crate::judge::metrics::known(name.metric_key.as_str());
        let series = summary.series.clone();
        let text = format!(
            "{} {} {} {} {} {} {}",
            repo.as_ref().map_or("", Repo::as_str),
            series.workload,
            series.branch,
            series.arch,
            series.distro,
            name.metric_key,
            name.dim_key,
        );
        Self {
            repo,
            series,
            unit: known.unit,
            worse: known.worse,
            newest,
            sums,
            text: text.to_lowercase(),
            name,
        }
    }

    /// By how many percent the metric moved: the newest value beside the last 20, or the newest change
    /// point. What lies within its noise counts a hundredth.
    pub(super) fn movement(&self) -> f64 {
        let Some(sums) = &self.sums else {
            return -1.0;
        };
        let newest = sums.beside.percent[1].unwrap_or_default().abs();
        let newest = match sums.beside.level {
            Level::Within => newest / 100.0,
            _ => newest,
        };
        let step = sums.moved.last().and_then(|moved| moved.percent);
        newest.max(step.unwrap_or_default().abs())
    }
}

fn sums(series: &Series, trace: &Trace) -> Option<Sums> {
    let newest = trace.points.last()?;
    let Drift {
        status,
        trend,
        steps,
        ..
    } = trace.drift(POINTS);
    // A fit of levels makes a staircase of a drift; the judge of drift knows which steps are real.
    let mut moved = trace.moved(series, POINTS);
    moved.truncate(steps.len());
    let from = trace.points.len().saturating_sub(SPARK);
    Some(Sums {
        value: newest.value.to_f64(),
        exact: newest.value.to_string(),
        date: newest.run_date,
        beside: trace.beside()?,
        spark: trace.points[from..]
            .iter()
            .map(|point| point.value.to_f64() as f32)
            .collect(),
        drift: status,
        drift_percent: trend.and_then(|trend| trend.fitted_percent),
        moved,
    })
}
