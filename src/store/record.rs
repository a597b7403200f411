//! Stores a run: once, whole, and for as often as it is sent.

use std::collections::BTreeMap;

use sea_query::{DeleteStatement, Expr, ExprTrait, InsertStatement, Query, UpdateStatement};

use super::catalog::{self, CatalogChanges};
use super::db::Session;
use super::details::{self, Signed};
use super::heads::{Filter, HeadRow, RunHead, TagFilter, select_heads};
use super::runs::{StoredRun, fetch_metrics};
use super::schema::{Metrics, Runs};
use super::{RunId, Store, StoreError};
use crate::auth::{Narrow, OutsideGrant};
use crate::domain::{Metric, MetricName, Parameters, Pipeline, Repo, Run, parameters_text};

/// Who uploads a run, and what the token lets them write.
#[derive(Clone, Debug)]
pub struct Writing {
    /// What the token is narrowed to.
    pub narrow: Narrow,
    /// Whose token it is, and the time of the upload.
    pub signed: Signed,
}

/// What became of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The identity is new.
    Created(RunId),
    /// The identity is stored with the same content.
    Unchanged(RunId),
    /// The run took the place of a failed one, or of one that another pipeline than `promote` had
    /// stored.
    Replaced(RunId),
    /// The identity is stored with other content, which stays.
    Conflict(Conflict),
    /// The run would take the place of one that the token may not write, and that one stays.
    Outside(RunId, OutsideGrant),
}

/// How an upload differs from the run that its identity stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The stored run.
    pub run_id: RunId,
    /// The repository of the stored run.
    pub repo: Repo,
    /// The fields that differ.
    pub fields: Vec<FieldDifference>,
    /// The metrics that differ or that one side lacks.
    pub metrics: Vec<MetricDifference>,
}

impl Conflict {
    fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.metrics.is_empty()
    }
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDifference {
    /// The field's name in a body.
    pub field: &'static str,
    /// What is stored.
    pub stored: Option<String>,
    /// What was sent.
    pub sent: Option<String>,
}

/// A metric that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricDifference {
    /// The metric's name.
    pub name: MetricName,
    /// What is stored, if the stored run has it.
    pub stored: Option<Metric>,
    /// What was sent, if it was.
    pub sent: Option<Metric>,
}

/// Rows of one INSERT: five values each, well under what any engine binds in one statement, and
/// well under the 16 MiB that a plain-text statement may have.
pub(super) const ROWS_A_STATEMENT: usize = 1_000;

impl Store {
    /// Stores `run`, or says what its identity already stands for.
    ///
    /// May be called again with the same run for ever: it is stored once. When this returns without
    /// an error, the run is on disk. The stored run that it would take the place of must lie inside
    /// the claims of `writing`; the caller checks that `run` itself does.
    ///
    /// # Errors
    /// A database that does not take it; nothing of the run is stored then, unless the answer to
    /// the commit was lost, which the next call finds out.
    pub async fn record_run(&self, run: &Run, writing: &Writing) -> Result<Recorded, StoreError> {
        let recorded = self
            .retried("record_run", || {
                self.writer.record(run.clone(), writing.clone())
            })
            .await?;
        if matches!(recorded, Recorded::Replaced(_)) {
            self.writes.count();
        }
        Ok(recorded)
    }
}

/// Stores `runs` in one transaction, in order.
pub(super) async fn record_all(
    session: &mut Session,
    runs: &[(&Run, &Writing)],
) -> Result<Vec<Recorded>, StoreError> {
    let mut changes = CatalogChanges::default();
    let mut recorded = Vec::new();
    session.begin_write().await?;
    for (run, writing) in runs {
        recorded.push(record(session, &mut changes, run, writing).await?);
    }
    changes.write(session).await?;
    session.commit().await?;
    Ok(recorded)
}

async fn record(
    session: &mut Session,
    changes: &mut CatalogChanges,
    run: &Run,
    writing: &Writing,
) -> Result<Recorded, StoreError> {
    if let Some(done) = session.insert_new(&insert_run(run)).await? {
        let run_id = done.last_insert_id;
        insert_metrics(session, run_id, &run.metrics).await?;
        details::insert(session, run_id, run, &writing.signed).await?;
        catalog::enter_reference(session, run_id, run).await?;
        changes.add_metrics(run_id, run);
        changes.count(&run.series, &run.repo, 1);
        return Ok(Recorded::Created(run_id));
    }
    let stored = stored_run(session, run).await?;
    let head = &stored.head;
    let run_id = head.run_id;
    let conflict = differences(&stored, run);
    if conflict.is_empty() && head.details.voided.is_none() {
        changes.saw(run);
        note_subject(session, head, run).await?;
        return Ok(Recorded::Unchanged(run_id));
    }
    let Some(claims) = precedence(head, run) else {
        return Ok(Recorded::Conflict(conflict));
    };
    if let Err(outside) = claims.check(&writing.narrow, head) {
        return Ok(Recorded::Outside(run_id, outside));
    }
    replace(session, head, run).await?;
    details::replace(session, run_id, &head.details, run, &writing.signed).await?;
    catalog::enter_reference(session, run_id, run).await?;
    if head.details.voided.is_none() {
        changes.count(&run.series, &head.repo, -1);
    }
    if head.succeeded {
        // The catalogue may hold values of the run that was.
        let names: Vec<MetricName> = stored
            .metrics
            .into_iter()
            .map(|metric| metric.name)
            .collect();
        catalog::recompute(session, &run.series, &names).await?;
    }
    changes.add_metrics(run_id, run);
    changes.count(&run.series, &run.repo, 1);
    Ok(Recorded::Replaced(run_id))
}

