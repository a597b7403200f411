//! The gate's own work, without a network: a thousand metrics with windows of twenty.
//!
//! Its own work is the verdict and the table, from values that have been read: under 20 ms. Beside it
//! the judge alone, and a whole process that first reads five megabytes of saved history, which is
//! most of what it does. Prints the median and the best of many runs. `cargo bench --bench gate`
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot go on ends, and there is nobody to tell but its caller"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use perf_tracking::judge::{self, Candidate, History, HistoryPoint, MetricHistory, Policy};
use perf_tracking::report::{self, About, TextForm, Verdict};
use serde_json::json;

const METRICS: usize = 1000;
const RUNS: usize = 21;
const TIMES: usize = 50;
/// A run in the middle of the smaller window, whose values pass once more.
const CANDIDATE: usize = RUNS - 3;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let policy = Policy::default();
    let (candidate, history) = in_memory();
    measure("judge alone", || {
        std::hint::black_box(judge::judge(&policy, &candidate, &history));
    });
    measure("judge and table", || {
        let judgement = judge::judge(&policy, &candidate, &history);
        let about = About {
            series: &candidate.series,
            commit: None,
            config: "gate.toml",
            documents: 1,
        };
        let verdict = Verdict::new(about, &judgement);
        std::hint::black_box(report::text(&verdict, TextForm::default()));
    });
    measure("process with a saved history", || gate(folder.path()));
}

fn measure(what: &str, mut work: impl FnMut()) {
    work();
    let mut times: Vec<Duration> = (0..TIMES)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    println!(
        "{what}: {METRICS} metrics, windows of 5 and 20: median {:.2} ms, best {:.2} ms of {TIMES}",
        milliseconds(times[TIMES / 2]),
        milliseconds(times[0])
    );
}

fn gate(folder: &Path) {
    let status = Command::new(env!("CARGO_BIN_EXE_perf-tracking"))
        .args(["gate", "--document=metrics.json", "--history=history.json"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}

fn key(metric: usize) -> String {
    format!("callgrind.function_{metric:04}")
}

fn value(metric: usize, run: usize) -> usize {
    1_000_000_000 + metric * 1_000 + (run * 7919 + metric) % 997
}

fn commit(run: usize) -> String {
    format!("{run:040x}")
}

fn date(run: usize) -> String {
    format!("2026-11-{:02}T09:00:00Z", run + 1)
}

fn write_files(folder: &Path) {
    let metrics: Vec<_> = (0..METRICS)
        .map(|metric| json!({"metric_key": key(metric), "value": value(metric, CANDIDATE)}))
        .collect();
    let document = json!({
        "format_version": 1, "workload": "perf", "arch": "amd64", "distro": "trixie",
        "host_class": "callgrind", "succeeded": true, "parameters": {}, "metrics": metrics,
    });
    let point = |metric, run| {
        json!({
            "run_id": run, "commit_sha": commit(run), "run_date": date(run),
            "value": value(metric, run), "tag": "", "change": null, "patchset": null,
            "repo": "sample", "pipeline": "promote", "host_class": "callgrind", "succeeded": true,
        })
    };
    let metrics: Vec<_> = (0..METRICS)
        .map(|metric| {
            let points: Vec<_> = (0..RUNS).rev().map(|run| point(metric, run)).collect();
            json!({"metric_key": key(metric), "dim_key": "", "wallclock": false, "points": points})
        })
        .collect();
    let history = json!({
        "series": {"workload": "perf", "branch": "main", "arch": "amd64", "distro": "trixie"},
        "metrics": metrics,
    });
    fs::write(folder.join("gate.toml"), judge::config::DEFAULT_TEXT).unwrap();
    fs::write(folder.join("metrics.json"), document.to_string()).unwrap();
    fs::write(folder.join("history.json"), history.to_string()).unwrap();
}

fn in_memory() -> (Candidate, History) {
    let metric = |metric| perf_tracking::domain::Metric {
        name: perf_tracking::domain::MetricName {
            metric_key: key(metric).parse().unwrap(),
            dim_key: perf_tracking::domain::DimKey::scalar(),
        },
        value: value(metric, CANDIDATE).to_string().parse().unwrap(),
        wallclock: false,
    };
    let candidate = Candidate {
        series: perf_tracking::domain::Series {
            workload: "perf".parse().unwrap(),
            branch: "main".parse().unwrap(),
            arch: "amd64".parse().unwrap(),
            distro: "trixie".parse().unwrap(),
        },
        commit: None,
        base: None,
        host_class: "callgrind".parse().unwrap(),
        succeeded: true,
        parameters: perf_tracking::domain::Parameters::new(),
        metrics: (0..METRICS).map(metric).collect(),
    };
    let point = |metric, run| HistoryPoint {
        run_id: i64::try_from(run).unwrap(),
        run_date: date(run).parse().unwrap(),
        commit: commit(run).parse().unwrap(),
        host_class: "callgrind".parse().unwrap(),
        parameters: None,
        value: value(metric, run).to_string().parse().unwrap(),
    };
    let history = (0..METRICS).map(|metric| MetricHistory {
        name: candidate.metrics[metric].name.clone(),
        wallclock: false,
        points: (0..RUNS).map(|run| point(metric, run)).collect(),
    });
    let history: Vec<MetricHistory> = history.collect();
    (candidate, History::from(history))
}
