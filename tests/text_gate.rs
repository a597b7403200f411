//! The gate refuses what a Drizzle server refuses, with its error numbers, and carries out the rest.
//!
//! Where one of these fails, the tests of the product against a server that takes text only prove nothing.

mod support;

use std::time::Duration;

use chrono::NaiveDate;
use rust_decimal::Decimal;
use sqlx::mysql::{MySqlDatabaseError, MySqlRow};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, MySqlConnection, Row as _,
};
use support::databases::{Database, Engine};
use support::text_gate::lexer::tokens;
use support::text_gate::wire::{Wire, capability, command};
use support::text_gate::{TextGate, connect_options};
use tokio::net::TcpStream;

/// The seed's table of metrics, as a server of that kind takes it, with a boolean and a date beside the value.
const TABLE: &str = "CREATE TABLE m (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, name CHAR(40) COLLATE utf8_bin \
    NOT NULL UNIQUE, value DECIMAL(20,4), good BOOLEAN, at DATETIME, `change` VARCHAR(64)) ENGINE=InnoDB";

struct Fixture {
    gate: TextGate,
    url: String,
    database: Database,
}

impl Fixture {
    async fn start() -> Self {
        Self::start_with_idle(Duration::from_secs(330)).await
    }

    async fn start_with_idle(idle: Duration) -> Self {
        let database = Database::start(Engine::MariaDb11_8).await;
        let gate = TextGate::start_with_idle(&database, idle).await;
        let url = gate.create_schema("history").await;
        Self {
            gate,
            url,
            database,
        }
    }

    async fn connect(&self) -> Client {
        Client(
            connect_options(&self.url)
                .connect()
                .await
                .expect("the gate takes connections"),
        )
    }

    /// A connection that nothing has been said on.
    async fn wire(&self) -> Wire {
        let stream = TcpStream::connect(self.gate.address()).await;
        Wire::new(stream.expect("the gate takes connections"))
            .expect("a fresh connection takes options")
    }

    async fn connect_with_table(&self) -> Client {
        let mut client = self.connect().await;
        client.run(TABLE).await;
        client
    }
}

struct Client(MySqlConnection);

