//! What is measured, part by part.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use crate::client::Client;
use crate::data::{Question, Run, SERIES, WINDOW, series_of};
use crate::drive::{Tally, Worker, drive};
use crate::process::{Cpu, Watched, resident_bytes};
use crate::report::{Report, Row};
use crate::support::databases::{Database, Engine};
use crate::support::service::{Service, ServiceOptions};
use crate::{Plan, bare, fill};

/// Uploads through the service.
struct Upload {
    client: Client,
    series: u32,
}

impl Worker for Upload {
    async fn once(&mut self) -> Result<()> {
        let run = Run::new(self.series);
        let answer = self.client.post("/v1/runs", &run.json()).await?;
        answer.expect(201)?;
        Ok(())
    }
}

/// Reads windows through the service.
struct History {
    client: Client,
    series: u32,
    with_dim: bool,
}

impl Worker for History {
    async fn once(&mut self) -> Result<()> {
        let question = Question::new(self.series, self.with_dim);
        self.client.get(&question.path()).await?.expect(200)?;
        Ok(())
    }
}

/// Reads the list of series through the service.
struct SeriesList(Client);

impl Worker for SeriesList {
    async fn once(&mut self) -> Result<()> {
        self.0.get("/v1/series").await?.expect(200)?;
        Ok(())
    }
}

/// A started service and who may ask it.
struct Target {
    service: Service,
    token: String,
    watched: Watched,
    connections: usize,
    /// Series that its tables hold.
    series: u32,
}

impl Target {
    async fn new(
        service: Service,
        database: Option<u32>,
        plan: &Plan,
        series: u32,
    ) -> Result<Self> {
        let token = service.token("runs:read runs:write").await;
        let watched = Watched {
            service: service.process_id().context("the service runs")?,
            database,
        };
        Ok(Self {
            service,
            token,
            watched,
            connections: plan.connections,
            series,
        })
    }

    async fn client(&self) -> Result<Client> {
        Client::connect(self.service.address(), &self.token).await
    }

    async fn workers<W>(&self, make: impl Fn(Client) -> W) -> Result<Vec<W>> {
        let mut workers = Vec::with_capacity(self.connections);
        for _ in 0..self.connections {
            workers.push(make(self.client().await?));
        }
        Ok(workers)
    }

    async fn uploads(&self, series: u32) -> Result<Vec<Upload>> {
        self.workers(|client| Upload { client, series }).await
    }

    async fn histories(&self, with_dim: bool) -> Result<Vec<History>> {
        let series = self.series;
        let make = |client| History {
            client,
            series,
            with_dim,
        };
        self.workers(make).await
    }

    /// Whether a window holds what it should, so that an empty answer is not taken for a fast one.
    async fn check_window(&self) -> Result<()> {
        let mut client = self.client().await?;
        let path = Question::new(self.series, false).path();
        let answer = client.get(&path).await?.expect(200)?;
        let json: serde_json::Value = serde_json::from_slice(answer.body)?;
        let points = json["metrics"][0]["points"].as_array().map(Vec::len);
        ensure!(points == Some(WINDOW), "{path} answered {json}");
        Ok(())
    }
}

/// The rounds of one kind of worker.
#[derive(Default)]
struct Rounds {
    rates: Vec<f64>,
    all: Option<Tally>,
    cpu: Cpu,
}

impl Rounds {
    async fn run<W: Worker>(
        &mut self,
        workers: &mut Vec<W>,
        time: Duration,
        watched: Watched,
    ) -> Result<()> {
        let before = watched.cpu()?;
        let tally = drive(workers, time).await?;
        self.cpu = self.cpu.plus(watched.cpu()?.since(before));
        self.rates.push(tally.per_second());
        match &mut self.all {
            Some(all) => all.add(tally)?,
            None => self.all = Some(tally),
        }
        Ok(())
    }

    fn cpu_a_request(&self) -> String {
        let done = self.all.as_ref().map_or(0, |tally| tally.done).max(1) as f64;
        let micros = |time: Duration| format!("{:.0}", time.as_micros() as f64 / done);
        let Cpu {
            load,
            service,
            database,
        } = self.cpu;
        format!(
            "{}, {}, {}",
            micros(service),
            micros(database),
            micros(load)
        )
    }

