//! Every metric of every series, what moved most first.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::{Context, Difference, Page, Pager, Shell, Tab, names, page};
use crate::dashboard::board::{Board, Row};
use crate::dashboard::chart::sparkline;
use crate::dashboard::query::{MetricQuery, Narrowed, Order, OverviewQuery};
use crate::judge::Level;
use crate::judge::drift::Status;
use crate::report::number;

/// Rows of a page.
const ROWS: usize = 50;

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    shell: Shell,
    empty: bool,
    groups: Vec<Group>,
    metrics: usize,
    pager: Pager,
    pending: usize,
    more: bool,
    filter: Filter,
    by_name: bool,
    other_order: String,
}

/// What a reader can choose, and has chosen.
pub(super) struct Filter {
    pub(super) find: String,
    pub(super) choices: Vec<Choice>,
    pub(super) is_narrow: bool,
}

/// One list of names to choose from.
pub(super) struct Choice {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) chosen: String,
    pub(super) values: Vec<String>,
}

struct Group {
    repo: String,
    workload: String,
    rows: Vec<Shown>,
}

struct Shown {
    link: String,
    key: String,
    dim: String,
    place: String,
    value: String,
    exact: String,
    day: String,
    five: Difference,
    twenty: Difference,
    spark: String,
    drift: Option<Drifting>,
    moved: Option<LastMove>,
    has_sums: bool,
}

struct Drifting {
    text: String,
    class: &'static str,
}

struct LastMove {
    link: String,
    day: String,
    change: Difference,
}

impl Narrowed {
    /// Whether a row is one of those that were chosen.
    pub(in crate::dashboard) fn lets_pass(&self, row: &Row) -> bool {
        fn is<T: PartialEq>(wanted: Option<&T>, found: &T) -> bool {
            wanted.is_none_or(|wanted| wanted == found)
        }
        let series = &row.series;
        self.repo
            .as_ref()
            .is_none_or(|repo| Some(repo) == row.repo.as_ref())
            && is(self.workload.as_ref(), &series.workload)
            && is(self.branch.as_ref(), &series.branch)
            && is(self.arch.as_ref(), &series.arch)
            && is(self.distro.as_ref(), &series.distro)
            && self.find.as_ref().is_none_or(|find| {
                let find = find.to_lowercase();
                find.split_whitespace().all(|word| row.text.contains(word))
            })
    }
}

impl Filter {
    pub(super) fn new(board: &Board, narrowed: &Narrowed) -> Self {
        let text = |chosen: Option<String>| chosen.unwrap_or_default();
        let mut names: [BTreeSet<&str>; 5] = Default::default();
        for row in &board.rows {
            let series = &row.series;
            if let Some(repo) = &row.repo {
                names[0].insert(repo.as_str());
            }
            names[1].insert(series.workload.as_str());
            names[2].insert(series.branch.as_str());
            names[3].insert(series.arch.as_str());
            names[4].insert(series.distro.as_str());
        }
        let chosen = [
            text(narrowed.repo.as_ref().map(ToString::to_string)),
            text(narrowed.workload.as_ref().map(ToString::to_string)),
            text(narrowed.branch.as_ref().map(ToString::to_string)),
            text(narrowed.arch.as_ref().map(ToString::to_string)),
            text(narrowed.distro.as_ref().map(ToString::to_string)),
        ];
        let labels = [
            ("repo", "Repository"),
            ("workload", "Workload"),
            ("branch", "Branch"),
            ("arch", "Architecture"),
            ("distro", "Distribution"),
        ];
        let choices = labels.into_iter().zip(names).zip(chosen);
        let choices = choices
            .filter(|((_, names), chosen)| names.len() > 1 || !chosen.is_empty())
            .map(|(((name, label), names), chosen)| Choice {
                name,
                label,
                // A list that nobody reads to its end helps nobody, and the address still takes any name.
                values: names.into_iter().take(200).map(str::to_owned).collect(),
                chosen,
            });
        Self {
            find: text(narrowed.find.clone()),
            choices: choices.collect(),
            is_narrow: !narrowed.is_empty(),
        }
    }
}

