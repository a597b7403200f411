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
    /// The database was at work on a statement for as long as one may take, and stopped it.
    #[error("a statement took too long and was stopped: {0}")]
    TooSlow(#[source] sqlx::Error),
    /// No room for another row.
    #[error("the database's disk is full: {0}")]
    Full(#[source] sqlx::Error),
    /// The database takes no writes.
    #[error("the database is read-only: {0}")]
    ReadOnly(#[source] sqlx::Error),
    /// The SQLite file is not the one that was opened, or is none any more.
    #[error(
        "the database file {path} {what}; put the file back, or restart the service to use what is there"
    )]
    FileLost {
        /// The file.
        path: String,
        /// What became of it.
        what: String,
    },
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
    /// An older binary made it, and it may not be changed.
    #[error(
        "an older version made it, and it must be brought up to date; open it once where it can be written"
    )]
    TooOld,
    /// A path that no address can hold.
    #[error("{0}")]
    Address(#[from] super::DatabaseUrlError),
    /// A migration was applied that is not the one in this binary.
    #[error(
        "migration {version} of the database is not the one in this binary; start the binary that made it"
    )]
    ForeignMigration {
        /// The migration's version.
        version: i64,
    },
    /// A row that no run can be made of.
    #[error("{row} cannot be read: {column}: {detail}")]
    CorruptRow {
        /// The table, and the run that the row belongs to if it belongs to one.
        row: String,
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
    /// The tables of a plain-text server do not hold every character.
    #[error(
        "the server made tables that cannot hold characters of four bytes, such as emoji; use mysql:// \
         with an empty schema, as this is no Drizzle server"
    )]
    NarrowCharacters,
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

impl From<StoreError> for std::io::Error {
    fn from(error: StoreError) -> Self {
        Self::other(error)
    }
}

impl StoreError {
    /// Whether it pays to try the same use case again at once, in the time that it has left.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_) | Self::Busy(_) | Self::ReadOnly(_)
        )
    }

    /// Whether the cause lies around the database, so that it may pass while a service waits.
    pub fn may_pass(&self) -> bool {
        self.is_transient() || matches!(self, Self::TimedOut(_) | Self::Full(_))
    }

    /// The same error once more, for another upload that met it; `None` where the upload itself may
    /// be at fault.
    pub(super) fn of_all(&self) -> Option<Self> {
        let cause = |cause: &sqlx::Error| sqlx::Error::Io(std::io::Error::other(cause.to_string()));
        match self {
            Self::Unreachable(error) => Some(Self::Unreachable(cause(error))),
            Self::Busy(error) => Some(Self::Busy(cause(error))),
            Self::TimedOut(limit) => Some(Self::TimedOut(*limit)),
            Self::Full(error) => Some(Self::Full(cause(error))),
            Self::Refused(error) => Some(Self::Refused(cause(error))),
            Self::ReadOnly(error) => Some(Self::ReadOnly(cause(error))),
            Self::FileLost { path, what } => Some(Self::FileLost {
                path: path.clone(),
                what: what.clone(),
            }),
            _ => None,
        }
    }
}

