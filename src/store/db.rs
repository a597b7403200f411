//! The one place where the three ways to a database are told apart.

use std::time::{Duration, Instant};

use rust_decimal::Decimal;
use sea_query::{
    Alias, DeleteStatement, Expr, Func, InsertStatement, IntoIden, MysqlQueryBuilder,
    QueryStatementWriter, SelectStatement, SqliteQueryBuilder, UpdateStatement,
};
use sea_query_sqlx::SqlxBinder;
use sqlx::mysql::{
    MySqlConnectOptions, MySqlDatabaseError, MySqlQueryResult, MySqlRow, MySqlSslMode,
    MySqlTypeInfo, MySqlValueRef,
};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteQueryResult,
    SqliteRow, SqliteSynchronous, SqliteTypeInfo, SqliteValueRef,
};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, FromRow, MySql, Pool, Sqlite};

use super::file::DataFile;
use super::pool::{self, ServerConnection, ServerPool};
use super::{DatabaseScheme, DatabaseUrl, PoolUse, StoreError, StoreOptions};
use crate::domain::Value;

/// A pool of connections to one database.
#[derive(Clone)]
pub(super) enum Db {
    /// Statements are prepared. One connection writes, several read beside it.
    Sqlite {
        read: SqlitePool,
        write: SqlitePool,
        file: DataFile,
        /// How long the statements of one read may take.
        limit: Duration,
    },
    /// Statements are prepared.
    MySql(ServerPool),
    /// Statements go out as text.
    Text(ServerPool),
}

/// Transactions that write to a server at a time.
const SERVER_WRITERS: u32 = 4;
/// Connections that read an embedded file; more would wait for the same processors.
const SQLITE_READERS: u32 = 4;
/// Connections that are left for the question whether the database can serve.
const CHECKS: u32 = 1;

/// Reads one row of a table that every database of ours has.
const ONE_ROW: &str = "SELECT MAX(version) FROM perf_tracking_migrations";

/// Deletes no row of that table.
const NO_ROW: &str = "DELETE FROM perf_tracking_migrations WHERE 0";

impl Db {
    pub(super) fn open(url: &DatabaseUrl, options: &StoreOptions) -> Result<Self, StoreError> {
        match url.scheme() {
            DatabaseScheme::Sqlite => {
                let connect = sqlite_options(url, options.timeout)?;
                if !url.is_frozen() {
                    make_folder(connect.get_filename())?;
                }
                let file = DataFile::new(connect.get_filename(), !url.is_frozen());
                let pool = |connections| {
                    let file = file.clone();
                    SqlitePoolOptions::new()
                        .after_connect(move |_, _| {
                            let opened = file.note_opened();
                            let opened = opened.map_err(|lost| sqlx::Error::Io(lost.into()));
                            Box::pin(std::future::ready(opened))
                        })
                        .max_connections(connections)
                        .acquire_timeout(options.timeout)
                        // The last connection to close takes the log of the file with it, and a
                        // full disk has no room for another: there is always one that reads.
                        .idle_timeout(None)
                        .max_lifetime(None)
                        .connect_lazy_with(connect.clone())
                };
                Ok(Self::Sqlite {
                    read: pool(SQLITE_READERS.min(options.connections) + CHECKS),
                    write: pool(1),
                    file,
                    limit: statement_limit(options.timeout),
                })
            }
            DatabaseScheme::MySql => {
                let connect = url.expose().parse::<MySqlConnectOptions>()?;
                let seconds = options.timeout.as_secs_f64().ceil().max(1.0);
                let statement = statement_limit(options.timeout);
                let pool = ServerPool::new(connect, options, move |connection| {
                    Box::pin(async move {
                        limit_waits(connection, seconds).await?;
                        limit_statements(connection, statement).await?;
                        read_one_state(connection).await
                    })
                });
                pool.map(Self::MySql)
            }
            DatabaseScheme::Drizzle => {
                let connect = text_options(url)?;
                let statement = statement_limit(options.timeout);
                let pool = ServerPool::new(connect, options, move |connection| {
                    Box::pin(async move {
                        check_escapes(connection).await?;
                        hold_every_character(connection).await?;
                        limit_statements(connection, statement).await?;
                        read_one_state(connection).await
                    })
                });
                pool.map(Self::Text)
            }
        }
    }

