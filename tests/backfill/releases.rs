//! Baseline files: a release a file, whose commit and date come from elsewhere.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::files::document;
use crate::world::{World, run, table, with};

const SERIES: [&str; 6] = [
    "--repo=drizzle",
    "--branch=main",
    "--workload=perf",
    "--arch=amd64",
    "--distro=trixie",
    "--host-class=callgrind",
];

fn git(folder: &Path, args: &[&str], date: &str) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(args)
        .env("GIT_COMMITTER_DATE", date)
        .env("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// A checkout with two releases, one tagged with a message and one with a `v`, and their commits.
fn checkout(folder: &Path) -> [String; 2] {
    git(folder, &["init", "-q"], "");
    let mut commits = Vec::new();
    for (tag, date) in [
        ("14.04", "2014-04-17T10:00:00+02:00"),
        ("v24.04", "2024-04-25T00:00:00Z"),
    ] {
        git(folder, &["commit", "-q", "--allow-empty", "-m", tag], date);
        git(folder, &["tag", "-a", "-m", tag, tag], date);
        commits.push(git(folder, &["rev-parse", "HEAD"], date));
    }
    commits.try_into().unwrap()
}

fn write(folder: &Path, name: &str, content: &Json) -> String {
    let file = folder.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, serde_json::to_string_pretty(content).unwrap()).unwrap();
    file.to_str().unwrap().to_owned()
}

/// All stored runs, by what tells them apart.
async fn stored(world: &World) -> Vec<Json> {
    let export = world.export().await;
    let mut runs: Vec<Json> = export
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    runs.sort_by_key(|run| (run["tag"].to_string(), run["commit_sha"].to_string()));
    runs
}

fn metric(key: &str, dim: &str, value: u64, wallclock: bool) -> Json {
    json!({"metric_key": key, "dim_key": dim, "value": value, "wallclock": wallclock})
}

#[tokio::test]
async fn a_release_is_named_by_its_file_and_dated_by_its_tag() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = checkout(folder.path());
    let perf = folder.path().join("perf");
    write(
        &perf,
        "14.04.json",
        &json!({"callgrind.ir": 5, "lat{threads=2}": 7}),
    );
    write(&perf, "24.04.json", &document(6));
    write(
        &perf,
        "whole.json",
        &with(run(1), json!({"tag": "baseline"})),
    );
    let path = perf.to_str().unwrap();
    let left = world
        .shell
        .run(&[&["backfill", path], &SERIES[..]].concat(), "")
        .await;
    left.is(0, &table(3, 0, 0, 0), "");
    let expected = |tag: &str, commit: &str, date: &str, metrics: Json| {
        with(
            run(1),
            json!({
                "tag": tag, "commit_sha": commit, "run_date": date, "metrics": metrics,
                "change": null, "patchset": null,
            }),
        )
    };
    let ir = |value| metric("callgrind.ir", "", value, false);
    assert_eq!(
        stored(&world).await,
        [
            with(
                expected(
                    "14.04",
                    &old,
                    "2014-04-17T08:00:00Z",
                    json!([ir(5), metric("lat", "threads=2", 7, false)])
                ),
                json!({"subject": "14.04"})
            ),
            with(
                expected("24.04", &new, "2024-04-25T00:00:00Z", json!([ir(6)])),
                json!({"subject": "v24.04"})
            ),
            expected(
                "baseline",
                &format!("{:040x}", 1),
                "2026-01-01T00:01:00Z",
                json!([ir(1_000_001)])
            ),
        ]
    );
    // From another folder, and again.
    let path = write(
        folder.path(),
        "elsewhere/14.04.json",
        &json!({"callgrind.ir": 5, "lat{threads=2}": 7}),
    );
    let at = format!("--git={}", folder.path().display());
    let left = world
        .shell
        .run(&[&["backfill", &path, &at], &SERIES[..]].concat(), "")
        .await;
    left.is(0, &table(0, 1, 0, 0), "");
}