/// Which claims of a token must hold for the stored run whose place another takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claims {
    /// All of them.
    All,
    /// All but the pipeline: a promotion goes before what another pipeline has stored.
    AllButPipeline,
    /// None: the stored run was taken back already.
    None,
}

impl Claims {
    fn check(self, narrow: &Narrow, stored: &RunHead) -> Result<(), OutsideGrant> {
        let narrow = match self {
            Self::All => narrow.clone(),
            Self::AllButPipeline => Narrow {
                pipeline: None,
                ..narrow.clone()
            },
            Self::None => return Ok(()),
        };
        narrow.check(&stored.repo, &stored.series, &stored.pipeline)
    }
}

/// Whether `run` takes the place of the `stored` run of its identity, and under which claims.
///
/// A run of the pipeline `promote` goes before one of another pipeline, and never the other way
/// round: a token for a check could otherwise block or undo a promotion.
fn precedence(stored: &RunHead, run: &Run) -> Option<Claims> {
    let promote = Pipeline::promote();
    if stored.details.voided.is_some() {
        return Some(Claims::None);
    }
    match (stored.pipeline == promote, run.pipeline == promote) {
        (false, true) => Some(Claims::AllButPipeline),
        (true, false) => None,
        _ => (!stored.succeeded && run.succeeded).then_some(Claims::All),
    }
}

/// A commit's subject is no part of a run's content, but one that was not known is worth keeping.
async fn note_subject(
    session: &mut Session,
    stored: &RunHead,
    run: &Run,
) -> Result<(), StoreError> {
    match (&stored.details.subject, &run.subject) {
        (None, Some(subject)) => details::add_subject(session, stored.run_id, subject).await,
        _ => Ok(()),
    }
}

fn differences(stored: &StoredRun, run: &Run) -> Conflict {
    Conflict {
        run_id: stored.head.run_id,
        repo: stored.head.repo.clone(),
        fields: differing_fields(&stored.head, run),
        metrics: differing_metrics(&stored.metrics, &run.metrics),
    }
}

/// The run whose identity the unique key just said is there.
async fn stored_run(session: &mut Session, run: &Run) -> Result<StoredRun, StoreError> {
    let tag = TagFilter::Is(run.tag.clone());
    let filter = Filter {
        series: (&run.series).into(),
        commit_sha: Some(&run.commit_sha),
        tag: Some(&tag),
        ..Filter::default()
    };
    let rows: Vec<HeadRow> = session.fetch_all(&select_heads(&filter, 1)).await?;
    let Some(row) = rows.into_iter().next() else {
        // It was there and is gone: whoever wrote it rolled back or took it away. Try again.
        return Err(StoreError::Busy(sqlx::Error::RowNotFound));
    };
    let head = RunHead::try_from(row)?;
    let metrics = fetch_metrics(session, head.run_id).await?;
    Ok(StoredRun { head, metrics })
}

async fn replace(session: &mut Session, stored: &RunHead, run: &Run) -> Result<(), StoreError> {
    let updated = session.execute(&update_run(stored, run)).await?;
    if updated.rows_affected == 0 {
        // Another upload replaced it since it was read, and that one stays. Compare anew.
        return Err(StoreError::Busy(sqlx::Error::RowNotFound));
    }
    session.execute(&delete_metrics(stored.run_id)).await?;
    insert_metrics(session, stored.run_id, &run.metrics).await
}

async fn insert_metrics(
    session: &mut Session,
    run_id: RunId,
    metrics: &[Metric],
) -> Result<(), StoreError> {
    for rows in metrics.chunks(ROWS_A_STATEMENT) {
        session.execute(&insert_metric_rows(run_id, rows)).await?;
    }
    Ok(())
}

