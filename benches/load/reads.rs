//! Every read with every kind of filter, on one series of few runs and on one of many, turn by turn: no read may cost
//! more because the series has grown.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use sqlx::mysql::MySqlConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use tempfile::TempDir;

use crate::Plan;
use crate::client::Client;
use crate::data::METRICS;
use crate::report::{Report, Row};
use crate::scenarios::{database_file, in_folder, median, scratch, server_settings, timed};
use crate::support::databases::{Database, Engine};
use crate::support::long_series::{self, Dialect, Read};
use crate::support::service::{Service, ServiceOptions};

/// The metric that every run has and that is asked for.
const METRIC: &str = "callgrind.ir";

/// Of a round of the load, the time that one read has on one table.
const PARTS_OF_A_ROUND: u32 = 16;

/// The fewest answers of a round whose median says something.
const FEWEST: usize = 5;

/// A service on one long series.
struct Target {
    client: Client,
    runs: u32,
    _service: Service,
}

impl Target {
    async fn new(service: Service, runs: u32) -> Result<Self> {
        let token = service.token("runs:read").await;
        Ok(Self {
            client: Client::connect(service.address(), &token).await?,
            runs,
            _service: service,
        })
    }

    /// Milliseconds of one answer in the middle, of as many as `time` has room for.
    async fn round(&mut self, read: &Read, time: Duration) -> Result<f64> {
        let started = Instant::now();
        let mut millis = Vec::new();
        while millis.len() < FEWEST || started.elapsed() < time {
            let asked = Instant::now();
            self.client.get(&read.path).await?.expect(200)?;
            millis.push(asked.elapsed().as_secs_f64() * 1000.0);
        }
        Ok(median(&millis))
    }

    async fn bytes(&mut self, read: &Read) -> Result<usize> {
        let answer = self.client.get(&read.path).await?;
        let answer = answer.expect(200).with_context(|| read.path.clone())?;
        Ok(answer.body.len())
    }
}

/// A line a read.
async fn compare(
    name: &str,
    mut small: Target,
    mut large: Target,
    plan: &Plan,
    report: &mut Report,
) -> Result<()> {
    let time = plan.round / PARTS_OF_A_ROUND;
    for read in long_series::reads(METRIC) {
        let sizes = [small.bytes(&read).await?, large.bytes(&read).await?];
        let (mut of_small, mut of_large, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..plan.rounds {
            let one = small.round(&read, time).await?;
            let other = large.round(&read, time).await?;
            of_small.push(one);
            of_large.push(other);
            ratios.push(other / one);
        }
        report.row(Row {
            what: format!("{name}: {}, {} runs", read.what, large.runs),
            measured: format!("{:.2} ms, {} bytes", median(&of_large), sizes[1]),
            beside: format!(
                "{} runs {:.2} ms, {} bytes",
                small.runs,
                median(&of_small),
                sizes[0]
            ),
            ratio: format!("{:.2}", median(&ratios)),
            target: "at most 1.3",
            ..Row::default()
        });
    }
    Ok(())
}

/// On SQLite.
pub(crate) async fn sqlite(plan: &Plan, report: &mut Report) -> Result<()> {
    let scratch = scratch()?;
    let small = sqlite_target(&scratch, "short", plan.small_runs).await?;
    let large = sqlite_target(&scratch, "long", plan.large_runs).await?;
    compare("sqlite", small, large, plan, report).await
}

async fn sqlite_target(scratch: &TempDir, name: &str, runs: u32) -> Result<Target> {
    let data_dir = scratch.path().join(name);
    let mut service = Service::try_start(in_folder(&data_dir)).await?;
    service.terminate().await;
    let file = database_file(&data_dir)?;
    let filling = async {
        let options = SqliteConnectOptions::new().filename(&file);
        let mut connection = options
            .synchronous(SqliteSynchronous::Off)
            .connect()
            .await?;
        for sql in long_series::statements(Dialect::Sqlite, runs, &METRICS) {
            connection.execute(AssertSqlSafe(sql)).await?;
        }
        Ok(connection.close().await?)
    };
    timed(&format!("filled {name}"), filling).await?;
    service.restart().await;
    Target::new(service, runs).await
}

/// On a server.
pub(crate) async fn server(engine: Engine, plan: &Plan, report: &mut Report) -> Result<()> {
    let database = Database::start(engine).await;
    for setting in server_settings(engine) {
        database.execute(setting).await;
    }
    let small = server_target(&database, "short", plan.small_runs).await?;
    let large = server_target(&database, "long", plan.large_runs).await?;
    compare(engine.name(), small, large, plan, report).await
}

async fn server_target(database: &Database, schema: &str, runs: u32) -> Result<Target> {
    let url = database.create_schema(schema).await;
    let service = Service::try_start(ServiceOptions::with_database(&url)).await?;
    let filling = async {
        let options: MySqlConnectOptions = url.parse()?;
        let mut connection = options.connect().await?;
        let analyze = "ANALYZE TABLE runs, metrics, series_repos, series_metrics, run_details, reference_runs";
        for sql in long_series::statements(Dialect::Server, runs, &METRICS) {
            connection.execute(AssertSqlSafe(sql)).await?;
        }
        connection.execute(analyze).await?;
        Ok(connection.close().await?)
    };
    timed(&format!("filled {schema}"), filling).await?;
    Target::new(service, runs).await
}