#[tokio::test]
async fn a_path_says_what_its_file_does_not() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = checkout(folder.path());
    for (commit, arch) in [(&old, "amd64"), (&old, "arm64"), (&new, "arm64")] {
        write(
            folder.path(),
            &format!("ci/{commit}/{arch}/metrics.json"),
            &json!({"a": 1, "distro": "sid"}),
        );
    }
    let stray = write(folder.path(), "ci/stray.json", &json!({"a": 1}));
    let path = folder.path().join("ci");
    let args = [
        "backfill",
        path.to_str().unwrap(),
        "--from-path={commit_sha}/{arch}/metrics.json",
    ];
    let left = world.shell.run(&[&args[..], &SERIES].concat(), "").await;
    let expected = format!(
        "{}\nrefused:\n  {stray}: its path is not of the form `{{commit_sha}}/{{arch}}/metrics.json` (--from-path)\n",
        table(3, 0, 0, 1)
    );
    left.is(2, &expected, "");
    let runs = stored(&world).await;
    let said: Vec<_> = runs
        .iter()
        .map(|run| ["tag", "arch", "distro", "run_date"].map(|field| run[field].as_str().unwrap()))
        .collect();
    let mut said = said;
    said.sort_unstable();
    assert_eq!(
        said,
        [
            ["", "amd64", "sid", "2014-04-17T08:00:00Z"],
            ["", "arm64", "sid", "2014-04-17T08:00:00Z"],
            ["", "arm64", "sid", "2024-04-25T00:00:00Z"],
        ]
    );
}

#[tokio::test]
async fn flags_and_the_file_say_it_where_there_is_no_git() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let commit = format!("{:040x}", 7);
    let one = write(folder.path(), "one.json", &json!({"a": 1}));
    let commit_flag = format!("--commit={commit}");
    let flags = [
        &[
            "backfill",
            &one,
            &commit_flag,
            "--run-date=2014-04-17",
            "--wallclock",
        ],
        &SERIES[..],
    ]
    .concat();
    world
        .shell
        .run(&flags, "")
        .await
        .is(0, &table(1, 0, 0, 0), "");
    let live = [&flags[..], &["--tag=", "--pipeline=old", "--branch=stable"]].concat();
    let live: Vec<&str> = live
        .into_iter()
        .filter(|flag| *flag != "--branch=main")
        .collect();
    world
        .shell
        .run(&live, "")
        .await
        .is(0, &table(1, 0, 0, 0), "");
    let own = write(
        folder.path(),
        "own.json",
        &json!({
            "a": 1, "commit_sha": commit, "run_date": "2015-01-01T00:00:00Z", "workload": "slap", "tag": "15",
            "arch": "arm64", "distro": "sid", "host_class": "metal", "repo": "fork", "branch": "x", "change": "12",
        }),
    );
    world
        .shell
        .run(&["backfill", &own, "--arch=amd64"], "")
        .await
        .is(0, &table(1, 0, 0, 0), "");
    let runs = stored(&world).await;
    let said = |at: usize, fields: &[&str]| -> Vec<Json> {
        fields.iter().map(|field| runs[at][field].clone()).collect()
    };
    let fields = ["tag", "run_date", "branch", "pipeline", "arch", "change"];
    assert_eq!(
        json!(said(0, &fields)),
        json!(["", "2014-04-17T00:00:00Z", "stable", "old", "amd64", null])
    );
    assert_eq!(runs[0]["metrics"], json!([metric("a", "", 1, true)]));
    assert_eq!(
        json!(said(1, &fields)),
        json!(["15", "2015-01-01T00:00:00Z", "x", "promote", "arm64", "12"])
    );
    assert_eq!(
        json!(said(2, &fields)),
        json!([
            "one",
            "2014-04-17T00:00:00Z",
            "main",
            "promote",
            "amd64",
            null
        ])
    );
}

