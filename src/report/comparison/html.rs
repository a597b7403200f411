//! A verdict as a page that needs no JavaScript and no network.

use std::collections::BTreeMap;

use askama::Template;

use super::strip::{self, Strip, strip};
use super::text::mark;
use super::{Row, Subject, number, place};
use crate::judge::comparison::contract::{Interleave, Mode};
use crate::judge::comparison::record::{SideInfo, SideKind, SideName};
use crate::judge::comparison::verdict::{MetricVerdict, RuleName, Status, WorseDirection};

#[derive(Template)]
#[template(path = "comparison.html")]
struct Page<'a> {
    name: &'a str,
    sha: &'a str,
    mark: &'static str,
    result: &'static str,
    summary: &'a str,
    sides: Vec<SideView<'a>>,
    facts: Vec<(&'static str, String)>,
    settings: &'a BTreeMap<String, String>,
    rejections: Vec<RejectionView<'a>>,
    warnings: &'a [String],
    rejected_cells: Vec<String>,
    cards: Vec<Card>,
    recorded: Vec<[String; 5]>,
    seal: &'a str,
    width: f64,
}

struct SideView<'a> {
    name: &'static str,
    label: &'a str,
    kind: &'static str,
    source: &'a str,
    revision: Option<&'a str>,
    image_digest: Option<&'a str>,
}

struct RejectionView<'a> {
    place: String,
    reason: &'a str,
    output: String,
}

struct Card {
    id: String,
    cell: String,
    metric: String,
    class: &'static str,
    status: &'static str,
    reason: String,
    reference: String,
    candidate: String,
    change: String,
    allowed: String,
    better: &'static str,
    strip: Strip,
    details: Vec<(&'static str, String)>,
    trials: Vec<[String; 3]>,
}

/// The page.
///
/// # Errors
/// If the template cannot be filled in.
pub fn html(subject: &Subject<'_>) -> Result<String, askama::Error> {
    let (record, verdict) = (subject.record, subject.verdict);
    let rejections = verdict.rejections.iter().map(|rejection| RejectionView {
        place: place(rejection),
        reason: &rejection.reason,
        output: rejection.output.join("\n"),
    });
    let page = Page {
        name: &verdict.contract.name,
        sha: verdict.contract.sha256.as_str(),
        mark: mark(verdict.result),
        result: verdict.result.words(),
        summary: &verdict.summary,
        sides: SideName::BOTH
            .map(|name| side(name, verdict.sides.get(name)))
            .into(),
        facts: facts(subject),
        settings: &record.provenance.settings,
        rejections: rejections.collect(),
        warnings: &verdict.warnings,
        rejected_cells: subject
            .rejected_cells()
            .map(|cell| cell.name.to_string())
            .collect(),
        cards: subject
            .worst_first()
            .iter()
            .enumerate()
            .map(|(index, row)| card(subject, row, index))
            .collect(),
        recorded: recorded(subject),
        seal: verdict.record.as_str(),
        width: strip::WIDTH,
    };
    page.render()
}

fn side(name: SideName, info: &SideInfo) -> SideView<'_> {
    SideView {
        name: name.as_str(),
        label: &info.label,
        kind: match info.kind {
            SideKind::Folder => "folder",
            SideKind::Command => "command line",
            SideKind::Image => "container image",
            SideKind::Commit => "commit, built for this comparison",
        },
        source: &info.source,
        revision: info.revision.as_deref(),
        image_digest: info.image_digest.as_deref(),
    }
}

fn facts(subject: &Subject<'_>) -> Vec<(&'static str, String)> {
    let record = subject.record;
    let host = &record.host;
    let bytes = |bytes: u64| number::value("bytes_bytes", bytes as f64);
    let mode = match record.mode {
        Mode::Regression => "regression: a worse performance rejects",
        Mode::Difference => "difference: performance is shown and not gated",
    };
    let order = match record.interleave {
        Interleave::Round => "the sides alternate round by round, each started afresh",
        Interleave::Trial => "both sides stay up and alternate trial by trial",
    };
    vec![
        ("Mode", mode.to_owned()),
        ("Order", format!("{} rounds; {order}", record.rounds)),
        ("Trials", record.trials.len().to_string()),
        ("Begun", record.provenance.started.clone()),
        (
            "Processor",
            format!("{}, {} logical CPUs", host.cpu_model, host.logical_cpus),
        ),
        ("Memory", bytes(host.memory_bytes)),
        ("Free disk", bytes(host.free_disk_bytes)),
        (
            "Kernel",
            format!("{}, {} clock ticks a second", host.kernel, host.clock_ticks),
        ),
        ("Made by", record.provenance.tool.clone()),
    ]
}

