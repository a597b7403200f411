//! Answers in JSON, held in little memory until their clients have taken them.
//!
//! A large answer is compressed while it is written, so its whole text never stands in memory: the
//! history of a thousand metrics is a twentieth of its text. A client that takes gzip is sent just
//! that; for any other it is expanded piece by piece.

use std::io::{self, Cursor, Read as _, Write};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use futures_util::stream;
use hyper::body::Body as _;
use serde::Serialize;

use super::AppState;
use super::problem::Problem;

/// A shorter answer stays as it is.
const PACK_FROM: usize = 64 << 10;

/// An answer that is shorter is not counted: a connection of its own takes more.
const COUNT_FROM: usize = 8 << 10;

/// Bytes of one piece of an answer that is expanded while it is sent.
const PIECE: usize = 32 << 10;

/// What hyper holds at most of an answer that is made piece by piece.
const PIECES: usize = super::serve::MAX_BUFFER + 2 * PIECE;

/// The JSON text of `value`.
pub(super) fn json(value: &impl Serialize) -> Result<Response, Problem> {
    let mut text = Text::Plain(Vec::with_capacity(1024));
    serde_json::to_writer(&mut text, value).map_err(|error| Problem::failed(&error))?;
    text.into_response()
        .map_err(|error| Problem::failed(&error))
}

/// A text that is compressed from a certain length on.
enum Text {
    Plain(Vec<u8>),
    Packed(GzEncoder<Vec<u8>>),
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Self::Plain(text) = self {
            if text.len() + bytes.len() <= PACK_FROM {
                text.extend_from_slice(bytes);
                return Ok(bytes.len());
            }
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(text)?;
            *self = Self::Packed(packed);
        }
        match self {
            Self::Packed(packed) => packed.write(bytes),
            Self::Plain(text) => text.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The compressed body of an answer, until it is known what its client takes.
#[derive(Clone)]
struct Packed(Bytes);

impl Text {
    fn into_response(self) -> io::Result<Response> {
        let mut response = match self {
            Self::Plain(text) => text.into_response(),
            Self::Packed(packed) => {
                let mut response = Response::default();
                let mut packed = packed.finish()?;
                packed.shrink_to_fit();
                response.extensions_mut().insert(Packed(packed.into()));
                response
            }
        };
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        Ok(response)
    }
}

/// Gives a compressed answer its body, and counts every answer's memory until it is sent.
pub(super) async fn deliver(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let takes_gzip = takes_gzip(request.headers());
    let mut response = next.run(request).await;
    let bytes = match response.extensions_mut().remove() {
        Some(Packed(packed)) => attach(&mut response, packed, takes_gzip),
        None => response
            .body()
            .size_hint()
            .lower()
            .try_into()
            .unwrap_or(usize::MAX),
    };
    if bytes < COUNT_FROM {
        return response;
    }
    match state.admission.answer(bytes).await {
        Ok(unsent) => {
            response.extensions_mut().insert(unsent);
            response
        }
        Err(problem) => problem.into_response(),
    }
}

/// Attaches the body, and returns how much memory it takes.
fn attach(response: &mut Response, packed: Bytes, takes_gzip: bool) -> usize {
    let bytes = packed.len();
    let vary = HeaderValue::from_static("accept-encoding");
    response.headers_mut().insert(VARY, vary);
    if takes_gzip {
        let gzip = HeaderValue::from_static("gzip");
        response.headers_mut().insert(CONTENT_ENCODING, gzip);
        *response.body_mut() = Body::from(packed);
        return bytes;
    }
    if let Some(length) = plain_length(&packed) {
        let length = HeaderValue::from(length);
        response.headers_mut().insert(CONTENT_LENGTH, length);
    }
    *response.body_mut() = expanded(packed);
    bytes + PIECES
}

/// How long the text is once it is expanded: the last four bytes of gzip (RFC 1952, section 2.3.1).
fn plain_length(packed: &[u8]) -> Option<u32> {
    packed.last_chunk().copied().map(u32::from_le_bytes)
}

fn expanded(packed: Bytes) -> Body {
    let text = GzDecoder::new(Cursor::new(packed));
    let pieces = stream::unfold(text, |mut text| async {
        let mut piece = Vec::with_capacity(PIECE);
        match (&mut text).take(PIECE as u64).read_to_end(&mut piece) {
            Ok(0) => None,
            Ok(_) => Some((Ok(Bytes::from(piece)), text)),
            Err(error) => Some((Err(error), text)),
        }
    });
    Body::from_stream(pieces)
}

/// Whether the client takes gzip (RFC 9110, section 12.5.3).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(ACCEPT_ENCODING).into_iter();
    let codings = codings.flat_map(|value| value.to_str().unwrap_or_default().split(','));
    let mut any = false;
    for coding in codings {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
        let taken = weight.parse::<f32>().is_ok_and(|weight| weight > 0.0);
        match name.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => return taken,
            "*" => any = taken,
            _ => {}
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    async fn bytes_of(response: Response) -> Bytes {
        response.into_body().collect().await.unwrap().to_bytes()
    }

    fn long() -> Vec<String> {
        (0..20_000)
            .map(|number| format!("number {number}"))
            .collect()
    }

    #[tokio::test]
    async fn a_short_answer_is_its_text() {
        let response = json(&["a"]).unwrap();
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
        assert_eq!(bytes_of(response).await, r#"["a"]"#);
    }

    #[tokio::test]
    async fn a_long_answer_is_small_until_it_is_sent_and_whole_then() {
        let expected = serde_json::to_vec(&long()).unwrap();
        for takes_gzip in [false, true] {
            let mut response = json(&long()).unwrap();
            let Packed(packed) = response.extensions_mut().remove().unwrap();
            assert!(packed.len() < expected.len() / 4);
            attach(&mut response, packed, takes_gzip);
            let mut text = bytes_of(response).await.to_vec();
            if takes_gzip {
                let packed = std::mem::take(&mut text);
                GzDecoder::new(packed.as_slice())
                    .read_to_end(&mut text)
                    .unwrap();
            }
            assert!(text == expected);
        }
    }

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        for (value, taken) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("*", true),
            ("gzip;q=0, *", false),
            ("identity", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, value.parse().unwrap());
            assert_eq!(takes_gzip(&headers), taken, "{value}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
