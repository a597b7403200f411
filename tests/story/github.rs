//! GitHub Actions plays the whole story.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::condition;
use super::project::{Files, Project};
use super::shell::{self, Left, Variables};
use super::support::service::{Service, ServiceOptions};
use super::{reader, recipe, stored_runs, writer};

const REPO: &str = "owner/project";
const MEASURE: &str = "measure";
const PROMOTE: &str = "promote";

/// The recipe, and the secrets that the settings of the repository have.
struct GitHub<'a> {
    workflow: Json,
    project: &'a Project,
    /// Given to every run that is not a fork's.
    read_token: String,
    /// Given to the environment `perf-promote` alone.
    write_token: String,
}

/// What starts the workflow.
enum Event<'a> {
    Push(&'a str),
    PullRequest(&'a str),
    MergeGroup(&'a str),
    /// A pull request that comes from a fork: it is given no secret.
    Fork(&'a str),
}

impl Event<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::Push(_) => "push",
            Self::PullRequest(_) | Self::Fork(_) => "pull_request",
            Self::MergeGroup(_) => "merge_group",
        }
    }

    fn commit(&self) -> &str {
        let (Self::Push(sha) | Self::PullRequest(sha) | Self::MergeGroup(sha) | Self::Fork(sha)) =
            self;
        sha
    }

    /// The file that `GITHUB_EVENT_PATH` names, as far as anything reads it.
    fn json(&self) -> Json {
        let sha = self.commit();
        match self {
            Self::Push(_) => json!({"after": sha, "ref": "refs/heads/main"}),
            Self::PullRequest(_) | Self::Fork(_) => json!({"pull_request": {
                "number": 7, "merged": false, "merge_commit_sha": "e".repeat(40),
                "head": {"sha": sha, "ref": "change"}, "base": {"ref": "main"},
            }}),
            Self::MergeGroup(_) => json!({"merge_group": {
                "head_sha": sha, "base_ref": "refs/heads/main",
            }}),
        }
    }

    fn variables(&self, folder: &Path) -> Variables {
        let (full_ref, name, sha, base) = match self {
            Self::Push(sha) => ("refs/heads/main", "main", *sha, ""),
            // The commit of a trial merge, which is not the change's.
            Self::PullRequest(_) | Self::Fork(_) => {
                ("refs/pull/7/merge", "7/merge", &*"e".repeat(40), "main")
            }
            Self::MergeGroup(sha) => (
                "refs/heads/gh-readonly-queue/main/pr-7",
                "gh-readonly-queue/main/pr-7",
                *sha,
                "",
            ),
        };
        let file = |name: &str| folder.join(name).display().to_string();
        let event = file("event.json");
        fs::write(&event, self.json().to_string()).unwrap();
        let variables = [
            ("CI", "true"),
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_EVENT_NAME", self.name()),
            ("GITHUB_EVENT_PATH", &event),
            ("GITHUB_REPOSITORY", REPO),
            ("GITHUB_REF", full_ref),
            ("GITHUB_REF_NAME", name),
            ("GITHUB_SHA", sha),
            ("GITHUB_BASE_REF", base),
            ("GITHUB_STEP_SUMMARY", &file("summary.md")),
            ("HOME", &folder.display().to_string()),
        ];
        let owned = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Variables::from(owned)
    }
}

/// A run of the workflow.
struct Run {
    /// What it came to: the first step that failed, or the last one.
    left: Left,
    /// The step that failed, if one did.
    failed: Option<String>,
    /// The jobs that ran.
    jobs: Vec<&'static str>,
    /// The summary, the event, and the artifacts, a folder each.
    folder: TempDir,
    variables: Variables,
    /// The checkout of the last job.
    workspace: TempDir,
}

impl Run {
    fn summary(&self) -> String {
        fs::read_to_string(self.folder.path().join("summary.md")).unwrap_or_default()
    }

    fn artifact(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.folder.path().join("artifacts").join(path)).ok()
    }

    #[track_caller]
    fn assert_judged(&self, code: i32, said: &[&str]) {
        self.left.assert(code, said);
        let failed = (code != 0).then_some("Judge");
        assert_eq!(self.failed.as_deref(), failed, "{}", self.left.said);
        assert_eq!(self.jobs, [MEASURE]);
    }
}

impl<'a> GitHub<'a> {
    async fn new(project: &'a Project, service: &Service) -> Self {
        Self {
            workflow: recipe("github/performance.yml", service),
            project,
            read_token: reader(service).await,
            write_token: writer(service, REPO).await,
        }
    }

    fn play(&self, event: &Event<'_>) -> Run {
        self.play_with(event, &|_, _| ())
    }

