//! Answers that were made, kept while nothing changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Made;

/// Bytes of all answers together.
const MOST_BYTES: usize = 8 << 20;

/// A larger answer is not kept, so that one cannot push out all others.
const LARGEST: usize = 2 << 20;

/// The store's version does not tell what another service did with a run that it had stored before.
const OLDEST: Duration = Duration::from_secs(60);

/// Answers by what was asked. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Kept(Arc<Mutex<Answers>>);

#[derive(Default)]
struct Answers {
    bytes: usize,
    by_key: HashMap<String, Answer>,
}

struct Answer {
    version: u64,
    made: Made,
    since: Instant,
}

impl Kept {
    /// The answer that was made for `key` from the store's state `version`.
    pub(super) fn get(&self, key: &str, version: u64) -> Option<Made> {
        let answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.by_key.get(key)?;
        let is_good = answer.version == version && answer.since.elapsed() < OLDEST;
        is_good.then(|| answer.made.clone())
    }

    /// Keeps an answer. When there is no room, all others go: most of them are of an older state.
    pub(super) fn put(&self, key: String, version: u64, made: &Made) {
        let bytes = key.len() + made.bytes();
        if bytes > LARGEST {
            return;
        }
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = answers.by_key.remove(&key) {
            answers.bytes -= key.len() + old.made.bytes();
        }
        if answers.bytes + bytes > MOST_BYTES {
            *answers = Answers::default();
        }
        answers.bytes += bytes;
        let answer = Answer {
            version,
            made: made.clone(),
            since: Instant::now(),
        };
        answers.by_key.insert(key, answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(bytes: usize) -> Made {
        Made::new("x".repeat(bytes), super::super::HTML)
    }

    #[test]
    fn an_answer_is_kept_for_one_version() {
        let kept = Kept::default();
        kept.put("a".to_owned(), 1, &made(10));
        assert!(kept.get("a", 1).is_some());
        assert!(kept.get("a", 2).is_none() && kept.get("b", 1).is_none());
    }

    #[test]
    fn all_answers_together_have_a_bound() {
        let kept = Kept::default();
        for number in 0..100 {
            kept.put(number.to_string(), 1, &made(1 << 20));
            let answers = kept.0.lock().unwrap();
            let sum: usize = answers
                .by_key
                .iter()
                .map(|(key, answer)| key.len() + answer.made.bytes())
                .sum();
            assert_eq!(sum, answers.bytes);
            assert!(sum <= MOST_BYTES);
        }
        kept.put("large".to_owned(), 1, &made(LARGEST));
        assert!(kept.get("large", 1).is_none());
    }
}
