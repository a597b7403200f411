//! A case's database, seen past the service: for what HTTP cannot reach.

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, FromRow};

use crate::support::harness::{Backend, Context};
use crate::support::text_gate::connect_options;

/// A connection of its own. Statements go out as text, which every server takes.
pub(crate) enum Database {
    Sqlite(SqliteConnection),
    Server(MySqlConnection),
}

impl Database {
    pub(crate) async fn open(context: &Context) -> Self {
        let url = &context.database_url;
        match context.backend {
            Backend::Sqlite => {
                let options: SqliteConnectOptions = url.parse().unwrap();
                Self::Sqlite(options.create_if_missing(true).connect().await.unwrap())
            }
            Backend::Text => Self::Server(connect_options(url).connect().await.unwrap()),
            Backend::MariaDb11_8 | Backend::MariaDb10_11 | Backend::MySql9_7 => {
                let options: MySqlConnectOptions = url.parse().unwrap();
                Self::Server(options.connect().await.unwrap())
            }
        }
    }

    /// Runs one statement.
    pub(crate) async fn execute(&mut self, sql: &str) {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql));
        match self {
            Self::Sqlite(connection) => connection.execute(sql).await.map(drop),
            Self::Server(connection) => connection.execute(sql).await.map(drop),
        }
        .unwrap();
    }

    /// The numbers that a statement of one column answers with.
    pub(crate) async fn numbers(&mut self, sql: &'static str) -> Vec<i64> {
        let query = sqlx::raw_sql(sql);
        let rows: Result<Vec<(i64,)>, sqlx::Error> = match self {
            Self::Sqlite(connection) => {
                let rows = query.fetch_all(connection).await.unwrap();
                rows.iter().map(FromRow::from_row).collect()
            }
            Self::Server(connection) => {
                let rows = query.fetch_all(connection).await.unwrap();
                rows.iter().map(FromRow::from_row).collect()
            }
        };
        rows.unwrap().into_iter().map(|(number,)| number).collect()
    }
}
