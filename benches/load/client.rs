//! One kept-open connection that speaks just enough HTTP/1.1, as a client that does more would take the processors that
//! the service is measured on.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection to the service.
pub(crate) struct Client {
    stream: TcpStream,
    /// All that every request says alike.
    head: String,
    buffer: Vec<u8>,
}

/// What the service answered.
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
}

impl Answer<'_> {
    /// The answer, if it has `status`.
    pub(crate) fn expect(self, status: u16) -> Result<Self> {
        ensure!(
            self.status == status,
            "answered {} instead of {status}: {}",
            self.status,
            String::from_utf8_lossy(self.body)
        );
        Ok(self)
    }
}

impl Client {
    /// Connects; every request will carry `token`.
    pub(crate) async fn connect(address: SocketAddr, token: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            head: format!("Host: {address}\r\nAuthorization: Bearer {token}\r\n"),
            buffer: Vec::with_capacity(64 * 1024),
        })
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Answer<'_>> {
        let request = format!("GET {path} HTTP/1.1\r\n{}\r\n", self.head);
        self.exchange(request.as_bytes()).await
    }

    pub(crate) async fn post(&mut self, path: &str, json: &str) -> Result<Answer<'_>> {
        let request = format!(
            "POST {path} HTTP/1.1\r\n{}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{json}",
            self.head,
            json.len()
        );
        self.exchange(request.as_bytes()).await
    }

    async fn exchange(&mut self, request: &[u8]) -> Result<Answer<'_>> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let head = loop {
            self.more().await?;
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break Head::parse(&self.buffer[..end])?;
            }
        };
        while self.buffer.len() < head.end + head.length {
            self.more().await?;
        }
        Ok(Answer {
            status: head.status,
            body: &self.buffer[head.end..head.end + head.length],
        })
    }

    async fn more(&mut self) -> Result<()> {
        let read = self.stream.read_buf(&mut self.buffer).await?;
        ensure!(read > 0, "the service closed the connection");
        Ok(())
    }
}

struct Head {
    status: u16,
    length: usize,
    /// Where the body starts.
    end: usize,
}

impl Head {
    /// The service always says how long its answer is.
    fn parse(bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes)?;
        let mut lines = text.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let length = lines
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .and_then(|(_, value)| value.trim().parse().ok());
        Ok(Self {
            status: status.context("the answer has no status")?,
            length: length.context("the answer does not say how long it is")?,
            end: bytes.len() + 4,
        })
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|some| some == wanted)
}
