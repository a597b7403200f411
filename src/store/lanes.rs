//! Reads runs in order, and examines a bounded number of them for each request.
//!
//! A lane is a set of runs that one index holds in the order of the answer, so that its first runs
//! cost the same however many it has. A question has filters that no index serves together: a
//! repository within a series, a metric that few runs have. Its runs are looked for along a lane, a
//! piece at a time, until there are enough of them or the request has examined its share. Then the
//! answer ends at that place, and the next page goes on from there.

use sea_query::{Expr, ExprTrait, Order, Query, SelectStatement};
use sqlx::FromRow;

use chrono::NaiveDateTime;

use super::StoreError;
use super::db::{Row, Session};
use super::details;
use super::heads::{
    Filter, HeadRow, Position, RowPlace, RunHead, SeriesColumns, TagFilter, head_columns,
    newest_first,
};
use super::runs::RunOrder;
use super::schema::{ReferenceRuns, Runs};

/// Runs that one request examines in vain, at most.
///
/// Examining as many takes some ten milliseconds.
const EXAMINED: usize = 10_000;

/// Each further piece of a lane is this many times as long as the one before it: a filter that most
/// runs pass needs a short piece, and one that no run passes should not take many statements.
const GROWTH: usize = 8;

/// Runs in order, as one index has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lane<'a> {
    kind: Kind,
    /// The filters that the index serves.
    served: Filter<'a>,
    /// The filters that are left to be examined run by run.
    rest: Filter<'a>,
    order: RunOrder,
}

/// Where a lane lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// On an index of `runs`.
    Runs,
    /// In the table of reference runs.
    Reference,
    /// Among the runs of one commit. They are few, so they are put in order once they are read.
    Commit,
}

/// How a walk along a lane ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With as many rows as were wanted.
    Enough,
    /// At the end of the lane.
    Lane,
    /// At this place, as the request has examined its share. The rows up to there are all found.
    Examined(Position),
}

/// The rows of a walk, and how it ended.
#[derive(Debug)]
pub(super) struct Walked<T> {
    pub(super) rows: Vec<T>,
    pub(super) end: End,
}

/// What a request may still examine.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Budget {
    /// That of a new request.
    pub(super) fn new() -> Self {
        Self(EXAMINED)
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0 == 0
    }
}

/// A statement that reads along a lane: `size` runs of it are examined, and at most `limit` rows
/// answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    size: usize,
    limit: usize,
}

impl Piece {
    /// The first piece for a walk that wants `want` rows: half as many runs again, as a few runs
    /// fail or are of another class of hosts.
    pub(super) fn first(want: usize) -> Self {
        Self {
            size: want + want / 2,
            limit: want,
        }
    }
}

#[derive(FromRow)]
struct PlaceRow {
    run_id: i64,
    run_date: NaiveDateTime,
}

impl<'a> Lane<'a> {
    /// The lane that answers `filter` soonest.
    pub(super) async fn choose(
        session: &mut Session,
        filter: &Filter<'a>,
        order: RunOrder,
    ) -> Result<Self, StoreError> {
        if filter.commit_sha.is_some() {
            let lane = Self::of_commit(filter, order);
            // There are more only where many reference runs or series share a commit.
            if lane.place(session, EXAMINED + 1).await?.is_none() {
                return Ok(lane);
            }
        }
        let mut lanes = lanes(filter, order);
        let Some(mut best) = lanes.pop() else {
            return Ok(Self::new(Kind::Runs, Filter::default(), filter, order));
        };
        let mut reach: Option<Position> = None;
        while let Some(lane) = lanes.pop() {
            if reach.is_none() {
                let Some(end) = best.place(session, EXAMINED).await? else {
                    return Ok(best);
                };
                reach = Some(end);
            }
            // The sparser lane leads further back with as many runs.
            match lane.place(session, EXAMINED).await? {
                None => return Ok(lane),
                Some(end) if Some(end) < reach => {
                    reach = Some(end);
                    best = lane;
                }
                Some(_) => {}
            }
        }
        Ok(best)
    }

