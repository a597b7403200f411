//! One metric over time: its chart, alone or in a page, and its badge.

use askama::Template;
use chrono::{DateTime, TimeDelta};
use serde::Serialize;

use super::{Context, Difference, Page, Shell, Tab, names, page};
use crate::api::{PointBody, RunBody};
use crate::dashboard::chart::{self, Band, Chart, Counts, Dot, Drawn, Line, Mark, MarkKind, Step};
use crate::dashboard::query::{
    Beside, CompareQuery, Frame, MOST_LINES, MetricQuery, Scale, Side, USUAL_POINTS,
};
use crate::dashboard::source::Source;
use crate::dashboard::trace::{Moved, Trace, expected, is_worse, live};
use crate::domain::{MetricName, Pipeline, RunDate, Series};
use crate::judge::metrics::known;
use crate::judge::{Level, Unit};
use crate::report::number;
use crate::store::{HistoryQuery, RunQuery, SeriesFilter, SeriesSummary, TagFilter};

/// Reference runs that a chart shows.
const REFERENCES: usize = 60;
/// Failed and voided runs that a chart shows.
const FAILED: usize = 200;
/// Points in which changes of the level are looked for.
const MOVED_IN: usize = 2_000;
/// Rows of the table under a chart.
const ROWS: usize = 50;
/// Metrics that the list of other series reads.
const METRICS_BESIDE: usize = 2_000;

#[derive(Template)]
#[template(path = "metric.html")]
struct MetricPage {
    shell: Shell,
    key: String,
    dim: String,
    workload: String,
    place: String,
    wide: String,
    narrow: String,
    points: String,
    left_out: usize,
    whole: Option<String>,
    not_whole: Option<String>,
    legend: Vec<Entry>,
    rows: Vec<Shown>,
    total: usize,
    moved: Vec<ShownMove>,
    controls: Controls,
    chart: String,
    badge: String,
    has_points: bool,
    has_band: bool,
    newest: String,
    twenty: Difference,
}

/// What a reader can choose about the chart, each with the address that chooses it.
struct Controls {
    is_relative: bool,
    linear: String,
    relative: String,
    shows_failed: bool,
    failed: String,
    ranges: Vec<(String, String, bool)>,
    hidden_fields: Vec<(&'static str, String)>,
    since: String,
    before: String,
    zoom_in: Option<String>,
    zoom_out: Option<String>,
    earlier: Option<String>,
    later: Option<String>,
    is_zoomed: bool,
    everything: String,
}

/// A line that can be shown or hidden.
struct Entry {
    label: String,
    class: Option<usize>,
    toggle: String,
}

/// A row of the table.
struct Shown {
    run: String,
    commit: String,
    change: String,
    subject: String,
    date: String,
    tag: String,
    value: String,
    exact: String,
    difference: Difference,
    compare: Option<String>,
}

struct ShownMove {
    run: String,
    day: String,
    commit: String,
    subject: String,
    before: String,
    after: String,
    change: Difference,
    compare: Option<String>,
}

/// A point for the script: what hovering over it tells.
#[derive(Serialize)]
struct Told<'a> {
    at: i64,
    v: f64,
    value: String,
    diff: String,
    commit: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    tag: &'a str,
    date: String,
    run: String,
}

#[derive(Serialize)]
struct ToldLine<'a> {
    label: &'a str,
    class: usize,
    points: Vec<Told<'a>>,
}

/// A series with what was read of it.
struct Read {
    series: Series,
    label: String,
    trace: Trace,
    references: Vec<PointBody>,
    failed: Vec<RunBody>,
    moved: Vec<Moved>,
}

/// All that a chart is drawn from.
struct Reading {
    lines: Vec<Read>,
    others: Vec<SeriesSummary>,
    unit: Unit,
}

impl MetricQuery {
    /// The series that have a line, the first one first.
    fn shown(&self) -> Vec<Series> {
        let own = (!self.hidden).then(|| self.series.clone());
        let beside = self.beside.iter();
        let beside = beside.map(|beside| beside.series(&self.series.workload));
        let mut shown: Vec<Series> = Vec::new();
        for series in own.into_iter().chain(beside) {
            if !shown.contains(&series) && shown.len() < MOST_LINES {
                shown.push(series);
            }
        }
        shown
    }

