//! GitLab plays it with forks, against a service that lets everyone read.

use std::fs;
use std::path::Path;

use serde_json::Value as Json;
use tempfile::TempDir;

use super::condition;
use super::project::{Files, Project};
use super::shell::{self, Left, Variables};
use super::support::service::{Service, ServiceOptions};
use super::{reader, recipe, stored_runs, writer};

const REPO: &str = "group/project";

/// The recipe, and the variables that the settings of the project have.
struct GitLab<'a> {
    recipe: Json,
    project: &'a Project,
    read_token: String,
    /// For the pipelines of protected branches alone, and in those for the environment `perf-promote`.
    write_token: String,
}

/// What starts a pipeline.
enum Event<'a> {
    Push(&'a str),
    MergeRequest(&'a str),
    /// A merge request from a fork, whose pipeline runs in the fork.
    Fork(&'a str),
}

/// A pipeline that has run.
struct Pipeline {
    /// The job that failed, or the last one.
    left: Left,
    jobs: Vec<String>,
    artifacts: TempDir,
}

impl<'a> GitLab<'a> {
    async fn new(project: &'a Project, service: &Service) -> Self {
        Self {
            recipe: recipe("gitlab/.gitlab-ci.yml", service),
            project,
            read_token: reader(service).await,
            write_token: writer(service, REPO).await,
        }
    }

    fn variables(&self, event: &Event<'_>) -> Variables {
        let (Event::Push(sha) | Event::MergeRequest(sha) | Event::Fork(sha)) = event;
        let here = match event {
            Event::Fork(_) => "someone/project",
            Event::Push(_) | Event::MergeRequest(_) => REPO,
        };
        let date = self.project.date(sha);
        let mut variables = vec![
            ("CI", "true"),
            ("GITLAB_CI", "true"),
            ("CI_PROJECT_PATH", here),
            ("CI_DEFAULT_BRANCH", "main"),
            ("CI_COMMIT_SHA", sha),
            ("CI_COMMIT_TIMESTAMP", &date),
        ];
        match event {
            Event::Push(_) => variables.extend([
                ("CI_PIPELINE_SOURCE", "push"),
                ("CI_COMMIT_BRANCH", "main"),
                ("CI_COMMIT_REF_PROTECTED", "true"),
            ]),
            Event::MergeRequest(_) | Event::Fork(_) => variables.extend([
                ("CI_PIPELINE_SOURCE", "merge_request_event"),
                ("CI_MERGE_REQUEST_IID", "7"),
                ("CI_MERGE_REQUEST_PROJECT_PATH", REPO),
                ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
            ]),
        }
        if !matches!(event, Event::Fork(_)) {
            variables.push(("PERF_TRACKING_READ_TOKEN", &self.read_token));
        }
        let of_settings = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let of_file = self.recipe["variables"].as_object().unwrap().iter();
        of_file
            .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
            .chain(of_settings)
            .collect()
    }

    fn play(&self, event: &Event<'_>) -> Pipeline {
        let (Event::Push(sha) | Event::MergeRequest(sha) | Event::Fork(sha)) = event;
        let variables = self.variables(event);
        let is_protected = matches!(event, Event::Push(_));
        assert!(ruled_in(&self.recipe["workflow"], &variables));
        let mut pipeline = Pipeline {
            left: Left {
                code: 0,
                said: String::new(),
            },
            jobs: Vec::new(),
            artifacts: tempfile::tempdir().unwrap(),
        };
        for stage in self.recipe["stages"].as_array().unwrap() {
            let jobs = self.recipe.as_object().unwrap().iter();
            for (name, job) in jobs.filter(|(_, job)| job["stage"] == *stage) {
                if pipeline.left.code == 0 && ruled_in(job, &variables) {
                    pipeline.jobs.push(name.clone());
                    let checkout = self.project.checkout(sha);
                    let mut variables = variables.clone();
                    if is_protected && job["environment"] == "perf-promote" {
                        let name = "PERF_TRACKING_WRITE_TOKEN".to_owned();
                        variables.insert(name, self.write_token.clone());
                    }
                    pipeline.left = play_job(job, checkout.path(), &variables, &pipeline.artifacts);
                }
            }
        }
        pipeline
    }
}

/// Whether the first rule that holds, or the lack of any rule, lets something run.
fn ruled_in(about: &Json, variables: &Variables) -> bool {
    let Some(rules) = about["rules"].as_array() else {
        return true;
    };
    let holds = |rule: &&Json| {
        rule["if"].as_str().is_none_or(|condition| {
            condition::holds(condition, &|name| {
                let name = name.strip_prefix('$').unwrap();
                variables.get(name).cloned().unwrap_or_default()
            })
        })
    };
    let first = rules.iter().find(holds);
    first.is_some_and(|rule| rule["when"] != "never")
}

/// One job, with the artifacts of those before it.
fn play_job(job: &Json, checkout: &Path, variables: &Variables, artifacts: &TempDir) -> Left {
    for file in fs::read_dir(artifacts.path()).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), checkout.join(file.file_name())).unwrap();
    }
    let script = job["script"].as_array().unwrap().iter();
    let script: Vec<&str> = script.map(|line| line.as_str().unwrap()).collect();
    let left = shell::bash(&script.join("\n"), checkout, variables);
    if left.code == 0 || job["artifacts"]["when"] == "always" {
        let reports = job["artifacts"]["reports"].as_object();
        let paths = job["artifacts"]["paths"].as_array().into_iter().flatten();
        for path in paths.chain(reports.into_iter().flat_map(|reports| reports.values())) {
            let path = path.as_str().unwrap();
            // GitLab warns of one that is not there, and goes on.
            let _ = fs::copy(checkout.join(path), artifacts.path().join(path));
        }
    }
    left
}

impl Pipeline {
    fn artifact(&self, name: &str) -> String {
        fs::read_to_string(self.artifacts.path().join(name)).unwrap()
    }
}

#[tokio::test]
async fn gitlab_measures_judges_and_promotes_and_judges_forks_without_a_token() {
    let public = ServiceOptions {
        args: vec!["--public-read".to_owned()],
        ..ServiceOptions::default()
    };
    let service = Service::start(public).await;
    let project = Project::new();
    let gitlab = GitLab::new(&project, &service).await;
    for number in 0..5 {
        let merged = project.merge(|files| files.add_comment(&number.to_string()));
        let pipeline = gitlab.play(&Event::Push(&merged));
        pipeline.left.assert(0, &["created"]);
        assert_eq!(pipeline.jobs, ["measure", "promote"]);
    }

    let unchanged = project.propose(|files| files.add_comment("none"));
    let worse = project.propose(|files: &Files| files.set_rounds(105));
    for event in [Event::MergeRequest as fn(_) -> _, Event::Fork] {
        let pipeline = gitlab.play(&event(&unchanged));
        pipeline
            .left
            .assert(0, &["passed: none of 8 metrics got worse"]);
        let pipeline = gitlab.play(&event(&worse));
        pipeline.left.assert(1, &["regression  callgrind.ir "]);
        assert_eq!(pipeline.jobs, ["measure", "judge"]);
        for report in ["comment.md", "gate.xml", "metrics.txt"] {
            let text = pipeline.artifact(report);
            assert!(text.contains("callgrind"), "{report}: {text}");
        }
    }
    assert_eq!(stored_runs(&service, &gitlab.read_token).await, 5);
}