    /// How many transactions that write it pays to have under way. An embedded file takes one; a
    /// server works on one while others wait for its disk, as long as there are connections left.
    pub(super) fn writers(&self) -> u32 {
        match self {
            Self::Sqlite { .. } => 1,
            Self::MySql(pool) | Self::Text(pool) => SERVER_WRITERS.min(pool.usage().limit),
        }
    }

    /// How many reads may be under way, so that connections are left for uploads and checks.
    pub(super) fn readers(&self) -> u32 {
        match self {
            Self::Sqlite { read, .. } => read.options().get_max_connections() - CHECKS,
            Self::MySql(pool) | Self::Text(pool) => {
                let kept = self.writers() + CHECKS;
                pool.usage().limit.saturating_sub(kept).max(1)
            }
        }
    }

    /// Whether the database can serve: it answers a read of a row and takes writes.
    pub(super) async fn check(&self) -> Result<(), StoreError> {
        let mut session = self.read().await?;
        session.raw_number(ONE_ROW).await?;
        session.finish();
        self.check_file()?;
        match self {
            Self::Sqlite { file, .. } if file.was_read_only() => self.try_to_write().await,
            _ => Ok(()),
        }
    }

    /// Checks that what was written is where the next start will look for it.
    pub(super) fn check_file(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite { file, .. } => file.check(),
            Self::MySql(_) | Self::Text(_) => Ok(()),
        }
    }

    /// Remembers whether the database took the last write.
    pub(super) fn note_write<T>(&self, written: &Result<T, StoreError>) {
        let Self::Sqlite { file, .. } = self else {
            return;
        };
        match written {
            Ok(_) => file.note_read_only(false),
            Err(StoreError::ReadOnly(_)) => file.note_read_only(true),
            Err(_) => {}
        }
    }

    async fn try_to_write(&self) -> Result<(), StoreError> {
        let written = async {
            let mut session = self.write().await?;
            session.begin_write().await?;
            session.check_writable().await?;
            session.raw("ROLLBACK").await?;
            session.finish();
            Ok(())
        };
        let written = written.await;
        self.note_write(&written);
        written
    }

    /// Closes every connection. The last one that closes writes SQLite's log into its file, so it is
    /// one that may write.
    pub(super) async fn close(&self) {
        match self {
            Self::Sqlite { read, write, .. } => {
                read.close().await;
                write.close().await;
                move_log(write).await;
            }
            Self::MySql(pool) | Self::Text(pool) => pool.close(),
        }
    }

    /// A session that only reads.
    pub(super) async fn read(&self) -> Result<Session, StoreError> {
        Ok(match self {
            Self::Sqlite { read, limit, .. } => {
                let mut connection = read.acquire().await?;
                stop_after(&mut connection, *limit).await?;
                Session::new(Connected::Sqlite(connection))
            }
            Self::MySql(pool) => Session::new(Connected::MySql(pool.acquire().await?)),
            Self::Text(pool) => Session::new(Connected::Text(pool.acquire().await?)),
        })
    }

    /// A session that may write.
    pub(super) async fn write(&self) -> Result<Session, StoreError> {
        match self {
            Self::Sqlite { write, .. } => {
                Ok(Session::new(Connected::Sqlite(write.acquire().await?)))
            }
            Self::MySql(_) | Self::Text(_) => self.read().await,
        }
    }

    pub(super) fn pool_use(&self) -> PoolUse {
        match self {
            Self::Sqlite { read, write, .. } => PoolUse {
                open: read.size() + write.size(),
                idle: idle(read) + idle(write),
                limit: read.options().get_max_connections() + write.options().get_max_connections(),
            },
            Self::MySql(pool) | Self::Text(pool) => pool.usage(),
        }
    }
}

