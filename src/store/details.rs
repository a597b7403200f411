//! What is kept of a run beside the seed's columns: its commit's subject, its parameters, who
//! uploaded it, and whether it was taken back.

use chrono::NaiveDateTime;
use sea_query::{
    DeleteStatement, Expr, ExprTrait, Iden, InsertStatement, IntoColumnRef, Query, SelectStatement,
    UpdateStatement,
};
use sqlx::FromRow;

use super::db::Session;
use super::heads::RowPlace;
use super::schema::Runs;
use super::{RunId, StoreError};
use crate::auth::Bearer;
use crate::domain::{
    CommitSubject, Moment, Parameters, Run, VoidReason, parameters_text, parse_parameters,
};

/// One row for each run; a run that an older version stored has none.
#[derive(Clone, Copy, Iden)]
pub(super) enum RunDetails {
    Table,
    RunId,
    Subject,
    Parameters,
    UploadedBy,
    TokenId,
    UploadedAt,
    VoidedBy,
    VoidTokenId,
    VoidedAt,
    VoidReason,
    VoidedSucceeded,
}

/// What is kept of a run beside the seed's columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The first line of the commit's message.
    pub subject: Option<CommitSubject>,
    /// What the workload was told.
    pub parameters: Parameters,
    /// Who uploaded the run and when; `None` for a run of an older version.
    pub uploaded: Option<Signed>,
    /// Who took the run back, when and why; `None` for a run that counts.
    pub voided: Option<Voided>,
}

/// Who did something to a run, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Whose token it was, and which.
    pub by: Bearer,
    /// When it was done.
    pub at: Moment,
}

/// How a run was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voided {
    /// Who took it back, and when.
    pub signed: Signed,
    /// Why.
    pub reason: VoidReason,
}

/// The columns of a [`DetailsRow`].
const COLUMNS: [RunDetails; 10] = [
    RunDetails::Subject,
    RunDetails::Parameters,
    RunDetails::UploadedBy,
    RunDetails::TokenId,
    RunDetails::UploadedAt,
    RunDetails::VoidedBy,
    RunDetails::VoidTokenId,
    RunDetails::VoidedAt,
    RunDetails::VoidReason,
    RunDetails::VoidedSucceeded,
];

/// The columns of a [`DetailsRow`], from `run_details`.
pub(super) fn columns() -> impl Iterator<Item = sea_query::ColumnRef> {
    COLUMNS
        .into_iter()
        .map(|column| (RunDetails::Table, column).into_column_ref())
}

/// Puts the details to the runs of a statement; a run without them stays.
pub(super) fn join(select: &mut SelectStatement) {
    let of_run = column(RunDetails::RunId).equals((Runs::Table, Runs::RunId));
    select.left_join(RunDetails::Table, of_run);
}

/// A column of the joined details.
pub(super) fn column(column: RunDetails) -> Expr {
    Expr::col((RunDetails::Table, column))
}

/// A row of `run_details`, or NULL throughout.
#[derive(FromRow)]
pub(super) struct DetailsRow {
    subject: Option<String>,
    parameters: Option<String>,
    uploaded_by: Option<String>,
    token_id: Option<String>,
    uploaded_at: Option<NaiveDateTime>,
    voided_by: Option<String>,
    void_token_id: Option<String>,
    voided_at: Option<NaiveDateTime>,
    void_reason: Option<String>,
    pub(super) voided_succeeded: Option<bool>,
}

impl DetailsRow {
    pub(super) fn parse(self, run_id: RunId) -> Result<Details, StoreError> {
        let at = RowPlace::of_run("run_details", run_id);
        let subject = self.subject.map(|text| at.parse("subject", text));
        let parameters = self
            .parameters
            .map(|text| parse_parameters(&text).map_err(|detail| at.corrupt("parameters", detail)));
        let uploaded = signed(at, self.uploaded_by, self.token_id, self.uploaded_at)?;
        let voided = signed(at, self.voided_by, self.void_token_id, self.voided_at)?;
        let reason = self.void_reason.map(|text| at.parse("void_reason", text));
        Ok(Details {
            subject: subject.transpose()?,
            parameters: parameters.transpose()?.unwrap_or_default(),
            uploaded,
            voided: match (voided, reason.transpose()?) {
                (Some(signed), Some(reason)) => Some(Voided { signed, reason }),
                _ => None,
            },
        })
    }
}

fn signed(
    at: RowPlace,
    by: Option<String>,
    token_id: Option<String>,
    when: Option<NaiveDateTime>,
) -> Result<Option<Signed>, StoreError> {
    let (Some(by), Some(when)) = (by, when) else {
        return Ok(None);
    };
    Ok(Some(Signed {
        by: Bearer {
            subject: at.parse("uploaded_by", by)?,
            token_id,
        },
        at: at.parse("uploaded_at", when)?,
    }))
}

