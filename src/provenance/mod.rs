//! Where a document comes from: what flags, the CI's variables and the git checkout say of it.
//!
//! A flag wins over the CI, and the CI over the checkout. Every value is kept with the place that
//! it was found at, so that a person can see why a run says what it says. What is asked for is
//! looked up; nothing is guessed.

pub(crate) mod checkout;
mod ci;
mod git;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::domain::{
    Branch, Change, CommitSha, CommitSubject, Patchset, Pipeline, Repo, RunDate, Tag,
};
use crate::terminal::tame;

use ci::{Clue, Clues};
use git::Machine;

/// The environment variable that names the pipeline; the flag wins over it.
const PIPELINE_VARIABLE: &str = "PERF_TRACKING_PIPELINE";

/// What is looked at. An `Err` says why there is no answer, as the end of a sentence.
trait Outside {
    /// An environment variable.
    fn variable(&self, name: &str) -> Option<String>;
    /// A file's text.
    fn file(&self, path: &str) -> Result<String, String>;
    /// The commit that is checked out.
    fn head(&self) -> Result<String, String>;
    /// The branch that is checked out.
    fn branch(&self) -> Result<String, String>;
    /// The address that the checkout came from.
    fn remote(&self) -> Result<String, String>;
    /// The first line of a commit's message, if the commit is here.
    fn subject(&self, commit: &CommitSha) -> Option<String>;
    /// When a commit was made, as in RFC 3339.
    fn date(&self, commit: &CommitSha) -> Result<String, String>;
    /// The names of the checkout's remotes.
    fn remotes(&self) -> Result<Vec<String>, String>;
    /// The commit that a tag of the checkout is at.
    fn tag(&self, name: &str) -> Result<String, String>;
    /// The whole name of the commit that begins with these digits.
    fn whole(&self, digits: &str) -> Result<String, String>;
    /// The parents of a commit.
    fn parents(&self, commit: &str) -> Result<Vec<String>, String>;
    /// Whether a branch of a remote has a commit: one that is called `branch`, or any.
    fn is_on_remote(&self, commit: &str, branch: Option<&str>) -> Result<bool, String>;
}

/// One value that a run needs.
struct Field {
    name: &'static str,
    flag: &'static str,
    /// What to do where nothing says it.
    advice: &'static str,
}

const REPO: Field = Field {
    name: "repo",
    flag: "--repo",
    advice: "give --repo NAME",
};
const BRANCH: Field = Field {
    name: "branch",
    flag: "--branch",
    advice: "give --branch NAME",
};
const COMMIT: Field = Field {
    name: "commit",
    flag: "--commit",
    advice: "give --commit SHA",
};
const CHANGE: Field = Field {
    name: "change",
    flag: "--change",
    advice: "give --change ID",
};
const PATCHSET: Field = Field {
    name: "patchset",
    flag: "--patchset",
    advice: "give --patchset ID",
};
const PIPELINE: Field = Field {
    name: "pipeline",
    flag: "--pipeline",
    advice: "give --pipeline NAME or set PERF_TRACKING_PIPELINE: `promote` for a commit that has \
             merged, since changes are judged against its runs, and another name, such as `check`, \
             for one that has not",
};
const TAG: Field = Field {
    name: "tag",
    flag: "--tag",
    advice: "give --tag NAME",
};
const SUBJECT: Field = Field {
    name: "subject",
    flag: "",
    advice: "",
};
const RUN_DATE: Field = Field {
    name: "run date",
    flag: "--run-date",
    advice: "give --run-date DATE, which is the commit's",
};

/// A value that was found, as a person is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    name: &'static str,
    value: String,
    /// The flag, the variable or the checkout.
    origin: Cow<'static, str>,
    by_flag: bool,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            value,
            origin,
            ..
        } = self;
        // An empty one is a value too.
        let value = if value.is_empty() { "``" } else { value };
        write!(f, "{name} {} (from {origin})", tame(value))
    }
}

/// The date of a commit that the checkout has.
///
/// # Errors
/// Why it is not known, as the end of a sentence.
pub(crate) fn commit_date(commit: &CommitSha) -> Result<RunDate, String> {
    let text = Machine::default().date(commit)?;
    text.parse()
        .map_err(|error| format!("its date `{}` {error}", tame(&text)))
}

/// Looks the values up, one after the other, and keeps count of what was found and what was not.
pub(crate) struct Detector {
    outside: Box<dyn Outside>,
    clues: Clues,
    commit: Option<CommitSha>,
    told: Vec<Told>,
    faults: Vec<String>,
}

impl Detector {
    /// Looks at this machine, and takes `commit` for the commit if a flag names one.
    pub(crate) fn here(commit: Option<CommitSha>) -> Self {
        Self::new(Box::new(Machine::default()), commit)
    }

