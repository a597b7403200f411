//! Servers under test that behave and that do not.

use std::fs;
use std::time::Instant;

use crate::world::World;

pub(crate) const CONTRACT: &str = r#"
name = "records-v1"
rounds = 3

[subject]
start = "exec python3 server.py"
ready = "python3 load.py ready"
ready_seconds = 30
stop_seconds = 2

[[cell]]
name = "steady"
command = "python3 load.py"
seconds = 60
units = "consumed"
expect = { sent = 2000, consumed = 2000 }

[[cell.metric]]
name = "records_per_second"
worse = "lower"
floor = "900 %"
variance = "900 %"

[[cell.metric]]
name = "peak_memory_bytes"
worse = "higher"
floor = "50 %"
variance = "50 %"
"#;

pub(crate) fn world(contract: &str, reference: &str, candidate: &str) -> World {
    let world = World::new(contract);
    for (side, mode) in [("reference", reference), ("candidate", candidate)] {
        world.write(&format!("{side}/mode"), mode);
        world.write(&format!("{side}/server.py"), include_str!("server.py"));
        world.write(&format!("{side}/load.py"), include_str!("load.py"));
    }
    world
}

/// The processes that run in a folder of this world.
pub(crate) fn running(world: &World) -> Vec<String> {
    let folder = world.path("").canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let inside = processes.filter(|process| {
        let place = fs::read_link(process.path().join("cwd"));
        place.is_ok_and(|place| place.starts_with(&folder))
    });
    let named = inside.map(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    });
    named.collect()
}

#[test]
fn a_server_is_started_afresh_and_measured() {
    let world = world(CONTRACT, "well", "well");
    let said = world.run();
    assert_eq!(said.code, Some(0), "{said:#?}");
    assert_eq!(running(&world), Vec::<String>::new());
    let record = world.json("out/record.json");
    let trials = record["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 6);
    let mut starts = std::collections::BTreeSet::new();
    for trial in trials {
        let before = trial["processes_before"].as_array().unwrap();
        assert_eq!(before.len(), 1, "{trial}");
        assert_eq!(trial["processes_before"], trial["processes_after"]);
        assert!(
            trial["peak_memory_bytes"].as_f64().unwrap() > 1e6,
            "{trial}"
        );
        assert!(trial["cpu_seconds"].as_f64().is_some());
        starts.insert(before[0]["pid"].as_u64().unwrap());
    }
    assert_eq!(starts.len(), 6, "each round has servers of its own");
    let order: Vec<&str> = trials
        .iter()
        .map(|trial| trial["side"].as_str().unwrap())
        .collect();
    assert_eq!(
        order,
        [
            "reference",
            "candidate",
            "candidate",
            "reference",
            "reference",
            "candidate"
        ]
    );
}

#[test]
fn both_sides_stay_up_where_trials_alternate() {
    let contract = CONTRACT.replace("rounds = 3", "rounds = 3\ninterleave = \"trial\"");
    let world = world(&contract, "well", "well");
    let said = world.run();
    assert_eq!(said.code, Some(0), "{said:#?}");
    let record = world.json("out/record.json");
    let trials = record["trials"].as_array().unwrap();
    let pids: std::collections::BTreeSet<u64> = trials
        .iter()
        .map(|trial| trial["processes_before"][0]["pid"].as_u64().unwrap())
        .collect();
    assert_eq!(pids.len(), 2, "one server a side");
    assert_eq!(running(&world), Vec::<String>::new());
}

#[test]
fn a_server_that_loses_one_record_in_a_thousand_rejects() {
    let world = world(CONTRACT, "well", "lose");
    world.run().is(
        3,
        &[
            "rejected",
            "steady, candidate, round 1: `consumed` is 1998, and must be 2000",
        ],
    );
    assert_eq!(
        world.verdict()["cells"][0]["metrics"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
}

#[test]
fn a_server_that_restarts_in_a_trial_rejects() {
    let world = world(CONTRACT, "restart", "well");
    let said = world.run();
    said.is(
        3,
        &[
            "rejected",
            "steady, reference, round 1",
            "ended during the trial and was started again as process",
        ],
    );
    let verdict = world.verdict();
    assert_eq!(verdict["rejections"][0]["kind"], "restart");
    assert_eq!(running(&world), Vec::<String>::new());
}

#[test]
fn a_server_that_hangs_rejects_and_is_ended() {
    let contract = CONTRACT.replace("seconds = 60", "seconds = 5");
    let world = world(&contract, "well", "hang");
    world.run().is(
        3,
        &[
            "rejected",
            "steady, candidate, round 2: the program did not end within 5 s",
        ],
    );
    assert_eq!(running(&world), Vec::<String>::new());
}

#[test]
fn a_server_that_will_not_stop_is_killed() {
    let world = world(CONTRACT, "well", "stubborn");
    let begin = Instant::now();
    let said = world.run();
    said.is(
        0,
        &["candidate: the subject did not stop in time, and was killed"],
    );
    assert!(
        begin.elapsed().as_secs() >= 6,
        "three rounds of two seconds each"
    );
    assert_eq!(running(&world), Vec::<String>::new());
}

#[test]
fn a_server_that_never_gets_ready_or_ends_says_why() {
    let contract = CONTRACT.replace("exec python3 server.py", "echo no database here; exit 4");
    let world = world(&contract, "well", "well");
    let said = world.run();
    said.is(
        3,
        &[
            "rejected",
            "the subject ended with exit code 4",
            "no database here",
        ],
    );
    let contract = CONTRACT
        .replace("python3 load.py ready", "echo not yet; false")
        .replace("ready_seconds = 30", "ready_seconds = 1");
    let world = self::world(&contract, "well", "well");
    world.run().is(
        3,
        &["the subject was not ready within 1 s (the probe said: not yet)"],
    );
    assert_eq!(running(&world), Vec::<String>::new());
}
