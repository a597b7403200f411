//! What a whole run comes to, from the numbers that its programs print.

use serde_json::json;

use crate::world::{TENTH, World, contract};

const STEADY: [f64; 5] = [100.0, 101.0, 99.0, 100.0, 100.5];
const SLOWER: [f64; 5] = [120.0, 121.0, 119.0, 120.0, 120.5];
const VARIED: [f64; 5] = [60.0, 100.0, 140.0, 60.0, 140.0];

/// The status of the one metric, and its reason.
fn metric(world: &World) -> (String, String) {
    let verdict = world.verdict();
    let metric = &verdict["cells"][0]["metrics"][0];
    let text = |key: &str| metric[key].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}

#[test]
fn a_worse_candidate_is_a_regression() {
    let world = World::with_speeds(&contract("regression", TENTH), STEADY, SLOWER);
    world
        .run()
        .is(1, &["numbers-v1: regressed", "1 of 1 metrics are worse"]);
    let (status, reason) = metric(&world);
    assert_eq!(status, "regressed");
    assert_eq!(reason, "20.0 % worse, and 10.0 % is allowed");
    let verdict = world.verdict();
    let metric = &verdict["cells"][0]["metrics"][0];
    assert_eq!(metric["reference"]["median"], json!(100.0));
    assert_eq!(metric["candidate"]["median"], json!(120.0));
    let spread = metric["reference"]["spread"].as_f64().unwrap();
    assert!((spread - 0.005).abs() < 1e-9, "{spread}");
}

#[test]
fn an_equal_or_a_better_candidate_passes() {
    let world = World::with_speeds(&contract("regression", TENTH), STEADY, STEADY);
    world.run().is(0, &["within budget"]);
    assert_eq!(metric(&world).0, "within");
    let world = World::with_speeds(&contract("regression", TENTH), SLOWER, STEADY);
    world.run().is(0, &["within budget", "and 1 improved"]);
    assert_eq!(metric(&world).0, "improved");
}

#[test]
fn a_change_within_the_spread_is_noisy_and_passes() {
    let noisy = [100.0, 106.0, 94.0, 106.0, 94.0];
    let worse = [113.0, 113.0, 113.0, 113.0, 113.0];
    let world = World::with_speeds(&contract("regression", TENTH), noisy, worse);
    world.run().is(0, &["noisy"]);
    assert_eq!(metric(&world).0, "noisy");
}

#[test]
fn trials_that_lie_too_far_apart_are_inconclusive_in_every_mode() {
    for mode in ["regression", "difference"] {
        let world = World::with_speeds(&contract(mode, TENTH), STEADY, VARIED);
        world.run().is(
            3,
            &[
                "inconclusive",
                "the trials of the candidate have a spread of 40.0 %",
            ],
        );
        let world = World::with_speeds(&contract(mode, TENTH), VARIED, STEADY);
        world
            .run()
            .is(3, &["inconclusive", "the trials of the reference"]);
    }
}

#[test]
fn a_difference_is_shown_and_not_gated() {
    let world = World::with_speeds(&contract("difference", TENTH), STEADY, SLOWER);
    world.run().is(0, &["material difference, not gating"]);
    assert_eq!(metric(&world).0, "material_difference");
}

#[test]
fn wrong_counts_reject_on_either_side_in_every_mode() {
    for mode in ["regression", "difference"] {
        for side in ["reference", "candidate"] {
            let world = World::with_speeds(&contract(mode, TENTH), STEADY, STEADY);
            world.write(
                &format!("{side}/3.json"),
                r#"{"counts": {"sent": 9}, "metrics": {"speed": 100}}"#,
            );
            let place = format!("steady, {side}, round 3: `sent` is 9, and must be 10");
            world.run().is(3, &["rejected", &place]);
            let verdict = world.verdict();
            assert_eq!(
                verdict["cells"][0]["metrics"],
                json!([]),
                "a rejected cell shows numbers"
            );
            assert_eq!(verdict["cells"][0]["recorded"], json!([]));
            assert_eq!(verdict["rejections"][0]["kind"], "count");
        }
    }
}

