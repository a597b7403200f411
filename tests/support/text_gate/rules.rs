//! What a Drizzle server refuses in a statement, and what has another name there.

use chrono::NaiveDateTime;

use super::lexer::{Kind, Token};
use super::wire::ServerError;

/// A statement in pieces, without a semicolon at its end.
pub(super) struct Statement<'a> {
    tokens: &'a [Token<'a>],
    in_transaction: bool,
}

type Rule = fn(&Statement<'_>) -> Option<ServerError>;

/// What cannot be read comes first, as a server reads a statement whole before it looks at what the names mean.
const RULES: &[Rule] = &[
    several_statements,
    set_names,
    sql_prepare,
    common_table_expression,
    where_without_from,
    introducer,
    column_type,
    several_tables,
    unknown_variable,
    unknown_collation,
    window_function,
    from_dual,
    limit_in_subquery,
    ddl_in_transaction,
    foreign_datetime,
];

impl<'a> Statement<'a> {
    pub(super) fn new(tokens: &'a [Token<'a>], in_transaction: bool) -> Self {
        let end = tokens
            .iter()
            .rposition(|token| !token.is_symbol(";"))
            .map_or(0, |last| last + 1);
        Self {
            tokens: &tokens[..end],
            in_transaction,
        }
    }

    /// The first reason to refuse it.
    pub(super) fn refusal(&self) -> Option<ServerError> {
        RULES.iter().find_map(|rule| rule(self))
    }

    /// Whether it writes a value with a fraction, which a column may be too narrow for.
    pub(super) fn writes_fractions(&self) -> bool {
        self.begins_with(&["INSERT", "REPLACE", "UPDATE"])
            && self.tokens.iter().any(|token| {
                matches!(token.kind, Kind::Number | Kind::Text) && token.text.contains('.')
            })
    }

    /// The text that MariaDB understands: Drizzle's UTF-8 has four bytes, its `CHAR` is a `VARCHAR`.
    pub(super) fn for_mariadb(&self, sql: &str) -> String {
        let mut text = String::with_capacity(sql.len());
        let mut copied = 0;
        for token in self.tokens {
            if let Some(replacement) = self.replacement(token) {
                text.push_str(&sql[copied..token.start]);
                text.push_str(&replacement);
                copied = token.end();
            }
        }
        text.push_str(&sql[copied..]);
        text
    }

    fn replacement(&self, token: &Token<'_>) -> Option<String> {
        match token.kind {
            Kind::Word if self.is_definition() && token.is("CHAR") => Some("VARCHAR".to_owned()),
            Kind::Word => utf8_collation(token.text).map(|rest| format!("utf8mb4_{rest}")),
            _ => None,
        }
    }

    fn begins_with(&self, words: &[&str]) -> bool {
        self.tokens.first().is_some_and(|token| token.is_any(words))
    }

    fn is_definition(&self) -> bool {
        self.begins_with(&["ALTER", "CREATE"])
    }

    fn pairs(&self) -> impl Iterator<Item = (&'a Token<'a>, &'a Token<'a>)> {
        self.tokens.iter().zip(self.tokens.iter().skip(1))
    }

    /// The tokens that stand outside of parentheses.
    fn outermost(&self) -> impl Iterator<Item = &'a Token<'a>> {
        let mut depth = 0_u32;
        self.tokens.iter().filter(move |token| {
            if token.is_symbol(")") {
                depth = depth.saturating_sub(1);
            }
            let is_outermost = depth == 0;
            if token.is_symbol("(") {
                depth += 1;
            }
            is_outermost
        })
    }
}

fn syntax_error(near: &Token<'_>) -> ServerError {
    let message = format!("You have an error in your SQL syntax near '{}'", near.text);
    ServerError::new(1064, "42000", message)
}

fn several_statements(statement: &Statement<'_>) -> Option<ServerError> {
    statement
        .pairs()
        .find(|(token, _)| token.is_symbol(";"))
        .map(|(_, next)| syntax_error(next))
}

fn set_names(statement: &Statement<'_>) -> Option<ServerError> {
    if !statement.begins_with(&["SET"]) {
        return None;
    }
    let names = statement
        .pairs()
        .find(|(before, token)| token.is("NAMES") && (before.is("SET") || before.is_symbol(",")));
    names.map(|(_, token)| syntax_error(token))
}

