//! Values of settings that clap has no type for.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use url::Url;

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteCount(usize);

impl ByteCount {
    /// The number.
    pub fn get(self) -> usize {
        self.0
    }
}

impl FromStr for ByteCount {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        let factor: usize = match unit.trim_start() {
            "" | "B" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return Err("write a number of bytes, such as 4194304 or 4MiB"),
        };
        let count = digits
            .parse::<usize>()
            .ok()
            .and_then(|count| count.checked_mul(factor));
        match count {
            Some(count @ 1..=0x4000_0000) => Ok(Self(count)),
            _ => Err("write a number of bytes from 1 to 1GiB, such as 4194304 or 4MiB"),
        }
    }
}

/// A web origin: scheme, host and maybe a port, exactly as a browser sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// The text, as the `Origin` header has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Err("every origin is named in full; there is no wildcard".to_owned());
        }
        let url = Url::parse(text)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .ok_or("write scheme, host and maybe a port, such as https://perf.example.org")?;
        let origin = url.origin().ascii_serialization();
        if origin == text {
            Ok(Self(origin))
        } else {
            Err(format!("a browser sends `{origin}`; write that"))
        }
    }
}

/// A public key's id and file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKeyFile {
    /// The id, which a token has in its header as `kid`.
    pub id: String,
    /// The file, in PEM form.
    pub path: PathBuf,
}

impl FromStr for PublicKeyFile {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.split_once('=') {
            Some((id, path)) if !id.is_empty() && !path.is_empty() => Ok(Self {
                id: id.to_owned(),
                path: path.into(),
            }),
            _ => Err("write the key's id and its file, such as ci-2026=/etc/perf-tracking/ci.pem"),
        }
    }
}

/// What is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter(String);

impl LogFilter {
    /// The text, which [`EnvFilter`] can read.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for LogFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write error, warn, info, debug, trace or off, \
                            or `part=level` with commas between";
        // The filter takes a word that is no level for a part, and logs all of it and nothing else.
        let levels = ["error", "warn", "info", "debug", "trace", "off"];
        let lone_word = text.chars().all(char::is_alphanumeric);
        if lone_word && !levels.contains(&text.to_ascii_lowercase().as_str()) {
            return Err(FORM.to_owned());
        }
        match EnvFilter::try_new(text) {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(error) => Err(format!("{error}; {FORM}")),
        }
    }
}

/// A duration as people write it: `30s`, `5m`, `90d`.
///
/// # Errors
/// What to write instead.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| "write a number and a unit, such as 500ms, 30s, 5m, 12h or 90d".to_owned())
}

pub(super) fn parse_positive_duration(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("must be longer than nothing, such as 30s".to_owned()),
        duration => Ok(duration),
    }
}

pub(super) fn parse_listen(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse()
        .map_err(|_| "write an IP address and a port, such as 127.0.0.1:8080 or [::]:8080")
}

/// A switch that an environment variable sets.
pub(super) fn parse_boolean(text: &str) -> Result<bool, &'static str> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err("write true or false"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_on_off_or_refused() {
        for (text, value) in [("true", true), ("1", true), ("FALSE", false), ("0", false)] {
            assert_eq!(parse_boolean(text), Ok(value));
        }
        for text in ["", "maybe", "2", " true"] {
            assert!(parse_boolean(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn sizes_are_bytes_or_binary_units() {
        for (text, bytes) in [
            ("1", 1),
            ("64KiB", 65_536),
            ("4 MiB", 4 << 20),
            ("1GiB", 1 << 30),
        ] {
            assert_eq!(text.parse::<ByteCount>().map(ByteCount::get), Ok(bytes));
        }
        for text in [
            "",
            "MiB",
            "1.5MiB",
            "-1",
            "1MB",
            "2GiB",
            "18446744073709551615GiB",
        ] {
            assert!(text.parse::<ByteCount>().is_err(), "{text:?}");
        }
    }
}
