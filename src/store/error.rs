//! What can go wrong between a use case and its rows.

use std::time::Duration;

use sqlx::mysql::MySqlDatabaseError;

/// Why a use case did not end. The message names causes for the log; a client is told less.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database was not there, went away, or turned us off for a while.
    #[error("the database cannot be reached: {0}")]
    Unreachable(#[source] sqlx::Error),
    /// Others held what this use case needed.
    #[error("the database is busy: {0}")]
    Busy(#[source] sqlx::Error),
    /// No answer in time.
    #[error("the database did not answer within {0:?}")]
    TimedOut(Duration),
    /// No room for another row.
    #[error("the database's disk is full: {0}")]
    Full(#[source] sqlx::Error),
    /// The address or the account is wrong, which waiting does not mend.
    #[error("the database refuses the connection: {0}")]
    Refused(#[source] sqlx::Error),
    /// The folder of a SQLite file cannot be made.
    #[error("cannot make the folder {path}: {source}")]
    Folder {
        /// The folder.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A newer binary has been here.
    #[error(
        "the database has migration {found}, which this binary (up to {known}) does not know; start the newer binary"
    )]
    TooNew {
        /// The newest migration of the database.
        found: i64,
        /// The newest migration of this binary.
        known: i64,
    },
    /// A migration was applied that is not the one in this binary.
    #[error(
        "migration {version} of the database is not the one in this binary; start the binary that made it"
    )]
    ForeignMigration {
        /// The migration's version.
        version: i64,
    },
    /// A row that no run can be made of.
    #[error("{table} of run {run_id} cannot be read: {column}: {detail}")]
    CorruptRow {
        /// The table.
        table: &'static str,
        /// The run that the row belongs to.
        run_id: i64,
        /// The column.
        column: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// The session does not read literals as they are written for it.
    #[error(
        "the server does not take backslash escapes in UTF-8, which plain-text statements need"
    )]
    Escapes,
    /// The answer would hold more points than one answer may.
    #[error("the window holds more than {limit} points")]
    WindowTooLarge {
        /// The most points in an answer.
        limit: usize,
    },
    /// Anything else, which is a fault of this program or of the database.
    #[error("the database failed: {0}")]
    Other(#[source] sqlx::Error),
}

impl StoreError {
    /// Whether the same use case may succeed later, without a person.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Busy(_))
    }
}

/// The server is going away, or is not yet part of its cluster, or has no connection to spare.
const AWAY: &[u16] = &[
    1040, 1053, 1077, 1079, 1129, 1152, 1158, 1159, 1160, 1161, 1203, 1205, 1927, 3169, 4031,
];
/// 1213 deadlock, 1020 a row changed under a snapshot (MariaDB), 3572 a lock that is not waited for.
const BUSY: &[u16] = &[1213, 1020, 3572];
/// Table full, disk full, no more room in a row log.
const FULL: &[u16] = &[1021, 1114, 3675];
/// Access denied, unknown database, host not allowed, unknown authentication.
const REFUSED: &[u16] = &[1044, 1045, 1049, 1130, 1251, 1698, 2059];
/// "WSREP has not yet prepared node for application use" is an unknown command with its own text.
const UNKNOWN_COMMAND: u16 = 1047;

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Io(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Protocol(_) => Self::Unreachable(error),
            sqlx::Error::Tls(_) | sqlx::Error::Configuration(_) => Self::Refused(error),
            sqlx::Error::Database(_) => from_database(error),
            _ => Self::Other(error),
        }
    }
}

fn from_database(error: sqlx::Error) -> StoreError {
    let Some(cause) = error.as_database_error() else {
        return StoreError::Other(error);
    };
    match cause.try_downcast_ref::<MySqlDatabaseError>() {
        Some(cause) => {
            let not_in_cluster =
                cause.number() == UNKNOWN_COMMAND && cause.message().contains("WSREP");
            from_server(cause.number(), not_in_cluster, error)
        }
        None => {
            let code = cause.code().and_then(|code| code.parse().ok());
            from_sqlite(code, error)
        }
    }
}

fn from_server(number: u16, not_in_cluster: bool, error: sqlx::Error) -> StoreError {
    match number {
        _ if not_in_cluster => StoreError::Unreachable(error),
        n if AWAY.contains(&n) => StoreError::Unreachable(error),
        n if BUSY.contains(&n) => StoreError::Busy(error),
        n if FULL.contains(&n) => StoreError::Full(error),
        n if REFUSED.contains(&n) => StoreError::Refused(error),
        _ => StoreError::Other(error),
    }
}

/// SQLite's result code, whose low byte is the kind: 5 busy, 6 locked, 10 input or output, 13 full,
/// 14 cannot open, 23 not authorised, 26 not a database.
fn from_sqlite(code: Option<u32>, error: sqlx::Error) -> StoreError {
    match code.map(|code| code & 0xff) {
        Some(5 | 6) => StoreError::Busy(error),
        Some(10 | 14) => StoreError::Unreachable(error),
        Some(13) => StoreError::Full(error),
        Some(23 | 26) => StoreError::Refused(error),
        _ => StoreError::Other(error),
    }
}