/// Moves what SQLite's log still holds into the file.
///
/// A connection that was dropped with its runtime closes on a thread of its own, which the end of the
/// process may come before. So one more connection moves the rest, and is waited for.
async fn move_log(pool: &SqlitePool) {
    let options = pool.connect_options().as_ref().clone();
    let Ok(mut connection) = options.create_if_missing(false).connect().await else {
        return;
    };
    // The runs are on disk already, in the log; a failure here loses none.
    let _ = sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        .execute(&mut connection)
        .await;
    let _ = connection.close().await;
}

fn idle<D: sqlx::Database>(pool: &Pool<D>) -> u32 {
    u32::try_from(pool.num_idle()).unwrap_or(u32::MAX)
}

fn make_folder(file: &std::path::Path) -> Result<(), StoreError> {
    let Some(folder) = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    else {
        return Ok(());
    };
    std::fs::create_dir_all(folder).map_err(|source| StoreError::Folder {
        path: folder.display().to_string(),
        source,
    })
}

/// An acknowledged run is on disk: `FULL` waits for it at every commit.
fn sqlite_options(
    url: &DatabaseUrl,
    busy_timeout: Duration,
) -> Result<SqliteConnectOptions, sqlx::Error> {
    let options = url.expose().parse::<SqliteConnectOptions>()?;
    if url.is_frozen() {
        return Ok(options);
    }
    Ok(options
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(busy_timeout))
}

/// The server gives up when the use case does.
///
/// It does not notice that a client has gone while a statement waits for a lock, nor that a network
/// lost a client in the middle of a transaction: without limits, it would hold the locks of such a
/// one for hours, everyone else would wait for them, and their connections would pile up.
async fn limit_waits(
    connection: &mut sqlx::MySqlConnection,
    seconds: f64,
) -> Result<(), sqlx::Error> {
    // MariaDB has a limit for a transaction in which nothing happens, others one for any silence.
    for silence in ["idle_transaction_timeout", "wait_timeout"] {
        let sql = format!(
            "SET SESSION innodb_lock_wait_timeout = {seconds}, SESSION {silence} = {seconds}"
        );
        match sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut *connection)
            .await
        {
            Err(error) if is_unknown_variable(&error) => {}
            result => return result.map(drop),
        }
    }
    Ok(())
}

/// The time for one statement of a use case that may take `timeout`. The database stops a statement
/// by itself a little earlier than the use case ends, so that its answer says why.
fn statement_limit(timeout: Duration) -> Duration {
    timeout.mul_f64(0.9)
}

/// Steps of SQLite's virtual machine between two looks at the time: well under a millisecond.
const STEPS: i32 = 10_000;

/// Lets SQLite end what it does on `connection` after `limit`: it works in a thread of its own, which
/// would otherwise go on for a caller that has left.
async fn stop_after(
    connection: &mut PoolConnection<Sqlite>,
    limit: Duration,
) -> Result<(), sqlx::Error> {
    let end = Instant::now() + limit;
    let mut handle = connection.lock_handle().await?;
    handle.set_progress_handler(STEPS, move || Instant::now() < end);
    Ok(())
}

/// Lets the server end a statement after `limit`: it does not notice that its client has gone.
///
/// MariaDB counts in seconds, MySQL in milliseconds and reads only. Drizzle has no such limit.
async fn limit_statements(
    connection: &mut sqlx::MySqlConnection,
    limit: Duration,
) -> Result<(), sqlx::Error> {
    let seconds = format!("SET SESSION max_statement_time = {}", limit.as_secs_f64());
    let millis = format!(
        "SET SESSION max_execution_time = {}",
        limit.as_millis().max(1)
    );
    for sql in [seconds, millis] {
        match sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut *connection)
            .await
        {
            Err(error) if is_not_offered(&error) => {}
            result => return result.map(drop),
        }
    }
    Ok(())
}