    fn into_row(self, what: String, target: &'static str, report: &mut Report) -> Row {
        let cpu = self.cpu_a_request();
        let (mut p50, mut p99) = (String::new(), String::new());
        if let Some(tally) = &self.all {
            let millis = |quantile| {
                let micros = tally.latency.value_at_quantile(quantile);
                format!("{:.2}", micros as f64 / 1000.0)
            };
            p50 = millis(0.5);
            p99 = millis(0.99);
            note_failures(&what, tally, report);
        }
        Row {
            what,
            measured: format!("{:.0}/s", median(&self.rates)),
            target,
            p50,
            p99,
            cpu,
            ..Row::default()
        }
    }
}

fn note_failures(what: &str, tally: &Tally, report: &mut Report) {
    if tally.failed > 0 {
        let first = tally.first_failure.as_deref().unwrap_or_default();
        report.failure(format!("{what}: {} requests, first: {first}", tally.failed));
    }
}

pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// Rounds of `subject` and `reference`, one after the other, so that whatever else the machine does falls on both.
async fn pair<S: Worker, R: Worker>(
    plan: &Plan,
    (subject, subject_watched): (&mut Vec<S>, Watched),
    (reference, reference_watched): (&mut Vec<R>, Watched),
) -> Result<(Rounds, Rounds)> {
    drive(subject, plan.round / 2).await?;
    drive(reference, plan.round / 2).await?;
    let mut rounds = (Rounds::default(), Rounds::default());
    for _ in 0..plan.rounds {
        rounds.0.run(subject, plan.round, subject_watched).await?;
        rounds
            .1
            .run(reference, plan.round, reference_watched)
            .await?;
    }
    Ok(rounds)
}

/// The median of what each round of `subject` was of the round of `reference` beside it.
fn ratio(subject: &Rounds, reference: &Rounds) -> f64 {
    let ratios = subject.rates.iter().zip(&reference.rates);
    median(&ratios.map(|(one, other)| one / other).collect::<Vec<_>>())
}

/// A line that sets the service beside the bare loop.
fn against_bare(
    what: &str,
    target: &'static str,
    (service, bare): (Rounds, Rounds),
    report: &mut Report,
) {
    if let Some(tally) = &bare.all {
        note_failures(&format!("{what}, bare"), tally, report);
    }
    let share = ratio(&service, &bare);
    let beside = format!(
        "bare {:.0}/s, CPU {}",
        median(&bare.rates),
        bare.cpu_a_request()
    );
    let row = service.into_row(what.to_owned(), target, report);
    report.row(Row {
        beside,
        ratio: format!("{share:.2}"),
        ..row
    });
}

/// A line of the service alone.
async fn alone<W: Worker>(
    what: &str,
    target: &'static str,
    plan: &Plan,
    mut workers: Vec<W>,
    watched: Watched,
    report: &mut Report,
) -> Result<()> {
    drive(&mut workers, plan.round / 2).await?;
    let mut rounds = Rounds::default();
    for _ in 0..plan.rounds {
        rounds.run(&mut workers, plan.round, watched).await?;
    }
    let row = rounds.into_row(what.to_owned(), target, report);
    report.row(row);
    Ok(())
}

/// A line that sets a window of many runs beside one of few.
async fn flat(plan: &Plan, small: &Target, large: &Target, report: &mut Report) -> Result<()> {
    let (subject, reference) = pair(
        plan,
        (&mut large.histories(false).await?, large.watched),
        (&mut small.histories(false).await?, small.watched),
    )
    .await?;
    let cost = 1.0 / ratio(&subject, &reference);
    let beside = format!("{} runs {:.0}/s", plan.small_runs, median(&reference.rates));
    let what = format!("history of 20, {} runs", plan.large_runs);
    let row = subject.into_row(what, "cost at most 1.3 times", report);
    report.row(Row {
        beside,
        ratio: format!("{cost:.2} times the cost"),
        ..row
    });
    Ok(())
}

async fn series_list(plan: &Plan, large: &Target, report: &mut Report) -> Result<()> {
    let what = format!(
        "/v1/series, {} series, {} runs",
        large.series, plan.large_runs
    );
    let workers = vec![SeriesList(large.client().await?)];
    alone(
        &what,
        "p50 below 100 ms",
        plan,
        workers,
        large.watched,
        report,
    )
    .await
}

