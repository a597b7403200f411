//! A judgement as a comment of a review.
//!
//! GitHub takes comments of 65,536 characters and GitLab of 1,000,000. Past [`MARKDOWN_LIMIT`]
//! rows are left out and counted, those that say least first.

use super::verdict::{Row, Verdict};
use super::words;
use crate::domain::is_invisible;
use crate::judge::{Conclusion, Skip, Status};

/// The most bytes of a comment, with room for what a job wraps around it.
pub const MARKDOWN_LIMIT: usize = 60_000;
/// Room for the ends of lists and for what is said of what was left out.
const ENDS: usize = 600;
/// The part of the room for sentences, which the rows must not use up.
const SENTENCES: usize = MARKDOWN_LIMIT / 2;
/// Metrics that are as they were have so many rows.
const UNCHANGED_SHOWN: usize = 50;

const HEADER: &str =
    "| status | metric | value | change | allowed |\n| --- | --- | ---: | ---: | ---: |\n";

/// The comment.
pub fn markdown(verdict: &Verdict<'_>) -> String {
    let mut text = format!(
        "### Performance: {}\n\n{}\n",
        title(verdict),
        escaped(&words::about_line(&verdict.about))
    );
    push_list(&mut text, verdict.obstacles.iter().map(|line| item(line)));
    let (quiet, loud): (Vec<_>, Vec<_>) = verdict.rows.iter().partition(|row| row.is_quiet());
    if !loud.is_empty() {
        text.push('\n');
        push_rows(&mut text, &loud, MARKDOWN_LIMIT - SENTENCES);
    }
    let reasons = loud
        .iter()
        .filter(|row| !matches!(row.status, Status::Improved | Status::New))
        .filter_map(|row| {
            let why = escaped(row.why.as_ref()?);
            Some(format!("- {} {why}\n", code(&row.name, false)))
        });
    let notes = verdict.notes.iter().map(|note| item(note));
    push_list(&mut text, reasons.chain(notes));
    push_advice(&mut text, verdict);
    push_quiet(&mut text, verdict, &quiet);
    text
}

/// The comment of a job that was told that nothing was measured.
pub fn markdown_of_nothing(nothing: &super::NothingMeasured) -> String {
    format!("### Performance: {}\n", escaped(&nothing.summary()))
}

/// What a reader needs to know, in one line.
fn title(verdict: &Verdict<'_>) -> String {
    let judged = words::metrics(verdict.judgement.judged());
    let left = verdict.judgement.metrics.len() - verdict.judgement.judged();
    let unjudged = match left {
        0 => String::new(),
        left => format!(", {left} not judged"),
    };
    match (verdict.conclusion, verdict.worst()) {
        (Conclusion::Regression, Some(worst)) => {
            let more = match verdict.count(Status::Regression) - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!(
                "regression of {}, {}{more}{unjudged}",
                code(&worst.name, false),
                worst.change.replace(' ', "\u{a0}")
            )
        }
        (Conclusion::Passed, _) if verdict.judgement.judged() > 0 => {
            format!("no regression in {judged}{unjudged}")
        }
        _ => escaped(verdict.summary()),
    }
}

fn item(line: &str) -> String {
    format!("- {}\n", escaped(line))
}

/// A list, as far as there is room for it.
fn push_list(text: &mut String, mut items: impl Iterator<Item = String>) {
    let mut first = true;
    while let Some(item) = items.next() {
        if text.len() + item.len() > MARKDOWN_LIMIT - ENDS {
            *text += &format!("- and {} more\n", 1 + items.count());
            return;
        }
        if first {
            text.push('\n');
        }
        first = false;
        *text += &item;
    }
}

