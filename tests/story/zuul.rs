//! Zuul plays it with its own playbooks, which ansible runs.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::project::{Files, Project};
use super::shell::{self, Left, Variables};
use super::support::service::{Service, ServiceOptions};
use super::{reader, recipe, stored_runs, writer};

const REPO: &str = "example/project";
const CHANGE: &str = "4711";

/// The recipe, and what Zuul has beside it.
struct Zuul<'a> {
    jobs: Json,
    pipelines: Json,
    project: &'a Project,
    write_token: String,
    api: Api,
}

/// What Zuul tells of builds that have ended: the last one of the gate, in Zuul's own form.
#[derive(Clone)]
struct Api {
    url: String,
    gated: Arc<Mutex<Option<Gated>>>,
}

/// A build of the gate that passed.
#[derive(Clone)]
struct Gated {
    artifacts: Vec<Json>,
    document: String,
}

/// A build that has run.
struct Build {
    left: Left,
    logs: TempDir,
    artifacts: Vec<Json>,
}

impl Api {
    /// Answers until the process ends.
    fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let api = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            gated: Arc::default(),
        };
        let answering = api.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answering.answer(BufReader::new(stream.unwrap())).unwrap();
            }
        });
        api
    }

    /// One request a connection.
    fn answer(&self, mut stream: BufReader<TcpStream>) -> io::Result<()> {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line)?;
        }
        let (kind, body) = self.body(&target);
        write!(
            stream.get_mut(),
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    }

    fn body(&self, target: &str) -> (&'static str, String) {
        let gated = self.gated.lock().unwrap().clone();
        let builds = format!(
            "/builds?project={REPO}&change={CHANGE}&patchset=1&pipeline=gate\
             &job_name=perf-measure&result=SUCCESS&limit=1"
        );
        let document = "/logs/metrics.json";
        let found = |gated: Gated| match target {
            target if target == builds => {
                let build = json!({"result": "SUCCESS", "artifacts": gated.artifacts});
                Some(("application/json", json!([build]).to_string()))
            }
            target if target == document => Some(("text/plain", gated.document)),
            _ => None,
        };
        let none = ("application/json", "[]".to_owned());
        gated.and_then(found).unwrap_or(none)
    }
}

impl<'a> Zuul<'a> {
    async fn new(project: &'a Project, service: &Service) -> Self {
        Self {
            jobs: recipe("zuul/zuul.d/jobs.yaml", service),
            pipelines: recipe("zuul/zuul.d/project.yaml", service),
            project,
            write_token: writer(service, REPO).await,
            api: Api::serve(),
        }
    }

    fn job(&self, pipeline: &str) -> &Json {
        let name = &self.pipelines[0]["project"][pipeline]["jobs"][0];
        let mut jobs = self.jobs.as_array().unwrap().iter();
        &jobs.find(|item| item["job"]["name"] == *name).unwrap()["job"]
    }

    /// Runs the playbooks of the pipeline's job, in Zuul's order.
    fn play(&self, pipeline: &str, commit: &str) -> Build {
        let job = self.job(pipeline);
        let (checkout, logs) = (self.project.checkout(commit), tempfile::tempdir().unwrap());
        let vars = self.vars(pipeline, commit, checkout.path(), logs.path());
        let returned = tempfile::NamedTempFile::new().unwrap();
        let ansible = |stage: &str| {
            job[stage]
                .as_str()
                .map(|playbook| ansible(playbook, &vars, returned.path()))
        };
        let mut left = ansible("pre-run").unwrap();
        left.assert(0, &[]);
        left = ansible("run").unwrap();
        if let Some(post) = ansible("post-run") {
            post.assert(0, &[]);
        }
        let artifacts = fs::read_to_string(returned.path()).unwrap();
        let artifacts = artifacts.lines().flat_map(|line| {
            let returned: Json = serde_json::from_str(line).unwrap();
            returned["zuul"]["artifacts"].as_array().unwrap().clone()
        });
        let build = Build {
            left,
            artifacts: artifacts.collect(),
            logs,
        };
        if pipeline == "gate" && build.left.code == 0 {
            *self.api.gated.lock().unwrap() = Some(build.gated(&self.api.url));
        }
        build
    }

