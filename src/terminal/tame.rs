//! Text of strangers, made safe to print.

use crate::domain::is_invisible;

/// Takes the place of what is not printed.
const SHOWN: char = '\u{fffd}';

/// A stranger's text for a terminal and for the log of a CI, with all its spaces.
///
/// The character � takes the place of every character that would move the cursor, colour the
/// screen, begin a line, change the direction of the text or not be seen at all. It also breaks what
/// a CI takes for an order: `::` at the beginning of a line (GitHub Actions) and `##word[` anywhere
/// (GitHub Actions, Azure Pipelines, TeamCity).
pub(crate) fn tame(text: &str) -> String {
    let mut shown = without_marks(text.replace(is_invisible, "\u{fffd}"));
    if shown.trim_start().starts_with("::") {
        shown.insert(0, SHOWN);
    }
    shown
}

/// Breaks every `##word[`.
fn without_marks(text: String) -> String {
    if !text.contains("##") {
        return text;
    }
    let mut shown = String::with_capacity(text.len() + 3);
    let mut rest = text.as_str();
    while let Some(at) = rest.find("##") {
        let (before, mark) = rest.split_at(at + 1);
        shown.push_str(before);
        let word = mark[1..].trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
        if word.starts_with('[') {
            shown.push(SHOWN);
        }
        rest = mark;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_that_is_seen_stays_as_it_is() {
        for text in [
            "",
            "callgrind.ir",
            "  a  b ",
            "std::vec::Vec",
            "a ::b",
            "C# and F##",
            "## heading",
            "#[test]",
            "名前 é 😀",
        ] {
            assert_eq!(tame(text), text);
        }
    }

    #[test]
    fn what_is_not_seen_is_shown() {
        for c in [
            '\0',
            '\t',
            '\n',
            '\r',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{200b}',
            '\u{200d}',
            '\u{200e}',
            '\u{202e}',
            '\u{2028}',
            '\u{2029}',
            '\u{2066}',
            '\u{2069}',
            '\u{feff}',
            '\u{ad}',
            '\u{61c}',
            '\u{e0001}',
        ] {
            assert_eq!(tame(&format!("a{c}b")), "a\u{fffd}b", "{c:?}");
        }
    }

    #[test]
    fn orders_to_a_ci_are_broken() {
        for (text, shown) in [
            ("::error::x", "\u{fffd}::error::x"),
            (" ::error::x", "\u{fffd} ::error::x"),
            ("##[error]x", "#\u{fffd}#[error]x"),
            ("a ##vso[task.complete]", "a #\u{fffd}#vso[task.complete]"),
            ("##teamcity[x]##[y]", "#\u{fffd}#teamcity[x]#\u{fffd}#[y]"),
            ("###[x]", "##\u{fffd}#[x]"),
        ] {
            assert_eq!(tame(text), shown);
        }
    }

    proptest! {
        #[test]
        fn no_text_begins_a_line_or_gives_an_order(text in "[:#a\\[ \n\u{202e}]{0,12}") {
            let shown = tame(&text);
            prop_assert!(!shown.contains(is_invisible));
            prop_assert!(!shown.trim_start().starts_with("::"));
            prop_assert!(!shown.contains("##[") && !shown.contains("##a["));
            prop_assert_eq!(tame(&shown), shown);
        }
    }
}
