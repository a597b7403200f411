//! The `cursor` of a page: where the last one ended, and of which question.
//!
//! A client sends it back as it came. It holds places in history, not counts of rows, so that rows
//! added in the meantime neither repeat nor hide a point.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::params;
use crate::domain::{DimKey, MetricKey, MetricName, RunDate, Series};
use crate::store::{HistoryCursor, MetricPrint, NameRange, Position, SeriesPlace};

/// What the text of a cursor holds.
trait Content: Serialize + DeserializeOwned {
    /// A print of the question.
    fn question(&self) -> &str;
}

/// A place in a history, or in a list of runs.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HistoryPlace {
    q: String,
    /// Where most metrics go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p: Option<Place>,
    /// Older places, each with the prints of the metrics that go on from there, one after another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    o: Vec<(Place, String)>,
    /// The metrics that are read now lie after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    f: Option<Name>,
    /// The last of the metrics that are read now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    u: Option<Name>,
}

/// A place in a list of series.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListPlace {
    q: String,
    /// The series.
    s: Series,
    /// The last metric of it that was listed, if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    m: Option<Name>,
}

impl Content for HistoryPlace {
    fn question(&self) -> &str {
        &self.q
    }
}

impl Content for ListPlace {
    fn question(&self) -> &str {
        &self.q
    }
}

type Place = (RunDate, i64);

type Name = (MetricKey, DimKey);

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

fn name((metric_key, dim_key): Name) -> MetricName {
    MetricName {
        metric_key,
        dim_key,
    }
}

fn pair(name: &MetricName) -> Name {
    (name.metric_key.clone(), name.dim_key.clone())
}

fn write(content: &impl Content) -> String {
    let json = serde_json::to_vec(content).expect("texts, dates and numbers have a JSON form");
    BASE64_URL_SAFE_NO_PAD.encode(json)
}

fn read<T: Content>(text: &str, question: &str) -> Result<T, CursorError> {
    let json = BASE64_URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| CursorError::Format)?;
    let content: T = serde_json::from_slice(&json).map_err(|_| CursorError::Format)?;
    if content.question() != question {
        return Err(CursorError::OtherQuestion);
    }
    Ok(content)
}

/// The text of the end of a page of history.
pub(super) fn encode(cursor: &HistoryCursor, question: String) -> String {
    let mut older: BTreeMap<Position, Vec<u8>> = BTreeMap::new();
    for (print, &at) in &cursor.older {
        older.entry(at).or_default().extend(print.0);
    }
    let older = older
        .into_iter()
        .map(|(at, prints)| (place(at), BASE64_URL_SAFE_NO_PAD.encode(prints)));
    write(&HistoryPlace {
        q: question,
        p: cursor.rest.map(place),
        o: older.collect(),
        f: cursor.part.after.as_ref().map(pair),
        u: cursor.part.upto.as_ref().map(pair),
    })
}

/// The end of a page of history that `text` stands for.
pub(super) fn decode(text: &str, question: &str) -> Result<HistoryCursor, CursorError> {
    let content: HistoryPlace = read(text, question)?;
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
        part: NameRange {
            after: content.f.map(name),
            upto: content.u.map(name),
        },
        rest: content.p.map(position),
        older,
    })
}

/// The text of the end of a page of runs.
pub(super) fn encode_position(at: Position, question: String) -> String {
    let cursor = HistoryCursor {
        rest: Some(at),
        ..HistoryCursor::default()
    };
    encode(&cursor, question)
}

/// The end of a page of runs that `text` stands for.
pub(super) fn decode_position(text: &str, question: &str) -> Result<Position, CursorError> {
    decode(text, question)?.rest.ok_or(CursorError::Format)
}

/// The text of the end of a page of series.
pub(super) fn encode_series(at: &SeriesPlace, question: String) -> String {
    write(&ListPlace {
        q: question,
        s: at.series.clone(),
        m: at.metric.as_ref().map(pair),
    })
}

/// The end of a page of series that `text` stands for.
pub(super) fn decode_series(text: &str, question: &str) -> Result<SeriesPlace, CursorError> {
    let content: ListPlace = read(text, question)?;
    Ok(SeriesPlace {
        series: content.s,
        metric: content.m.map(name),
    })
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
        let name = |key: &str, dim: &str| MetricName {
            metric_key: key.parse().unwrap(),
            dim_key: dim.parse().unwrap(),
        };
        let cursor = HistoryCursor {
            part: NameRange {
                after: Some(name("a", "")),
                upto: Some(name("z \"é", "threads=16")),
            },
            rest: Some(at("2026-11-30T01:02:03Z", 7)),
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
