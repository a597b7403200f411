//! What the service costs and what it carries: a load on the started service, beside a bare loop that sends the same
//! statements to the same database in the same run.
//!
//! `benches/README.md` says how to run it and how to read its table. Nothing here asserts a time; a request that fails
//! makes the run fail.

mod backfill;
mod bare;
mod client;
mod data;
mod drive;
mod fill;
mod process;
mod reads;
mod report;
mod scenarios;
#[path = "../../tests/support/mod.rs"]
mod support;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use report::Report;
use support::databases::Engine;

/// Loads the started service and a bare loop on the same database, and prints one table.
#[derive(Debug, Parser)]
#[command(name = "load")]
struct Flags {
    /// Small tables and short rounds: shows that everything works, not how fast it is
    #[arg(long)]
    quick: bool,
    /// Measure this part alone
    #[arg(long)]
    only: Option<Part>,
    /// The server behind the service
    #[arg(long, default_value = "mariadb-11.8")]
    engine: Server,
    /// Runs in the large table [default: 1000000; quick: 50000]
    #[arg(long)]
    runs: Option<u32>,
    /// Runs that are loaded by `backfill` [default: 100000; quick: 5000]
    #[arg(long)]
    backfill_runs: Option<u32>,
    /// Rounds of each measurement, whose median counts [default: 5; quick: 2]
    #[arg(long)]
    rounds: Option<usize>,
    /// Seconds of a round [default: 4; quick: 1]
    #[arg(long)]
    seconds: Option<u64>,
    /// Connections of the load, and of the service to its server
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Let the service wait this many seconds after its tables are filled, so that a profiler can be attached
    #[arg(long, default_value_t = 0)]
    pause: u64,
    /// Handed over by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Uploads and reads on a server
    Server,
    /// Uploads and reads on SQLite
    Sqlite,
    /// Every read with every filter on one short and one long series, on SQLite and on a server
    Reads,
    /// Time to ready and idle memory
    Start,
    /// `backfill` and `export` of a large file, on SQLite and on a server
    Backfill,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Server {
    #[value(name = "mariadb-11.8")]
    MariaDb11_8,
    #[value(name = "mariadb-10.11")]
    MariaDb10_11,
    #[value(name = "mysql-9.7")]
    MySql9_7,
}

impl From<Server> for Engine {
    fn from(server: Server) -> Self {
        match server {
            Server::MariaDb11_8 => Self::MariaDb11_8,
            Server::MariaDb10_11 => Self::MariaDb10_11,
            Server::MySql9_7 => Self::MySql9_7,
        }
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct Plan {
    small_runs: u32,
    large_runs: u32,
    backfill_runs: u32,
    rounds: usize,
    round: Duration,
    connections: usize,
    pause: Duration,
}

/// Enough runs that a window of twenty is full in each of two hundred series.
const SMALL_RUNS: u32 = 10_000;

impl Plan {
    fn of(flags: &Flags) -> Self {
        let (large_runs, backfill_runs, rounds, seconds) = match flags.quick {
            true => (50_000, 5_000, 2, 1),
            false => (1_000_000, 100_000, 5, 4),
        };
        Self {
            small_runs: SMALL_RUNS,
            large_runs: flags.runs.unwrap_or(large_runs),
            backfill_runs: flags.backfill_runs.unwrap_or(backfill_runs),
            rounds: flags.rounds.unwrap_or(rounds).max(1),
            round: Duration::from_secs(flags.seconds.unwrap_or(seconds)),
            connections: flags.connections.max(1),
            pause: Duration::from_secs(flags.pause),
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let flags = Flags::parse();
    match measure(&flags).await {
        Ok(report) => {
            println!("{report}");
            if report.failed() {
                eprintln!("error: requests failed");
                return ExitCode::FAILURE;
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(flags: &Flags) -> anyhow::Result<Report> {
    let plan = Plan::of(flags);
    let wanted = |part| flags.only.is_none_or(|only| only == part);
    let mut report = Report::default();
    if wanted(Part::Start) {
        scenarios::start(&plan, &mut report).await?;
    }
    if wanted(Part::Sqlite) {
        scenarios::sqlite(&plan, &mut report).await?;
    }
    if wanted(Part::Server) {
        scenarios::server(flags.engine.into(), &plan, &mut report).await?;
    }
    if wanted(Part::Reads) {
        reads::sqlite(&plan, &mut report).await?;
        reads::server(flags.engine.into(), &plan, &mut report).await?;
    }
    if wanted(Part::Backfill) {
        backfill::measure(flags.engine.into(), &plan, &mut report).await?;
    }
    Ok(report)
}