fn insert_run(run: &Run) -> InsertStatement {
    Query::insert()
        .into_table(Runs::Table)
        .columns([
            Runs::Workload,
            Runs::Branch,
            Runs::Arch,
            Runs::Distro,
            Runs::CommitSha,
            Runs::Tag,
            Runs::Repo,
            Runs::Change,
            Runs::Patchset,
            Runs::Pipeline,
            Runs::HostClass,
            Runs::RunDate,
            Runs::Succeeded,
        ])
        .values_panic([
            run.series.workload.as_str().into(),
            run.series.branch.as_str().into(),
            run.series.arch.as_str().into(),
            run.series.distro.as_str().into(),
            run.commit_sha.as_str().into(),
            run.tag.as_str().into(),
            run.repo.as_str().into(),
            text(run.change.as_ref()).into(),
            text(run.patchset.as_ref()).into(),
            run.pipeline.as_str().into(),
            run.host_class.as_str().into(),
            run.run_date.naive().into(),
            run.succeeded.into(),
        ])
        .to_owned()
}

fn insert_metric_rows(run_id: RunId, metrics: &[Metric]) -> InsertStatement {
    let mut insert = Query::insert();
    insert.into_table(Metrics::Table).columns([
        Metrics::RunId,
        Metrics::MetricKey,
        Metrics::DimKey,
        Metrics::Value,
        Metrics::Wallclock,
    ]);
    for metric in metrics {
        insert.values_panic([
            run_id.into(),
            metric.name.metric_key.as_str().into(),
            metric.name.dim_key.as_str().into(),
            metric.value.decimal().into(),
            metric.wallclock.into(),
        ]);
    }
    insert
}

/// Everything but the identity and the id, if the run is still the one that was read.
fn update_run(stored: &RunHead, run: &Run) -> UpdateStatement {
    // A voided run counts as failed in this column, whatever it was before.
    let succeeded = stored.succeeded && stored.details.voided.is_none();
    Query::update()
        .table(Runs::Table)
        .value(Runs::Repo, run.repo.as_str())
        .value(Runs::Change, text(run.change.as_ref()))
        .value(Runs::Patchset, text(run.patchset.as_ref()))
        .value(Runs::Pipeline, run.pipeline.as_str())
        .value(Runs::HostClass, run.host_class.as_str())
        .value(Runs::RunDate, run.run_date.naive())
        .value(Runs::Succeeded, run.succeeded)
        .and_where(Expr::col(Runs::RunId).eq(stored.run_id))
        .and_where(Expr::col(Runs::Succeeded).eq(succeeded))
        .and_where(Expr::col(Runs::Pipeline).eq(stored.pipeline.as_str()))
        .to_owned()
}

fn delete_metrics(run_id: RunId) -> DeleteStatement {
    Query::delete()
        .from_table(Metrics::Table)
        .and_where(Expr::col(Metrics::RunId).eq(run_id))
        .to_owned()
}

/// A field that may be left out, as text.
fn text(field: Option<&impl ToString>) -> Option<String> {
    field.map(ToString::to_string)
}

fn differing_fields(stored: &RunHead, sent: &Run) -> Vec<FieldDifference> {
    fn whole(field: &impl ToString) -> Option<String> {
        text(Some(field))
    }
    [
        ("repo", whole(&stored.repo), whole(&sent.repo)),
        (
            "change",
            text(stored.change.as_ref()),
            text(sent.change.as_ref()),
        ),
        (
            "patchset",
            text(stored.patchset.as_ref()),
            text(sent.patchset.as_ref()),
        ),
        ("pipeline", whole(&stored.pipeline), whole(&sent.pipeline)),
        (
            "host_class",
            whole(&stored.host_class),
            whole(&sent.host_class),
        ),
        ("run_date", whole(&stored.run_date), whole(&sent.run_date)),
        (
            "succeeded",
            whole(&stored.succeeded),
            whole(&sent.succeeded),
        ),
        (
            "parameters",
            parameters(&stored.details.parameters),
            parameters(&sent.parameters),
        ),
    ]
    .into_iter()
    .filter(|(_, stored, sent)| stored != sent)
    .map(|(field, stored, sent)| FieldDifference {
        field,
        stored,
        sent,
    })
    .collect()
}

/// The parameters as JSON; a run without any lacks them.
fn parameters(parameters: &Parameters) -> Option<String> {
    (!parameters.is_empty()).then(|| parameters_text(parameters))
}

fn differing_metrics(stored: &[Metric], sent: &[Metric]) -> Vec<MetricDifference> {
    let mut both: BTreeMap<&MetricName, (Option<&Metric>, Option<&Metric>)> = BTreeMap::new();
    for metric in stored {
        both.entry(&metric.name).or_default().0 = Some(metric);
    }
    for metric in sent {
        both.entry(&metric.name).or_default().1 = Some(metric);
    }
    both.into_iter()
        .filter(|(_, (stored, sent))| stored != sent)
        .map(|(name, (stored, sent))| MetricDifference {
            name: name.clone(),
            stored: stored.cloned(),
            sent: sent.cloned(),
        })
        .collect()
}
