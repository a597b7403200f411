//! The command itself: what it writes, and what it says of a document.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value as Json, json};

use crate::{ABOUT, fixtures, make, run, run_in};

const IR: [&str; 2] = ["--callgrind", "callgrind/ir_only.out"];

#[test]
fn the_document_is_the_one_of_the_contract() {
    let more = [
        "--parameter",
        "threads=1",
        "--parameter",
        "script=oltp_read_write",
        "--parameter",
        "rate=1.50",
        "--parameter",
        "trx=true",
    ];
    let left = run(&[&ABOUT[..], &IR, &more].concat());
    let expected = r#"{
  "format_version": 1,
  "workload": "perf",
  "arch": "amd64",
  "distro": "trixie",
  "host_class": "bench-1",
  "succeeded": true,
  "parameters": {
    "rate": 1.50,
    "script": "oltp_read_write",
    "threads": 1,
    "trx": true
  },
  "metrics": [
    {
      "metric_key": "callgrind.ir",
      "dim_key": "",
      "value": 235271,
      "wallclock": false
    }
  ]
}
"#;
    assert_eq!(
        (left.code, left.stdout.as_str()),
        (0, expected),
        "{}",
        left.stderr
    );
}

#[test]
fn a_failed_workload_needs_no_numbers() {
    let (document, said) = make(&["--failed"]);
    assert_eq!(
        (&document["succeeded"], &document["metrics"]),
        (&json!(false), &json!([]))
    );
    assert_eq!(said, "");
    let left = run(&ABOUT);
    assert_eq!((left.code, left.stdout.as_str()), (2, ""));
    assert!(
        left.stderr
            .contains("name at least one file, or say --failed"),
        "{}",
        left.stderr
    );
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metrics.json");
    let shown = path.to_str().unwrap();
    let with = |files: &[&str]| run(&[&ABOUT, files, &["-o", shown]].concat());

    let left = with(&IR);
    assert_eq!(
        (left.code, left.stdout.as_str()),
        (0, ""),
        "{}",
        left.stderr
    );
    let written = fs::read_to_string(&path).unwrap();
    assert!(written.ends_with("}\n"));
    // As any file that a program makes, and not for its owner alone.
    let beside = folder.path().join("beside");
    fs::write(&beside, "").unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path), mode(&beside));

    assert_eq!(with(&["--massif", "massif/empty.bad.out"]).code, 2);
    assert_eq!(fs::read_to_string(&path).unwrap(), written);
    assert_eq!(with(&["--massif", "massif/default.out"]).code, 0);
    assert!(
        fs::read_to_string(&path)
            .unwrap()
            .contains("massif.peak_heap_bytes")
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);

    let nowhere = run(&[&ABOUT[..], &IR, &["-o", "no/such/folder/metrics.json"]].concat());
    assert_eq!(nowhere.code, 2);
    assert!(
        nowhere.stderr.contains("metrics.json` cannot be written"),
        "{}",
        nowhere.stderr
    );
}

#[test]
fn check_says_whether_a_file_is_a_document() {
    let folder = tempfile::tempdir().unwrap();
    let write = |json: &Json| fs::write(folder.path().join("m.json"), json.to_string()).unwrap();
    let check = || run_in(folder.path(), &["check", "m.json"]);

    let (mut document, _) = make(&IR);
    write(&document);
    let good = check();
    assert_eq!((good.code, good.stderr.as_str()), (0, ""));
    assert_eq!(
        good.stdout,
        "`m.json` is a document: workload perf, amd64, trixie, 1 metric, succeeded\n"
    );

    document["colour"] = json!("red");
    document["arch"] = json!("");
    document["metrics"][0]["value"] = json!("1");
    write(&document);
    let bad = check();
    assert_eq!((bad.code, bad.stdout.as_str()), (2, ""));
    assert_eq!(
        bad.stderr,
        "error: `m.json` holds no document that fits\n  /colour: is not a field of this object\n  /arch: must not be empty\n  /metrics/0/value: must be a number, is a string\n"
    );

    fs::write(folder.path().join("m.json"), "{\n\"format_version\": 1,\n").unwrap();
    let cut = check();
    assert_eq!(cut.code, 2);
    assert!(
        cut.stderr.starts_with("error: `m.json` is not JSON: ")
            && cut.stderr.contains(" at line 3 "),
        "{}",
        cut.stderr
    );
}

