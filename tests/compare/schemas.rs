//! The schemas under `openapi/` are those of the types, and what is written fits them.

use serde_json::{Value, json};

use crate::world::{TENTH, World, contract};

const STEADY: [f64; 5] = [100.0, 101.0, 99.0, 100.0, 100.5];

/// The committed schema. `UPDATE_SCHEMAS=1` writes it anew.
fn schema(name: &str) -> Value {
    let world = World::new("");
    let said = world.compare(&["schema", name]);
    assert_eq!(said.code, Some(0), "{said:#?}");
    let path = format!("{}/openapi/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&path, &said.stdout).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        committed, said.stdout,
        "{path} is not that of the types; UPDATE_SCHEMAS=1 writes it anew"
    );
    serde_json::from_str(&committed).unwrap()
}

#[track_caller]
fn fits(schema: &Value, text: &Value) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let faults: Vec<String> = validator
        .iter_errors(text)
        .map(|fault| fault.to_string())
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn records_and_verdicts_fit_their_schemas() {
    let (record, verdict) = (schema("record"), schema("verdict"));
    let rules = [TENTH, "rule = \"randomization\""];
    for rule in rules {
        let world = World::with_speeds(&contract("regression", rule), STEADY, [0.0; 5]);
        world.run();
        fits(&record, &world.json("out/record.json"));
        fits(&verdict, &world.json("out/verdict.json"));
        // From zero there is no share to tell, and wrong counts have no numbers at all.
        let world = World::with_speeds(&contract("regression", rule), [0.0; 5], STEADY);
        world.write("candidate/1.json", "{");
        world.run();
        fits(&record, &world.json("out/record.json"));
        fits(&verdict, &world.json("out/verdict.json"));
    }
}

#[test]
fn the_schemas_refuse_what_is_none() {
    let world = World::with_speeds(&contract("regression", TENTH), STEADY, STEADY);
    world.run();
    for (name, change) in [
        ("record", json!({"format_version": 2})),
        ("record", json!({"seal": "short"})),
        ("record", json!({"more": 1})),
        ("verdict", json!({"result": "fine"})),
        ("verdict", json!({"cells": {}})),
    ] {
        let schema = schema(name);
        let mut text = world.json(&format!("out/{name}.json"));
        for (key, value) in change.as_object().unwrap() {
            text[key] = value.clone();
        }
        let validator = jsonschema::validator_for(&schema).unwrap();
        assert!(!validator.is_valid(&text), "{name} with {change}");
    }
}
