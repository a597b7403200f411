//! A run without its metrics, how it is read, and which runs a question is about.

use chrono::NaiveDateTime;
use sea_query::{Condition, Expr, ExprTrait, IntoColumnRef, Order, Query, SelectStatement};
use sqlx::FromRow;

use super::details::{self, Details, DetailsRow, RunDetails};
use super::schema::Runs;
use super::{RunId, StoreError};
use crate::domain::{
    Change, CommitSha, DateBound, HostClass, MetricName, Patchset, Pipeline, Repo, RunDate, Series,
    Tag,
};

/// Runs that one statement asks for by id.
pub(super) const RUNS_A_STATEMENT: usize = 1_000;

/// A run without its metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunHead {
    /// The id that the store gave it.
    pub run_id: RunId,
    /// The series.
    pub series: Series,
    /// The repository.
    pub repo: Repo,
    /// The commit.
    pub commit_sha: CommitSha,
    /// The change that the commit came from.
    pub change: Option<Change>,
    /// Its patch set.
    pub patchset: Option<Patchset>,
    /// Who uploaded it.
    pub pipeline: Pipeline,
    /// Where it was measured.
    pub host_class: HostClass,
    /// Empty for a live run.
    pub tag: Tag,
    /// Where it stands in history.
    pub run_date: RunDate,
    /// Whether the workload ran to its end.
    pub succeeded: bool,
    /// What is kept beside the seed's columns.
    pub details: Details,
}

/// A place in history: runs are ordered by date and then by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The run's date.
    pub run_date: RunDate,
    /// The run's id.
    pub run_id: RunId,
}

/// Which tags a question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagFilter {
    /// Live and reference runs.
    Any,
    /// Reference runs of any name.
    Reference,
    /// Runs of this tag; the empty one for live runs.
    Is(Tag),
}

impl Position {
    /// Newer than the place of any run.
    pub(super) const NEWEST: Self = Self {
        run_date: RunDate::LATEST,
        run_id: RunId::MAX,
    };
}

impl RunHead {
    /// Where it stands.
    pub fn position(&self) -> Position {
        Position {
            run_date: self.run_date,
            run_id: self.run_id,
        }
    }
}

/// The filters of a question about runs. A filter that is absent lets all runs pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter<'a> {
    pub(super) series: SeriesColumns<'a>,
    pub(super) commit_sha: Option<&'a CommitSha>,
    pub(super) repo: Option<&'a Repo>,
    pub(super) host_class: Option<&'a HostClass>,
    pub(super) pipeline: Option<&'a Pipeline>,
    pub(super) tag: Option<&'a TagFilter>,
    pub(super) succeeded: Option<bool>,
    pub(super) voided: VoidedRuns,
    /// The name or the id of the token that uploaded a run.
    pub(super) uploaded_by: Option<&'a str>,
    /// Runs that were uploaded on or after this date.
    pub(super) uploaded_since: Option<DateBound>,
    pub(super) since: Option<DateBound>,
    pub(super) before: Option<DateBound>,
    /// Dates from the first to the second, both included.
    pub(super) dated: Option<(RunDate, RunDate)>,
    pub(super) after: Option<Position>,
    pub(super) stored_after: Option<RunId>,
}

/// Whether runs that were taken back count.
///
/// They count as failed in `runs.succeeded`, so a question about runs that succeeded leaves them out
/// by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum VoidedRuns {
    /// As the other filters say.
    #[default]
    Unasked,
    /// They do not count.
    LeftOut,
    /// They count as what they were before.
    Included,
}

impl VoidedRuns {
    /// What a question asks that includes voided runs or not, and wants runs that succeeded, failed or
    /// both.
    pub(super) fn of(include: bool, succeeded: Option<bool>) -> Self {
        match (include, succeeded) {
            (true, None) | (false, Some(true)) => Self::Unasked,
            (true, Some(_)) => Self::Included,
            (false, _) => Self::LeftOut,
        }
    }

    /// The condition on the outcome and on voids, over runs with their details.
    fn condition(self, succeeded: Option<bool>) -> Option<Expr> {
        let stored = |outcome: bool| run(Runs::Succeeded).eq(outcome);
        let voided_at = details::column(RunDetails::VoidedAt);
        let before = || details::column(RunDetails::VoidedSucceeded);
        match (self, succeeded) {
            (Self::Unasked | Self::Included, None) => None,
            (Self::Unasked, Some(succeeded)) => Some(stored(succeeded)),
            (Self::LeftOut, None) => Some(voided_at.is_null()),
            (Self::LeftOut, Some(succeeded)) => Some(stored(succeeded).and(voided_at.is_null())),
            (Self::Included, Some(true)) => Some(stored(true).or(before().eq(true))),
            (Self::Included, Some(false)) => {
                Some(stored(false).and(before().is_null().or(before().eq(false))))
            }
        }
    }
}

