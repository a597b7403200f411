//! From a file to the JSON texts that it holds: one, or one a line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;

use serde::de::IgnoredAny;

use super::files::Source;
use crate::files::input::{MAX_RUN_BYTES, decoded};

/// One text, or why there is none.
pub(super) struct Text {
    /// The line that it stands on, from 1 on, in a file of lines.
    pub(super) line: Option<u64>,
    pub(super) json: Result<Vec<u8>, String>,
    /// How much of the file it took.
    pub(super) bytes: u64,
}

/// Hands each text of `source` to `take`, until that says to stop. Blank lines are none.
pub(super) fn read(
    source: &Source,
    take: &mut dyn FnMut(Text) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let opened = match &source.path {
        None => decoded(io::stdin().lock(), MAX_RUN_BYTES),
        Some(path) => {
            File::open(path).and_then(|file| decoded(BufReader::new(file), MAX_RUN_BYTES))
        }
    };
    match opened {
        Ok(input) if source.is_lines() => lines(&mut Lines::new(input), take),
        Ok(input) => file(input, take),
        Err(error) => take(Text::unreadable(None, &error)),
    }
}

impl Text {
    fn unreadable(line: Option<u64>, error: &io::Error) -> Self {
        Self {
            line,
            json: Err(format!("cannot be read: {error}")),
            bytes: 0,
        }
    }
}

/// A file that holds one text over several lines, or lines of texts: its first line tells.
fn file(input: Box<dyn BufRead>, take: &mut dyn FnMut(Text) -> ControlFlow<()>) -> ControlFlow<()> {
    let mut lines = Lines::new(input);
    let Some(first) = lines.next() else {
        return take(Text {
            line: None,
            json: Err("is empty".to_owned()),
            bytes: 0,
        });
    };
    let is_whole = |text: &Text| {
        let json = text.json.as_ref();
        json.is_ok_and(|json| serde_json::from_slice::<IgnoredAny>(json).is_ok())
    };
    if !is_whole(&first) {
        return take(lines.rest_of(first));
    }
    match lines.next() {
        None => take(Text {
            line: None,
            ..first
        }),
        Some(second) => {
            take(first)?;
            take(second)?;
            self::lines(&mut lines, take)
        }
    }
}

fn lines(lines: &mut Lines, take: &mut dyn FnMut(Text) -> ControlFlow<()>) -> ControlFlow<()> {
    lines.try_for_each(take)
}

/// The lines of a file that are not blank, none of them longer in memory than any run is.
struct Lines {
    input: Box<dyn BufRead>,
    number: u64,
    at_end: bool,
    /// Whether the last line went on after what was read of it.
    in_long_line: bool,
}

impl Lines {
    fn new(input: Box<dyn BufRead>) -> Self {
        Self {
            input,
            number: 0,
            at_end: false,
            in_long_line: false,
        }
    }

    /// The whole file as one text, of which `first` was read.
    fn rest_of(mut self, first: Text) -> Text {
        let read = || {
            let mut json = first.json?;
            let left = (MAX_RUN_BYTES + 1).saturating_sub(json.len());
            self.input
                .by_ref()
                .take(left as u64)
                .read_to_end(&mut json)
                .map_err(|error| format!("cannot be read: {error}"))?;
            if json.len() > MAX_RUN_BYTES {
                return Err(too_long());
            }
            Ok(json)
        };
        let json = read();
        Text {
            line: None,
            bytes: json.as_ref().map_or(first.bytes, |json| json.len() as u64),
            json,
        }
    }

    fn read_line(&mut self) -> io::Result<(Vec<u8>, u64)> {
        let mut bytes = 0;
        if self.in_long_line {
            // Only now: a line may have no end, and may be all that is wanted.
            bytes += self.input.skip_until(b'\n')? as u64;
        }
        let mut line = Vec::new();
        let start = self.input.by_ref().take(MAX_RUN_BYTES as u64 + 1);
        bytes += { start }.read_until(b'\n', &mut line)? as u64;
        self.in_long_line = line.len() > MAX_RUN_BYTES && line.last() != Some(&b'\n');
        Ok((line, bytes))
    }
}

impl Iterator for Lines {
    type Item = Text;

    fn next(&mut self) -> Option<Text> {
        while !self.at_end {
            self.number += 1;
            let line = Some(self.number);
            match self.read_line() {
                Ok((line, _)) if line.is_empty() => self.at_end = true,
                Ok((json, bytes)) if json.len() > MAX_RUN_BYTES => {
                    let json = Err(too_long());
                    return Some(Text { line, json, bytes });
                }
                Ok((json, _)) if json.iter().all(u8::is_ascii_whitespace) => {}
                Ok((json, bytes)) => {
                    let json = Ok(json);
                    return Some(Text { line, json, bytes });
                }
                Err(error) => {
                    self.at_end = true;
                    return Some(Text::unreadable(line, &error));
                }
            }
        }
        None
    }
}

fn too_long() -> String {
    format!("holds more than any run does ({} MiB)", MAX_RUN_BYTES >> 20)
}
