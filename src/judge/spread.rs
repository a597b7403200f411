//! How far the passes of one measurement lie apart.

use std::collections::BTreeMap;

use super::moments::units;
use crate::domain::{Metric, MetricName, Value};

/// What several passes measured of one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The lowest value.
    pub lowest: Value,
    /// The value in the middle of them in order, the lower of two: one that a pass measured.
    pub middle: Value,
    /// The highest value.
    pub highest: Value,
}

impl Spread {
    /// The spread of `values`, or `None` where there are none.
    pub fn of(mut values: Vec<Value>) -> Option<Self> {
        values.sort_unstable();
        Some(Self {
            lowest: *values.first()?,
            middle: *values.get((values.len() - 1) / 2)?,
            highest: *values.last()?,
        })
    }

    /// How far the highest lies above the lowest, in percent of the lowest; of nothing there is no
    /// percentage.
    pub fn percent(&self) -> Option<f64> {
        let (lowest, highest) = (units(self.lowest), units(self.highest));
        if lowest == highest {
            return Some(0.0);
        }
        (lowest != 0).then(|| (highest - lowest) as f64 / lowest.unsigned_abs() as f64 * 100.0)
    }
}

/// The spread of each metric over passes, in the order of the names.
///
/// # Errors
/// A metric that not every pass has.
pub fn across(passes: &[Vec<Metric>]) -> Result<Vec<(Metric, Spread)>, MetricName> {
    let mut values: BTreeMap<&MetricName, (&Metric, Vec<Value>)> = BTreeMap::new();
    for metric in passes.iter().flatten() {
        let (_, values) = values
            .entry(&metric.name)
            .or_insert_with(|| (metric, Vec::new()));
        values.push(metric.value);
    }
    let spread_of = |(metric, values): (&Metric, Vec<Value>)| {
        let is_whole = values.len() == passes.len();
        let spread = Spread::of(values).filter(|_| is_whole);
        let spread = spread.ok_or_else(|| metric.name.clone())?;
        let metric = Metric {
            value: spread.middle,
            ..metric.clone()
        };
        Ok((metric, spread))
    };
    values.into_values().map(spread_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    fn spread(values: &[&str]) -> Option<(String, String, String, Option<f64>)> {
        let spread = Spread::of(values.iter().map(|text| value(text)).collect())?;
        let Spread {
            lowest,
            middle,
            highest,
        } = spread;
        let texts = [lowest, middle, highest].map(|value| value.to_string());
        let [lowest, middle, highest] = texts;
        Some((lowest, middle, highest, spread.percent()))
    }

    #[test]
    fn the_middle_is_a_value_that_was_measured() {
        for (values, lowest, middle, highest, percent) in [
            (&["3"][..], "3", "3", "3", Some(0.0)),
            (&["4", "2"], "2", "2", "4", Some(100.0)),
            (&["9", "1", "2"], "1", "2", "9", Some(800.0)),
            (&["4", "3", "2", "1"], "1", "2", "4", Some(300.0)),
            (&["0", "0"], "0", "0", "0", Some(0.0)),
            (&["0", "1"], "0", "0", "1", None),
            (&["-2", "-1"], "-2", "-2", "-1", Some(50.0)),
        ] {
            let found = spread(values).unwrap();
            let expected = (lowest.into(), middle.into(), highest.into(), percent);
            assert_eq!(found, expected, "{values:?}");
        }
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn a_metric_that_a_pass_lacks_is_named() {
        let metric = |key: &str, number: &str| Metric {
            name: MetricName {
                metric_key: key.parse().unwrap(),
                dim_key: "".parse().unwrap(),
            },
            value: value(number),
            wallclock: false,
        };
        let first = vec![metric("b", "3"), metric("a", "1")];
        let second = vec![metric("a", "2"), metric("b", "4")];
        let found = across(&[first.clone(), second]).unwrap();
        let found: Vec<String> = found
            .iter()
            .map(|(metric, spread)| {
                format!(
                    "{} {} {}",
                    metric.name.metric_key, metric.value, spread.highest
                )
            })
            .collect();
        assert_eq!(found, ["a 1 2", "b 3 4"]);
        let lacks = across(&[first, vec![metric("a", "1")]]).unwrap_err();
        assert_eq!(lacks.metric_key.to_string(), "b");
    }
}
