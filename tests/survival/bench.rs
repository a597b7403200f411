//! What the cases share: a runtime, and servers that start with the first case that needs them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use crate::fleet::Fleet;
use crate::support::databases::{Database, Engine};
use crate::support::service::{Service, ServiceOptions, http_client};
use crate::support::text_gate::TextGate;

/// A machine with two busy processors; what holds takes a tenth of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Where the runs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Sqlite,
    MariaDb,
    MySql,
    /// MariaDB behind a gate that takes statements as text only.
    Text,
}

impl Place {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
            Self::Text => "text",
        }
    }
}

/// A database for one case.
pub(crate) struct Ground<'b> {
    /// What the service is told.
    pub(crate) url: String,
    /// The same database without anything between, for the audit.
    pub(crate) direct_url: String,
    /// The server, where there is one.
    pub(crate) server: Option<&'b Database>,
    /// Goes away with the case.
    _folder: tempfile::TempDir,
}

pub(crate) struct Bench {
    runtime: Runtime,
    mariadb: OnceCell<Database>,
    mysql: OnceCell<Database>,
    gate: OnceCell<TextGate>,
    schemas: AtomicU32,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            runtime: Runtime::new().expect("a runtime can be started"),
            mariadb: OnceCell::new(),
            mysql: OnceCell::new(),
            gate: OnceCell::new(),
            schemas: AtomicU32::new(0),
        }
    }

    pub(crate) fn block_on<T>(&self, case: impl Future<Output = T>) -> T {
        self.runtime.block_on(case)
    }

    /// Removes the containers.
    pub(crate) fn stop(&self) {
        self.block_on(async {
            for server in [&self.mariadb, &self.mysql] {
                if let Some(server) = server.get() {
                    server.remove().await;
                }
            }
        });
    }

    /// An empty database at `place`.
    pub(crate) async fn ground(&self, place: Place) -> Ground<'_> {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let schema = format!("survival_{}", self.schemas.fetch_add(1, Ordering::Relaxed));
        let (url, direct_url, server) = match place {
            Place::Sqlite => {
                let url = format!("sqlite://{}/runs.db", folder.path().display());
                (url.clone(), url, None)
            }
            Place::MariaDb => self.served(self.mariadb().await, &schema).await,
            Place::MySql => {
                let server = self.mysql.get_or_init(|| Database::start(Engine::MySql9_7));
                self.served(server.await, &schema).await
            }
            Place::Text => {
                let server = self.mariadb().await;
                let gate = self.gate.get_or_init(|| TextGate::start(server)).await;
                let url = gate.create_schema(&schema).await;
                (url, server.url(&schema), Some(server))
            }
        };
        Ground {
            url,
            direct_url,
            server,
            _folder: folder,
        }
    }

    async fn served<'b>(
        &self,
        server: &'b Database,
        schema: &str,
    ) -> (String, String, Option<&'b Database>) {
        let url = server.create_schema(schema).await;
        (url.clone(), url, Some(server))
    }

    async fn mariadb(&self) -> &Database {
        self.mariadb
            .get_or_init(|| Database::start(Engine::MariaDb11_8))
            .await
    }
}

/// A service that gives its database two seconds for each use case.
pub(crate) fn impatient(url: &str) -> ServiceOptions {
    ServiceOptions {
        args: vec!["--database-timeout".to_owned(), "2s".to_owned()],
        ..ServiceOptions::with_database(url)
    }
}

/// How long until the service is ready and an upload is acknowledged, from now on.
///
/// # Panics
/// Where that takes longer than `limit`.
pub(crate) async fn recovery(service: &Service, fleet: &Fleet, limit: Duration) -> Duration {
    let mended = Instant::now();
    service.await_status("/readyz", 200).await;
    fleet.await_acknowledged(1).await;
    let took = mended.elapsed();
    assert!(
        took < limit,
        "ready and writing again only after {took:?}, not within {limit:?}"
    );
    took
}

/// The value of one of the service's own gauges.
pub(crate) async fn gauge(service: &Service, name: &str) -> Option<f64> {
    let answer = http_client()
        .get(format!("{}/metrics", service.url()))
        .send();
    let text = answer.await.ok()?.text().await.ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.rsplit_once(' ')?.1.parse().ok()
}
