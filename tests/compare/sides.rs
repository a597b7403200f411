//! What a side can be: a folder, a command line, a commit.

use std::process::Command;

use crate::world::World;

const WALL: &str = r#"
[[cell.metric]]
name = "n"
worse = "higher"
floor = "10 %"
variance = "10 %"
"#;

fn printing(command: &str) -> String {
    format!("name = \"sides-v1\"\nrounds = 3\n\n[[cell]]\nname = \"one\"\n{command}\n{WALL}")
}

#[test]
fn a_command_line_is_run_itself() {
    let world = World::new(&printing(""));
    let line = |n: u32| format!("command:echo '{{\"metrics\": {{\"n\": {n}}}}}'");
    let said = world.compare(&[
        "run",
        "--output",
        "out",
        "--reference",
        &line(10),
        "--candidate",
        &line(12),
        "--candidate-label",
        "the change",
        "--candidate-revision",
        "abc",
    ]);
    said.is(1, &["regressed", "the change, abc"]);
    let record = world.json("out/record.json");
    assert_eq!(record["sides"]["candidate"]["kind"], "command");
    assert_eq!(record["sides"]["candidate"]["revision"], "abc");
}

#[test]
fn a_folder_needs_a_cell_with_a_command_and_an_image_a_compose_file() {
    let world = World::new(&printing(""));
    world.run().is(
        2,
        &[
            "the reference does not fit the contract",
            "a cell without `command`",
        ],
    );
    let world = World::new(&printing("command = \"true\""));
    let said = world.compare(&[
        "run",
        "--output",
        "out",
        "--reference",
        "image:x",
        "--candidate",
        "image:y",
    ]);
    said.is(2, &["an image needs a `[subject]` with `compose`"]);
    let said = world.compare(&[
        "run",
        "--output",
        "out2",
        "--reference",
        "folder:gone",
        "--candidate",
        "candidate",
    ]);
    said.is(2, &["the folder `gone` is not there"]);
}

fn git(world: &World, args: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(args)
        .current_dir(world.path("repository"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn commits_are_built_and_their_checkouts_removed() {
    let contract = printing("command = './run'")
        + "\n[build]\ncommand = 'cp source run; chmod +x run; echo built'\n";
    let world = World::new(&contract);
    std::fs::create_dir(world.path("repository")).unwrap();
    git(&world, &["init", "--quiet"]);
    let mut commits = Vec::new();
    for n in [10, 12] {
        world.write(
            "repository/source",
            &format!("#!/bin/sh\necho '{{\"metrics\": {{\"n\": {n}}}}}'\n"),
        );
        git(&world, &["add", "source"]);
        git(&world, &["commit", "--quiet", "--message", "c"]);
        commits.push(git(&world, &["rev-parse", "HEAD"]));
    }
    let run = [
        "run",
        "--output",
        "out",
        "--repository",
        "repository",
        "--reference-commit",
        "HEAD~1",
        "--candidate-commit",
        "HEAD",
    ];
    world
        .compare(&run)
        .is(1, &["regressed", &commits[0], &commits[1]]);
    let worktrees = git(&world, &["worktree", "list"]);
    assert_eq!(worktrees.lines().count(), 1, "{worktrees}");
    assert!(world.read("out/build-candidate.log").contains("built"));

    world.write(
        "compare.toml",
        &contract.replace("echo built", "echo broken; exit 7"),
    );
    let mut run = run;
    run[2] = "other";
    world
        .compare(&run)
        .is(2, &["cannot be built", "exit code 7", "broken"]);
    assert!(
        world.path("other/contract.sha256").exists(),
        "the digest is written before a build"
    );
    assert_eq!(git(&world, &["worktree", "list"]).lines().count(), 1);
    run[8] = "nothing";
    world.compare(&run).is(2, &["git has no commit `nothing`"]);
}