fn class(status: Status) -> &'static str {
    match status {
        Status::Rejected | Status::Regressed => "bad",
        Status::Inconclusive | Status::Unstable | Status::MaterialDifference => "unsure",
        Status::Improved => "good",
        Status::Noisy | Status::Within => "plain",
    }
}

fn card(subject: &Subject<'_>, row: &Row<'_>, index: usize) -> Card {
    let metric = row.metric;
    let median = |value: f64| number::value(&metric.name, value);
    Card {
        id: format!("metric-{}", index + 1),
        cell: row.cell.to_string(),
        metric: metric.name.clone(),
        class: class(metric.status),
        status: metric.status.words(),
        reason: metric.reason.clone(),
        reference: median(metric.reference.median.get()),
        candidate: median(metric.candidate.median.get()),
        change: number::change(metric.worse_change),
        allowed: number::share(metric.allowed),
        better: match metric.worse {
            WorseDirection::Higher => "lower is better",
            WorseDirection::Lower => "higher is better",
        },
        strip: strip(subject, row),
        details: details(metric),
        trials: trials(subject, row),
    }
}

fn details(metric: &MetricVerdict) -> Vec<(&'static str, String)> {
    let rule = match metric.rule {
        RuleName::Budget => "budget: medians, a floor, and three times the larger spread",
        RuleName::Randomization => "randomization: medians against what chance would give",
    };
    let mut details = vec![
        ("Rule", rule.to_owned()),
        (
            "Spread of the reference",
            number::share(metric.reference.spread),
        ),
        (
            "Spread of the candidate",
            number::share(metric.candidate.spread),
        ),
        ("Floor", number::share(Some(metric.floor))),
    ];
    if metric.variance.is_some() {
        details.push((
            "Largest spread that can be judged",
            number::share(metric.variance),
        ));
    }
    if let Some(chance) = &metric.randomization {
        let how = match chance.is_exact {
            true => format!("all {} splits of the trials", chance.splits),
            false => format!("{} splits, drawn with a fixed seed", chance.splits),
        };
        details.push((
            "95th percentile of chance",
            number::share(chance.percentile_95),
        ));
        details.push(("Share of chance as large as this", number::p(chance.p)));
        details.push((
            "Counted over",
            format!("{how}; {} distinct differences", chance.distinct),
        ));
    }
    let opinions = &metric.second_opinions;
    let p = |p: Option<_>| p.map(number::p);
    details.extend(p(opinions.mann_whitney_p).map(|p| ("Mann-Whitney, p (decides nothing)", p)));
    details.extend(
        p(opinions.permutation_of_means_p)
            .map(|p| ("Permutation of means, p (decides nothing)", p)),
    );
    details
}

/// Each round with what both sides had.
fn trials(subject: &Subject<'_>, row: &Row<'_>) -> Vec<[String; 3]> {
    let values = |side| -> BTreeMap<u32, f64> {
        let points = subject.record.points(row.cell, &row.metric.name, side);
        points.into_iter().collect()
    };
    let (reference, candidate) = (values(SideName::Reference), values(SideName::Candidate));
    let text = |value: Option<&f64>| {
        value.map_or("-".to_owned(), |value| {
            number::value(&row.metric.name, *value)
        })
    };
    let line = |round: u32| {
        [
            round.to_string(),
            text(reference.get(&round)),
            text(candidate.get(&round)),
        ]
    };
    (1..=subject.record.rounds).map(line).collect()
}

fn recorded(subject: &Subject<'_>) -> Vec<[String; 5]> {
    let cells = subject.verdict.cells.iter();
    let all = cells.flat_map(|cell| cell.recorded.iter().map(move |recorded| (cell, recorded)));
    let line = |(cell, recorded): (
        &crate::judge::comparison::verdict::CellVerdict,
        &crate::judge::comparison::verdict::Recorded,
    )| {
        [
            cell.name.to_string(),
            recorded.name.clone(),
            number::value(&recorded.name, recorded.reference.get()),
            number::value(&recorded.name, recorded.candidate.get()),
            number::change(recorded.change),
        ]
    };
    all.map(line).collect()
}
