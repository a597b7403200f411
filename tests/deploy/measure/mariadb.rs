//! The whole of it: MariaDB from Debian's packages under callgrind and massif, sysbench's `oltp_read_write`, twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use perf_tracking::domain::MetricName;
use perf_tracking::judge::{Gating, Policy};
use serde_json::{Value as Json, json};

use super::images::{Real, contract};
use super::{Measured, measure};
use crate::docker::ROOT;

#[tokio::test]
async fn mariadb_is_measured_twice_and_the_numbers_agree() {
    let images = Real::build().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contract.toml");
    let text = contract(
        images.server,
        &images.callgrind,
        &images.massif,
        &images.load,
    )
    .replace("[server]", "count_waits = true\n[server]")
        + "[sizes]\nbinary = \"/usr/sbin/mariadbd\"\nplugins = \"/usr/lib/mysql/plugin/*.so\"\n\
            [wallclock]\nhost_class = \"lab\"\nthreads = 1\nevents = 400\n";
    fs::write(&path, text).unwrap();

    let [first, second] = ["first.json", "second.json"].map(|name| {
        let document = folder.path().join(name);
        let measured = Measured::of(measure(&path, &document).output().unwrap());
        assert_eq!(measured.code, Some(0), "{}", measured.said);
        assert_eq!(
            super::projects(&measured.said).len(),
            3,
            "{}",
            measured.said
        );
        measured.left_nothing();
        read(&document)
    });

    wall_clock(&path, &folder.path().join("wallclock.json"));

    assert_eq!(
        first["parameters"],
        json!({"count": "load", "events": 20, "prepared_statements": true, "script": "oltp_read_write", "seed": 1,
            "table_size": 1000, "tables": 1, "threads": 1})
    );
    let waits = [&first, &second].map(waits);
    println!("{waits:#?}");
    waits_are_steady(&waits);
    let [first, second] = [first, second].map(|document| metrics(&document));
    println!("{first:#?}\n{second:#?}");
    let names: Vec<&str> = first.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "callgrind.branch_mispredicts",
            "callgrind.estimated_cycles",
            "callgrind.global_bus_events",
            "callgrind.ir",
            "callgrind.l1_misses",
            "callgrind.llc_misses",
            "massif.peak_heap_bytes",
            "size.mariadbd_bytes",
            "size.plugin_count",
            "size.plugins_total_bytes"
        ]
    );
    let apart = |name: &str| (first[name] - second[name]).abs() / first[name];
    assert!(apart("callgrind.ir") <= 0.02, "{}", apart("callgrind.ir"));
    assert!(
        apart("massif.peak_heap_bytes") <= 0.01,
        "{}",
        apart("massif.peak_heap_bytes")
    );
    for size in [
        "size.mariadbd_bytes",
        "size.plugin_count",
        "size.plugins_total_bytes",
    ] {
        assert!(apart(size) == 0.0 && first[size] > 0.0);
    }
    // Its start alone takes ten times as many.
    assert!(
        (1e7..1e9).contains(&first["callgrind.ir"]),
        "the load alone is counted"
    );
}

/// The same server and the same sysbench without valgrind: real threads and real time.
fn wall_clock(contract: &Path, document: &Path) {
    let measured = measure(contract, document).arg("--wallclock").output();
    let measured = Measured::of(measured.unwrap());
    assert_eq!(measured.code, Some(0), "{}", measured.said);
    measured.left_nothing();
    let document = read(document);
    assert_eq!(document["host_class"], "lab");
    assert_eq!(
        document["parameters"],
        json!({"events": 400, "prepared_statements": true, "script": "oltp_read_write", "seed": 1,
            "table_size": 1000, "tables": 1, "threads": 1})
    );
    let metrics = document["metrics"].as_array().unwrap();
    assert!(metrics.iter().all(|metric| metric["wallclock"] == true));
    let rate = metrics
        .iter()
        .find(|metric| metric["metric_key"] == "sysbench.transactions_per_second");
    assert!(rate.unwrap()["value"].as_f64().unwrap() > 1.0, "{document}");
}

fn read(path: &Path) -> Json {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn metrics(document: &Json) -> BTreeMap<String, f64> {
    let metrics = document["metrics"].as_array().unwrap();
    let named = |metric: &&Json| metric["dim_key"] == "";
    let metrics = metrics.iter().filter(named);
    let named = |metric: &Json| {
        assert_eq!(metric["wallclock"], false);
        (
            metric["metric_key"].as_str().unwrap().to_owned(),
            metric["value"].as_f64().unwrap(),
        )
    };
    metrics.map(named).collect()
}

/// The counts of waits by `dim_key`.
fn waits(document: &Json) -> BTreeMap<String, f64> {
    let metrics = document["metrics"].as_array().unwrap();
    let counts = metrics.iter().filter(|m| m["metric_key"] == "waits.count");
    counts
        .map(|metric| {
            assert_eq!(metric["wallclock"], false);
            let dim = metric["dim_key"].as_str().unwrap().to_owned();
            (dim, metric["value"].as_f64().unwrap())
        })
        .collect()
}

/// The waits that the gate judges by default are there, and repeat.
fn waits_are_steady([first, second]: &[BTreeMap<String, f64>; 2]) {
    let policy = Policy::default();
    let gates = |dim: &String| {
        let name = MetricName {
            metric_key: "waits.count".parse().unwrap(),
            dim_key: dim.parse().unwrap(),
        };
        policy.terms(&name).gating == Gating::Fail
    };
    let judged: Vec<&String> = first.keys().filter(|dim| gates(dim)).collect();
    assert_eq!(judged.len(), 10, "{judged:?}");
    for dim in judged {
        let apart = (first[dim] - second[dim]).abs();
        // Of few events one more or less is more than 1 %.
        assert!(apart <= (first[dim] * 0.01).max(2.0), "{dim}: {apart}");
    }
}

/// The images of the two passes differ in their entry point, and their compose files in the image that they name.
#[test]
fn the_passes_differ_in_one_line() {
    for (one, other, differing) in [
        (
            "Containerfile.callgrind",
            "Containerfile.massif",
            "ENTRYPOINT exec valgrind --quiet --tool=",
        ),
        (
            "callgrind.yaml",
            "massif.yaml",
            "    image: ${MEASURED_SERVER_IMAGE:-",
        ),
    ] {
        let [one, other] = [one, other]
            .map(|name| fs::read_to_string(format!("{ROOT}/deploy/measure/{name}")).unwrap());
        assert_eq!(one.lines().count(), other.lines().count());
        let lines: Vec<_> = one
            .lines()
            .zip(other.lines())
            .filter(|(a, b)| a != b)
            .collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].0.starts_with(differing) && lines[0].1.starts_with(differing));
    }
}
