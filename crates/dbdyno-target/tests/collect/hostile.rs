//! Traps in the search path, names that are no UTF-8, a thousand databases, refused defaults.

use std::time::{Duration, Instant};

use dbdyno_model::Connection;
use dbdyno_model::postgres::ReplicationRole;
use dbdyno_target::connection::connect;
use dbdyno_target::postgres::{CounterReader, counters, granted, version};
use dbdyno_testing::{Running, every_major};

use crate::{facts, wait_until};

/// Functions, operators and relations that are found in front of PostgreSQL's own, or fit better.
const TRAPS: [&str; 8] = [
    "CREATE FUNCTION public.version() RETURNS text LANGUAGE sql AS $$ SELECT 'trap'::text $$",
    "CREATE FUNCTION public.current_setting(text) RETURNS text LANGUAGE sql \
     AS $$ SELECT '1'::text $$",
    "CREATE FUNCTION public.quote_ident(name) RETURNS text LANGUAGE sql \
     AS $$ SELECT 'trap'::text $$",
    "CREATE FUNCTION public.pg_stat_get_dead_tuples(oid) RETURNS int8 LANGUAGE sql \
     AS $$ SELECT 777777777::int8 $$",
    "CREATE FUNCTION public.always(name, name) RETURNS bool LANGUAGE sql AS $$ SELECT true $$",
    "CREATE OPERATOR public.= (LEFTARG = name, RIGHTARG = name, FUNCTION = public.always)",
    "CREATE TABLE public.pg_settings (name text)",
    "CREATE VIEW public.pg_class AS SELECT 1 AS trap",
];

#[test]
fn traps_in_the_search_path_are_not_stepped_on() {
    for binaries in every_major() {
        let running = Running::start(binaries, &[]);
        let mut admin = running.client();
        for trap in TRAPS {
            admin.batch_execute(trap).unwrap();
        }
        admin
            .batch_execute("ALTER ROLE postgres SET search_path = public, pg_catalog")
            .unwrap();

        let mut client = running.client();
        let trapped = client.query_one("SELECT version()", &[]).unwrap();
        assert_eq!(trapped.get::<_, &str>(0), "trap");
        let told = facts(&mut client);
        assert_eq!(told.role.get(), Some(ReplicationRole::Primary));
        assert!(told.major() >= 13 && told.settings.len() > 300);
        assert_eq!(told.missing_privileges, []);
        let dead = told.database.latest().unwrap().dead_tuples.unwrap();
        assert!(dead < 1000, "{dead}");
        let tables = told.tables.value().unwrap();
        assert_eq!(tables.len(), 1, "{tables:?}");
        assert_eq!(tables[0].name, "pg_settings");
        // What the role has set is told beside what the server has, and given back.
        let path = told.setting("search_path").unwrap();
        assert_eq!(path.value, "\"$user\", public");
        assert_eq!(path.instead.as_ref().unwrap().value, "public, pg_catalog");
        let row = client.query_one("SHOW search_path", &[]).unwrap();
        assert_eq!(row.get::<_, &str>(0), "public, pg_catalog");

        assert_eq!(granted(&mut client).unwrap().role, "postgres");
        let number = version(&mut client).unwrap().number;
        assert!(counters(&mut client, number).unwrap().dead_tuples < 1000);
        let mut reader = CounterReader::new(running.client(), number).unwrap();
        assert!(reader.read().unwrap().dead_tuples < 1000);
    }
}

#[test]
fn a_standby_is_read_whose_roles_ask_for_what_it_refuses() {
    for binaries in every_major() {
        let (primary, standby) = Running::start(binaries, &[]).with_standby(&[], &[]);
        let mut watcher = standby.client();
        let mut admin = primary.client();
        for sql in [
            "ALTER ROLE postgres SET default_transaction_isolation = 'serializable'",
            "CREATE TABLE afterwards (a int)",
        ] {
            admin.batch_execute(sql).unwrap();
        }
        wait_until(
            &mut watcher,
            "SELECT to_regclass('public.afterwards') IS NOT NULL",
        );
        let mut client = standby.client();
        assert!(client.query_one("SELECT 1", &[]).is_err());
        let told = facts(&mut client);
        assert_eq!(told.role.get(), Some(ReplicationRole::Standby));
        let isolation = told.setting("default_transaction_isolation").unwrap();
        assert_eq!(isolation.value, "read committed");
        assert_eq!(isolation.instead.as_ref().unwrap().value, "serializable");
        assert!(told.tables.value().is_some() && told.waits.value().is_some());
        assert!(granted(&mut client).unwrap().is_superuser);
    }
}