/// Lets a transaction of several reads see one state of the database, whatever the server's default
/// is. Drizzle has no other way to read.
async fn read_one_state(connection: &mut sqlx::MySqlConnection) -> Result<(), sqlx::Error> {
    let sql = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";
    match sqlx::raw_sql(sql).execute(connection).await {
        Err(error) if is_not_offered(&error) => Ok(()),
        result => result.map(drop),
    }
}

/// Lets `utf8` stand for characters of four bytes on MariaDB, as it does on Drizzle, for whose tables
/// the statements are written. [`migrate`](super::migrate) refuses a server where it does not.
async fn hold_every_character(connection: &mut sqlx::MySqlConnection) -> Result<(), sqlx::Error> {
    let sql = "SET SESSION old_mode = ''";
    match sqlx::raw_sql(sql).execute(connection).await {
        Err(error) if is_not_offered(&error) => Ok(()),
        result => result.map(drop),
    }
}

/// Whether the server does not know a variable (1193) or the statement that sets it (1064).
fn is_not_offered(error: &sqlx::Error) -> bool {
    let cause = error
        .as_database_error()
        .and_then(|cause| cause.try_downcast_ref::<MySqlDatabaseError>());
    cause.is_some_and(|cause| matches!(cause.number(), 1193 | 1064))
}

fn is_unknown_variable(error: &sqlx::Error) -> bool {
    let cause = error
        .as_database_error()
        .and_then(|cause| cause.try_downcast_ref::<MySqlDatabaseError>());
    cause.is_some_and(|cause| cause.number() == 1193)
}

/// Drizzle knows none of the variables that `sqlx` sets on connect, and offers no TLS.
fn text_options(url: &DatabaseUrl) -> Result<MySqlConnectOptions, sqlx::Error> {
    // The driver knows the protocol by its own name alone.
    let url = url.expose().replacen("drizzle://", "mysql://", 1);
    Ok(url
        .parse::<MySqlConnectOptions>()?
        .ssl_mode(MySqlSslMode::Disabled)
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .timezone(None)
        .set_names(false))
}

/// Text statements are safe only where a backslash escapes and characters are read as UTF-8.
async fn check_escapes(connection: &mut sqlx::MySqlConnection) -> Result<(), sqlx::Error> {
    let probe = r"SELECT CHAR_LENGTH('\\'), CHAR_LENGTH('é😀')";
    let row = sqlx::raw_sql(probe).fetch_one(connection).await?;
    if <(i64, i64)>::from_row(&row)? == (1, 2) {
        return Ok(());
    }
    Err(sqlx::Error::Configuration(Box::new(StoreError::Escapes)))
}

enum Connected {
    Sqlite(PoolConnection<Sqlite>),
    MySql(ServerConnection),
    Text(ServerConnection),
}

/// What a statement did.
pub(super) struct Done {
    /// The id that an insert into a table with one was given.
    pub(super) last_insert_id: i64,
    /// Rows that the statement wrote; not to be relied on after an insert that updates.
    pub(super) rows_affected: u64,
}

impl From<SqliteQueryResult> for Done {
    fn from(result: SqliteQueryResult) -> Self {
        Self {
            last_insert_id: result.last_insert_rowid(),
            rows_affected: result.rows_affected(),
        }
    }
}

impl From<MySqlQueryResult> for Done {
    fn from(result: MySqlQueryResult) -> Self {
        Self {
            // Ids are signed; a server counts up from one and never gets to the other half.
            last_insert_id: i64::try_from(result.last_insert_id()).unwrap_or(i64::MAX),
            rows_affected: result.rows_affected(),
        }
    }
}

/// One connection for the length of one use case.
///
/// A session that is dropped before [`Session::finish`], because its use case failed, ran out of
/// time or was given up by its client, closes its connection at once: the server rolls back, and no
/// half-read answer waits for the next user of the pool.
pub(super) struct Session(Option<Connected>);