    fn history(&self, series: &Series) -> HistoryQuery {
        HistoryQuery {
            since: self.since.and_then(bound),
            before: self.before.and_then(bound),
            repo: self.repo.clone(),
            ..live(series, Some(&self.name), self.last)
        }
    }
}

fn bound(date: RunDate) -> Option<crate::domain::DateBound> {
    date.to_string().parse().ok()
}

/// Which other series are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    /// All of the workload, for a legend.
    All,
    /// Those of other distributions, for the boundaries between them.
    Distributions,
}

impl Others {
    fn then_same<T: Clone>(self, name: &T) -> Option<T> {
        (self == Self::Distributions).then(|| name.clone())
    }
}

async fn read<S: Source>(
    source: &S,
    query: &MetricQuery,
    whose: Others,
) -> Result<Reading, S::Error> {
    let filter = SeriesFilter {
        workload: Some(query.series.workload.clone()),
        branch: whose.then_same(&query.series.branch),
        arch: whose.then_same(&query.series.arch),
        ..SeriesFilter::default()
    };
    let mut others = source.series(&filter, METRICS_BESIDE).await?.series;
    others.retain(|other| other.metrics.iter().any(|metric| metric.name == query.name));
    let mut lines = Vec::new();
    for series in query.shown() {
        lines.push(Box::pin(read_line(source, query, series)).await?);
    }
    Ok(Reading {
        lines,
        others,
        unit: known(query.name.metric_key.as_str()).unit,
    })
}

async fn read_line<S: Source>(
    source: &S,
    query: &MetricQuery,
    series: Series,
) -> Result<Read, S::Error> {
    let history = query.history(&series);
    let found = source.history(&history).await?;
    let trace = found.into_iter().next().map(Trace::of);
    let trace = trace.unwrap_or_else(|| Trace {
        name: query.name.clone(),
        points: Vec::new(),
    });
    let references = source
        .history(&HistoryQuery {
            limit: REFERENCES,
            tag: TagFilter::Reference,
            pipeline: None,
            ..history
        })
        .await?;
    let references = references.into_iter().next();
    let failed = match query.failed {
        true => failed(source, query, &series).await?,
        false => Vec::new(),
    };
    let moved = trace.moved(&series, MOVED_IN);
    Ok(Read {
        label: names::place(&series),
        series,
        trace,
        references: references.map(|metric| metric.points).unwrap_or_default(),
        failed,
        moved,
    })
}

/// Runs of a series that failed, those that were taken back among them.
async fn failed<S: Source>(
    source: &S,
    query: &MetricQuery,
    series: &Series,
) -> Result<Vec<RunBody>, S::Error> {
    let runs = RunQuery {
        succeeded: Some(false),
        include_voided: true,
        since: query.since.and_then(bound),
        before: query.before.and_then(bound),
        ..all_runs(series, FAILED)
    };
    source.runs(&runs).await
}

/// The newest runs of a series that were promoted.
pub(super) fn all_runs(series: &Series, limit: usize) -> RunQuery {
    RunQuery {
        workload: Some(series.workload.clone()),
        branch: Some(series.branch.clone()),
        arch: Some(series.arch.clone()),
        distro: Some(series.distro.clone()),
        tag: TagFilter::Is(crate::domain::Tag::live()),
        pipeline: Some(Pipeline::promote()),
        ..RunQuery::newest(limit)
    }
}

fn dot(point: &PointBody) -> Dot {
    Dot {
        at: point.run_date.timestamp(),
        value: point.value.to_f64(),
    }
}

