//! The pages of a history, one after the other.

use std::collections::BTreeMap;

use crate::api::{HistoryAnswer, MetricPoints};
use crate::client::{Answer, Client, ClientError, Window};
use crate::commands::cursors::{Cursors, Query};
use crate::domain::{DimKey, MetricKey, Parameters};

/// A question and the place that was reached in its answer.
pub(in crate::commands) struct Pages<'a> {
    client: &'a Client,
    window: Window,
    cursors: Cursors,
}

impl<'a> Pages<'a> {
    pub(in crate::commands) fn new(client: &'a Client, window: Window, query: Query) -> Self {
        Self {
            client,
            window,
            cursors: Cursors::new(query),
        }
    }

    pub(in crate::commands) async fn first(&self) -> Result<Answer<HistoryAnswer>, ClientError> {
        self.client.window(self.window, self.cursors.query()).await
    }

    /// The page that starts at `cursor`.
    pub(in crate::commands) async fn after(
        &mut self,
        cursor: String,
    ) -> anyhow::Result<Answer<HistoryAnswer>> {
        self.cursors.follow(cursor)?;
        Ok(self
            .client
            .window(self.window, self.cursors.query())
            .await?)
    }

    /// `first` and all that follows it as one answer, without a `next`.
    pub(in crate::commands) async fn rest_of(
        &mut self,
        first: HistoryAnswer,
    ) -> anyhow::Result<HistoryAnswer> {
        let series = first.series.clone();
        let mut whole = Whole::default();
        let mut next = first.next.clone();
        whole.add(first);
        while let Some(cursor) = next {
            let page = self.after(cursor).await?.content;
            next = page.next.clone();
            whole.add(page);
        }
        Ok(HistoryAnswer {
            series,
            metrics: whole.metrics.into_values().collect(),
            parameter_sets: whole.parameter_sets,
            next: None,
        })
    }
}

/// Pages put together.
#[derive(Default)]
struct Whole {
    metrics: BTreeMap<(MetricKey, DimKey), MetricPoints>,
    parameter_sets: Vec<Parameters>,
}

impl Whole {
    /// Adds a page, whose sets of parameters may have other places here.
    fn add(&mut self, page: HistoryAnswer) {
        let sets = page.parameter_sets.into_iter();
        let places: Vec<usize> = sets.map(|set| self.place(set)).collect();
        let mut metrics = page.metrics;
        for point in metrics.iter_mut().flat_map(|metric| &mut metric.points) {
            let place = point.parameter_set.and_then(|place| places.get(place));
            point.parameter_set = place.copied();
        }
        add(&mut self.metrics, metrics);
    }

    fn place(&mut self, set: Parameters) -> usize {
        let known = self.parameter_sets.iter().position(|known| *known == set);
        known.unwrap_or_else(|| {
            self.parameter_sets.push(set);
            self.parameter_sets.len() - 1
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
