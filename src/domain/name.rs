//! The text columns of the schema, each a type of its own.
//!
//! A name has no leading or trailing white space and no control characters, so that no engine's
//! padding or escaping rule can make two names one, and it is as long as its column at most.
//! Lengths count characters, as the columns do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::{schema, text};

/// Why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The column always holds something.
    #[error("must not be empty")]
    Empty,
    /// Longer than its column.
    #[error("must be at most {max} characters long, has {length}")]
    TooLong {
        /// The column's length.
        max: usize,
        /// The length found.
        length: usize,
    },
    /// Engines differ in what they make of white space at the ends.
    #[error("must not start or end with white space")]
    Padded,
    /// Not to be told apart by eye, and not carried alike by every protocol.
    #[error("must not hold control characters, has U+{:04X}", u32::from(*.0))]
    Control(char),
    /// Names that differ only in such characters look alike.
    #[error("must not hold characters that are not seen, has U+{:04X}", u32::from(*.0))]
    Invisible(char),
    /// The word has a meaning of its own in a filter.
    #[error("must not be `*`, which means any in a filter")]
    Wildcard,
}

fn check(text: &str, max: usize, may_be_empty: bool) -> Result<(), NameError> {
    if text.is_empty() && !may_be_empty {
        return Err(NameError::Empty);
    }
    if is_plain(text, max) {
        return Ok(());
    }
    let length = text.chars().count();
    if length > max {
        return Err(NameError::TooLong { max, length });
    }
    if let Some(control) = text.chars().find(|c| c.is_control()) {
        return Err(NameError::Control(control));
    }
    if text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace) {
        return Err(NameError::Padded);
    }
    if text == WILDCARD {
        return Err(NameError::Wildcard);
    }
    Ok(())
}

/// Whether a character is not seen, or changes how others are seen: control characters, format
/// characters such as the marks of direction and joiners without width (Unicode's category Cf), and
/// the separators of lines and paragraphs (Zl, Zp).
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

/// Checks a name that is new to the store, which holds no character that is not seen.
///
/// Older versions stored such names, so that they can be read and asked for, but not uploaded.
pub(crate) fn check_new(text: &str) -> Result<(), NameError> {
    match text.chars().find(|c| is_invisible(*c)) {
        Some(found) => Err(NameError::Invisible(found)),
        None => Ok(()),
    }
}

/// Whether a look at the bytes is enough, as it is for nearly every name that is read or written.
fn is_plain(text: &str, max: usize) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= max
        && bytes.iter().all(|byte| matches!(byte, b' '..=b'~'))
        && !matches!(bytes, [b' ', ..] | [.., b' '] | b"*")
}

/// What stands for any name in a filter, and so is none itself.
const WILDCARD: &str = "*";

/// A filter by name: `None` for the wildcard, which lets every name pass.
///
/// # Errors
/// A text that is neither the wildcard nor a name.
pub fn any_or<T: FromStr>(text: &str) -> Result<Option<T>, T::Err> {
    match text {
        WILDCARD => Ok(None),
        name => name.parse().map(Some),
    }
}

