//! Globs over names, as `gate.toml` writes them.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};

/// A glob over names: `*` any characters, `?` one, `[ab]` one of these, `{a,b}` either.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    matcher: Matcher,
}

/// How a pattern is matched. The plain forms are nearly all there are, and far faster than a glob.
#[derive(Clone, Debug)]
enum Matcher {
    /// `*`
    Everything,
    /// A name without wildcards.
    Name,
    /// One `*`, whose place is this byte of the text.
    Affixes(usize),
    Glob(Box<GlobMatcher>),
}

impl Pattern {
    /// The pattern that `text` spells.
    ///
    /// # Errors
    /// Why it is none.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("must not be empty; `*` matches everything".to_owned());
        }
        if text.chars().any(char::is_control) {
            return Err("must not hold control characters, which no name does".to_owned());
        }
        let matcher = match plain(text) {
            Some(matcher) => matcher,
            None => {
                let glob = GlobBuilder::new(text)
                    .build()
                    .map_err(|error| format!("is no pattern: {}", error.kind()))?;
                Matcher::Glob(Box::new(glob.compile_matcher()))
            }
        };
        Ok(Self {
            text: text.to_owned(),
            matcher,
        })
    }

    /// The pattern that matches every name.
    pub fn any() -> Self {
        Self {
            text: "*".to_owned(),
            matcher: Matcher::Everything,
        }
    }

    /// Whether every name matches.
    pub fn is_any(&self) -> bool {
        matches!(self.matcher, Matcher::Everything)
    }

    /// Whether `name` matches. A name that is spelled as the pattern does, even with brackets in it.
    pub fn matches(&self, name: &str) -> bool {
        if self.text == name {
            return true;
        }
        match &self.matcher {
            Matcher::Everything => true,
            Matcher::Name => false,
            Matcher::Affixes(star) => self.between(name, *star).is_some(),
            Matcher::Glob(glob) => glob.is_match(name),
        }
    }

    /// The part of `name` that the only `*` of the pattern stands for; of a pattern without one,
    /// the empty text. `None` where the name does not match.
    pub(super) fn captured<'n>(&self, name: &'n str) -> Option<&'n str> {
        match &self.matcher {
            Matcher::Everything => Some(name),
            Matcher::Name => (self.text == name).then_some(""),
            Matcher::Affixes(star) => self.between(name, *star),
            Matcher::Glob(_) => None,
        }
    }

    /// The pattern with `text` in place of its only `*`; `None` of a pattern that is more than that.
    pub(super) fn filled(&self, text: &str) -> Option<String> {
        match &self.matcher {
            Matcher::Everything => Some(text.to_owned()),
            Matcher::Name => Some(self.text.clone()),
            Matcher::Affixes(star) => {
                let (prefix, suffix) = (&self.text[..*star], &self.text[star + 1..]);
                Some(format!("{prefix}{text}{suffix}"))
            }
            Matcher::Glob(_) => None,
        }
    }

    /// How many `*` the pattern has, or `None` where it has other wildcards.
    pub(super) fn stars(&self) -> Option<usize> {
        match &self.matcher {
            Matcher::Name => Some(0),
            Matcher::Everything | Matcher::Affixes(_) => Some(1),
            Matcher::Glob(_) => None,
        }
    }

    fn between<'n>(&self, name: &'n str, star: usize) -> Option<&'n str> {
        let rest = name.strip_prefix(&self.text[..star])?;
        rest.strip_suffix(&self.text[star + 1..])
    }
}

/// The matcher of a pattern with no wildcard but one `*`.
fn plain(text: &str) -> Option<Matcher> {
    if text.contains(['?', '[', ']', '{', '}', '\\']) {
        return None;
    }
    match (text, text.find('*'), text.matches('*').count()) {
        ("*", ..) => Some(Matcher::Everything),
        (_, None, _) => Some(Matcher::Name),
        (_, Some(star), 1) => Some(Matcher::Affixes(star)),
        _ => None,
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_patterns_match_as_globs_do() {
        let names = ["a", "a.b", "a.b_ns", "ab", "b", "a/b.c_ns", "_ns", "a*", ""];
        for text in ["*", "a", "a*", "*_ns", "a.*_ns", "a*b", "b"] {
            let glob = GlobBuilder::new(text).build().unwrap().compile_matcher();
            let pattern = Pattern::new(text).unwrap();
            for name in names {
                assert_eq!(pattern.matches(name), glob.is_match(name), "{text} {name}");
            }
        }
    }

    #[test]
    fn the_parts_of_an_affix_do_not_overlap() {
        assert!(!Pattern::new("ab*ba").unwrap().matches("aba"));
        assert!(Pattern::new("ab*ba").unwrap().matches("abba"));
    }

    #[test]
    fn a_star_carries_its_text_to_another_pattern() {
        let from = Pattern::new("callgrind.*").unwrap();
        let to = Pattern::new("valgrind.*_count").unwrap();
        let text = from.captured("callgrind.ir").unwrap();
        assert_eq!(to.filled(text).unwrap(), "valgrind.ir_count");
        assert_eq!(from.captured("massif.ir"), None);
        assert_eq!(Pattern::new("a?").unwrap().captured("ab"), None);
    }
}