impl Drop for Session {
    fn drop(&mut self) {
        match self.0.take() {
            Some(Connected::Sqlite(connection)) => drop(connection.detach()),
            Some(Connected::MySql(connection) | Connected::Text(connection)) => {
                pool::close(connection);
            }
            None => {}
        }
    }
}

impl Session {
    fn new(connected: Connected) -> Self {
        Self(Some(connected))
    }

    /// Gives the connection back to the pool; outside a transaction, between two statements.
    pub(super) fn finish(mut self) {
        drop(self.0.take());
    }

    fn connected(&mut self) -> Result<&mut Connected, sqlx::Error> {
        self.0.as_mut().ok_or(sqlx::Error::PoolClosed)
    }

    /// Whether a transaction sees commits of others that a crash of the database may yet take. An
    /// embedded file shows a commit once it is on disk.
    pub(super) fn shows_what_is_not_on_disk(&self) -> bool {
        !matches!(self.0, Some(Connected::Sqlite(_)))
    }

    /// The value that an insert has for `column` of a row that is there already, inside its
    /// `ON CONFLICT` clause.
    pub(super) fn incoming(&self, column: impl IntoIden) -> Expr {
        match self.0 {
            Some(Connected::Sqlite(_)) => Expr::col((Alias::new("excluded"), column.into_iden())),
            _ => Func::cust("VALUES")
                .arg(Expr::col(column.into_iden()))
                .into(),
        }
    }

    /// Starts a transaction that reads one state of the database.
    pub(super) async fn begin_read(&mut self) -> Result<(), StoreError> {
        self.raw("BEGIN").await
    }

    /// Starts a transaction that will write. SQLite takes its one write lock now, where it can
    /// wait for it, rather than at the first write, where it cannot.
    pub(super) async fn begin_write(&mut self) -> Result<(), StoreError> {
        let statement = match self.connected()? {
            Connected::Sqlite(_) => "BEGIN IMMEDIATE",
            Connected::MySql(_) | Connected::Text(_) => "BEGIN",
        };
        self.raw(statement).await
    }

    /// Writes nothing, as a write. SQLite starts a transaction on a read-only file as if it were one
    /// that may write, and refuses its first statement that does.
    pub(super) async fn check_writable(&mut self) -> Result<(), StoreError> {
        match self.connected()? {
            Connected::Sqlite(_) => self.raw(NO_ROW).await,
            Connected::MySql(_) | Connected::Text(_) => Ok(()),
        }
    }

    /// Ends the transaction and keeps what it did.
    pub(super) async fn commit(&mut self) -> Result<(), StoreError> {
        self.raw("COMMIT").await
    }

    /// Runs a statement that holds no value, as text on every engine.
    pub(super) async fn raw(&mut self, sql: &str) -> Result<(), StoreError> {
        let query = sqlx::raw_sql(AssertSqlSafe(sql));
        match self.connected()? {
            Connected::Sqlite(connection) => query.execute(&mut **connection).await.map(|_| ())?,
            Connected::MySql(connection) | Connected::Text(connection) => {
                query.execute(&mut **connection).await.map(|_| ())?;
            }
        }
        Ok(())
    }

    /// The one number that the text statement `sql` answers with, `None` for no row or NULL.
    pub(super) async fn raw_number(
        &mut self,
        sql: &'static str,
    ) -> Result<Option<i64>, StoreError> {
        let query = sqlx::raw_sql(sql);
        let row: Option<(Option<i64>,)> = match self.connected()? {
            Connected::Sqlite(connection) => query
                .fetch_optional(&mut **connection)
                .await?
                .map(|row| FromRow::from_row(&row))
                .transpose()?,
            Connected::MySql(connection) | Connected::Text(connection) => query
                .fetch_optional(&mut **connection)
                .await?
                .map(|row| FromRow::from_row(&row))
                .transpose()?,
        };
        Ok(row.and_then(|(number,)| number))
    }

