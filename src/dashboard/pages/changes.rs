//! What moved since a date, newest first, and what drifts.

use askama::Template;

use super::metric::runs_compared;
use super::overview::Filter;
use super::{Context, Difference, Page, Pager, Shell, Tab, names, page};
use crate::dashboard::board::{Board, Row, Sums};
use crate::dashboard::chart::sparkline;
use crate::dashboard::query::{ChangesQuery, MetricQuery};
use crate::dashboard::trace::Moved;
use crate::judge::drift::Status;
use crate::report::number;

/// Changes of a page.
const ROWS: usize = 40;
/// Drifting metrics that are listed.
const DRIFTING: usize = 40;

#[derive(Template)]
#[template(path = "changes.html")]
struct ChangesPage {
    shell: Shell,
    filter: Filter,
    since: String,
    worse: Vec<Shown>,
    better: Vec<Shown>,
    drifting: Vec<Drifting>,
    count: usize,
    pager: Pager,
    pending: usize,
}

struct Shown {
    day: String,
    metric: String,
    link: String,
    place: String,
    workload: String,
    run: String,
    commit: String,
    subject: String,
    before: String,
    after: String,
    change: Difference,
    spark: String,
    compare: Option<String>,
}

struct Drifting {
    metric: String,
    link: String,
    place: String,
    workload: String,
    percent: String,
    class: &'static str,
    value: String,
    spark: String,
}

/// The changes of the board that `query` asks for.
pub fn changes(context: &Context, board: &Board, query: &ChangesQuery) -> Page {
    let rows = || {
        let rows = board.rows.iter().map(AsRef::as_ref);
        let rows = rows.filter(|row| query.narrowed.lets_pass(row));
        rows.filter_map(|row: &Row| Some((row, row.sums.as_ref()?)))
    };
    let mut moved: Vec<(&Row, &Sums, &Moved)> = rows()
        .flat_map(|(row, sums)| sums.moved.iter().map(move |moved| (row, sums, moved)))
        .filter(|(_, _, moved)| query.since.is_none_or(|since| moved.date >= since))
        .collect();
    moved.sort_by(|(one, _, left), (other, _, right)| {
        let size = |moved: &Moved| moved.percent.map_or(f64::MAX, f64::abs);
        right
            .at
            .cmp(&left.at)
            .then_with(|| size(right).total_cmp(&size(left)))
            .then_with(|| (&one.series, &one.name).cmp(&(&other.series, &other.name)))
    });
    let address = |page| {
        context.links.changes(&ChangesQuery {
            page,
            ..query.clone()
        })
    };
    let pager = Pager::new(query.page, moved.len(), ROWS, address);
    let some = || moved.iter().skip(pager.page * ROWS).take(ROWS);
    let side = |is_worse: bool| -> Vec<Shown> {
        some()
            .filter(|(_, _, moved)| moved.is_worse == is_worse)
            .map(|(row, sums, moved)| shown(context, row, sums, moved))
            .collect()
    };
    let (worse, better) = (side(true), side(false));
    let mut drifting: Vec<(&Row, &Sums)> = rows()
        .filter(|(_, sums)| matches!(sums.drift, Status::Drift | Status::Warning))
        .collect();
    drifting.sort_by(|(_, one), (_, other)| {
        let size = |sums: &Sums| sums.drift_percent.unwrap_or_default().abs();
        size(other).total_cmp(&size(one))
    });
    page(&ChangesPage {
        shell: context.shell(Tab::Changes, "Changes"),
        filter: Filter::new(board, &query.narrowed),
        since: query.since.map(names::day).unwrap_or_default(),
        worse,
        better,
        drifting: drifting
            .into_iter()
            .take(DRIFTING)
            .map(|(row, sums)| drifts(context, row, sums))
            .collect(),
        count: moved.len(),
        pager,
        pending: board.pending,
    })
}

fn link(context: &Context, row: &Row) -> String {
    context
        .links
        .metric(&MetricQuery::of(row.series.clone(), row.name.clone()))
}

fn shown(context: &Context, row: &Row, sums: &Sums, moved: &Moved) -> Shown {
    Shown {
        day: names::day(moved.date),
        metric: names::metric(&row.name),
        link: link(context, row),
        place: names::place(&row.series),
        workload: row.series.workload.to_string(),
        run: context.links.run(moved.run_id),
        commit: names::short(&moved.commit),
        subject: moved.subject.clone().unwrap_or_default(),
        before: number::readable(moved.before, row.unit),
        after: number::readable(moved.after, row.unit),
        change: Difference::new(moved.percent, row.worse, true),
        spark: sparkline(&sums.spark),
        compare: runs_compared(context, moved.previous_run, moved.run_id),
    }
}

fn drifts(context: &Context, row: &Row, sums: &Sums) -> Drifting {
    Drifting {
        metric: names::metric(&row.name),
        link: link(context, row),
        place: names::place(&row.series),
        workload: row.series.workload.to_string(),
        percent: number::percent(sums.drift_percent),
        class: match sums.drift {
            Status::Drift => "worse",
            _ => "warning",
        },
        value: number::readable(sums.value, row.unit),
        spark: sparkline(&sums.spark),
    }
}
