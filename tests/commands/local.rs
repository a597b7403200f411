//! `--server sqlite:FILE`: the commands without a service.

use std::fs;
use std::path::Path;

use crate::shell::{Left, RUN, Shell};

const SERVER: &str = "sqlite:perf.db";

/// An empty folder, and a shell in it that keeps its runs in `perf.db`.
fn place() -> (tempfile::TempDir, Shell) {
    let folder = tempfile::tempdir().unwrap();
    let shell = Shell::at(SERVER).within(folder.path());
    (folder, shell)
}

fn run(number: u32) -> String {
    RUN.replace(
        "0123456789abcdef0123456789abcdef01234567",
        &format!("{number:040x}"),
    )
}

async fn dates(shell: &Shell) -> Left {
    shell.history(&["--metric=callgrind.ir"]).await
}

#[tokio::test]
async fn the_file_alone_holds_everything_after_each_command() {
    let (folder, shell) = place();
    for number in 1..=3 {
        let left = shell.upload(&[], &run(number)).await;
        assert_eq!((left.code, left.stderr.as_str()), (0, ""), "{left:?}");
        let names: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names, ["perf.db"]);
    }
    let copy = tempfile::tempdir().unwrap();
    fs::copy(folder.path().join("perf.db"), copy.path().join("copy.db")).unwrap();
    let copied = Shell::at("sqlite:copy.db").within(copy.path());
    let left = dates(&copied).await;
    assert_eq!(left.stdout.lines().count(), 4, "{left:?}");
    assert_eq!(left, dates(&shell).await);
}

#[tokio::test]
async fn a_file_is_ready_and_a_newer_one_is_refused() {
    let (folder, shell) = place();
    shell
        .run(&["health"], "")
        .await
        .is(0, "sqlite:perf.db is ready\n", "");
    let newer = "INSERT INTO perf_tracking_migrations (version, checksum) VALUES (9999, 'x')";
    change(&folder.path().join("perf.db"), newer).await;
    let left = shell.upload(&[], RUN).await;
    assert_eq!((left.code, left.stdout.as_str()), (2, ""));
    assert!(
        left.stderr.starts_with(
            "error: sqlite:perf.db: `perf.db` cannot be used: the database has migration 9999, \
             which this binary"
        ),
        "{left:?}"
    );
    let left = dates(&shell).await;
    assert_eq!(left.code, 2, "{left:?}");
}

#[tokio::test]
async fn what_is_no_file_of_runs_is_named_and_left_alone() {
    let (folder, shell) = place();
    let path = folder.path().join("perf.db");
    fs::write(
        &path,
        "a letter to a friend, and longer than a page of a database".repeat(100),
    )
    .unwrap();
    let before = fs::read(&path).unwrap();
    let left = shell.upload(&[], RUN).await;
    assert_eq!(left.code, 2);
    assert!(
        left.stderr
            .starts_with("error: sqlite:perf.db: `perf.db` is no file of runs: "),
        "{left:?}"
    );
    assert_eq!(fs::read(&path).unwrap(), before);

    let within = |server: &str| Shell::at(server).within(folder.path());
    within("sqlite:missing/perf.db").upload(&[], RUN).await.is(
        2,
        "",
        "error: sqlite:missing/perf.db: there is no folder `missing`; make it, or name a file in another one\n",
    );
    assert!(!folder.path().join("missing").exists());
    within("sqlite:.").upload(&[], RUN).await.is(
        2,
        "",
        "error: sqlite:.: `.` is a folder; name a file in it\n",
    );
    within("sqlite:").upload(&[], RUN).await.is(
        2,
        "",
        "error: --server (PERF_TRACKING_URL): `sqlite:` names no file; write sqlite:FILE\n",
    );
}

#[tokio::test]
async fn a_file_that_is_only_read_answers_and_takes_nothing() {
    let (folder, shell) = place();
    let frozen = Shell::at("sqlite:perf.db?mode=ro").within(folder.path());
    let left = dates(&frozen).await;
    assert_eq!(left.code, 2);
    assert!(
        left.stderr.contains("there is no file `perf.db`"),
        "{left:?}"
    );
    assert!(!folder.path().join("perf.db").exists());

    shell.upload(&[], RUN).await;
    let before = fs::read(folder.path().join("perf.db")).unwrap();
    let left = dates(&frozen).await;
    assert_eq!((left.code, left.stdout.lines().count()), (0, 2), "{left:?}");
    let left = frozen.upload(&[], &run(2)).await;
    assert_eq!(left.code, 2);
    assert!(
        left.stderr
            .contains("`perf.db` can only be read, and nothing was stored"),
        "{left:?}"
    );
    assert_eq!(fs::read(folder.path().join("perf.db")).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_share_a_file_and_lose_nothing() {
    let (_folder, shell) = place();
    let uploads = (1..=24).map(|number| {
        let shell = shell.clone();
        tokio::spawn(async move { shell.upload(&[], &run(number)).await })
    });
    let uploads: Vec<_> = uploads.collect();
    for upload in uploads {
        let left = upload.await.unwrap();
        assert_eq!((left.code, left.stderr.as_str()), (0, ""), "{left:?}");
    }
    let left = shell.history(&["--limit=1000"]).await;
    assert_eq!(left.stdout.lines().count(), 25, "{left:?}");
}

/// Runs a statement on a SQLite file, as a stranger would.
async fn change(path: &Path, statement: &str) {
    let script = format!(
        "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nc.execute(\"{statement}\")\nc.commit()\n"
    );
    let output = tokio::process::Command::new("python3")
        .args(["-c", &script])
        .arg(path)
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}
