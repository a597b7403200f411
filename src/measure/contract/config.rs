//! The contract: what makes the numbers, out of the text of a committed file.
//!
//! See `deploy/measure/contract.toml` for what can stand there. Every fault is told, each with its
//! line and column, and a key that nobody knows is one of them.

use std::path::PathBuf;
use std::time::Duration;

use super::engine::Engine;
use crate::domain::{
    Arch, Distro, DocumentContent, Faults, HostClass, Measured, Metrics, Parameter, ParameterName,
    Parameters, Workload,
};
use crate::measure::valgrind::{self, Tool};
use crate::read::{
    Fields, Node, Notes, Place, boolean, filled, parse_toml, parsed, text_with, whole, word,
};

/// A day: no step of a measurement takes longer and is worth waiting for.
const MOST_SECONDS: u32 = 86_400;
const READY_SECONDS: u32 = 900;
const STOP_SECONDS: u32 = 600;
const MOST: u32 = 1_000_000_000;

/// All that makes the numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    /// What the runs are called.
    pub workload: Workload,
    /// What compiled the measured server and runs it.
    pub distro: Distro,
    /// The kind of host: `callgrind`, if nothing else is said.
    pub host_class: HostClass,
    /// Which part of the server's life counts.
    pub count: Count,
    /// Whether a pass of its own counts what the server waits for.
    pub count_waits: bool,
    /// The engine; any that answers where left out.
    pub engine: Option<Engine>,
    /// Where the compose files are, relative to the contract.
    pub compose: PathBuf,
    /// What is measured.
    pub server: Server,
    /// What it is given to do.
    pub load: Load,
    /// How the wall-clock pass differs; without it there is no such pass.
    pub wallclock: Option<WallClock>,
    /// What of the server's is measured by size, if anything.
    pub sizes: Option<Sizes>,
    /// The images that the compose files start.
    pub images: Images,
}

/// Which part of the server's life callgrind's counters hold. massif has the whole process's peak
/// in either case: it has nothing to reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// From the end of sysbench's preparation to the end of its run.
    Load,
    /// From the first instruction to the last.
    Process,
}

/// A server that the images know how to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// MariaDB.
    Mariadbd,
    /// MySQL.
    Mysqld,
    /// Drizzle.
    Drizzled,
}

impl Program {
    /// The name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mariadbd => "mariadbd",
            Self::Mysqld => "mysqld",
            Self::Drizzled => "drizzled",
        }
    }
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The server's image, which the measured images are built on.
    pub image: String,
    /// Which program of it.
    pub program: Program,
    /// The account of the image that runs it.
    pub user: String,
    /// Options that the server is started with beside those of the measured images.
    pub options: Vec<String>,
    /// How long it may take until it answers.
    pub ready: Duration,
    /// How long it may take to stop.
    pub stop: Duration,
}

/// What sysbench is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// A script that sysbench has, such as `oltp_read_write`.
    pub script: String,
    /// Connections at a time.
    pub threads: u32,
    /// Transactions, all threads together.
    pub events: u32,
    /// Tables.
    pub tables: u32,
    /// Rows a table.
    pub table_size: u32,
    /// Where its random numbers start, so that every run has the same.
    pub seed: u32,
    /// Whether statements are prepared; Drizzle cannot.
    pub prepared_statements: bool,
}

/// The pass without valgrind. Its numbers hold for one class of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WallClock {
    /// The kind of host, which is not that of the counted numbers.
    pub host_class: HostClass,
    /// Connections at a time; those of the counted load where left out.
    pub threads: Option<u32>,
    /// Transactions, all threads together; those of the counted load where left out.
    pub events: Option<u32>,
}

/// What of the server's is measured by size; paths in its image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The server's program.
    pub binary: String,
    /// A pattern of its plugins, as a shell has it.
    pub plugins: Option<String>,
}

/// The images that the compose files start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    /// The server under callgrind.
    pub callgrind: String,
    /// The server under massif.
    pub massif: String,
    /// The load generator.
    pub load: String,
}

impl Images {
    /// The measured server of a pass.
    pub fn server(&self, pass: Tool) -> &str {
        match pass {
            Tool::Callgrind => &self.callgrind,
            Tool::Massif => &self.massif,
        }
    }
}

impl Default for Images {
    /// As the compose files have them.
    fn default() -> Self {
        Self {
            callgrind: "perf-tracking-measured-callgrind".to_owned(),
            massif: "perf-tracking-measured-massif".to_owned(),
            load: "perf-tracking-load".to_owned(),
        }
    }
}