/// Writes the details of a run that is new.
pub(super) async fn insert(
    session: &mut Session,
    run_id: RunId,
    run: &Run,
    uploaded: &Signed,
) -> Result<(), StoreError> {
    session
        .execute(&insert_uploaded(run_id, run, uploaded))
        .await?;
    Ok(())
}

/// Writes the details of a run that takes the place of the one that `stored` is of.
pub(super) async fn replace(
    session: &mut Session,
    run_id: RunId,
    stored: &Details,
    run: &Run,
    uploaded: &Signed,
) -> Result<(), StoreError> {
    session.execute(&delete(run_id, stored)).await?;
    // A row that is still there is another one than was read: the run was voided since, or another
    // upload took its place. Compare anew.
    match session
        .insert_new(&insert_uploaded(run_id, run, uploaded))
        .await?
    {
        Some(_) => Ok(()),
        None => Err(StoreError::Busy(sqlx::Error::RowNotFound)),
    }
}

/// Notes the subject of a commit that was stored without one.
pub(super) async fn add_subject(
    session: &mut Session,
    run_id: RunId,
    subject: &CommitSubject,
) -> Result<(), StoreError> {
    let update = Query::update()
        .table(RunDetails::Table)
        .value(RunDetails::Subject, subject.as_str())
        .and_where(Expr::col(RunDetails::RunId).eq(run_id))
        .and_where(Expr::col(RunDetails::Subject).is_null())
        .to_owned();
    session.execute(&update).await?;
    Ok(())
}

/// Notes that a run was taken back, unless another has done so since it was read.
pub(super) async fn write_void(
    session: &mut Session,
    run_id: RunId,
    voided: &Voided,
    succeeded: bool,
) -> Result<(), StoreError> {
    let updated = session
        .execute(&update_voided(run_id, voided, succeeded))
        .await?;
    if updated.rows_affected > 0 {
        return Ok(());
    }
    // A run of an older version has no row yet. One that was just voided has, and is read anew.
    match session
        .insert_new(&insert_voided(run_id, voided, succeeded))
        .await?
    {
        Some(_) => Ok(()),
        None => Err(StoreError::Busy(sqlx::Error::RowNotFound)),
    }
}

fn insert_uploaded(run_id: RunId, run: &Run, uploaded: &Signed) -> InsertStatement {
    let subject = run.subject.as_ref().map(CommitSubject::as_str);
    let parameters = (!run.parameters.is_empty()).then(|| parameters_text(&run.parameters));
    Query::insert()
        .into_table(RunDetails::Table)
        .columns([
            RunDetails::RunId,
            RunDetails::Subject,
            RunDetails::Parameters,
            RunDetails::UploadedBy,
            RunDetails::TokenId,
            RunDetails::UploadedAt,
        ])
        .values_panic([
            run_id.into(),
            subject.into(),
            parameters.into(),
            uploaded.by.subject.as_str().into(),
            uploaded.by.token_id.as_deref().into(),
            uploaded.at.naive().into(),
        ])
        .to_owned()
}

fn insert_voided(run_id: RunId, voided: &Voided, succeeded: bool) -> InsertStatement {
    Query::insert()
        .into_table(RunDetails::Table)
        .columns([
            RunDetails::RunId,
            RunDetails::VoidedBy,
            RunDetails::VoidTokenId,
            RunDetails::VoidedAt,
            RunDetails::VoidReason,
            RunDetails::VoidedSucceeded,
        ])
        .values_panic([
            run_id.into(),
            voided.signed.by.subject.as_str().into(),
            voided.signed.by.token_id.as_deref().into(),
            voided.signed.at.naive().into(),
            voided.reason.as_str().into(),
            succeeded.into(),
        ])
        .to_owned()
}

fn update_voided(run_id: RunId, voided: &Voided, succeeded: bool) -> UpdateStatement {
    let token_id = voided.signed.by.token_id.as_deref();
    Query::update()
        .table(RunDetails::Table)
        .value(RunDetails::VoidedBy, voided.signed.by.subject.as_str())
        .value(RunDetails::VoidTokenId, token_id)
        .value(RunDetails::VoidedAt, voided.signed.at.naive())
        .value(RunDetails::VoidReason, voided.reason.as_str())
        .value(RunDetails::VoidedSucceeded, succeeded)
        .and_where(Expr::col(RunDetails::RunId).eq(run_id))
        .and_where(Expr::col(RunDetails::VoidedAt).is_null())
        .to_owned()
}

/// The row of a run, if the run is still voided or not as it was read.
fn delete(run_id: RunId, stored: &Details) -> DeleteStatement {
    let voided_at = Expr::col(RunDetails::VoidedAt);
    Query::delete()
        .from_table(RunDetails::Table)
        .and_where(Expr::col(RunDetails::RunId).eq(run_id))
        .and_where(match stored.voided {
            Some(_) => voided_at.is_not_null(),
            None => voided_at.is_null(),
        })
        .to_owned()
}
