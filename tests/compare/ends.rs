//! Nothing is left running, however a run ends.

use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::servers::{CONTRACT, running, world};
use crate::world::{RUN, Said, World};

/// Waits until the server of a run is up and loaded, which a hanging one stays.
fn start(world: &World) -> Child {
    let child = world.command(&RUN).spawn().unwrap();
    let begin = Instant::now();
    while !running(world)
        .iter()
        .any(|line| line.contains("python3 load.py ") && !line.contains("ready"))
    {
        assert!(
            begin.elapsed().as_secs() < 60,
            "no trial began: {:?}",
            running(world)
        );
        sleep(Duration::from_millis(50));
    }
    child
}

/// Waits until nothing of a world runs any more.
fn ended(world: &World) {
    let begin = Instant::now();
    while !running(world).is_empty() {
        assert!(begin.elapsed().as_secs() < 30, "left: {:?}", running(world));
        sleep(Duration::from_millis(50));
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

#[test]
fn a_signal_ends_all_and_says_so() {
    for (signal, name) in [(Signal::INT, "SIGINT"), (Signal::TERM, "SIGTERM")] {
        let world = world(CONTRACT, "hang", "well");
        let child = start(&world);
        kill_process(pid(&child), signal).unwrap();
        let said: Said = child.wait_with_output().unwrap().into();
        said.is(2, &[name, "what was started is stopped"]);
        assert_eq!(running(&world), Vec::<String>::new());
        assert!(world.path("out/contract.sha256").exists());
    }
}

#[test]
fn a_crash_leaves_nothing_running() {
    let world = world(CONTRACT, "hang", "well");
    let mut child = start(&world);
    kill_process(pid(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    ended(&world);
}

#[test]
fn what_a_program_leaves_behind_is_ended_with_it() {
    let contract = r#"
name = "daemons-v1"
rounds = 3

[[cell]]
name = "one"
command = "cd \"$COMPARE_FOLDER\"; setsid sleep 600 & echo '{\"metrics\": {\"n\": 1}}'"

[[cell.metric]]
name = "n"
worse = "higher"
floor = "10 %"
variance = "10 %"
"#;
    let world = World::new(contract);
    world.run().is(0, &["within budget"]);
    assert_eq!(running(&world), Vec::<String>::new());
}
