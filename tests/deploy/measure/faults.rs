//! Whatever goes wrong, it is said, and nothing is left.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::images::{Conduct, StandIns};
use super::{Measured, all_of, measure, projects};

/// A contract in a folder of its own.
struct Case {
    _images: StandIns,
    folder: TempDir,
}

impl Case {
    async fn new(conduct: Conduct, load: &str, from: &str, to: &str) -> Self {
        let images = StandIns::build(conduct, load).await;
        let text = images.contract();
        assert!(text.contains(from));
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("contract.toml"),
            text.replacen(from, to, 1),
        )
        .unwrap();
        Self {
            _images: images,
            folder,
        }
    }

    fn document(&self) -> PathBuf {
        self.folder.path().join("metrics.json")
    }

    fn command(&self) -> Command {
        measure(&self.folder.path().join("contract.toml"), &self.document())
    }

    fn run(&self) -> Measured {
        Measured::of(self.command().output().unwrap())
    }

    fn fails(&self, words: &[&str]) {
        self.run().failed(&self.document(), words);
    }
}

async fn case(conduct: Conduct, load: &str) -> Case {
    Case::new(conduct, load, "", "").await
}

#[tokio::test]
async fn a_server_and_a_load_that_do_as_they_should_are_measured() {
    let case = case(Conduct::Good, "good").await;
    let measured = case.run();
    assert_eq!(measured.code, Some(0), "{}", measured.said);
    measured.left_nothing();
    let document = fs::read_to_string(case.document()).unwrap();
    assert!(
        document.contains("callgrind.ir") && document.contains("massif.peak_heap_bytes"),
        "{document}"
    );
}

#[tokio::test]
async fn a_server_that_ends_at_once() {
    case(Conduct::EndsAtOnce, "good").await.fails(&[
        "error: callgrind: the server ended with 3 while this was done: waiting until the server answers",
        "the last lines of the server's log:\n  the stand-in starts\n  boom: cannot open ibdata1",
    ]);
}

#[tokio::test]
async fn a_server_that_never_answers() {
    // Long enough for a busy engine to start the first question.
    let limit = "[server]\nready_seconds = 15";
    let case = Case::new(Conduct::NeverGreets, "good", "[server]", limit).await;
    case.fails(&[
        "the server did not answer within 15 s (error: Connection refused",
        "`ready_seconds` of the contract",
        "still recovering",
    ]);
}

#[tokio::test]
async fn a_server_that_ends_under_the_load_though_sysbench_does_not_notice() {
    case(Conduct::EndsUnderLoad, "hangs").await.fails(&[
        "the server ended with 134 while this was done: sysbench runs",
        "Assertion failure in btr0cur.cc",
    ]);
}

#[tokio::test]
async fn a_sysbench_that_fails() {
    case(Conduct::Good, "fails").await.fails(&[
        "sysbench oltp_read_write",
        "FATAL: error 1205: Lock wait timeout exceeded",
        "the stand-in starts",
    ]);
}

#[tokio::test]
async fn a_sysbench_that_did_something_else() {
    case(Conduct::Good, "other").await.fails(&[
        "sysbench did not do what the contract says: it reports 19 events, and 20 were asked for",
    ]);
}

#[tokio::test]
async fn a_server_that_does_not_stop_or_stops_with_an_error() {
    let limit = "[server]\nstop_seconds = 2";
    let case = Case::new(Conduct::NeverStops, "good", "[server]", limit).await;
    case.fails(&[
        "it did not stop within 2 s",
        "`stop_seconds` of the contract",
    ]);
    let case = self::case(Conduct::FailsToStop, "good").await;
    case.fails(&[
        "the server ended with 6 while this was done: stopping the server",
        "the stand-in stops",
    ]);
}

#[tokio::test]
async fn a_file_that_was_cut_short() {
    case(Conduct::LeavesHalf, "good")
        .await
        .fails(&["/measured/callgrind.out.1", "perf-tracking document"]);
}

