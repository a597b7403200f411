//! The conditions that the recipes of GitHub and GitLab have: `A == B && C != D`. What is another is no condition that
//! this knows, and ends the test.

/// Whether a condition holds; `value` tells what a name, or a call, stands for.
pub(crate) fn holds(condition: &str, value: &dyn Fn(&str) -> String) -> bool {
    let inner = condition.trim();
    let inner = inner
        .strip_prefix("${{")
        .and_then(|inner| inner.strip_suffix("}}"))
        .unwrap_or(inner);
    inner.split("&&").all(|term| term_holds(term.trim(), value))
}

fn term_holds(term: &str, value: &dyn Fn(&str) -> String) -> bool {
    let operand = |text: &str| {
        let text = text.trim();
        let quoted = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
        quoted('\'')
            .or_else(|| quoted('"'))
            .map_or_else(|| value(text), str::to_owned)
    };
    if term == "!cancelled()" {
        true
    } else if let Some((left, right)) = term.split_once("==") {
        operand(left) == operand(right)
    } else if let Some((left, right)) = term.split_once("!=") {
        operand(left) != operand(right)
    } else {
        panic!("`{term}` is no condition that the test can judge")
    }
}
