//! What still warns once every statement of the tool's own plan was carried out, each with its reason.

use std::collections::BTreeSet;

use serde_json::Value;

use super::server::{planted, settings};
use crate::{Setup, findings};

/// Of the host, which no statement mends, and of the calendar, which tells no planted fault.
const SKIPPED: &str = "cloud,container,filesystem,hardware,kernel,\
                       postgres.end_of_life,postgres.minor_release";

/// A plan that goes on asking for more never ends.
const MOST_ROUNDS: usize = 4;

/// What no statement of the plan mends, and why.
const LEFT: &[(&str, &str)] = &[
    (
        "postgres.client_authentication",
        "pg_hba.conf is a file, and who may come in is its owner's to say",
    ),
    (
        "postgres.config_drift",
        "enable_nestloop may have been switched off for a reason: the rule names the place",
    ),
    (
        "postgres.developer_options",
        "allow_system_table_mods is to be taken out of the file where it stands",
    ),
    (
        "postgres.encoding",
        "another encoding takes a dump, and somebody who knows what the clients wrote",
    ),
    (
        "postgres.max_connections",
        "fewer connections take a pool before the server, or clients would be turned away",
    ),
    (
        "postgres.password_encryption",
        "passwords have to be set anew by those who know them",
    ),
    (
        "postgres.synchronous_commit",
        "whether the last commits may be lost is a decision about the data",
    ),
    (
        "replication.archiver",
        "what the command says stands in the server's log, and nobody else knows the archive",
    ),
    (
        "schema.primary_key",
        "which columns tell the rows apart is known to their owner",
    ),
];

/// Before 18 initdb makes them only when it is asked.
const LEFT_BEFORE_18: (&str, &str) = (
    "postgres.data_checksums",
    "pg_checksums needs the server stopped, and reads every page",
);

fn left(major: u32) -> BTreeSet<&'static str> {
    let older = (major < 18).then_some(&LEFT_BEFORE_18);
    LEFT.iter().chain(older).map(|(rule, _)| *rule).collect()
}

/// The first way of each step that a session can go, and whether it needs a restart.
fn statements(check: &Value) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for finding in findings(check) {
        for step in finding["steps"].as_array().unwrap() {
            let ways = step["ways"].as_array().unwrap();
            let sql = ways
                .iter()
                .find(|way| way["kind"] == "alter_system" || way["kind"] == "statement");
            if let Some(way) = sql {
                let text = way["text"].as_str().unwrap().to_owned();
                found.push((text, step["needs"] == "restart"));
            }
        }
    }
    found
}

/// Carries out what the check asks for until it asks for nothing new.
fn mended(mut setup: Setup, major: u32) -> (Setup, Value) {
    let mut done = BTreeSet::new();
    for _ in 0..MOST_ROUNDS {
        let check = setup.check(&["--skip", SKIPPED]);
        let new: Vec<(String, bool)> = statements(&check)
            .into_iter()
            .filter(|(sql, _)| done.insert(sql.clone()))
            .collect();
        if new.is_empty() {
            return (setup, check);
        }
        let mut client = setup.running.client();
        let mut failed = Vec::new();
        for (sql, _) in &new {
            if let Err(error) = client.batch_execute(sql) {
                failed.push(format!("{sql} {error:?}"));
            }
        }
        assert!(failed.is_empty(), "{}", failed.join("\n"));
        client.batch_execute("SELECT pg_reload_conf()").unwrap();
        drop(client);
        if new.iter().any(|(_, restart)| *restart) {
            // What ALTER SYSTEM wrote wins over the file that is written again.
            setup.running = setup.running.restart(&settings(major));
        } else {
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
    }
    panic!("after {MOST_ROUNDS} rounds the plan still asks for more: {done:?}");
}

#[test]
fn what_still_warns_after_the_plan_is_known_with_its_reason() {
    let mut wrong = Vec::new();
    for binaries in super::servers() {
        let major = binaries.version.major;
        let (_setup, check) = mended(planted(binaries), major);
        let found: BTreeSet<&str> = findings(&check)
            .iter()
            .map(|finding| finding["rule"].as_str().unwrap())
            .collect();
        let expected = left(major);
        for rule in expected.difference(&found) {
            wrong.push(format!(
                "{major}: {rule} no longer warns: take it off the list"
            ));
        }
        for rule in found.difference(&expected) {
            let finding = crate::finding(&check, rule);
            wrong.push(format!(
                "{major}: {rule} still warns: {}",
                finding["message"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
