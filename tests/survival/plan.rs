//! The runs that uploaders send: each of them known beforehand, to the last digit.

use serde_json::{Map, Value as Json, json};

/// What the document of a run measures; ordered as the service answers.
const METRICS: [(&str, &str); 9] = [
    ("callgrind.estimated_cycles", ""),
    ("callgrind.global_bus_events", ""),
    ("callgrind.ir", ""),
    ("massif.peak_heap_bytes", ""),
    ("size.text", "bin/server"),
    ("size.text", "lib/client.so"),
    ("sysbench.latency_ms", "p=95"),
    ("sysbench.tps", "threads=1"),
    ("sysbench.tps", "threads=16"),
];

/// One run: the `number`th of one uploader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Planned {
    pub(crate) uploader: u32,
    pub(crate) number: u32,
}

/// How a run is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// By one client.
    Alone,
    /// By two clients at the same moment.
    Twice,
    /// First as a run that failed, then as its rerun that succeeded.
    AfterFailure,
}

impl Planned {
    pub(crate) fn manner(self) -> Manner {
        match self.number % 8 {
            0 | 4 => Manner::Twice,
            6 => Manner::AfterFailure,
            _ => Manner::Alone,
        }
    }

    /// Names the run in every list; a run has it alone.
    pub(crate) fn commit_sha(self) -> String {
        format!("{:020x}{:020x}", self.uploader + 1, self.number + 1)
    }

    /// What is sent of a run that succeeded, and what is answered but for its id.
    pub(crate) fn body(self) -> Map<String, Json> {
        let metrics: Vec<Json> = METRICS
            .iter()
            .zip(1..)
            .map(|((metric_key, dim_key), place)| {
                json!({
                    "metric_key": metric_key,
                    "dim_key": dim_key,
                    "value": self.value(place),
                    "wallclock": metric_key.starts_with("sysbench"),
                })
            })
            .collect();
        self.with(true, metrics)
    }

    /// The run's first try, which failed after a single metric.
    pub(crate) fn failed_body(self) -> Map<String, Json> {
        let metric =
            json!({"metric_key": "callgrind.ir", "dim_key": "", "value": 1, "wallclock": false});
        self.with(false, vec![metric])
    }

    fn with(self, succeeded: bool, metrics: Vec<Json>) -> Map<String, Json> {
        let body = json!({
            "workload": format!("oltp_{}", self.number % 3),
            "repo": format!("repo-{}", self.uploader % 2),
            "branch": "main",
            "commit_sha": self.commit_sha(),
            "change": format!("change-{}", self.number),
            "patchset": "3",
            "pipeline": "promote",
            "distro": "trixie",
            "arch": "amd64",
            "host_class": "callgrind",
            "tag": "",
            "run_date": format!("2024-05-{:02}T{:02}:{:02}:{:02}Z",
                1 + self.uploader % 28, self.number / 3600 % 24, self.number / 60 % 60, self.number % 60),
            "succeeded": succeeded,
            "metrics": metrics,
        });
        match body {
            Json::Object(body) => body,
            _ => unreachable!("it is written as an object"),
        }
    }

    /// A number that no other run has at any place, with all the digits that a column keeps.
    fn value(self, place: u32) -> serde_json::Number {
        let digits = format!("{}{:04}{:06}.{place}371", place, self.uploader, self.number);
        digits.parse().expect("digits are a number")
    }
}

/// How many metrics a run that succeeded has.
pub(crate) fn metrics_a_run() -> usize {
    METRICS.len()
}