/// The columns differ in name, length and whether they may be empty, and in nothing else.
macro_rules! names {
    ($($(#[$doc:meta])* $name:ident, $max:literal, may_be_empty: $may_be_empty:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(SmolStr);

        impl $name {
            /// The most characters that the column holds.
            pub const MAX_CHARS: usize = $max;

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                check(text, $max, $may_be_empty)?;
                Ok(Self(text.into()))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                text::parsed(source)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0.into()
            }
        }

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                schema::name($max, $may_be_empty).into()
            }
        }

        impl ToSchema for $name {}

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

names! {
    /// What was run: `perf`, later `slap` or `sysbench`.
    Workload, 40, may_be_empty: false;
    /// The repository that the commit belongs to.
    Repo, 80, may_be_empty: false;
    /// The branch that the commit was merged to.
    Branch, 120, may_be_empty: false;
    /// The processor architecture: `amd64`, `arm64`. Instruction counts never cross it.
    Arch, 20, may_be_empty: false;
    /// The distribution that compiled and ran the code: `trixie`.
    Distro, 40, may_be_empty: false;
    /// The kind of host: `callgrind` for a simulated processor, else a class of real machines.
    HostClass, 40, may_be_empty: false;
    /// The pipeline that uploaded the run; `promote` for the authoritative ones.
    Pipeline, 40, may_be_empty: false;
    /// Empty for a live run, else the name of a reference run: `baseline`, `14.04`.
    Tag, 80, may_be_empty: true;
    /// The change under review that the commit came from.
    Change, 40, may_be_empty: false;
    /// The patch set of the change.
    Patchset, 20, may_be_empty: false;
    /// What was measured: `callgrind.ir`.
    MetricKey, 80, may_be_empty: false;
    /// The parameters of a parameterised metric in canonical form (`threads=16`), empty for a scalar.
    DimKey, 120, may_be_empty: true;
    /// What one parameter of a measurement is called: `table_size`. No column.
    ParameterName, 80, may_be_empty: false;
    /// The first line of a commit's message. A longer one is cut: see [`CommitSubject::cut`].
    CommitSubject, 200, may_be_empty: false;
    /// Why a run was taken back, in one line.
    VoidReason, 500, may_be_empty: false;
}

impl CommitSubject {
    /// The subject that git tells, made to fit: control characters become spaces, white space at
    /// the ends and characters that nobody sees go, and what is too long is cut and ends with `…`. `None` for an empty one.
    pub fn cut(text: &str) -> Option<Self> {
        let line: String = text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .filter(|c| !is_invisible(*c))
            .collect();
        let line = line.trim();
        if line.chars().count() <= Self::MAX_CHARS {
            return line.parse().ok();
        }
        let start: String = line.chars().take(Self::MAX_CHARS - 1).collect();
        format!("{}…", start.trim_end()).parse().ok()
    }
}

impl Tag {
    /// The tag of a live run.
    pub fn live() -> Self {
        Self(SmolStr::default())
    }
}

impl DimKey {
    /// The dimension of a scalar metric.
    pub fn scalar() -> Self {
        Self(SmolStr::default())
    }
}

impl HostClass {
    /// The simulated processor, which is the same on every machine.
    pub fn callgrind() -> Self {
        Self(SmolStr::new_static("callgrind"))
    }
}

impl Pipeline {
    /// The pipeline whose runs are the history.
    pub fn promote() -> Self {
        Self(SmolStr::new_static("promote"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_counts_characters_not_bytes() {
        assert!("😀".repeat(40).parse::<Workload>().is_ok());
        assert_eq!(
            "😀".repeat(41).parse::<Workload>(),
            Err(NameError::TooLong {
                max: 40,
                length: 41
            })
        );
    }

    #[test]
    fn what_is_not_seen_is_what_unicode_says() {
        let category = regex::Regex::new(r"^[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]$").unwrap();
        for c in '\0'..=char::MAX {
            let expected = category.is_match(c.encode_utf8(&mut [0; 4]));
            assert_eq!(is_invisible(c), expected, "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn a_new_name_holds_nothing_that_is_not_seen() {
        for c in [
            '\u{202e}',
            '\u{200b}',
            '\u{2028}',
            '\u{feff}',
            '\u{ad}',
            '\u{e0061}',
        ] {
            let text = format!("a{c}b");
            assert!(text.parse::<Repo>().is_ok(), "{c:?}");
            assert_eq!(check_new(&text), Err(NameError::Invisible(c)));
        }
        assert_eq!(check_new("名前 é"), Ok(()));
    }

    #[test]
    fn every_control_character_is_refused() {
        for control in (0..=0x1f).chain(0x7f..=0x9f).filter_map(char::from_u32) {
            let text = format!("a{control}b");
            assert_eq!(text.parse::<Repo>(), Err(NameError::Control(control)));
        }
    }

    #[test]
    fn white_space_at_the_ends_is_refused_of_any_kind() {
        for text in [" main", "main ", "\u{a0}main", "main\u{3000}", " "] {
            assert_eq!(text.parse::<Branch>(), Err(NameError::Padded), "{text:?}");
        }
        assert!("a b".parse::<Branch>().is_ok());
    }

    #[test]
    fn only_tag_and_dimension_may_be_empty() {
        assert_eq!("".parse::<Workload>(), Err(NameError::Empty));
        assert_eq!("".parse::<Change>(), Err(NameError::Empty));
        assert_eq!("".parse::<Tag>(), Ok(Tag::live()));
        assert_eq!("".parse::<DimKey>(), Ok(DimKey::scalar()));
    }

    #[test]
    fn the_wildcard_of_a_filter_is_no_name() {
        assert_eq!("*".parse::<Tag>(), Err(NameError::Wildcard));
        assert!("release/*".parse::<Tag>().is_ok());
        assert_eq!(any_or::<Tag>("*"), Ok(None));
        assert_eq!(any_or::<Tag>(""), Ok(Some(Tag::live())));
        assert_eq!(any_or::<Pipeline>(""), Err(NameError::Empty));
    }

    #[test]
    fn a_subject_is_cut_rather_than_refused() {
        let cut = |text: &str| CommitSubject::cut(text).map(|subject| subject.to_string());
        assert_eq!(cut(" a\tb\u{7} "), Some("a b".to_owned()));
        assert_eq!(cut("  "), None);
        assert_eq!(cut(&"ä".repeat(200)), Some("ä".repeat(200)));
        let long = cut(&"ä".repeat(201)).unwrap();
        assert_eq!(long, format!("{}…", "ä".repeat(199)));
        let broken = format!("{} {}", "a".repeat(198), "b".repeat(9));
        assert_eq!(cut(&broken), Some(format!("{}…", "a".repeat(198))));
    }
}