#[tokio::test]
async fn a_signal_while_the_server_is_waited_for() {
    let case = case(Conduct::NeverGreets, "good").await;
    for (signal, name) in [("-INT", "SIGINT"), ("-TERM", "SIGTERM"), ("-HUP", "SIGHUP")] {
        let mut child = case.command().stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = String::new();
        while !said.contains("waiting until the server answers") {
            let line = lines.next().unwrap_or_else(|| panic!("it ended:\n{said}"));
            said.push_str(&line.unwrap());
            said.push('\n');
        }
        let project = projects(&said).pop().expect("it names its project");
        assert_ne!(all_of(&project), "", "it runs");
        assert!(
            Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        for line in lines {
            said.push_str(&line.unwrap());
            said.push('\n');
        }
        let code = child.wait().unwrap().code();
        let measured = Measured { code, said };
        measured.failed(
            &case.document(),
            &[&format!("stopped by {name}"), "still recovering"],
        );
    }
}

#[tokio::test]
async fn a_compose_file_that_is_broken_or_is_not_there() {
    let case = case(Conduct::Good, "good").await;
    let contract = case.folder.path().join("contract.toml");
    let text = fs::read_to_string(&contract).unwrap();
    let folder = format!("{}/deploy/measure", crate::docker::ROOT);
    fs::write(&contract, text.replace(&folder, "compose")).unwrap();
    case.fails(&[
        "compose/callgrind.yaml cannot be read; `compose` in the contract names the folder that it is in: No such file",
    ]);

    let compose = case.folder.path().join("compose");
    fs::create_dir(&compose).unwrap();
    fs::copy(
        format!("{folder}/callgrind.yaml"),
        compose.join("callgrind.yaml"),
    )
    .unwrap();
    case.fails(&["error: ", "compose/massif.yaml cannot be read; "]);
    fs::copy(format!("{folder}/massif.yaml"), compose.join("massif.yaml")).unwrap();
    fs::write(compose.join("callgrind.yaml"), "services:\n  server: [\n").unwrap();
    case.fails(&["up --detach` failed:", "callgrind.yaml"]);

    let whole = fs::read_to_string(format!("{folder}/callgrind.yaml")).unwrap();
    fs::write(
        compose.join("callgrind.yaml"),
        whole.replace("  load:", "  other:"),
    )
    .unwrap();
    case.fails(&["no container of the service `load` was started"]);

    // podman's compose says nothing of a container that does not start.
    let ending = whole.replace(
        "depends_on: [server]",
        "depends_on: [server]\n    entrypoint: [\"true\"]",
    );
    fs::write(compose.join("callgrind.yaml"), ending).unwrap();
    case.fails(&["the load generator ended with 0; its image must be built from"]);

    // Compose fails half way: there is a network, a volume and a server, and the load generator cannot start.
    let broken = whole.replace(
        "depends_on: [server]",
        "depends_on: [server]\n    entrypoint: [\"/not/there\"]",
    );
    assert_ne!(broken, whole);
    fs::write(compose.join("callgrind.yaml"), broken).unwrap();
    case.fails(&["up --detach` failed:", "/not/there"]);
}

#[tokio::test]
async fn images_that_are_missing_or_of_another_server() {
    let case = case(Conduct::Good, "good").await;
    let contract = case.folder.path().join("contract.toml");
    let text = fs::read_to_string(&contract).unwrap();
    fs::write(&contract, text.replace("-server\"", "-no-server\"")).unwrap();
    case.fails(&[
        "the server's image ",
        "is not here; build it, or `docker pull ",
    ]);

    fs::write(
        &contract,
        text.replace("-measured\"", "-none\"")
            .replace("-load\"", "-none\""),
    )
    .unwrap();
    case.fails(&[
        "-none is missing; build it:\n  docker build --file ",
        "Containerfile.massif --build-arg SERVER_IMAGE=",
        "Containerfile.load --build-arg RUNNER_IMAGE=perf-tracking --tag ",
    ]);

    fs::write(&contract, text.replace("\"mariadbd\"", "\"drizzled\"")).unwrap();
    case.fails(&["starts mariadbd, not drizzled; build it:"]);

    fs::write(&contract, text.replace("-server\"", "-load\"")).unwrap();
    case.fails(&["-load as it is now; build it:"]);
}
