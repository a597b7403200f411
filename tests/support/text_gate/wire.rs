//! The MySQL protocol of version 4.1, as much of it as the gate needs.

use std::io;

use bytes::{Buf as _, BufMut as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::TcpStream;

/// The commands that the gate tells apart.
pub(crate) mod command {
    pub(crate) const QUIT: u8 = 0x01;
    pub(crate) const INIT_DB: u8 = 0x02;
    pub(crate) const QUERY: u8 = 0x03;
    pub(crate) const FIELD_LIST: u8 = 0x04;
    pub(crate) const STATISTICS: u8 = 0x09;
    pub(crate) const PING: u8 = 0x0e;
    pub(crate) const CHANGE_USER: u8 = 0x11;
    pub(crate) const STMT_PREPARE: u8 = 0x16;
    pub(crate) const RESET_CONNECTION: u8 = 0x1f;
}

/// What two sides can agree on.
pub(crate) mod capability {
    pub(crate) const LONG_PASSWORD: u32 = 1;
    pub(crate) const FOUND_ROWS: u32 = 1 << 1;
    pub(crate) const LONG_FLAG: u32 = 1 << 2;
    pub(crate) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(crate) const PROTOCOL_41: u32 = 1 << 9;
    pub(crate) const TRANSACTIONS: u32 = 1 << 13;
    pub(crate) const SECURE_CONNECTION: u32 = 1 << 15;
    /// All that a server of that time offers: no plugins, no TLS, no session tracking, no deprecated EOF.
    pub(crate) const MYSQL_4_1: u32 = LONG_PASSWORD
        | FOUND_ROWS
        | LONG_FLAG
        | CONNECT_WITH_DB
        | PROTOCOL_41
        | TRANSACTIONS
        | SECURE_CONNECTION;
}

pub(crate) const IN_TRANSACTION: u16 = 1;
pub(crate) const AUTOCOMMIT: u16 = 1 << 1;
/// The collation ids of utf8mb4_general_ci, which MariaDB shares with MySQL.
const UTF8MB4: u8 = 45;
/// A payload of this length goes on in the next packet.
const LONGEST: usize = 0xff_ffff;
const OK: u8 = 0x00;
const EOF: u8 = 0xfe;
const ERR: u8 = 0xff;

/// One packet.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) sequence: u8,
    pub(crate) payload: Vec<u8>,
}

impl Packet {
    fn is_eof(&self) -> bool {
        self.payload.first() == Some(&EOF) && self.payload.len() < 9
    }

    fn is_error(&self) -> bool {
        self.payload.first() == Some(&ERR)
    }
}

/// An error as a server words it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerError {
    pub(crate) code: u16,
    pub(crate) sqlstate: String,
    pub(crate) message: String,
}

impl ServerError {
    pub(crate) fn new(code: u16, sqlstate: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            sqlstate: sqlstate.to_owned(),
            message: message.into(),
        }
    }

    pub(crate) fn into_packet(self, sequence: u8) -> Packet {
        let mut payload = vec![ERR];
        payload.put_u16_le(self.code);
        payload.put_u8(b'#');
        payload.put_slice(self.sqlstate.as_bytes());
        payload.put_slice(self.message.as_bytes());
        Packet { sequence, payload }
    }

    fn parse(payload: &[u8]) -> Option<Self> {
        let mut rest = payload.strip_prefix(&[ERR])?;
        let code = rest.try_get_u16_le().ok()?;
        let (state, message) = match rest {
            [b'#', state @ ..] if state.len() >= 5 => state.split_at(5),
            _ => (&b"HY000"[..], rest),
        };
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Some(Self {
            code,
            sqlstate: text(state),
            message: text(message),
        })
    }
}

/// All packets that answer one command.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) packets: Vec<Packet>,
}

impl Answer {
    pub(crate) fn error(&self) -> Option<ServerError> {
        self.packets
            .iter()
            .find(|packet| packet.is_error())
            .and_then(|packet| ServerError::parse(&packet.payload))
    }

