//! Where the pages find their runs.

use std::future::Future;

use crate::api::{HistoryAnswer, MetricPoints, RunBody};
use crate::store::{
    HistoryQuery, RunId, RunQuery, SeriesFilter, SeriesQuery, SeriesSummary, Store, StoreError,
};

/// Answers the questions of the pages: the store itself, or a client of a service.
///
/// A question has a bound of its own, and an implementation follows cursors up to it.
pub trait Source: Send + Sync {
    /// Why there is no answer.
    type Error: std::error::Error + Send + Sync + 'static;

    /// A number that differs once runs were stored or taken back. It need not notice what another
    /// service does with a run that is stored already.
    fn version(&self) -> impl Future<Output = Result<u64, Self::Error>> + Send;

    /// The series that `filter` lets pass, in order, with up to `most_metrics` metrics together.
    fn series(
        &self,
        filter: &SeriesFilter,
        most_metrics: usize,
    ) -> impl Future<Output = Result<Listed, Self::Error>> + Send;

    /// The newest points of metrics, as `query` asks for them; its `after` is `None`.
    fn history(
        &self,
        query: &HistoryQuery,
    ) -> impl Future<Output = Result<Vec<MetricPoints>, Self::Error>> + Send;

    /// The runs that `query` asks for, up to its limit, without metrics.
    fn runs(
        &self,
        query: &RunQuery,
    ) -> impl Future<Output = Result<Vec<RunBody>, Self::Error>> + Send;

    /// The same with their metrics.
    fn whole_runs(
        &self,
        query: &RunQuery,
    ) -> impl Future<Output = Result<Vec<RunBody>, Self::Error>> + Send;

    /// The run of this id with its metrics, voided or not; `None` where there is none.
    fn run(&self, id: RunId) -> impl Future<Output = Result<Option<RunBody>, Self::Error>> + Send;
}

/// Series and their metrics.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// The series, each once.
    pub series: Vec<SeriesSummary>,
    /// Whether there are more metrics than were asked for.
    pub more: bool,
}

/// Series of one page of the store's list.
const SERIES_A_PAGE: usize = 1_000;

/// Pages of a list that one question follows. A request of the store examines a bounded number of rows,
/// so a page may be short.
const PAGES: usize = 32;

/// A question's future holds statements and rows, and stands inside those of a page: on the heap it takes no stack.
impl Source for Store {
    type Error = StoreError;

    async fn version(&self) -> Result<u64, StoreError> {
        Self::version(self).await
    }

    async fn series(
        &self,
        filter: &SeriesFilter,
        most_metrics: usize,
    ) -> Result<Listed, StoreError> {
        let mut query = SeriesQuery {
            filter: filter.clone(),
            after: None,
            limit: SERIES_A_PAGE,
        };
        let mut listed = Listed::default();
        let mut metrics = 0;
        for _ in 0..PAGES {
            let page = Box::pin(Self::series(self, &query)).await?;
            for summary in page.series {
                metrics += summary.metrics.len();
                listed.add(summary);
            }
            query.after = page.next;
            if query.after.is_none() || metrics >= most_metrics {
                break;
            }
        }
        listed.more = query.after.is_some();
        Ok(listed)
    }

    async fn history(&self, query: &HistoryQuery) -> Result<Vec<MetricPoints>, StoreError> {
        let mut query = query.clone();
        let mut found: Vec<MetricPoints> = Vec::new();
        for _ in 0..PAGES {
            let history = Box::pin(Self::history(self, &query)).await?;
            let answer = HistoryAnswer::new(query.series.clone(), history.metrics, None);
            for metric in answer.metrics {
                add_points(&mut found, metric);
            }
            query.after = history.next;
            if query.after.is_none() || found.iter().any(|one| one.points.len() >= query.limit) {
                break;
            }
        }
        for metric in &mut found {
            metric.points.truncate(query.limit);
        }
        Ok(found)
    }

    async fn runs(&self, query: &RunQuery) -> Result<Vec<RunBody>, StoreError> {
        let mut query = query.clone();
        let mut found = Vec::new();
        for _ in 0..PAGES {
            let page = Box::pin(Self::runs(self, &query)).await?;
            found.extend(page.runs.into_iter().map(RunBody::from));
            query.after = page.next;
            if query.after.is_none() || found.len() >= query.limit {
                break;
            }
        }
        found.truncate(query.limit);
        Ok(found)
    }

    async fn whole_runs(&self, query: &RunQuery) -> Result<Vec<RunBody>, StoreError> {
        let page = Self::whole_runs(self, query).await?;
        Ok(page.runs.into_iter().map(RunBody::from).collect())
    }

    async fn run(&self, id: RunId) -> Result<Option<RunBody>, StoreError> {
        Ok(Box::pin(Self::run(self, id)).await?.map(RunBody::from))
    }
}

impl Listed {
    /// Adds a series, or more metrics of the last one.
    pub fn add(&mut self, summary: SeriesSummary) {
        match self.series.last_mut() {
            Some(last) if last.series == summary.series => last.metrics.extend(summary.metrics),
            _ => self.series.push(summary),
        }
    }
}

/// Adds a page of a metric's points behind those that are known.
fn add_points(found: &mut Vec<MetricPoints>, metric: MetricPoints) {
    let known = found
        .iter_mut()
        .find(|known| known.metric_key == metric.metric_key && known.dim_key == metric.dim_key);
    match known {
        Some(known) => known.points.extend(metric.points),
        None => found.push(metric),
    }
}