impl Contract {
    /// Reads a contract.
    ///
    /// # Errors
    /// Every fault of the text at once, in the order of their places.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        parse_toml(text, read)
    }

    /// The document of this contract, without numbers yet.
    pub fn document(&self, arch: Arch) -> DocumentContent {
        DocumentContent {
            workload: self.workload.clone(),
            arch,
            distro: self.distro.clone(),
            host_class: self.host_class.clone(),
            succeeded: false,
            parameters: self.parameters(),
            measured: Measured {
                caches: Some(valgrind::caches()),
                ..Measured::default()
            },
            metrics: Metrics::default(),
        }
    }

    /// The document of the wall-clock pass, without numbers yet; `None` if the contract has no such
    /// pass.
    pub fn wall_clock_document(&self, arch: Arch) -> Option<DocumentContent> {
        let wallclock = self.wallclock.as_ref()?;
        Some(DocumentContent {
            workload: self.workload.clone(),
            arch,
            distro: self.distro.clone(),
            host_class: wallclock.host_class.clone(),
            succeeded: false,
            parameters: self.parameters_of(&self.wall_clock_load()).collect(),
            measured: Measured::default(),
            metrics: Metrics::default(),
        })
    }

    /// The load of the wall-clock pass.
    pub fn wall_clock_load(&self) -> Load {
        let mut load = self.load.clone();
        if let Some(wallclock) = &self.wallclock {
            load.threads = wallclock.threads.unwrap_or(load.threads);
            load.events = wallclock.events.unwrap_or(load.events);
        }
        load
    }

    /// What makes counted numbers of this contract comparable with each other. The server's image
    /// is not among them: it is what changes.
    pub fn parameters(&self) -> Parameters {
        let count = match self.count {
            Count::Load => "load",
            Count::Process => "process",
        };
        let count = ("count", Parameter::Text(count.to_owned()));
        let count = std::iter::once(count).map(named);
        count.chain(self.parameters_of(&self.load)).collect()
    }

    /// What makes numbers of a load comparable, whichever pass gives them.
    fn parameters_of(
        &self,
        load: &Load,
    ) -> impl Iterator<Item = (ParameterName, Parameter)> + use<> {
        let options = self.server.options.join(" ");
        let options = (!options.is_empty()).then_some(("server_options", Parameter::Text(options)));
        load.parameters().chain(options.map(named))
    }
}

fn named((name, value): (&str, Parameter)) -> (ParameterName, Parameter) {
    let name = name.parse().expect("a name of this list is one");
    (name, value)
}

impl Load {
    fn parameters(&self) -> impl Iterator<Item = (ParameterName, Parameter)> + use<> {
        let load = self;
        let number = |number: u32| Parameter::Number(number.into());
        let parameters = [
            ("events", number(load.events)),
            (
                "prepared_statements",
                Parameter::Flag(load.prepared_statements),
            ),
            ("script", Parameter::Text(load.script.clone())),
            ("seed", number(load.seed)),
            ("table_size", number(load.table_size)),
            ("tables", number(load.tables)),
            ("threads", number(load.threads)),
        ];
        parameters.into_iter().map(named)
    }
}

const FIELDS: [&str; 12] = [
    "workload",
    "distro",
    "host_class",
    "count",
    "count_waits",
    "engine",
    "compose",
    "server",
    "load",
    "wallclock",
    "sizes",
    "images",
];
const SERVER_FIELDS: [&str; 6] = [
    "image",
    "program",
    "user",
    "options",
    "ready_seconds",
    "stop_seconds",
];
const LOAD_FIELDS: [&str; 7] = [
    "script",
    "threads",
    "events",
    "tables",
    "table_size",
    "seed",
    "prepared_statements",
];

/// Reads every key before any `?`, so that one fault does not hide the next.
fn read(root: Node<'_>, notes: &Notes<'_>) -> Option<Contract> {
    let root = Fields::of(root, Place::ROOT, notes, &FIELDS)?;
    let workload = root.needed("workload", parsed);
    let distro = root.needed("distro", parsed);
    let host_class = root.optional("host_class", parsed);
    let count = [("load", Count::Load), ("process", Count::Process)];
    let count = root.optional("count", word(&count));
    let count_waits = root.optional("count_waits", boolean).unwrap_or(false);
    let engines = [("docker", Engine::Docker), ("podman", Engine::Podman)];
    let engine = root.optional("engine", word(&engines));
    let compose = root.optional("compose", text_with(filled));
    root.check_there("server");
    let server = root.object("server", &SERVER_FIELDS, read_server);
    root.check_there("load");
    let program = server.iter().flatten().map(|server| server.program).next();
    let load = root.object("load", &LOAD_FIELDS, |table| read_load(table, program));
    if count_waits && program == Some(Program::Drizzled) {
        let detail = "must be false: Drizzle has no performance_schema in which it counts waits";
        root.fault("count_waits", detail);
    }
    let counted = host_class.clone().unwrap_or_else(HostClass::callgrind);
    let wallclock = root.object("wallclock", &["host_class", "threads", "events"], |table| {
        read_wallclock(table, &counted)
    });
    let sizes = root.object("sizes", &["binary", "plugins"], read_sizes);
    let images = root.object("images", &["callgrind", "massif", "load"], read_images);
    Some(Contract {
        workload: workload?,
        distro: distro?,
        host_class: counted,
        count: count.unwrap_or(Count::Load),
        count_waits,
        engine,
        compose: compose.unwrap_or_else(|| ".".to_owned()).into(),
        server: server??,
        load: load??,
        wallclock: wallclock.flatten(),
        sizes: sizes.flatten(),
        images: images.unwrap_or_default(),
    })
}

