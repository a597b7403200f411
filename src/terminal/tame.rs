//! Text of strangers, made safe to print.

/// A stranger's text for a terminal, with all its spaces: what would move the cursor, colour the
/// screen or begin a line is shown as �.
pub(crate) fn tame(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}
