//! The metrics of one file while it is read.

use std::collections::HashSet;

use rust_decimal::Decimal;

use super::{Dim, Kind, Reading, Unreadable, long, metric};
use crate::domain::{Metric, MetricName, Value};

/// The metrics of one file, each name once, and what a person must know of them.
#[derive(Debug, Default)]
pub(super) struct MetricList {
    metrics: Vec<Metric>,
    names: HashSet<MetricName>,
    notes: Vec<String>,
}

impl MetricList {
    /// Adds a metric. Its name is shortened where it is too long, and loses its memory addresses.
    ///
    /// # Errors
    /// That the name does not fit, or is there already: one of the two would be lost.
    pub(super) fn add(
        &mut self,
        key: &str,
        dim: &Dim,
        value: Value,
        kind: Kind,
    ) -> Result<(), String> {
        let (key, dim) = self.fitting(key, dim);
        let metric = metric(&key, &dim, value, kind)?;
        if !self.names.insert(metric.name.clone()) {
            let name = shown(&key, &dim);
            return Err(format!(
                "`{name}` stands there twice; keep one, give them two names, or give each run a \
                 file of its own"
            ));
        }
        self.metrics.push(metric);
        Ok(())
    }

    fn fitting(&mut self, key: &str, dim: &Dim) -> (String, Dim) {
        let mut fit = (key.to_owned(), dim.clone());
        if let Some(key) = long::without_addresses(&fit.0) {
            fit.0 = key;
        }
        if let Some(dim) = fit.1.without_addresses() {
            fit.1 = dim;
        }
        if (&fit.0, &fit.1) != (&key.to_owned(), dim) {
            self.note(format!(
                "`{}` holds a memory address, which is another one on every run; it is stored as `{}`",
                shown(key, dim),
                shown(&fit.0, &fit.1)
            ));
        }
        let whole = shown(&fit.0, &fit.1);
        let short = (long::key(&fit.0), fit.1.shortened());
        if short.0.is_none() && short.1.is_none() {
            return fit;
        }
        fit = (short.0.unwrap_or(fit.0), short.1.unwrap_or(fit.1));
        self.note(format!(
            "`{whole}` is too long for a name and is stored as `{}`; give it a shorter name to choose \
             another",
            shown(&fit.0, &fit.1)
        ));
        fit
    }

    /// Tells a person something of the file.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// How many metrics there are.
    pub(super) fn len(&self) -> usize {
        self.metrics.len()
    }

    /// Whether a metric of this name was added.
    pub(super) fn has(&self, key: &str) -> bool {
        self.metrics
            .iter()
            .any(|metric| metric.name.metric_key.as_str() == key)
    }

    /// Whether a metric of this name was added, and is more than zero.
    pub(super) fn is_more_than_zero(&self, key: &str) -> bool {
        self.metrics.iter().any(|metric| {
            metric.name.metric_key.as_str() == key && metric.value.decimal() > Decimal::ZERO
        })
    }

    /// All that was read, under `what` it is.
    ///
    /// # Errors
    /// `nothing`, where no metric was added; the notes say what was left out.
    pub(super) fn finish(self, what: String, nothing: &str) -> Result<Reading, Unreadable> {
        if self.metrics.is_empty() {
            let notes = self.notes.iter().take(3).map(|note| format!("; {note}"));
            let notes: String = notes.collect();
            return Err(Unreadable::whole(format!("{nothing}{notes}")));
        }
        Ok(Reading {
            metrics: self.metrics,
            what,
            notes: self.notes,
        })
    }
}

fn shown(key: &str, dim: &Dim) -> String {
    match dim.to_string() {
        dim if dim.is_empty() => key.to_owned(),
        dim => format!("{key}{{{dim}}}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_there_twice_whatever_it_was_before() {
        let value = "1".parse().unwrap();
        let mut list = MetricList::default();
        let mut add = |key: &str| list.add(key, &Dim::scalar(), value, Kind::Counted);
        add("a at 0x7f3a1c01e40").unwrap();
        let error = add("a at 0x7f3a1c02e40").unwrap_err();
        assert!(error.starts_with("`a` stands there twice"), "{error}");
        add(&format!("tool.{}.a_ns", "x".repeat(80))).unwrap();
        add(&format!("tool.{}.a_ns", "x".repeat(81))).unwrap();
        let reading = list.finish("it".to_owned(), "nothing").unwrap();
        assert_eq!(reading.metrics.len(), 3);
        assert_eq!(reading.notes.len(), 4, "{:?}", reading.notes);
    }

    #[test]
    fn an_empty_list_says_what_was_left_out() {
        let mut list = MetricList::default();
        list.note("`BM` was skipped");
        let error = list
            .finish(String::new(), "holds no benchmark")
            .unwrap_err();
        assert_eq!(error.to_string(), "holds no benchmark; `BM` was skipped");
    }
}
