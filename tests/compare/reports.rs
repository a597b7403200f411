//! The reports: what they show, what they leave out, and that nobody's text can break them.

use crate::world::{TENTH, World, contract};

const STEADY: [f64; 5] = [100.0, 101.0, 99.0, 100.0, 100.5];
const SLOWER: [f64; 5] = [120.0, 121.0, 119.0, 120.0, 120.5];

#[test]
fn the_page_stands_alone_and_shows_every_trial() {
    let world = World::with_speeds(&contract("regression", TENTH), STEADY, SLOWER);
    world.run().is(1, &[]);
    let page = world.read("out/report.html");
    let digest = &world.read("out/contract.sha256")[..64];
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no `{text}`"));
    let body = at("<body>");
    assert!(
        body < at(digest) && at(digest) < at("<svg"),
        "the contract comes first"
    );
    assert_eq!(page.matches("<circle").count(), 10);
    assert_eq!(page.matches("class=\"median\"").count(), 2);
    assert!(page.contains("class=\"band\"") && page.contains("class=\"limit\""));
    for outside in ["<script", "http://", "https://", "url(", "@import", "src="] {
        assert!(!page.contains(outside), "the page has `{outside}`");
    }
    assert!(page.contains("round 3: 99"), "a point says what it is");
}

#[test]
fn a_terminal_has_eighty_columns() {
    let world = World::with_speeds(&contract("regression", TENTH), STEADY, SLOWER);
    let label = "a label of great length ".repeat(6);
    let said = world.compare(&[
        "run",
        "--output",
        "out",
        "--reference",
        "reference",
        "--candidate",
        "candidate",
        "--candidate-label",
        &label,
    ]);
    assert_eq!(said.code, Some(1));
    for line in said.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(
        said.stdout.contains("regressed    speed"),
        "{}",
        said.stdout
    );
    assert!(
        !said.stdout.contains('\u{1b}'),
        "no colours without a terminal"
    );
}

#[test]
fn a_rejected_cell_shows_no_number() {
    let world = World::with_speeds(&contract("regression", TENTH), STEADY, SLOWER);
    world.write(
        "candidate/2.json",
        r#"{"counts": {"sent": 7}, "metrics": {"speed": 1}}"#,
    );
    let said = world.run();
    said.is(3, &["`sent` is 7, and must be 10"]);
    assert!(!said.stdout.contains("worse by"), "{}", said.stdout);
    let page = world.read("out/report.html");
    assert!(!page.contains("<circle") && page.contains("No numbers are shown of steady"));
    assert!(!world.read("out/report.md").contains("| 120"));
}

#[test]
fn what_strangers_wrote_stays_text() {
    let world = World::with_speeds(&contract("regression", TENTH), STEADY, STEADY);
    let evil = "<b>&\"'|`@all";
    world.write("candidate/1.json", "{\u{1b}[31m<script>alert(1)</script>");
    let said = world.compare(&[
        "run",
        "--output",
        "out",
        "--reference",
        "reference",
        "--candidate",
        "candidate",
        "--candidate-label",
        evil,
    ]);
    said.is(3, &["is no trial"]);
    assert!(!said.stdout.contains('\u{1b}'));
    let page = world.read("out/report.html");
    assert!(!page.contains("<script") && !page.contains("<b>"));
    let markdown = world.read("out/report.md");
    assert!(
        !markdown.contains("@all") && markdown.contains("\\<b\\>"),
        "{markdown}"
    );
}

#[test]
fn the_worst_comes_first() {
    let text = contract("regression", TENTH)
        + "\n[[cell]]\nname = \"other\"\ncommand = 'cat \"$COMPARE_FOLDER/other.json\"'\n\
           [[cell.metric]]\nname = \"time_ms\"\nworse = \"higher\"\nfloor = \"5 %\"\nvariance = \"5 %\"\n";
    let world = World::with_speeds(&text, STEADY, STEADY);
    world.write(
        "reference/other.json",
        r#"{"metrics": {"time_ms": 10, "size_bytes": 2048}}"#,
    );
    world.write(
        "candidate/other.json",
        r#"{"metrics": {"time_ms": 20, "size_bytes": 2048}}"#,
    );
    let said = world.run();
    said.is(1, &["regressed"]);
    let (worst, fine) = (said.stdout.find("time_ms"), said.stdout.find("speed"));
    assert!(worst.unwrap() < fine.unwrap(), "{}", said.stdout);
    let markdown = world.read("out/report.md");
    assert!(
        markdown.contains("| other | size\\_bytes | 2 KiB | 2 KiB | 0.0 % |"),
        "{markdown}"
    );
}