fn sql_prepare(statement: &Statement<'_>) -> Option<ServerError> {
    let is_prepare = statement.begins_with(&["PREPARE", "EXECUTE", "DEALLOCATE"]);
    statement
        .tokens
        .first()
        .filter(|_| is_prepare)
        .map(syntax_error)
}

/// `WITH` has other uses, each with a word of its own behind it.
fn common_table_expression(statement: &Statement<'_>) -> Option<ServerError> {
    const OTHER_USES: &[&str] = &["CONSISTENT", "PARSER", "QUERY", "ROLLUP"];
    let with = statement
        .pairs()
        .find(|(token, next)| token.is("WITH") && !next.is_any(OTHER_USES));
    with.map(|(_, next)| syntax_error(next))
}

/// One for each open parenthesis: what was seen of the `SELECT` in it.
#[derive(Clone, Copy, Default)]
struct Scope {
    is_select: bool,
    has_from: bool,
    is_in_list: bool,
}

/// Walks through the nested `SELECT`s and answers the first token that `is_wrong` in its scope.
fn find_in_scope<'a>(
    statement: &Statement<'a>,
    is_wrong: impl Fn(&Token<'a>, Scope) -> bool,
) -> Option<&'a Token<'a>> {
    let mut scopes = vec![Scope::default()];
    let mut before: Option<&Token<'_>> = None;
    for token in statement.tokens {
        let scope = scopes.last_mut()?;
        if is_wrong(token, *scope) {
            return Some(token);
        }
        if token.is("SELECT") {
            *scope = Scope {
                is_select: true,
                has_from: false,
                ..*scope
            };
        } else if token.is("FROM") {
            scope.has_from = true;
        } else if token.is_symbol("(") {
            scopes.push(Scope {
                is_in_list: before.is_some_and(|token| token.is("IN")),
                ..Scope::default()
            });
        } else if token.is_symbol(")") && scopes.len() > 1 {
            scopes.pop();
        }
        before = Some(token);
    }
    None
}

fn where_without_from(statement: &Statement<'_>) -> Option<ServerError> {
    find_in_scope(statement, |token, scope| {
        token.is("WHERE") && scope.is_select && !scope.has_from
    })
    .map(syntax_error)
}

fn limit_in_subquery(statement: &Statement<'_>) -> Option<ServerError> {
    let limit = find_in_scope(statement, |token, scope| {
        token.is("LIMIT") && scope.is_select && scope.is_in_list
    });
    let message = "This version of Drizzle doesn't yet support 'LIMIT & IN/ALL/ANY/SOME subquery'";
    limit.map(|_| ServerError::new(1235, "42000", message))
}

/// `_utf8'x'` and `N'x'`.
fn introducer(statement: &Statement<'_>) -> Option<ServerError> {
    let introduced = statement.pairs().find(|(token, next)| {
        next.kind == Kind::Text
            && token.kind == Kind::Word
            && (token.text.starts_with('_') || token.is("N") && token.end() == next.start)
    });
    introduced.map(|(_, text)| syntax_error(text))
}

/// Types that Drizzle has not, where a type can stand: behind the name of a column.
fn column_type(statement: &Statement<'_>) -> Option<ServerError> {
    const MISSING: &[&str] = &["BOOL", "JSON", "SMALLINT", "TINYINT"];
    if !statement.is_definition() {
        return None;
    }
    let nothing = Token {
        kind: Kind::Symbol,
        text: "",
        start: 0,
    };
    let tokens = statement.tokens;
    let wrong = tokens.iter().enumerate().find(|&(at, token)| {
        let before = at.checked_sub(1).map_or(&nothing, |before| &tokens[before]);
        let next = tokens.get(at + 1).unwrap_or(&nothing);
        let after_next = tokens.get(at + 2).unwrap_or(&nothing);
        let is_behind_name = matches!(before.kind, Kind::Word | Kind::Name) && !before.is("TABLE");
        token.is("CHARSET")
            || token.is("CHARACTER") && next.is("SET")
            || is_behind_name && token.is_any(MISSING)
            || is_behind_name && token.is("DATETIME") && next.is_symbol("(")
            || token.is("GENERATED") && next.is("ALWAYS")
            || token.is("AS") && next.is_symbol("(") && !after_next.is("SELECT")
    });
    wrong.map(|(_, token)| syntax_error(token))
}