/// A table, as far as `limit` has room for it.
fn push_rows(text: &mut String, rows: &[&Row<'_>], limit: usize) {
    if text.len() + HEADER.len() > limit {
        *text += "No room for the table here.\n";
        return;
    }
    *text += HEADER;
    for (index, row) in rows.iter().enumerate() {
        let line = table_row(row);
        if text.len() + line.len() + ENDS / 4 > limit {
            *text += &format!(
                "\n…and {} more, left out for their length.\n",
                rows.len() - index
            );
            return;
        }
        *text += &line;
    }
}

fn table_row(row: &Row<'_>) -> String {
    let strong = if row.status == Status::Regression {
        "**"
    } else {
        ""
    };
    // A narrow page must not part a number from its unit.
    let whole = |cell: &str| cell.replace(' ', "\u{a0}");
    format!(
        "| {strong}{}{strong} | {} | {} | {} | {} |\n",
        words::status(row.status),
        code(&row.name, true),
        whole(&row.value),
        whole(&row.change),
        whole(&row.allowed),
    )
}

/// The lines to paste, folded away.
fn push_advice(text: &mut String, verdict: &Verdict<'_>) {
    for advice in &verdict.advice {
        if advice.lines.is_empty() {
            *text += &format!("\n{}\n", escaped(&advice.what));
            continue;
        }
        let block = format!(
            "\n<details><summary>{}</summary>\n\n{}\n\n</details>\n",
            escaped(&advice.what),
            fenced(&advice.lines)
        );
        if text.len() + block.len() < MARKDOWN_LIMIT - ENDS {
            *text += &block;
        }
    }
}

/// What is as it was: a count, with the metrics folded away.
fn push_quiet(text: &mut String, verdict: &Verdict<'_>, quiet: &[&Row<'_>]) {
    if quiet.is_empty() {
        return;
    }
    let kinds = [
        (verdict.count(Status::Pass), "unchanged"),
        (
            verdict.skipped(Skip::HostClass),
            "wall-clock and not judged",
        ),
        (verdict.skipped(Skip::Shown), "only shown"),
        (verdict.skipped(Skip::Ignored), "ignored"),
    ];
    let kinds = kinds.iter().filter(|(count, _)| *count > 0);
    let kinds: Vec<String> = kinds
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    *text += &format!("\n<details><summary>{}</summary>\n\n", kinds.join(", "));
    let shown = &quiet[..quiet.len().min(UNCHANGED_SHOWN)];
    push_rows(text, shown, MARKDOWN_LIMIT - ENDS / 2);
    if quiet.len() > shown.len() {
        *text += &format!("\n…and {} more.\n", quiet.len() - shown.len());
    }
    *text += "\n</details>\n";
}

/// A block of code that nothing in it ends.
fn fenced(lines: &str) -> String {
    let fence = "`".repeat(longest_run(lines, '`').max(2) + 1);
    format!("{fence}toml\n{}\n{fence}", lines.trim_end())
}

/// A name as code, which calls nobody and links nothing, whatever stands in it. A `|` in a table
/// is escaped there even within code.
fn code(name: &str, in_table: bool) -> String {
    let shown: String = name
        .chars()
        .map(|c| if is_invisible(c) { '\u{fffd}' } else { c })
        .collect();
    let shown = if in_table {
        shown.replace('|', "\\|")
    } else {
        shown
    };
    let fence = "`".repeat(longest_run(&shown, '`') + 1);
    let space = if shown.starts_with('`') || shown.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{space}{shown}{space}{fence}")
}

fn longest_run(text: &str, c: char) -> usize {
    let runs = text.split(|other| other != c).map(str::len);
    runs.max().unwrap_or_default()
}

/// Of no width, and part of no name: nobody is called, and nothing is linked.
const WORD_JOINER: char = '\u{2060}';

/// Text that Markdown shows as it is: names and reasons are strangers' text.
///
/// Markdown has no escape for what a forge finds in the text that it has rendered: `@name`, `#1`,
/// `!1`, `GH-1`, bare addresses. There a character of no width comes between.
fn escaped(text: &str) -> String {
    const SPECIAL: &str = "|<>*_[]\\~`#&";
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        if is_invisible(c) {
            escaped.push('\u{fffd}');
            before = c;
            continue;
        }
        if SPECIAL.contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
        let next = characters.peek().copied().unwrap_or(' ');
        let begins = !before.is_alphanumeric() && (next.is_alphanumeric() || next == '"');
        let is_reference = matches!(c, '@' | '#')
            || (matches!(c, '!' | '&' | '$' | '%' | '~' | '^') && begins)
            || (c == ':' && next == '/')
            || (c == '.' && before.eq_ignore_ascii_case(&'w'))
            || (c == '-' && before.is_ascii_alphabetic() && next.is_ascii_digit());
        if is_reference {
            escaped.push(WORD_JOINER);
        }
        before = c;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_text_stays_text() {
        assert_eq!(
            escaped("<img src=x> [a](b) `c` **d** e_f | &lt; #1 \\"),
            "\\<img src=x\\> \\[a\\](b) \\`c\\` \\*\\*d\\*\\* e\\_f \\| \\&\u{2060}lt; \\#\u{2060}1 \\\\"
        );
        assert_eq!(escaped("@all"), "@\u{2060}all");
    }

    #[test]
    fn nothing_is_linked() {
        for (text, shown) in [
            ("https://evil.example", "https:\u{2060}//evil.example"),
            ("www.evil.example", "www.\u{2060}evil.example"),
            ("see !1", "see !\u{2060}1"),
            ("GH-1", "GH-\u{2060}1"),
            ("a\u{202e}b", "a\u{fffd}b"),
            ("+7.74 %; up to", "+7.74 %; up to"),
        ] {
            assert_eq!(escaped(text), shown);
        }
    }

    #[test]
    fn a_name_stays_within_its_code() {
        assert_eq!(code("callgrind.ir", true), "`callgrind.ir`");
        assert_eq!(code("a`b|c", true), "``a`b\\|c``");
        assert_eq!(code("`a", false), "`` `a ``");
        assert_eq!(fenced("a\n"), "```toml\na\n```");
    }
}