    /// Stores a document as the promote job does, without measuring again.
    fn store(&self, service: &Service, document: &str, commit: &str) -> Left {
        let checkout = self.project.checkout(commit);
        fs::write(checkout.path().join("metrics.json"), document).unwrap();
        let variables = [
            ("PERF_TRACKING_URL", &*service.url()),
            ("PERF_TRACKING_TOKEN", &self.write_token),
            ("ZUUL_PROJECT", REPO),
            ("ZUUL_BRANCH", "main"),
            ("ZUUL_COMMIT", commit),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let args = [
            "upload",
            "--pipeline=promote",
            "--allow-other-commit",
            "metrics.json",
        ];
        shell::run(
            "perf-tracking",
            &args,
            checkout.path(),
            &Variables::from(variables),
        )
    }

    /// The variables that a playbook sees: the job's, Zuul's, and the job's secrets.
    fn vars(&self, pipeline: &str, commit: &str, checkout: &Path, logs: &Path) -> Json {
        let job = self.job(pipeline);
        let mut vars = job["vars"].clone();
        vars["perf_zuul_api"] = json!(self.api.url);
        vars["zuul"] = json!({
            "pipeline": pipeline, "branch": "main", "change": CHANGE, "patchset": "1",
            "commit_id": commit,
            "project": {"name": REPO, "src_dir": checkout}, "executor": {"log_root": logs},
        });
        for secret in job["secrets"].as_array().into_iter().flatten() {
            // What Zuul gives to no pipeline that runs before a review.
            assert_eq!((&job["post-review"], pipeline), (&json!(true), "promote"));
            vars[secret["name"].as_str().unwrap()] = json!({"token": self.write_token});
        }
        vars
    }
}

impl Build {
    /// As Zuul tells of it: with the whole address of each artifact.
    fn gated(&self, api: &str) -> Gated {
        let mut artifacts = self.artifacts.clone();
        for artifact in &mut artifacts {
            artifact["url"] = json!(format!("{api}/logs/{}", artifact["url"].as_str().unwrap()));
        }
        Gated {
            artifacts,
            document: self.log("metrics.json"),
        }
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.logs.path().join(name)).unwrap()
    }
}

/// Runs a playbook of the recipe on this machine.
fn ansible(playbook: &str, vars: &Json, returned: &Path) -> Left {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("vars.json");
    fs::write(&file, vars.to_string()).unwrap();
    let text = |path: &Path| path.display().to_string();
    let variables = Variables::from([
        ("HOME".to_owned(), text(home.path())),
        (
            "ANSIBLE_LIBRARY".to_owned(),
            text(&root.join("tests/ci_recipes/library")),
        ),
        ("ANSIBLE_NOCOLOR".to_owned(), "1".to_owned()),
        ("ANSIBLE_PIPELINING".to_owned(), "1".to_owned()),
        ("ZUUL_RETURN".to_owned(), text(returned)),
    ]);
    let (vars, playbook) = (
        format!("@{}", text(&file)),
        text(&root.join("deploy/ci/zuul").join(playbook)),
    );
    let args = [
        "--inventory=perf,",
        "--connection=local",
        "-v",
        "--extra-vars",
        &vars,
        &playbook,
    ];
    shell::run("ansible-playbook", &args, home.path(), &variables)
}

#[tokio::test]
async fn zuul_measures_judges_and_promotes_what_the_gate_measured() {
    let public = ServiceOptions {
        args: vec!["--public-read".to_owned()],
        ..ServiceOptions::default()
    };
    let service = Service::start(public).await;
    let reader = reader(&service).await;
    let project = Project::new();
    let zuul = Zuul::new(&project, &service).await;

    // The first changes have nothing to be held to, and a gate lets nothing through that fails.
    let lenient = |files: &Files| files.uncomment("gate.toml", "on_insufficient");
    let first = project.propose(lenient);
    for pipeline in ["check", "gate"] {
        let build = zuul.play(pipeline, &first);
        build
            .left
            .assert(0, &["not judged: 8 of 8 metrics have no history"]);
        assert_eq!(
            build.artifacts[0]["metadata"]["type"],
            "perf_tracking_document"
        );
        assert_eq!(build.artifacts[1]["url"], "comment.md");
    }
    project.fast_forward(&first);
    zuul.play("promote", &first).left.assert(0, &["created"]);
    zuul.play("promote", &first).left.assert(0, &["unchanged"]);
    assert_eq!(stored_runs(&service, &reader).await, 1);

    // Four more, which the same pipeline stores.
    let gated = zuul.api.gated.lock().unwrap().clone().unwrap();
    for number in 0..4 {
        let merged = project.merge(|files| files.add_comment(&number.to_string()));
        zuul.store(&service, &gated.document, &merged)
            .assert(0, &["created"]);
    }
    let strict = |files: &Files| files.comment_out("gate.toml", "on_insufficient");
    let build = zuul.play("check", &project.propose(strict));
    build
        .left
        .assert(0, &["passed: none of 8 metrics got worse"]);
    let worse = project.propose(|files| files.set_rounds(105));
    let build = zuul.play("check", &worse);
    build
        .left
        .assert(2, &["\"rc\": 1", "regression  callgrind.ir "]);
    assert!(build.log("comment.md").contains("callgrind.ir"));
    assert!(build.log("gate.xml").contains("callgrind.ir"));
    assert_eq!(stored_runs(&service, &reader).await, 5);
}
