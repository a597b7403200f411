//! Lines of a stream of any size, in constant memory.

use std::io::{self, Read};

use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter};

use super::Unreadable;
use super::text::Encoding;

/// More of a line than this is skipped; no line that counts is as long.
const LONGEST_LINE: usize = 64 * 1024;
const BUFFER: usize = 256 * 1024;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Its number, from 1 on.
    pub(super) number: u64,
    /// What it holds, without its end, at most as much of it as [`LONGEST_LINE`].
    pub(super) bytes: Vec<u8>,
    /// Whether its end is there: the last line of a file cut short has none.
    pub(super) ended: bool,
}

impl Line {
    /// The line as text; what is no UTF-8 is replaced.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Refuses a file whose first line this is, if it is compressed or no UTF-8 text.
    pub(super) fn check_first(&self) -> Result<(), Unreadable> {
        if self.bytes.starts_with(&[0x1f, 0x8b]) {
            let detail = "the file is compressed; decompress it first (gunzip)";
            return Err(Unreadable::at(1, detail));
        }
        let is_utf8 = matches!(Encoding::of(&self.bytes), Encoding::Utf8(_));
        if !is_utf8 || self.bytes.contains(&0) {
            let detail = "is no UTF-8 text (UTF-16, or a binary file); write it as UTF-8, or give the right file";
            return Err(Unreadable::at(1, detail));
        }
        Ok(())
    }
}

/// Reads line by line, or leaps to the next line that starts in one of a few ways.
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    number: u64,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            number: 0,
        }
    }

    /// How many lines were read or skipped.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line, or `None` at the end.
    pub(super) fn next_line(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let mut any = false;
        loop {
            if self.start == self.end && !self.fill()? {
                if !any {
                    return Ok(None);
                }
                return Ok(Some(self.line(bytes, false)));
            }
            any = true;
            let rest = &self.buffer[self.start..self.end];
            let found = memchr(b'\n', rest);
            let piece = &rest[..found.unwrap_or(rest.len())];
            let room = LONGEST_LINE.saturating_sub(bytes.len());
            bytes.extend_from_slice(&piece[..piece.len().min(room)]);
            self.start += found.map_or(rest.len(), |at| at + 1);
            if found.is_some() {
                return Ok(Some(self.line(bytes, true)));
            }
        }
    }

    fn line(&mut self, mut bytes: Vec<u8>, ended: bool) -> Line {
        self.number += 1;
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        if self.number == 1
            && let Encoding::Utf8(mark) = Encoding::of(&bytes)
        {
            bytes.drain(..mark);
        }
        Line {
            number: self.number,
            bytes,
            ended,
        }
    }

    /// Skips to the next line that starts with what one of `finders` seeks, a line end before it;
    /// `false` where there is none.
    ///
    /// Each finder goes over the whole buffer on its own, which a processor does at many bytes a
    /// step; to look at each line would take ten times as long.
    pub(super) fn skip_to(&mut self, finders: &[Finder<'_>]) -> io::Result<bool> {
        if self.start > 0 && self.buffer[self.start - 1] == b'\n' {
            // The end of the line before belongs to what is sought.
            self.start -= 1;
            self.number -= 1;
        }
        let longest = finders.iter().map(|f| f.needle().len()).max().unwrap_or(0);
        loop {
            let rest = &self.buffer[self.start..self.end];
            let found = finders.iter().filter_map(|f| f.find(rest)).min();
            if let Some(at) = found {
                self.skip(at + 1);
                return Ok(true);
            }
            // What is sought may have begun at the end of the buffer.
            let seen = rest.len().saturating_sub(longest.saturating_sub(1));
            self.skip(seen);
            if !self.fill()? {
                self.skip(self.end - self.start);
                return Ok(false);
            }
        }
    }

    fn skip(&mut self, bytes: usize) {
        let skipped = &self.buffer[self.start..self.start + bytes];
        self.number += memchr_iter(b'\n', skipped).count() as u64;
        self.start += bytes;
    }

    /// Reads more behind what is there; `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(read) => {
                    self.end += read;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out one byte at a time, so that every place is the end of a buffer.
    struct Drop<'a>(&'a [u8]);

    impl Read for Drop<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else {
                return Ok(0);
            };
            into[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn lines_are_numbered_and_the_last_may_lack_its_end() {
        let mut lines = Lines::new(Drop(b"a\r\n\nb"));
        let mut read = || lines.next_line().unwrap();
        let line = |number, bytes: &[u8], ended| {
            let bytes = bytes.to_vec();
            Some(Line {
                number,
                bytes,
                ended,
            })
        };
        assert_eq!(read(), line(1, b"a", true));
        assert_eq!(read(), line(2, b"", true));
        assert_eq!(read(), line(3, b"b", false));
        assert_eq!(read(), None);
    }

    #[test]
    fn a_byte_order_mark_is_dropped_and_other_encodings_are_refused() {
        let first = |bytes: &[u8]| Lines::new(bytes).next_line().unwrap().unwrap();
        let line = first(b"\xef\xbb\xbfversion: 1\n");
        assert_eq!(line.text(), "version: 1");
        assert_eq!(line.check_first(), Ok(()));
        for bytes in [&b"\xff\xfev\0\n\0"[..], b"v\0e\0\n\0", b"\x1f\x8b\n"] {
            assert!(first(bytes).check_first().is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_leap_ends_at_the_start_of_a_line_and_keeps_count() {
        let finders = [Finder::new("\ntotals:"), Finder::new("\npart:")];
        let text = b"x totals: 1\nfn=totals:\n1 2\ntotals: 7\n";
        for big in [true, false] {
            let mut slice = &text[..];
            let input: Box<dyn Read> = if big {
                Box::new(&mut slice)
            } else {
                Box::new(Drop(text))
            };
            let mut lines = Lines::new(input);
            assert!(lines.skip_to(&finders).unwrap());
            let line = lines.next_line().unwrap().unwrap();
            assert_eq!((line.number, line.text().as_str()), (4, "totals: 7"));
            assert!(!lines.skip_to(&finders).unwrap());
        }
    }

    #[test]
    fn a_line_of_any_length_takes_bounded_memory() {
        let long = vec![b'x'; 3 * BUFFER];
        let mut lines = Lines::new(long.as_slice());
        let line = lines.next_line().unwrap().unwrap();
        assert_eq!(line.bytes.len(), LONGEST_LINE);
        assert_eq!(lines.next_line().unwrap(), None);
    }
}