/// Uploads and reads on a server, beside the bare loop.
pub(crate) async fn server(engine: Engine, plan: &Plan, report: &mut Report) -> Result<()> {
    let database = Database::start(engine).await;
    for setting in server_settings(engine) {
        database.execute(setting).await;
    }
    let (small, small_url) = server_target(&database, "small", plan.small_runs, plan).await?;
    let (large, large_url) = server_target(&database, "large", plan.large_runs, plan).await?;
    for (target, url) in [(&small, &small_url), (&large, &large_url)] {
        // First of all, as a statement is seen to be prepared only the first time.
        check_statements(target, url, report).await?;
        target.check_window().await?;
    }
    tokio::time::sleep(plan.pause).await;
    let name = engine.name();
    for with_dim in [false, true] {
        let connections = bare::connections(&large_url, plan.connections).await?;
        let series = large.series;
        let mut bare: Vec<_> = connections
            .into_iter()
            .map(|connection| bare::History {
                connection,
                series,
                with_dim,
            })
            .collect();
        let rounds = pair(
            plan,
            (&mut large.histories(with_dim).await?, large.watched),
            (&mut bare, large.watched),
        )
        .await?;
        let asked = if with_dim { "key and dimension" } else { "key" };
        let what = format!("{name}: history of 20, by {asked}");
        against_bare(&what, "0.70 of bare", rounds, report);
    }
    flat(plan, &small, &large, report).await?;
    series_list(plan, &large, report).await?;
    for (series, target) in [(SERIES, "0.80 of bare"), (1, "")] {
        let connections = bare::connections(&small_url, plan.connections).await?;
        let mut bare: Vec<_> = connections
            .into_iter()
            .map(|connection| bare::Upload { connection, series })
            .collect();
        let rounds = pair(
            plan,
            (&mut small.uploads(series).await?, small.watched),
            (&mut bare, small.watched),
        )
        .await?;
        let what = format!("{name}: uploads of 9 metrics, {series} series");
        against_bare(&what, target, rounds, report);
    }
    Ok(())
}

/// Room for a million runs, as who keeps a million gives it.
pub(crate) fn server_settings(engine: Engine) -> [&'static str; 2] {
    let pool = "SET GLOBAL innodb_buffer_pool_size = 2147483648";
    match engine {
        Engine::MariaDb11_8 | Engine::MariaDb10_11 => {
            [pool, "SET GLOBAL innodb_log_file_size = 1073741824"]
        }
        Engine::MySql9_7 => [pool, "SET GLOBAL innodb_redo_log_capacity = 1073741824"],
    }
}

/// A service on a schema of `runs` runs.
async fn server_target(
    database: &Database,
    schema: &str,
    runs: u32,
    plan: &Plan,
) -> Result<(Target, String)> {
    let url = database.create_schema(schema).await;
    let mut options = ServiceOptions::with_database(&url);
    options
        .args
        .push(format!("--database-connections={}", plan.connections));
    let service = Service::try_start(options).await?;
    timed(&format!("filled {schema}"), fill::server(&url, runs)).await?;
    let pid = database.process_id().await;
    let target = Target::new(service, pid, plan, series_of(runs)).await?;
    Ok((target, url))
}

pub(crate) async fn timed<T>(what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    let started = Instant::now();
    let result = work.await?;
    eprintln!("{what} in {:.1} s", started.elapsed().as_secs_f64());
    Ok(result)
}

/// Notes where the bare loop does not send what the service sends.
async fn check_statements(target: &Target, url: &str, report: &mut Report) -> Result<()> {
    let mut log = bare::StatementLog::start(url).await?;
    let mut connections = bare::connections(url, 3).await?.into_iter();
    let mut next = || connections.next().context("there are three");
    let mut uploads = bare::Upload {
        connection: next()?,
        series: 1,
    };
    let mut service = Upload {
        client: target.client().await?,
        series: 1,
    };
    let what = same_statements(&mut log, &mut service, &mut uploads).await?;
    note_difference("uploads", what, report);
    for with_dim in [false, true] {
        let mut windows = bare::History {
            connection: next()?,
            series: 1,
            with_dim,
        };
        let mut service = History {
            client: target.client().await?,
            series: 1,
            with_dim,
        };
        let what = same_statements(&mut log, &mut service, &mut windows).await?;
        note_difference("history", what, report);
    }
    log.stop().await
}

async fn same_statements(
    log: &mut bare::StatementLog,
    service: &mut impl Worker,
    bare: &mut impl Worker,
) -> Result<Option<String>> {
    log.take().await?;
    service.once().await?;
    let first = log.take().await?;
    service.once().await?;
    let again = log.take().await?;
    bare.once().await?;
    Ok(bare::difference(&first, &again, &log.take().await?))
}

fn note_difference(what: &str, difference: Option<String>, report: &mut Report) {
    if let Some(difference) = difference {
        report.note(format!(
            "the bare loop of {what} is not the service's: {difference}"
        ));
    }
}

