//! The token that goes with a request.

use std::str::FromStr;

use secrecy::{ExposeSecret as _, SecretString};

/// A bearer token. `Debug` never shows it, and its memory is wiped when it is dropped.
#[derive(Clone, Debug)]
pub struct Token(SecretString);

/// Why a text is not a token. Holds nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenTextError {
    /// Nothing but white space.
    #[error("holds no token")]
    Empty,
    /// What no header can carry as it is.
    #[error("holds more than a token: white space, control characters or letters beyond ASCII")]
    Characters,
}

impl Token {
    /// The token, for the header of a request and nothing else.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl FromStr for Token {
    type Err = TokenTextError;

    /// Leaves out white space at both ends and a byte order mark, which editors, shells and forms
    /// for secrets leave there.
    fn from_str(text: &str) -> Result<Self, TokenTextError> {
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return Err(TokenTextError::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenTextError::Characters);
        }
        Ok(Self(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_line_and_never_shown() {
        for text in [
            "a.b.c",
            "a.b.c\n",
            "a.b.c\r\n",
            "a.b.c\n\n",
            " a.b.c \t\r\n",
            "\u{feff}a.b.c",
        ] {
            let token: Token = text.parse().unwrap();
            assert_eq!(token.expose(), "a.b.c");
            let shown = format!("{token:?}");
            assert!(!shown.contains("a.b.c"), "{shown}");
        }
        for text in ["", "\n", "\r\n", "  ", "\u{feff}"] {
            assert_eq!(text.parse::<Token>().unwrap_err(), TokenTextError::Empty);
        }
        for text in ["a b", "a\0", "a\u{7f}", "é", "a\nb\n", "a\u{200b}"] {
            let error = text.parse::<Token>().unwrap_err();
            assert_eq!(error, TokenTextError::Characters, "{text:?}");
        }
    }
}
