//! Runs that are taken back, as a shell sees them: listed, shown, voided, exported and loaded again.

use serde_json::{Value as Json, json};

use crate::shell::Shell;
use crate::world::{World, lines, run, table, with};

async fn with_scopes(world: &World, scopes: &str) -> Shell {
    let token = world.service.token(scopes).await;
    Shell::at(&world.service.url()).token(&token)
}

#[tokio::test]
async fn a_run_is_voided_by_its_id_and_shown_with_the_reason() {
    let world = World::new().await;
    let voider = with_scopes(&world, "runs:read runs:void").await;
    let named = with(run(1), json!({"subject": "Fix the parser"}));
    world.load(&[], &lines([named, run(2)])).await;
    let listed = world.shell.run(&["runs"], "").await;
    assert_eq!(listed.code, 0, "{listed:?}");
    assert!(listed.stdout.contains("Fix the parser"), "{listed:?}");

    let refused = world.shell.run(&["run", "void", "1", "--why=x"], "").await;
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("runs:void"), "{refused:?}");
    let void = ["run", "void", "1", "--why=wrong host"];
    let dry = voider.run(&[&void[..], &["--dry-run"]].concat(), "").await;
    assert!(dry.stdout.contains("Fix the parser"), "{dry:?}");
    assert_eq!(dry.stderr, "1 run would be voided\n");
    voider.run(&void, "").await.is(0, "voided run 1\n", "");
    let again = voider.run(&void, "").await;
    again.is(0, "run 1 was voided before\n", "");

    let listed = world.shell.run(&["runs"], "").await;
    assert!(!listed.stdout.contains("Fix the parser"), "{listed:?}");
    let all = world.shell.run(&["runs", "--include-voided"], "").await;
    assert!(all.stdout.contains("voided"), "{all:?}");
    let shown = world.shell.run(&["run", "show", "1"], "").await;
    assert_eq!(shown.code, 0, "{shown:?}");
    for part in ["wrong host", "Fix the parser", "callgrind.ir"] {
        assert!(shown.stdout.contains(part), "{shown:?}");
    }
    let missing = world.shell.run(&["run", "show", "99"], "").await;
    assert_eq!(missing.code, 2, "{missing:?}");
    assert!(
        missing.stderr.contains("there is no run `99`"),
        "{missing:?}"
    );
    assert!(!missing.stderr.contains("address"), "{missing:?}");
}

#[tokio::test]
async fn all_that_one_token_wrote_is_voided_together() {
    let world = World::new().await;
    let voider = with_scopes(&world, "runs:read runs:void").await;
    world.load(&[], &lines((1..=5).map(run))).await;
    let one = world.json("/v1/runs/1", &[]).await;
    let name = one["uploaded_by"].as_str().unwrap();
    let by = format!("--uploaded-by={name}");
    let dry = voider.run(&["run", "void", &by, "--dry-run"], "").await;
    assert_eq!(
        (dry.code, dry.stderr.as_str()),
        (0, "5 runs would be voided\n")
    );
    let later = ["run", "void", &by, "--since=2999-01-01", "--why=leaked"];
    voider.run(&later, "").await.is(0, "", "no run fits\n");
    let void = ["run", "void", &by, "--why=leaked"];
    let left = voider.run(&void, "").await;
    assert_eq!((left.code, left.stderr.as_str()), (0, ""), "{left:?}");
    assert_eq!(left.stdout.lines().count(), 5, "{left:?}");
    assert_eq!(world.json("/v1/runs", &[]).await, json!({"runs": []}));
}

#[tokio::test]
async fn voided_runs_are_in_an_export_and_voided_where_it_is_loaded() {
    let world = World::new().await;
    world.load(&["--jobs=1"], &lines((1..=3).map(run))).await;
    let voider = with_scopes(&world, "runs:void").await;
    voider
        .run(&["run", "void", "2", "--why=wrong host"], "")
        .await
        .is(0, "voided run 2\n", "");
    let export = world.export().await;
    let voided = |line: &str| -> Option<String> {
        let run: Json = serde_json::from_str(line).unwrap();
        run["voided"]["reason"].as_str().map(str::to_owned)
    };
    let reasons: Vec<_> = export.lines().map(voided).collect();
    assert_eq!(reasons, [None, Some("wrong host".to_owned()), None]);
    let without = world.shell.run(&["export", "--without-voided"], "").await;
    assert_eq!(without.stdout.lines().count(), 2);

    let other = World::new().await;
    let loader = with_scopes(&other, "runs:read runs:write runs:void").await;
    let load = ["backfill", "-", "--jobs=1"];
    loader
        .run(&load, &export)
        .await
        .is(0, &table(3, 0, 0, 0), "");
    let again: Vec<_> = other.export().await.lines().map(voided).collect();
    assert_eq!(again, reasons);
    assert_eq!(
        other.json("/v1/runs", &[]).await["runs"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    // A token that may not void says so, and loads the rest.
    let third = World::new().await;
    let left = third.load(&["--jobs=1"], &export).await;
    assert_eq!(left.code, 2, "{left:?}");
    assert!(left.stderr.contains("runs:void"), "{left:?}");
}