    /// The lane of a question about one series.
    pub(super) fn of_series(filter: &Filter<'a>) -> Self {
        let series = Filter {
            series: filter.series,
            ..dates(filter)
        };
        let tagged = Filter {
            tag: filter.tag,
            ..series.clone()
        };
        match filter.tag {
            Some(TagFilter::Is(_)) if filter.pipeline.is_some() => {
                let pipeline = filter.pipeline;
                Self::new(
                    Kind::Runs,
                    Filter { pipeline, ..tagged },
                    filter,
                    RunOrder::Newest,
                )
            }
            Some(TagFilter::Reference) => {
                Self::new(Kind::Reference, tagged, filter, RunOrder::Newest)
            }
            Some(TagFilter::Is(tag)) if !tag.as_str().is_empty() => {
                Self::new(Kind::Reference, tagged, filter, RunOrder::Newest)
            }
            _ => Self::new(Kind::Runs, series, filter, RunOrder::Newest),
        }
    }

    fn of_commit(filter: &Filter<'a>, order: RunOrder) -> Self {
        let served = Filter {
            commit_sha: filter.commit_sha,
            ..Filter::default()
        };
        Self::new(Kind::Commit, served, filter, order)
    }

    fn new(kind: Kind, served: Filter<'a>, filter: &Filter<'a>, order: RunOrder) -> Self {
        Self {
            kind,
            rest: filter.without(&served),
            served,
            order,
        }
    }

    /// The same lane from `after` on, and of runs of these dates only.
    pub(super) fn from(mut self, after: Option<Position>) -> Self {
        match self.order {
            RunOrder::Newest => self.served.after = after,
            RunOrder::Stored => self.served.stored_after = after.map(|place| place.run_id),
        }
        self
    }

    /// Walks along the lane until `want` rows are found. `select` is the statement that reads a piece;
    /// it answers at most one row for each run.
    pub(super) async fn walk<T: Row>(
        mut self,
        session: &mut Session,
        want: usize,
        budget: &mut Budget,
        select: impl Fn(&Self, Piece) -> SelectStatement,
    ) -> Result<Walked<T>, StoreError> {
        let mut rows: Vec<T> = Vec::new();
        let mut size = Piece::first(want).size;
        loop {
            let limit = want - rows.len();
            let piece = Piece { size, limit };
            rows.extend(session.fetch_all(&select(&self, piece)).await?);
            let end = if rows.len() >= want {
                End::Enough
            } else {
                match self.place(session, size).await? {
                    None => End::Lane,
                    Some(place) => {
                        budget.0 = budget.0.saturating_sub(size);
                        if !budget.is_spent() {
                            size = (size * GROWTH).min(budget.0);
                            self = self.from(Some(place));
                            continue;
                        }
                        End::Examined(place)
                    }
                }
            };
            return Ok(Walked { rows, end });
        }
    }

    /// The newest runs of the lane that pass the filters.
    pub(super) async fn heads(
        self,
        session: &mut Session,
        want: usize,
        budget: &mut Budget,
    ) -> Result<Walked<RunHead>, StoreError> {
        let walked = if self.is_exact() || self.kind == Kind::Commit {
            let size = match self.kind {
                Kind::Commit => EXAMINED,
                Kind::Runs | Kind::Reference => want,
            };
            let piece = Piece { size, limit: want };
            let rows: Vec<HeadRow> = session.fetch_all(&self.select_heads(piece)).await?;
            let end = if rows.len() < want {
                End::Lane
            } else {
                End::Enough
            };
            Walked { rows, end }
        } else {
            self.walk(session, want, budget, Self::select_heads).await?
        };
        let heads: Result<Vec<RunHead>, _> =
            walked.rows.into_iter().map(RunHead::try_from).collect();
        Ok(Walked {
            rows: heads?,
            end: walked.end,
        })
    }

    /// Whether every run of the lane is one of the answer.
    fn is_exact(&self) -> bool {
        self.rest == Filter::default()
    }

    fn select_heads(&self, piece: Piece) -> SelectStatement {
        if self.is_exact() && self.kind == Kind::Runs {
            // The same without the detour, which is the short way to most lists.
            let mut select = Query::select();
            select
                .columns(head_columns())
                .from(Runs::Table)
                .cond_where(self.served.condition())
                .limit(piece.limit as u64);
            details::join(&mut select);
            self.in_order(&mut select);
            return select;
        }
        let mut select = self.select(piece);
        select.columns(head_columns());
        select
    }

    /// A statement over the runs of a piece that pass the filters, in order, with their details; it has no
    /// columns yet.
    ///
    /// The piece stands first and names nothing but what its index serves, so that no planner finds
    /// another way than along the lane.
    pub(super) fn select(&self, piece: Piece) -> SelectStatement {
        let lane = Ids::Table;
        let mut ids = self.select_places(piece.size);
        ids.column((Runs::Table, Runs::RunId));
        let mut select = Query::select();
        select
            .from_subquery(ids, lane)
            .cross_join(Runs::Table)
            .and_where(Expr::col((Runs::Table, Runs::RunId)).equals((lane, Ids::RunId)))
            .cond_where(self.rest.condition())
            .limit(piece.limit as u64);
        details::join(&mut select);
        self.in_order(&mut select);
        select
    }

