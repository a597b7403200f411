//! A compose project: starts it, inspects it, and removes all of it, volumes included.

use std::path::PathBuf;
use std::time::Duration;

use uuid::Uuid;

use super::Pass;
use super::command::{Command, last_lines};
use super::config::Images;
use super::engine::Tools;
use super::failure::Reason;
use crate::terminal::tame;

/// The labels that both docker's and podman's compose put on what they create.
const PROJECT_LABEL: &str = "com.docker.compose.project";
const SERVICE_LABEL: &str = "com.docker.compose.service";
/// The environment variables that the compose files use.
const SERVER_IMAGE: &str = "MEASURED_SERVER_IMAGE";
const LOAD_IMAGE: &str = "LOAD_IMAGE";
/// A limit far above the time that an engine needs to start or to remove two containers.
const LIMIT: Duration = Duration::from_secs(180);
const LOG_LINES: usize = 20;

/// A service of the compose files.
#[derive(Clone, Copy, Debug)]
pub(super) enum Service {
    Server,
    Load,
}

impl Service {
    fn name(self) -> &'static str {
        match self {
            Self::Server => super::load::SERVER,
            Self::Load => "load",
        }
    }
}

/// Two containers, a network and a volume under a unique name.
pub(super) struct Project<'t> {
    name: String,
    file: PathBuf,
    images: [(&'static str, String); 2],
    tools: &'t Tools,
}

/// The state of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Ended(i64),
}

impl State {
    /// Reads whether a container runs and its exit code, as the engine's `inspect` prints them.
    /// Anything else is no state: what is taken for a running container is waited for in vain.
    fn parse(printed: &str) -> Option<Self> {
        let (running, code) = printed.trim().split_once(' ')?;
        let code = code.parse().ok()?;
        match running {
            "true" => Some(Self::Running),
            "false" => Some(Self::Ended(code)),
            _ => None,
        }
    }
}

impl<'t> Project<'t> {
    pub(super) fn new(pass: Pass, file: PathBuf, images: &Images, tools: &'t Tools) -> Self {
        let unique = Uuid::new_v4().simple().to_string();
        Self {
            name: format!("perf-tracking-{}-{}", pass.name(), &unique[..12]),
            file,
            images: [
                (SERVER_IMAGE, images.server(pass.image()).to_owned()),
                (LOAD_IMAGE, images.load.clone()),
            ],
            tools,
        }
    }

    /// The name that its containers, its network and its volume share.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Starts the containers. A container that exits at once is not an error here.
    pub(super) async fn up(&self) -> Result<(), Reason> {
        let command = self.compose().args(["up", "--detach"]);
        command.limit(LIMIT).output().await.map(drop)
    }

    fn compose(&self) -> Command {
        let mut command = self.tools.compose();
        for (name, image) in &self.images {
            command = command.variable(name, image);
        }
        command
            .args(["--project-name", &self.name, "--file"])
            .args([&self.file])
    }

    /// The id of a service's container.
    pub(super) async fn container(&self, service: Service) -> Result<String, Reason> {
        let of_service = format!("label={SERVICE_LABEL}={}", service.name());
        let ids = self
            .list("ps", &["--all", "--no-trunc", "--filter", &of_service])
            .await?;
        ids.into_iter()
            .next()
            .ok_or(Reason::NoService(service.name()))
    }

    /// Lists the project's objects of one kind: `ps`, `network ls` or `volume ls`.
    async fn list(&self, kind: &str, args: &[&str]) -> Result<Vec<String>, Reason> {
        let of_project = format!("label={PROJECT_LABEL}={}", self.name);
        let command = self
            .tools
            .engine()
            .args(kind.split(' '))
            .args(["--quiet", "--filter", &of_project])
            .args(args);
        let listed = command.limit(LIMIT).output().await?;
        Ok(listed.split_whitespace().map(str::to_owned).collect())
    }

    pub(super) async fn state(&self, container: &str) -> Result<State, Reason> {
        let template = "{{.State.Running}} {{.State.ExitCode}}";
        let command = self
            .tools
            .engine()
            .args(["inspect", "--format", template, container]);
        let state = command.limit(LIMIT).output().await?;
        State::parse(&state).ok_or_else(|| Reason::UnreadableState(tame(state.trim())))
    }

    /// Runs a command in a container.
    pub(super) fn exec(&self, container: &str) -> Command {
        self.tools.engine().args(["exec", container])
    }

    /// Sends SIGTERM, and SIGKILL after `limit`.
    pub(super) async fn stop(&self, container: &str, limit: Duration) -> Result<(), Reason> {
        let seconds = limit.as_secs().to_string();
        let command = self
            .tools
            .engine()
            .args(["stop", "-t", &seconds, container]);
        command.limit(limit + LIMIT).output().await.map(drop)
    }

    /// The last lines of the server's log. Empty if there is none.
    pub(super) async fn server_log(&self) -> Vec<String> {
        let Ok(container) = self.container(Service::Server).await else {
            return Vec::new();
        };
        let tail = LOG_LINES.to_string();
        let command = self
            .tools
            .engine()
            .args(["logs", "--tail", &tail, &container]);
        match command.limit(LIMIT).run().await {
            Ok(said) => last_lines(&format!("{}\n{}", said.stdout, said.stderr), LOG_LINES),
            Err(_) => Vec::new(),
        }
    }

    /// Removes the whole project, even after compose failed half way. Returns what could not be
    /// removed, and how to remove it.
    pub(super) async fn remove(&self) -> Vec<String> {
        // Compose cannot take down a project whose file it cannot read, so the engine is asked.
        let down = self.compose().args(["down", "--volumes", "--timeout", "1"]);
        let _ = down.limit(LIMIT).run().await;
        let engine = self.tools.engine;
        let kinds: [(&str, &[&str], &[&str]); 3] = [
            ("ps", &["--all"], &["rm", "--force", "--volumes"]),
            ("network ls", &[], &["network", "rm"]),
            ("volume ls", &[], &["volume", "rm", "--force"]),
        ];
        let mut left = Vec::new();
        for (list, args, remove) in kinds {
            let listed = match self.list(list, args).await {
                Ok(listed) => listed,
                Err(error) => {
                    left.push(format!(
                        "what {} left could not be looked for: {error}",
                        self.name
                    ));
                    continue;
                }
            };
            for id in listed {
                let command = self.tools.engine().args(remove).args([&id]);
                if let Err(error) = command.limit(LIMIT).output().await {
                    left.push(format!(
                        "left: `{engine} {} {id}` removes it, and failed: {error}",
                        remove.join(" ")
                    ));
                }
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_cannot_be_read_is_no_running_container() {
        for (printed, state) in [
            ("true 0\n", Some(State::Running)),
            ("false 137\n", Some(State::Ended(137))),
            ("false -1", Some(State::Ended(-1))),
            ("", None),
            ("false", None),
            ("false x", None),
            ("<no value> <no value>", None),
            ("Error: no such object", None),
        ] {
            assert_eq!(State::parse(printed), state, "{printed:?}");
        }
    }
}
