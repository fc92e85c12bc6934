//! A role that may read little, and what `grants` gives it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::Setup;

/// What a superuser reads and no grant of ours opens: pg_authid holds the hashes of all passwords.
const EXCEPTIONS: &[&str] = &[".postgres.access.md5_passwords"];

/// Paths of the facts that are unknown.
fn unknown(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields)
            if fields.contains_key("unknown") && fields.contains_key("origin") =>
        {
            found.insert(path.to_owned());
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                unknown(value, &format!("{path}.{key}"), found);
            }
        }
        Value::Array(items) => {
            for item in items {
                unknown(item, path, found);
            }
        }
        _ => {}
    }
}

fn facts(setup: &Setup, user: &str) -> Value {
    let target = setup.target_as(user);
    serde_json::from_str(&setup.does(&["collect", &target])).unwrap()
}

#[test]
fn without_pg_monitor_what_can_be_read_is_judged_and_the_rest_is_named() {
    let setup = Setup::start(&[("fsync", "off")]);
    setup
        .running
        .client()
        .batch_execute("CREATE ROLE reader LOGIN")
        .unwrap();
    let target = setup.target_as("reader");
    let text = setup.does(&["check", &target, "--json"]);
    let check: Value = serde_json::from_str(&text).unwrap();
    crate::finding(&check, "postgres.fsync");
    let assessment = &check["assessments"][0];
    assert!(!assessment["not_assessed"].as_array().unwrap().is_empty());
    let missing = assessment["missing_privileges"].to_string();
    assert!(
        missing.contains("pg_stat_activity") && missing.contains("GRANT "),
        "{missing}"
    );
    let page = setup.does(&["check", &target]);
    assert!(
        page.contains("Not assessed") && page.contains("To open it:"),
        "{page}"
    );
    let grants = setup.does(&["grants", &target]);
    assert!(grants.contains("-- reader may not read:"), "{grants}");
}

#[test]
fn the_grants_let_a_fresh_role_read_all_that_a_superuser_can() {
    let setup = Setup::start(&[]);
    let sql = setup.does(&["grants"]);
    setup.running.client().batch_execute(&sql).unwrap();
    let (superuser, granted) = (facts(&setup, "postgres"), facts(&setup, "dbdyno"));
    assert_eq!(granted["postgres"]["missing_privileges"].to_string(), "[]");
    let mut paths = [BTreeSet::new(), BTreeSet::new()];
    unknown(&superuser, "", &mut paths[0]);
    unknown(&granted, "", &mut paths[1]);
    let more: Vec<&String> = paths[1]
        .difference(&paths[0])
        .filter(|path| !EXCEPTIONS.contains(&path.as_str()))
        .collect();
    assert!(more.is_empty(), "{more:?}");
    let names = |facts: &Value| -> BTreeSet<String> {
        let settings = facts["postgres"]["settings"].as_object().unwrap();
        settings.keys().cloned().collect()
    };
    assert_eq!(names(&superuser), names(&granted));
    let told = setup.does(&["grants", &setup.target_as("dbdyno")]);
    assert!(told.contains("-- dbdyno lacks nothing."), "{told}");
    assert!(
        setup
            .does(&["grants", &setup.target()])
            .contains("is a superuser")
    );
}

#[test]
fn a_role_may_have_any_name() {
    let setup = Setup::start(&[]);
    let sql = setup.does(&["grants", "--role", "My \"odd\"; role"]);
    setup.running.client().batch_execute(&sql).unwrap();
    crate::refuses(&["grants", "--role", " "], "not the name of a role");
}
