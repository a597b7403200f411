//! The `cursor` of a page: where the last one ended, and of which question.
//!
//! A client sends it back as it came. It holds places in history, not counts of rows, so that rows
//! added in the meantime neither repeat nor hide a point.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::params;
use crate::domain::RunDate;
use crate::store::{HistoryCursor, MetricPrint, Position};

/// What the text of a cursor holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    /// A print of the question.
    q: String,
    /// The place.
    p: Place,
    /// Older places, each with the prints of the metrics that go on from there, one after another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    o: Vec<(Place, String)>,
}

type Place = (RunDate, i64);

/// Why a text is not the cursor of this question.
#[derive(Debug, thiserror::Error)]
pub(super) enum CursorError {
    #[error("is not a cursor that this service gave")]
    Format,
    #[error("belongs to another question; send it with the parameters that it came with")]
    OtherQuestion,
}

/// A print of what a cursor holds for: a kind of list and its parameters, in whatever order and
/// however encoded. The size of a page is not one of them.
pub(super) fn question(kind: &str, query: &str) -> String {
    let mut pairs: Vec<(String, String)> = params::pairs(query)
        .filter_map(|(name, value)| Some((name?, value?)))
        .filter(|(name, _)| !matches!(name.as_str(), "limit" | "cursor"))
        .collect();
    pairs.sort_unstable();
    // Quoted, so that no value reads as the next parameter.
    let digest = Sha256::digest(format!("{kind}{pairs:?}"));
    BASE64_URL_SAFE_NO_PAD.encode(&digest[..6])
}

fn place(position: Position) -> Place {
    (position.run_date, position.run_id)
}

fn position((run_date, run_id): Place) -> Position {
    Position { run_date, run_id }
}

/// The text of a page's end.
pub(super) fn encode(cursor: &HistoryCursor, question: String) -> String {
    let mut older: BTreeMap<Position, Vec<u8>> = BTreeMap::new();
    for (print, &at) in &cursor.older {
        older.entry(at).or_default().extend(print.0);
    }
    let older = older
        .into_iter()
        .map(|(at, prints)| (place(at), BASE64_URL_SAFE_NO_PAD.encode(prints)));
    let content = Content {
        q: question,
        p: place(cursor.rest),
        o: older.collect(),
    };
    let json = serde_json::to_vec(&content).expect("texts, dates and numbers have a JSON form");
    BASE64_URL_SAFE_NO_PAD.encode(json)
}

/// The page's end that `text` stands for.
pub(super) fn decode(text: &str, question: &str) -> Result<HistoryCursor, CursorError> {
    let json = BASE64_URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| CursorError::Format)?;
    let content: Content = serde_json::from_slice(&json).map_err(|_| CursorError::Format)?;
    if content.q != question {
        return Err(CursorError::OtherQuestion);
    }
    let mut older = BTreeMap::new();
    for (at, prints) in content.o {
        let prints = BASE64_URL_SAFE_NO_PAD
            .decode(prints)
            .map_err(|_| CursorError::Format)?;
        let (prints, []) = prints.as_chunks() else {
            return Err(CursorError::Format);
        };
        older.extend(
            prints
                .iter()
                .map(|&print| (MetricPrint(print), position(at))),
        );
    }
    Ok(HistoryCursor {
        rest: position(content.p),
        older,
    })
}

/// The text of the end of a page of runs.
pub(super) fn encode_position(at: Position, question: String) -> String {
    let cursor = HistoryCursor {
        rest: at,
        older: BTreeMap::new(),
    };
    encode(&cursor, question)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(date: &str, run_id: i64) -> Position {
        Position {
            run_date: date.parse().unwrap(),
            run_id,
        }
    }

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let cursor = HistoryCursor {
            rest: at("2026-11-30T01:02:03Z", 7),
            older: [
                (MetricPrint([1; 6]), at("1970-01-01T00:00:00Z", 3)),
                (MetricPrint([2; 6]), at("2000-01-01T00:00:00Z", i64::MAX)),
                (MetricPrint([3; 6]), at("1970-01-01T00:00:00Z", 3)),
            ]
            .into(),
        };
        let text = encode(
            &cursor,
            question("history", "workload=a+%2F&branch=b&limit=3"),
        );
        let back = decode(
            &text,
            &question("history", "limit=5&%62ranch=b&&workload=a%20/&cursor=x"),
        )
        .unwrap();
        assert_eq!(back, cursor);
    }

    #[test]
    fn a_foreign_cursor_is_refused() {
        let text = encode_position(
            at("2026-11-30T01:02:03Z", 7),
            question("runs", "workload=a"),
        );
        for other in [
            question("runs", "workload=b"),
            question("history", "workload=a"),
            question("runs", "workload=a&branch="),
        ] {
            let error = decode(&text, &other);
            assert!(matches!(error, Err(CursorError::OtherQuestion)));
        }
        for text in ["", "x", "e30", "bnVsbA", "💥"] {
            assert!(
                matches!(decode(text, ""), Err(CursorError::Format)),
                "{text}"
            );
        }
    }
}
