//! The files that a document is made of: flags -> readers -> metrics.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;

use crate::collect::{
    self, Callgrind, Criterion, Failures, Kind, Parts, PerformanceSchema, Reading, Unreadable,
    plural,
};
use crate::domain::Metric;
use crate::files::gathered::{Gathered, read_text, say, say_notes, text_of, unopened};
use crate::files::sizes::SizeArgs;

/// Which files, of which tools.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "What the tools left (any mix)")]
pub(super) struct FileArgs {
    /// callgrind.out files of one measurement: parts, threads and processes are summed
    #[arg(long, value_name = "FILE", num_args = 1..)]
    callgrind: Vec<PathBuf>,
    /// Take the parts of callgrind that were given, though others were not
    #[arg(long, requires = "callgrind")]
    callgrind_some_parts: bool,
    /// A massif.out file, for the peak of the heap
    #[arg(long, value_name = "FILE")]
    massif: Option<PathBuf>,
    #[command(flatten)]
    sizes: SizeArgs,
    /// What `sysbench ... run` printed
    #[arg(long, value_name = "FILE", num_args = 1..)]
    sysbench: Vec<PathBuf>,
    /// What the client of MariaDB or MySQL printed with --batch of the summaries in performance_schema
    #[arg(long, value_name = "FILE", num_args = 1..)]
    performance_schema: Vec<PathBuf>,
    /// The same of before the load, which is subtracted
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "performance_schema")]
    performance_schema_before: Vec<PathBuf>,
    /// locust's PREFIX_stats.csv
    #[arg(long, value_name = "FILE", num_args = 1..)]
    locust: Vec<PathBuf>,
    /// hyperfine's --export-json
    #[arg(long, value_name = "FILE", num_args = 1..)]
    hyperfine: Vec<PathBuf>,
    /// criterion's folder (target/criterion), or the estimates.json of one benchmark
    #[arg(long, value_name = "PATH", num_args = 1..)]
    criterion: Vec<PathBuf>,
    /// google-benchmark's JSON
    #[arg(long, value_name = "FILE", num_args = 1..)]
    google_benchmark: Vec<PathBuf>,
    /// pytest's --benchmark-json
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pytest_benchmark: Vec<PathBuf>,
    /// JMH's JSON (-rf json)
    #[arg(long, value_name = "FILE", num_args = 1..)]
    jmh: Vec<PathBuf>,
    /// What `go test -bench` printed
    #[arg(long, value_name = "FILE", num_args = 1..)]
    go_bench: Vec<PathBuf>,
    /// Lines of `name value`, or a JSON object of names and numbers, that were counted
    #[arg(long, value_name = "FILE", num_args = 1..)]
    values: Vec<PathBuf>,
    /// The same, read off a clock: they count for one class of hosts alone
    #[arg(long, value_name = "FILE", num_args = 1..)]
    wallclock_values: Vec<PathBuf>,
    /// Take the times of commands and requests that failed, and leave failed benchmarks out
    #[arg(long)]
    allow_failures: bool,
}

/// A reader of a text.
type Reader = fn(&str, Failures) -> Result<Reading, Unreadable>;

impl FileArgs {
    /// Reads every file.
    ///
    /// # Errors
    /// All that is wrong with any of them, a line each.
    pub(super) fn gather(&self) -> anyhow::Result<Vec<Metric>> {
        let mut gathered = Gathered::default();
        self.gather_callgrind(&mut gathered);
        if let Some(path) = &self.massif {
            let opened = File::open(path).and_then(collect::read_massif);
            gathered.take(path, flatten(opened));
        }
        self.sizes.gather(&mut gathered);
        for path in &self.criterion {
            gather_criterion(path, &mut gathered);
        }
        let texts: [(&[PathBuf], Reader); 9] = [
            (&self.sysbench, |text, _| collect::read_sysbench(text)),
            (&self.locust, collect::read_locust),
            (&self.hyperfine, collect::read_hyperfine),
            (&self.google_benchmark, collect::read_google_benchmark),
            (&self.pytest_benchmark, |text, _| {
                collect::read_pytest_benchmark(text)
            }),
            (&self.jmh, |text, _| collect::read_jmh(text)),
            (&self.go_bench, |text, _| collect::read_go_bench(text)),
            (&self.values, |text, _| {
                collect::read_values(text, Kind::Counted)
            }),
            (&self.wallclock_values, |text, _| {
                collect::read_values(text, Kind::Timed)
            }),
        ];
        let failures = match self.allow_failures {
            true => Failures::Taken,
            false => Failures::Refused,
        };
        for (paths, read) in texts {
            for path in paths {
                gathered.take(path, read_text(path, |text| read(text, failures)));
            }
        }
        self.gather_performance_schema(&mut gathered);
        gathered.finish()
    }

