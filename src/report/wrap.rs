//! Lines of a certain width. Every character counts for one column.

/// `text` in lines of `width` columns at most, those after the first behind `indent`. A word that is
/// longer than a line is broken.
pub(super) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    let mut column = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut rest: Vec<char> = word.chars().collect();
        let start = match lines.len() {
            1 => 0,
            _ => indent.chars().count(),
        };
        if column > start && column + 1 + rest.len() > width {
            lines.push(indent.to_owned());
            column = indent.chars().count();
        } else if column > start {
            push(&mut lines, " ");
            column += 1;
        }
        while column + rest.len() > width && width > column {
            let tail = rest.split_off(width - column);
            push(&mut lines, &rest.iter().collect::<String>());
            lines.push(indent.to_owned());
            column = indent.chars().count();
            rest = tail;
        }
        // At the beginning of a line `::` would be an order to a CI.
        if lines.len() > 1 && column == indent.chars().count() && rest.starts_with(&[':', ':']) {
            push(&mut lines, "\u{fffd}");
            column += 1;
        }
        column += rest.len();
        push(&mut lines, &rest.into_iter().collect::<String>());
    }
    lines.join("\n")
}

fn push(lines: &mut [String], text: &str) {
    if let Some(line) = lines.last_mut() {
        line.push_str(text);
    }
}

/// `text` in `width` columns: its middle is left out where it is longer.
pub(super) fn elided(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width || width < 3 {
        return text.to_owned();
    }
    // The end of a name tells more than its beginning, which its neighbours share.
    let head = (width - 1) / 3;
    let tail = width - 1 - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}…{end}")
}

/// `text` behind or before so many spaces that it is `width` columns wide.
pub(super) fn padded(text: &str, width: usize, right: bool) -> String {
    let spaces = " ".repeat(width.saturating_sub(text.chars().count()));
    if right {
        format!("{spaces}{text}")
    } else {
        format!("{text}{spaces}")
    }
}

/// `1 more unchanged`, with a number that is grouped.
pub(super) fn more(count: usize, what: &str) -> String {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let count = super::number::value(count.into());
    format!("… and {count} more {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_it_may_be() {
        let text = "one two three aVeryLongWordIndeedThatFitsNowhere four";
        for width in 8..40 {
            let wrapped = wrapped(text, width, "  ");
            for line in wrapped.lines() {
                assert!(line.chars().count() <= width, "{width}: {line:?}");
            }
            let words: String = wrapped.split_whitespace().collect();
            assert_eq!(words, text.replace(' ', ""));
        }
        assert_eq!(wrapped("a b c", 80, "  "), "a b c");
        assert_eq!(wrapped("aa bb cc", 5, "  "), "aa bb\n  cc");
    }

    #[test]
    fn a_name_keeps_its_end() {
        assert_eq!(elided("abcdefghij", 10), "abcdefghij");
        assert_eq!(elided("abcdefghijk", 10), "abc…fghijk");
    }
}
