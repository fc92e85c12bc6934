//! Faults of a schema are found, and the SQL that is printed runs and mends them.

use serde_json::Value;

use crate::{Setup, finding, findings};

/// The statements that a finding gives, in their order.
pub(crate) fn sql(finding: &Value) -> Vec<&str> {
    let steps = finding["steps"].as_array().unwrap().iter();
    steps
        .flat_map(|step| step["ways"].as_array().unwrap())
        .filter(|way| way["kind"] == "statement")
        .map(|way| way["text"].as_str().unwrap())
        .collect()
}

/// Names of every kind that needs its quotes.
fn planted() -> Setup {
    let setup = Setup::start(&[]);
    let mut client = setup.running.client();
    for statement in [
        r#"CREATE TABLE "Order" ("Id ""1""" serial PRIMARY KEY, "user" int, note text)"#,
        r#"INSERT INTO "Order" ("user", note) SELECT g, (g % 7)::text
            FROM generate_series(1, 1000) g"#,
        r#"CREATE INDEX "größe" ON "Order" ("user")"#,
        r#"CREATE INDEX user_and_note ON "Order" ("user", note)"#,
        r#"ALTER TABLE "Order" SET (autovacuum_enabled = off)"#,
        r#"SELECT setval(pg_get_serial_sequence('"Order"', 'Id "1"'), 2000000000)"#,
    ] {
        client.batch_execute(statement).unwrap();
    }
    let broken = r#"CREATE UNIQUE INDEX CONCURRENTLY "table" ON "Order" (note)"#;
    assert!(client.batch_execute(broken).is_err());
    // Each note once, so that the index can be built.
    let unique = r#"DELETE FROM "Order" WHERE "Id ""1""" > 7"#;
    client.batch_execute(unique).unwrap();
    setup
}

#[test]
fn what_the_sql_mends_is_not_found_again() {
    const PLANTED: [&str; 4] = [
        "maintenance.autovacuum",
        "schema.integer_exhaustion",
        "schema.invalid_index",
        "schema.redundant_index",
    ];
    let setup = planted();
    let mut client = setup.running.client();
    let check = setup.check(&[]);
    for rule in PLANTED {
        let found = sql(finding(&check, rule));
        assert!(!found.is_empty(), "{rule} gives no SQL: {check}");
        for statement in found {
            client
                .batch_execute(statement)
                .unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
    }
    // The column is wide now, and so is the sequence that fills it.
    let check = setup.check(&[]);
    let left: Vec<&Value> = findings(&check)
        .into_iter()
        .filter(|finding| PLANTED.iter().any(|rule| finding["rule"] == *rule))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_page_has_the_statements_whole_and_says_where_it_looked() {
    let setup = planted();
    let target = setup.target();
    let page = setup.does(&["check", &target, "--only", "schema"]);
    assert!(
        page.contains("  DROP INDEX CONCURRENTLY public.\"größe\";"),
        "{page}"
    );
    assert!(
        page.contains("no other database of the server was"),
        "{page}"
    );
    assert!(page.contains("gives up: "), "{page}");
}
