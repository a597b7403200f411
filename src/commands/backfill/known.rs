//! What is known of a run beside its numbers, and from where.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::commands::history::moment;
use crate::domain::{CommitSubject, Provenance, RunDate};

/// A field of a run that a file may leave to others to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Workload,
    Arch,
    Distro,
    HostClass,
    Repo,
    Branch,
    CommitSha,
    Change,
    Patchset,
    Pipeline,
    Tag,
    RunDate,
    Subject,
}

/// Each field, as a run spells it, and how a person can say it.
const FIELDS: [(Field, &str, &str); 13] = [
    (Field::Workload, "workload", "--workload"),
    (Field::Arch, "arch", "--arch"),
    (Field::Distro, "distro", "--distro"),
    (Field::HostClass, "host_class", "--host-class"),
    (Field::Repo, "repo", "--repo"),
    (Field::Branch, "branch", "--branch"),
    (Field::CommitSha, "commit_sha", "--commit"),
    (Field::Change, "change", "the file"),
    (Field::Patchset, "patchset", "the file"),
    (Field::Pipeline, "pipeline", "--pipeline"),
    (Field::Tag, "tag", "--tag"),
    (Field::RunDate, "run_date", "--run-date"),
    (Field::Subject, "subject", "the file"),
];

impl Field {
    fn names(self) -> (&'static str, &'static str) {
        let found = FIELDS.iter().find(|(field, ..)| *field == self);
        found.map_or(("", ""), |(_, name, flag)| (name, flag))
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names().0)
    }
}

impl FromStr for Field {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = FIELDS.iter().find(|(_, name, _)| *name == text);
        found.map(|(field, ..)| *field).ok_or_else(|| {
            let names = FIELDS.map(|(_, name, _)| name).join(", ");
            format!("`{text}` is no field of a run that a path can say; these are: {names}")
        })
    }
}

/// Fields as texts; parsed once they make a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Known(BTreeMap<Field, String>);

impl Known {
    pub(super) fn set(&mut self, field: Field, text: &str) {
        self.0.insert(field, text.to_owned());
    }

    /// What git says of a commit beside its date.
    pub(super) fn of_subject(subject: &str) -> Self {
        let mut known = Self::default();
        known.set(Field::Subject, subject);
        known
    }

    pub(super) fn get(&self, field: Field) -> Option<&str> {
        self.0.get(&field).map(String::as_str)
    }

    /// Takes over what `other` says of fields that nothing is known of yet.
    pub(super) fn fill_from(&mut self, other: &Self) {
        for (field, text) in &other.0 {
            self.0.entry(*field).or_insert_with(|| text.clone());
        }
    }

    /// A field that a run must have.
    pub(super) fn needed<T>(&self, field: Field) -> Result<T, String>
    where
        T: FromStr<Err: fmt::Display>,
    {
        let (name, flag) = field.names();
        self.optional(field)?.ok_or_else(|| {
            format!("has no `{name}`: say it with {flag}, or in the path with --from-path")
        })
    }

    fn optional<T>(&self, field: Field) -> Result<Option<T>, String>
    where
        T: FromStr<Err: fmt::Display>,
    {
        let text = self.get(field);
        text.map(str::parse)
            .transpose()
            .map_err(|error| format!("`{field}` {error}"))
    }

    /// Which commit it is of.
    pub(super) fn provenance(&self) -> Result<Provenance, String> {
        Ok(Provenance {
            repo: self.needed(Field::Repo)?,
            branch: self.needed(Field::Branch)?,
            commit_sha: self.needed(Field::CommitSha)?,
            change: self.optional(Field::Change)?,
            patchset: self.optional(Field::Patchset)?,
            pipeline: self.needed(Field::Pipeline)?,
            tag: self.needed(Field::Tag)?,
            run_date: self.needed::<ReleaseDate>(Field::RunDate)?.0,
            subject: self.get(Field::Subject).and_then(CommitSubject::cut),
        })
    }

    #[cfg(test)]
    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        let pairs = self.0.iter();
        pairs
            .map(|(field, text)| (field.names().0, text.clone()))
            .collect()
    }
}

/// A run's date, of which a person may leave out the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReleaseDate(pub(super) RunDate);

impl FromStr for ReleaseDate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let date = moment(text)
            .parse()
            .map_err(|error| format!("{error}; the time may be left out, as in 2026-11-30"))?;
        Ok(Self(date))
    }
}
