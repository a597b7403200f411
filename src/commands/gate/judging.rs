//! The question that a gate asks, and its answer: what `gate` and `gate accept` share.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::{DEFAULT_CONFIG, document, file_name, hint, history, read_policy};
use crate::commands::flags::ClientArgs;
use crate::domain::{Branch, CommitSha, Document, Pipeline, Repo, Series};
use crate::files::input::lines;
use crate::judge::{self, Candidate, History, Judgement, Policy};
use crate::provenance::Detector;
use crate::report::{About, Verdict};
use crate::terminal::note;

#[derive(Args, Debug)]
pub(super) struct QuestionArgs {
    /// File with the rules
    #[arg(long, value_name = "FILE", default_value = DEFAULT_CONFIG)]
    pub(super) config: PathBuf,

    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    past: PastArgs,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "The change (else what the CI says, else the git checkout)")]
pub(super) struct ChangeArgs {
    /// Branch that the change is for; with --history, what the history says
    #[arg(long, value_name = "NAME")]
    pub(super) branch: Option<Branch>,

    /// Repository of the change; only its runs are compared
    #[arg(long, value_name = "NAME")]
    pub(super) repo: Option<Repo>,

    /// Commit that was measured; its own run, if there is one, is left out
    #[arg(long, value_name = "SHA")]
    pub(super) commit: Option<CommitSha>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "What it is held against")]
pub(super) struct PastArgs {
    /// File with a saved history instead of a service; repeatable
    ///
    /// What `perf-tracking history --format json` prints. Nothing is fetched.
    #[arg(long, value_name = "FILE")]
    pub(super) history: Vec<PathBuf>,

    /// End the windows at this commit, which the change is based on
    ///
    /// Runs that are newer than its own are left out. Where it has no run, its date in the git
    /// checkout counts.
    #[arg(long, value_name = "SHA")]
    pub(super) base: Option<CommitSha>,

    /// Runs that this pipeline uploaded; what has merged
    #[arg(long, value_name = "NAME", default_value = "promote")]
    pub(super) pipeline: Pipeline,
}

/// A judgement and all that it was made from.
pub(super) struct Judged {
    pub(super) candidate: Candidate,
    pub(super) judgement: Judgement,
    pub(super) documents: usize,
    pub(super) config: String,
    /// What the history tells beside the verdict.
    pub(super) hint: Option<String>,
}

/// What is asked of the past.
pub(super) struct Question<'a> {
    pub(super) policy: &'a Policy,
    pub(super) document: &'a Document,
    pub(super) change: &'a ChangeArgs,
    pub(super) past: &'a PastArgs,
    /// Whether the runs that are left out are wanted too.
    pub(super) explained: bool,
}

impl Judged {
    /// The verdict, as reports tell it.
    pub(super) fn verdict(&self) -> Verdict<'_> {
        let about = About {
            series: &self.candidate.series,
            commit: self.candidate.commit.as_ref(),
            config: &self.config,
            documents: self.documents,
        };
        Verdict::new(about, &self.judgement)
    }
}

impl QuestionArgs {
    /// The files that are read, these documents among them.
    pub(super) fn files<'f>(&'f self, documents: &'f [PathBuf]) -> Vec<&'f Path> {
        let config = std::iter::once(&self.config);
        let files = config.chain(documents).chain(&self.past.history);
        files.map(PathBuf::as_path).collect()
    }

    /// Reads what is needed, fetches what is not there, and judges.
    pub(super) fn judge(self, documents: &[PathBuf], explained: bool) -> anyhow::Result<Judged> {
        let policy = read_policy(&self.config)?;
        let document = document::read(documents)?;
        let online = self.past.history.is_empty();
        let change = match online {
            true => self.change.complete()?,
            false => self.change,
        };
        let question = Question {
            policy: &policy,
            document: &document,
            change: &change,
            past: &self.past,
            explained,
        };
        let (candidate, history) = question.answer(online.then_some(self.client))?;
        Ok(Judged {
            judgement: judge::judge(&policy, &candidate, &history),
            hint: hint::of(&policy, &candidate, &history),
            candidate,
            documents: documents.len(),
            config: file_name(&self.config),
        })
    }
}

impl ChangeArgs {
    /// With what no flag says looked up, and told where it was found.
    fn complete(self) -> anyhow::Result<Self> {
        let mut detector = Detector::here(self.commit);
        let change = Self {
            repo: detector.repo(self.repo),
            branch: detector.branch(self.branch),
            commit: detector.commit_if_known(),
        };
        let told = detector.told_by_others();
        if !told.is_empty() {
            note(format_args!("the change: {}", told.join(", ")));
        }
        let faults = detector.faults();
        anyhow::ensure!(
            faults.is_empty(),
            "what is judged is not known{}",
            lines(faults)
        );
        Ok(change)
    }
}

impl Question<'_> {
    /// The candidate and its history, out of the saved ones or from a service. Nothing is fetched
    /// for a document that cannot be judged.
    fn answer(&self, service: Option<ClientArgs>) -> anyhow::Result<(Candidate, History)> {
        let Some(args) = service else {
            let saved = history::read(self)?;
            let mut candidate = self.candidate(saved.series);
            candidate.base = history::saved_base(self, &saved.history)?;
            return Ok((candidate, saved.history));
        };
        let branch = self.change.branch.clone().context("--branch is missing")?;
        let mut candidate = self.candidate(document::series(self.document, branch));
        if !judge::obstacles(self.policy, &candidate).is_empty() {
            return Ok((candidate, History::default()));
        }
        let client = crate::commands::client::open(args)?;
        let history = crate::commands::runtime()?.block_on(async {
            candidate.base = history::base(&client, &candidate, self).await?;
            history::fetch(&client, &candidate, self).await
        })?;
        Ok((candidate, history))
    }

    fn candidate(&self, series: Series) -> Candidate {
        document::candidate(self.document, series, self.change.commit.clone())
    }
}
