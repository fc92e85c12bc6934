//! Faults of a server: its settings, its schema, its maintenance, its replication, its access.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::{Duration, Instant};

use dbdyno_target::lab::Binaries;
use dbdyno_testing::{Place, Running};
use postgres::Client;

use super::Sign;
use crate::Setup;

/// How a fault comes into a server.
enum Plant {
    /// A setting, and its value.
    Set(&'static str, &'static str),
    Sql(&'static str),
    /// SQL that fails and leaves something behind.
    Broken(&'static str),
    /// A line of pg_hba.conf.
    Access(&'static str),
}

use Plant::{Access, Broken, Set, Sql};

/// How it is planted, the rule that finds it, and what that says.
type Fault = (&'static [Plant], &'static str, &'static str);

/// In this order, since what lies on the disk, waits or holds something back acts on what follows.
const FAULTS: &[Fault] = &[
    (&[Set("fsync", "off")], "postgres.fsync", "fsync is off"),
    (
        &[Set("full_page_writes", "off")],
        "postgres.full_page_writes",
        "full_page_writes is off",
    ),
    (
        &[Set("synchronous_commit", "off")],
        "postgres.synchronous_commit",
        "synchronous_commit is off",
    ),
    (
        &[Set("ignore_checksum_failure", "on")],
        "postgres.hidden_damage",
        "ignore_checksum_failure on for everyone",
    ),
    (
        &[Set("allow_system_table_mods", "on")],
        "postgres.developer_options",
        "allow_system_table_mods set for everyone",
    ),
    (
        &[Set("enable_nestloop", "off")],
        "postgres.config_drift",
        "enable_nestloop off for everyone",
    ),
    (
        &[Set("shared_buffers", "16MB")],
        "postgres.shared_buffers",
        "shared_buffers is 16MB",
    ),
    // Above the memory of any machine, for the four sessions of a single CPU.
    (
        &[Set("work_mem", "512GB")],
        "postgres.work_mem",
        "work_mem is 512GB",
    ),
    (
        &[Set("effective_cache_size", "1MB")],
        "postgres.effective_cache_size",
        "less than shared_buffers alone",
    ),
    (
        &[Set("wal_buffers", "32kB")],
        "postgres.wal_buffers",
        "less than sessions that write need",
    ),
    (
        &[Set("max_connections", "400")],
        "postgres.max_connections",
        "max_connections is 400",
    ),
    (
        &[Set("superuser_reserved_connections", "0")],
        "postgres.reserved_connections",
        "superuser_reserved_connections is 0",
    ),
    (
        &[Set("checkpoint_completion_target", "0.5")],
        "postgres.checkpoint_completion_target",
        "checkpoint_completion_target is 0.5",
    ),
    (
        &[Set("max_parallel_workers_per_gather", "1024")],
        "postgres.parallel",
        "1024 for one query",
    ),
    (
        &[Set("default_statistics_target", "10")],
        "postgres.statistics_target",
        "default_statistics_target is 10",
    ),
    (
        &[Set("log_checkpoints", "off")],
        "postgres.observability",
        "log_checkpoints",
    ),
    (
        &[Set("log_lock_waits", "off"), Set("log_temp_files", "-1")],
        "postgres.logging",
        "log_temp_files",
    ),
    (
        &[Set("password_encryption", "md5")],
        "postgres.password_encryption",
        "password_encryption is md5",
    ),
    (
        &[Access("host all all 0.0.0.0/0 trust")],
        "postgres.client_authentication",
        "lets anyone in from the network",
    ),
    (
        &[Set("autovacuum", "off")],
        "maintenance.autovacuum",
        "autovacuum off",
    ),
    (
        &[Sql(
            "CREATE DATABASE unchecked TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'",
        )],
        "postgres.encoding",
        "unchecked stored as SQL_ASCII",
    ),
    (
        &[Sql("CREATE TABLE keyless (note text)")],
        "schema.primary_key",
        "no primary key",
    ),
    (
        &[
            Sql("CREATE TABLE paired (id serial PRIMARY KEY, a int, b int)"),
            Sql("INSERT INTO paired (a, b) SELECT g, g % 7 FROM generate_series(1, 1000) g"),
            Sql("CREATE INDEX first_of_both ON paired (a)"),
            Sql("CREATE INDEX a_and_b ON paired (a, b)"),
        ],
        "schema.redundant_index",
        "public.first_of_both",
    ),
    (
        &[
            Broken("CREATE UNIQUE INDEX CONCURRENTLY broken ON paired (b)"),
            // Each value once, so that the index can be built.
            Sql("DELETE FROM paired WHERE id > 7"),
        ],
        "schema.invalid_index",
        "public.broken",
    ),
    (
        &[Sql(
            "SELECT setval(pg_get_serial_sequence('paired', 'id'), 2000000000)",
        )],
        "schema.integer_exhaustion",
        "public.paired_id_seq",
    ),
    (
        &[
            Sql("CREATE TABLE parent (id int PRIMARY KEY)"),
            Sql("INSERT INTO parent SELECT generate_series(1, 1000)"),
            Sql("CREATE TABLE child (id int PRIMARY KEY, parent int, filler text)"),
            Sql("INSERT INTO child SELECT g, 1 + g % 500, repeat('x', 900) \
                 FROM generate_series(1, 130000) g"),
            // Autovacuum is off: nobody counts the pages, and rows as wide as these say little of them.
            Sql("ALTER TABLE child ADD FOREIGN KEY (parent) REFERENCES parent"),
            Sql("DELETE FROM parent WHERE id = 1000"),
        ],
        "schema.foreign_key_index",
        "each scanned public.child",
    ),
    // The same table: autovacuum is off, and nobody looked at its rows.
    (
        &[],
        "maintenance.never_analyzed",
        "the largest public.child",
    ),
    (
        &[
            Sql("CREATE TABLE churned (id int PRIMARY KEY) \
                 WITH (autovacuum_vacuum_threshold = 2000000)"),
            Sql("INSERT INTO churned SELECT generate_series(1, 400000)"),
            Sql("DELETE FROM churned WHERE id <= 300000"),
        ],
        "maintenance.vacuum_threshold",
        "public.churned is vacuumed only after",
    ),
    (
        &[
            Set("max_prepared_transactions", "4"),
            Sql("CREATE TABLE waited_for (id int PRIMARY KEY)"),
            Sql("BEGIN; INSERT INTO waited_for VALUES (1); PREPARE TRANSACTION 'forgotten'"),
            // A million transactions are quicker than the hour that would do as well.
            Sql("DO $$ BEGIN FOR i IN 1..1000100 LOOP \
                 PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"),
        ],
        "maintenance.xmin_horizon",
        "prepared transaction forgotten",
    ),
    (
        &[
            Set("archive_mode", "on"),
            Set("archive_command", "false"),
            Sql("SELECT pg_switch_wal()"),
        ],
        "replication.archiver",
        "archiving fails at",
    ),
    (
        &[Sql(
            "SELECT pg_create_physical_replication_slot('left_behind', true)",
        )],
        "replication.inactive_slot",
        "nobody uses the slot left_behind",
    ),
    // The same slot: nothing bounds it, and there is no other one to be had.
    (
        &[],
        "replication.slot_limit",
        "may keep log until the disk is full",
    ),
    (
        &[Set("max_replication_slots", "1")],
        "replication.senders",
        "1 of 1 replication slots",
    ),
];

const SINCE_18: &[Fault] = &[(
    &[Set("io_method", "sync")],
    "postgres.io_method",
    "io_method is sync",
)];

fn faults(major: u32) -> impl Iterator<Item = &'static Fault> {
    let newer = if major >= 18 { SINCE_18 } else { &[] };
    FAULTS.iter().chain(newer)
}

pub(super) fn signs(major: u32) -> Vec<Sign> {
    let signs = faults(major).map(|(_, rule, words)| (*rule, *words));
    signs.collect()
}

fn plants(major: u32) -> impl Iterator<Item = &'static Plant> {
    faults(major).flat_map(|(plants, ..)| plants.iter())
}

pub(super) fn settings(major: u32) -> Vec<(&'static str, &'static str)> {
    // On a slow clock it is a fault of its own, on a fast one its absence would be.
    let clock = ("track_io_timing", "on");
    let planted = plants(major).filter_map(|plant| match plant {
        Set(name, value) => Some((*name, *value)),
        _ => None,
    });
    planted.chain([clock]).collect()
}

pub(super) fn planted(binaries: Binaries) -> Setup {
    let major = binaries.version.major;
    let setup = Setup {
        running: Running::start(binaries, &settings(major)),
        place: Place::new("planted"),
    };
    let mut client = setup.running.client();
    for plant in plants(major) {
        match plant {
            Set(..) => {}
            Sql(sql) => {
                let done = client.batch_execute(sql);
                done.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            }
            Broken(sql) => assert!(client.batch_execute(sql).is_err(), "{sql}"),
            Access(line) => {
                let hba = setup.running.server.data().join("pg_hba.conf");
                let mut hba = OpenOptions::new().append(true).open(hba).unwrap();
                writeln!(hba, "{line}").unwrap();
            }
        }
    }
    let count = "SELECT pg_stat_force_next_flush()";
    client.batch_execute(count).unwrap();
    wait_for_the_archiver(&mut client);
    setup
}

/// Until it has failed once.
fn wait_for_the_archiver(client: &mut Client) {
    const FAILED: &str = "SELECT failed_count > 0 FROM pg_stat_archiver";
    let begun = Instant::now();
    while !client.query_one(FAILED, &[]).unwrap().get::<_, bool>(0) {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "nothing is archived"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn every_fault_of_a_server_is_found_by_its_own_rule() {
    let mut missed = Vec::new();
    for binaries in super::servers() {
        let major = binaries.version.major;
        let check = planted(binaries).check(&[]);
        missed.extend(super::unfound(&check, &signs(major)));
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
