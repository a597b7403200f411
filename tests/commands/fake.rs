//! A server that answers what a test says, whatever it is asked.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// One answer: these bytes, and then an end of the connection.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Bytes(String),
    /// No answer, and no end either.
    Silence,
}

/// A listening server; it ends with the test.
pub(crate) struct Fake {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Reply {
    /// A whole answer.
    pub(crate) fn new(status: &str, headers: &[&str], body: &str) -> Self {
        let mut bytes = format!("HTTP/1.1 {status}\r\n");
        for header in headers {
            bytes.push_str(&format!("{header}\r\n"));
        }
        // One answer a connection: a client that was not told might send its next request to the end of it.
        bytes.push_str(&format!(
            "Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        Self::Bytes(bytes)
    }

    /// An answer of the service to an upload that is new.
    pub(crate) fn created() -> Self {
        Self::new(
            "201 Created",
            &["Content-Type: application/json"],
            r#"{"run_id":17,"outcome":"created"}"#,
        )
    }
}

impl Fake {
    /// A server that gives `replies` in turn, one a connection, the last one again and again.
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&requests);
        tokio::spawn(async move {
            let mut count = 0;
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let reply = replies[count.min(replies.len() - 1)].clone();
                count += 1;
                tokio::spawn(answer(stream, reply, Arc::clone(&heard)));
            }
        });
        Self { url, requests }
    }

    /// All requests so far, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn answer(mut stream: TcpStream, reply: Reply, heard: Arc<Mutex<Vec<String>>>) {
    let request = read(&mut stream).await;
    heard.lock().unwrap().push(request);
    match reply {
        Reply::Bytes(bytes) => {
            stream.write_all(bytes.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
        Reply::Silence => std::future::pending().await,
    }
}

async fn read(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).await.unwrap();
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        if count == 0 || is_whole(&text) {
            return text;
        }
    }
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.parse().unwrap())
    });
    body.len() >= length.unwrap_or(0)
}
