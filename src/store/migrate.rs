//! Brings the schema up to date, at the start of every service.
//!
//! Several services may start at once, be killed half way, or run on an engine where DDL does not
//! roll back. So a migration is a list of statements that may each run twice, is recorded once all
//! have run, and is simply run again by whoever finds it unrecorded. A lock only saves work.

use std::time::Duration;

use sea_query::{Expr, Iden, InsertStatement, OnConflict, Order, Query, SelectStatement};
use sqlx::FromRow;
use sqlx::migrate::{Migration, Migrator};

use super::db::{Db, Session};
use super::{StoreError, retries, within};
use backon::Retryable;

static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");
static MYSQL: Migrator = sqlx::migrate!("migrations/mysql");
static DRIZZLE: Migrator = sqlx::migrate!("migrations/drizzle");

#[derive(Clone, Copy, Iden)]
enum PerfTrackingMigrations {
    Table,
    Version,
    Checksum,
}

const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS perf_tracking_migrations (\
    version BIGINT NOT NULL PRIMARY KEY, checksum VARCHAR(96) NOT NULL)";

/// A change of a large table takes its time; one that has taken this long was lost with the network.
const CHANGE_LIMIT: Duration = Duration::from_secs(3600);

/// How long [`LOCK`] waits.
const LOCK_WAIT: Duration = Duration::from_secs(60);
/// Waited for this long at most, as another service may die with it on a server that goes on.
const LOCK: &str = "SELECT GET_LOCK('perf_tracking_migrations', 60)";
const UNLOCK: &str = "SELECT RELEASE_LOCK('perf_tracking_migrations')";

#[derive(FromRow)]
struct Applied {
    version: i64,
    checksum: String,
}

/// Applies what is not applied yet. A database that says nothing for `limit` is given up.
pub(super) async fn run(db: &Db, limit: Duration) -> Result<(), StoreError> {
    let migrated = (|| attempt(db, limit))
        .retry(retries().with_max_times(20))
        .when(|error: &StoreError| matches!(error, StoreError::Busy(_)))
        .await;
    db.note_write(&migrated);
    migrated
}

async fn attempt(db: &Db, limit: Duration) -> Result<(), StoreError> {
    let mut session = db.write().await?;
    match db {
        Db::Sqlite { .. } => {
            session.begin_write().await?;
            apply_missing(&mut session, &SQLITE, limit).await?;
            session.check_writable().await?;
            session.commit().await?;
            session.finish();
        }
        Db::MySql(_) => apply_locked(&mut session, &MYSQL, limit).await?,
        Db::Text(_) => {
            apply_locked(&mut session, &DRIZZLE, limit).await?;
            check_characters(&mut session).await?;
        }
    }
    // The connection to a server is closed: its statements have no time limit any more.
    Ok(())
}

/// Lets a change of a large table take longer than a statement may. MySQL limits reads alone.
const NO_LIMIT: &str = "SET SESSION max_statement_time = 0";

/// Columns of text that hold three bytes of a character only; Drizzle has none, and may not know this
/// question.
const NARROW_COLUMNS: &str = "SELECT COUNT(*) FROM information_schema.columns \
    WHERE table_schema = DATABASE() AND table_name = 'runs' \
    AND character_set_name IN ('utf8', 'utf8mb3')";