    /// The first `size` runs of the lane, by what the index holds of them.
    fn select_places(&self, size: usize) -> SelectStatement {
        let mut select = Query::select();
        match self.kind {
            Kind::Runs | Kind::Commit => select.from(Runs::Table),
            Kind::Reference => select.from_as(ReferenceRuns::Table, Runs::Table),
        };
        select
            .cond_where(self.served.condition())
            .limit(size as u64);
        if self.kind != Kind::Commit {
            self.in_order(&mut select);
        }
        select
    }

    /// Where the run number `count` of the lane stands, if it has as many.
    async fn place(
        &self,
        session: &mut Session,
        count: usize,
    ) -> Result<Option<Position>, StoreError> {
        let rows: Vec<PlaceRow> = session.fetch_all(&self.select_place(count)).await?;
        rows.into_iter().next().map(Position::try_from).transpose()
    }

    fn select_place(&self, count: usize) -> SelectStatement {
        let mut select = self.select_places(1);
        select
            .column((Runs::Table, Runs::RunId))
            .column((Runs::Table, Runs::RunDate))
            .offset(count.saturating_sub(1) as u64);
        select
    }

    fn in_order(&self, select: &mut SelectStatement) {
        match self.order {
            RunOrder::Newest => newest_first(select),
            RunOrder::Stored => {
                select.order_by((Runs::Table, Runs::RunId), Order::Asc);
            }
        }
    }
}

/// The name that the piece of a lane has in a statement.
#[derive(Clone, Copy, sea_query::Iden)]
enum Ids {
    #[iden = "lane"]
    Table,
    RunId,
}

impl TryFrom<PlaceRow> for Position {
    type Error = StoreError;

    fn try_from(row: PlaceRow) -> Result<Self, StoreError> {
        let at = RowPlace::of_run("runs", row.run_id);
        Ok(Self {
            run_date: at.parse("run_date", row.run_date)?,
            run_id: row.run_id,
        })
    }
}

/// The bounds of the dates, which every index that ends with the date serves.
fn dates<'a>(filter: &Filter<'a>) -> Filter<'a> {
    Filter {
        since: filter.since,
        before: filter.before,
        dated: filter.dated,
        after: filter.after,
        ..Filter::default()
    }
}

/// The lanes that hold every run that `filter` lets pass.
fn lanes<'a>(filter: &Filter<'a>, order: RunOrder) -> Vec<Lane<'a>> {
    if order == RunOrder::Stored {
        let served = Filter {
            stored_after: filter.stored_after,
            ..Filter::default()
        };
        return vec![Lane::new(Kind::Runs, served, filter, order)];
    }
    if filter.series.is_whole() {
        return vec![Lane::of_series(filter)];
    }
    let mut lanes = Vec::new();
    let mut add = |kind, served: Filter<'a>| {
        lanes.push(Lane::new(kind, served, filter, order));
    };
    if matches!(filter.tag, Some(TagFilter::Is(tag)) if !tag.as_str().is_empty()) {
        let tag = filter.tag;
        add(
            Kind::Reference,
            Filter {
                tag,
                ..dates(filter)
            },
        );
    }
    if let Some(workload) = filter.series.workload {
        let series = SeriesColumns {
            workload: Some(workload),
            ..SeriesColumns::default()
        };
        add(
            Kind::Runs,
            Filter {
                series,
                ..dates(filter)
            },
        );
    }
    if let Some(branch) = filter.series.branch {
        let series = SeriesColumns {
            branch: Some(branch),
            ..SeriesColumns::default()
        };
        add(
            Kind::Runs,
            Filter {
                series,
                ..dates(filter)
            },
        );
    }
    if let Some(repo) = filter.repo {
        let repo = Some(repo);
        add(
            Kind::Runs,
            Filter {
                repo,
                ..dates(filter)
            },
        );
    }
    if let Some(pipeline) = filter.pipeline {
        let pipeline = Some(pipeline);
        add(
            Kind::Runs,
            Filter {
                pipeline,
                ..dates(filter)
            },
        );
    }
    if lanes.is_empty() {
        lanes.push(Lane::new(Kind::Runs, dates(filter), filter, order));
    }
    lanes
}