fn read_server(table: &Fields<'_, '_>) -> Option<Server> {
    let image = table.needed("image", text_with(image_name));
    let programs = [Program::Mariadbd, Program::Mysqld, Program::Drizzled];
    let programs = programs.map(|program| (program.name(), program));
    let program = table.needed("program", word(&programs));
    let user = table.optional("user", text_with(user_name));
    let wanted = "a list of options of the server";
    let options = table.list("options", wanted, |node| text_with(server_option)(node));
    let ready = table.optional("ready_seconds", whole(1..=MOST_SECONDS));
    let stop = table.optional("stop_seconds", whole(1..=MOST_SECONDS));
    Some(Server {
        image: image?,
        program: program?,
        user: user.unwrap_or_else(|| "mysql".to_owned()),
        options: options.unwrap_or_default(),
        ready: seconds(ready.unwrap_or(READY_SECONDS)),
        stop: seconds(stop.unwrap_or(STOP_SECONDS)),
    })
}

/// Drizzle knows no prepared statement, which sysbench would find out only after the server's start.
fn read_load(table: &Fields<'_, '_>, program: Option<Program>) -> Option<Load> {
    let script = table.needed("script", text_with(script_name));
    let [threads, events, tables, table_size] =
        ["threads", "events", "tables", "table_size"].map(|key| table.needed(key, whole(1..=MOST)));
    // sysbench takes 0 for the time of day.
    let seed = table.optional("seed", whole(1..=MOST));
    let prepared_statements = table.optional("prepared_statements", boolean);
    let is_drizzle = program == Some(Program::Drizzled);
    if is_drizzle && prepared_statements == Some(true) {
        let detail = "must be false: Drizzle has no prepared statements";
        table.fault("prepared_statements", detail);
    }
    Some(Load {
        script: script?,
        threads: threads?,
        events: events?,
        tables: tables?,
        table_size: table_size?,
        seed: seed.unwrap_or(1),
        prepared_statements: prepared_statements.unwrap_or(!is_drizzle),
    })
}

fn read_wallclock(table: &Fields<'_, '_>, counted: &HostClass) -> Option<WallClock> {
    let host_class = table.needed("host_class", parsed::<HostClass>);
    let [threads, events] = ["threads", "events"].map(|key| table.optional(key, whole(1..=MOST)));
    if host_class.as_ref() == Some(counted) {
        table.fault(
            "host_class",
            "must not be that of the counted numbers: times hold for one class of hosts",
        );
    }
    Some(WallClock {
        host_class: host_class?,
        threads,
        events,
    })
}

fn read_sizes(table: &Fields<'_, '_>) -> Option<Sizes> {
    let binary = table.needed("binary", text_with(|text| path(text, false)));
    let plugins = table.optional("plugins", text_with(|text| path(text, true)));
    Some(Sizes {
        binary: binary?,
        plugins,
    })
}

fn read_images(table: &Fields<'_, '_>) -> Images {
    let defaults = Images::default();
    let image = |key| table.optional(key, text_with(image_name));
    Images {
        callgrind: image("callgrind").unwrap_or(defaults.callgrind),
        massif: image("massif").unwrap_or(defaults.massif),
        load: image("load").unwrap_or(defaults.load),
    }
}

fn seconds(count: u32) -> Duration {
    Duration::from_secs(count.into())
}

/// What an engine takes for an image and not for a flag.
fn image_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) || !text.chars().all(fits) {
        return Err(
            "must be the name of an image, such as docker.io/library/mariadb:11.8".to_owned(),
        );
    }
    Ok(text.to_owned())
}

/// An account of the server's image. Servers refuse to run as root.
fn user_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_name = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(fits);
    if !is_name || text == "root" {
        return Err(
            "must be an account of the server's image other than root, such as mysql".to_owned(),
        );
    }
    Ok(text.to_owned())
}

/// One option of the server, in which a shell sees nothing but a word.
fn server_option(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-=/,:+@%".contains(c);
    if !text.starts_with("--") || text.len() < 3 || !text.chars().all(fits) {
        return Err(
            "must be one option of the server, such as --plugin-remove=NAME, without spaces"
                .to_owned(),
        );
    }
    Ok(text.to_owned())
}

/// A script that sysbench has, or the path of one in the load generator's image.
fn script_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    if text.is_empty() || text.starts_with('-') || !text.chars().all(fits) {
        return Err("must be a script of sysbench, such as oltp_read_write".to_owned());
    }
    Ok(text.to_owned())
}

/// A whole path, in which a shell sees nothing but what a pattern is made of.
fn path(text: &str, is_pattern: bool) -> Result<String, String> {
    let fits = |c: char| {
        c.is_ascii_alphanumeric() || "._-/+".contains(c) || (is_pattern && "*?[]".contains(c))
    };
    if !text.starts_with('/') || text.ends_with('/') || !text.chars().all(fits) {
        let example = if is_pattern {
            "a pattern of files of the server's image, such as /usr/lib/mysql/plugin/*.so"
        } else {
            "a file of the server's image, such as /usr/sbin/mariadbd"
        };
        return Err(format!("must be {example}"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
