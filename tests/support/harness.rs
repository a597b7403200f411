//! One suite for every database: a table of cases, each run against each backend.
//!
//! A case is an `async fn(&Context)` that panics when it finds a fault. Its test is named after the backend and the
//! function, `mariadb_11_8::history::is_ordered_by_run_date`, and takes the flags of any Rust test.
//! The servers start once for the whole binary, side by side, and only those that a selected case needs.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Result;
use libtest_mimic::{Arguments, Failed, Trial};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use super::databases::{Database, Engine};
use super::text_gate::TextGate;

/// Where a store can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Backend {
    /// A file.
    Sqlite,
    /// MariaDB 11.8.
    MariaDb11_8,
    /// MariaDB 10.11.
    MariaDb10_11,
    /// MySQL 9.7.
    MySql9_7,
    /// A server that takes statements as text only, as Drizzle does.
    Text,
}

impl Backend {
    /// Every one.
    pub(crate) const ALL: [Self; 5] = [
        Self::Sqlite,
        Self::MariaDb11_8,
        Self::MariaDb10_11,
        Self::MySql9_7,
        Self::Text,
    ];

    /// The name that tests show.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Text => "text",
            Self::MariaDb11_8 => Engine::MariaDb11_8.name(),
            Self::MariaDb10_11 => Engine::MariaDb10_11.name(),
            Self::MySql9_7 => Engine::MySql9_7.name(),
        }
    }

    /// The server that it needs.
    fn engine(self) -> Option<Engine> {
        match self {
            Self::Sqlite => None,
            Self::MariaDb11_8 | Self::Text => Some(Engine::MariaDb11_8),
            Self::MariaDb10_11 => Some(Engine::MariaDb10_11),
            Self::MySql9_7 => Some(Engine::MySql9_7),
        }
    }
}

/// What a case is given: a database that is empty and its own.
pub(crate) struct Context {
    /// Which kind of database.
    pub(crate) backend: Backend,
    /// Its address, as the product is told it.
    pub(crate) database_url: String,
    scratch: TempDir,
}

impl Context {
    /// A folder that goes away with the case.
    pub(crate) fn scratch(&self) -> &std::path::Path {
        self.scratch.path()
    }
}

type Run = Arc<dyn Fn(&Runtime, &Context) + Send + Sync>;

/// A case of the suite.
pub(crate) struct Case {
    name: &'static str,
    run: Run,
}

impl Case {
    /// The case `function`, named after it and the modules it stands in.
    pub(crate) fn new<F>(function: F) -> Self
    where
        F: AsyncFn(&Context) + Send + Sync + 'static,
    {
        let path = std::any::type_name::<F>();
        let name = path.split_once("::").map_or(path, |(_crate, name)| name);
        Self {
            name,
            run: Arc::new(move |runtime, context| runtime.block_on(function(context))),
        }
    }
}

/// Runs every selected case against every backend; the answer is for `main` to return.
pub(crate) fn run(cases: impl IntoIterator<Item = Case>) -> ExitCode {
    let arguments = Arguments::from_args();
    // Lives as long as the process: a trial may hold on to it longer than its result takes to arrive.
    let suite: &Suite = Box::leak(Box::new(Suite::new()));
    let table = table(cases);
    if !arguments.list {
        suite.start_servers(
            table
                .iter()
                .filter(|(name, ..)| is_selected(&arguments, name))
                .map(|&(_, backend, _)| backend),
        );
    }
    let trials = table
        .into_iter()
        .map(|(name, backend, case)| Trial::test(name, move || suite.run(backend, &case)));
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    suite.stop_servers();
    conclusion.exit_code()
}

