//! Facts and counters from real servers of every major that is at hand.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::time::Duration;

use dbdyno_model::postgres::{Postgres, ReplicationRole};
use dbdyno_target::postgres::{
    CollectOptions, Collected, CounterReader, Counters, collect, counters, version,
};
use dbdyno_testing::{Running, binaries, every_major};
use postgres::Client;

fn collect_now(client: &mut Client, window_ms: u64) -> Collected {
    let window = Duration::from_millis(window_ms);
    collect(client, &CollectOptions { window }).unwrap()
}

#[test]
fn every_major_tells_everything_to_a_superuser() {
    for binaries in every_major() {
        let running = Running::start(
            binaries,
            &[
                ("work_mem", "8MB"),
                ("primary_conninfo", "password=hunter2"),
            ],
        );
        let other = running.client();
        for sql in [
            "CREATE TABLE t (a int) WITH (fillfactor = 90)",
            "INSERT INTO t SELECT generate_series(1, 10000)",
            "ANALYZE t",
            "DELETE FROM t WHERE a < 100",
            "CREATE TABLE \"odd name\" (b text)",
            "SELECT pg_create_physical_replication_slot('s', true)",
        ] {
            // A session reports all that it did when it ends.
            running.client().batch_execute(sql).unwrap();
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut idle = running.client();
        idle.batch_execute("BEGIN; SELECT txid_current()").unwrap();
        // The collector of 14 and earlier writes its file twice a second.
        std::thread::sleep(Duration::from_millis(1100));
        running
            .client()
            .batch_execute("CREATE DATABASE young")
            .unwrap();
        // Within the data directory, which needs no directory of the server's account elsewhere.
        let mut admin = running.client();
        if version(&mut admin).unwrap().major() >= 15 {
            for sql in [
                "SET allow_in_place_tablespaces = on",
                "CREATE TABLESPACE here LOCATION '' WITH (random_page_cost = 2)",
            ] {
                admin.batch_execute(sql).unwrap();
            }
        }
        drop(admin);
        std::thread::sleep(Duration::from_millis(50));
        let Collected { postgres, failures } = collect_now(&mut running.client(), 300);
        assert_eq!(failures, [], "{}", postgres.version);
        let tablespaces = postgres.tablespaces.value().unwrap();
        if postgres.major() >= 15 {
            assert_eq!(tablespaces[0].name, "here");
            assert_eq!(tablespaces[0].option("random_page_cost"), Some("2"));
            assert!(
                tablespaces[0].location.starts_with("pg_tblspc/"),
                "{tablespaces:?}"
            );
        } else {
            assert_eq!(tablespaces, &[]);
        }
        assert_eq!(postgres.missing_privileges, []);
        check_settings(&postgres);
        check_counters_of_all_kinds(&postgres);
        check_state(&postgres);
        let json = serde_json::to_string(&postgres).unwrap();
        assert!(!json.contains("hunter2"));
        drop((idle, other));
    }
}

fn check_settings(postgres: &Postgres) {
    let work_mem = postgres.setting("work_mem").unwrap();
    assert_eq!(
        (work_mem.value.as_str(), work_mem.unit.as_deref()),
        ("8192", Some("kB"))
    );
    assert_eq!(postgres.bytes("work_mem"), Some(8 << 20));
    assert_eq!(work_mem.source, "configuration file");
    let file = work_mem.source_file.as_deref().unwrap();
    assert!(file.ends_with("dbdyno.conf"), "{file}");
    assert!(work_mem.source_line.is_some() && work_mem.is_set_by_user());
    assert!(postgres.settings.len() > 300);
    assert!(
        !postgres
            .setting("wal_level")
            .unwrap()
            .enum_values
            .is_empty()
    );
    // The limits of our own session must not be taken for the server's.
    for name in [
        "statement_timeout",
        "lock_timeout",
        "idle_in_transaction_session_timeout",
    ] {
        assert_eq!(postgres.setting(name).unwrap().value, "0", "{name}");
    }
    assert_eq!(postgres.is_on("default_transaction_read_only"), Some(false));
    assert_eq!(
        postgres.setting("primary_conninfo").unwrap().value,
        "(hidden)"
    );
    assert_eq!(
        postgres.setting("huge_pages_status").is_some(),
        postgres.major() >= 17
    );
    assert_eq!(
        postgres.setting("autovacuum_worker_slots").is_some(),
        postgres.major() >= 18
    );
}

fn check_counters_of_all_kinds(postgres: &Postgres) {
    let major = postgres.major();
    let database = postgres.database.latest().unwrap();
    assert_eq!(database.name, "postgres");
    assert!(
        database.commits > 0 && database.blocks_hit > 0,
        "{database:?}"
    );
    assert!(database.size_bytes.unwrap() > 1 << 20);
    assert_eq!(database.dead_tuples, Some(99));
    assert!(database.stats_age_s.unwrap() > 0.0);
    assert!(
        (0.25..5.0).contains(&postgres.database.seconds),
        "{}",
        postgres.database.seconds
    );

    let databases = postgres.database_counters.latest().unwrap();
    let age_s = |name: &str| {
        let found = databases
            .iter()
            .find(|one| one.name.as_deref() == Some(name));
        found.unwrap().stats_age_s
    };
    let own = age_s("postgres").unwrap();
    assert_eq!(database.stats_age_s.is_some(), own > 0.0);
    // Nobody reset either, and the server counts for longer than the younger is there: by whole
    // seconds, as the server tells the times of files.
    if major >= 15 {
        assert!(age_s("young").unwrap() + 0.5 < own, "{databases:?}");
    }

    let wal = postgres.wal.latest().unwrap();
    assert!(wal.position_bytes.unwrap() > 1 << 20);
    assert!(wal.directory_bytes.unwrap() >= 16 << 20);
    for value in [
        wal.records,
        wal.full_page_images,
        wal.bytes,
        wal.buffers_full,
    ] {
        assert_eq!(value.is_some(), major >= 14);
    }
    assert_eq!(wal.stats_age_s.is_some(), major >= 14);
    assert!(
        postgres
            .wal
            .rate(|wal| Some(wal.position_bytes? as f64))
            .is_some()
    );

    let checkpoints = postgres.checkpoints.latest().unwrap();
    assert!(checkpoints.buffers_alloc > 0 && checkpoints.buffers_backend.is_some());
    assert_eq!(checkpoints.done.is_some(), major >= 18);
    for age_s in [
        checkpoints.stats_age_s,
        checkpoints.cleaning_age_s,
        checkpoints.backend_age_s,
    ] {
        assert!(age_s.unwrap() > 0.0, "{checkpoints:?}");
    }
    let io = postgres.io.latest().unwrap();
    for value in [io.reads, io.writes, io.client_writes, io.evictions, io.hits] {
        assert_eq!(value.is_some(), major >= 16, "{io:?}");
    }
    if major >= 16 {
        assert!(io.reads.unwrap() > 0 && io.hits.unwrap() > 0, "{io:?}");
    }
}

fn check_state(postgres: &Postgres) {
    assert_eq!(postgres.role.get(), Some(ReplicationRole::Primary));
    assert!(postgres.started_at.value().unwrap().ends_with('Z'));
    let tables = postgres.tables.value().unwrap();
    assert_eq!(tables.len(), 2);
    assert_eq!(
        (tables[0].name.as_str(), tables[0].schema.as_str()),
        ("t", "public")
    );
    assert_eq!((tables[0].live_tuples, tables[0].dead_tuples), (9901, 99));
    assert!(tables[0].size_bytes >= 40 * 8192 && tables[0].rows_estimate.unwrap() > 9000.0);
    assert_eq!(tables[0].options, ["fillfactor=90"]);
    assert!(tables[0].never_vacuumed && !tables[0].never_analyzed);
    assert_eq!(
        (tables[1].rows_estimate, tables[1].never_analyzed),
        (None, true)
    );
    let extensions = postgres.extensions.value().unwrap();
    assert!(
        extensions
            .iter()
            .any(|extension| extension.name == "plpgsql")
    );
    let available = postgres.available_extensions.value().unwrap();
    assert_eq!(available, &["pg_stat_statements"]);
    assert!(postgres.databases.value().unwrap().len() >= 3);
    let activity = postgres.activity.value().unwrap();
    assert_eq!(
        (activity.connections, activity.idle_in_transaction),
        (2, 1),
        "{activity:?}"
    );
    assert!(activity.oldest_idle_in_transaction_s.unwrap() > 1.0);
    assert!(activity.oldest_transaction_s.unwrap() > 1.0);
    let slots = postgres.slots.value().unwrap();
    assert_eq!((slots[0].name.as_str(), slots[0].active), ("s", false));
    assert_eq!(slots[0].wal_status.as_deref(), Some("reserved"));
    assert!(slots[0].retained_bytes.is_some());
    assert_eq!(postgres.file_errors.value().unwrap(), &Vec::<String>::new());
    assert_eq!(postgres.managed_by, None);
}

#[test]
fn a_role_without_pg_monitor_is_told_its_grants_and_gets_the_rest() {
    for binaries in every_major() {
        let running = Running::start(binaries, &[]);
        let mut admin = running.client();
        admin.batch_execute("CREATE ROLE \"Plain\" LOGIN").unwrap();
        report_statistics(&mut admin);
        let Collected { postgres, failures } = collect_now(&mut running.client_as("Plain"), 0);
        assert_eq!(failures, []);
        let missing: Vec<&str> = postgres
            .missing_privileges
            .iter()
            .map(|missing| missing.object.as_str())
            .collect();
        for object in [
            "pg_ls_waldir()",
            "pg_stat_activity",
            "pg_file_settings",
            "pg_hba_file_rules",
            "pg_stat_replication",
        ] {
            assert!(missing.contains(&object), "{missing:?}");
        }
        assert!(postgres.waits.why_unknown().is_some());
        assert!(postgres.replication.senders.why_unknown().is_some());
        assert!(postgres.access.rules.why_unknown().is_some());
        assert!(postgres.locales.value().is_some() && postgres.collations.value().is_some());
        assert!(postgres.timer_cost_ns.get().is_some());
        let archiver = postgres.replication.archiver.value().unwrap();
        assert_eq!(archiver.waiting, None);
        assert!(postgres.activity.why_unknown().is_some());
        assert!(postgres.file_errors.why_unknown().is_some());
        let database = postgres.database.latest().unwrap();
        assert!(
            database.commits > 0 && database.size_bytes.is_some(),
            "{database:?}"
        );
        assert!(postgres.wal.latest().unwrap().position_bytes.is_some());
        assert!(postgres.database.after.value().is_none());
        assert!(postgres.settings.contains_key("work_mem"));
        assert!(postgres.tables.value().is_some() && postgres.slots.value().is_some());

        // The grants are SQL, and they suffice.
        for missing in &postgres.missing_privileges {
            admin.batch_execute(&missing.grant).unwrap();
        }
        let granted = collect_now(&mut running.client_as("Plain"), 0).postgres;
        assert_eq!(granted.missing_privileges, []);
        assert!(granted.activity.value().is_some() && granted.file_errors.value().is_some());
        assert!(granted.waits.value().is_some() && granted.access.rules.value().is_some());
        assert!(granted.replication.senders.value().is_some());
        // What only a superuser may see stays so, and no grant for it was named.
        let passwords = granted.access.md5_passwords;
        assert_eq!(passwords.why_unknown(), Some("only a superuser may see it"));
    }
}

#[test]
fn the_session_is_given_back_as_it_was() {
    let running = Running::start(binaries(), &[]);
    let mut client = running.client();
    let before = collect_now(&mut client, 0).postgres.settings;
    for name in ["statement_timeout", "default_transaction_read_only"] {
        let row = client.query_one(&format!("SHOW {name}"), &[]).unwrap();
        assert!(["0", "off"].contains(&row.get::<_, &str>(0)), "{name}");
    }
    assert_eq!(collect_now(&mut client, 0).postgres.settings, before);
    let name = client.query_one("SHOW application_name", &[]).unwrap();
    assert_eq!(name.get::<_, &str>(0), "dbdyno");
}

#[test]
fn what_only_our_role_has_is_not_taken_for_the_server_s() {
    let running = Running::start(binaries(), &[("work_mem", "8MB")]);
    let mut admin = running.client();
    for sql in [
        "CREATE ROLE limited LOGIN",
        "ALTER ROLE limited SET work_mem = '64MB'",
        "ALTER ROLE postgres SET work_mem = '64MB'",
        "ALTER ROLE postgres SET enable_seqscan = off",
        "ALTER ROLE ALL SET enable_sort = off",
        "ALTER ROLE postgres SET enable_sort = on",
    ] {
        admin.batch_execute(sql).unwrap();
    }
    let Collected { postgres, failures } = collect_now(&mut running.client(), 0);
    assert_eq!(failures, []);
    let work_mem = postgres.setting("work_mem").unwrap();
    assert_eq!(work_mem.value, "8192");
    let file = work_mem.source_file.as_deref().unwrap();
    assert!(file.ends_with("dbdyno.conf"), "{file}");
    assert_eq!(work_mem.instead.as_ref().unwrap().value, "65536");
    let scans = postgres.setting("enable_seqscan").unwrap();
    assert_eq!(
        (scans.value.as_str(), scans.source.as_str()),
        ("on", "default")
    );
    let sorts = postgres.setting("enable_sort").unwrap();
    assert_eq!(
        (sorts.value.as_str(), sorts.source.as_str()),
        ("off", "global")
    );

    // Who may not read the files learns whose value it is.
    let plain = collect_now(&mut running.client_as("limited"), 0).postgres;
    assert_eq!(plain.bytes("work_mem"), None);
    let why = plain.why_hidden("work_mem").unwrap();
    assert!(why.contains("ALTER ROLE"), "{why}");
}

#[test]
fn a_table_under_an_exclusive_lock_keeps_nobody_waiting() {
    let running = Running::start(binaries(), &[]);
    let mut other = running.client();
    other.batch_execute("CREATE TABLE t (a int)").unwrap();
    other.batch_execute("BEGIN; LOCK TABLE t").unwrap();
    let began = std::time::Instant::now();
    let Collected { postgres, failures } = collect_now(&mut running.client(), 0);
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(failures, []);
    assert_eq!(postgres.tables.value().unwrap().len(), 1);
}

#[test]
fn broken_and_shadowed_lines_of_the_configuration_are_found() {
    let running = Running::start(binaries(), &[("work_mem", "8MB")]);
    let mut client = running.client();
    client
        .batch_execute("ALTER SYSTEM SET work_mem = '9MB'")
        .unwrap();
    let conf = running.server.data().join("postgresql.conf");
    let mut text = std::fs::read_to_string(&conf).unwrap();
    text.push_str("nosuch_setting = 1\n");
    std::fs::write(&conf, text).unwrap();
    let errors = collect_now(&mut client, 0).postgres.file_errors;
    let errors = errors.value().unwrap();
    assert_eq!(errors.len(), 2, "{errors:?}");
    let told = |part: &str| errors.iter().any(|error| error.contains(part));
    assert!(
        told("work_mem is overridden by") && told("postgresql.auto.conf"),
        "{errors:?}"
    );
    assert!(told("nosuch_setting: "), "{errors:?}");
}

/// A busy session reports what it did within a second; an idle one has to be woken up.
fn report_statistics(client: &mut Client) {
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(1100));
        client.batch_execute("SELECT 1").unwrap();
    }
    // The collector of 14 and earlier writes its file twice a second.
    std::thread::sleep(Duration::from_millis(600));
}

