//! The `cursor` of a page: where the last one ended, and of which question.
//!
//! A client sends it back as it came. It holds places in history, not counts of rows, so that rows
//! added in the meantime neither repeat nor hide a point.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::{MetricName, RunDate};
use crate::store::{HistoryCursor, Position};

/// What the text of a cursor holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    /// A print of the question.
    q: String,
    /// The place.
    p: Place,
    /// Metrics with older places of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    o: Vec<(MetricName, Place)>,
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

/// A print of the parameters that a cursor holds for. The size of a page is not one of them.
pub(super) fn question(query: &str) -> String {
    let mut parts: Vec<&str> = query
        .split('&')
        .filter(|part| {
            let name = part.split('=').next().unwrap_or_default();
            !matches!(name, "" | "limit" | "cursor")
        })
        .collect();
    parts.sort_unstable();
    let digest = Sha256::digest(parts.join("&"));
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
    let older = cursor
        .older
        .iter()
        .map(|(name, &at)| (name.clone(), place(at)));
    let content = Content {
        q: question,
        p: place(cursor.rest),
        o: older.collect(),
    };
    // Names, dates and numbers always have a JSON form.
    let json = serde_json::to_vec(&content).unwrap_or_default();
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
    let older: BTreeMap<MetricName, Position> = content
        .o
        .into_iter()
        .map(|(name, at)| (name, position(at)))
        .collect();
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
        let name = MetricName {
            metric_key: "callgrind.ir".parse().unwrap(),
            dim_key: "a=\"é\"".parse().unwrap(),
        };
        let cursor = HistoryCursor {
            rest: at("2026-11-30T01:02:03Z", 7),
            older: [(name, at("1970-01-01T00:00:00Z", 3))].into(),
        };
        let text = encode(&cursor, question("workload=a&limit=3"));
        let back = decode(&text, &question("limit=5&workload=a&cursor=x")).unwrap();
        assert_eq!(back, cursor);
    }

    #[test]
    fn a_foreign_cursor_is_refused() {
        let text = encode_position(at("2026-11-30T01:02:03Z", 7), question("workload=a"));
        assert!(matches!(
            decode(&text, &question("workload=b")),
            Err(CursorError::OtherQuestion)
        ));
        for text in ["", "x", "e30", "bnVsbA", "💥"] {
            assert!(
                matches!(decode(text, ""), Err(CursorError::Format)),
                "{text}"
            );
        }
    }
}