impl Reading {
    fn draw(&self, query: &MetricQuery, frame: Frame) -> Drawn {
        let several = self.lines.len() > 1;
        let lines = self.lines.iter().enumerate();
        let lines = lines.map(|(color, read)| read.line(query.scale, color, !several));
        let mut marks: Vec<Mark> = Vec::new();
        for reference in self.lines.iter().flat_map(|read| &read.references) {
            let mark = Mark {
                at: reference.run_date.timestamp(),
                label: reference.tag.to_string(),
                kind: MarkKind::Tag,
            };
            if !marks.contains(&mark) {
                marks.push(mark);
            }
        }
        marks.extend(self.boundaries());
        let failed = self.lines.iter().flat_map(|read| &read.failed);
        let chart = Chart {
            title: title(&query.name, self.lines.first().map(|read| &read.series)),
            counts: match query.scale {
                Scale::Linear => Counts::Unit(self.unit),
                Scale::Relative => Counts::Percent,
            },
            lines: lines.collect(),
            marks,
            failed: failed.map(|run| run.run_date.timestamp()).collect(),
            whole: query.whole,
            frame,
        };
        chart.draw()
    }

    /// Where a line starts because another distribution came before it.
    fn boundaries(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        for read in &self.lines {
            let own = self.others.iter().find(|other| other.series == read.series);
            let Some(first) = own.map(|own| own.first_run_date) else {
                continue;
            };
            let oldest = read.trace.points.first();
            let has_older = self.others.iter().any(|other| {
                other.series.branch == read.series.branch
                    && other.series.arch == read.series.arch
                    && other.series.distro != read.series.distro
                    && other.first_run_date < first
            });
            if has_older && oldest.is_some_and(|oldest| oldest.run_date <= first) {
                marks.push(Mark {
                    at: first.timestamp(),
                    label: format!("{} →", read.series.distro),
                    kind: MarkKind::Distribution,
                });
            }
        }
        marks
    }

    /// The points in the picture, for the script.
    fn told(&self, context: &Context, query: &MetricQuery, drawn: &Drawn) -> String {
        let lines: Vec<ToldLine<'_>> = self
            .lines
            .iter()
            .zip(&drawn.kept)
            .enumerate()
            .map(|(color, (read, kept))| ToldLine {
                label: &read.label,
                class: color + 1,
                points: read.told(context, query, kept, self.unit),
            })
            .collect();
        // A script element ends at the first `</`, whatever is around it.
        let text = serde_json::to_string(&lines).unwrap_or_default();
        text.replace('<', "\\u003c")
    }
}

fn title(name: &MetricName, series: Option<&Series>) -> String {
    match series {
        Some(series) => format!("{} of {series}", names::metric(name)),
        None => names::metric(name),
    }
}

impl Read {
    /// What a value is on the axis: itself, or its difference in percent to the first one.
    fn on_scale(&self, scale: Scale) -> impl Fn(f64) -> f64 + use<> {
        let first = self.trace.points.first().map_or(0.0, |p| p.value.to_f64());
        move |value| match scale {
            Scale::Relative if first != 0.0 => (value - first) / first.abs() * 100.0,
            Scale::Relative => 0.0,
            Scale::Linear => value,
        }
    }

    fn line(&self, scale: Scale, color: usize, with_band: bool) -> Line {
        let on_scale = self.on_scale(scale);
        let place = |point: &PointBody| {
            let dot = dot(point);
            Dot {
                value: on_scale(dot.value),
                ..dot
            }
        };
        let values: Vec<f64> = self.trace.points.iter().map(|p| p.value.to_f64()).collect();
        let known = self.trace.known();
        let band = |(index, point): (usize, &PointBody)| {
            let (low, high) = expected(&values[..index], known)?;
            Some(Band {
                at: point.run_date.timestamp(),
                low: on_scale(low),
                high: on_scale(high),
            })
        };
        let band = match with_band {
            true => self
                .trace
                .points
                .iter()
                .enumerate()
                .filter_map(band)
                .collect(),
            false => Vec::new(),
        };
        let step = |moved: &Moved| {
            let point = self
                .trace
                .points
                .iter()
                .find(|p| p.run_id == moved.run_id)?;
            Some(Step {
                to: place(point),
                is_worse: moved.is_worse,
            })
        };
        Line {
            color,
            dots: self.trace.points.iter().map(place).collect(),
            band,
            references: self.references.iter().map(place).collect(),
            steps: self.moved.iter().filter_map(step).collect(),
        }
    }

