//! Real database servers in containers, which a test may kill and start again.

use std::fmt;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, MySqlConnection};
use testcontainers::bollard::models::HostConfig;
use testcontainers::bollard::query_parameters::{
    KillContainerOptionsBuilder, RemoveContainerOptionsBuilder,
};
use testcontainers::core::IntoContainerPort as _;
use testcontainers::runners::AsyncRunner as _;
use testcontainers::{ContainerAsync, ContainerRequest, GenericImage, ImageExt as _};
use url::Url;

use super::images::{Image, ensure_image};
use super::{engine, ports, wait};

/// The user that owns every schema of a test.
const USER: &str = "perf";
/// Has what a URL must encode, so that a test which builds one by hand finds out.
const PASSWORD: &str = "p@ss:w/rd#";
/// May log in without a password; only MariaDB has it, for the gate that speaks like Drizzle.
pub(super) const GATE_USER: &str = "gate";
/// Marks our containers: `docker ps --all --filter label=perf-tracking-test` finds what a killed test left.
const LABEL: &str = "perf-tracking-test";
/// A first start on a machine busy with two other databases.
const START_DEADLINE: Duration = Duration::from_secs(120);

/// A database server and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Engine {
    /// The current long-term release of MariaDB.
    MariaDb11_8,
    /// The oldest MariaDB that is still maintained.
    MariaDb10_11,
    /// The current long-term release of MySQL.
    MySql9_7,
}

