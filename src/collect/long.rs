//! Names that are too long for their column, and memory addresses in names.
//!
//! A long name is shortened the same way on every run: its end is kept, since it has the benchmark
//! and the unit, and a hash of the whole name stands before it, so that two long names with one end
//! stay two. A memory address is another one on every run, so it is never part of a name.

use sha2::{Digest as _, Sha256};

use crate::domain::{DimKey, MetricKey};

/// Hexadecimal digits of the hash: a collision needs two names with one end and one hash of 2^32.
const HASH_DIGITS: usize = 8;
/// The lengths that values of a dimension are cut to, one after the other until the key fits. Fixed
/// steps leave a long value as it is when a short one beside it grows by a digit.
const STEPS: [usize; 6] = [64, 48, 32, 24, 16, 12];

/// A metric's key in 80 characters: the tool's name, the hash, the end.
pub(super) fn key(key: &str) -> Option<String> {
    if key.chars().count() <= MetricKey::MAX_CHARS {
        return None;
    }
    let tool = match key.split_once('.') {
        Some((tool, _)) if tool.chars().count() <= 20 => format!("{tool}."),
        _ => String::new(),
    };
    let room = MetricKey::MAX_CHARS - tool.chars().count();
    // All metrics of a benchmark have one hash; what they differ in is kept at the end.
    let hashed = match key.rsplit_once('.') {
        Some((benchmark, metric)) if metric.chars().count() < room / 2 => benchmark,
        _ => key,
    };
    Some(format!("{tool}{}", cut(key, hashed, room)))
}

/// The pairs of a dimension with their long values shortened, if they are too long as they are.
/// `length` says how long the written key of some pairs is.
pub(super) fn pairs(
    pairs: &[(String, String)],
    length: impl Fn(&[(String, String)]) -> usize,
) -> Option<Vec<(String, String)>> {
    if length(pairs) <= DimKey::MAX_CHARS {
        return None;
    }
    for step in STEPS {
        let shorter: Vec<(String, String)> = pairs
            .iter()
            .map(|(name, value)| (name.clone(), fit(value, step)))
            .collect();
        if length(&shorter) <= DimKey::MAX_CHARS {
            return Some(shorter);
        }
    }
    // More parameters than fit, however short: their hash stands for all of them.
    let all: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    Some(vec![("parameters".to_owned(), hash(&all.join(",")))])
}

fn fit(value: &str, room: usize) -> String {
    if value.chars().count() <= room {
        return value.to_owned();
    }
    cut(value, value, room)
}

/// The hash of `hashed` and the end of `text` as `~1a2b3c4d~end`, in `room` characters. The end
/// starts behind a separator where one is near.
fn cut(text: &str, hashed: &str, room: usize) -> String {
    let kept = room.saturating_sub(HASH_DIGITS + 2);
    let skipped = text.chars().count().saturating_sub(kept);
    let end: String = text.chars().skip(skipped).collect();
    let near = end.char_indices().take(kept / 3);
    let behind = near
        .filter(|(_, c)| matches!(c, '.' | '/' | ':' | ' '))
        .last()
        .map_or(0, |(at, c)| at + c.len_utf8());
    format!("~{}~{}", hash(hashed), end[behind..].trim())
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    digits[..HASH_DIGITS].to_owned()
}

/// The text without the memory addresses in it, if it has any: ` at 0x7f3a1c02e40` of Python is
/// dropped, and another address becomes `(address)`.
pub(super) fn without_addresses(text: &str) -> Option<String> {
    let mut kept = String::new();
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.find("0x") {
        let (before, from) = rest.split_at(at);
        let digits = from[2..].bytes().take_while(u8::is_ascii_hexdigit).count();
        let number = &from[2..2 + digits];
        let after = &from[2 + digits..];
        let is_word = !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if is_word && before.ends_with(" at ") && digits >= 4 {
            kept.push_str(before.trim_end_matches(" at "));
            found = true;
        } else if is_word && is_address(number) {
            kept.push_str(before);
            kept.push_str("(address)");
            found = true;
        } else {
            kept.push_str(before);
            kept.push_str("0x");
            kept.push_str(number);
        }
        rest = after;
    }
    kept.push_str(rest);
    found.then_some(kept)
}

/// Whether a hexadecimal number is where a 64-bit program keeps its memory. Masks have more bits, and
/// sizes end in zeros.
fn is_address(digits: &str) -> bool {
    let Ok(number) = u64::from_str_radix(digits, 16) else {
        return false;
    };
    digits.len() >= 10 && (1 << 32..1 << 48).contains(&number) && !number.is_multiple_of(1 << 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_key_keeps_its_tool_its_end_and_a_hash() {
        let name = "jmh.org.example.project.benchmark.jmh.VectorUtilBenchmark.floatDotProductVector.thrpt_ops_per_second";
        let short = key(name).unwrap();
        assert_eq!(
            short,
            "jmh.~34b7c3a5~VectorUtilBenchmark.floatDotProductVector.thrpt_ops_per_second"
        );
        assert!(short.chars().count() <= MetricKey::MAX_CHARS);
        let other = name.replace("jmh.org.example", "jmh.org.another");
        assert_ne!(key(&other).unwrap(), short);
        assert_eq!(key(&"n".repeat(80)), None);
        let letters = key(&"é".repeat(81)).unwrap();
        assert_eq!(letters.chars().count(), 80);
    }

    #[test]
    fn long_values_are_cut_and_short_ones_stay() {
        let written = |pairs: &[(String, String)]| -> usize {
            pairs.iter().map(|(k, v)| k.len() + v.len() + 2).sum()
        };
        let given = |threads: &str| {
            vec![
                (
                    "pkg".to_owned(),
                    format!("example.org/{}/end", "x".repeat(120)),
                ),
                ("threads".to_owned(), threads.to_owned()),
            ]
        };
        let short = pairs(&given("1"), written).unwrap();
        assert_eq!(short[1].1, "1");
        assert!(
            short[0].1.ends_with("/end") && short[0].1.len() <= 64,
            "{short:?}"
        );
        assert_eq!(pairs(&given("16"), written).unwrap()[0], short[0]);
        let many: Vec<_> = (0..60).map(|n| (format!("k{n}"), "v".to_owned())).collect();
        assert_eq!(pairs(&many, written).unwrap().len(), 1);
    }

    #[test]
    fn addresses_go_and_numbers_stay() {
        for (text, kept) in [
            ("<function f at 0x7f3a1c01e40>", Some("<function f>")),
            ("<A object at 0x1A2B>", Some("<A object>")),
            ("BenchmarkX/0xc0001a2b38", Some("BenchmarkX/(address)")),
            ("0x00007f3a1c01e400/b", Some("(address)/b")),
            ("0xffffffffffffffff", None),
            ("0x10000000000", None),
            ("0x1000", None),
            ("a0x7f3a1c01e40", None),
            ("look at 0xylophone", None),
            ("", None),
        ] {
            assert_eq!(without_addresses(text).as_deref(), kept, "{text}");
        }
    }
}