    /// The state of the session after the command, where the answer tells.
    pub(crate) fn status(&self) -> Option<u16> {
        let last = self.packets.last()?;
        match *last.payload.first()? {
            OK => ok_parts(&last.payload).map(|(status, _)| status),
            EOF if last.is_eof() => last.payload.get(3..5).map(|mut bytes| bytes.get_u16_le()),
            _ => None,
        }
    }

    /// How many warnings a statement without rows gave.
    pub(crate) fn warnings(&self) -> u16 {
        match self.packets.as_slice() {
            [only] if only.payload.first() == Some(&OK) => {
                ok_parts(&only.payload).map_or(0, |(_, warnings)| warnings)
            }
            _ => 0,
        }
    }

    /// The same answer, from a session that is in no transaction.
    pub(crate) fn outside_transaction(mut self) -> Self {
        if let Some(packet) = self.packets.last_mut()
            && packet.payload.first() == Some(&OK)
            && let Some((at, [low, ..])) = ok_status_at(&packet.payload)
        {
            packet.payload[at] = low & !(IN_TRANSACTION as u8);
        }
        self
    }

    /// The rows as texts; for the gate's own questions.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let body = self
            .packets
            .iter()
            .skip_while(|packet| !packet.is_eof())
            .skip(1);
        body.take_while(|packet| !packet.is_eof())
            .map(|packet| row(&packet.payload))
            .collect()
    }
}

fn row(mut payload: &[u8]) -> Vec<String> {
    let mut columns = Vec::new();
    while let Some(length) = take_length(&mut payload) {
        let (column, rest) =
            payload.split_at(usize::try_from(length).unwrap_or(0).min(payload.len()));
        columns.push(String::from_utf8_lossy(column).into_owned());
        payload = rest;
    }
    columns
}

/// Status and warnings of an OK packet.
fn ok_parts(payload: &[u8]) -> Option<(u16, u16)> {
    let (_, bytes) = ok_status_at(payload)?;
    let [a, b, c, d] = bytes;
    Some((u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])))
}

/// Where status and warnings stand in an OK packet, behind two numbers of unequal length.
fn ok_status_at(payload: &[u8]) -> Option<(usize, [u8; 4])> {
    let mut rest = payload.get(1..)?;
    take_length(&mut rest)?;
    take_length(&mut rest)?;
    Some((payload.len() - rest.len(), rest.first_chunk().copied()?))
}

/// A length-encoded number; NULL counts as an empty text here.
fn take_length(bytes: &mut &[u8]) -> Option<u64> {
    let width = match bytes.try_get_u8().ok()? {
        0xfb => return Some(0),
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        short => return Some(short.into()),
    };
    (bytes.len() >= width).then(|| bytes.get_uint_le(width))
}