    /// Runs the jobs; `before` may change the checkout before a step.
    fn play_with(&self, event: &Event<'_>, before: &dyn Fn(&str, &Path)) -> Run {
        assert!(self.workflow["on"].get(event.name()).is_some());
        let folder = tempfile::tempdir().unwrap();
        let variables = event.variables(folder.path());
        let mut run = Run {
            left: Left {
                code: 0,
                said: String::new(),
            },
            failed: None,
            jobs: Vec::new(),
            folder,
            variables,
            workspace: self.project.checkout(event.commit()),
        };
        for name in [MEASURE, PROMOTE] {
            let job = &self.workflow["jobs"][name];
            let needs_more = job["needs"].as_str() == Some(MEASURE) && run.failed.is_some();
            if needs_more || !self.condition(job, event, &run) {
                continue;
            }
            run.jobs.push(name);
            run.workspace = self.project.checkout(event.commit());
            for step in job["steps"].as_array().unwrap() {
                self.step(job, step, event, &mut run, before);
            }
        }
        run
    }

    fn condition(&self, about: &Json, event: &Event<'_>, run: &Run) -> bool {
        let Some(condition) = about["if"].as_str() else {
            return true;
        };
        condition::holds(condition, &|name| match name {
            "github.event_name" => event.name().to_owned(),
            "github.repository" => REPO.to_owned(),
            name => {
                let file = name
                    .strip_prefix("hashFiles('")
                    .and_then(|rest| rest.strip_suffix("')"))
                    .unwrap_or_else(|| panic!("`{name}` is nothing that the test knows"));
                let there = run.workspace.path().join(file).exists();
                if there { "a hash" } else { "" }.to_owned()
            }
        })
    }

    fn step(
        &self,
        job: &Json,
        step: &Json,
        event: &Event<'_>,
        run: &mut Run,
        before: &dyn Fn(&str, &Path),
    ) {
        let always = step["if"]
            .as_str()
            .is_some_and(|text| text.contains("!cancelled()"));
        if (run.failed.is_some() && !always) || !self.condition(step, event, run) {
            return;
        }
        let artifacts = run.folder.path().join("artifacts");
        if let Some(action) = step["uses"].as_str() {
            return act(action, step, &artifacts, run.workspace.path());
        }
        let name = step["name"].as_str().unwrap();
        before(name, run.workspace.path());
        let mut variables = run.variables.clone();
        for set in [&self.workflow["env"], &step["env"]] {
            for (name, value) in set.as_object().into_iter().flatten() {
                variables.insert(
                    name.clone(),
                    self.expand(value.as_str().unwrap(), job, event),
                );
            }
        }
        assert_eq!(self.workflow["defaults"]["run"]["shell"], "bash");
        let left = shell::bash(
            step["run"].as_str().unwrap(),
            run.workspace.path(),
            &variables,
        );
        if left.code != 0 {
            run.failed = Some(name.to_owned());
            run.left = left;
        } else if run.failed.is_none() {
            run.left.said += &left.said;
        }
    }

    /// A value of `env:`, with the secret that it names. A secret that a run may not see is empty.
    fn expand(&self, value: &str, job: &Json, event: &Event<'_>) -> String {
        let from_fork = matches!(event, Event::Fork(_));
        match value {
            "${{ secrets.PERF_TRACKING_READ_TOKEN }}" if from_fork => String::new(),
            "${{ secrets.PERF_TRACKING_READ_TOKEN }}" => self.read_token.clone(),
            "${{ secrets.PERF_TRACKING_WRITE_TOKEN }}" => {
                // Its settings are such that a pull request is not let in.
                assert_eq!(job["environment"], "perf-promote");
                assert_eq!(event.name(), "push");
                self.write_token.clone()
            }
            other => {
                assert!(!other.contains("${{"), "{other}");
                other.to_owned()
            }
        }
    }
}

/// What GitHub's own actions do.
fn act(action: &str, step: &Json, artifacts: &Path, workspace: &Path) {
    let (action, _) = action.split_once('@').unwrap();
    let name = || step["with"]["name"].as_str().unwrap();
    match action {
        "actions/checkout" => (),
        "actions/upload-artifact" => {
            let folder = artifacts.join(name());
            fs::create_dir_all(&folder).unwrap();
            for path in step["with"]["path"].as_str().unwrap().lines() {
                fs::copy(workspace.join(path), folder.join(path)).unwrap();
            }
        }
        "actions/download-artifact" => {
            for file in fs::read_dir(artifacts.join(name())).unwrap() {
                let file: PathBuf = file.unwrap().path();
                fs::copy(&file, workspace.join(file.file_name().unwrap())).unwrap();
            }
        }
        other => panic!("{other} is no action that the test knows"),
    }
}