    fn told(
        &self,
        context: &Context,
        query: &MetricQuery,
        kept: &[usize],
        unit: Unit,
    ) -> Vec<Told<'_>> {
        let on_scale = self.on_scale(query.scale);
        let points = &self.trace.points;
        let told = |index: usize| {
            let point = &points[index];
            let before = index
                .checked_sub(1)
                .map(|before| points[before].value.to_f64());
            Told {
                at: point.run_date.timestamp(),
                v: on_scale(point.value.to_f64()),
                value: number::readable(point.value.to_f64(), unit),
                diff: percent(before, point.value.to_f64())
                    .map_or_else(String::new, |percent| number::percent(Some(percent))),
                commit: &point.commit_sha.as_str()[..12],
                change: point.change.as_ref().map(crate::domain::Change::as_str),
                tag: point.tag.as_str(),
                date: names::minute(point.run_date),
                run: context.links.run(point.run_id),
            }
        };
        kept.iter().map(|&index| told(index)).collect()
    }
}

/// The difference of two values in percent of the first.
fn percent(before: Option<f64>, after: f64) -> Option<f64> {
    let before = before.filter(|before| *before != 0.0)?;
    Some((after - before) / before.abs() * 100.0)
}

/// The page of a metric.
///
/// # Errors
/// Why the source has no answer.
pub async fn metric<S: Source>(
    context: &Context,
    source: &S,
    query: &MetricQuery,
) -> Result<Page, S::Error> {
    let reading = read(source, query, Others::All).await?;
    let drawn = reading.draw(query, Frame::default());
    let narrow = reading.draw(
        query,
        Frame {
            width: 400,
            height: 300,
            ..Frame::default()
        },
    );
    let first = reading.lines.first();
    let address = |query: MetricQuery| context.links.metric(&query);
    let newest = first.and_then(|read| read.trace.points.last());
    let beside = first.and_then(|read| read.trace.beside());
    let known = known(query.name.metric_key.as_str());
    Ok(page(&MetricPage {
        shell: context.shell(Tab::None, names::metric(&query.name)),
        key: query.name.metric_key.to_string(),
        dim: query.name.dim_key.to_string(),
        workload: query.series.workload.to_string(),
        place: names::place(&query.series),
        points: reading.told(context, query, &drawn),
        has_band: reading.lines.len() == 1,
        has_points: drawn.kept.iter().any(|kept| !kept.is_empty()),
        wide: drawn.svg,
        narrow: narrow.svg,
        left_out: drawn.left_out,
        whole: (drawn.left_out > 0 && context.links.are_live()).then(|| {
            address(MetricQuery {
                whole: true,
                ..query.clone()
            })
        }),
        not_whole: query.whole.then(|| {
            address(MetricQuery {
                whole: false,
                ..query.clone()
            })
        }),
        legend: legend(context, query, &reading),
        rows: first.map_or_else(Vec::new, |read| rows(context, read, reading.unit)),
        total: first.map_or(0, |read| read.trace.points.len()),
        moved: first.map_or_else(Vec::new, |read| moves(context, read, reading.unit)),
        controls: controls(context, query, &reading),
        chart: context.links.chart(query, Frame::default()),
        badge: context.links.badge(query),
        newest: newest.map_or_else(String::new, |point| {
            number::readable(point.value.to_f64(), reading.unit)
        }),
        twenty: Difference::new(
            beside.and_then(|beside| beside.percent[1]),
            known.worse,
            beside.is_some_and(|beside| beside.level != Level::Within),
        ),
    }))
}

/// The chart of a metric as a picture of its own.
///
/// # Errors
/// Why the source has no answer.
pub async fn chart<S: Source>(
    source: &S,
    query: &MetricQuery,
    frame: Frame,
) -> Result<String, S::Error> {
    let reading = read(source, query, Others::Distributions).await?;
    Ok(reading.draw(query, frame).svg)
}

