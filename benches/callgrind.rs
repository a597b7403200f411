//! How fast a callgrind file is read, beside `wc -l`.
//!
//! `cargo bench --bench callgrind -- 1024` makes a file of 1024 MiB in the folder for temporary files
//! (64 MiB without an argument), reads it three times each way, and prints the best time and the
//! most memory that this process ever held.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use perf_tracking::collect::{Callgrind, Parts};

const DEFAULT_MIB: u64 = 64;
const ROUNDS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo bench` adds a flag of its own.
    let mib = env::args()
        .skip(1)
        .find(|arg| !arg.starts_with('-'))
        .map_or(Ok(DEFAULT_MIB), |arg| arg.parse())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("callgrind.out");
    let instructions = write_file(&path, mib * 1024 * 1024)?;

    let ours = best(|| read(&path, instructions))?;
    let lines = best(|| count_lines(&path))?;
    let size = fs::metadata(&path)?.len();
    show("perf-tracking", ours, size);
    show("wc -l", lines, size);
    println!(
        "{:.2} times as long as `wc -l`",
        ours.as_secs_f64() / lines.as_secs_f64()
    );
    if let Some(peak) = peak_memory() {
        println!("peak memory {peak}");
    }
    Ok(())
}

/// A file as callgrind writes it, at least `size` bytes long; how many instructions it counts.
fn write_file(path: &Path, size: u64) -> Result<u64, Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(path)?);
    write!(
        file,
        "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 1\ncmd: server\npart: 1\n\npositions: line\nevents: Ir Dr Dw\nsummary: 0\n\n\nob=(1) /build/server\nfl=(1) server.cc\n"
    )?;
    let (mut written, mut instructions, mut function) = (0, 0_u64, 0_u64);
    while written < size {
        function += 1;
        let mut block = format!("fn=({function}) Session::run_{function}(std::string const&)\n");
        for line in 1..40 {
            let cost = (function * 7919 + line) % 1000 + 1;
            instructions += cost;
            block.push_str(&format!("+{line} {cost} {} 1\n", cost / 2));
        }
        block.push_str(&format!(
            "cfn=({})\ncalls=3 120\n+2 90 30 3\n\n",
            function / 2 + 1
        ));
        file.write_all(block.as_bytes())?;
        written += block.len() as u64;
    }
    writeln!(file, "totals: {instructions} 1 1")?;
    file.flush()?;
    Ok(instructions)
}

fn read(path: &Path, instructions: u64) -> Result<(), Box<dyn Error>> {
    let mut callgrind = Callgrind::default();
    callgrind.add("callgrind.out", File::open(path)?)?;
    let reading = callgrind.finish(Parts::All)?;
    let found = reading.metrics[0].value.to_string();
    if found != instructions.to_string() {
        return Err(format!("read {found} instructions, wrote {instructions}").into());
    }
    Ok(())
}

fn count_lines(path: &Path) -> Result<(), Box<dyn Error>> {
    let status = Command::new("wc")
        .arg("-l")
        .arg(path)
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        return Err("wc failed".into());
    }
    Ok(())
}

fn best(mut work: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<Duration, Box<dyn Error>> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

fn show(name: &str, time: Duration, size: u64) {
    let rate = size as f64 / time.as_secs_f64() / (1024.0 * 1024.0);
    println!(
        "{name:<14} {:>8.3} s  {rate:>8.0} MiB/s",
        time.as_secs_f64()
    );
}

/// The high-water mark of this process, where the system tells it.
fn peak_memory() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().to_owned())
}