/// The value of a metric in a document.
fn value(document: &str, key: &str) -> u64 {
    let document: Json = serde_json::from_str(document).unwrap();
    let mut metrics = document["metrics"].as_array().unwrap().iter();
    let metric = metrics.find(|metric| metric["metric_key"] == key).unwrap();
    metric["value"].as_u64().unwrap()
}

#[tokio::test]
async fn github_plays_the_whole_story() {
    let service = Service::start(ServiceOptions::default()).await;
    let project = Project::new();
    let github = GitHub::new(&project, &service).await;

    // Before there is a history, nothing can be judged, and nothing passes.
    let early = project.propose(|files| files.add_comment("early"));
    let run = github.play(&Event::PullRequest(&early));
    run.assert_judged(3, &["no run is there, 5 are needed", "not judged"]);

    // Ten commits merge, and each is stored.
    for number in 0..10 {
        let merged = project.merge(|files| files.add_comment(&number.to_string()));
        let run = github.play(&Event::Push(&merged));
        run.left.assert(0, &["created"]);
        assert_eq!(run.jobs, [MEASURE, PROMOTE]);
    }
    assert_eq!(stored_runs(&service, &github.read_token).await, 10);

    nothing_new_passes(&github);
    let worse = project.propose(|files| files.set_rounds(105));
    a_regression_fails(&github, &worse);
    what_has_not_merged_cannot_upload(&github, &worse);
    a_new_architecture_has_no_history(&github);
    assert_eq!(stored_runs(&service, &github.read_token).await, 10);

    let improved = an_improvement_merges(&github);
    assert_eq!(stored_runs(&service, &github.read_token).await, 11);
    the_new_level_holds_once_its_step_is_accepted(&github, &improved);
    a_wanted_step_passes_up_to_where_it_is_accepted(&github);
}

fn nothing_new_passes(github: &GitHub<'_>) {
    let unchanged = github.project.propose(|files| files.add_comment("none"));
    for event in [
        Event::PullRequest(&unchanged),
        Event::MergeGroup(&unchanged),
    ] {
        let run = github.play(&event);
        run.assert_judged(0, &["passed: none of 8 metrics got worse"]);
    }
    // A fork has no token, and this service wants one. That is no pass, and no regression.
    let run = github.play(&Event::Fork(&unchanged));
    run.assert_judged(2, &["401", "runs:read", "PERF_TRACKING_TOKEN"]);
    assert!(run.artifact("metrics/metrics.json").is_some());
}

fn a_regression_fails(github: &GitHub<'_>, worse: &str) {
    let run = github.play(&Event::PullRequest(worse));
    run.assert_judged(
        1,
        &[
            "regression  callgrind.ir ",
            "regression: 2 of 8 metrics got worse",
        ],
    );
    let summary = run.summary();
    assert!(summary.contains("callgrind.ir"), "{summary}");
    assert_eq!(run.artifact("verdict/comment.md").unwrap(), summary);
    assert!(
        run.artifact("verdict/gate.xml")
            .unwrap()
            .contains("callgrind.ir")
    );
    let document = run.artifact("metrics/metrics.json").unwrap();
    let ir = value(&document, "callgrind.ir");
    assert!(
        ir > 10_000_000,
        "{ir} instructions are so few that starting counts"
    );
}

/// A change runs what it likes in its own job, with the tokens that are there.
fn what_has_not_merged_cannot_upload(github: &GitHub<'_>, worse: &str) {
    let promote = &github.workflow["jobs"][PROMOTE]["steps"];
    let upload = promote.as_array().unwrap().last().unwrap()["run"]
        .as_str()
        .unwrap();
    let run = github.play(&Event::PullRequest(worse));
    let upload_with = |token: &str, command: &str, event: &Event<'_>| {
        let mut variables = event.variables(run.folder.path());
        let url = github.workflow["env"]["PERF_TRACKING_URL"]
            .as_str()
            .unwrap();
        variables.insert("PERF_TRACKING_URL".to_owned(), url.to_owned());
        variables.insert("PERF_TRACKING_TOKEN".to_owned(), token.to_owned());
        shell::bash(command, run.workspace.path(), &variables)
    };
    let (reader, writer) = (&github.read_token, &github.write_token);
    // The command itself says no to a change that says what it is.
    let honest = Event::PullRequest(worse);
    let left = upload_with(reader, upload, &honest);
    left.assert(2, &["has not (GITHUB_EVENT_NAME is pull_request)"]);
    // The service says no to one that lies.
    let lie = Event::Push(worse);
    upload_with(reader, upload, &lie).assert(2, &["403", "runs:write"]);
    upload_with("", upload, &lie).assert(2, &["an upload needs a token"]);
    // Nor would the write token do, were it there, for anything but what it is for.
    for (flag, narrowed) in [("--branch=other", "branch"), ("--repo=owner/other", "repo")] {
        let command = format!("{upload} {flag}");
        upload_with(writer, &command, &lie).assert(2, &["403", narrowed]);
    }
    let other_pipeline = upload.replace("promote", "check");
    upload_with(writer, &other_pipeline, &honest).assert(2, &["403", "pipeline"]);
}

