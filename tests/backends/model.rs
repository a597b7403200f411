//! What the service should answer, worked out from the uploads by the plainest means.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use crate::api::{Api, date, run, sha, with};

/// A stored run: its id and what was sent.
pub(crate) struct Stored {
    pub(crate) run_id: i64,
    pub(crate) sent: Json,
}

/// A question about a window; what is absent takes the default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Question {
    pub(crate) params: Vec<(&'static str, String)>,
}

/// Numbers that look random and are the same in every run of the tests.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// One of `0..sides`.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        // Knuth's MMIX generator; its high bits are the good ones.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides as u64).unwrap()
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }
}

/// Runs of one series that differ in all that can be filtered by, with ties in their dates.
pub(crate) fn varied_run(number: u64, dice: &mut Dice) -> Json {
    let mut metrics = Vec::new();
    let names = [
        ("always", ""),
        ("mostly", ""),
        ("rare", ""),
        ("dims", ""),
        ("dims", "threads=1"),
        ("dims", "threads=16"),
        ("other", "threads=1"),
    ];
    for (index, (metric_key, dim_key)) in names.into_iter().enumerate() {
        let (odds, of) = [(1, 1), (9, 10), (1, 8), (1, 2), (2, 3), (1, 5), (1, 3)][index];
        let ended = metric_key == "rare" && number > 30;
        if dice.roll(of) < odds && !ended {
            metrics.push(json!({
                "metric_key": metric_key, "dim_key": dim_key, "value": number * 10 + index as u64,
                "wallclock": dice.roll(4) == 0,
            }));
        }
    }
    let mut fields = json!({
        "run_date": date(dice.roll(40) as u64 * 7), "repo": dice.pick(&["drizzle", "drizzle", "fork"]),
        "host_class": dice.pick(&["callgrind", "callgrind", "metal"]),
        "tag": dice.pick(&["", "", "", "", "baseline", "14.04"]),
        "pipeline": dice.pick(&["promote", "promote", "promote", "nightly"]),
        "succeeded": dice.roll(6) != 0, "metrics": metrics,
    });
    if dice.roll(2) == 0 {
        fields["change"] = json!(format!("c{number}"));
    }
    with(run(number), fields)
}

/// Uploads `count` varied runs.
pub(crate) async fn fill(api: &Api, count: u64) -> Vec<Stored> {
    let mut dice = Dice::new(7);
    let mut stored = Vec::new();
    for number in 0..count {
        let sent = varied_run(number, &mut dice);
        let run_id = api.create(&sent).await;
        stored.push(Stored { run_id, sent });
    }
    stored
}

impl Stored {
    fn text(&self, field: &str) -> &str {
        self.sent[field].as_str().unwrap_or_default()
    }

    fn place(&self) -> (&str, i64) {
        (self.text("run_date"), self.run_id)
    }
}