/// `UPDATE a, b SET`, `UPDATE a JOIN b`, `DELETE a FROM`, `DELETE FROM a USING`.
fn several_tables(statement: &Statement<'_>) -> Option<ServerError> {
    let mut outermost = statement.outermost();
    let first = outermost.next()?;
    if first.is("UPDATE") {
        return outermost
            .take_while(|token| !token.is("SET"))
            .find(|token| token.is_symbol(",") || token.is("JOIN"))
            .map(syntax_error);
    }
    if !first.is("DELETE") {
        return None;
    }
    let mut rest = outermost.skip_while(|token| token.is_any(&["LOW_PRIORITY", "QUICK", "IGNORE"]));
    match rest.next() {
        Some(token) if !token.is("FROM") => Some(syntax_error(token)),
        _ => rest
            .take_while(|token| !token.is("WHERE"))
            .find(|token| token.is_symbol(",") || token.is_any(&["JOIN", "USING"]))
            .map(syntax_error),
    }
}

fn unknown_variable(statement: &Statement<'_>) -> Option<ServerError> {
    const MISSING: &[&str] = &["SQL_MODE", "TIME_ZONE"];
    if !statement.begins_with(&["SET"]) {
        return None;
    }
    let variable = statement
        .tokens
        .iter()
        .find(|token| token.is_any(MISSING))?;
    let message = format!("Unknown system variable '{}'", variable.text);
    Some(ServerError::new(1193, "HY000", message))
}

/// The name behind `utf8_`.
fn utf8_collation(word: &str) -> Option<&str> {
    let (prefix, rest) = word.split_at_checked(5)?;
    prefix.eq_ignore_ascii_case("utf8_").then_some(rest)
}

/// MariaDB knows many more than Drizzle, whose UTF-8 goes by one name.
fn unknown_collation(statement: &Statement<'_>) -> Option<ServerError> {
    let (_, name) = statement.pairs().find(|(token, name)| {
        token.is("COLLATE")
            && name.kind == Kind::Word
            && utf8_collation(name.text).is_none()
            && !name.is("BINARY")
    })?;
    Some(ServerError::new(
        1273,
        "HY000",
        format!("Unknown collation: '{}'", name.text),
    ))
}

fn window_function(statement: &Statement<'_>) -> Option<ServerError> {
    let over = statement
        .pairs()
        .find(|(token, next)| token.is_symbol(")") && next.is("OVER"));
    over.map(|_| ServerError::new(1305, "42000", "FUNCTION OVER does not exist"))
}

fn from_dual(statement: &Statement<'_>) -> Option<ServerError> {
    let dual = statement
        .pairs()
        .find(|(token, next)| token.is("FROM") && next.is("DUAL"));
    dual.map(|_| ServerError::new(1146, "42S02", "Table 'dual' doesn't exist"))
}

fn ddl_in_transaction(statement: &Statement<'_>) -> Option<ServerError> {
    let is_ddl = statement.begins_with(&["ALTER", "CREATE", "DROP", "RENAME", "TRUNCATE"]);
    (is_ddl && statement.in_transaction)
        .then(|| ServerError::new(1745, "HY000", "Transactional DDL not supported"))
}

fn foreign_datetime(statement: &Statement<'_>) -> Option<ServerError> {
    let text = statement
        .tokens
        .iter()
        .filter(|token| token.kind == Kind::Text)
        .map(|token| token.text.trim_matches(['\'', '"']))
        .find(|text| looks_like_datetime(text) && !is_datetime(text))?;
    Some(invalid_datetime(text))
}

pub(super) fn invalid_datetime(text: &str) -> ServerError {
    ServerError::new(
        1686,
        "HY000",
        format!("Received an invalid datetime value '{text}'."),
    )
}

/// Begins as `2026-11-30 01:02` does.
fn looks_like_datetime(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00 00:00";
    text.len() >= SHAPE.len()
        && text.bytes().zip(SHAPE).all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            b' ' => matches!(byte, b' ' | b'T'),
            _ => byte == *shape,
        })
}

fn is_datetime(text: &str) -> bool {
    [
        "%Y-%m-%d %H:%M:%S%.f",
        "%Y-%m-%dT%H:%M:%S%.f",
        "%Y-%m-%d %H:%M",
        "%Y-%m-%dT%H:%M",
    ]
    .iter()
    .any(|format| NaiveDateTime::parse_from_str(text, format).is_ok())
}
