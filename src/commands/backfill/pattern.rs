//! What a file's path says of its run.

use std::path::Path;
use std::str::FromStr;

use regex::Regex;

use super::known::{Field, Known};

/// A path with fields in braces: `perf/{arch}/{tag}.json`.
///
/// It is held against the end of a path, whole folders at a time; a field is some text without a `/`.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    text: String,
    regex: Regex,
    fields: Vec<Field>,
}

impl Pattern {
    /// The fields that the path of a file has; `None` if it is not of this form.
    pub(super) fn read(&self, path: &Path) -> Option<Known> {
        let path = path.to_string_lossy();
        let found = self.regex.captures(&path)?;
        let mut known = Known::default();
        for (at, field) in self.fields.iter().enumerate() {
            known.set(*field, found.get(at + 1)?.as_str());
        }
        Some(known)
    }

    /// As it was written.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut fields = Vec::new();
        let mut regex = "(?:^|/)".to_owned();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or("has a `{` that no `}` ends")?;
            let field: Field = name.parse()?;
            if fields.contains(&field) {
                return Err(format!("has `{{{name}}}` twice"));
            }
            fields.push(field);
            regex.push_str(&regex::escape(before));
            regex.push_str("([^/]+)");
            rest = after;
        }
        regex.push_str(&regex::escape(rest));
        regex.push('$');
        if fields.is_empty() {
            return Err("names no field, such as `{tag}`".to_owned());
        }
        let regex = Regex::new(&regex).map_err(|error| error.to_string())?;
        Ok(Self {
            text: text.to_owned(),
            regex,
            fields,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pattern: &str, path: &str) -> Option<Vec<(&'static str, String)>> {
        let known = pattern.parse::<Pattern>().unwrap().read(Path::new(path))?;
        Some(known.pairs())
    }

    #[test]
    fn fields_stand_between_what_is_fixed() {
        let pairs = |list: &[(&'static str, &str)]| {
            Some(
                list.iter()
                    .map(|(name, text)| (*name, (*text).to_owned()))
                    .collect(),
            )
        };
        for (pattern, path, expected) in [
            ("{tag}.json", "perf/14.04.json", pairs(&[("tag", "14.04")])),
            (
                "perf/{tag}.json",
                "perf/14.04.json",
                pairs(&[("tag", "14.04")]),
            ),
            (
                "perf/{tag}.json",
                "/a/perf/é b.json",
                pairs(&[("tag", "é b")]),
            ),
            ("perf/{tag}.json", "otherperf/14.04.json", None),
            ("perf/{tag}.json", "perf/x/14.04.json", None),
            ("{tag}.json", "perf/.json", None),
            ("{tag}.json", "perf/14.04.json.bak", None),
            ("{tag}.json", "perf/14x04xjson", None),
            (
                "{commit_sha}/{arch}-{distro}/metrics.json",
                "ci/0123/amd64-trixie/metrics.json",
                pairs(&[
                    ("arch", "amd64"),
                    ("distro", "trixie"),
                    ("commit_sha", "0123"),
                ]),
            ),
        ] {
            assert_eq!(read(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_pattern_that_says_nothing_is_refused() {
        for (pattern, said) in [
            ("", "names no field"),
            ("perf/*.json", "names no field"),
            ("{tag", "no `}` ends"),
            ("{tag}/{tag}.json", "`{tag}` twice"),
            ("{release}.json", "`release` is no field of a run"),
            ("{}.json", "`` is no field of a run"),
        ] {
            let error = pattern.parse::<Pattern>().unwrap_err();
            assert!(error.contains(said), "{pattern}: {error}");
        }
    }
}
