//! Cuts a statement into tokens, so that a rule never takes what stands in a literal or a quoted name for a keyword.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A keyword or a name without quotes.
    Word,
    /// A name in backticks.
    Name,
    /// A text in single or double quotes, with them.
    Text,
    /// A number.
    Number,
    /// Any other character.
    Symbol,
}

/// A piece of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// The byte that it begins at.
    pub(crate) start: usize,
}

impl Token<'_> {
    /// Whether it is this word, in upper case, without quotes.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    pub(crate) fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    pub(crate) fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.text == symbol
    }

    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The tokens of `sql`, without comments and white space. A literal that is never closed reaches to the end.
pub(crate) fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&first) = sql.as_bytes().get(at) {
        let rest = &sql[at..];
        let (kind, length) = match first {
            byte if byte.is_ascii_whitespace() => (None, 1),
            b'#' => (None, through(rest, "\n")),
            b'-' if rest.starts_with("-- ") || rest == "--" => (None, through(rest, "\n")),
            b'/' if rest.starts_with("/*") => (None, 2 + through(&rest[2..], "*/")),
            b'\'' | b'"' => (Some(Kind::Text), quoted(rest, true)),
            b'`' => (Some(Kind::Name), quoted(rest, false)),
            b'0'..=b'9' => (
                Some(Kind::Number),
                span(rest, |c| c.is_ascii_alphanumeric() || c == '.'),
            ),
            byte if is_word(char::from(byte)) => (Some(Kind::Word), span(rest, is_word)),
            _ => (Some(Kind::Symbol), 1),
        };
        tokens.extend(kind.map(|kind| Token {
            kind,
            text: &rest[..length],
            start: at,
        }));
        at += length;
    }
    tokens
}

/// Any character beyond ASCII may stand in a name.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

fn span(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

fn through(text: &str, end: &str) -> usize {
    text.find(end).map_or(text.len(), |at| at + end.len())
}

/// The length of a quoted piece. A doubled quote stands for one; a backslash takes the next character with it in a
/// text, not in a name.
fn quoted(text: &str, has_escapes: bool) -> usize {
    let quote = text.as_bytes()[0];
    let mut bytes = text.bytes().enumerate().skip(1).peekable();
    while let Some((at, byte)) = bytes.next() {
        if byte == b'\\' && has_escapes {
            bytes.next();
        } else if byte == quote && bytes.next_if(|&(_, next)| next == quote).is_none() {
            return at + 1;
        }
    }
    text.len()
}