    fn new(outside: Box<dyn Outside>, commit: Option<CommitSha>) -> Self {
        let mut clues = ci::clues(outside.as_ref());
        clues.target = clues.branch.as_ref().map(|branch| branch.text.clone());
        if let Some(commit) = &commit {
            clues.keep_what_holds_for(commit);
        }
        Self {
            outside,
            clues,
            commit,
            told: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// The repository that the commit belongs to.
    pub(crate) fn repo(&mut self, flag: Option<Repo>) -> Option<Repo> {
        self.needed(&REPO, flag, |this| match this.clues.repo.take() {
            Some(clue) => Ok(clue),
            None => {
                let remote = this.outside.remote()?;
                let path = git::path_of_remote(&remote)
                    .ok_or("the address of the remote `origin` has no path")?;
                Ok(by_git(path))
            }
        })
    }

    /// The branch that was measured; of a change, the one that it is for.
    pub(crate) fn branch(&mut self, flag: Option<Branch>) -> Option<Branch> {
        self.needed(&BRANCH, flag, |this| match this.clues.branch.take() {
            Some(clue) => Ok(clue),
            None if this.clues.proposed.is_some() => {
                Err("nothing names the branch that the change is for".to_owned())
            }
            None if this.clues.tag.is_some() => {
                Err("a tag was pushed, and a tag is on no branch".to_owned())
            }
            None => this.outside.branch().map(by_git),
        })
    }

    /// The commit that was measured.
    pub(crate) fn commit(&mut self) -> Option<CommitSha> {
        let flag = self.commit.take();
        let commit = self.needed(&COMMIT, flag, Self::find_commit);
        self.commit.clone_from(&commit);
        commit
    }

    /// The commit that was measured, if anything says it and what says it can be read.
    pub(crate) fn commit_if_known(&mut self) -> Option<CommitSha> {
        if self.commit.is_none() && self.clues.commit.is_none() && self.outside.head().is_err() {
            return None;
        }
        self.commit()
    }

    fn find_commit(&mut self) -> Result<Clue, String> {
        let (commit, is_checked_out) = match self.clues.commit.take() {
            Some(said) => (said?, false),
            None => (self.outside.head().map(by_git)?, true),
        };
        let may_be_merge = is_checked_out || self.clues.may_be_trial_merge;
        if self.clues.proposed.is_some() && may_be_merge {
            return self.without_trial_merge(commit);
        }
        Ok(commit)
    }

    /// The commit of a change, which `built` is or merges with the change's target. A system that
    /// merges them keeps the merge to itself, so that no branch of a remote has it; of its parents the
    /// one that the target does not have is the change's.
    fn without_trial_merge(&self, built: Clue) -> Result<Clue, String> {
        let Ok(parents) = self.outside.parents(&built.text) else {
            return Ok(built);
        };
        let is_own = || self.outside.is_on_remote(&built.text, None) == Ok(true);
        if parents.len() < 2 || is_own() {
            return Ok(built);
        }
        let target = self.clues.target.as_deref();
        let is_of_target = |parent: &String| match target {
            Some(target) => self
                .outside
                .is_on_remote(parent, Some(target))
                .unwrap_or(false),
            None => false,
        };
        let own: Vec<&String> = parents
            .iter()
            .filter(|parent| !is_of_target(parent))
            .collect();
        match own[..] {
            [own] if parents.len() == 2 => Ok(Clue {
                text: own.clone(),
                origin: format!("{}, a trial merge of it", built.origin).into(),
            }),
            _ => Err(format!(
                "{} is a merge, and which of its parents is the change cannot be told: fetch the \
                 branch that the change is for",
                built.origin
            )),
        }
    }

    /// The change that the commit came from.
    pub(crate) fn change(&mut self, flag: Option<Change>) -> Option<Change> {
        let clue = self.clues.change.take();
        self.wanted(&CHANGE, flag, clue)
    }

    /// The patch set of the change.
    pub(crate) fn patchset(&mut self, flag: Option<Patchset>) -> Option<Patchset> {
        let clue = self.clues.patchset.take();
        self.wanted(&PATCHSET, flag, clue)
    }

    /// What a pushed tag or a flag says; a live run where nothing does.
    pub(crate) fn tag(&mut self, flag: Option<Tag>) -> Tag {
        let clue = self.clues.tag.clone();
        self.wanted(&TAG, flag, clue).unwrap_or_else(Tag::live)
    }

    /// Who uploads. The name whose runs are the history is not for a change that has not merged.
    pub(crate) fn pipeline(&mut self, flag: Option<Pipeline>) -> Option<Pipeline> {
        let pipeline = self.needed(&PIPELINE, flag, |this| {
            let named = this.outside.variable(PIPELINE_VARIABLE);
            match named.filter(|text| !text.is_empty()) {
                Some(text) => Ok(Clue {
                    text,
                    origin: PIPELINE_VARIABLE.into(),
                }),
                None => this
                    .clues
                    .pipeline
                    .take()
                    .ok_or_else(|| "nothing says it".to_owned()),
            }
        })?;
        if let Some(why) = &self.clues.proposed
            && pipeline == Pipeline::promote()
        {
            self.faults.push(format!(
                "pipeline: `promote` is for commits that have merged, and this is a change that \
                 has not ({}); name another with --pipeline",
                tame(why)
            ));
        }
        Some(pipeline)
    }

    /// The date of the commit, which [`Detector::commit`] has looked up before.
    pub(crate) fn run_date(&mut self, flag: Option<RunDate>) -> Option<RunDate> {
        self.needed(&RUN_DATE, flag, |this| match this.clues.run_date.take() {
            Some(clue) => Ok(clue),
            None => {
                let commit = this.commit.as_ref();
                let commit = commit.ok_or("it is the commit's, and the commit is not known")?;
                this.outside.date(commit).map(by_git)
            }
        })
    }

    /// The first line of the commit's message, if git has the commit. A run is complete without it,
    /// so nothing is said where it is not known.
    pub(crate) fn subject(&mut self) -> Option<CommitSubject> {
        let text = self.outside.subject(self.commit.as_ref()?)?;
        let subject = CommitSubject::cut(&text)?;
        self.tell(&SUBJECT, &subject, "git".into());
        Some(subject)
    }

    /// What was not found or does not fit, a line each.
    pub(crate) fn faults(&self) -> &[String] {
        &self.faults
    }

    /// What was found and where, a line each.
    pub(crate) fn told(&self) -> Vec<String> {
        self.told.iter().map(Told::to_string).collect()
    }

    /// What was found without a flag.
    pub(crate) fn told_by_others(&self) -> Vec<String> {
        let others = self.told.iter().filter(|told| !told.by_flag);
        others.map(Told::to_string).collect()
    }

    /// The commit that is checked out, where it is another than the one that was found.
    pub(crate) fn other_head(&self) -> Option<String> {
        let head = self.outside.head().ok()?;
        (*self.commit.as_ref()?.as_str() != head).then_some(head)
    }

    fn needed<T>(
        &mut self,
        field: &Field,
        flag: Option<T>,
        find: impl FnOnce(&mut Self) -> Result<Clue, String>,
    ) -> Option<T>
    where
        T: FromStr<Err: fmt::Display> + fmt::Display,
    {
        if flag.is_some() {
            return self.wanted(field, flag, None);
        }
        match find(self) {
            Ok(clue) => self.wanted(field, None, Some(clue)),
            Err(why) => {
                let Field { name, advice, .. } = field;
                self.faults.push(format!("{name}: {why}; {advice}"));
                None
            }
        }
    }

    fn wanted<T>(&mut self, field: &Field, flag: Option<T>, clue: Option<Clue>) -> Option<T>
    where
        T: FromStr<Err: fmt::Display> + fmt::Display,
    {
        if let Some(value) = flag {
            self.tell(field, &value, field.flag.into());
            return Some(value);
        }
        let Clue { text, origin } = clue?;
        match text.parse() {
            Ok(value) => {
                self.tell(field, &value, origin);
                Some(value)
            }
            Err(error) => {
                let Field { name, flag, .. } = field;
                self.faults.push(format!(
                    "{name}: `{}` (from {origin}) {error}; give another with {flag}",
                    tame(&text)
                ));
                None
            }
        }
    }

    fn tell(&mut self, field: &Field, value: &impl fmt::Display, origin: Cow<'static, str>) {
        self.told.push(Told {
            name: field.name,
            value: value.to_string(),
            by_flag: origin == field.flag,
            origin,
        });
    }
}

/// Whether the checkout in the current folder has its tracked files as they were committed; `None`
/// where there is no checkout to ask.
pub(crate) fn is_clean() -> Option<bool> {
    git::is_clean().ok()
}

impl Clues {
    /// Drops what is said of another commit than `commit`. A change that has not merged has several,
    /// and a trial merge is one of them.
    fn keep_what_holds_for(&mut self, commit: &CommitSha) {
        let Some(Ok(said)) = &self.commit else {
            return;
        };
        if said.text.parse().as_ref() == Ok(commit) {
            return;
        }
        self.run_date = None;
        self.tag = None;
        if self.proposed.is_none() {
            self.change = None;
            self.patchset = None;
        }
    }
}

fn by_git(text: String) -> Clue {
    Clue {
        text,
        origin: "git".into(),
    }
}
