//! Bytes -> text, the same for every input that is read whole.
//!
//! A byte order mark is dropped, UTF-16 that has one is decoded, and lines end in a line feed alone
//! (CR LF is what Windows writes). Text that is none is refused with its line: another encoding, a
//! NUL byte, UTF-16 without its mark.

use super::Unreadable;

const BOM: char = '\u{feff}';

/// How the first bytes of a file say that it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// UTF-8, whose mark takes this many bytes.
    Utf8(usize),
    Utf16LittleEndian,
    Utf16BigEndian,
    Utf32,
}

impl Encoding {
    /// Looks at the first four bytes; a file without a mark counts as UTF-8.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0xef, 0xbb, 0xbf, ..] => Self::Utf8(3),
            [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Self::Utf32,
            [0xff, 0xfe, ..] => Self::Utf16LittleEndian,
            [0xfe, 0xff, ..] => Self::Utf16BigEndian,
            _ => Self::Utf8(0),
        }
    }
}

/// Decodes a whole file.
///
/// # Errors
/// The line at which the bytes are no text, and what to do about it.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<String, Unreadable> {
    let text = match Encoding::of(&bytes) {
        Encoding::Utf8(_) => from_utf8(bytes)?,
        Encoding::Utf16LittleEndian => from_utf16(&bytes[2..], u16::from_le_bytes)?,
        Encoding::Utf16BigEndian => from_utf16(&bytes[2..], u16::from_be_bytes)?,
        Encoding::Utf32 => {
            return Err(Unreadable::whole(
                "is UTF-32 text, which is not read; write it as UTF-8",
            ));
        }
    };
    if let Some(at) = text.find('\0') {
        let detail = if is_utf16_without_mark(text.as_bytes()) {
            "looks like UTF-16 text without a byte order mark; write it as UTF-8"
        } else {
            "holds a NUL byte, so the file is no text, or was damaged when it was written"
        };
        return Err(Unreadable::at(line_of(&text.as_bytes()[..at]), detail));
    }
    Ok(plain(text))
}

fn from_utf8(bytes: Vec<u8>) -> Result<String, Unreadable> {
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        Unreadable::at(line_of(before), "is no UTF-8 text; is this the right file?")
    })
}

fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, Unreadable> {
    let pairs = bytes.chunks_exact(2);
    let is_cut = !pairs.remainder().is_empty();
    let units: Vec<u16> = pairs.map(|pair| unit([pair[0], pair[1]])).collect();
    match String::from_utf16(&units) {
        Ok(text) if !is_cut => Ok(text),
        _ => Err(Unreadable::whole(
            "is UTF-16 text that was cut short or damaged; write it again, as UTF-8",
        )),
    }
}

/// Every second byte of ASCII text in UTF-16 is zero.
fn is_utf16_without_mark(bytes: &[u8]) -> bool {
    matches!(bytes, [first, 0, second, 0, ..] | [0, first, 0, second, ..] if *first != 0 && *second != 0)
}

fn line_of(before: &[u8]) -> u64 {
    before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}

/// Drops CR before LF, and a mark at the start of any line: files that have one are joined, too.
fn plain(text: String) -> String {
    let text = if text.contains("\r\n") {
        text.replace("\r\n", "\n")
    } else {
        text
    };
    if !text.contains(BOM) {
        return text;
    }
    let lines = text.split_inclusive('\n');
    lines.map(|line| line.trim_start_matches(BOM)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        "\u{feff}"
            .encode_utf16()
            .chain(text.encode_utf16())
            .flat_map(bytes)
            .collect()
    }

    #[test]
    fn one_text_is_read_however_it_is_written() {
        let text = "a é 😀\nb\n";
        for bytes in [
            text.as_bytes().to_vec(),
            text.replace('\n', "\r\n").into_bytes(),
            format!("\u{feff}{text}").into_bytes(),
            text.replace('b', "\u{feff}b").into_bytes(),
            utf16(text, u16::to_le_bytes),
            utf16(text, u16::to_be_bytes),
            utf16(&text.replace('\n', "\r\n"), u16::to_le_bytes),
        ] {
            assert_eq!(decode(bytes).as_deref(), Ok(text));
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_with_their_line() {
        let utf32: Vec<u8> = [0xff, 0xfe, 0, 0, b'a', 0, 0, 0].into();
        let mut cut = utf16("abc", u16::to_le_bytes);
        cut.pop();
        for (bytes, said) in [
            (b"a\nb\xff".to_vec(), "line 2: is no UTF-8 text"),
            (b"a\n\nb\0c".to_vec(), "line 3: holds a NUL byte"),
            (b"a\0b\0".to_vec(), "line 1: looks like UTF-16 text"),
            (b"\0a\0b".to_vec(), "line 1: looks like UTF-16 text"),
            (utf32, "is UTF-32 text"),
            (cut, "is UTF-16 text that was cut short"),
        ] {
            let error = decode(bytes).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }
}
