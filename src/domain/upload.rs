//! What is uploaded: a document and where it comes from, or a run that says both.

use super::{
    Branch, Change, CommitSha, CommitSubject, Document, Fault, Faults, JsonText, Patchset,
    Pipeline, Repo, Run, RunContent, RunDate, Series, Tag,
};

/// What a text that is uploaded may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upload {
    /// A measurement that knows nothing of commits.
    Document(Box<Document>),
    /// A measurement of a commit.
    Run(Box<Run>),
}

/// What the pipeline knows of a measurement, and its document does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The repository that the commit belongs to.
    pub repo: Repo,
    /// The branch that was measured.
    pub branch: Branch,
    /// The commit that was measured.
    pub commit_sha: CommitSha,
    /// The change that the commit came from.
    pub change: Option<Change>,
    /// The patch set of the change.
    pub patchset: Option<Patchset>,
    /// Who uploads.
    pub pipeline: Pipeline,
    /// Empty for a live run.
    pub tag: Tag,
    /// The commit's date.
    pub run_date: RunDate,
    /// The first line of the commit's message, where it is known.
    pub subject: Option<CommitSubject>,
}

/// The fields that a run has and a document has not.
const OF_A_RUN: [&str; 5] = ["commit_sha", "repo", "branch", "pipeline", "run_date"];

impl Upload {
    /// Reads a document or a run, whichever the text holds: what has a `format_version` is a
    /// document, and what names a commit, a repository, a branch, a pipeline or a date is a run.
    ///
    /// # Errors
    /// Every fault at once, each with its JSON pointer; a single one for what is neither.
    pub fn parse(text: JsonText<'_>) -> Result<Self, Faults> {
        if text.has("format_version") {
            return Document::parse(text).map(|document| Self::Document(Box::new(document)));
        }
        if OF_A_RUN.iter().any(|name| text.has(name)) {
            return Run::parse(text).map(|run| Self::Run(Box::new(run)));
        }
        Err(neither().into())
    }
}

fn neither() -> Fault {
    Fault::new(
        "",
        "is neither a document, which is an object with a `format_version`, nor a run, which is \
         one with a `commit_sha`",
    )
}

impl Document {
    /// Combines the document with where it comes from into a run.
    pub fn into_run(self, provenance: Provenance) -> Run {
        let content = self.into_content();
        Run::of_document(RunContent {
            series: Series {
                workload: content.workload,
                branch: provenance.branch,
                arch: content.arch,
                distro: content.distro,
            },
            repo: provenance.repo,
            commit_sha: provenance.commit_sha,
            change: provenance.change,
            patchset: provenance.patchset,
            pipeline: provenance.pipeline,
            host_class: content.host_class,
            tag: provenance.tag,
            run_date: provenance.run_date,
            succeeded: content.succeeded,
            subject: provenance.subject,
            parameters: content.parameters,
            metrics: content.metrics,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn document() -> Json {
        json!({
            "format_version": 1, "workload": "perf", "arch": "amd64", "distro": "trixie",
            "host_class": "callgrind", "succeeded": true, "parameters": {"threads": 1},
            "metrics": [{"metric_key": "callgrind.ir", "value": 1}],
        })
    }

    fn run() -> Json {
        json!({
            "workload": "perf", "repo": "drizzle", "branch": "main",
            "commit_sha": "0123456789abcdef0123456789abcdef01234567",
            "change": "17", "patchset": "2", "pipeline": "promote", "distro": "trixie",
            "arch": "amd64", "host_class": "callgrind", "tag": "baseline",
            "run_date": "2026-11-30T01:02:03Z", "succeeded": true,
            "subject": "Fix the parser", "parameters": {"threads": 1},
            "metrics": [{"metric_key": "callgrind.ir", "value": 1}],
        })
    }

    fn parse(json: Json) -> Result<Upload, Faults> {
        Upload::parse(JsonText::parse(json.to_string().as_bytes()).unwrap())
    }

    fn faults(json: Json) -> Vec<String> {
        let faults = parse(json).expect_err("it does not fit");
        faults.lines().collect()
    }

    #[test]
    fn a_document_with_its_provenance_is_the_run() {
        let Ok(Upload::Run(run)) = parse(run()) else {
            panic!("it is a run")
        };
        let Ok(Upload::Document(document)) = parse(document()) else {
            panic!("it is a document")
        };
        let provenance = Provenance {
            repo: run.repo.clone(),
            branch: run.series.branch.clone(),
            commit_sha: run.commit_sha.clone(),
            change: run.change.clone(),
            patchset: run.patchset.clone(),
            pipeline: run.pipeline.clone(),
            tag: run.tag.clone(),
            run_date: run.run_date,
            subject: run.subject.clone(),
        };
        assert_eq!(document.into_run(provenance), *run);
    }

    #[test]
    fn what_is_not_whole_is_told_as_what_it_was_meant_to_be() {
        let without = |mut json: Json, name: &str| {
            json.as_object_mut().unwrap().remove(name);
            json
        };
        assert_eq!(
            faults(without(document(), "distro")),
            ["/distro: is missing"]
        );
        assert_eq!(
            faults(without(run(), "commit_sha")),
            ["/commit_sha: is missing"]
        );
        let mut both = document();
        both["commit_sha"] = json!("0");
        assert_eq!(faults(both), ["/commit_sha: is not a field of this object"]);
    }

    #[test]
    fn what_is_neither_is_one_fault() {
        for json in [json!([]), json!(1), json!({}), json!({"callgrind.ir": 1})] {
            let found = faults(json);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].contains("neither a document"), "{found:?}");
        }
    }
}
