//! What `--reference` and `--candidate` name.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use crate::judge::comparison::record::{SideInfo, SideKind, SideName};
use crate::measure::comparison::{Side, Source};
use crate::provenance::checkout;

/// The two sides.
#[derive(Args, Debug)]
#[command(next_help_heading = "The sides: a folder, a command line, an image or a commit")]
pub(in crate::commands) struct SideArgs {
    /// What the candidate is held against: folder:PATH, command:LINE, image:NAME, or without a
    /// prefix a folder that is there and else a command line
    #[arg(
        long,
        value_name = "SIDE",
        required_unless_present = "reference_commit"
    )]
    reference: Option<String>,
    /// What is judged
    #[arg(
        long,
        value_name = "SIDE",
        required_unless_present = "candidate_commit"
    )]
    candidate: Option<String>,
    /// A commit as the reference: checked out, built as the contract says, and removed
    #[arg(long, value_name = "REVISION", conflicts_with = "reference")]
    reference_commit: Option<String>,
    /// A commit as the candidate
    #[arg(long, value_name = "REVISION", conflicts_with = "candidate")]
    candidate_commit: Option<String>,
    /// The repository that has the commits
    #[arg(long, value_name = "DIR", default_value = ".")]
    repository: PathBuf,
    /// What people call the reference
    #[arg(long, value_name = "TEXT")]
    reference_label: Option<String>,
    /// What people call the candidate
    #[arg(long, value_name = "TEXT")]
    candidate_label: Option<String>,
    /// What the reference was built from; of a folder with a checkout, its commit
    #[arg(long, value_name = "TEXT")]
    reference_revision: Option<String>,
    /// What the candidate was built from
    #[arg(long, value_name = "TEXT")]
    candidate_revision: Option<String>,
}

impl SideArgs {
    pub(super) fn sides(self) -> anyhow::Result<(Side, Side)> {
        let reference = side(
            SideName::Reference,
            self.reference,
            self.reference_commit,
            &self.repository,
        )?;
        let candidate = side(
            SideName::Candidate,
            self.candidate,
            self.candidate_commit,
            &self.repository,
        )?;
        Ok((
            described(reference, self.reference_label, self.reference_revision),
            described(candidate, self.candidate_label, self.candidate_revision),
        ))
    }
}

fn described(mut side: Side, label: Option<String>, revision: Option<String>) -> Side {
    if let Some(label) = label {
        side.info.label = label;
    }
    if revision.is_some() {
        side.info.revision = revision;
    }
    side
}

fn side(
    name: SideName,
    given: Option<String>,
    commit: Option<String>,
    repository: &Path,
) -> anyhow::Result<Side> {
    let context = || format!("the {name} cannot be run");
    match (given, commit) {
        (_, Some(revision)) => of_commit(&revision, repository).with_context(context),
        (Some(text), None) => of_text(&text).with_context(context),
        (None, None) => anyhow::bail!("the {name} is missing"),
    }
}

/// A side out of what a command line names.
pub(super) fn of_text(text: &str) -> anyhow::Result<Side> {
    let source = match text.split_once(':') {
        Some(("folder", path)) => Source::Folder(folder(Path::new(path))?),
        Some(("command", line)) => Source::Command(line.to_owned()),
        Some(("image", image)) => Source::Image(image.to_owned()),
        _ if Path::new(text).is_dir() => Source::Folder(folder(Path::new(text))?),
        _ => Source::Command(text.to_owned()),
    };
    let (label, revision) = match &source {
        Source::Folder(folder) => {
            let name = folder.file_name().unwrap_or(folder.as_os_str());
            (name.to_string_lossy().into_owned(), head_of(folder))
        }
        Source::Command(line) => (line.clone(), None),
        Source::Image(image) => (image.clone(), None),
        Source::Commit { .. } => (String::new(), None),
    };
    anyhow::ensure!(!label.trim().is_empty(), "`{text}` names nothing");
    Ok(Side {
        info: SideInfo {
            label,
            kind: SideKind::of(&source),
            source: text.to_owned(),
            revision,
            image_digest: None,
        },
        source,
    })
}

fn folder(path: &Path) -> anyhow::Result<PathBuf> {
    let found = path.canonicalize();
    let found = found.with_context(|| format!("the folder `{}` is not there", path.display()))?;
    anyhow::ensure!(found.is_dir(), "`{}` is no folder", path.display());
    Ok(found)
}

/// The commit that a folder is the checkout of. A folder inside of a checkout is no checkout
/// itself, as where builds lie beside the sources.
fn head_of(folder: &Path) -> Option<String> {
    let top = checkout::ask(folder, &["rev-parse", "--show-toplevel"]).ok()?;
    if Path::new(&top) != folder {
        return None;
    }
    let commit = checkout::commit(folder, "HEAD").ok()?;
    let changes = checkout::ask(folder, &["status", "--porcelain", "--untracked-files=no"]);
    let is_changed = changes.is_ok_and(|changes| !changes.is_empty());
    Some(commit.sha + if is_changed { " with changes" } else { "" })
}

fn of_commit(revision: &str, repository: &Path) -> anyhow::Result<Side> {
    let repository = folder(repository)?;
    let commit = checkout::commit(&repository, revision).map_err(|said| {
        anyhow::anyhow!(
            "git has no commit `{revision}` in `{}`: {said}",
            repository.display()
        )
    })?;
    let source = Source::Commit {
        repository,
        commit: commit.sha.clone(),
    };
    Ok(Side {
        info: SideInfo {
            label: revision.to_owned(),
            kind: SideKind::of(&source),
            source: revision.to_owned(),
            revision: Some(commit.sha),
            image_digest: None,
        },
        source,
    })
}