/// The server is going away, or is not yet part of its cluster, or has no connection or thread to
/// spare, or could not commit (1180: its cluster lost its quorum, so the outcome is unknown), or has
/// forgotten a prepared statement behind a proxy (1243), or its own storage is away (9001 and up,
/// TiDB).
const AWAY: &[u16] = &[
    1037, 1038, 1040, 1041, 1053, 1077, 1079, 1129, 1135, 1152, 1158, 1159, 1160, 1161, 1180, 1203,
    1243, 1317, 1927, 3032, 3169, 4031, 9001, 9002, 9005,
];
/// The server was started read-only, or made a replica by a failover.
const READ_ONLY: &[u16] = &[1290, 1792, 1836];
/// 1205 a lock was waited for in vain, 1213 deadlock, 1020 a row changed under a snapshot (MariaDB),
/// 1412 and 1615 a table changed, 3101 another node was first, 3572 a lock that is not waited for,
/// and the same of TiDB.
const BUSY: &[u16] = &[
    1020, 1205, 1213, 1412, 1615, 3101, 3572, 8022, 8028, 9003, 9004, 9007,
];
/// A statement reached its time limit: 1969 on MariaDB, 3024 on MySQL.
const TOO_SLOW: &[u16] = &[1969, 3024];
/// Table full, disk full, no more room in a row log.
const FULL: &[u16] = &[1021, 1114, 3675];
/// The operating system turned the server down: only the text says that it had no room (errno 28).
const SYSTEM: &[u16] = &[1026, 1030, 1180];
/// Access denied, unknown database, host not allowed, unknown authentication.
const REFUSED: &[u16] = &[1044, 1045, 1049, 1130, 1251, 1698, 2059];
/// "WSREP has not yet prepared node for application use" is an unknown command with its own text.
const UNKNOWN_COMMAND: u16 = 1047;

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        if let sqlx::Error::Io(cause) = &error
            && let Some(Self::FileLost { path, what }) =
                cause.get_ref().and_then(|cause| cause.downcast_ref())
        {
            return Self::FileLost {
                path: path.clone(),
                what: what.clone(),
            };
        }
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
            let (number, text) = (cause.number(), cause.message());
            let no_room = text.contains("error 28") || text.contains("rrcode: 28");
            if number == UNKNOWN_COMMAND && text.contains("WSREP") {
                StoreError::Unreachable(error)
            } else if SYSTEM.contains(&number) && no_room {
                StoreError::Full(error)
            } else {
                from_server(number, error)
            }
        }
        None => {
            let code = cause.code().and_then(|code| code.parse().ok());
            from_sqlite(code, error)
        }
    }
}

fn from_server(number: u16, error: sqlx::Error) -> StoreError {
    match number {
        n if AWAY.contains(&n) => StoreError::Unreachable(error),
        n if READ_ONLY.contains(&n) => StoreError::ReadOnly(error),
        n if BUSY.contains(&n) => StoreError::Busy(error),
        n if TOO_SLOW.contains(&n) => StoreError::TooSlow(error),
        n if FULL.contains(&n) => StoreError::Full(error),
        n if REFUSED.contains(&n) => StoreError::Refused(error),
        _ => StoreError::Other(error),
    }
}

/// The log's shared index (`-shm`) could not grow, for which a full disk is the cause.
const NO_ROOM_FOR_INDEX: u32 = 4874;

/// SQLite's result code, whose low byte is the kind: 5 busy, 6 locked, 7 no memory, 8 read-only,
/// 9 interrupted, 10 input or output, 13 full, 14 cannot open, 15 a race of locks, 17 the schema changed,
/// 23 not authorised, 26 not a database.
fn from_sqlite(code: Option<u32>, error: sqlx::Error) -> StoreError {
    if code == Some(NO_ROOM_FOR_INDEX) {
        return StoreError::Full(error);
    }
    match code.map(|code| code & 0xff) {
        Some(5 | 6 | 15 | 17) => StoreError::Busy(error),
        Some(7 | 10 | 14) => StoreError::Unreachable(error),
        Some(13) => StoreError::Full(error),
        Some(8) => StoreError::ReadOnly(error),
        Some(9) => StoreError::TooSlow(error),
        Some(23 | 26) => StoreError::Refused(error),
        _ => StoreError::Other(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_server(number: u16) -> StoreError {
        from_server(number, sqlx::Error::WorkerCrashed)
    }

    #[test]
    fn a_commit_that_met_a_lost_quorum_has_an_unknown_outcome() {
        assert!(matches!(of_server(1180), StoreError::Unreachable(_)));
    }

    #[test]
    fn a_database_that_takes_no_writes_is_read_only_and_may_take_them_again() {
        for error in [
            of_server(1290),
            of_server(1836),
            from_sqlite(Some(8), sqlx::Error::WorkerCrashed),
            from_sqlite(Some(1032), sqlx::Error::WorkerCrashed),
        ] {
            assert!(error.to_string().starts_with("the database is read-only"));
            assert!(error.may_pass());
        }
    }
}