/// The size is left out of most samples on a machine that is slow to find it.
fn read_with_size(reader: &mut CounterReader) -> Counters {
    (0..5)
        .map(|_| reader.read().unwrap())
        .find(|counters| counters.database_bytes.is_some())
        .unwrap()
}

#[test]
fn counters_move_after_writes() {
    for binaries in every_major() {
        let running = Running::start(binaries, &[]);
        let mut client = running.client();
        let version_num = version(&mut client).unwrap().number;
        client.batch_execute("CREATE TABLE t (a int)").unwrap();
        let mut reader = CounterReader::new(running.client(), version_num).unwrap();
        let before = read_with_size(&mut reader);
        client
            .batch_execute("INSERT INTO t SELECT generate_series(1, 100000); CHECKPOINT")
            .unwrap();
        client.batch_execute("DELETE FROM t").unwrap();
        report_statistics(&mut client);
        let after = read_with_size(&mut reader);
        assert!(after.wal_position_bytes.unwrap() > before.wal_position_bytes.unwrap() + (1 << 20));
        assert!(after.blocks_hit > before.blocks_hit);
        assert_eq!(
            after.checkpoints_requested,
            before.checkpoints_requested + 1
        );
        assert!(after.dead_tuples >= 100_000, "{after:?}");
        assert_eq!(after.full_page_images.is_some(), version_num >= 140_000);
        if version_num >= 140_000 {
            assert!(after.full_page_images > before.full_page_images);
        }
        let grown = after.database_bytes.unwrap() - before.database_bytes.unwrap();
        assert!(grown >= 3 << 20, "{grown}");
        assert!(
            counters(&mut client, version_num)
                .unwrap()
                .wal_position_bytes
                .is_some()
        );
        // A session that reads counters can do nothing else.
        let mut session = reader.into_client();
        assert!(session.batch_execute("CREATE TABLE no (a int)").is_err());
    }
}