impl Client {
    async fn run(&mut self, sql: &str) {
        self.0
            .execute(AssertSqlSafe(sql))
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    async fn row(&mut self, sql: &str) -> MySqlRow {
        self.0
            .fetch_one(AssertSqlSafe(sql))
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The number and SQLSTATE that `sql` is refused with.
    async fn refusal(&mut self, sql: &str) -> (u16, String) {
        match self.0.execute(AssertSqlSafe(sql)).await {
            Ok(_) => panic!("{sql}: was carried out"),
            Err(error) => number_and_state(error),
        }
    }
}

fn number_and_state(error: sqlx::Error) -> (u16, String) {
    let sqlx::Error::Database(error) = error else {
        panic!("not of the server: {error}")
    };
    let error = error.downcast_ref::<MySqlDatabaseError>();
    (error.number(), error.code().unwrap_or_default().to_owned())
}

fn is(number: u16, state: &str) -> (u16, String) {
    (number, state.to_owned())
}

#[tokio::test]
async fn it_greets_as_a_server_of_version_4_1() {
    let fixture = Fixture::start().await;
    let mut wire = fixture.wire().await;
    let greeting = wire.read().await.expect("greets").payload;
    let version = greeting
        .iter()
        .position(|&byte| byte == 0)
        .expect("the version ends");
    let [low, high] =
        [version + 14, version + 19].map(|at| u16::from_le_bytes([greeting[at], greeting[at + 1]]));
    let offered = u32::from(low) | u32::from(high) << 16;
    assert_eq!(offered, capability::MYSQL_4_1);
}

#[tokio::test]
async fn a_login_needs_a_name_and_a_schema_that_is_there() {
    let fixture = Fixture::start().await;
    let options = connect_options(&fixture.url);
    let no_name = options
        .clone()
        .username("")
        .connect()
        .await
        .expect_err("is refused");
    assert_eq!(number_and_state(no_name), is(1045, "28000"));
    let no_schema = options
        .clone()
        .database("nowhere")
        .connect()
        .await
        .expect_err("is refused");
    assert_eq!(number_and_state(no_schema), is(1049, "42000"));
    options
        .password("is never sent")
        .connect()
        .await
        .expect("a password is no matter");
}

#[tokio::test]
async fn a_connection_with_sqlx_s_own_settings_is_refused() {
    let fixture = Fixture::start().await;
    let options = connect_options(&fixture.url);
    let names = options
        .clone()
        .set_names(true)
        .connect()
        .await
        .expect_err("is refused");
    assert_eq!(number_and_state(names), is(1064, "42000"));
    let mode = options
        .clone()
        .pipes_as_concat(true)
        .connect()
        .await
        .expect_err("is refused");
    assert_eq!(number_and_state(mode), is(1193, "HY000"));
    let zone = options
        .timezone("+00:00".to_owned())
        .connect()
        .await
        .expect_err("is refused");
    assert_eq!(number_and_state(zone), is(1193, "HY000"));
}

#[tokio::test]
async fn it_prepares_nothing_and_stays_usable() {
    let fixture = Fixture::start().await;
    let mut client = fixture.connect().await;
    let prepared = sqlx::query("SELECT 1")
        .execute(&mut client.0)
        .await
        .expect_err("is refused");
    assert_eq!(number_and_state(prepared), is(1047, "08S01"));
    assert_eq!(
        client.refusal("PREPARE s FROM 'SELECT 1'").await,
        is(1064, "42000")
    );
    assert_eq!(client.refusal("EXECUTE s").await, is(1064, "42000"));
    client.run("SELECT 1").await;
    assert_eq!((fixture.gate.statements(), fixture.gate.refusals()), (1, 3));
}

#[tokio::test]
async fn it_knows_few_commands() {
    let fixture = Fixture::start().await;
    let mut wire = fixture.wire().await;
    wire.log_in("perf").await.expect("logs in");
    for unknown in [
        command::STMT_PREPARE,
        command::RESET_CONNECTION,
        command::CHANGE_USER,
        command::FIELD_LIST,
        command::STATISTICS,
    ] {
        let error = wire
            .call(&[unknown])
            .await
            .expect("is answered")
            .error()
            .expect("is refused");
        assert_eq!(
            (error.code, error.sqlstate.as_str()),
            (1047, "08S01"),
            "command {unknown}"
        );
    }
    assert!(
        wire.call(&[command::PING])
            .await
            .expect("is answered")
            .error()
            .is_none()
    );
    let select = [&[command::INIT_DB], &b"history"[..]].concat();
    assert!(
        wire.call(&select)
            .await
            .expect("is answered")
            .error()
            .is_none()
    );
}

#[tokio::test]
async fn it_refuses_what_drizzle_cannot_read() {
    let fixture = Fixture::start().await;
    let mut client = fixture.connect_with_table().await;
    for (sql, number, state) in [
        ("SET NAMES utf8", 1064, "42000"),
        ("SET sql_mode = 'ANSI'", 1193, "HY000"),
        ("SET time_zone = '+00:00'", 1193, "HY000"),
        ("SELECT 1; SELECT 2", 1064, "42000"),
        ("WITH c AS (SELECT 1) SELECT * FROM c", 1064, "42000"),
        (
            "SELECT ROW_NUMBER() OVER (ORDER BY id) FROM m",
            1305,
            "42000",
        ),
        ("SELECT 1 FROM dual", 1146, "42S02"),
        ("SELECT 1 WHERE 1 = 1", 1064, "42000"),
        (
            "SELECT * FROM m WHERE EXISTS (SELECT 1 WHERE 1 = 1)",
            1064,
            "42000",
        ),
        (
            "SELECT * FROM m WHERE id IN (SELECT id FROM m LIMIT 1)",
            1235,
            "42000",
        ),
        ("SELECT _utf8'x'", 1064, "42000"),
        ("SELECT N'x'", 1064, "42000"),
        ("SELECT change FROM m", 1064, "42000"),
        ("UPDATE m, m AS n SET m.name = n.name", 1064, "42000"),
        (
            "UPDATE m JOIN m AS n ON m.id = n.id SET m.name = n.name",
            1064,
            "42000",
        ),
        ("DELETE m FROM m JOIN m AS n ON m.id = n.id", 1064, "42000"),
        ("DELETE FROM m USING m JOIN m AS n", 1064, "42000"),
        ("SELECT name COLLATE utf8mb4_bin FROM m", 1273, "HY000"),
    ] {
        assert_eq!(client.refusal(sql).await, is(number, state), "{sql}");
    }
}

#[tokio::test]
async fn it_refuses_tables_that_drizzle_cannot_make() {
    let fixture = Fixture::start().await;
    let mut client = fixture.connect().await;
    for sql in [
        "CREATE TABLE t (a INT) DEFAULT CHARSET=utf8",
        "CREATE TABLE t (a VARCHAR(9) CHARACTER SET utf8)",
        "CREATE TABLE t (a TINYINT)",
        "CREATE TABLE t (a SMALLINT)",
        "CREATE TABLE t (a BOOL)",
        "CREATE TABLE t (a JSON)",
        "CREATE TABLE t (a DATETIME(6))",
        "CREATE TABLE t (a INT, b INT GENERATED ALWAYS AS (a + 1))",
        "CREATE TABLE t (a INT, b INT AS (a + 1) STORED)",
        "CREATE TABLE t (change INT)",
    ] {
        assert_eq!(client.refusal(sql).await, is(1064, "42000"), "{sql}");
    }
    client.run("BEGIN").await;
    assert_eq!(
        client.refusal("CREATE TABLE t (a INT)").await,
        is(1745, "HY000")
    );
    client.run("ROLLBACK").await;
    client.run("CREATE TABLE t (a INT)").await;
}

#[tokio::test]
async fn it_refuses_values_that_drizzle_would() {
    let fixture = Fixture::start().await;
    let mut client = fixture.connect_with_table().await;
    let long = format!("INSERT INTO m (name) VALUES ('{}')", "x".repeat(41));
    client.run("INSERT INTO m (name) VALUES ('taken')").await;
    for (sql, number, state) in [
        (
            "INSERT INTO m (name, value) VALUES ('a', 1.23456)",
            1265,
            "01000",
        ),
        (
            "INSERT INTO m (name, value) VALUES ('a', 99999999999999999)",
            1264,
            "22003",
        ),
        (&long, 1406, "22001"),
        (
            "INSERT INTO m (name, at) VALUES ('a', '2026-11-30T01:02:03Z')",
            1686,
            "HY000",
        ),
        (
            "INSERT INTO m (name, at) VALUES ('a', '2026-11-30 01:02:03+01:00')",
            1686,
            "HY000",
        ),
        (
            "INSERT INTO m (name, at) VALUES ('a', '2026-02-30 01:02:03')",
            1686,
            "HY000",
        ),
        (
            "INSERT INTO m (name, at) VALUES ('a', 'yesterday')",
            1686,
            "HY000",
        ),
        (
            "SELECT * FROM m WHERE at < '2026-11-30T01:02:03Z'",
            1686,
            "HY000",
        ),
        ("INSERT INTO m (name) VALUES ('taken')", 1062, "23000"),
        ("INSERT INTO m (name) VALUES (NULL)", 1048, "23000"),
        ("INSERT INTO m (value) VALUES (1)", 1364, "HY000"),
    ] {
        assert_eq!(client.refusal(sql).await, is(number, state), "{sql}");
    }
    let rows: i64 = client.row("SELECT COUNT(*) FROM m").await.get(0);
    assert_eq!(rows, 1, "nothing that was refused is stored");
}

#[tokio::test]
async fn a_value_too_precise_leaves_the_transaction_as_it_was() {
    let fixture = Fixture::start().await;
    let mut client = fixture.connect_with_table().await;
    let mut transaction = client.0.begin().await.expect("begins");
    transaction
        .execute("INSERT INTO m (name, value) VALUES ('a', 1.2500)")
        .await
        .expect("fits");
    let error = transaction
        .execute("INSERT INTO m (name, value) VALUES ('b', 0.00001)")
        .await
        .expect_err("is refused");
    assert_eq!(number_and_state(error), is(1265, "01000"));
    transaction.commit().await.expect("commits");
    let row = client.row("SELECT COUNT(*), MAX(name) FROM m").await;
    assert_eq!(
        (row.get::<i64, _>(0), row.get::<String, _>(1)),
        (1, "a".to_owned())
    );
}

#[tokio::test]
async fn it_carries_out_what_drizzle_does() {
    let fixture = Fixture::start().await;
    let mut client = fixture.connect_with_table().await;
    let insert = "INSERT INTO m (name, value, good, at, `change`) VALUES \
        ('it''s \\\\ WITH c AS; ) OVER ( FROM dual', 12.5000, TRUE, '2026-11-30 01:02:03.900000', 'TINYINT 😀'), \
        ('b', 7, FALSE, '2026-11-30T01:02:03', NULL);";
    let inserted = client.0.execute(insert).await.expect("is carried out");
    assert_eq!(
        (inserted.rows_affected(), inserted.last_insert_id()),
        (2, 1)
    );
    client.run("CREATE TABLE after_a_write (a INT)").await;
    let begun = client.0.begin().await;
    begun
        .expect("a write has left no transaction open")
        .rollback()
        .await
        .expect("rolls back");

    let row = client
        .row("SELECT name, value, good, at, `change` FROM m ORDER BY id LIMIT 1")
        .await;
    assert_eq!(
        row.get::<String, _>("name"),
        "it's \\ WITH c AS; ) OVER ( FROM dual"
    );
    assert_eq!(row.get::<Decimal, _>("value"), Decimal::new(125_000, 4));
    assert!(row.get::<bool, _>("good"));
    let at = NaiveDate::from_ymd_opt(2026, 11, 30).and_then(|day| day.and_hms_opt(1, 2, 3));
    assert_eq!(Some(row.get("at")), at, "a fraction is cut, not rounded");
    assert_eq!(row.get::<String, _>("change"), "TINYINT 😀");

    for sql in [
        "SELECT * FROM m WHERE id IN (SELECT id FROM (SELECT id FROM m ORDER BY id DESC LIMIT 1) AS newest)",
        "SELECT * FROM m WHERE (id, name) IN ((1, 'a'), (2, 'b'))",
        "INSERT IGNORE INTO m (name) VALUES ('b')",
        "INSERT INTO m (name) VALUES ('b') ON DUPLICATE KEY UPDATE value = 8.25",
        "UPDATE m SET value = (SELECT 1), good = TRUE WHERE name = 'b'",
        "SELECT COUNT(*) FROM m GROUP BY name WITH ROLLUP",
        "DELETE FROM m WHERE name IN ('b', 'c')",
        "SELECT GET_LOCK('l', 1)",
        "SHOW TABLES",
    ] {
        client.run(sql).await;
    }
}

#[tokio::test]
async fn text_compares_as_in_drizzle() {
    let fixture = Fixture::start().await;
    let mut client = fixture.connect().await;
    client
        .run("CREATE TABLE t (loose VARCHAR(9), strict VARCHAR(9) COLLATE utf8_bin)")
        .await;
    client
        .run("INSERT INTO t VALUES ('main', 'main'), ('😀', '😀')")
        .await;
    let counts = "SELECT SUM(loose = 'Maïn'), SUM(loose = '😁'), SUM(strict = 'Main'), SUM(strict = '😁'), \
        SUM(strict = 'main ') FROM t";
    let row = client.row(counts).await;
    let counts: Vec<Decimal> = (0..5).map(|column| row.get(column)).collect();
    assert_eq!(counts, [1, 1, 0, 0, 1].map(Decimal::from));
}

#[tokio::test]
async fn a_statement_of_16_mib_breaks_the_connection() {
    let fixture = Fixture::start().await;
    let mut client = fixture.connect().await;
    client
        .run(&format!("SELECT '{}'", "x".repeat(15 << 20)))
        .await;
    let long = format!("SELECT '{}'", "x".repeat(16 << 20));
    let error = client
        .0
        .execute(AssertSqlSafe(long))
        .await
        .expect_err("is too long");
    assert!(
        error.as_database_error().is_none(),
        "no answer can be trusted: {error}"
    );
}

#[tokio::test]
async fn an_idle_connection_is_dropped() {
    let fixture = Fixture::start_with_idle(Duration::from_millis(200)).await;
    let mut wire = fixture.wire().await;
    wire.log_in("perf").await.expect("logs in");
    let dropped = tokio::time::timeout(Duration::from_secs(10), wire.read()).await;
    assert!(dropped.expect("is dropped long before").is_err());
}

#[tokio::test]
async fn it_is_gone_with_the_server_behind_and_comes_back_with_it() {
    let fixture = Fixture::start().await;
    let mut client = fixture.connect().await;
    fixture.database.kill().await;
    assert!(client.0.ping().await.is_err());
    assert!(connect_options(&fixture.url).connect().await.is_err());
    fixture.database.restart().await;
    fixture.database.wait_ready().await;
    fixture.connect().await.run("SELECT 1").await;
}

fn texts(sql: &str) -> Vec<&str> {
    tokens(sql).iter().map(|token| token.text).collect()
}

#[test]
fn a_literal_ends_where_the_server_ends_it() {
    let sql = r"SELECT 'it''s', 'a\'b', 'c\\', `d``e`";
    assert_eq!(
        texts(sql),
        [
            "SELECT", "'it''s'", ",", r"'a\'b'", ",", r"'c\\'", ",", "`d``e`"
        ]
    );
    assert_eq!(texts("'never closed; SELECT"), ["'never closed; SELECT"]);
    assert_eq!(texts("'ends in é"), ["'ends in é"]);
}

#[test]
fn comments_and_space_are_left_out() {
    assert_eq!(texts("a -- b\nc # d\n/* e ' */ f"), ["a", "c", "f"]);
    assert_eq!(texts("1-1 --1"), ["1", "-", "1", "-", "-", "1"]);
}

#[test]
fn a_word_may_have_any_letter() {
    assert_eq!(texts("größe=_utf8'x'"), ["größe", "=", "_utf8", "'x'"]);
    assert_eq!(texts("12.50,0x4D"), ["12.50", ",", "0x4D"]);
}