/// Uploads and reads on SQLite.
pub(crate) async fn sqlite(plan: &Plan, report: &mut Report) -> Result<()> {
    let scratch = scratch()?;
    let small = sqlite_target(&scratch, "small", plan.small_runs, plan).await?;
    let large = sqlite_target(&scratch, "large", plan.large_runs, plan).await?;
    for target in [&small, &large] {
        target.check_window().await?;
    }
    tokio::time::sleep(plan.pause).await;
    flat(plan, &small, &large, report).await?;
    series_list(plan, &large, report).await?;
    for (target, runs, series) in [
        (&small, plan.small_runs, SERIES),
        (&large, plan.large_runs, SERIES),
        (&small, plan.small_runs, 1),
    ] {
        let what = format!("sqlite: uploads of 9 metrics, {series} series, on top of {runs} runs");
        let workers = target.uploads(series).await?;
        alone(&what, "2000/s", plan, workers, target.watched, report).await?;
    }
    let bytes = resident_bytes(large.watched.service)?;
    report.row(Row {
        what: "sqlite: memory after the load".to_owned(),
        measured: mebibytes(bytes),
        ..Row::default()
    });
    Ok(())
}

/// On the disk that holds the build, as a folder for temporary files may be in memory, where a sync costs nothing.
pub(crate) fn scratch() -> Result<TempDir> {
    Ok(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?)
}

/// A service on a file of `runs` runs.
async fn sqlite_target(scratch: &TempDir, name: &str, runs: u32, plan: &Plan) -> Result<Target> {
    let data_dir = scratch.path().join(name);
    let mut service = Service::try_start(in_folder(&data_dir)).await?;
    service.terminate().await;
    let file = database_file(&data_dir)?;
    timed(&format!("filled {name}"), fill::sqlite(&file, runs)).await?;
    service.restart().await;
    Target::new(service, None, plan, series_of(runs)).await
}

pub(crate) fn in_folder(data_dir: &Path) -> ServiceOptions {
    ServiceOptions {
        data_dir: Some(data_dir.to_owned()),
        ..ServiceOptions::default()
    }
}

/// The one SQLite file in the service's folder.
pub(crate) fn database_file(data_dir: &Path) -> Result<PathBuf> {
    let mut files = std::fs::read_dir(data_dir)?.filter_map(|entry| Some(entry.ok()?.path()));
    files
        .find(|path| {
            let start = std::fs::read(path).unwrap_or_default();
            start.starts_with(b"SQLite format 3\0")
        })
        .context("the service made no SQLite file")
}

/// Starts of which the median counts.
const STARTS: usize = 9;
/// Time for a started service to settle.
const SETTLE: Duration = Duration::from_secs(1);

/// Time to ready and idle memory, on SQLite.
pub(crate) async fn start(_plan: &Plan, report: &mut Report) -> Result<()> {
    let scratch = scratch()?;
    let (mut new, mut existing, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..STARTS {
        let data_dir = scratch.path().join(at.to_string());
        for times in [&mut new, &mut existing] {
            let (mut service, millis) = start_once(&data_dir).await?;
            times.push(millis);
            tokio::time::sleep(SETTLE / 4).await;
            let pid = service.process_id().context("the service runs")?;
            memory.push(resident_bytes(pid)? as f64);
            service.terminate().await;
        }
    }
    for (what, times) in [("a new", new), ("an existing", existing)] {
        report.row(Row {
            what: format!("sqlite: ready with {what} file, median of {STARTS} starts"),
            measured: format!("{:.0} ms", median(&times)),
            target: "below 100 ms",
            ..Row::default()
        });
    }
    report.row(Row {
        what: "sqlite: idle resident memory".to_owned(),
        measured: mebibytes(median(&memory) as u64),
        target: "below 30 MB",
        ..Row::default()
    });
    Ok(())
}

pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / 1024.0 / 1024.0)
}

/// Milliseconds from the start of the process to the first time that it says it is ready.
async fn start_once(data_dir: &Path) -> Result<(Service, f64)> {
    let started = Instant::now();
    let service = Service::spawn(in_folder(data_dir)).await?;
    let limit = Duration::from_secs(30);
    while !is_ready(service.address()).await {
        ensure!(started.elapsed() < limit, "the service did not get ready");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok((service, started.elapsed().as_secs_f64() * 1000.0))
}

async fn is_ready(address: SocketAddr) -> bool {
    let Ok(mut client) = Client::connect(address, "").await else {
        return false;
    };
    matches!(client.get("/readyz").await, Ok(answer) if answer.status == 200)
}
