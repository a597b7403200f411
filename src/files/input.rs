//! What a command is given to read: a file or standard input, up to a size, and what is wrong with it.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, Cursor, Read};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::collect::text::{self, Encoding};
use crate::domain::{Document, Faults, JsonText};
use crate::terminal::shown;
use crate::terminal::tame;

/// Ten thousand metrics with the longest names, escaped and indented, have a third of it.
pub(crate) const MAX_RUN_BYTES: usize = 64 << 20;

/// Far more than any `gate.toml` or contract has.
pub(crate) const MAX_CONFIG_BYTES: usize = 1 << 20;

/// A file, or standard input.
pub(crate) struct Input {
    /// `None` for standard input.
    path: Option<PathBuf>,
    name: String,
}

impl Input {
    /// What a command line names; `-` is standard input.
    pub(crate) fn of(path: &Path) -> Self {
        if path == Path::new("-") {
            return Self::stdin();
        }
        Self::file(path)
    }

    /// A file, whatever it is called.
    pub(crate) fn file(path: &Path) -> Self {
        Self {
            path: Some(path.to_owned()),
            name: shown::path(path),
        }
    }

    pub(crate) fn stdin() -> Self {
        Self {
            path: None,
            name: "standard input".to_owned(),
        }
    }

    /// What it is called in a message.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// All of it. What has no end is given up once it is larger than `most` bytes.
    ///
    /// # Errors
    /// If it cannot be read, or is larger.
    pub(crate) fn bytes(&self, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut read = |source: &mut dyn Read| {
            // A little more is enough to know that it is too large.
            source.take(most as u64 + 1).read_to_end(&mut bytes)
        };
        match &self.path {
            None => read(&mut io::stdin().lock())?,
            Some(path) => read(&mut File::open(path)?)?,
        };
        if bytes.len() > most {
            let why = format!("it holds more than {} MiB", most >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        Ok(bytes)
    }

    /// All of it as a text, decoded as [`text::decode`] does; see [`Input::bytes`].
    ///
    /// # Errors
    /// As there; or that it is no text.
    pub(crate) fn text(&self, most: usize) -> io::Result<String> {
        text::decode(self.bytes(most)?).map_err(|error| {
            let why = match error.line {
                Some(line) => format!("line {line} {}", error.detail),
                None => format!("it {}", error.detail),
            };
            io::Error::new(io::ErrorKind::InvalidData, why)
        })
    }

    /// What `parse` makes of its JSON, which is no larger than that of any run. `wanted` says in a
    /// message what it should hold.
    ///
    /// # Errors
    /// That it cannot be read, is larger, or is not JSON; or every fault that `parse` found.
    pub(crate) fn parse_json<T>(
        &self,
        wanted: &str,
        parse: impl FnOnce(JsonText<'_>) -> Result<T, Faults>,
    ) -> anyhow::Result<T> {
        let name = &self.name;
        let text = self
            .text(MAX_RUN_BYTES)
            .with_context(|| format!("cannot read {name}"))?;
        let json =
            JsonText::parse(text.as_bytes()).with_context(|| format!("{name} is not JSON"))?;
        parse(json)
            .map_err(|faults| anyhow::anyhow!("{name} holds no {wanted}{}", lines(faults.lines())))
    }

    /// The document that it holds.
    ///
    /// # Errors
    /// That it cannot be read, or every reason why it holds none.
    pub(crate) fn document(&self) -> anyhow::Result<Document> {
        self.parse_json("document that fits", Document::parse)
    }
}

/// A stream of lines without the byte order mark before it, and decoded where the mark is that of
/// UTF-16, of which at most `most` bytes are held.
///
/// # Errors
/// That it cannot be read, is too large to be decoded, or is no text.
pub(crate) fn decoded(
    mut input: impl BufRead + 'static,
    most: usize,
) -> io::Result<Box<dyn BufRead>> {
    let mut head = Vec::new();
    input.by_ref().take(4).read_to_end(&mut head)?;
    let mark = match Encoding::of(&head) {
        Encoding::Utf8(mark) => mark,
        _ => {
            let mut bytes = head;
            input.take(most as u64).read_to_end(&mut bytes)?;
            let text = text::decode(bytes)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            return Ok(Box::new(Cursor::new(text.into_bytes())));
        }
    };
    let head = Cursor::new(head.split_off(mark));
    Ok(Box::new(head.chain(input)))
}

/// Faults, or whatever is told one by one: each on a line of its own, below what was said before. A
/// stranger's words in it begin no other line, which a CI could take for an order.
pub(crate) fn lines(all: impl IntoIterator<Item: fmt::Display>) -> String {
    let lines = all
        .into_iter()
        .map(|one| format!("\n  {}", tame(&one.to_string())));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_given_up() {
        let endless = Input::of(Path::new("/dev/zero"));
        let error = endless.bytes(1 << 20).unwrap_err();
        assert_eq!(error.to_string(), "it holds more than 1 MiB");
        let json = format!("{:#}", endless.document().unwrap_err());
        assert_eq!(json, "cannot read `/dev/zero`: it holds more than 64 MiB");
    }

    #[test]
    fn a_stranger_begins_no_line() {
        assert_eq!(
            lines(["a", "b\n::error::c"]),
            "\n  a\n  b\u{fffd}::error::c"
        );
    }

    #[test]
    fn a_stream_is_read_however_it_is_written() {
        let lines = |bytes: &[u8]| -> io::Result<String> {
            let mut text = String::new();
            decoded(Cursor::new(bytes.to_vec()), 64)?.read_to_string(&mut text)?;
            Ok(text)
        };
        assert_eq!(lines(b"a\nb").unwrap(), "a\nb");
        assert_eq!(lines(b"a").unwrap(), "a");
        assert_eq!(lines(b"\xef\xbb\xbfa\nb").unwrap(), "a\nb");
        assert_eq!(lines(b"\xff\xfea\0\n\0").unwrap(), "a\n");
        assert!(lines(b"\xff\xfea\0\n").is_err());
    }

    #[test]
    fn what_fits_to_the_byte_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "abc").unwrap();
        let input = Input::of(&path);
        assert_eq!(input.text(3).unwrap(), "abc");
        assert!(input.text(2).is_err());
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(
            input.text(3).unwrap_err().to_string(),
            "line 1 is no UTF-8 text; is this the right file?"
        );
        std::fs::write(&path, "\u{feff}{}\r\n").unwrap();
        assert_eq!(input.text(9).unwrap(), "{}\n");
    }
}
