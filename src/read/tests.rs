//! The three formats: what is read, what is told, and what hostile texts cost.

use super::*;
use crate::domain::{Document, Run, Upload};
use crate::judge::Policy;

fn document(fields: &str) -> String {
    format!(
        r#"{{"format_version": 1, "workload": "perf", "arch": "amd64", "distro": "trixie",
            "host_class": "callgrind", "succeeded": true, {fields}}}"#
    )
}

fn faults_of(text: &str) -> Faults {
    let json = JsonText::parse(text.as_bytes()).unwrap();
    Document::parse(json).expect_err("the text does not fit")
}

/// A megabyte of each kind that a stranger may send as a document.
fn hostile_documents() -> Vec<(&'static str, String)> {
    let many = |item: &str| vec![item; (1 << 20) / (item.len() + 1)].join(",");
    let metrics = |items: String| document(&format!(r#""parameters": {{}}, "metrics": [{items}]"#));
    let value = |value: String| metrics(format!(r#"{{"metric_key": "a", "value": {value}}}"#));
    let long_key = "k".repeat(1 << 17);
    let repeated = many(r#""a":1"#);
    vec![
        (
            "repeated keys under a long key",
            format!(r#"{{"{long_key}": {{{repeated}}}}}"#),
        ),
        (
            "repeated known keys",
            document(&many(r#""workload":"#).replace(":", ":1")),
        ),
        (
            "unknown keys",
            document(
                &(0..90_000)
                    .map(|n| format!("\"{n}\":1"))
                    .collect::<Vec<_>>()
                    .join(","),
            ),
        ),
        ("tiny metrics", metrics(many("7"))),
        (
            "faulty metrics",
            metrics(vec![r#"{"metric_key": "", "value": "x", "b": []}"#; 10_000].join(",")),
        ),
        (
            "repeated parameters",
            document(&format!(r#""parameters": {{{repeated}}}, "metrics": []"#)),
        ),
        (
            "parameters",
            document(&format!(
                r#""parameters": {{{}}}, "metrics": []"#,
                (0..90_000)
                    .map(|n| format!("\"{n}\":[]"))
                    .collect::<Vec<_>>()
                    .join(","),
            )),
        ),
        (
            "a long string",
            document(&format!(r#""parameters": "{}""#, "\\u001b".repeat(1 << 18))),
        ),
        (
            "a long parameter",
            document(&format!(
                r#""parameters": {{"a": "{}"}}"#,
                "x".repeat(1 << 20)
            )),
        ),
        (
            "a long name",
            metrics(format!(
                r#"{{"metric_key": "{}"}}"#,
                "\\u00e9".repeat(1 << 18)
            )),
        ),
        ("a long digit string", value("1".repeat(1 << 20))),
        (
            "long decimals",
            value(format!("0.{}1", "0".repeat(1 << 20))),
        ),
        (
            "a huge exponent",
            value("1e999999999999999999999999".to_owned()),
        ),
        (
            "deep nesting",
            value(format!("{}{}", "[".repeat(1 << 19), "]".repeat(1 << 19))),
        ),
        (
            "deep objects",
            format!("{}1{}", "{\"a\":".repeat(1 << 18), "}".repeat(1 << 18)),
        ),
    ]
}

#[test]
fn a_hostile_document_is_refused_with_few_words() {
    for (kind, text) in hostile_documents() {
        let faults = faults_of(&text);
        assert!(faults.told().len() <= Faults::MOST_TOLD, "{kind}");
        let told = serde_json::to_string(faults.told()).unwrap();
        assert!(told.len() < 64 << 10, "{kind}: {}", told.len());
        assert!(faults.to_string().len() < 64 << 10, "{kind}");
    }
}

#[test]
fn faults_that_are_not_told_are_counted() {
    let texts = hostile_documents();
    let faults = |wanted: &str| {
        let (_, text) = texts.iter().find(|(kind, _)| *kind == wanted).unwrap();
        faults_of(text)
    };
    assert_eq!(faults("faulty metrics").count(), 30_000);
    assert_eq!(faults("unknown keys").count(), 90_000 + 2);
    assert_eq!(faults("tiny metrics").told().len(), 1);
    let last = faults("faulty metrics").lines().last();
    assert_eq!(last.as_deref(), Some("and 29900 more"));
}

#[test]
fn a_hostile_run_or_upload_is_refused_too() {
    for (kind, text) in hostile_documents() {
        let json = JsonText::parse(text.as_bytes()).unwrap();
        assert!(Run::parse(json).is_err(), "{kind}");
        assert!(Upload::parse(json).is_err(), "{kind}");
    }
}

#[test]
fn a_hostile_configuration_is_refused_with_few_words() {
    let many = |item: &str| item.repeat((1 << 20) / item.len());
    for (kind, text) in [
        ("repeated keys", many("a=1\n")),
        (
            "unknown keys",
            (0..90_000).map(|n| format!("a{n}=1\n")).collect(),
        ),
        ("faulty rules", many("[[metric]]\nfloor=3\n")),
        ("broken lines", many("=\n")),
        ("brackets", many("[")),
        ("a long key", format!("{} = 1", "k".repeat(1 << 20))),
        (
            "a long string",
            format!("window.k = \"{}\"", "x".repeat(1 << 20)),
        ),
        (
            "a long number",
            format!("window.k = {}", "1".repeat(1 << 20)),
        ),
        (
            "deep nesting",
            format!("window.k = {}1", "[".repeat(1 << 20)),
        ),
        ("dotted keys", format!("{}a = 1", "a.".repeat(1 << 19))),
        ("blank lines", format!("{}a = 1", many("\n"))),
    ] {
        let faults = Policy::parse(&text).expect_err(kind);
        assert!(faults.told().len() <= Faults::MOST_TOLD, "{kind}");
        assert!(faults.to_string().len() < 64 << 10, "{kind}");
    }
}

fn json(text: &str) -> Node<'_> {
    JsonText::parse(text.as_bytes()).unwrap().node()
}

#[test]
fn what_is_no_json_is_refused() {
    for text in [
        "",
        "{",
        "1 2",
        "{\"a\":1,}",
        "nul",
        "01",
        "\u{feff}1",
        "[1,]",
        "\"\n\"",
        "1.",
    ] {
        assert!(JsonText::parse(text.as_bytes()).is_err(), "{text}");
    }
    assert!(JsonText::parse(b"\"\xff\"").is_err());
}

#[test]
fn half_a_surrogate_pair_is_a_fault_where_it_stands() {
    let faults = faults_of(&document(r#""parameters": {"a": "\ud800"}, "metrics": []"#));
    assert!(
        faults
            .to_string()
            .contains("/parameters/a: must be a string"),
        "{faults}"
    );
    let faults = faults_of(r#"{"format_version": 1, "\ud800": 1}"#);
    assert!(faults.to_string().contains("cannot be read"), "{faults}");
}

#[test]
fn each_kind_of_value_is_told_apart() {
    for (text, kind) in [
        ("null", "null"),
        ("true", "a boolean"),
        ("-1", "a number"),
        ("\"\"", "a string"),
        ("[]", "a list"),
        ("{}", "an object"),
    ] {
        assert_eq!(json(text).kind(), kind);
        assert_eq!(json(text).text().is_ok(), kind == "a string");
        assert_eq!(json(text).digits().is_ok(), kind == "a number");
        assert_eq!(boolean(json(text)).is_ok(), kind == "a boolean");
    }
    assert_eq!(json(r#" "x\u00e9\n" "#).text().unwrap(), "xé\n");
    assert_eq!(
        json("12345678901234567890.10E+400").digits().unwrap(),
        "12345678901234567890.10E+400"
    );
}

#[test]
fn a_name_that_stands_twice_is_told_once_with_its_place() {
    let notes = Notes::of_json();
    let node = json(r#"{"x/y": 1, "x\/y": 2, "x/y": 3, "z": null, "\u007a": 1}"#);
    let fields = Fields::of(node, Place::ROOT, &notes, &["x/y", "z"]).unwrap();
    assert_eq!(fields.needed("x/y", number::<u32>), Some(1));
    let faults = notes.finish(Some(())).unwrap_err();
    assert_eq!(
        faults.to_string(),
        "/x~1y: stands here more than once; /z: stands here more than once"
    );
}
