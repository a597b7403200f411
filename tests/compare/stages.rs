//! Every stage repeats from the files of the one before, and none believes what was changed.

use std::fs;

use crate::world::{TENTH, World, contract, copy};

const STEADY: [f64; 5] = [100.0, 101.0, 99.0, 100.0, 100.5];

fn finished() -> World {
    let world = World::with_speeds(&contract("regression", TENTH), STEADY, STEADY);
    let said = world.run();
    assert_eq!(said.code, Some(0), "{said:#?}");
    world
}

#[test]
fn the_stages_repeat_to_the_byte_in_another_folder() {
    let world = finished();
    copy(&world.path("out"), &world.path("copy"));
    let made = ["record.json", "verdict.json", "report.md", "report.html"];
    for name in made {
        fs::remove_file(world.path("copy").join(name)).unwrap();
    }
    world.compare(&["assemble", "copy"]).is(0, &["10 trials"]);
    world.compare(&["judge", "copy"]).is(0, &["within budget"]);
    let shown = world.compare(&["report", "copy/record.json"]);
    shown.is(0, &["within budget"]);
    for name in made {
        let (first, second) = (
            world.read(&format!("out/{name}")),
            world.read(&format!("copy/{name}")),
        );
        assert_eq!(first, second, "{name}");
    }
    assert_eq!(shown.stdout, world.compare(&["report", "out"]).stdout);
}

#[test]
fn the_digest_is_that_of_the_contract() {
    let world = finished();
    let digest = world.read("out/contract.sha256");
    let checked = world.compare(&["check"]);
    checked.is(0, &["numbers-v1: 1 cell, 5 rounds, 10 trials"]);
    assert_eq!(digest.split(' ').next(), checked.stdout.split(' ').next());
    assert_eq!(world.read("out/contract.toml"), world.read("compare.toml"));
}

#[test]
fn a_contract_that_was_edited_after_the_run_is_refused() {
    let world = finished();
    let digest = world.read("out/contract.sha256")[..64].to_owned();
    let looser = world.read("compare.toml").replace("10 %", "90 %");
    world.write("compare.toml", &looser);
    let said = world.compare(&["judge", "out"]);
    said.is(
        2,
        &[
            &digest,
            "a budget that changed after the run needs a new run",
        ],
    );
    world.write("out/contract.toml", &looser);
    world
        .compare(&["assemble", "out"])
        .is(2, &[&digest, "was changed after the run"]);
}

#[test]
fn a_trial_that_was_removed_is_missing() {
    let world = finished();
    fs::remove_dir_all(world.path("out/trials/round-002/candidate/steady")).unwrap();
    world.compare(&["assemble", "out"]).is(0, &["9 trials"]);
    let said = world.compare(&["judge", "out"]);
    said.is(3, &["rejected"]);
    let verdict = world.verdict();
    assert_eq!(verdict["rejections"][0]["kind"], "missing");
    assert_eq!(
        verdict["rejections"][0]["reason"],
        "the candidate has no trial in round 2"
    );
    world
        .compare(&["report", "out"])
        .is(3, &["the candidate has no trial in round 2"]);
}

#[test]
fn a_record_that_was_edited_by_hand_is_refused() {
    let world = finished();
    let edited = world
        .read("out/record.json")
        .replace("\"speed\": 101.0", "\"speed\": 91.0");
    assert_ne!(edited, world.read("out/record.json"));
    world.write("out/record.json", &edited);
    world
        .compare(&["judge", "out"])
        .is(2, &["was changed after it was assembled"]);
    world
        .compare(&["report", "out"])
        .is(2, &["was changed after it was assembled"]);
}

#[test]
fn a_verdict_on_another_record_is_not_shown() {
    let world = finished();
    let other = world.read("out/verdict.json");
    fs::remove_dir_all(world.path("out/trials/round-005")).unwrap();
    world.compare(&["assemble", "out"]).is(0, &[]);
    world.write("out/verdict.json", &other);
    world
        .compare(&["report", "out"])
        .is(2, &["it judges the record with the seal"]);
}

#[test]
fn two_rounds_in_a_row_that_began_with_one_side_reject() {
    let world = finished();
    // Round 2 ran the candidate first, at position 3.
    for (side, position) in [("candidate", 4), ("reference", 3)] {
        let name = format!("out/trials/round-002/{side}/steady/trial.json");
        let text = world.read(&name);
        let (from, to) = (7 - position, position);
        let moved = text.replace(
            &format!("\"position\": {from}"),
            &format!("\"position\": {to}"),
        );
        assert_ne!(text, moved);
        world.write(&name, &moved);
    }
    world.compare(&["assemble", "out"]).is(0, &[]);
    world.compare(&["judge", "out"]).is(3, &["rejected"]);
    let reason = world.verdict()["rejections"][0]["reason"].to_string();
    assert!(
        reason.contains("rounds 1 and 2 both began with the reference"),
        "{reason}"
    );
}

#[test]
fn a_folder_that_is_in_use_is_left_alone() {
    let world = finished();
    let before = world.read("out/record.json");
    world.run().is(2, &["is not empty"]);
    assert_eq!(world.read("out/record.json"), before);
}

#[test]
fn a_trial_of_another_folder_is_no_trial() {
    let world = finished();
    let from = world.path("out/trials/round-001/reference/steady/trial.json");
    fs::copy(
        from,
        world.path("out/trials/round-003/reference/steady/trial.json"),
    )
    .unwrap();
    world
        .compare(&["assemble", "out"])
        .is(2, &["is of another trial than its folder says"]);
}

#[test]
fn init_writes_a_contract_and_overwrites_none() {
    let world = World::new("");
    world.compare(&["init", "new.toml"]).is(0, &["commit it"]);
    world.compare(&["check", "new.toml"]).is(0, &["sort-v1"]);
    world
        .compare(&["init", "new.toml"])
        .is(2, &["is there already"]);
    world.write("bad.toml", "name = \"x\"\nrouns = 5\n");
    let said = world.compare(&["check", "bad.toml"]);
    said.is(
        2,
        &[
            "bad.toml:1:8: `name` must end in a version",
            "bad.toml:2:1: `rouns`",
        ],
    );
}
