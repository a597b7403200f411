//! What the marks of a region cost in callgrind's count, which `perf-tracking` subtracts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::build;

/// The instructions that each mark ended, in order of the parts.
fn parts(program: &Path) -> Vec<(String, u64)> {
    let folder = program.with_extension("parts");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--vgdb=no"])
        .args(["--cache-sim=yes", "--branch-sim=yes", "--collect-bus=yes"])
        .arg(format!("--callgrind-out-file={}/out", folder.display()))
        .arg(program);
    build::run(&mut command);
    let mut parts = BTreeMap::new();
    for entry in folder.read_dir().unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let find = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap().trim().to_owned()
        };
        let number: u32 = find("part: ").parse().unwrap();
        let trigger = find("desc: Trigger: ");
        parts.insert(number, (trigger, instructions(&find("totals: "))));
    }
    parts.into_values().collect()
}

/// The first of a part's numbers.
fn instructions(totals: &str) -> u64 {
    totals.split(' ').next().unwrap().parse().unwrap()
}

/// What the parts that this mark ended hold.
fn costs(parts: &[(String, u64)], mark: &str) -> Vec<u64> {
    let trigger = format!("Client Request: perf-tracking-{mark}");
    let found = parts.iter().filter(|(by, _)| *by == trigger);
    found.map(|(_, cost)| *cost).collect()
}

fn check(program: &Path) {
    let parts = parts(program);
    let empty = *costs(&parts, "calibration leave inner").last().unwrap();
    assert!((1..100).contains(&empty), "{empty}");
    // Each empty region costs what the calibration says, wherever it stands; the first at a place may come by another way.
    let costs = costs(&parts, "region leave empty");
    assert_eq!(costs.len(), 6);
    assert!(costs[0].abs_diff(empty) <= 2, "{parts:?}");
    assert_eq!(costs[1..5], [empty; 4], "{parts:?}");
    assert!(costs[5].abs_diff(empty) <= 2, "{parts:?}");
    let marks = parts
        .iter()
        .filter(|(by, _)| by.contains("tracking-region"));
    assert_eq!(marks.count(), 2 + 5 * 2 + 2);
}

#[test]
fn an_empty_region_costs_the_same_each_time_in_rust() {
    check(&build::rust("region", &["enabled"], &[]));
}

#[test]
fn an_empty_region_costs_the_same_each_time_in_c() {
    let header = format!("-I{}", build::here().join("c").display());
    let source = build::source("region.c").display().to_string();
    let library = build::c_libraries().join("libpti.a").display().to_string();
    check(&build::c("region", [header, source, library]));
}