/// The columns of a series, each of which a question may leave open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SeriesColumns<'a> {
    pub(super) workload: Option<&'a str>,
    pub(super) branch: Option<&'a str>,
    pub(super) arch: Option<&'a str>,
    pub(super) distro: Option<&'a str>,
}

impl SeriesColumns<'_> {
    /// Whether the question is about one series.
    pub(super) fn is_whole(&self) -> bool {
        [self.workload, self.branch, self.arch, self.distro]
            .iter()
            .all(Option::is_some)
    }
}

impl<'a> From<&'a Series> for SeriesColumns<'a> {
    fn from(series: &'a Series) -> Self {
        Self {
            workload: Some(series.workload.as_str()),
            branch: Some(series.branch.as_str()),
            arch: Some(series.arch.as_str()),
            distro: Some(series.distro.as_str()),
        }
    }
}

fn run(column: Runs) -> Expr {
    Expr::col((Runs::Table, column))
}

fn equal(column: Runs, text: Option<&str>) -> Option<Expr> {
    text.map(|text| run(column).eq(text))
}

impl Filter<'_> {
    /// The filters of this that `served` does not have.
    pub(super) fn without(&self, served: &Self) -> Self {
        fn left<T: Copy>(own: Option<T>, served: Option<T>) -> Option<T> {
            own.filter(|_| served.is_none())
        }
        Self {
            series: SeriesColumns {
                workload: left(self.series.workload, served.series.workload),
                branch: left(self.series.branch, served.series.branch),
                arch: left(self.series.arch, served.series.arch),
                distro: left(self.series.distro, served.series.distro),
            },
            commit_sha: left(self.commit_sha, served.commit_sha),
            repo: left(self.repo, served.repo),
            host_class: left(self.host_class, served.host_class),
            pipeline: left(self.pipeline, served.pipeline),
            // A filter that lets every tag pass is none.
            tag: left(self.tag, served.tag).filter(|tag| **tag != TagFilter::Any),
            succeeded: left(self.succeeded, served.succeeded),
            voided: self.voided,
            uploaded_by: left(self.uploaded_by, served.uploaded_by),
            uploaded_since: left(self.uploaded_since, served.uploaded_since),
            since: left(self.since, served.since),
            before: left(self.before, served.before),
            dated: left(self.dated, served.dated),
            after: left(self.after, served.after),
            stored_after: left(self.stored_after, served.stored_after),
        }
    }

    /// The condition, over `runs`. Voids and uploads are filtered by the joined details.
    pub(super) fn condition(&self) -> Condition {
        let tag = match self.tag {
            None | Some(TagFilter::Any) => None,
            Some(TagFilter::Reference) => Some(run(Runs::Tag).ne("")),
            Some(TagFilter::Is(tag)) => Some(run(Runs::Tag).eq(tag.as_str())),
        };
        let parts = [
            equal(Runs::Workload, self.series.workload),
            equal(Runs::Branch, self.series.branch),
            equal(Runs::Arch, self.series.arch),
            equal(Runs::Distro, self.series.distro),
            equal(Runs::CommitSha, self.commit_sha.map(CommitSha::as_str)),
            equal(Runs::Repo, self.repo.map(Repo::as_str)),
            equal(Runs::HostClass, self.host_class.map(HostClass::as_str)),
            equal(Runs::Pipeline, self.pipeline.map(Pipeline::as_str)),
            tag,
            self.voided.condition(self.succeeded),
            self.uploaded_by.map(|name| {
                details::column(RunDetails::UploadedBy)
                    .eq(name)
                    .or(details::column(RunDetails::TokenId).eq(name))
            }),
            self.uploaded_since.map(|bound| {
                details::column(RunDetails::UploadedAt).gt(bound.last_second_before())
            }),
            self.since
                .map(|bound| run(Runs::RunDate).gt(bound.last_second_before())),
            self.before
                .map(|bound| run(Runs::RunDate).lte(bound.last_second_before())),
            self.dated.map(|(first, last)| {
                run(Runs::RunDate)
                    .gte(first.naive())
                    .and(run(Runs::RunDate).lte(last.naive()))
            }),
            self.after.map(older_than),
            self.stored_after.map(|run_id| run(Runs::RunId).gt(run_id)),
        ];
        parts
            .into_iter()
            .flatten()
            .fold(Condition::all(), Condition::add)
    }
}

/// What stands after `position`, newest first. The bound on the date alone is what an index can use.
fn older_than(position: Position) -> Expr {
    let date = position.run_date.naive();
    let same_date_lower_id = run(Runs::RunDate)
        .lt(date)
        .or(run(Runs::RunId).lt(position.run_id));
    run(Runs::RunDate).lte(date).and(same_date_lower_id)
}

