//! The candidate's numbers as OpenMetrics text, which GitLab compares between a change and its
//! target (`artifacts:reports:metrics`).
//!
//! One family, and the metric's name as a label: two names of ours that differ in a dot alone would
//! be one name there.

use super::Verdict;

/// The report. Only what the document has stands in it: a number that is gone is none.
pub fn openmetrics(verdict: &Verdict<'_>) -> String {
    let mut text = String::from(
        "# TYPE perf_tracking_metric gauge\n\
         # HELP perf_tracking_metric A metric of the measured commit.\n",
    );
    for metric in &verdict.judgement.metrics {
        let Some(value) = metric.candidate else {
            continue;
        };
        let key = label_text(metric.name.metric_key.as_str());
        let dim = match metric.name.dim_key.as_str() {
            "" => String::new(),
            dim => format!(",dim=\"{}\"", label_text(dim)),
        };
        text += &format!("perf_tracking_metric{{metric=\"{key}\"{dim}}} {value}\n");
    }
    text + "# EOF\n"
}

/// A label's value, as the format and that of Prometheus have it. Names hold no line ends.
pub(crate) fn label_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_ends_where_its_text_does() {
        assert_eq!(label_text(r#"a"b\c"#), r#"a\"b\\c"#);
    }
}
