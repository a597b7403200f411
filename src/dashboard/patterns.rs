//! Patterns of addresses at which commits and changes can be looked at.

use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// An address with the places `{repo}`, `{commit}`, `{change}` and `{patchset}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlPattern(String);

/// Why a text is no pattern of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlPatternError {
    /// A page never links to anything else.
    #[error("must start with https:// or http://")]
    Scheme,
    /// Every commit would have the same address.
    #[error("must name a place: {{commit}} or {{change}}")]
    NoPlace,
    /// The host is the operator's choice alone.
    #[error("must not have a place in its host")]
    HostPlace,
}

/// What stays as it is in a part of an address. The repository `owner/name` is a path.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');

impl FromStr for UrlPattern {
    type Err = UrlPatternError;

    fn from_str(text: &str) -> Result<Self, UrlPatternError> {
        let rest = text
            .strip_prefix("https://")
            .or_else(|| text.strip_prefix("http://"))
            .ok_or(UrlPatternError::Scheme)?;
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if host.contains('{') {
            return Err(UrlPatternError::HostPlace);
        }
        if !rest.contains("{commit}") && !rest.contains("{change}") {
            return Err(UrlPatternError::NoPlace);
        }
        Ok(Self(text.to_owned()))
    }
}

/// What is put in the places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    pub(super) repo: &'a str,
    pub(super) commit: &'a str,
    pub(super) change: Option<&'a str>,
    pub(super) patchset: Option<&'a str>,
}

impl UrlPattern {
    /// What the address shows, for the text of a link.
    pub(super) fn is_of(&self) -> &'static str {
        match self.0.contains("{commit}") {
            true => "commit",
            false => "change",
        }
    }

    /// The address; `None` where a place has nothing to be filled with.
    pub(super) fn fill(&self, places: Places<'_>) -> Option<String> {
        let mut address = String::with_capacity(self.0.len() + 60);
        let mut rest = self.0.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            address.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                address.push('{');
                rest = after;
                continue;
            };
            let text = match name {
                "repo" => places.repo,
                "commit" => places.commit,
                "change" => places.change?,
                "patchset" => places.patchset?,
                _ => return None,
            };
            address.extend(utf8_percent_encode(text, PATH));
            rest = after;
        }
        address.push_str(rest);
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_and_encoded() {
        let places = Places {
            repo: "owner/na me\"><script>",
            commit: "0123",
            change: None,
            patchset: None,
        };
        let pattern: UrlPattern = "https://x.example/{repo}/commit/{commit}".parse().unwrap();
        assert_eq!(
            pattern.fill(places).as_deref(),
            Some("https://x.example/owner/na%20me%22%3E%3Cscript%3E/commit/0123")
        );
        let change: UrlPattern = "https://x.example/c/{change}/{patchset}".parse().unwrap();
        assert_eq!(change.fill(places), None);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (text, error) in [
            ("javascript:alert({commit})", UrlPatternError::Scheme),
            ("https://x.example/", UrlPatternError::NoPlace),
            ("https://{commit}.example/", UrlPatternError::HostPlace),
        ] {
            assert_eq!(text.parse::<UrlPattern>(), Err(error), "{text}");
        }
    }
}