/// The newest value of a metric as a badge.
///
/// # Errors
/// Why the source has no answer.
pub async fn badge<S: Source>(source: &S, query: &MetricQuery) -> Result<String, S::Error> {
    let few = HistoryQuery {
        limit: 21,
        ..query.history(&query.series)
    };
    let trace = source
        .history(&few)
        .await?
        .into_iter()
        .next()
        .map(Trace::of);
    let newest = trace.as_ref().and_then(|trace| trace.points.last());
    let value = newest.map_or_else(
        || "no run".to_owned(),
        |point| {
            let unit = known(query.name.metric_key.as_str()).unit;
            number::readable(point.value.to_f64(), unit)
        },
    );
    let trend = match trace.and_then(|trace| trace.beside()) {
        Some(beside) if beside.level == Level::Worse => chart::Trend::Worse,
        Some(beside) if beside.level == Level::Better => chart::Trend::Better,
        _ => chart::Trend::Steady,
    };
    Ok(chart::badge(&names::metric(&query.name), &value, trend))
}

/// Every series of the workload that has the metric, each with the address that shows or hides its line.
fn legend(context: &Context, query: &MetricQuery, reading: &Reading) -> Vec<Entry> {
    let shown = query.shown();
    let mut listed: Vec<Series> = shown.clone();
    if !listed.contains(&query.series) {
        listed.push(query.series.clone());
    }
    if context.links.are_live() {
        let others = reading.others.iter().map(|other| &other.series);
        for series in others.take(24) {
            if !listed.contains(series) {
                listed.push(series.clone());
            }
        }
    }
    let entry = |series: &Series| {
        let place = shown.iter().position(|one| one == series);
        let mut toggled = query.clone();
        if *series == query.series {
            toggled.hidden = !query.hidden;
        } else if place.is_some() {
            toggled
                .beside
                .retain(|beside| beside.series(&query.series.workload) != *series);
        } else {
            toggled.beside.push(Beside::from(series));
        }
        Entry {
            label: names::place(series),
            class: place.map(|place| place + 1),
            toggle: context.links.metric(&toggled),
        }
    };
    listed.iter().map(entry).collect()
}

fn rows(context: &Context, read: &Read, unit: Unit) -> Vec<Shown> {
    let points = &read.trace.points;
    let worse = read.trace.known().worse;
    let values: Vec<f64> = points.iter().map(|point| point.value.to_f64()).collect();
    let row = |index: usize| {
        let point = &points[index];
        let before = index.checked_sub(1);
        let change = percent(before.map(|before| values[before]), values[index]);
        let notable = expected(&values[..index], read.trace.known())
            .is_some_and(|(low, high)| !(low..=high).contains(&values[index]));
        Shown {
            run: context.links.run(point.run_id),
            commit: names::short(point.commit_sha.as_str()),
            change: change_of(point),
            subject: point
                .subject
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            date: names::minute(point.run_date),
            tag: point.tag.to_string(),
            value: number::readable(values[index], unit),
            exact: number::value(point.value),
            difference: Difference::new(change, worse, notable),
            compare: before
                .and_then(|before| runs_compared(context, points[before].run_id, point.run_id)),
        }
    };
    (0..points.len()).rev().take(ROWS).map(row).collect()
}

fn change_of(point: &PointBody) -> String {
    match (&point.change, &point.patchset) {
        (Some(change), Some(patchset)) => format!("{change},{patchset}"),
        (Some(change), None) => change.to_string(),
        _ => String::new(),
    }
}

/// The comparison of two runs.
pub(super) fn runs_compared(context: &Context, base: i64, head: i64) -> Option<String> {
    context.links.compare(&CompareQuery {
        base: Some(Side::Run(base)),
        head: Some(Side::Run(head)),
        ..CompareQuery::default()
    })
}

fn moves(context: &Context, read: &Read, unit: Unit) -> Vec<ShownMove> {
    let worse = read.trace.known().worse;
    let shown = |moved: &Moved| ShownMove {
        run: context.links.run(moved.run_id),
        day: names::day(moved.date),
        commit: names::short(&moved.commit),
        subject: moved.subject.clone().unwrap_or_default(),
        before: number::readable(moved.before, unit),
        after: number::readable(moved.after, unit),
        change: Difference::new(
            moved.percent,
            worse,
            is_worse(moved.after - moved.before, worse).is_some(),
        ),
        compare: runs_compared(context, moved.previous_run, moved.run_id),
    };
    read.moved.iter().rev().take(20).map(shown).collect()
}

