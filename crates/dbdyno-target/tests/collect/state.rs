//! Sessions that wait, text that sorts by an old library, who may connect, and what the clock costs.

use dbdyno_model::postgres::Reach;
use dbdyno_testing::{Running, binaries, every_major};

use crate::{facts, wait_until};

#[test]
fn sessions_that_wait_are_seen_and_the_clock_is_measured() {
    for binaries in every_major() {
        let major = binaries.version.major;
        let running = Running::start(binaries, &[]);
        let mut sleeper = running.client();
        sleeper.batch_execute("CREATE TABLE t (a int)").unwrap();
        let asleep = std::thread::spawn(move || {
            // It ends by being told to.
            let _ = sleeper
                .batch_execute("BEGIN; LOCK TABLE t IN ACCESS SHARE MODE; SELECT pg_sleep(600)");
        });
        let mut client = running.client();
        wait_until(
            &mut client,
            "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'",
        );
        let told = facts(&mut client);
        client
            .batch_execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'",
            )
            .unwrap();
        asleep.join().unwrap();
        let waits = told.waits.value().unwrap();
        assert!(waits.looks >= 1 && waits.active >= waits.looks, "{waits:?}");
        assert_eq!(waits.events["Timeout:PgSleep"], waits.looks, "{waits:?}");
        assert!(waits.startup_events.is_empty());
        assert!(waits.most_relation_locks.unwrap() >= 1);
        let cost = told.timer_cost_ns.get().unwrap();
        assert!((0.0..100_000.0).contains(&cost), "{cost} ns");

        let counters = told.database_counters.latest().unwrap();
        assert_eq!(counters[0].name, None, "what all databases share");
        let here = counters
            .iter()
            .find(|one| one.name.as_deref() == Some("postgres"))
            .unwrap();
        assert_eq!(here.sessions.is_some(), major >= 14);
        assert_eq!(here.conflicts(), 0);
    }
}

/// It has a snapshot's xmin like any session, which vacuum passes over.
#[test]
fn a_vacuum_that_somebody_runs_keeps_nothing() {
    let running = Running::start(binaries(), &[("autovacuum", "off")]);
    let mut client = running.client();
    for statement in [
        "CREATE TABLE t (a int, filler text)",
        "INSERT INTO t SELECT g, repeat('x', 900) FROM generate_series(1, 4000) g",
    ] {
        client.batch_execute(statement).unwrap();
    }
    let mut slow = running.client();
    slow.batch_execute("SET vacuum_cost_delay = '100ms'")
        .unwrap();
    slow.batch_execute("SET vacuum_cost_limit = 1").unwrap();
    let vacuum = std::thread::spawn(move || slow.batch_execute("VACUUM t").is_err());
    wait_until(
        &mut client,
        "SELECT count(*) = 1 FROM pg_stat_progress_vacuum",
    );
    let told = facts(&mut client);
    client
        .batch_execute("SELECT pg_cancel_backend(pid) FROM pg_stat_progress_vacuum")
        .unwrap();
    assert!(vacuum.join().unwrap(), "it was at work until then");
    let open = told.open_transactions.value().unwrap();
    assert!(open.is_empty(), "{open:?}");
    let holders = told.xmin_holders.value().unwrap();
    assert!(holders.is_empty(), "{holders:?}");
}

#[test]
fn a_collation_from_another_library_is_told_with_its_indexes() {
    for binaries in every_major() {
        let major = binaries.version.major;
        let running = Running::start(binaries, &[]);
        let mut client = running.client();
        for sql in [
            "CREATE COLLATION german (provider = icu, locale = 'de')",
            "CREATE TABLE t (a text COLLATE german)",
            "CREATE INDEX ON t (a)",
            "UPDATE pg_collation SET collversion = '1.2.3' WHERE collname = 'german'",
        ] {
            client.batch_execute(sql).unwrap();
        }
        let told = facts(&mut client);
        let collations = told.collations.value().unwrap();
        assert_eq!(collations.len(), 1, "{collations:?}");
        let german = &collations[0];
        assert_eq!(
            (german.schema.as_str(), german.name.as_str(), german.indexes),
            ("public", "german", 1)
        );
        assert_eq!(german.version, "1.2.3");
        assert_ne!(german.actual.as_deref().unwrap(), "1.2.3");
        let locales = told.locales.value().unwrap();
        let here = locales.iter().find(|one| one.name == "postgres").unwrap();
        assert_eq!(
            (here.encoding.as_str(), here.collate.as_str()),
            ("UTF8", "C")
        );
        // The locale C has no version, whatever the server's.
        assert_eq!((&here.version, &here.actual), (&None, &None), "{major}");
    }
}

#[test]
fn lines_of_pg_hba_conf_are_told_without_what_they_hold() {
    for binaries in every_major() {
        let running = Running::start(binaries, &[]);
        let mut client = running.client();
        client
            .batch_execute("SET password_encryption = 'md5'; CREATE ROLE old LOGIN PASSWORD 'x'")
            .unwrap();
        let file = running.server.data().join("pg_hba.conf");
        let mut text = std::fs::read_to_string(&file).unwrap();
        text.push_str("host all all 10.0.0.0/8 password\nhost all all 0.0.0.0/0 hunter2\n");
        std::fs::write(&file, text).unwrap();

        let told = facts(&mut client);
        let rules = told.access.rules.value().unwrap();
        let with = |kind: &str, reach: Reach, method: &str| {
            rules.iter().any(|rule| {
                (rule.kind.as_str(), rule.reach, rule.method.as_str()) == (kind, reach, method)
            })
        };
        assert!(with("local", Reach::Socket, "trust"), "{rules:?}");
        assert!(with("host", Reach::Loopback, "trust"), "{rules:?}");
        assert!(with("host", Reach::Network, "password"), "{rules:?}");
        assert!(rules[0].place.contains("pg_hba.conf:"), "{rules:?}");
        let broken = rules.iter().find(|rule| rule.error.is_some()).unwrap();
        assert!(
            broken
                .error
                .as_deref()
                .unwrap()
                .contains("authentication method"),
            "{broken:?}"
        );
        let json = serde_json::to_string(&told).unwrap();
        assert!(!json.contains("hunter2"), "{json}");
        assert_eq!(told.access.md5_passwords.get(), Some(1));
        assert_eq!(told.access.plain_sessions.get(), Some(0));
    }
}
