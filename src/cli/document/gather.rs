//! The files that a document is made of: flags -> readers -> metrics.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;

use crate::collect::{self, Callgrind, Criterion, Kind, Parts, Reading, Sizes, Unreadable, plural};
use crate::domain::{Metric, MetricName};

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
    /// What `size` printed, in any of its forms
    #[arg(long, value_name = "FILE", num_args = 1..)]
    size: Vec<PathBuf>,
    /// What `size` printed of the plugins: their number, and their size together
    #[arg(long, value_name = "FILE", num_args = 1..)]
    plugin_size: Vec<PathBuf>,
    /// A program, library or archive whose size is read off; named as its file, or as said
    #[arg(long, value_name = "[NAME=]FILE", num_args = 1..)]
    binary: Vec<NamedFile>,
    /// The plugins, to be counted and measured together
    #[arg(long, value_name = "FILE", num_args = 1..)]
    plugin: Vec<PathBuf>,
    /// What `sysbench ... run` printed
    #[arg(long, value_name = "FILE", num_args = 1..)]
    sysbench: Vec<PathBuf>,
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
}

/// A file, and perhaps what to call it.
#[derive(Clone, Debug)]
struct NamedFile {
    name: Option<String>,
    path: PathBuf,
}

impl FromStr for NamedFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = match text.split_once('=') {
            Some((name, path)) => (Some(name.to_owned()), path),
            None => (None, text),
        };
        if path.is_empty() || name.as_deref() == Some("") {
            return Err("must be FILE or NAME=FILE".to_owned());
        }
        Ok(Self {
            name,
            path: path.into(),
        })
    }
}

/// A reader of a text.
type Reader = fn(&str) -> Result<Reading, Unreadable>;

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
        self.gather_sizes(&mut gathered);
        for path in &self.criterion {
            gather_criterion(path, &mut gathered);
        }
        let texts: [(&[PathBuf], Reader); 9] = [
            (&self.sysbench, collect::read_sysbench),
            (&self.locust, collect::read_locust),
            (&self.hyperfine, collect::read_hyperfine),
            (&self.google_benchmark, collect::read_google_benchmark),
            (&self.pytest_benchmark, collect::read_pytest_benchmark),
            (&self.jmh, collect::read_jmh),
            (&self.go_bench, collect::read_go_bench),
            (&self.values, |text| {
                collect::read_values(text, Kind::Counted)
            }),
            (&self.wallclock_values, |text| {
                collect::read_values(text, Kind::Timed)
            }),
        ];
        for (paths, read) in texts {
            for path in paths {
                gathered.take(path, read_text(path, read));
            }
        }
        gathered.finish()
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
                Ok(Reading { metrics, what }) => {
                    if self.callgrind.len() > 1 {
                        say(Path::new("--callgrind"), &what);
                    }
                    gathered.add(path, metrics);
                }
                Err(fault) => gathered.fault(Path::new("--callgrind"), fault),
            }
        }
    }

    fn gather_sizes(&self, gathered: &mut Gathered) {
        for path in &self.size {
            gathered.take(
                path,
                read_text(path, |text| collect::read_sizes(text)?.of_files()),
            );
        }
        for NamedFile { name, path } in &self.binary {
            let read = read_binary(path, name.as_deref())
                .and_then(|sizes| sizes.of_files().map_err(|error| error.to_string()));
            gathered.take(path, read);
        }
        let mut plugins = Sizes::default();
        let mut last = None;
        let printed = self.plugin_size.iter().map(|path| (path, true));
        let files = self.plugin.iter().map(|path| (path, false));
        for (path, is_printed) in printed.chain(files) {
            let read = if is_printed {
                read_text(path, collect::read_sizes)
            } else {
                read_binary(path, None)
            };
            match read {
                Ok(sizes) => {
                    plugins.files.extend(sizes.files);
                    last = Some(path);
                }
                Err(fault) => gathered.fault(path, fault),
            }
        }
        if let Some(path) = last {
            gathered.take(path, plugins.of_set().map_err(|error| error.to_string()));
        }
    }
}

fn flatten(read: io::Result<Result<Reading, Unreadable>>) -> Result<Reading, String> {
    read.map_err(|error| unopened(&error))?
        .map_err(|error| error.to_string())
}

fn unopened(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

fn text_of(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| unopened(&error))?;
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line}: is no UTF-8 text; is this the right file?")
    })
}

fn read_text<T>(
    path: &Path,
    read: impl FnOnce(&str) -> Result<T, Unreadable>,
) -> Result<T, String> {
    read(&text_of(path)?).map_err(|error| error.to_string())
}

fn read_binary(path: &Path, name: Option<&str>) -> Result<Sizes, String> {
    let file = File::open(path).map_err(|error| unopened(&error))?;
    let cache = object::ReadCache::new(file);
    let own = path.file_name().unwrap_or_default().to_string_lossy();
    collect::read_binary(name.unwrap_or(&own), &cache).map_err(|error| error.to_string())
}

/// The newest estimates of every benchmark below a folder, or those of one.
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
    for estimates in found {
        let read = text_of(&estimates.with_file_name("benchmark.json"))
            .map_err(|fault| format!("benchmark.json beside it {fault}"))
            .and_then(|benchmark| {
                read_text(&estimates, |text| {
                    collect::read_criterion(Criterion {
                        estimates: text,
                        benchmark: &benchmark,
                    })
                })
            });
        gathered.take(&estimates, read);
    }
}

fn find_estimates(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
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
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Says what was read; a reader that has had enough is no failure.
fn say(path: &Path, what: &str) {
    use io::Write as _;
    let _ = writeln!(io::stderr(), "read {}: {what}", path.display());
}

/// What was read so far.
#[derive(Default)]
struct Gathered {
    metrics: Vec<Metric>,
    /// Which file each came from.
    origins: BTreeMap<MetricName, PathBuf>,
    faults: Vec<String>,
}

impl Gathered {
    fn take(&mut self, path: &Path, read: Result<Reading, impl fmt::Display>) {
        match read {
            Ok(Reading { metrics, what }) => {
                say(
                    path,
                    &format!("{what} ({})", plural(metrics.len(), "metric")),
                );
                self.add(path, metrics);
            }
            Err(fault) => self.fault(path, fault.to_string()),
        }
    }

    fn add(&mut self, path: &Path, metrics: Vec<Metric>) {
        for metric in metrics {
            match self.origins.insert(metric.name.clone(), path.to_owned()) {
                None => self.metrics.push(metric),
                Some(other) => {
                    let MetricName {
                        metric_key,
                        dim_key,
                    } = &metric.name;
                    let fault = format!(
                        "has `{metric_key}` with dimension `{dim_key}`, and so has {}; a document has it once, so leave one out or give it another name",
                        if other == path {
                            "another line of it".into()
                        } else {
                            other.display().to_string()
                        }
                    );
                    self.fault(path, fault);
                }
            }
        }
    }

    fn fault(&mut self, path: &Path, fault: impl Into<String>) {
        self.faults
            .push(format!("{}: {}", path.display(), fault.into()));
    }

    fn finish(self) -> anyhow::Result<Vec<Metric>> {
        match self.faults.as_slice() {
            [] => Ok(self.metrics),
            [fault] => anyhow::bail!("{fault}"),
            faults => anyhow::bail!("{} faults:\n  {}", faults.len(), faults.join("\n  ")),
        }
    }
}