/// Every metric of the board that `query` asks for.
pub fn overview(context: &Context, board: &Board, query: &OverviewQuery) -> Page {
    let mut rows: Vec<&Row> = board
        .rows
        .iter()
        .map(AsRef::as_ref)
        .filter(|row| query.narrowed.lets_pass(row))
        .collect();
    sort(&mut rows, query.order);
    let address = |page| {
        context.links.overview(&OverviewQuery {
            page,
            ..query.clone()
        })
    };
    let pager = Pager::new(query.page, rows.len(), ROWS, address);
    let some = rows.iter().skip(pager.page * ROWS).take(ROWS);
    let other = match query.order {
        Order::Moved => Order::Name,
        Order::Name => Order::Moved,
    };
    page(&OverviewPage {
        shell: context.shell(Tab::Overview, "Overview"),
        empty: board.rows.is_empty() && board.pending == 0,
        groups: groups(context, some.copied()),
        metrics: rows.len(),
        pager,
        pending: board.pending,
        more: board.more,
        filter: Filter::new(board, &query.narrowed),
        by_name: query.order == Order::Name,
        other_order: context.links.overview(&OverviewQuery {
            order: other,
            page: 0,
            ..query.clone()
        }),
    })
}

type GroupKey<'a> = (Option<&'a str>, &'a str);

fn group_of(row: &Row) -> GroupKey<'_> {
    (
        row.repo.as_ref().map(crate::domain::Repo::as_str),
        row.series.workload.as_str(),
    )
}

/// Groups stay together: that in which a metric moved most comes first.
fn sort(rows: &mut [&Row], order: Order) {
    let mut most: BTreeMap<GroupKey<'_>, f64> = BTreeMap::new();
    if order == Order::Moved {
        for row in rows.iter() {
            let known = most.entry(group_of(row)).or_insert(f64::MIN);
            *known = known.max(row.movement());
        }
    }
    let movement = |row: &Row| match order {
        Order::Moved => row.movement(),
        Order::Name => 0.0,
    };
    rows.sort_by(|one, other| {
        let (left, right) = (group_of(one), group_of(other));
        let of = |key| most.get(key).copied().unwrap_or_default();
        of(&right)
            .total_cmp(&of(&left))
            .then_with(|| left.cmp(&right))
            .then_with(|| movement(other).total_cmp(&movement(one)))
            .then_with(|| (&one.series, &one.name).cmp(&(&other.series, &other.name)))
    });
}

fn groups<'a>(context: &Context, rows: impl Iterator<Item = &'a Row>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        let (repo, workload) = group_of(row);
        let repo = repo.unwrap_or_default();
        match groups.last_mut() {
            Some(group) if group.repo == repo && group.workload == workload => {
                group.rows.push(shown(context, row));
            }
            _ => groups.push(Group {
                repo: repo.to_owned(),
                workload: workload.to_owned(),
                rows: vec![shown(context, row)],
            }),
        }
    }
    groups
}

fn shown(context: &Context, row: &Row) -> Shown {
    let link = context
        .links
        .metric(&MetricQuery::of(row.series.clone(), row.name.clone()));
    let sums = row.sums.as_ref();
    let newest = row.newest.map(|newest| newest.value.to_f64());
    let value = sums.map(|sums| sums.value).or(newest);
    let exact = sums.map(|sums| sums.exact.clone());
    let exact = exact.or_else(|| row.newest.map(|newest| newest.value.to_string()));
    let date = sums.map(|sums| sums.date);
    let date = date.or_else(|| row.newest.map(|newest| newest.run_date));
    let percent = |window: usize| sums.and_then(|sums| sums.beside.percent[window]);
    let notable = sums.is_some_and(|sums| sums.beside.level != Level::Within);
    let moved = sums.and_then(|sums| sums.moved.last());
    Shown {
        link,
        key: row.name.metric_key.to_string(),
        dim: row.name.dim_key.to_string(),
        place: names::place(&row.series),
        value: value.map_or_else(|| "–".to_owned(), |value| number::readable(value, row.unit)),
        exact: exact.unwrap_or_default(),
        day: date.map(names::day).unwrap_or_default(),
        five: Difference::new(percent(0), row.worse, notable),
        twenty: Difference::new(percent(1), row.worse, notable),
        spark: sums.map_or_else(String::new, |sums| sparkline(&sums.spark)),
        drift: sums.and_then(|sums| drifting(sums.drift, sums.drift_percent)),
        moved: moved.map(|moved| LastMove {
            link: context.links.run(moved.run_id),
            day: names::day(moved.date),
            change: Difference::new(moved.percent, row.worse, true),
        }),
        has_sums: sums.is_some(),
    }
}

fn drifting(status: Status, percent: Option<f64>) -> Option<Drifting> {
    let class = match status {
        Status::Drift => "worse",
        Status::Warning => "warning",
        Status::Insufficient | Status::Ok => return None,
    };
    Some(Drifting {
        text: number::percent(percent),
        class,
    })
}
