//! What a CI system says of the commit that it builds, in the variables that it documents.
//!
//! One system speaks at a time: values of two would describe two commits. Each system has a module
//! with the table of the variables that are read and the page that documents them.
//!
//! **A change is never taken for a merged commit.** Every system says by some variable that it builds
//! a proposed change; it sets [`Clues::proposed`]. A schedule, a start by hand and a pushed tag build
//! what has merged.
//!
//! **A trial merge is never taken for the change.** Many systems merge a change with its target and
//! build that. Where a variable names the change's own commit, it is read; where none does, the commit
//! is asked for its parents ([`Clues::may_be_trial_merge`]).

mod azure;
mod bitbucket;
mod buildkite;
mod circleci;
mod drone;
mod gerrit;
mod github;
mod gitlab;
mod jenkins;
mod woodpecker;
mod zuul;

use std::borrow::Cow;

use super::Outside;

/// A text, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clue {
    pub(super) text: String,
    pub(super) origin: Cow<'static, str>,
}

/// All that one system says; nothing of it is parsed yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clues {
    pub(super) repo: Option<Clue>,
    /// The branch that was measured; of a change, the one that it is for.
    pub(super) branch: Option<Clue>,
    /// The commit, or why it cannot be told although the system knows one.
    pub(super) commit: Option<Result<Clue, String>>,
    pub(super) change: Option<Clue>,
    pub(super) patchset: Option<Clue>,
    pub(super) pipeline: Option<Clue>,
    pub(super) tag: Option<Clue>,
    /// The date of that very commit.
    pub(super) run_date: Option<Clue>,
    /// Set where the commit has not merged: what says so.
    pub(super) proposed: Option<Cow<'static, str>>,
    /// Whether the commit of a change may be one that the system made to merge it with its target.
    pub(super) may_be_trial_merge: bool,
    /// The text of `branch`, which is still known once that was looked up.
    pub(super) target: Option<String>,
}

/// Asks each system that is known; the first that is there answers.
pub(super) fn clues(outside: &dyn Outside) -> Clues {
    // Zuul and Gerrit drive a Jenkins, whose own variables say less.
    let systems = [
        zuul::clues,
        gerrit::clues,
        github::clues,
        gitlab::clues,
        woodpecker::clues,
        drone::clues,
        buildkite::clues,
        circleci::clues,
        azure::clues,
        bitbucket::clues,
        jenkins::clues,
    ];
    let said = systems.iter().find_map(|system| system(&Reader(outside)));
    said.unwrap_or_default()
}

/// Reads variables; an empty one counts as unset.
struct Reader<'a>(&'a dyn Outside);

impl Reader<'_> {
    fn get(&self, name: &'static str) -> Option<Clue> {
        let text = self.0.variable(name).filter(|text| !text.is_empty())?;
        Some(Clue {
            text,
            origin: name.into(),
        })
    }

    fn first(&self, names: &[&'static str]) -> Option<Clue> {
        names.iter().find_map(|name| self.get(name))
    }

    /// A commit; what stands for none, since a branch is new or gone, is none.
    fn commit(&self, names: &[&'static str]) -> Option<Clue> {
        let commits = names.iter().filter_map(|name| self.get(name));
        commits
            .into_iter()
            .find(|clue| !clue.text.bytes().all(|byte| byte == b'0'))
    }

    fn has(&self, names: &[&'static str]) -> bool {
        self.first(names).is_some()
    }

    /// The remotes of the checkout, if there is one to ask.
    fn remotes(&self) -> Vec<String> {
        self.0.remotes().unwrap_or_default()
    }

    /// Whether the checkout has a tag of this name at this commit.
    fn is_tag_of(&self, name: &str, commit: &str) -> bool {
        self.0.tag(name).is_ok_and(|found| found == commit)
    }

    /// The commit whose first digits the variable has.
    fn whole_commit(&self, clue: Clue) -> Result<Clue, String> {
        let is_short = clue.text.len() < 40 && clue.text.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_short {
            return Ok(clue);
        }
        let text = self.0.whole(&clue.text).map_err(|why| {
            format!(
                "{} has only the first digits of the commit, and {why}",
                clue.origin
            )
        })?;
        Ok(Clue {
            text,
            origin: clue.origin,
        })
    }

    /// Whether a variable has this value.
    fn is(&self, name: &'static str, value: &str) -> bool {
        self.get(name).is_some_and(|clue| clue.text == value)
    }
}

impl Clue {
    fn map(self, change: impl FnOnce(&str) -> Option<String>) -> Option<Self> {
        Some(Self {
            text: change(&self.text)?,
            origin: self.origin,
        })
    }

    /// `refs/heads/main` is `main`; another full ref is no branch.
    fn branch_of_ref(self) -> Option<Self> {
        self.map(|text| match text.strip_prefix("refs/heads/") {
            Some(branch) => Some(branch.to_owned()),
            None => (!text.starts_with("refs/")).then(|| text.to_owned()),
        })
    }

    /// `NAME is VALUE`, as a reason.
    fn is_said(&self) -> Cow<'static, str> {
        format!("{} is {}", self.origin, self.text).into()
    }

    fn tag_of_ref(self) -> Option<Self> {
        self.map(|text| text.strip_prefix("refs/tags/").map(str::to_owned))
    }
}
