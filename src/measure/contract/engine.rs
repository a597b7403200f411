//! Which container engine is there, and which compose goes with it.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum;

use super::command::{Command, last_lines};
use super::failure::Reason;

/// Longer than an engine that answers at all takes.
pub(super) const ANSWER: Duration = Duration::from_secs(30);

/// A container engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// docker, with `docker compose` or docker-compose
    Docker,
    /// podman, with podman-compose
    Podman,
}

impl Engine {
    /// Both, in the order in which they are looked for.
    pub const ALL: [Self; 2] = [Self::Docker, Self::Podman];

    /// The name of its command.
    pub fn command(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    /// The ways to its compose, the better one first.
    fn composes(self) -> [&'static [&'static str]; 2] {
        match self {
            Self::Docker => [&["docker", "compose"], &["docker-compose"]],
            // `podman compose` hands over to whatever compose it finds, also docker's.
            Self::Podman => [&["podman-compose"], &["podman", "compose"]],
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.command())
    }
}

/// An engine that answers, and its compose.
#[derive(Clone, Copy, Debug)]
pub struct Tools {
    /// The engine.
    pub engine: Engine,
    /// How compose is called.
    compose: &'static [&'static str],
}

impl Tools {
    /// Those of `engine`, or of the first engine that answers.
    ///
    /// # Errors
    /// What was tried, and what it said.
    pub async fn find(engine: Option<Engine>) -> Result<Self, Reason> {
        let engines = match engine {
            Some(engine) => vec![engine],
            None => Engine::ALL.to_vec(),
        };
        let mut tried = Vec::new();
        for engine in engines {
            match Self::of(engine).await {
                Ok(tools) => return Ok(tools),
                Err(said) => tried.push(said),
            }
        }
        Err(Reason::NoEngine(tried.join("\n")))
    }

    async fn of(engine: Engine) -> Result<Self, String> {
        // `ps` needs the engine itself, which `version` of a client does not.
        let asked = Command::new([engine.command(), "ps", "--quiet"]).limit(ANSWER);
        asked.output().await.map_err(indented)?;
        for compose in engine.composes() {
            let asked = Command::new(compose).args(["version"]).limit(ANSWER);
            if asked.output().await.is_ok() {
                return Ok(Self { engine, compose });
            }
        }
        let names = engine
            .composes()
            .map(|words| format!("`{}`", words.join(" ")));
        Err(format!(
            "  {engine} answers, but {} does not; install it",
            names.join(" or ")
        ))
    }

    /// A command of the engine.
    pub(super) fn engine(&self) -> Command {
        Command::new([self.engine.command()])
    }

    /// The words that call compose, for a command line.
    pub(in crate::measure) fn compose_words(&self) -> &'static [&'static str] {
        self.compose
    }

    /// A command of compose.
    pub(super) fn compose(&self) -> Command {
        Command::new(self.compose)
    }
}

fn indented(reason: Reason) -> String {
    let lines = last_lines(&reason.to_string(), 3);
    let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}
