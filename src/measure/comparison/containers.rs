//! A subject in containers: a project of compose under a name that nothing else has.

use std::path::{Path, PathBuf};
use std::time::Duration;

use uuid::Uuid;

use crate::measure::contract::Tools;
use crate::measure::contract::command::Command;

const PROJECT_LABEL: &str = "com.docker.compose.project";
const SERVICE_LABEL: &str = "com.docker.compose.service";
/// Longer than an engine that answers at all takes.
const ANSWER: Duration = Duration::from_secs(30);

/// Containers, networks and volumes of one start.
pub(super) struct Project {
    name: String,
    file: PathBuf,
    tools: Tools,
}

impl Project {
    pub(super) fn new(file: &Path, tools: Tools) -> Self {
        let unique = Uuid::new_v4().simple().to_string();
        Self {
            name: format!("perf-tracking-compare-{}", &unique[..12]),
            file: file.to_owned(),
            tools,
        }
    }

    /// The command line that brings all of it up, and runs for as long as it is up.
    /// The containers have `grace` to stop once the command is told to end.
    pub(super) fn up(&self, grace: Duration) -> String {
        format!("exec {} up --timeout {}", self.compose(), grace.as_secs())
    }

    /// The command line that removes all of it, also what a compose that failed half way has left.
    pub(super) fn down(&self, grace: Duration) -> String {
        let engine = self.tools.engine.command();
        let label = format!("label={PROJECT_LABEL}={}", self.name);
        let remove = |list: &str, remove: &str| {
            format!(
                "for id in $({engine} {list} --quiet --filter {label}); do {engine} {remove} \"$id\"; done"
            )
        };
        [
            format!(
                "{} down --volumes --timeout {}",
                self.compose(),
                grace.as_secs()
            ),
            remove("ps --all", "rm --force --volumes"),
            remove("network ls", "network rm"),
            remove("volume ls", "volume rm --force"),
        ]
        .join("; ")
    }

    fn compose(&self) -> String {
        let file = self.file.to_string_lossy();
        let words = self.tools.compose_words().iter().copied();
        let words = words.chain(["--project-name", &self.name, "--file", &file]);
        shlex::try_join(words).unwrap_or_default()
    }

    /// The container of a service, once there is one.
    pub(super) async fn container(&self, service: &str) -> Result<Option<String>, String> {
        let filters = [
            format!("label={PROJECT_LABEL}={}", self.name),
            format!("label={SERVICE_LABEL}={service}"),
        ];
        let ids = self
            .ask(&[
                "ps",
                "--no-trunc",
                "--quiet",
                "--filter",
                &filters[0],
                "--filter",
                &filters[1],
            ])
            .await?;
        Ok(ids.split_whitespace().next().map(str::to_owned))
    }

    /// The first process of a container, as the host numbers it.
    pub(super) async fn pid(&self, container: &str) -> Result<Option<u32>, String> {
        let text = self
            .ask(&["inspect", "--format", "{{.State.Pid}}", container])
            .await?;
        Ok(text.trim().parse().ok().filter(|pid| *pid != 0))
    }

    async fn ask(&self, args: &[&str]) -> Result<String, String> {
        let command = Command::new([self.tools.engine.command()]).args(args);
        let said = command.limit(ANSWER).output().await;
        said.map_err(|reason| reason.to_string())
    }

    /// The command line that runs `script` in a container, with these variables.
    pub(super) fn exec(
        &self,
        container: &str,
        script: &str,
        variables: &[(String, String)],
    ) -> String {
        let mut words = vec![self.tools.engine.command().to_owned(), "exec".to_owned()];
        for (name, value) in variables {
            words.extend(["--env".to_owned(), format!("{name}={value}")]);
        }
        words.extend([
            container.to_owned(),
            "sh".to_owned(),
            "-c".to_owned(),
            script.to_owned(),
        ]);
        let line = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default();
        format!("exec {line}")
    }
}

/// The digest of an image: the registry's where it has one, else its own.
///
/// # Errors
/// That the engine has no such image.
pub(super) async fn digest(tools: &Tools, image: &str) -> Result<String, String> {
    let ask = async |template: &str| {
        let command = Command::new([tools.engine.command()])
            .args(["image", "inspect", "--format", template, image])
            .limit(ANSWER);
        command.output().await.map_err(|reason| reason.to_string())
    };
    let digests = ask("{{range .RepoDigests}}{{println .}}{{end}}").await?;
    if let Some((_, digest)) = digests.lines().find_map(|line| line.split_once('@')) {
        return Ok(digest.trim().to_owned());
    }
    let id = ask("{{.Id}}").await?;
    let id = id.trim();
    Ok(if id.contains(':') {
        id.to_owned()
    } else {
        format!("sha256:{id}")
    })
}
