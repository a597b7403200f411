//! Text inside SVG.

/// `text` as XML holds it, in an element or in an attribute with double quotes.
///
/// XML cannot hold U+FFFE, U+FFFF and most control characters at all; `\u{fffd}` takes their place, as
/// it takes that of marks which would turn the direction of what stands beside them.
pub(super) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            letter if crate::domain::is_invisible(letter) => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}
