//! Each database can be reached at the address that a case is given.

use sqlx::mysql::MySqlConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Executor};

use crate::support::harness::{Backend, Context};
use crate::support::text_gate::connect_options;

pub(crate) async fn answers_a_query(context: &Context) {
    match mysql_options(context) {
        None => {
            select_one(
                &mut sqlite_options(context)
                    .connect()
                    .await
                    .expect("a file can be made"),
            )
            .await
        }
        Some(options) => {
            select_one(
                &mut options
                    .connect()
                    .await
                    .expect("the server takes connections"),
            )
            .await
        }
    }
}

fn sqlite_options(context: &Context) -> SqliteConnectOptions {
    let options: SqliteConnectOptions = context.database_url.parse().expect("is a URL");
    options.create_if_missing(true)
}

fn mysql_options(context: &Context) -> Option<MySqlConnectOptions> {
    match context.backend {
        Backend::Sqlite => None,
        Backend::Text => Some(connect_options(&context.database_url)),
        _ => Some(context.database_url.parse().expect("is a URL")),
    }
}

async fn select_one<'c, D: sqlx::Database>(connection: impl Executor<'c, Database = D>) {
    connection
        .execute("SELECT 1")
        .await
        .expect("the database answers");
}