impl Question {
    fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.params.iter().filter(|(known, _)| *known == name);
        values.next().map(|(_, value)| value.as_str())
    }

    fn all(&self, name: &str) -> BTreeSet<&str> {
        let values = self.params.iter().filter(|(known, _)| *known == name);
        values.map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) fn limit(&self) -> usize {
        self.get("limit").map_or(20, |limit| limit.parse().unwrap())
    }

    /// A question of the kinds that a gate, a dashboard and a person ask.
    pub(crate) fn random(dice: &mut Dice) -> Self {
        let mut params: Vec<(&str, String)> = Vec::new();
        for key in ["always", "mostly", "rare", "dims", "other", "never"] {
            if dice.roll(4) == 0 {
                params.push(("metric_key", key.to_owned()));
            }
        }
        for dim in ["", "threads=1", "threads=16"] {
            if dice.roll(6) == 0 {
                params.push(("dim_key", dim.to_owned()));
            }
        }
        let mut maybe = |name, values: &[&str]| {
            if dice.roll(3) == 0 {
                params.push((name, (*dice.pick(values)).to_owned()));
            }
        };
        maybe("limit", &["1", "2", "3", "5", "10000"]);
        maybe("limit", &["4", "7"]);
        maybe("repo", &["drizzle", "fork", "none"]);
        maybe("host_class", &["callgrind", "metal"]);
        maybe("tag", &["", "*", "baseline", "14.04", "none"]);
        maybe("pipeline", &["*", "promote", "nightly"]);
        maybe("include_failed", &["true", "false"]);
        maybe(
            "since",
            &[
                "2026-01-01T01:10:00Z",
                "2026-01-01T01:09:59.5Z",
                "2026-01-01T03:10:00.25+02:00",
            ],
        );
        maybe(
            "before",
            &[
                "2026-01-01T03:30:00Z",
                "2026-01-01T03:30:00.5Z",
                "2026-01-01T04:12:00+00:00",
            ],
        );
        let mut seen = BTreeSet::new();
        params.retain(|(name, _)| matches!(*name, "metric_key" | "dim_key") || seen.insert(*name));
        Self { params }
    }

    fn passes(&self, run: &Stored, baseline: bool) -> bool {
        let tag = match self.get("tag") {
            Some("*") => true,
            Some(tag) => run.text("tag") == tag,
            None => run.text("tag").is_empty() != baseline,
        };
        let pipeline = match self.get("pipeline") {
            Some("*") => true,
            Some(pipeline) => run.text("pipeline") == pipeline,
            None => baseline || run.text("pipeline") == "promote",
        };
        let equal = |field| self.get(field).is_none_or(|value| run.text(field) == value);
        let second = |name| {
            self.get(name)
                .map(|text| chrono::DateTime::parse_from_rfc3339(text).unwrap())
        };
        let date = chrono::DateTime::parse_from_rfc3339(run.text("run_date")).unwrap();
        tag && pipeline
            && equal("repo")
            && equal("host_class")
            && (run.sent["succeeded"] == json!(true) || self.get("include_failed") == Some("true"))
            && second("since").is_none_or(|since| date >= since)
            && second("before").is_none_or(|before| date < before)
    }

    /// `metrics` of the answer.
    pub(crate) fn answer(&self, stored: &[Stored], baseline: bool) -> Json {
        let mut runs: Vec<&Stored> = stored
            .iter()
            .filter(|run| self.passes(run, baseline))
            .collect();
        runs.sort_by(|a, b| b.place().cmp(&a.place()));
        let (keys, dims) = (self.all("metric_key"), self.all("dim_key"));
        if keys.is_empty() {
            runs.truncate(self.limit());
        }
        let mut metrics: BTreeMap<(String, String), (Json, Vec<Json>)> = BTreeMap::new();
        for run in runs {
            for metric in run.sent["metrics"].as_array().unwrap() {
                let name = ["metric_key", "dim_key"].map(|part| metric[part].as_str().unwrap());
                let wanted = (keys.is_empty() || keys.contains(name[0]))
                    && (dims.is_empty() || dims.contains(name[1]));
                if !wanted {
                    continue;
                }
                let (_, points) = metrics
                    .entry((name[0].to_owned(), name[1].to_owned()))
                    .or_insert_with(|| (metric["wallclock"].clone(), Vec::new()));
                if points.len() < self.limit() {
                    points.push(point(run, &metric["value"]));
                }
            }
        }
        let metrics = metrics.into_iter().map(|((metric_key, dim_key), (wallclock, points))| {
            json!({"metric_key": metric_key, "dim_key": dim_key, "wallclock": wallclock, "points": points})
        });
        json!(metrics.collect::<Vec<_>>())
    }
}

fn point(run: &Stored, value: &Json) -> Json {
    let mut point = json!({"run_id": run.run_id, "value": value, "change": null, "patchset": null});
    for field in [
        "commit_sha",
        "run_date",
        "tag",
        "change",
        "repo",
        "pipeline",
        "host_class",
        "succeeded",
    ] {
        if let Some(sent) = run.sent.get(field) {
            point[field] = sent.clone();
        }
    }
    point
}

/// The ids of the runs of `/v1/runs`, newest first.
pub(crate) fn newest_first(stored: &[Stored], filter: impl Fn(&Json) -> bool) -> Vec<i64> {
    let mut runs: Vec<&Stored> = stored.iter().filter(|run| filter(&run.sent)).collect();
    runs.sort_by(|a, b| b.place().cmp(&a.place()));
    runs.iter().map(|run| run.run_id).collect()
}

/// A run that is added while pages are read, dated before, among or after those that are there.
pub(crate) fn added_run(number: u64, dated: u64) -> Json {
    let metric = |key: &str, dim: &str| json!({"metric_key": key, "dim_key": dim, "value": number});
    let metrics = [
        metric("always", ""),
        metric("rare", ""),
        metric("dims", "threads=16"),
        metric("new", ""),
    ];
    with(
        run(number),
        json!({"commit_sha": sha(number), "run_date": date(dated), "metrics": metrics}),
    )
}