#[test]
fn what_goes_wrong_in_a_trial_rejects_with_its_last_lines() {
    let cases = [
        ("no JSON {", "is no trial"),
        (
            r#"{"counts": {}, "metrics": {"speed": 1}}"#,
            "`sent` was not counted",
        ),
        (r#"{"counts": {"sent": 10}}"#, "`speed` was not measured"),
        (
            r#"{"counts": {"sent": 10}, "metrics": {"speed": 1e999}}"#,
            "is no trial",
        ),
    ];
    for (text, reason) in cases {
        let world = World::with_speeds(&contract("regression", TENTH), STEADY, STEADY);
        // What starts with a brace is meant to be a trial.
        let text = if text.starts_with('{') {
            text.to_owned()
        } else {
            format!("{{{text}")
        };
        world.write("candidate/2.json", &text);
        world.run().is(3, &["steady, candidate, round 2", reason]);
    }
    let world = World::with_speeds(&contract("regression", TENTH), STEADY, STEADY);
    std::fs::remove_file(world.path("candidate/2.json")).unwrap();
    world
        .run()
        .is(3, &["the program ended with exit code 1", "No such file"]);
    let output = world.verdict()["rejections"][0]["output"].to_string();
    assert!(output.contains("No such file"), "{output}");
}

#[test]
fn the_randomization_rule_is_chosen_for_a_metric() {
    let rule = "rule = \"randomization\"";
    // Ties would make the largest difference so common that nothing is above the percentile.
    let reference = [100.0, 101.0, 99.0, 100.2, 100.5];
    let candidate = [120.0, 121.3, 119.1, 120.7, 122.9];
    let world = World::with_speeds(&contract("regression", rule), reference, candidate);
    world
        .run()
        .is(1, &["regressed", "above the 95th percentile of chance"]);
    let verdict = world.verdict();
    let metric = &verdict["cells"][0]["metrics"][0];
    assert_eq!(metric["randomization"]["splits"], json!(252));
    let warnings = verdict["warnings"][0].as_str().unwrap();
    assert!(warnings.contains("distinct values"), "{warnings}");

    let world = World::with_speeds(&contract("regression", rule), VARIED, VARIED);
    world.run().is(3, &["unstable", "chance alone reaches"]);
    let shown = format!("{rule}\nunstable = \"show\"");
    let world = World::with_speeds(&contract("regression", &shown), VARIED, VARIED);
    world.run().is(0, &["unstable"]);
}

#[test]
fn what_the_runner_measures_is_judged_too() {
    let text = r#"
name = "work-v1"
rounds = 3

[[cell]]
name = "loop"
command = 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo "{\"counts\": {\"turns\": $i}}"'
units = "turns"
expect = { turns = 20000 }

[[cell.metric]]
name = "cpu_seconds_per_unit"
worse = "higher"
floor = "100 %"
variance = "100 %"

[[cell.metric]]
name = "peak_memory_bytes"
worse = "higher"
floor = "50 %"
variance = "50 %"
"#;
    let world = World::new(text);
    let said = world.run();
    assert_eq!(said.code, Some(0), "{said:#?}");
    let trial = world.json("out/trials/round-001/reference/loop/trial.json");
    let number = |key: &str| trial[key].as_f64().unwrap();
    assert!(number("cpu_seconds") > 0.0 && number("wall_seconds") > 0.0);
    let per_unit = number("cpu_seconds") / 20_000.0;
    assert!((number("cpu_seconds_per_unit") - per_unit).abs() < 1e-12);
    assert!(number("peak_memory_bytes") > 100_000.0);
    assert_eq!(trial["exit_code"], 0);
}

#[test]
fn calibration_proposes_budgets_and_counts_false_alarms() {
    let world = World::with_speeds(&contract("regression", TENTH), STEADY, STEADY);
    let said = world.compare(&["calibrate", "--side", "reference", "--output", "out"]);
    said.is(
        0,
        &["largest spread 0.50 %", "over 252 splits: 0 false alarms"],
    );
    assert!(said.stdout.contains("floor = \"5 %\"\n"), "{said:#?}");
    let again = world.compare(&["calibrate", "--record", "out"]);
    assert_eq!(again.stdout, said.stdout);
}

#[test]
fn the_memory_of_a_program_is_its_own_however_small_or_short_lived_it_is() {
    let cell = |name: &str, command: &str| {
        format!("\n[[cell]]\nname = \"{name}\"\njudged = false\ncommand = '''{command}'''\n")
    };
    let contract = "name = \"memory-v1\"\nrounds = 3\n".to_owned()
        + &cell("small", "exec sleep 0.1")
        + &cell("large", "exec python3 -c \"data = b'x' * 200_000_000\"")
        + &cell(
            "two",
            "python3 -c \"import time; data = b'x' * 50_000_000; time.sleep(0.5)\" & exec python3 -c \"import time; data = b'x' * 50_000_000; time.sleep(0.5)\"",
        );
    let world = World::new(&contract);
    world.run().is(0, &["within budget"]);
    for trial in world.json("out/record.json")["trials"].as_array().unwrap() {
        let (from, to) = match trial["cell"].as_str().unwrap() {
            "small" => (5e5, 6e6),
            "large" => (2e8, 2.5e8),
            _ => (1e8, 1.5e8),
        };
        let peak = trial["peak_memory_bytes"].as_f64().unwrap();
        assert!((from..to).contains(&peak), "{trial}");
    }
}