fn a_new_architecture_has_no_history(github: &GitHub<'_>) {
    let ported = github.project.propose(|files| files.add_comment("ported"));
    let measured_elsewhere = |step: &str, workspace: &Path| {
        if step == "Judge" {
            let path = workspace.join("metrics.json");
            let mut document: Json =
                serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            document["arch"] = json!("riscv64");
            fs::write(path, document.to_string()).unwrap();
        }
    };
    let run = github.play_with(&Event::PullRequest(&ported), &measured_elsewhere);
    let said = [
        "insufficient",
        "no run is there, 5 are needed",
        "not judged: 8 of 8 metrics have no history; the nearest series with runs is",
    ];
    run.assert_judged(3, &said);
}

fn an_improvement_merges(github: &GitHub<'_>) -> String {
    let improve = |files: &Files| files.set_rounds(90);
    let run = github.play(&Event::PullRequest(&github.project.propose(improve)));
    let said = [
        "improved  callgrind.ir ",
        "passed: none of 8 metrics got worse",
        " improved",
    ];
    run.assert_judged(0, &said);
    let merged = github.project.merge(improve);
    github
        .play(&Event::Push(&merged))
        .left
        .assert(0, &["created"]);
    merged
}

fn the_new_level_holds_once_its_step_is_accepted(github: &GitHub<'_>, improved: &str) {
    // 5 % more than the new level, and less than the old one.
    let lose_half = |files: &Files| files.set_rounds(95);
    let run = github.play(&Event::PullRequest(&github.project.propose(lose_half)));
    run.assert_judged(0, &["passed"]);

    let accept = |files: &Files| {
        let step = format!(
            "\n[[accepted]]\nmetric = \"callgrind.*\"\nsince_commit = \"{improved}\"\n\
             min_runs = 1\nwhy = \"a tenth less work\"\nby = \"Ada Lovelace\"\n"
        );
        files.append("gate.toml", &step);
    };
    let run = github.play(&Event::PullRequest(&github.project.propose(accept)));
    run.assert_judged(0, &["passed: none of 8 metrics got worse"]);
    github.project.merge(accept);

    let run = github.play(&Event::PullRequest(&github.project.propose(lose_half)));
    let said = ["regression  callgrind.ir ", &improved[..12]];
    run.assert_judged(1, &said);
}

/// A step that a change makes on purpose: accepted in the change itself, so far and no further.
fn a_wanted_step_passes_up_to_where_it_is_accepted(github: &GitHub<'_>) {
    let project = github.project;
    let measured = project.propose(|files| files.set_rounds(120));
    let run = github.play(&Event::PullRequest(&measured));
    run.assert_judged(1, &["callgrind.ir"]);
    let document = run.artifact("metrics/metrics.json").unwrap();
    let since = project.date(&measured);
    let step = |key: &str| {
        let up_to = value(&document, key) / 1000 * 1001;
        format!(
            "\n[[accepted]]\nmetric = \"{key}\"\nsince_date = {since}\nup_to = {up_to}\n\
             why = \"a better answer\"\nby = \"Ada Lovelace\"\n"
        )
    };
    let steps = step("callgrind.ir") + &step("callgrind.estimated_cycles");
    let with_rounds = |rounds| {
        let steps = &steps;
        move |files: &Files| {
            files.set_rounds(rounds);
            files.append("gate.toml", steps);
        }
    };
    let run = github.play(&Event::PullRequest(&project.propose(with_rounds(121))));
    let said = [
        "regression  callgrind.ir ",
        "up to which a step is accepted",
    ];
    run.assert_judged(1, &said);
    let run = github.play(&Event::PullRequest(&project.propose(with_rounds(120))));
    run.assert_judged(0, &["accepted  callgrind.ir ", "2 within an accepted step"]);

    let merged = project.merge(with_rounds(120));
    github
        .play(&Event::Push(&merged))
        .left
        .assert(0, &["created"]);
    let next = project.propose(|files| files.add_comment("next"));
    let run = github.play(&Event::PullRequest(&next));
    run.assert_judged(
        0,
        &["accepted  callgrind.ir ", "1 run is there, 5 are needed"],
    );
}