#[tokio::test]
async fn what_nobody_says_is_asked_for() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    checkout(folder.path());
    let commit = format!("--commit={:040x}", 7);
    let refused = async |name: &str, content: Json, args: &[&str]| {
        let path = write(folder.path(), name, &content);
        let left = world
            .shell
            .run(&[&["backfill", &path], args].concat(), "")
            .await;
        assert_eq!((left.code, left.stderr.as_str()), (2, ""), "{left:?}");
        let start = format!("{}\nrefused:\n  {path}: ", table(0, 0, 0, 1));
        left.stdout
            .strip_prefix(&start)
            .unwrap_or_else(|| panic!("{left:?}"))
            .trim_end()
            .to_owned()
    };
    let map = json!({"a": 1});
    let said = refused("16.04.json", map.clone(), &SERIES).await;
    assert_eq!(
        said,
        "has no `commit_sha`, and git knows no tag `16.04` or `v16.04`: say it with --commit, in the \
         path with --from-path, or name a checkout with --git"
    );
    let said = refused(
        "14.04.json",
        map.clone(),
        &[&SERIES[..], &[&commit]].concat(),
    )
    .await;
    assert!(
        said.starts_with("has no `run_date`, and git does not know the commit 0000"),
        "{said}"
    );
    let said = refused("14.04.json", map.clone(), &SERIES[..5]).await;
    assert_eq!(
        said,
        "has no `host_class`: say it with --host-class, or in the path with --from-path"
    );
    let said = refused("14.04.json", document(1), &["--branch=main"]).await;
    assert_eq!(
        said,
        "has no `repo`: say it with --repo, or in the path with --from-path"
    );
    let said = refused(
        "14.04.json",
        map.clone(),
        &[&SERIES[..], &["--tag="]].concat(),
    )
    .await;
    assert_eq!(
        said,
        "has no `commit_sha`: say it with --commit, or in the path with --from-path"
    );
    let nowhere = tempfile::tempdir().unwrap();
    let nowhere = format!("--git={}", nowhere.path().display());
    let said = refused(
        "14.04.json",
        map.clone(),
        &[&SERIES[..], &[&nowhere]].concat(),
    )
    .await;
    assert!(
        said.starts_with(
            "has no `commit_sha`, and there is no git checkout to ask: not a git repository"
        ),
        "{said}"
    );
    let said = refused("--output=x.json", map, &SERIES).await;
    assert!(
        said.starts_with("has no `commit_sha`, and git knows no tag `--output=x`"),
        "{said}"
    );
    let own = json!({"a": 1, "commit_sha": "abc", "run_date": "2014"});
    let said = refused("14.04.json", own, &SERIES).await;
    assert_eq!(
        said,
        "`commit_sha` must be 40 hexadecimal digits, the whole name of a commit"
    );
    let twice = json!({"a{x=1,y=2}": 1, "a{y=2,x=1}": 1});
    let said = refused("14.04.json", twice, &SERIES).await;
    assert!(
        said.starts_with("`a{x=1,y=2}` stands there twice; keep one"),
        "{said}"
    );
}

#[tokio::test]
async fn a_wrong_command_line_is_told_before_anything_is_read() {
    let world = World::new().await;
    for (args, said) in [
        (&["backfill"][..], "PATH"),
        (
            &["backfill", "-", "--from-path={release}.json"],
            "`release` is no field of a run",
        ),
        (&["backfill", "-", "--run-date=soon"], "must be a date"),
        (
            &["backfill", "-", "--commit=abc"],
            "must be 40 hexadecimal digits",
        ),
        (&["backfill", "-", "--jobs=0"], "--jobs"),
    ] {
        let left = world.shell.run(args, "").await;
        assert_eq!((left.code, left.stdout.as_str()), (2, ""), "{left:?}");
        assert!(left.stderr.contains(said), "{left:?}");
    }
}
