//! Compiled without instrumentation, a wrapper is the plain call: callgrind counts the same instructions.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::build;

/// What callgrind counts inside the function `work` of a program, and what the program prints.
fn instructions(program: &Path) -> (u64, String) {
    let file = program.with_extension("callgrind");
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--vgdb=no", "--toggle-collect=work"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        // No region is to write what was counted so far into a file of its own.
        .env("PERF_TRACKING_REGION", "none");
    let output = build::run(&mut command);
    let text = fs::read_to_string(file).unwrap();
    let totals = text.lines().find_map(|line| line.strip_prefix("totals: "));
    let counted = totals.unwrap().trim().parse().unwrap();
    (counted, String::from_utf8(output.stdout).unwrap())
}

#[test]
fn in_rust_not_one_instruction_is_left() {
    let (bare, printed) = instructions(&build::rust("plain", &[], &["--cfg", "bare"]));
    let (wrapped, same) = instructions(&build::rust("plain", &[], &["--cfg", "other"]));
    let (enabled, also) = instructions(&build::rust("plain", &["enabled"], &["--cfg", "other"]));
    assert_eq!((&printed, &printed), (&same, &also));
    assert!(bare > 10_000, "{bare}");
    assert_eq!(wrapped, bare);
    // The comparison would show a difference.
    assert!(enabled > bare + 1000, "{enabled} {bare}");
}

#[test]
fn in_c_not_one_instruction_is_left() {
    let header = format!("-I{}", build::here().join("c").display());
    let source = build::source("plain.c").display().to_string();
    let library = build::c_libraries().join("libpti.a").display().to_string();
    let build = |name: &str, flags: &[&str]| {
        build::c(name, [&[header.as_str(), source.as_str()], flags].concat())
    };
    let (bare, printed) = instructions(&build("bare", &["-DBARE"]));
    let (wrapped, same) = instructions(&build("wrap", &[]));
    let (enabled, also) = instructions(&build("live", &["-DPTI_ENABLED=1", &library]));
    assert_eq!((&printed, &printed), (&same, &also));
    assert!(bare > 10_000, "{bare}");
    assert_eq!(wrapped, bare);
    assert!(enabled > bare + 1000, "{enabled} {bare}");
}
