//! The token that goes with a request.

use std::fmt;
use std::str::FromStr;

/// A bearer token. `Debug` never shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Why a text is not a token. Holds nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenTextError {
    /// Nothing but a line end.
    #[error("holds no token")]
    Empty,
    /// What no header can carry as it is.
    #[error("holds more than a token: white space, control characters or letters beyond ASCII")]
    Characters,
}

impl Token {
    /// The token, for the header of a request and nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for Token {
    type Err = TokenTextError;

    /// Takes one line end at the end, which files and shells leave there.
    fn from_str(text: &str) -> Result<Self, TokenTextError> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        if text.is_empty() {
            return Err(TokenTextError::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenTextError::Characters);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_line_and_never_shown() {
        for text in ["a.b.c", "a.b.c\n", "a.b.c\r\n"] {
            let token: Token = text.parse().unwrap();
            assert_eq!(token.expose(), "a.b.c");
            assert_eq!(format!("{token:?}"), "Token(not shown)");
        }
        for text in ["", "\n", "\r\n"] {
            assert_eq!(text.parse::<Token>(), Err(TokenTextError::Empty));
        }
        for text in ["a b", "a\n\n", " a", "a\t", "a\0", "a\u{7f}", "é", "a\nb\n"] {
            assert_eq!(text.parse::<Token>(), Err(TokenTextError::Characters));
        }
    }
}
