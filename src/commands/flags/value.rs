//! Values of settings that clap has no type for.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::commands) struct ByteCount(usize);

impl ByteCount {
    /// The number.
    pub(in crate::commands) fn get(self) -> usize {
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

/// Less would leave no room for one large upload beside one large read.
const MIN_MEMORY: usize = 64 << 20;

pub(in crate::commands) fn parse_memory(text: &str) -> Result<ByteCount, &'static str> {
    match text.parse::<ByteCount>()? {
        count if count.get() >= MIN_MEMORY => Ok(count),
        _ => Err("write at least 64MiB, such as 256MiB"),
    }
}

/// An address alone is the network of this one address.
pub(in crate::commands) fn parse_network(text: &str) -> Result<IpNet, &'static str> {
    let address = text.parse::<IpAddr>().map(IpNet::from);
    address
        .or_else(|_| text.parse().map(|network: IpNet| network.trunc()))
        .map_err(|_| "write an address or a network, such as 10.0.0.7 or 10.0.0.0/8")
}

/// A duration as people write it: `30s`, `5m`, `90d`.
///
/// # Errors
/// What to write instead.
pub(in crate::commands) fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| "write a number and a unit, such as 500ms, 30s, 5m, 12h or 90d".to_owned())
}

pub(in crate::commands) fn parse_positive_duration(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("must be longer than nothing, such as 30s".to_owned()),
        duration => Ok(duration),
    }
}

pub(in crate::commands) fn parse_listen(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse()
        .map_err(|_| "write an IP address and a port, such as 127.0.0.1:8080 or [::]:8080")
}

/// A switch that an environment variable sets.
pub(in crate::commands) fn parse_boolean(text: &str) -> Result<bool, &'static str> {
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