/// One side's end of a connection.
pub(crate) struct Wire {
    stream: BufStream<TcpStream>,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufStream::new(stream),
        })
    }

    /// The next packet.
    ///
    /// # Errors
    /// Where the other side closes, or sends a payload of 16 MiB and more: Drizzle is then out of step, which a closed
    /// connection says sooner.
    pub(crate) async fn read(&mut self) -> io::Result<Packet> {
        let header = self.stream.read_u32_le().await?;
        let [_, _, _, sequence] = header.to_le_bytes();
        let length = (header & 0xff_ffff) as usize;
        if length == LONGEST {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a packet that goes on in the next",
            ));
        }
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).await?;
        Ok(Packet { sequence, payload })
    }

    pub(crate) async fn write(&mut self, packets: &[Packet]) -> io::Result<()> {
        for packet in packets {
            let length = u32::try_from(packet.payload.len()).map_err(io::Error::other)?;
            self.stream
                .write_u32_le(length | u32::from(packet.sequence) << 24)
                .await?;
            self.stream.write_all(&packet.payload).await?;
        }
        self.stream.flush().await
    }

    /// Sends one command and reads all that answers it.
    pub(crate) async fn call(&mut self, command: &[u8]) -> io::Result<Answer> {
        self.write(&[Packet {
            sequence: 0,
            payload: command.to_vec(),
        }])
        .await?;
        let mut packets = vec![self.read().await?];
        let has_rows = command.first() == Some(&command::QUERY)
            && !matches!(packets[0].payload.first(), Some(&OK | &ERR));
        let mut ends = if has_rows { 2 } else { 0 };
        while ends > 0 {
            let packet = self.read().await?;
            ends -= u8::from(packet.is_eof());
            let broken_off = packet.is_error();
            packets.push(packet);
            if broken_off {
                break;
            }
        }
        Ok(Answer { packets })
    }

    /// Logs in to a server as `user`, without a password.
    ///
    /// # Errors
    /// Where the connection breaks or the server does not want us.
    pub(crate) async fn log_in(&mut self, user: &str) -> io::Result<()> {
        let greeting = self.read().await?;
        let response = Packet {
            sequence: greeting.sequence + 1,
            payload: login(user),
        };
        self.write(&[response]).await?;
        let answer = Answer {
            packets: vec![self.read().await?],
        };
        match answer.error() {
            Some(error) => Err(io::Error::other(error.message)),
            None => Ok(()),
        }
    }
}

fn login(user: &str) -> Vec<u8> {
    let mut payload = Vec::new();
    payload.put_u32_le(capability::MYSQL_4_1 & !capability::CONNECT_WITH_DB);
    payload.put_u32_le(LONGEST as u32);
    payload.put_u8(UTF8MB4);
    payload.put_bytes(0, 23);
    payload.put_slice(user.as_bytes());
    // The end of the name, and a password of length 0.
    payload.put_bytes(0, 2);
    payload
}

/// How a server of that time greets.
pub(crate) fn greeting() -> Packet {
    let [low, high] = [
        capability::MYSQL_4_1 as u16,
        (capability::MYSQL_4_1 >> 16) as u16,
    ];
    let mut payload = vec![10];
    payload.put_slice(b"7.2.4-text-gate\0");
    payload.put_u32_le(1);
    payload.put_slice(b"scramble\0");
    payload.put_u16_le(low);
    payload.put_u8(UTF8MB4);
    payload.put_u16_le(AUTOCOMMIT);
    payload.put_u16_le(high);
    payload.put_bytes(0, 11);
    payload.put_slice(b"of-12-letters\0");
    Packet {
        sequence: 0,
        payload,
    }
}

/// Says that all is well.
pub(crate) fn ok(sequence: u8) -> Packet {
    let [low, high] = AUTOCOMMIT.to_le_bytes();
    Packet {
        sequence,
        payload: vec![OK, 0, 0, low, high, 0, 0],
    }
}

/// Who logs in, and to which schema.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) schema: Option<String>,
}

impl Login {
    /// Reads a login of version 4.1; one that makes no sense is one without a user.
    pub(crate) fn parse(payload: &[u8]) -> Self {
        Self::try_parse(payload).unwrap_or_default()
    }

    fn try_parse(payload: &[u8]) -> Option<Self> {
        let capabilities = payload.get(..4)?.get_u32_le();
        let (user, rest) = take_text(payload.get(32..)?)?;
        let (&password, rest) = rest.split_first()?;
        let rest = rest.get(password.into()..)?;
        let schema = (capabilities & capability::CONNECT_WITH_DB != 0)
            .then(|| take_text(rest))
            .flatten();
        Some(Self {
            user,
            schema: schema.map(|(name, _)| name).filter(|name| !name.is_empty()),
        })
    }
}

/// A text and what follows its zero byte.
fn take_text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    Some((
        String::from_utf8_lossy(&bytes[..end]).into_owned(),
        &bytes[end + 1..],
    ))
}