impl Engine {
    /// The name that tests show.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MariaDb11_8 => "mariadb_11_8",
            Self::MariaDb10_11 => "mariadb_10_11",
            Self::MySql9_7 => "mysql_9_7",
        }
    }

    /// Where its image comes from.
    pub(crate) fn image(self) -> Image {
        match self {
            Self::MariaDb11_8 => Image {
                tag: "perf-tracking-test/mariadb:11.8",
                official: "mariadb:11.8",
                suite: "trixie",
                package: "mariadb-server",
            },
            Self::MariaDb10_11 => Image {
                tag: "perf-tracking-test/mariadb:10.11",
                official: "mariadb:10.11",
                suite: "bookworm",
                package: "mariadb-server",
            },
            Self::MySql9_7 => Image {
                tag: "perf-tracking-test/mysql:9.7",
                official: "mysql:9.7",
                suite: "sid",
                package: "mysql-server",
            },
        }
    }

    /// Starts the server as process 1, on an official image and on a stand-in alike.
    ///
    /// A stand-in brings a data folder that its package made; an official image leaves an empty one. No option file is
    /// read, as theirs differ. The durability settings are left at their defaults: tests kill the server.
    fn command(self) -> String {
        let (create, server, options, users) = match self {
            Self::MariaDb11_8 | Self::MariaDb10_11 => (
                "mariadb-install-db --no-defaults --user=mysql --datadir=/var/lib/mysql --skip-test-db \
                 --auth-root-authentication-method=normal",
                "mariadbd",
                "--innodb-log-file-size=16M --performance-schema=OFF",
                format!(
                    "{}\n{}",
                    create_user(USER, PASSWORD),
                    create_user(GATE_USER, "")
                ),
            ),
            Self::MySql9_7 => (
                "mysqld --no-defaults --initialize-insecure --user=mysql --datadir=/var/lib/mysql",
                "mysqld",
                "--innodb-redo-log-capacity=16M --performance-schema=OFF --mysqlx=OFF --disable-log-bin",
                create_user(USER, PASSWORD),
            ),
        };
        format!(
            "set -e
[ -d /var/lib/mysql/mysql ] || {create}
cat >/tmp/users.sql <<'END'
{users}
END
exec {server} --no-defaults --user=mysql --datadir=/var/lib/mysql --socket=/tmp/{server}.sock \
             --pid-file=/tmp/{server}.pid --port=3306 --bind-address=0.0.0.0 --skip-name-resolve \
             --init-file=/tmp/users.sql --innodb-buffer-pool-size=64M --max-allowed-packet=64M {options}"
        )
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One statement a line, as the server's `--init-file` wants it; runs at every start.
fn create_user(user: &str, password: &str) -> String {
    format!(
        "CREATE USER IF NOT EXISTS '{user}'@'%' IDENTIFIED BY '{password}';\n\
         GRANT ALL PRIVILEGES ON *.* TO '{user}'@'%' WITH GRANT OPTION;"
    )
}

/// A running server. Dropping it removes the container, and so does an interrupt of the test.
pub(crate) struct Database {
    engine: Engine,
    port: u16,
    container: ContainerAsync<GenericImage>,
}

impl Database {
    /// A server that answers, on a port that stays its own when it is killed and started again.
    ///
    /// # Panics
    /// Where it cannot be had, with the reason and what to run.
    pub(crate) async fn start(engine: Engine) -> Self {
        Self::try_start(engine)
            .await
            .unwrap_or_else(|error| panic!("{engine}: {error:#}"))
    }

    /// As [`Database::start`], for those who report the failure themselves.
    ///
    /// # Errors
    /// Where there is no container engine, no image, or the server does not come up.
    pub(crate) async fn try_start(engine: Engine) -> Result<Self> {
        engine::connect().await?;
        tokio::task::spawn_blocking(move || ensure_image(engine.image())).await??;
        let port = ports::free();
        let container = request(engine, port).start().await?;
        let database = Self {
            engine,
            port,
            container,
        };
        database.try_wait_ready().await?;
        Ok(database)
    }

    /// Which server this is.
    pub(crate) fn engine(&self) -> Engine {
        self.engine
    }

    /// The port on the loopback interface.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The address of `schema`, with user and password.
    pub(crate) fn url(&self, schema: &str) -> String {
        let mut url = Url::parse(&format!("mysql://{USER}@127.0.0.1:{}/{schema}", self.port))
            .expect("is a URL");
        url.set_password(Some(PASSWORD))
            .expect("a URL with a host takes a password");
        url.into()
    }

    /// Makes an empty schema with the server's own defaults and answers its URL.
    pub(crate) async fn create_schema(&self, name: &str) -> String {
        self.execute(&format!("CREATE SCHEMA `{name}`")).await;
        self.url(name)
    }

    /// Runs one statement as a user who may do everything, in no schema.
    pub(crate) async fn execute(&self, sql: &str) {
        let mut connection = self
            .connect()
            .await
            .expect("a running server takes connections");
        connection
            .execute(AssertSqlSafe(sql))
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        connection.close().await.expect("a connection closes");
    }

    /// A connection in no schema.
    ///
    /// # Errors
    /// Where the server cannot be reached.
    pub(crate) async fn connect(&self) -> sqlx::Result<MySqlConnection> {
        let url = Url::parse(&self.url("")).expect("is a URL");
        sqlx::mysql::MySqlConnectOptions::from_url(&url)?
            .connect()
            .await
    }

    /// The number of its process, where the engine runs it on this very machine.
    pub(crate) async fn process_id(&self) -> Option<u32> {
        let engine = engine::connect().await.ok()?;
        let container = engine
            .inspect_container(self.container.id(), None)
            .await
            .ok()?;
        u32::try_from(container.state?.pid?).ok()
    }

    /// Kills the server as a power cut would; the data stays.
    pub(crate) async fn kill(&self) {
        let engine = engine::connect()
            .await
            .expect("the engine that runs the container answers");
        let how = KillContainerOptionsBuilder::new().signal("KILL").build();
        engine
            .kill_container(self.container.id(), Some(how))
            .await
            .expect("a running container can be killed");
        wait::until("the container stops", START_DEADLINE, async || {
            match self.container.is_running().await {
                Ok(false) => Ok(()),
                Ok(true) => bail!("it still runs"),
                Err(error) => Err(error.into()),
            }
        })
        .await
        .expect("a killed container stops");
    }

    /// Starts a killed server again, at its old address; [`Database::wait_ready`] says when it answers.
    pub(crate) async fn restart(&self) {
        self.container
            .start()
            .await
            .expect("a stopped container starts");
    }

    /// Returns once the server answers.
    ///
    /// # Panics
    /// Where it does not, with the end of its log.
    pub(crate) async fn wait_ready(&self) {
        self.try_wait_ready()
            .await
            .unwrap_or_else(|error| panic!("{}: {error:#}", self.engine));
    }

    /// Removes the container of a server that is never dropped, as it lives as long as the process.
    pub(crate) async fn remove(&self) {
        let engine = engine::connect()
            .await
            .expect("the engine that runs the container answers");
        let how = RemoveContainerOptionsBuilder::new()
            .force(true)
            .v(true)
            .build();
        engine
            .remove_container(self.container.id(), Some(how))
            .await
            .expect("a container can be removed");
    }

    async fn try_wait_ready(&self) -> Result<()> {
        let ready = async || {
            let alive = self.container.is_running().await?;
            match self.connect().await {
                Ok(mut connection) => Ok(Some(connection.ping().await?)),
                Err(error) if alive => Err(error.into()),
                // No use in waiting for a server that has given up.
                Err(_) => anyhow::Ok(None),
            }
        };
        let outcome = wait::until("the server answers", START_DEADLINE, ready).await;
        match outcome.and_then(|answer| answer.context("the server stopped by itself")) {
            Ok(()) => Ok(()),
            Err(error) => Err(error).context(self.log_tail().await),
        }
    }

    async fn log_tail(&self) -> String {
        let log = self.container.stderr_to_vec().await.unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let lines: Vec<_> = log.lines().collect();
        format!(
            "the end of the server's log:\n{}\n",
            lines[lines.len().saturating_sub(20)..].join("\n")
        )
    }
}

fn request(engine: Engine, port: u16) -> ContainerRequest<GenericImage> {
    let (name, tag) = engine
        .image()
        .tag
        .split_once(':')
        .expect("our tags name a version");
    GenericImage::new(name, tag)
        .with_entrypoint("bash")
        .with_cmd(["-c".to_owned(), engine.command()])
        .with_mapped_port(port, 3306.tcp())
        .with_label(LABEL, engine.name())
        .with_host_config_modifier(only_on_loopback)
}

/// A test database with a known password is nobody else's business.
fn only_on_loopback(host: &mut HostConfig) {
    let bindings = host
        .port_bindings
        .iter_mut()
        .flatten()
        .flat_map(|(_, ports)| ports)
        .flatten();
    bindings.for_each(|binding| binding.host_ip = Some("127.0.0.1".to_owned()));
}
