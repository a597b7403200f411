//! One client's session: refuse, reword, pass on.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::TcpStream;

use super::Counts;
use super::lexer::tokens;
use super::rules::{Statement, invalid_datetime};
use super::wire::{
    self, AUTOCOMMIT, Answer, IN_TRANSACTION, Login, Packet, ServerError, Wire, command,
};
use crate::support::databases::GATE_USER;

/// UTF-8 of four bytes, UTC, strict, and a collation without case and accents, as in Drizzle; and no check of
/// snapshots at a write, which came to MariaDB later.
const SESSION: &str = "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci, time_zone = '+00:00', \
    sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION', character_set_collations = '', \
    character_set_server = utf8mb4, collation_server = utf8mb4_general_ci, innodb_snapshot_isolation = OFF";

/// The gate's own session with the MariaDB behind.
pub(super) struct Upstream {
    wire: Wire,
    status: u16,
}

impl Upstream {
    pub(super) async fn connect(address: SocketAddr) -> io::Result<Self> {
        let mut wire = Wire::new(TcpStream::connect(address).await?)?;
        wire.log_in(GATE_USER).await?;
        let mut upstream = Self { wire, status: 0 };
        match upstream.query(SESSION).await?.error() {
            Some(error) => Err(io::Error::other(error.message)),
            None => Ok(upstream),
        }
    }

    pub(super) async fn query(&mut self, sql: &str) -> io::Result<Answer> {
        self.call(&[&[command::QUERY], sql.as_bytes()].concat())
            .await
    }

    async fn call(&mut self, command: &[u8]) -> io::Result<Answer> {
        let answer = self.wire.call(command).await?;
        self.status = answer.status().unwrap_or(self.status);
        Ok(answer)
    }

    async fn select_schema(&mut self, name: &str) -> io::Result<Answer> {
        self.call(&[&[command::INIT_DB], name.as_bytes()].concat())
            .await
    }

    fn in_transaction(&self) -> bool {
        self.status & IN_TRANSACTION != 0
    }

    /// Carries out a statement, unless it would round a value: MariaDB notes that where Drizzle refuses.
    async fn query_unless_rounded(&mut self, sql: &str) -> io::Result<Answer> {
        let is_nested = self.in_transaction() || self.status & AUTOCOMMIT == 0;
        let [begin, keep, undo] = if is_nested {
            [
                "SAVEPOINT text_gate",
                "RELEASE SAVEPOINT text_gate",
                "ROLLBACK TO SAVEPOINT text_gate",
            ]
        } else {
            ["START TRANSACTION", "COMMIT", "ROLLBACK"]
        };
        self.query(begin).await?;
        let answer = self.query(sql).await?;
        let rounded = if answer.warnings() > 0 {
            self.rounded().await?
        } else {
            None
        };
        if let Some(error) = rounded {
            self.query(undo).await?;
            return Ok(Answer {
                packets: vec![error.into_packet(1)],
            });
        }
        let kept = self.query(keep).await?;
        Ok(match (answer.error(), kept.error()) {
            // After a deadlock there is no savepoint left to release; the statement's own error tells.
            (Some(_), _) => answer,
            (None, Some(_)) => kept,
            (None, None) if is_nested => answer,
            (None, None) => answer.outside_transaction(),
        })
    }

    /// The note of the last statement that a value lost digits.
    async fn rounded(&mut self) -> io::Result<Option<ServerError>> {
        let warnings = self.query("SHOW WARNINGS").await?.rows();
        Ok(warnings.into_iter().find_map(|row| match row.as_slice() {
            [_, code, message] if code == "1265" => Some(ServerError::new(1265, "01000", message)),
            _ => None,
        }))
    }
}

/// A client that has logged in.
pub(super) struct Session {
    client: Wire,
    upstream: Upstream,
    counts: Arc<Counts>,
}

impl Session {
    /// Greets and logs in; there is no password, only a name.
    ///
    /// # Errors
    /// Where either side breaks off, or the login is turned down.
    pub(super) async fn open(
        client: TcpStream,
        upstream: SocketAddr,
        counts: Arc<Counts>,
    ) -> io::Result<Self> {
        let upstream = Upstream::connect(upstream).await?;
        let mut session = Self {
            client: Wire::new(client)?,
            upstream,
            counts,
        };
        session.client.write(&[wire::greeting()]).await?;
        let login = session.client.read().await?;
        let refusal = session.log_in(Login::parse(&login.payload)).await?;
        let sequence = login.sequence + 1;
        match refusal {
            None => session.client.write(&[wire::ok(sequence)]).await?,
            Some(error) => {
                let reason = error.message.clone();
                session.client.write(&[error.into_packet(sequence)]).await?;
                return Err(io::Error::other(reason));
            }
        }
        Ok(session)
    }

    async fn log_in(&mut self, login: Login) -> io::Result<Option<ServerError>> {
        if login.user.is_empty() {
            return Ok(Some(ServerError::new(
                1045,
                "28000",
                "Access denied for user ''",
            )));
        }
        match login.schema {
            Some(schema) => Ok(self.upstream.select_schema(&schema).await?.error()),
            None => Ok(None),
        }
    }

    /// Serves until the client quits, a side breaks off or nothing comes for `idle`.
    pub(super) async fn run(mut self, idle: Duration) -> io::Result<()> {
        loop {
            let packet = tokio::time::timeout(idle, self.client.read()).await??;
            if packet.payload.first() == Some(&command::QUIT) {
                return Ok(());
            }
            let packets = match self.carry_out(&packet.payload).await? {
                Ok(answer) => self.passed(answer),
                Err(refusal) => self.refused(refusal),
            };
            self.client.write(&packets).await?;
        }
    }

    fn passed(&self, answer: Answer) -> Vec<Packet> {
        self.counts.passed.fetch_add(1, Ordering::Relaxed);
        answer.packets
    }

    fn refused(&self, refusal: ServerError) -> Vec<Packet> {
        self.counts.refused.fetch_add(1, Ordering::Relaxed);
        vec![refusal.into_packet(1)]
    }

    async fn carry_out(&mut self, payload: &[u8]) -> io::Result<Result<Answer, ServerError>> {
        match payload.split_first() {
            Some((&command::PING | &command::INIT_DB, _)) => {
                Ok(Ok(self.upstream.call(payload).await?))
            }
            Some((&command::QUERY, sql)) => self.query(sql).await,
            _ => Ok(Err(ServerError::new(1047, "08S01", "Unknown command"))),
        }
    }

    async fn query(&mut self, sql: &[u8]) -> io::Result<Result<Answer, ServerError>> {
        let Ok(sql) = std::str::from_utf8(sql) else {
            return Ok(Err(ServerError::new(
                1366,
                "HY000",
                "Invalid UTF-8 in the statement",
            )));
        };
        let tokens = tokens(sql);
        let statement = Statement::new(&tokens, self.upstream.in_transaction());
        if let Some(refusal) = statement.refusal() {
            return Ok(Err(refusal));
        }
        let text = statement.for_mariadb(sql);
        let answer = if statement.writes_fractions() {
            self.upstream.query_unless_rounded(&text).await?
        } else {
            self.upstream.query(&text).await?
        };
        Ok(match answer.error() {
            // MariaDB's word for a date-time that is none.
            Some(error) if error.code == 1292 => Err(invalid_datetime(&error.message)),
            _ => Ok(answer),
        })
    }
}
