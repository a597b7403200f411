use super::*;

const SMALL: &str = r#"
name = "sort-v1"
rounds = 5

[[cell]]
name = "numbers"
expect = { sent = 10, errors = 0 }

[[cell.metric]]
name = "wall_seconds"
worse = "higher"
floor = "10 %"
variance = "15 %"
"#;

fn faults(text: &str) -> Vec<String> {
    let faults = Contract::parse(text).unwrap_err();
    faults.lines().collect()
}

#[test]
fn the_contract_that_init_writes_is_one() {
    let contract = Contract::parse(DEFAULT_TEXT).unwrap();
    assert_eq!(contract.name, "sort-v1");
    assert_eq!(contract.cells[0].metrics.len(), 2);
    assert_eq!(contract.trials(), 10);
}

#[test]
fn what_is_left_out_has_its_default() {
    let contract = Contract::parse(SMALL).unwrap();
    assert_eq!(contract.mode, Mode::Regression);
    assert_eq!(contract.interleave, Interleave::Round);
    assert_eq!(contract.subject, None);
    let cell = &contract.cells[0];
    assert_eq!(cell.limit, Duration::from_secs(600));
    assert_eq!(cell.expect["sent"], Quantity::from(10));
    assert_eq!(
        cell.metrics[0].rule,
        Rule::Budget {
            floor: Fraction::percent(10),
            variance: Fraction::percent(15),
        }
    );
}

#[test]
fn every_fault_is_told_with_its_place() {
    let text = r#"name = "sort"
mode = "both"
rounds = 2
bugdet = 1

[subject]
start = "./server"
compose = "compose.yaml"
ready_seconds = 0

[[cell]]
name = "a b"
seconds = "long"
colect = "sysbench"

[[cell.metric]]
name = "p99"
rule = "budget"
floor = "ten"
"#;
    let faults = faults(text);
    for expected in [
        "1:8: `name` must end in a version",
        "2:8: `mode` must be \"regression\" or \"difference\"",
        "3:10: `rounds` must be a whole number from 3 to 1000",
        "4:1: `bugdet` is no key of this table",
        "6:1: needs either `start`, a command line, or `compose`, a compose file",
        "6:1: `ready` is missing",
        "9:17: `ready_seconds` must be a whole number",
        "12:8: `name` must be letters, digits",
        "13:11: `seconds` must be a whole number",
        "14:1: `colect` is no key of this table",
        "16:1: `worse` is missing",
        "16:1: `variance` is missing",
        "19:9: `floor` ",
    ] {
        assert!(
            faults.iter().any(|fault| fault.starts_with(expected)),
            "no `{expected}` in {faults:#?}"
        );
    }
    assert_eq!(faults.len(), 13, "{faults:#?}");
}

#[test]
fn a_rule_that_can_find_nothing_is_refused() {
    let text = SMALL
        .replace("rounds = 5", "rounds = 4")
        .replace("variance = \"15 %\"", "rule = \"randomization\"");
    let faults = faults(&text);
    assert_eq!(faults.len(), 1, "{faults:#?}");
    assert!(
        faults[0].contains("can find no change in so few rounds"),
        "{faults:#?}"
    );
    assert!(Contract::parse(&text.replace("rounds = 4", "rounds = 5")).is_ok());
}

#[test]
fn a_cell_without_a_metric_says_that_it_is_meant() {
    let (head, _) = SMALL.split_once("[[cell.metric]]").unwrap();
    assert!(faults(head)[0].contains("has no metric to judge"));
    assert!(Contract::parse(&format!("{head}judged = false\n")).is_ok());
    let common =
        "[[metric]]\nname = \"m\"\nworse = \"lower\"\nfloor = \"1 %\"\nvariance = \"5 %\"\n";
    let contract = Contract::parse(&format!("{head}{common}")).unwrap();
    assert_eq!(contract.cells[0].metrics[0].name, "m");
}

#[test]
fn what_belongs_elsewhere_is_refused() {
    let twice = SMALL.replace("name = \"numbers\"", "name = \"numbers\"\nunits = \"sent\"");
    assert!(Contract::parse(&twice).is_ok());
    let twice = format!("{SMALL}{}", &SMALL[SMALL.find("[[cell]]").unwrap()..]);
    assert!(faults(&twice)[0].contains("is another cell's too"));
    let per_unit = SMALL.replace("wall_seconds", "cpu_seconds_per_unit");
    assert!(faults(&per_unit)[0].contains("`units` must name the count"));
    let unstable = format!("{SMALL}unstable = \"show\"\n");
    assert!(faults(&unstable)[0].contains("belongs to the rule \"randomization\""));
    let service = format!("{SMALL}\n[subject]\nstart = \"a\"\nready = \"b\"\nservice = \"c\"\n");
    assert!(faults(&service)[0].contains("belongs to `compose`"));
}

#[test]
fn a_digest_is_that_of_sha256sum() {
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(Sha::of(b"").as_str(), empty);
    assert!("E3".parse::<Sha>().is_err());
}
