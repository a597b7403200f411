//! Old history: a large file through `perf-tracking backfill`, and out again through `export`.

use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::process::Command;

use crate::Plan;
use crate::data::{Run, SERIES};
use crate::process::cpu_time;
use crate::report::{Report, Row};
use crate::scenarios::{in_folder, scratch, server_settings};
use crate::support::databases::{Database, Engine};
use crate::support::service::{Service, ServiceOptions};

/// Loads a file twice and exports it, on SQLite and on a server.
pub(crate) async fn measure(engine: Engine, plan: &Plan, report: &mut Report) -> Result<()> {
    let scratch = scratch()?;
    let file = scratch.path().join("runs.ndjson");
    write(&file, plan.backfill_runs)?;
    for jobs in JOBS {
        let folder = scratch.path().join(format!("data-{jobs}"));
        let service = Service::try_start(in_folder(&folder)).await?;
        let name = format!("sqlite, {jobs} jobs");
        on(&service, None, &name, jobs, &file, plan, report).await?;
    }
    let database = Database::start(engine).await;
    for setting in server_settings(engine) {
        database.execute(setting).await;
    }
    let pid = database.process_id().await;
    for jobs in JOBS {
        let url = database.create_schema(&format!("backfill_{jobs}")).await;
        let service = Service::try_start(ServiceOptions::with_database(url)).await?;
        let name = format!("{}, {jobs} jobs", engine.name());
        on(&service, pid, &name, jobs, &file, plan, report).await?;
    }
    Ok(())
}

/// As many as by default, and one, which keeps the order of all runs.
const JOBS: [u32; 2] = [16, 1];

fn write(file: &Path, runs: u32) -> Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(file)?);
    for _ in 0..runs {
        writeln!(out, "{}", Run::new(SERIES).json())?;
    }
    Ok(out.flush()?)
}

async fn on(
    service: &Service,
    database: Option<u32>,
    name: &str,
    jobs: u32,
    file: &Path,
    plan: &Plan,
    report: &mut Report,
) -> Result<()> {
    let token = service.token("runs:read runs:write").await;
    let export = file.with_extension("export");
    let (file, export) = (file.to_string_lossy(), export.to_string_lossy());
    let runs = plan.backfill_runs;
    let jobs = format!("--jobs={jobs}");
    let parts: [(&str, Vec<&str>, String); 3] = [
        (
            "backfill",
            vec!["backfill", &jobs, &file],
            format!("created {runs}"),
        ),
        (
            "the same again",
            vec!["backfill", &jobs, &file],
            format!("unchanged {runs}"),
        ),
        ("export", vec!["export", "--output", &export], String::new()),
    ];
    for (what, args, expected) in parts {
        let service_id = service.process_id().unwrap_or_default();
        let before = times(service_id, database)?;
        let started = Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_perf-tracking"))
            .args(args)
            .env("PERF_TRACKING_URL", service.url())
            .env("PERF_TRACKING_TOKEN", &token)
            .output()
            .await?;
        let elapsed = started.elapsed();
        let words = String::from_utf8_lossy(&output.stdout);
        let words: Vec<&str> = words.split_whitespace().collect();
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{what}: {errors}");
        ensure!(words.join(" ").contains(&expected), "{what}: {words:?}");
        let after = times(service_id, database)?;
        let micros = |at: usize| (after[at] - before[at]).as_micros() / u128::from(runs.max(1));
        report.row(Row {
            what: format!("{name}: {what}, {runs} runs"),
            measured: format!("{:.0}/s", f64::from(runs) / elapsed.as_secs_f64()),
            beside: format!("{:.1} s", elapsed.as_secs_f64()),
            cpu: format!("{}, {}, -", micros(0), micros(1)),
            ..Row::default()
        });
    }
    Ok(())
}

/// Processor time of the service and of its database so far.
fn times(service: u32, database: Option<u32>) -> Result<[Duration; 2]> {
    Ok([
        cpu_time(service)?,
        database.map_or(Ok(Duration::ZERO), cpu_time)?,
    ])
}
