//! `perf-tracking changes` and `perf-tracking drift`, as a shell sees them, over a file of runs.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on ends; helpers of tests do not count as tests yet"
)]

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

/// A folder with a file of runs.
struct Place(tempfile::TempDir);

struct Left {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Place {
    /// A file with these runs.
    fn with(runs: &[Json]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let lines = runs.iter().fold(String::new(), |mut lines, run| {
            writeln!(lines, "{run}").unwrap();
            lines
        });
        let left = place.run(&["backfill", "-"], &lines);
        assert_eq!(left.code, 0, "{}", left.stderr);
        place
    }

    fn run(&self, args: &[&str], stdin: &str) -> Left {
        let mut child = Command::new(env!("CARGO_BIN_EXE_perf-tracking"))
            .args(args)
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("PERF_TRACKING_URL", "sqlite:perf.db")
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(stdin.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        Left {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn json(&self, args: &[&str]) -> Json {
        let left = self.run(&[args, &["--json"]].concat(), "");
        serde_json::from_str(&left.stdout).unwrap_or_else(|_| panic!("{}", left.stderr))
    }
}

/// The run of commit number `number`, on its own day of 2026.
fn run(number: u64, metrics: &[(&str, f64)]) -> Json {
    let date = chrono::DateTime::from_timestamp(1_767_225_600 + 86_400 * number as i64, 0).unwrap();
    let metrics: Vec<Json> = metrics
        .iter()
        .map(|(key, value)| json!({"metric_key": key, "value": value, "wallclock": false}))
        .collect();
    json!({
        "workload": "perf", "repo": "drizzle", "branch": "main", "pipeline": "promote",
        "distro": "trixie", "arch": "amd64", "host_class": "callgrind",
        "commit_sha": format!("{number:040x}"), "run_date": date.to_rfc3339(),
        "succeeded": true, "metrics": metrics,
    })
}

/// Forty commits: instructions rise by 5 % and transactions by 10 % at commit 20, and the size grows
/// by 1 % of its start with each commit.
fn history() -> Vec<Json> {
    (0..40)
        .map(|number| {
            let moved = number >= 20;
            let wobble = [0.0, 3.0, 1.0, 4.0, 2.0][number as usize % 5];
            run(
                number,
                &[
                    (
                        "callgrind.ir",
                        if moved { 105_000.0 } else { 100_000.0 } + wobble,
                    ),
                    ("sysbench.tps", if moved { 1100.0 } else { 1000.0 } + wobble),
                    (
                        "massif.peak_heap_bytes",
                        1000.0 + 10.0 * number as f64 + wobble,
                    ),
                ],
            )
        })
        .collect()
}

const RULES: &str = "[[metric]]\npattern = \"sysbench.tps\"\nworse = \"lower\"\n";

#[test]
fn a_change_names_its_commit_and_both_levels() {
    let place = Place::with(&history());
    fs::write(place.0.path().join("gate.toml"), RULES).unwrap();
    let found = place.json(&["changes", "--metric=callgrind.ir", "--metric=sysbench.tps"]);
    assert_eq!(found["commits"].as_array().unwrap().len(), 1, "{found:#}");
    let commit = &found["commits"][0];
    assert_eq!(commit["commit"], format!("{:040x}", 20));
    assert_eq!(commit["date"], "2026-01-21T00:00:00Z");
    let instructions = &commit["metrics"][0];
    assert_eq!(instructions["metric_key"], "callgrind.ir");
    assert_eq!(instructions["direction"], "worse");
    assert_eq!(
        (&instructions["before"], &instructions["after"]),
        (&json!(100_002.0), &json!(105_002.0))
    );
    assert_eq!(
        instructions["last_before"]["commit"],
        format!("{:040x}", 19)
    );
    assert_eq!(instructions["certainty"], "settled");
    assert_eq!(commit["metrics"][1]["metric_key"], "sysbench.tps");
    assert_eq!(commit["metrics"][1]["direction"], "better");
}

#[test]
fn filters_leave_what_was_asked_for() {
    let place = Place::with(&history());
    fs::write(place.0.path().join("gate.toml"), RULES).unwrap();
    let both = ["changes", "--metric=callgrind.ir", "--metric=sysbench.tps"];
    let keys = |more: &[&str]| -> Vec<String> {
        let found = place.json(&[&both[..], more].concat());
        let commits = found["commits"].as_array().unwrap().clone();
        let metrics = commits
            .iter()
            .flat_map(|commit| commit["metrics"].as_array().unwrap());
        metrics
            .map(|metric| metric["metric_key"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(keys(&["--worse"]), ["callgrind.ir"]);
    assert_eq!(keys(&["--better"]), ["sysbench.tps"]);
    assert_eq!(keys(&["--since=2026-01-21"]).len(), 2);
    assert_eq!(keys(&["--since=2026-01-22"]).len(), 0);
    assert_eq!(keys(&["--last=10"]).len(), 0);
    assert_eq!(keys(&["--branch=other"]).len(), 0);
}

#[test]
fn an_accepted_step_is_marked_and_failed_runs_and_outliers_are_no_change() {
    let mut runs = history();
    runs[5]["succeeded"] = json!(false);
    runs[5]["metrics"][0]["value"] = json!(1);
    runs[30]["metrics"][0]["value"] = json!(250_000);
    let place = Place::with(&runs);
    let accepted = format!(
        "[[accepted]]\nmetric = \"callgrind.ir\"\nsince_commit = \"{:040x}\"\nwhy = \"checks\"\nby = \"ann\"\n",
        20
    );
    fs::write(place.0.path().join("gate.toml"), accepted).unwrap();
    let found = place.json(&["changes", "--metric=callgrind.ir"]);
    assert_eq!(found["commits"].as_array().unwrap().len(), 1, "{found:#}");
    let metric = &found["commits"][0]["metrics"][0];
    assert_eq!(metric["accepted"]["why"], "checks", "{metric:#}");
}

#[test]
fn the_text_fits_eighty_columns_and_markdown_has_a_row_a_metric() {
    let place = Place::with(&history());
    let left = place.run(&["changes", "--metric=callgrind.ir"], "");
    assert_eq!((left.code, left.stderr.as_str()), (0, ""));
    let longest = left.stdout.lines().map(|line| line.chars().count()).max();
    assert!(longest.unwrap() <= 80, "{}", left.stdout);
    for part in [
        "000000000000  2026-01-21",
        "100,002 -> 105,002  +5.00 %  worse",
        "settled: 20 commits",
    ] {
        assert!(left.stdout.contains(part), "{part}:\n{}", left.stdout);
    }
    let markdown = place
        .run(&["changes", "--metric=callgrind.ir", "--markdown"], "")
        .stdout;
    assert!(
        markdown.contains("| callgrind.ir | 100,002 | 105,002 | +5.00 % worse |"),
        "{markdown}"
    );
}

#[test]
fn a_store_without_runs_cannot_be_judged() {
    let place = Place::with(&history()[..3]);
    for command in ["changes", "drift"] {
        let left = place.run(&[command], "");
        assert_eq!(left.code, 3, "{command}: {}{}", left.stdout, left.stderr);
    }
}

#[test]
fn series_a_line_are_answered_with_indices_a_line() {
    let place = Place(tempfile::tempdir().unwrap());
    let step = [[5.0; 10], [6.0; 10]].concat();
    let input = format!(
        "{}\n{}\n",
        json!({"name": "a", "values": step}),
        json!({"values": [1, 2]})
    );
    let left = place.run(&["changes", "--eval"], &input);
    assert_eq!((left.code, left.stdout.as_str()), (0, "[10]\n[]\n"));
    let left = place.run(&["changes", "--eval"], "{}\n");
    assert_eq!(left.code, 2);
    assert!(
        left.stderr.contains("line 1 is no series"),
        "{}",
        left.stderr
    );
}

#[test]
fn a_metric_that_creeps_drifts_and_a_step_does_not() {
    let place = Place::with(&history());
    let left = place.run(&["drift"], "");
    assert_eq!(left.code, 1, "{}{}", left.stdout, left.stderr);
    let longest = left.stdout.lines().map(|line| line.chars().count()).max();
    assert!(longest.unwrap() <= 80, "{}", left.stdout);
    let found = place.json(&["drift"]);
    let status = |key: &str| -> Json {
        let rows = found["metrics"].as_array().unwrap();
        rows.iter().find(|row| row["metric_key"] == key).unwrap()["status"].clone()
    };
    assert_eq!(status("massif.peak_heap_bytes"), "drift", "{found:#}");
    assert_eq!(status("callgrind.ir"), "ok");
    let rows = found["metrics"].as_array().unwrap();
    assert_eq!(
        rows[0]["metric_key"], "massif.peak_heap_bytes",
        "the worst is first"
    );
    let step = rows
        .iter()
        .find(|row| row["metric_key"] == "callgrind.ir")
        .unwrap();
    assert_eq!(step["steps"][0]["commit"], format!("{:040x}", 20));
    // 10 bytes a day.
    let slope = rows[0]["trend"]["theil_sen_slope"].as_f64().unwrap();
    assert!((slope - 10.0).abs() < 0.5, "{slope}");
    let level = rows[0]["level_in_a_year"].as_f64().unwrap();
    assert!((level - (1390.0 + 3652.5)).abs() < 100.0, "{level}");

    let quiet = place.run(
        &["drift", "--metric=callgrind.ir", "--metric=sysbench.tps"],
        "",
    );
    assert_eq!(quiet.code, 0, "{}", quiet.stdout);
    let patient = place.run(&["drift", "--warn=50 %", "--drift=60 %"], "");
    assert_eq!(patient.code, 0, "{}", patient.stdout);
    let swapped = place.run(&["drift", "--warn=20 %"], "");
    assert_eq!(swapped.code, 2);
    assert!(swapped.stderr.contains("swap them"), "{}", swapped.stderr);
}

#[test]
fn an_accepted_step_starts_the_window_anew_and_junit_fails_on_drift() {
    let place = Place::with(&history());
    let junit = place.run(&["drift", "--junit"], "");
    assert_eq!(junit.code, 1);
    assert!(junit.stdout.contains("<failure"), "{}", junit.stdout);
    assert!(junit.stdout.contains("failures=\"1\""), "{}", junit.stdout);
    let accepted = format!(
        "[[accepted]]\nmetric = \"massif.*\"\nsince_commit = \"{:040x}\"\nwhy = \"cache\"\nby = \"ann\"\n",
        37
    );
    fs::write(place.0.path().join("gate.toml"), accepted).unwrap();
    let left = place.run(&["drift"], "");
    assert_eq!(left.code, 0, "{}{}", left.stdout, left.stderr);
}

#[test]
fn a_creep_that_no_window_sees_is_found_against_a_reference_run() {
    let mut runs: Vec<Json> = (0..40)
        .map(|number| {
            run(
                number,
                &[("callgrind.ir", 100_000.0 + 100.0 * number as f64)],
            )
        })
        .collect();
    let mut reference = run(0, &[("callgrind.ir", 80_000.0)]);
    reference["tag"] = json!("14.04");
    reference["commit_sha"] = json!("f".repeat(40));
    runs.push(reference);
    let place = Place::with(&runs);
    assert_eq!(place.run(&["drift"], "").code, 0);
    let left = place.run(&["drift", "--baseline=14.04"], "");
    assert_eq!(left.code, 1, "{}", left.stdout);
    let row = &place.json(&["drift", "--baseline=14.04"])["metrics"][0];
    assert_eq!(row["reference"]["value"], 80_000.0);
    assert_eq!(row["reference"]["level"], 103_700.0);
}

#[test]
fn a_gate_that_passes_tells_of_an_unaccepted_step_in_its_window() {
    let place = Place::with(&history()[..30]);
    let document = json!({
        "format_version": 1, "workload": "perf", "arch": "amd64", "distro": "trixie",
        "host_class": "callgrind", "succeeded": true, "parameters": {},
        "metrics": [{"metric_key": "callgrind.ir", "dim_key": "", "value": 105_002, "wallclock": false}],
    });
    fs::write(place.0.path().join("metrics.json"), document.to_string()).unwrap();
    let gate = |rules: &str| {
        let rules =
            format!("{rules}\n[[metric]]\npattern = \"{{massif,sysbench}}.*\"\nignore = true\n");
        fs::write(place.0.path().join("gate.toml"), rules).unwrap();
        let args = [
            "gate",
            "--document=metrics.json",
            "--repo=drizzle",
            "--branch=main",
        ];
        place.run(&args, "")
    };
    let left = gate("");
    assert_eq!(left.code, 0, "{}{}", left.stdout, left.stderr);
    let told =
        "hint: the window of callgrind.ir holds a step for the worse at 000000000000 that no";
    assert!(left.stderr.contains(told), "{}", left.stderr);
    let accepted = format!(
        "[[accepted]]\nmetric = \"callgrind.ir\"\nsince_commit = \"{:040x}\"\nwhy = \"checks\"\nby = \"ann\"\n",
        20
    );
    let left = gate(&accepted);
    assert_eq!(left.code, 0, "{}{}", left.stdout, left.stderr);
    assert!(!left.stderr.contains("hint:"), "{}", left.stderr);
}

const MEASURE: &str = r#"test ! -e broken && printf '%s' '{"format_version": 1, "workload": "w", "arch": "amd64",
    "distro": "trixie", "host_class": "callgrind", "succeeded": true, "parameters": {},
    "metrics": [{"metric_key": "size.text", "dim_key": "", "value": '"$(cat size)"', "wallclock": false}]}' > metrics.json"#;

#[test]
fn a_walk_stores_each_commit_once_and_goes_on_after_one_that_does_not_build() {
    let place = Place(tempfile::tempdir().unwrap());
    let git = |script: &str| {
        let output = Command::new("bash")
            .args(["-euc", script])
            .current_dir(place.0.path())
            .output();
        assert!(output.as_ref().unwrap().status.success(), "{output:?}");
    };
    git(
        "git init -q -b main . && git config user.email a@example.org && git config user.name a
        for number in 1 2 3 4 5; do
            echo 10$number > size; rm -f broken; test $number != 3 || touch broken
            git add -A; git commit -q -m \"change $number\"; done
        git tag first main~4",
    );
    let walk = |more: &[&str]| {
        let args = [
            "walk",
            "first..main",
            "--repo=drizzle",
            "--branch=main",
            "--run",
            MEASURE,
        ];
        place.run(&[&args[..], more].concat(), "")
    };
    let listed = walk(&["--dry-run", "--every=2"]);
    assert_eq!(listed.stdout.lines().count(), 2, "{}", listed.stderr);
    let left = walk(&[]);
    assert_eq!(
        (left.code, left.stdout.as_str()),
        (3, "3 of 4 commits are stored\n"),
        "{}",
        left.stderr
    );
    assert!(
        left.stderr
            .contains("left out: the command ended with exit status: 1"),
        "{}",
        left.stderr
    );
    let again = walk(&[]);
    assert_eq!(
        again.stderr.matches("stored before").count(),
        3,
        "{}",
        again.stderr
    );
    let stored = place.run(
        &[
            "history",
            "--workload=w",
            "--branch=main",
            "--arch=amd64",
            "--distro=trixie",
        ],
        "",
    );
    for value in ["102", "104", "105"] {
        assert!(stored.stdout.contains(value), "{}", stored.stdout);
    }
    git("test $(git worktree list | wc -l) = 1");
    let empty = place.run(&["walk", "main..first", "--run=true"], "");
    assert_eq!(empty.code, 2);
    assert!(
        empty.stderr.contains("the newer end of a range comes last"),
        "{}",
        empty.stderr
    );
}

/// A repository of twenty commits, of which the first six and the last seven are stored. The size
/// grows from 100 to 110 at commit 9; commits in `broken` do not build.
fn gap(broken: &[u32]) -> (Place, Vec<String>) {
    let place = Place(tempfile::tempdir().unwrap());
    let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
    place.git(&format!(
        "git init -q -b main . && git config user.email a@example.org && git config user.name a
        for number in $(seq 20); do
            if test $number -lt 9; then echo 100 > size; else echo 110 > size; fi
            echo $number > number; rm -f broken
            for bad in {}; do test $number != $bad || touch broken; done
            git add -A; git commit -q -m \"change $number\"; done",
        broken.join(" ")
    ));
    let shas = place.git("git rev-list --reverse main");
    let shas: Vec<String> = shas.lines().map(str::to_owned).collect();
    let stored = (1..=6).chain(14..=20);
    let lines = stored.fold(String::new(), |mut lines, number: usize| {
        let value = if number < 9 { 100.0 } else { 110.0 };
        let mut run = run(number as u64, &[("size.text", value)]);
        run["commit_sha"] = json!(shas[number - 1]);
        run["workload"] = json!("w");
        writeln!(lines, "{run}").unwrap();
        lines
    });
    let left = place.run(&["backfill", "-"], &lines);
    assert_eq!(left.code, 0, "{}", left.stderr);
    (place, shas)
}

impl Place {
    fn git(&self, script: &str) -> String {
        let output = Command::new("bash")
            .args(["-euc", script])
            .current_dir(self.0.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Searches with a measurement that counts how often it is made.
    fn find(&self, more: &[&str]) -> Left {
        let log = self.0.path().join("log");
        let measure = format!("echo >> {}; {MEASURE}", log.display());
        self.run(&[&["find", "--run", &measure], more].concat(), "")
    }

    fn measurements(&self) -> usize {
        let log = fs::read_to_string(self.0.path().join("log")).unwrap_or_default();
        log.lines().count()
    }
}

#[test]
fn find_lists_the_commits_that_were_not_measured() {
    let (place, shas) = gap(&[]);
    let left = place.run(&["find"], "");
    assert_eq!(left.code, 0, "{}", left.stderr);
    let text = &left.stdout;
    assert!(
        text.contains("7 commits between them were not measured"),
        "{text}"
    );
    let listed = shas.iter().filter(|sha| text.contains(&sha[..12]));
    assert_eq!(
        listed.collect::<Vec<_>>(),
        shas[5..14].iter().collect::<Vec<_>>()
    );
    assert!(text.contains("100 -> 110  +10.0 %"), "{text}");
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert!(longest.unwrap() <= 80, "{text}");
    let none = place.run(&["find", "HEAD~3"], "");
    assert_eq!(none.code, 3, "{}", none.stdout);
    let unknown = place.run(&["find", "feedbeef"], "");
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.stderr.contains("does not know the commit"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn find_measures_until_one_commit_is_named_and_goes_on_where_it_was() {
    let (place, shas) = gap(&[10]);
    let left = place.find(&[]);
    assert_eq!(left.code, 0, "{}{}", left.stdout, left.stderr);
    let (guilty, parent) = (&shas[8], &shas[7]);
    let first = left.stdout.lines().next().unwrap();
    assert_eq!(
        first,
        format!("{guilty} is the first commit of the new level.")
    );
    assert!(left.stdout.contains(&parent[..12]), "{}", left.stdout);
    assert!(
        left.stdout.contains("100 -> 110  +10.0 %"),
        "{}",
        left.stdout
    );
    assert!(
        left.stderr.contains("skipped: the command ended"),
        "{}",
        left.stderr
    );
    let measured = place.measurements();
    assert!(
        (3..=6).contains(&measured),
        "both ends and the halves: {measured}"
    );
    let again = place.find(&[&shas[13]]);
    assert_eq!(again.stdout, left.stdout);
    // Commit 10 is tried again: the machine may be another one by now.
    assert!(place.measurements() <= measured + 1);
    place.git(
        "test $(git worktree list | wc -l) = 1; test -z \"$(git status --porcelain number size)\"",
    );
    let stored = place.run(&["runs", "--workload=w", "--json"], "");
    assert!(
        !stored.stdout.contains(guilty.as_str()),
        "nothing is uploaded"
    );
}

#[test]
fn find_names_those_that_remain_where_the_commits_beside_the_step_do_not_build() {
    let (place, shas) = gap(&[8, 9, 10]);
    let left = place.find(&[]);
    assert_eq!(left.code, 3, "{}", left.stderr);
    let text = &left.stdout;
    assert!(text.starts_with("One of these 4 commits"), "{text}");
    let listed = shas.iter().filter(|sha| text.contains(&sha[..12]));
    assert_eq!(
        listed.collect::<Vec<_>>(),
        shas[7..11].iter().collect::<Vec<_>>()
    );
}

#[test]
fn find_says_so_where_this_machine_does_not_show_the_change() {
    let (place, _) = gap(&[]);
    let flat = MEASURE.replace("$(cat size)", "100");
    let left = place.run(&["find", "--run", &flat], "");
    assert_eq!(left.code, 3, "{}", left.stderr);
    assert!(
        left.stdout.contains("do not show the change here"),
        "{}",
        left.stdout
    );
}