/// Checks that a server that takes plain text alone made tables for every character.
async fn check_characters(session: &mut Session) -> Result<(), StoreError> {
    match session.raw_number(NARROW_COLUMNS).await {
        Ok(Some(columns)) if columns > 0 => Err(StoreError::NarrowCharacters),
        Ok(_) | Err(StoreError::Other(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A server that has no such locks, as a node of a cluster may, does without.
async fn apply_locked(
    session: &mut Session,
    migrator: &Migrator,
    limit: Duration,
) -> Result<(), StoreError> {
    match session.raw(NO_LIMIT).await {
        Ok(()) | Err(StoreError::Other(_)) => {}
        Err(error) => return Err(error),
    }
    let locked = match within(LOCK_WAIT + limit, session.raw_number(LOCK)).await {
        Ok(answer) => answer == Some(1),
        Err(StoreError::Other(_)) => false,
        Err(error) => return Err(error),
    };
    apply_missing(session, migrator, limit).await?;
    if locked {
        within(limit, session.raw_number(UNLOCK)).await?;
    }
    Ok(())
}

async fn apply_missing(
    session: &mut Session,
    migrator: &Migrator,
    limit: Duration,
) -> Result<(), StoreError> {
    within(limit, session.raw(CREATE_TABLE)).await?;
    let applied: Vec<Applied> = within(limit, session.fetch_all(&select_applied())).await?;
    check(&applied, migrator)?;
    let missing = migrator.iter().filter(|migration| {
        applied
            .iter()
            .all(|known| known.version != migration.version)
    });
    for migration in missing {
        for statement in statements(migration.sql.as_str()) {
            within(CHANGE_LIMIT, run_again(session, &statement)).await?;
        }
        within(limit, session.execute(&record(migration))).await?;
        tracing::info!(version = migration.version, name = %migration.description, "migrated");
    }
    Ok(())
}

/// Checks that everything is applied, of a SQLite file that is only read.
pub(super) async fn check_only(db: &Db, limit: Duration) -> Result<(), StoreError> {
    let mut session = db.read().await?;
    let applied: Vec<Applied> = within(limit, session.fetch_all(&select_applied())).await?;
    session.finish();
    check(&applied, &SQLITE)?;
    let known = SQLITE.iter().count();
    if applied.len() < known {
        return Err(StoreError::TooOld);
    }
    Ok(())
}

fn check(applied: &[Applied], migrator: &Migrator) -> Result<(), StoreError> {
    let known = migrator
        .iter()
        .map(|migration| migration.version)
        .max()
        .unwrap_or(0);
    for row in applied {
        let Some(migration) = migrator
            .iter()
            .find(|migration| migration.version == row.version)
        else {
            return Err(StoreError::TooNew {
                found: row.version,
                known,
            });
        };
        if row.checksum != checksum(migration) {
            return Err(StoreError::ForeignMigration {
                version: row.version,
            });
        }
    }
    Ok(())
}

/// Runs a statement that may have run before: "is there already" and "is gone already" are success.
async fn run_again(session: &mut Session, statement: &str) -> Result<(), StoreError> {
    match session.raw(statement).await {
        Err(StoreError::Other(error)) if is_done_already(&error) => Ok(()),
        result => result,
    }
}

/// Table, column or key exists (1050, 1060, 1061), or is not there to be dropped (1051, 1091). SQLite says
/// by `IF NOT EXISTS` that a table or an index may be there; for a column it has no such words.
fn is_done_already(error: &sqlx::Error) -> bool {
    let Some(cause) = error.as_database_error() else {
        return false;
    };
    match cause.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        Some(cause) => matches!(cause.number(), 1050 | 1051 | 1060 | 1061 | 1091),
        None => cause.message().contains("duplicate column name"),
    }
}

/// The statements of a file: it holds no literal with a semicolon, and comments have their own lines.
fn statements(file: &str) -> Vec<String> {
    let code: Vec<&str> = file
        .lines()
        .filter(|line| !line.trim_start().starts_with("--"))
        .collect();
    code.join("\n")
        .split(';')
        .map(str::trim)
        .filter(|statement| !statement.is_empty())
        .map(str::to_owned)
        .collect()
}

fn checksum(migration: &Migration) -> String {
    migration
        .checksum
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn select_applied() -> SelectStatement {
    Query::select()
        .columns([
            PerfTrackingMigrations::Version,
            PerfTrackingMigrations::Checksum,
        ])
        .from(PerfTrackingMigrations::Table)
        .order_by(PerfTrackingMigrations::Version, Order::Desc)
        .to_owned()
}

/// Another service may have recorded it in the meantime.
fn record(migration: &Migration) -> InsertStatement {
    let again = OnConflict::column(PerfTrackingMigrations::Version)
        .value(
            PerfTrackingMigrations::Version,
            Expr::col((
                PerfTrackingMigrations::Table,
                PerfTrackingMigrations::Version,
            )),
        )
        .to_owned();
    Query::insert()
        .into_table(PerfTrackingMigrations::Table)
        .columns([
            PerfTrackingMigrations::Version,
            PerfTrackingMigrations::Checksum,
        ])
        .values_panic([migration.version.into(), checksum(migration).into()])
        .on_conflict(again)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_has_the_same_migrations() {
        let names = |migrator: &Migrator| -> Vec<(i64, String)> {
            migrator
                .iter()
                .map(|m| (m.version, m.description.to_string()))
                .collect()
        };
        assert_eq!(names(&SQLITE), names(&MYSQL));
        assert_eq!(names(&MYSQL), names(&DRIZZLE));
    }

    #[test]
    fn a_file_is_split_at_its_semicolons_without_its_comments() {
        assert_eq!(
            statements("-- why; how\nCREATE a;\n\n-- and\nCREATE\n  b;\n"),
            ["CREATE a", "CREATE\n  b"]
        );
    }
}
