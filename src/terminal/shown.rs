//! Keeps secrets out of what clap says of a wrong command line.
//!
//! Clap repeats the words and the settings that it does not understand. One of them may be a
//! database address or a token that slipped out of its place, so every such word is taken out of
//! the message again.

use std::path::Path;

const HIDDEN: &str = "***";

/// Shorter pieces stand in ordinary words, too.
const SHORTEST_PIECE: usize = 4;

/// `message` without the secrets that stand in `words`.
pub(crate) fn hide(mut message: String, words: &[String]) -> String {
    for secret in words.iter().filter_map(|word| secret_of(word)) {
        message = message.replace(secret, HIDDEN);
        // Clap splits lists, and then repeats one piece.
        let pieces = secret.split([',', ' ']);
        for piece in pieces.filter(|piece| piece.len() >= SHORTEST_PIECE) {
            message = message.replace(piece, HIDDEN);
        }
    }
    message
}

/// The part of a word that may be a secret: what a URL has before its last `@`, or a token.
fn secret_of(word: &str) -> Option<&str> {
    if let Some((_, rest)) = word.split_once("://")
        && let Some((user_info, _)) = rest.rsplit_once('@')
    {
        return Some(user_info).filter(|text| text.len() >= SHORTEST_PIECE || text.contains(':'));
    }
    let value = word.rsplit(['=', ' ']).next().unwrap_or(word);
    looks_like_token(value).then_some(value)
}

/// Whether a text is shaped as a signed JSON Web Token, whose header starts with `{"` in base64.
pub(crate) fn looks_like_token(text: &str) -> bool {
    text.starts_with("ey") && text.matches('.').count() == 2
}

/// A path for a message; a token that stands where a path should is not shown.
pub(crate) fn path(path: &Path) -> String {
    let text = path.to_string_lossy();
    if looks_like_token(&text) {
        return "(not shown: a token, which must not stand on a command line)".to_owned();
    }
    format!("`{text}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_of_a_message() {
        for (word, secret) in [
            ("mysql://u:hunter2@db/perf", "hunter2"),
            ("--databse-url=mysql://u:hunter2@db/perf", "hunter2"),
            ("mysql://u:hun@ter2@db/perf", "hun@ter2"),
            ("mysql://u:h/un ter2@db/perf", "ter2"),
            ("https://hunter2@example.org", "hunter2"),
            ("eyJhbGciOiJI.eyJpc3Mi.c2ln", "c2ln"),
            ("--token=eyJhbGciOiJI.eyJpc3Mi.c2ln", "c2ln"),
        ] {
            let message = format!("error: unexpected argument '{word}' found");
            let shown = hide(message, &[word.to_owned()]);
            assert!(!shown.contains(secret), "{shown}");
            assert!(shown.starts_with("error: unexpected argument '"), "{shown}");
        }
    }

    #[test]
    fn a_piece_of_a_secret_is_taken_out_too() {
        let word = "--cors-origin=mysql://u:hunter,hunter2@db/perf".to_owned();
        let message = "error: invalid value 'mysql://u:hunter' for '--cors-origin'".to_owned();
        let shown = hide(message, &[word]);
        assert_eq!(
            shown,
            "error: invalid value 'mysql://***' for '--cors-origin'"
        );
    }

    #[test]
    fn other_words_stay() {
        for word in [
            "--listen",
            "https://perf.example.org",
            "a@b",
            "eyes.txt",
            "",
        ] {
            assert_eq!(
                hide(format!("'{word}'"), &[word.to_owned()]),
                format!("'{word}'")
            );
        }
    }
}
