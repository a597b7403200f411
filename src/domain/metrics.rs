//! The numbers of a run.

use std::ops::Deref;

use serde::Serialize;

use super::{Metric, MetricName};

/// The most metrics that one run may have.
pub const MAX_METRICS: usize = 10_000;

/// The numbers of a run or a document: ordered by name, each name once, [`MAX_METRICS`] at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Metrics(Vec<Metric>);

/// Why metrics are not those of one run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricsError {
    /// More than [`MAX_METRICS`].
    #[error("must have at most {MAX_METRICS} metrics, has {0}")]
    TooMany(usize),
    /// One of two values would be lost.
    #[error("`{}` with dimension `{}` stands there twice", .0.metric_key, .0.dim_key)]
    Twice(MetricName),
}

impl Metrics {
    /// Orders the metrics.
    ///
    /// # Errors
    /// If there are too many, or two of one name.
    pub fn new(mut metrics: Vec<Metric>) -> Result<Self, MetricsError> {
        if metrics.len() > MAX_METRICS {
            return Err(MetricsError::TooMany(metrics.len()));
        }
        metrics.sort_by(|a, b| a.name.cmp(&b.name));
        let twice = metrics
            .windows(2)
            .find(|pair| pair[0].name == pair[1].name)
            .map(|pair| pair[0].name.clone());
        match twice {
            Some(name) => Err(MetricsError::Twice(name)),
            None => Ok(Self(metrics)),
        }
    }

    /// The metrics, ordered by name.
    pub fn into_vec(self) -> Vec<Metric> {
        self.0
    }
}

impl Deref for Metrics {
    type Target = [Metric];

    fn deref(&self) -> &[Metric] {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Metrics {
    type Item = &'a Metric;
    type IntoIter = std::slice::Iter<'a, Metric>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn metric(key: &str) -> Metric {
        Metric {
            name: MetricName {
                metric_key: key.parse().unwrap(),
                dim_key: super::super::DimKey::scalar(),
            },
            value: super::super::Value::ZERO,
            wallclock: false,
        }
    }

    proptest! {
        #[test]
        fn what_exists_is_ordered_and_has_each_name_once(keys in prop::collection::vec("[a-c]{1,2}", 0..8)) {
            let distinct: std::collections::BTreeSet<&str> = keys.iter().map(String::as_str).collect();
            let made = Metrics::new(keys.iter().map(|key| metric(key)).collect());
            match made {
                Ok(metrics) => {
                    let names: Vec<&str> = metrics.iter().map(|m| m.name.metric_key.as_str()).collect();
                    prop_assert_eq!(names, Vec::from_iter(distinct));
                }
                Err(error) => {
                    prop_assert!(matches!(error, MetricsError::Twice(_)));
                    prop_assert!(distinct.len() < keys.len());
                }
            }
        }
    }

    #[test]
    fn their_number_is_bounded() {
        let many = |count: usize| (0..count).map(|n| metric(&n.to_string())).collect();
        assert!(Metrics::new(many(MAX_METRICS)).is_ok());
        let error = Metrics::new(many(MAX_METRICS + 1));
        assert_eq!(error, Err(MetricsError::TooMany(10_001)));
    }
}
