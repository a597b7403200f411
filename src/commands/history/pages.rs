//! The pages of a history, one after the other.

use std::collections::{BTreeMap, HashSet};

use crate::api::{HistoryAnswer, MetricPoints};
use crate::client::{Answer, Client, ClientError, Window};
use crate::domain::{DimKey, MetricKey};

/// A question and the place that was reached in its answer.
pub(in crate::commands) struct Pages<'a> {
    client: &'a Client,
    window: Window,
    query: Vec<(&'static str, String)>,
    /// The cursors that were followed.
    followed: HashSet<String>,
}

impl<'a> Pages<'a> {
    pub(in crate::commands) fn new(
        client: &'a Client,
        window: Window,
        query: Vec<(&'static str, String)>,
    ) -> Self {
        Self {
            client,
            window,
            query,
            followed: HashSet::new(),
        }
    }

    pub(in crate::commands) async fn first(&self) -> Result<Answer<HistoryAnswer>, ClientError> {
        self.client.window(self.window, &self.query).await
    }

    /// The page that starts at `cursor`.
    pub(in crate::commands) async fn after(
        &mut self,
        cursor: String,
    ) -> anyhow::Result<Answer<HistoryAnswer>> {
        anyhow::ensure!(
            self.followed.insert(cursor.clone()),
            "the answer has no end: a page leads back to one that was read before; check --server \
             (PERF_TRACKING_URL), and the proxies in front of the service"
        );
        self.query.retain(|(name, _)| *name != "cursor");
        self.query.push(("cursor", cursor));
        Ok(self.client.window(self.window, &self.query).await?)
    }

    /// `first` and all that follows it as one answer, without a `next`.
    pub(in crate::commands) async fn rest_of(
        &mut self,
        first: HistoryAnswer,
    ) -> anyhow::Result<HistoryAnswer> {
        let mut next = first.next;
        let mut metrics = BTreeMap::new();
        add(&mut metrics, first.metrics);
        while let Some(cursor) = next {
            let page = self.after(cursor).await?.content;
            add(&mut metrics, page.metrics);
            next = page.next;
        }
        Ok(HistoryAnswer {
            series: first.series,
            metrics: metrics.into_values().collect(),
            next: None,
        })
    }
}

/// A page's points go behind those of the pages before, which are newer.
fn add(metrics: &mut BTreeMap<(MetricKey, DimKey), MetricPoints>, page: Vec<MetricPoints>) {
    for metric in page {
        let name = (metric.metric_key.clone(), metric.dim_key.clone());
        match metrics.get_mut(&name) {
            Some(known) => known.points.extend(metric.points),
            None => {
                metrics.insert(name, metric);
            }
        }
    }
}