#[test]
fn the_schema_is_printed_as_it_is_committed() {
    let committed = fixtures().join("../../openapi/document.schema.json");
    let left = run(&["schema"]);
    assert_eq!(left.stdout, fs::read_to_string(committed).unwrap());
}

#[test]
fn a_wrong_parameter_is_refused() {
    for (parameter, said) in [
        ("threads", "must be NAME=VALUE"),
        ("=1", "must not be empty"),
    ] {
        let left = run(&[&ABOUT[..], &IR, &["--parameter", parameter]].concat());
        assert_eq!(left.code, 2);
        assert!(left.stderr.contains(said), "{}", left.stderr);
    }
    let twice = run(&[
        &ABOUT,
        &IR[..],
        &["--parameter", "a=1", "--parameter", "a=2"],
    ]
    .concat());
    assert_eq!(twice.code, 2);
    assert!(
        twice.stderr.contains("--parameter a is given twice"),
        "{}",
        twice.stderr
    );
}

#[test]
fn what_was_measured_must_be_said() {
    let left = run(&["--failed"]);
    assert_eq!(left.code, 2);
    for flag in ["--workload", "--host-class"] {
        assert!(left.stderr.contains(flag), "{}", left.stderr);
    }
}

#[test]
fn the_machine_says_its_architecture_and_distribution() {
    let left = run(&["--workload", "perf", "--host-class", "bench-1", "--failed"]);
    assert_eq!(left.code, 0, "{}", left.stderr);
    let document: Json = serde_json::from_str(&left.stdout).unwrap();
    let release = fs::read_to_string("/etc/os-release").unwrap();
    let codename = format!("VERSION_CODENAME={}", document["distro"].as_str().unwrap());
    assert!(release.contains(&codename), "{release}");
    let arch = std::process::Command::new("dpkg")
        .arg("--print-architecture")
        .output()
        .unwrap();
    let arch = String::from_utf8(arch.stdout).unwrap();
    assert_eq!(document["arch"], arch.trim());
}

/// Every one of them took a hundred times its size once, or more.
#[test]
fn a_hostile_document_takes_little_memory_and_few_words() {
    let folder = tempfile::tempdir().unwrap();
    let key = "k".repeat(90_000);
    let repeated = vec![r#""a":1"#; 15_000].join(",");
    let unknown: Vec<String> = (0..100_000).map(|n| format!("\"{n}\":1")).collect();
    let faulty = vec![r#"{"metric_key":"","value":"x"}"#; 10_000].join(",");
    for text in [
        format!(r#"{{"format_version":1,"{key}":{{{repeated}}}}}"#),
        format!(r#"{{"format_version":1,{}}}"#, unknown.join(",")),
        format!(r#"{{"format_version":1,"metrics":[{faulty}]}}"#),
        format!(
            r#"{{"format_version":1,"metrics":[{}1]}}"#,
            "7,".repeat(500_000)
        ),
        format!("{}1{}", "{\"a\":".repeat(200_000), "}".repeat(200_000)),
    ] {
        fs::write(folder.path().join("m.json"), &text).unwrap();
        let left = std::process::Command::new("sh")
            .args(["-c", r#"ulimit -v 400000; exec "$0" document check m.json"#])
            .arg(env!("CARGO_BIN_EXE_perf-tracking"))
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8(left.stderr).unwrap();
        assert_eq!(left.status.code(), Some(2), "{said}");
        assert!(
            said.starts_with("error: `m.json` holds no document"),
            "{said}"
        );
        assert!(
            said.lines().count() <= 102 && said.len() < 64 << 10,
            "{said}"
        );
    }
}
