//! What a run prints with --json is what docs/reference/bench.schema.json says, of every workload.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Bench, SCRIPT};

const SCHEMA: &str = include_str!("../../../../docs/reference/bench.schema.json");

/// JSON Schema as far as schemars uses it for documents. Stricter than asked for: a field that the
/// schema does not name is a fault.
struct Schema(Value);

impl Schema {
    fn check(&self, document: &Value) -> Result<(), String> {
        self.whole(&self.0, document, "document")
    }

    fn whole(&self, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
        let named = self.part(schema, value, path)?;
        let fields = value.as_object().into_iter().flatten();
        match fields
            .map(|(name, _)| name)
            .find(|name| !named.contains(*name))
        {
            Some(name) => Err(format!("{path}.{name}: not in the schema")),
            None => Ok(()),
        }
    }

    /// The fields that this part of a schema names, where the value is as it says.
    fn part(&self, schema: &Value, value: &Value, path: &str) -> Result<BTreeSet<String>, String> {
        let mut named = BTreeSet::new();
        for (keyword, says) in schema.as_object().unwrap() {
            let fits = match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" | "default" | "format" => true,
                "$ref" => {
                    let definition = says.as_str().unwrap().strip_prefix('#').unwrap();
                    let definition = self.0.pointer(definition).unwrap();
                    named.extend(self.part(definition, value, path)?);
                    true
                }
                "type" => match says {
                    Value::Array(several) => several.iter().any(|one| is_a(one, value)),
                    one => is_a(one, value),
                },
                "enum" => says.as_array().unwrap().contains(value),
                "minimum" => value
                    .as_f64()
                    .is_none_or(|number| number >= says.as_f64().unwrap()),
                "required" => says
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|name| value.get(name.as_str().unwrap()).is_some()),
                "properties" => {
                    for (name, schema) in says.as_object().unwrap() {
                        named.insert(name.clone());
                        if let Some(field) = value.get(name) {
                            self.whole(schema, field, &format!("{path}.{name}"))?;
                        }
                    }
                    true
                }
                "additionalProperties" => {
                    for (name, field) in value.as_object().into_iter().flatten() {
                        named.insert(name.clone());
                        self.whole(says, field, &format!("{path}.{name}"))?;
                    }
                    true
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.whole(says, item, &format!("{path}[{index}]"))?;
                    }
                    true
                }
                "anyOf" | "oneOf" => {
                    let parts = says.as_array().unwrap().iter();
                    let fitting: Vec<_> = parts
                        .filter_map(|part| self.part(part, value, path).ok())
                        .collect();
                    let count = fitting.len();
                    named.extend(fitting.into_iter().flatten());
                    count == 1 || (count > 1 && keyword == "anyOf")
                }
                other => panic!("{path}: this test does not know {other}"),
            };
            if !fits {
                return Err(format!("{path}: not as {keyword} says: {says}: {value}"));
            }
        }
        Ok(named)
    }
}

fn is_a(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("this test does not know {other}"),
    }
}

#[test]
fn documents_of_every_workload_are_as_the_schema_says() {
    let schema = Schema(serde_json::from_str(SCHEMA).unwrap());
    let bench = Bench::start();
    let script = bench.file("move.sql");
    std::fs::write(&script, SCRIPT).unwrap();
    let mut last = Value::Null;
    for (workload, size, run) in [
        ("tpcc", &["--warehouses", "1"][..], &["--verify"][..]),
        ("tpcc", &[], &["--think=0.01"]),
        ("oltp-read-write", &["--table-size", "500"], &["--verify"]),
        ("select-random-points", &[], &[]),
        ("inserts", &["--rows", "2000"], &["--warm-up", "1s"]),
        ("selects", &[], &["--isolation", "serializable"]),
        ("friends", &["--rows", "2000"], &["--verify"]),
        (script.as_str(), &[], &["--rate", "50", "--verify"]),
    ] {
        // The others run on what is there.
        if !size.is_empty() || workload == script {
            bench.does(&[&["load", workload, "{}"][..], size].concat());
        }
        let short = ["run", workload, "{}", "--duration", "1s", "--json"];
        let text = bench.does(&[&short[..], run].concat());
        last = serde_json::from_str(&text).unwrap();
        assert_eq!(schema.check(&last), Ok(()), "{workload}");
    }

    for (pointer, wrong) in [
        ("/tps", json!("fast")),
        ("/transactions", json!(-1)),
        ("/connections", json!(1.5)),
        ("/series/0/phase", json!("open")),
        ("/target", json!({ "address": "somewhere" })),
        ("/driver", json!({ "horses": 4 })),
        ("/latency_ms", json!({})),
    ] {
        let mut document = last.clone();
        *document.pointer_mut(pointer).unwrap() = wrong;
        assert!(schema.check(&document).is_err(), "{pointer}");
    }
    let mut document = last;
    document.as_object_mut().unwrap().remove("warnings");
    assert!(schema.check(&document).is_err());
}