/// Every case with every backend.
fn table(cases: impl IntoIterator<Item = Case>) -> Vec<(String, Backend, Case)> {
    let pairs = cases.into_iter().flat_map(|case| {
        Backend::ALL.map(|backend| {
            let name = format!("{}::{}", backend.name(), case.name);
            (
                name,
                backend,
                Case {
                    name: case.name,
                    run: Arc::clone(&case.run),
                },
            )
        })
    });
    let mut table: Vec<_> = pairs.collect();
    // What is ready at once comes first, what takes a while to start last.
    table.sort_by_key(|&(_, backend, _)| backend);
    table
}

/// Whether libtest's flags name the test; the harness itself does not tell before it runs.
fn is_selected(arguments: &Arguments, name: &str) -> bool {
    let matches = |pattern: &String| {
        if arguments.exact {
            name == pattern
        } else {
            name.contains(pattern.as_str())
        }
    };
    !arguments.ignored
        && arguments.filter.as_ref().is_none_or(matches)
        && !arguments.skip.iter().any(matches)
}

/// A server, or why there is none: a start that failed is not tried again by each case.
type Server<T> = OnceCell<Result<T, String>>;

struct Suite {
    runtime: Runtime,
    databases: BTreeMap<&'static str, (Engine, Server<Database>)>,
    gate: Server<TextGate>,
    schemas: AtomicU32,
}

impl Suite {
    fn new() -> Self {
        let engines = [Engine::MariaDb11_8, Engine::MariaDb10_11, Engine::MySql9_7];
        Self {
            runtime: Runtime::new().expect("a runtime can be started"),
            databases: engines
                .map(|engine| (engine.name(), (engine, OnceCell::new())))
                .into(),
            gate: OnceCell::new(),
            schemas: AtomicU32::new(0),
        }
    }

    /// Begins to start what `backends` need; a case waits for its own.
    fn start_servers(&'static self, backends: impl Iterator<Item = Backend>) {
        let engines: BTreeMap<_, _> = backends
            .filter_map(Backend::engine)
            .map(|engine| (engine.name(), engine))
            .collect();
        for engine in engines.into_values() {
            std::thread::spawn(move || self.runtime.block_on(self.database(engine)).map(drop));
        }
    }

    fn run(&self, backend: Backend, case: &Case) -> Result<(), Failed> {
        let context = self.runtime.block_on(self.context(backend, case.name))?;
        (case.run)(&self.runtime, &context);
        Ok(())
    }

    async fn context(&self, backend: Backend, case: &str) -> Result<Context, String> {
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        let database_url = match backend.engine() {
            None => format!(
                "sqlite://{}",
                scratch.path().join("perf-tracking.db").display()
            ),
            Some(_) if backend == Backend::Text => {
                self.gate()
                    .await?
                    .create_schema(&self.schema_name(case))
                    .await
            }
            Some(engine) => {
                self.database(engine)
                    .await?
                    .create_schema(&self.schema_name(case))
                    .await
            }
        };
        Ok(Context {
            backend,
            database_url,
            scratch,
        })
    }

    /// A name that is new in every server, and says which case filled the schema.
    fn schema_name(&self, case: &str) -> String {
        let number = self.schemas.fetch_add(1, Ordering::Relaxed);
        let case = case.replace("::", "_");
        format!("{}_{number}", case.get(..50).unwrap_or(&case))
    }

    async fn database(&self, engine: Engine) -> Result<&Database, String> {
        let (_, server) = &self.databases[engine.name()];
        let start = async || {
            Database::try_start(engine)
                .await
                .map_err(|error| format!("{engine}: {error:#}"))
        };
        server
            .get_or_init(start)
            .await
            .as_ref()
            .map_err(Clone::clone)
    }

    async fn gate(&self) -> Result<&TextGate, String> {
        let start = async || Ok(TextGate::start(self.database(Engine::MariaDb11_8).await?).await);
        self.gate
            .get_or_init(start)
            .await
            .as_ref()
            .map_err(Clone::clone)
    }

    fn stop_servers(&self) {
        self.runtime.block_on(async {
            for (_, server) in self.databases.values() {
                if let Some(Ok(database)) = server.get() {
                    database.remove().await;
                }
            }
        });
    }
}