/// The columns of a [`HeadRow`], from `runs` with the joined details.
pub(super) fn head_columns() -> impl Iterator<Item = sea_query::ColumnRef> {
    [
        Runs::RunId,
        Runs::Workload,
        Runs::Repo,
        Runs::Branch,
        Runs::CommitSha,
        Runs::Change,
        Runs::Patchset,
        Runs::Pipeline,
        Runs::Distro,
        Runs::Arch,
        Runs::HostClass,
        Runs::Tag,
        Runs::RunDate,
        Runs::Succeeded,
    ]
    .into_iter()
    .map(|column| (Runs::Table, column).into_column_ref())
    .chain(details::columns())
}

/// The newest `limit` runs that pass `filter`, however many runs must be examined for them. For filters
/// that an index serves alone; a [`Lane`](super::lanes::Lane) serves any.
pub(super) fn select_heads(filter: &Filter<'_>, limit: u64) -> SelectStatement {
    let mut select = Query::select();
    select
        .columns(head_columns())
        .from(Runs::Table)
        .cond_where(filter.condition())
        .limit(limit);
    details::join(&mut select);
    newest_first(&mut select);
    select
}

/// Orders by the place in history.
pub(super) fn newest_first(select: &mut SelectStatement) {
    select
        .order_by((Runs::Table, Runs::RunDate), Order::Desc)
        .order_by((Runs::Table, Runs::RunId), Order::Desc);
}

/// A row of `runs`, as the engines give it.
#[derive(FromRow)]
pub(super) struct HeadRow {
    pub(super) run_id: i64,
    #[sqlx(flatten)]
    series: SeriesRow,
    repo: String,
    commit_sha: String,
    change: Option<String>,
    patchset: Option<String>,
    pipeline: String,
    host_class: String,
    tag: String,
    run_date: NaiveDateTime,
    succeeded: bool,
    #[sqlx(flatten)]
    details: DetailsRow,
}

impl TryFrom<HeadRow> for RunHead {
    type Error = StoreError;

    fn try_from(row: HeadRow) -> Result<Self, StoreError> {
        let at = RowPlace::of_run("runs", row.run_id);
        Ok(Self {
            run_id: row.run_id,
            series: row.series.parse(at)?,
            repo: at.parse("repo", row.repo)?,
            commit_sha: at.parse("commit_sha", row.commit_sha)?,
            change: row
                .change
                .map(|text| at.parse("change", text))
                .transpose()?,
            patchset: row
                .patchset
                .map(|text| at.parse("patchset", text))
                .transpose()?,
            pipeline: at.parse("pipeline", row.pipeline)?,
            host_class: at.parse("host_class", row.host_class)?,
            tag: at.parse("tag", row.tag)?,
            run_date: at.parse("run_date", row.run_date)?,
            succeeded: row.details.voided_succeeded.unwrap_or(row.succeeded),
            details: row.details.parse(row.run_id)?,
        })
    }
}

/// A series, in the columns that every table has for it.
#[derive(FromRow)]
pub(super) struct SeriesRow {
    workload: String,
    branch: String,
    arch: String,
    distro: String,
}

impl SeriesRow {
    pub(super) fn parse(self, at: RowPlace) -> Result<Series, StoreError> {
        Ok(Series {
            workload: at.parse("workload", self.workload)?,
            branch: at.parse("branch", self.branch)?,
            arch: at.parse("arch", self.arch)?,
            distro: at.parse("distro", self.distro)?,
        })
    }
}

/// A metric's name, in the columns that every table has for it.
#[derive(FromRow)]
pub(super) struct NameRow {
    metric_key: String,
    dim_key: String,
}

impl NameRow {
    pub(super) fn parse(self, at: RowPlace) -> Result<MetricName, StoreError> {
        Ok(MetricName {
            metric_key: at.parse("metric_key", self.metric_key)?,
            dim_key: at.parse("dim_key", self.dim_key)?,
        })
    }
}

/// Where a value was read, for the message when it cannot be.
#[derive(Clone, Copy)]
pub(super) struct RowPlace {
    table: &'static str,
    run_id: Option<RunId>,
}

impl RowPlace {
    /// A row of one run.
    pub(super) fn of_run(table: &'static str, run_id: RunId) -> Self {
        Self {
            table,
            run_id: Some(run_id),
        }
    }

    /// A row that belongs to no one run.
    pub(super) fn of_series(table: &'static str) -> Self {
        Self {
            table,
            run_id: None,
        }
    }

    /// A column's value as a word of the domain.
    pub(super) fn parse<S, T>(self, column: &'static str, stored: S) -> Result<T, StoreError>
    where
        T: TryFrom<S, Error: std::fmt::Display>,
    {
        T::try_from(stored).map_err(|error| self.corrupt(column, error))
    }

    /// A column's value that cannot be read.
    pub(super) fn corrupt(
        self,
        column: &'static str,
        detail: impl std::fmt::Display,
    ) -> StoreError {
        StoreError::CorruptRow {
            row: match self.run_id {
                Some(run_id) => format!("{} of run {run_id}", self.table),
                None => format!("a row of {}", self.table),
            },
            column,
            detail: detail.to_string(),
        }
    }
}
