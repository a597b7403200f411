//! Builds the programs of `tests/programs`, each once for all tests of this process.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Where this crate is.
pub(crate) fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn source(name: &str) -> PathBuf {
    here().join("tests/programs").join(name)
}

/// Where the programs are built.
pub(crate) fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("points");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Makes `name` by `make`, unless this process has made it.
fn once(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    static MADE: OnceLock<Mutex<BTreeMap<String, PathBuf>>> = OnceLock::new();
    let made = MADE.get_or_init(Mutex::default).lock();
    // Another test failed to build its program, and says so itself.
    let mut made = made.unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = made.get(name) {
        return path.clone();
    }
    let path = folder().join(name);
    make(&path);
    made.insert(name.to_owned(), path.clone());
    path
}

pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn rustc() -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args([
        "--edition",
        "2024",
        "-D",
        "warnings",
        "-C",
        "opt-level=2",
        "-C",
        "debuginfo=1",
    ]);
    command
}

/// The crate with these features, alone in a folder.
fn library(features: &[&str]) -> PathBuf {
    let name = format!("lib-{}", features.join("-"));
    once(&name, |folder| {
        fs::create_dir_all(folder).unwrap();
        let mut command = rustc();
        command.args(["--crate-type", "rlib", "--crate-name", "perf_instrument"]);
        for feature in features {
            command.arg("--cfg").arg(format!("feature=\"{feature}\""));
        }
        command
            .arg("--check-cfg=cfg(test)")
            .arg("--check-cfg=cfg(feature,values(\"enabled\",\"counting\"))");
        command.arg(here().join("src/lib.rs"));
        run(command.arg("--out-dir").arg(folder));
    })
}

/// A program in Rust with the crate as these features make it.
pub(crate) fn rust(name: &str, features: &[&str], flags: &[&str]) -> PathBuf {
    let library = library(features);
    let whole = format!("{name}{}{}", features.join("-"), flags.concat());
    let whole: String = whole
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == '-')
        .collect();
    once(&whole, |path| {
        let mut command = rustc();
        command.args(flags).arg(source(&format!("{name}.rs")));
        command.arg("--extern").arg(format!(
            "perf_instrument={}",
            library.join("libperf_instrument.rlib").display()
        ));
        run(command.arg("-o").arg(path));
    })
}

/// The libraries for C, as the makefile builds them.
pub(crate) fn c_libraries() -> PathBuf {
    once("c", |folder| {
        let mut command = Command::new("make");
        command.arg("--silent").arg("-C").arg(here().join("c"));
        run(command.arg(format!("BUILD={}", folder.display())));
    })
}

/// Something that the C compiler makes of these arguments.
pub(crate) fn c<A: AsRef<OsStr>>(name: &str, arguments: impl IntoIterator<Item = A>) -> PathBuf {
    once(name, |path| {
        let mut command = Command::new("cc");
        command.args([
            "-std=c11",
            "-D_GNU_SOURCE",
            "-O2",
            "-g",
            "-Wall",
            "-Wextra",
            "-Werror",
        ]);
        run(command.args(arguments).arg("-o").arg(path));
    })
}