    fn gather_performance_schema(&self, gathered: &mut Gathered) {
        let mut before = PerformanceSchema::default();
        for path in &self.performance_schema_before {
            let earlier = read_text(path, |text| {
                before.clone().and(PerformanceSchema::parse(text)?)
            });
            match earlier {
                Ok(earlier) => before = earlier,
                Err(fault) => return gathered.fault(path, fault),
            }
        }
        for path in &self.performance_schema {
            let read = |text: &str| PerformanceSchema::parse(text)?.since(&before)?.read();
            gathered.take(path, read_text(path, read));
        }
    }

    fn gather_callgrind(&self, gathered: &mut Gathered) {
        let mut callgrind = Callgrind::default();
        let mut all_read = true;
        for path in &self.callgrind {
            let name = path.to_string_lossy();
            let read = File::open(path)
                .map_err(|error| unopened(&error))
                .and_then(|file| {
                    callgrind
                        .add(&name, file)
                        .map_err(|error| error.to_string())
                });
            match read {
                Ok(what) => say(path, &what),
                Err(fault) => {
                    all_read = false;
                    gathered.fault(path, fault);
                }
            }
        }
        // What is missing cannot be told while a file is unread.
        if let (Some(path), true) = (self.callgrind.first(), all_read) {
            let parts = if self.callgrind_some_parts {
                Parts::Given
            } else {
                Parts::All
            };
            let finished = callgrind.finish(parts).map_err(|error| error.to_string());
            match finished {
                // What each file holds was said as it was read.
                Ok(Reading { metrics, what, .. }) => {
                    if self.callgrind.len() > 1 {
                        say(Path::new("--callgrind"), &what);
                    }
                    gathered.add(path, metrics);
                }
                Err(fault) => gathered.fault(Path::new("--callgrind"), fault),
            }
        }
    }
}

fn flatten(read: io::Result<Result<Reading, Unreadable>>) -> Result<Reading, String> {
    read.map_err(|error| unopened(&error))?
        .map_err(|error| error.to_string())
}

/// Estimates of one benchmark, and when they were written.
struct Estimates {
    path: PathBuf,
    written: SystemTime,
}

/// Results that are this much older than the newest are of another run: no run takes as long.
const STALE: Duration = Duration::from_secs(6 * 60 * 60);

/// The newest estimates of every benchmark below a folder, or those of one. Stale ones are left out.
fn gather_criterion(path: &Path, gathered: &mut Gathered) {
    let found = match find_estimates(path) {
        Ok(found) => found,
        Err(error) => return gathered.fault(path, unopened(&error)),
    };
    if found.is_empty() {
        let fault =
            "holds no new/estimates.json; run `cargo bench` first, and give target/criterion";
        return gathered.fault(path, fault.to_owned());
    }
    let newest = found.iter().map(|estimates| estimates.written).max();
    for Estimates { path, written } in found {
        let age = newest.and_then(|newest| newest.duration_since(written).ok());
        if let Some(age) = age.filter(|age| *age > STALE) {
            say_notes(&path, &[stale(age)]);
            continue;
        }
        let read = text_of(&path.with_file_name("benchmark.json"))
            .map_err(|fault| format!("benchmark.json beside it {fault}"))
            .and_then(|benchmark| {
                read_text(&path, |text| {
                    collect::read_criterion(Criterion {
                        estimates: text,
                        benchmark: &benchmark,
                    })
                })
            });
        gathered.take(&path, read);
    }
}

/// criterion never deletes the results of a benchmark that is gone.
fn stale(age: Duration) -> String {
    let hours = age.as_secs() / 3600;
    let age = match hours {
        0..48 => plural(usize::try_from(hours).unwrap_or_default(), "hour"),
        _ => plural(usize::try_from(hours / 24).unwrap_or_default(), "day"),
    };
    format!(
        "warning: is {age} older than the newest result and is left out, because its benchmark may \
         be gone; run `cargo bench` again, or give this file by itself"
    )
}

fn find_estimates(path: &Path) -> io::Result<Vec<Estimates>> {
    let of = |path: PathBuf| -> io::Result<Estimates> {
        let written = fs::metadata(&path)?.modified()?;
        Ok(Estimates { path, written })
    };
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![of(path.to_owned())?]);
    }
    let mut found = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            // A link may lead back to where it stands.
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.file_name() == "estimates.json" && folder.ends_with("new") {
                found.push(of(entry.path())?);
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_hours_or_days() {
        for (hours, said) in [
            (7, "7 hours"),
            (47, "47 hours"),
            (48, "2 days"),
            (8760, "365 days"),
        ] {
            let told = stale(Duration::from_secs(hours * 3600));
            assert!(told.contains(&format!("is {said} older")), "{told}");
        }
    }
}
