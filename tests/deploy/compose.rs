//! `deploy/compose.yaml`, with MariaDB.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Result, ensure};
use tempfile::TempDir;

use crate::docker::{ROOT, docker, image, logs, output, unique, wait_healthy};
use crate::support::databases::Engine;
use crate::support::images::ensure_mariadb_with_entry_point;
use crate::support::ports;
use crate::support::wait;
use crate::upload::{TOKEN, post, read_back};

/// As deploy/README.md has it.
const DUMP: &str = "MYSQL_PWD=$(cat /run/secrets/database-password) mariadb-dump --user=perf_tracking \
    --host=127.0.0.1 --single-transaction --no-tablespaces perf_tracking";

/// A project of compose; it goes away with the value, and all that it made.
struct Project {
    name: String,
    variables: Vec<(&'static str, OsString)>,
    _secrets: TempDir,
}

impl Project {
    fn new(image: &str, database: &str, publish: &str) -> Self {
        let secrets = tempfile::tempdir().expect("a folder can be made");
        let project = Self {
            name: unique("compose"),
            variables: vec![
                ("PERF_TRACKING_IMAGE", image.into()),
                ("MARIADB_IMAGE", database.into()),
                ("PERF_TRACKING_PUBLISH", publish.into()),
                ("SECRETS_FOLDER", secrets.path().into()),
            ],
            _secrets: secrets,
        };
        output(project.with_variables(&mut Command::new(format!("{ROOT}/deploy/secrets"))))
            .expect("the secrets are made");
        project
    }

    /// `docker-compose` where it is installed, else the plugin.
    fn compose(&self, args: &[&str]) -> Result<String> {
        let has_command = Command::new("docker-compose")
            .arg("version")
            .output()
            .is_ok();
        let mut command = Command::new(if has_command {
            "docker-compose"
        } else {
            "docker"
        });
        if !has_command {
            command.arg("compose");
        }
        command
            .args(["--project-name", &self.name, "--file"])
            .arg(format!("{ROOT}/deploy/compose.yaml"))
            .args(args);
        output(self.with_variables(&mut command))
    }

    fn with_variables<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)))
    }

    fn container(&self, service: &str) -> String {
        self.compose(&["ps", "--quiet", service])
            .unwrap_or_else(|error| panic!("{error:#}"))
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for service in ["database", "perf-tracking"] {
                if let Ok(container) = self.compose(&["ps", "--quiet", service]) {
                    eprintln!("the end of the log of {service}:\n{}", logs(&container));
                }
            }
        }
        if let Err(error) = self.compose(&["down", "--volumes", "--timeout=5"]) {
            eprintln!("{error:#}");
        }
    }
}

#[tokio::test]
async fn compose_brings_the_service_up_with_mariadb_and_keeps_runs_over_a_restart_of_it() {
    let image = image().await;
    let mariadb = Engine::MariaDb11_8.image();
    let mariadb = tokio::task::spawn_blocking(move || ensure_mariadb_with_entry_point(mariadb))
        .await
        .expect("does not panic")
        .expect("a MariaDB with an entry point can be had");
    let address = ports::loopback(ports::free()).to_string();
    let url = format!("http://{address}");
    let project = Project::new(image, &mariadb, &address);
    project
        .compose(&["up", "--detach", "--no-build"])
        .unwrap_or_else(|error| panic!("{error:#}"));
    let (service, database) = (
        project.container("perf-tracking"),
        project.container("database"),
    );
    wait_healthy(&database).await;
    wait_healthy(&service).await;

    let published = docker(&["port", &database]).expect("the container runs");
    assert_eq!(published, "", "the database is nobody else's business");
    let variables = docker(&["inspect", "--format={{.Config.Env}}", &service, &database])
        .expect("the containers run");
    for secret in ["database-password", "token-secret"] {
        let secret = docker(&["exec", &service, "cat", &format!("/run/secrets/{secret}")])
            .expect("the service reads its secrets");
        assert!(secret.len() >= 32 && !variables.contains(&secret));
    }

    let token = [&["exec", "-T", "perf-tracking"], &TOKEN[..]].concat();
    let token = project.compose(&token).expect("a token is minted");
    let first = post(&url, &token, 1).await;
    read_back(&url, &token, first, 1).await;

    let dump = project.compose(&["exec", "-T", "database", "sh", "-c", DUMP]);
    let dump = dump.unwrap_or_else(|error| panic!("{error:#}"));
    assert!(
        dump.contains(&format!("{:040x}", 1)),
        "a back-up holds the run"
    );

    let started = docker(&["inspect", "--format={{.State.StartedAt}}", &service]);
    project
        .compose(&["restart", "--timeout=60", "database"])
        .unwrap_or_else(|error| panic!("{error:#}"));
    wait_ready(&url).await;
    read_back(&url, &token, first, 1).await;
    let second = post(&url, &token, 2).await;
    read_back(&url, &token, second, 2).await;
    wait_healthy(&service).await;
    assert_eq!(
        docker(&["inspect", "--format={{.State.StartedAt}}", &service]).ok(),
        started.ok(),
        "the service itself went on"
    );
}

async fn wait_ready(url: &str) {
    let ready = format!("{url}/readyz");
    let client = crate::support::service::http_client();
    wait::until(
        "the service is ready again",
        std::time::Duration::from_secs(120),
        async || {
            let status = client.get(&ready).send().await?.status();
            ensure!(status == 200, "it answers {status}");
            Ok::<_, anyhow::Error>(())
        },
    )
    .await
    .unwrap_or_else(|error| panic!("{error:#}"));
}