#[test]
fn names_that_are_no_utf8_cost_nothing_but_themselves() {
    for binaries in every_major() {
        let running = Running::start(binaries, &[]);
        let mut admin = running.client();
        for sql in [
            "CREATE DATABASE renamed",
            "CREATE DATABASE bytes TEMPLATE template0 ENCODING 'SQL_ASCII' \
             LC_COLLATE 'C' LC_CTYPE 'C'",
        ] {
            admin.batch_execute(sql).unwrap();
        }
        let inside = Connection {
            database: "bytes".into(),
            ..running.connection()
        };
        let mut client = connect(&inside).unwrap();
        for sql in [
            "DO $$ BEGIN EXECUTE format('CREATE TABLE %I (%I serial PRIMARY KEY)', \
             't' || chr(233), 'c' || chr(233)); END $$",
            "CREATE TABLE \"odd \"\"name\"\" \\ %I\" (a serial PRIMARY KEY)",
            "CREATE TABLE \"two\nlines\" (a int)",
            "UPDATE pg_database SET datname = 'd' || chr(233) WHERE datname = 'renamed'",
        ] {
            client.batch_execute(sql).unwrap();
        }
        let told = facts(&mut client);
        let mut tables: Vec<&str> = told
            .tables
            .value()
            .unwrap()
            .iter()
            .map(|table| table.name.as_str())
            .collect();
        tables.sort_unstable();
        assert_eq!(tables, ["odd \"name\" \\ %I", "two\nlines", "t\u{fffd}"]);
        let databases = told.databases.value().unwrap();
        assert!(databases.iter().any(|one| one.name == "d\u{fffd}"));
        let indexes = &told.indexes.value().unwrap().listed;
        assert!(
            indexes.iter().any(|index| index.columns == ["c\u{fffd}"]),
            "{indexes:?}"
        );
        let sequences = told.sequences.value().unwrap();
        assert_eq!((sequences.sequences, sequences.unreadable), (2, 1));
        assert_eq!(sequences.listed.len(), 1, "{sequences:?}");
    }
}

/// Rows of the catalog are enough: to make so many takes minutes and gigabytes. None of them takes
/// connections.
#[test]
fn a_thousand_databases_are_read_at_once() {
    for binaries in every_major() {
        let running = Running::start(binaries, &[("autovacuum", "off")]);
        let mut client = running.client();
        client
            .batch_execute(
                "INSERT INTO pg_database SELECT (jsonb_populate_record(d, jsonb_build_object( \
                     'oid', 100000 + i, 'datname', 'shop_' || i))).* \
                 FROM pg_database d, generate_series(1, 1000) i WHERE d.datname = 'template0'",
            )
            .unwrap();
        let begun = Instant::now();
        let told = facts(&mut client);
        assert!(begun.elapsed() < Duration::from_secs(20));
        assert!(told.databases.value().unwrap().len() > 1000);
        assert!(told.locales.value().unwrap().len() > 1000);
        let counted = told.database_counters.latest().unwrap();
        assert!(counted.len() > 1000, "{}", counted.len());
    }
}

/// As access methods leave it that keep no transaction ids.
#[test]
fn a_table_without_transaction_ids_is_not_about_to_wrap_around() {
    for binaries in every_major() {
        let running = Running::start(binaries, &[("autovacuum", "off")]);
        let mut client = running.client();
        for sql in [
            "CREATE TABLE columnar (a int)",
            "UPDATE pg_class SET relfrozenxid = '0', relminmxid = '0' WHERE relname = 'columnar'",
        ] {
            client.batch_execute(sql).unwrap();
        }
        let told = facts(&mut client);
        let table = &told.tables.value().unwrap()[0];
        assert_eq!((table.name.as_str(), table.xid_age), ("columnar", 0));
        assert_eq!(table.multixact_age, None);
    }
}

#[test]
fn a_view_that_was_closed_costs_its_own_fact() {
    for binaries in every_major() {
        let running = Running::start(binaries, &[]);
        let mut admin = running.client();
        for sql in [
            "CREATE ROLE reader LOGIN",
            "GRANT pg_monitor TO reader",
            "GRANT SELECT ON pg_hba_file_rules, pg_file_settings TO reader",
            "GRANT EXECUTE ON FUNCTION pg_hba_file_rules(), pg_show_all_file_settings() TO reader",
            "GRANT EXECUTE ON FUNCTION pg_stat_file(text, boolean) TO reader",
            "REVOKE ALL ON pg_stat_archiver, pg_collation, pg_sequence FROM PUBLIC",
        ] {
            admin.batch_execute(sql).unwrap();
        }
        let told = facts(&mut running.client_as("reader"));
        let closed = [
            told.replication.archiver.why_unknown(),
            told.collations.why_unknown(),
            told.sequences.why_unknown(),
        ];
        for why in closed {
            assert!(why.unwrap().contains("permission denied"), "{why:?}");
        }
        let missing = &told.missing_privileges;
        assert_eq!(missing.len(), 3, "{missing:?}");
        assert!(told.tables.value().is_some() && told.indexes.value().is_some());
        assert!(told.activity.value().is_some() && told.locales.value().is_some());
        assert!(told.access.rules.value().is_some() && told.wal.latest().is_some());
    }
}