fn controls(context: &Context, query: &MetricQuery, reading: &Reading) -> Controls {
    let address = |query: MetricQuery| context.links.metric(&query);
    let with = |change: &dyn Fn(&mut MetricQuery)| {
        let mut changed = query.clone();
        change(&mut changed);
        address(changed)
    };
    let ranges = [50, 200, USUAL_POINTS, 2_000, 10_000].map(|last| {
        let chosen = query.last == last && query.since.is_none() && query.before.is_none();
        let link = with(&|query| {
            query.last = last;
            query.since = None;
            query.before = None;
        });
        let label = match last {
            10_000 => "10,000 runs".to_owned(),
            2_000 => "2,000".to_owned(),
            last => last.to_string(),
        };
        (label, link, chosen)
    });
    let zoom = Zoom::new(reading);
    let to = |range: Option<(RunDate, RunDate)>| {
        range.map(|(since, before)| {
            with(&|query| {
                query.since = Some(since);
                query.before = Some(before);
                query.last = 10_000;
            })
        })
    };
    let day = |date: Option<RunDate>| date.map(names::day).unwrap_or_default();
    Controls {
        is_relative: query.scale == Scale::Relative,
        linear: with(&|query| query.scale = Scale::Linear),
        relative: with(&|query| query.scale = Scale::Relative),
        shows_failed: query.failed,
        failed: with(&|query| query.failed = !query.failed),
        ranges: ranges.into(),
        hidden_fields: hidden_fields(query),
        since: day(query.since),
        before: day(query.before),
        zoom_in: to(zoom.and_then(|zoom| zoom.part(0.25, 0.75))),
        zoom_out: to(zoom.and_then(|zoom| zoom.part(-0.5, 1.5))),
        earlier: to(zoom.and_then(|zoom| zoom.part(-0.5, 0.5))),
        later: to(zoom.and_then(|zoom| zoom.part(0.5, 1.5))),
        is_zoomed: query.since.is_some() || query.before.is_some(),
        everything: with(&|query| {
            query.since = None;
            query.before = None;
            query.last = USUAL_POINTS;
        }),
    }
}

/// What the form of the dates keeps of the address.
fn hidden_fields(query: &MetricQuery) -> Vec<(&'static str, String)> {
    let series = &query.series;
    let mut fields = vec![
        ("workload", series.workload.to_string()),
        ("branch", series.branch.to_string()),
        ("arch", series.arch.to_string()),
        ("distro", series.distro.to_string()),
        ("metric", query.name.metric_key.to_string()),
        ("dim", query.name.dim_key.to_string()),
        ("last", "10000".to_owned()),
    ];
    fields.extend(query.repo.iter().map(|repo| ("repo", repo.to_string())));
    let beside = query.beside.iter();
    fields.extend(beside.map(|beside| ("beside", beside.to_string())));
    if query.scale == Scale::Relative {
        fields.push(("scale", "relative".to_owned()));
    }
    for (name, is_set) in [
        ("hidden", query.hidden),
        ("failed", query.failed),
        ("whole", query.whole),
    ] {
        if is_set {
            fields.push((name, "true".to_owned()));
        }
    }
    fields
}

/// The dates that the chart shows.
#[derive(Clone, Copy)]
struct Zoom {
    first: i64,
    last: i64,
}

impl Zoom {
    fn new(reading: &Reading) -> Option<Self> {
        let points = reading.lines.iter().flat_map(|read| &read.trace.points);
        let times = points.map(|point| point.run_date.timestamp());
        let (first, last) = times.fold((i64::MAX, i64::MIN), |(first, last), at| {
            (first.min(at), last.max(at))
        });
        (first < last).then_some(Self { first, last })
    }

    /// The part of the range from one share of it to another; shares may lie outside of it.
    fn part(self, from: f64, to: f64) -> Option<(RunDate, RunDate)> {
        let span = (self.last - self.first).max(7_200) as f64;
        let at = |share: f64| {
            let first = DateTime::from_timestamp(self.first, 0)?;
            let date = first.checked_add_signed(TimeDelta::seconds((share * span) as i64))?;
            RunDate::new(date).ok()
        };
        Some((at(from)?, at(to)?))
    }
}