    /// The rows that `statement` answers with.
    pub(super) async fn fetch_all<T: Row>(
        &mut self,
        statement: &SelectStatement,
    ) -> Result<Vec<T>, StoreError> {
        #[cfg(test)]
        super::growth_tests::note(statement);
        match self.connected()? {
            Connected::Sqlite(connection) => {
                let (sql, values) = statement.build_sqlx(SqliteQueryBuilder);
                let query = sqlx::query_as_with(AssertSqlSafe(sql), values);
                Ok(query.fetch_all(&mut **connection).await?)
            }
            Connected::MySql(connection) => {
                let (sql, values) = statement.build_sqlx(MysqlQueryBuilder);
                let query = sqlx::query_as_with(AssertSqlSafe(sql), values);
                Ok(query.fetch_all(&mut **connection).await?)
            }
            Connected::Text(connection) => {
                let sql = statement.to_string(MysqlQueryBuilder);
                let query = sqlx::raw_sql(AssertSqlSafe(sql));
                let rows = query.fetch_all(&mut **connection).await?;
                Ok(rows.iter().map(T::from_row).collect::<Result<_, _>>()?)
            }
        }
    }

    pub(super) async fn execute(&mut self, statement: &impl Statement) -> Result<Done, StoreError> {
        Ok(match self.connected()? {
            Connected::Sqlite(connection) => {
                let (sql, values) = statement.build_sqlx(SqliteQueryBuilder);
                let query = sqlx::query_with(AssertSqlSafe(sql), values);
                query.execute(&mut **connection).await?.into()
            }
            Connected::MySql(connection) => {
                let (sql, values) = statement.build_sqlx(MysqlQueryBuilder);
                let query = sqlx::query_with(AssertSqlSafe(sql), values);
                query.execute(&mut **connection).await?.into()
            }
            Connected::Text(connection) => {
                let sql = statement.to_string(MysqlQueryBuilder);
                let query = sqlx::raw_sql(AssertSqlSafe(sql));
                query.execute(&mut **connection).await?.into()
            }
        })
    }

    /// Inserts a row; `None` where a unique key has it already, and the transaction goes on.
    pub(super) async fn insert_new(
        &mut self,
        statement: &InsertStatement,
    ) -> Result<Option<Done>, StoreError> {
        match self.execute(statement).await {
            Ok(done) => Ok(Some(done)),
            Err(StoreError::Other(error)) if is_duplicate(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A row that can be read from every engine.
pub(super) trait Row:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, MySqlRow> + Send + Unpin
{
}
impl<T> Row for T where
    T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, MySqlRow> + Send + Unpin
{
}

/// What writes: the three kinds of statement that change rows.
pub(super) trait Statement: QueryStatementWriter + SqlxBinder + Sync {}
impl Statement for InsertStatement {}
impl Statement for UpdateStatement {}
impl Statement for DeleteStatement {}

fn is_duplicate(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

/// A metric's value as a column holds it: a decimal on a server, text on SQLite.
#[derive(Clone, Copy)]
pub(super) struct ValueColumn(pub(super) Value);

impl sqlx::Type<MySql> for ValueColumn {
    fn type_info() -> MySqlTypeInfo {
        <Decimal as sqlx::Type<MySql>>::type_info()
    }
}

impl<'r> sqlx::Decode<'r, MySql> for ValueColumn {
    fn decode(value: MySqlValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        let decimal = <Decimal as sqlx::Decode<'r, MySql>>::decode(value)?;
        Ok(Self(decimal.try_into()?))
    }
}

impl sqlx::Type<Sqlite> for ValueColumn {
    fn type_info() -> SqliteTypeInfo {
        <String as sqlx::Type<Sqlite>>::type_info()
    }
}

impl<'r> sqlx::Decode<'r, Sqlite> for ValueColumn {
    fn decode(value: SqliteValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        let text = <&str as sqlx::Decode<'r, Sqlite>>::decode(value)?;
        Ok(Self(text.parse()?))
    }
}
