//! Sizes of tables with foreign keys and no index on them, where nobody has counted their pages.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::thread;
use std::time::{Duration, Instant};

use dbdyno_model::postgres::{ForeignKeys, UnindexedForeignKey};
use dbdyno_target::postgres::{CollectOptions, Collected, collect};
use dbdyno_testing::{Running, binaries, every_major};

/// It would count them.
const SETTINGS: [(&str, &str); 1] = [("autovacuum", "off")];

fn foreign_keys(running: &Running) -> ForeignKeys {
    let window = Duration::ZERO;
    let options = CollectOptions { window };
    let Collected { postgres, failures } = collect(&mut running.client(), &options).unwrap();
    assert_eq!(failures, [], "{}", postgres.version);
    let keys = &postgres.foreign_keys;
    assert!(keys.origin.contains("pg_relation_size()"));
    keys.value().unwrap().clone()
}

/// A session reports all that it did when it ends, and the collector of 14 and earlier writes its
/// file twice a second.
fn run(running: &Running, statements: &[&str]) {
    for sql in statements {
        running.client().batch_execute(sql).unwrap();
    }
    thread::sleep(Duration::from_millis(1100));
}

fn number(running: &Running, sql: &str) -> u64 {
    let value: i64 = running.client().query_one(sql, &[]).unwrap().get(0);
    u64::try_from(value).unwrap()
}

fn tables(keys: &ForeignKeys) -> Vec<&str> {
    keys.listed.iter().map(|key| key.table.as_str()).collect()
}

fn plant(running: &Running) {
    run(
        running,
        &[
            "CREATE TABLE parent (id int PRIMARY KEY)",
            "INSERT INTO parent SELECT generate_series(1, 500)",
            "CREATE TABLE wide (parent int REFERENCES parent, filler text)",
            "INSERT INTO wide SELECT 1 + g % 500, repeat('x', 900) FROM generate_series(1, 9000) g",
            "CREATE TABLE counted (parent int REFERENCES parent)",
            "INSERT INTO counted SELECT 1 + g % 500 FROM generate_series(1, 9000) g",
            "VACUUM counted",
            "CREATE TABLE empty (parent int REFERENCES parent)",
            "CREATE TABLE parts (parent int REFERENCES parent) PARTITION BY RANGE (parent)",
            "CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (1000)",
        ],
    );
    // Nothing tells how many rows there are either, as after a crash.
    run(running, &["SELECT pg_stat_reset()"]);
}

/// A row that nothing refers to comes and goes.
fn lose_one(running: &Running, parent: &str) {
    let insert = format!("INSERT INTO {parent} VALUES (9999)");
    let delete = format!("DELETE FROM {parent} WHERE id = 9999");
    run(running, &[insert.as_str(), delete.as_str()]);
}

#[test]
fn a_table_whose_pages_nobody_counted_is_as_large_as_its_file() {
    for binaries in every_major() {
        let running = Running::start(binaries, &SETTINGS);
        plant(&running);
        let pages = |table: &str| {
            let sql = format!("SELECT relpages::int8 FROM pg_class WHERE relname = '{table}'");
            number(&running, &sql)
        };
        assert_eq!(pages("wide"), 0);
        let size = number(&running, "SELECT pg_relation_size('wide')");
        assert!(size > 8_000_000, "{size}");
        let keys = foreign_keys(&running);
        assert_eq!((keys.foreign_keys, keys.unindexed), (4, 4));
        assert_eq!(keys.unmeasured, 0);
        assert_eq!(tables(&keys), ["parts", "wide", "counted", "empty"]);
        let sizes: Vec<Option<u64>> = keys.listed.iter().map(|key| key.table_bytes).collect();
        let counted = pages("counted") * 8192;
        assert_eq!(sizes, [None, Some(size), Some(counted), Some(0)]);
        run(
            &running,
            &[
                "INSERT INTO parts SELECT 1 + g % 500 FROM generate_series(1, 9000) g",
                "ANALYZE part",
            ],
        );
        let keys = foreign_keys(&running).listed;
        let partitions: Vec<Option<u64>> = keys.iter().map(|key| key.partition_bytes).collect();
        let part = Some(pages("part") * 8192);
        assert!(part > Some(200_000));
        assert_eq!(partitions, [part, None, None, None]);
    }
}

#[test]
fn an_index_on_a_part_of_the_key_is_told_and_what_is_not_enforced_left_out() {
    const PLANTED: [&str; 8] = [
        "CREATE TABLE parent (a int, b int, PRIMARY KEY (a, b))",
        "CREATE TABLE bare (a int, b int, FOREIGN KEY (a, b) REFERENCES parent)",
        "CREATE TABLE partly (a int, b int, FOREIGN KEY (a, b) REFERENCES parent)",
        "CREATE INDEX ON partly (b)",
        "CREATE TABLE included (a int, b int, FOREIGN KEY (a, b) REFERENCES parent)",
        "CREATE INDEX ON included (a) INCLUDE (b)",
        "CREATE TABLE wholly (a int, b int, FOREIGN KEY (a, b) REFERENCES parent)",
        "CREATE INDEX ON wholly (b, a)",
    ];
    const FREE: &str =
        "CREATE TABLE free (a int, b int, FOREIGN KEY (a, b) REFERENCES parent NOT ENFORCED)";
    for binaries in every_major() {
        let major = binaries.version.major;
        let running = Running::start(binaries, &SETTINGS);
        run(&running, &PLANTED);
        if major >= 18 {
            run(&running, &[FREE]);
        }
        let keys = foreign_keys(&running);
        assert_eq!((keys.foreign_keys, keys.unindexed), (4, 3));
        let listed = keys.listed.iter();
        let mut partly: Vec<(&str, bool)> = listed
            .map(|key| (key.table.as_str(), key.partly_indexed))
            .collect();
        partly.sort_unstable();
        let expected = [("bare", false), ("included", true), ("partly", true)];
        assert_eq!(partly, expected);
    }
}

#[test]
fn one_that_somebody_rewrites_is_not_waited_for() {
    let running = Running::start(binaries(), &SETTINGS);
    plant(&running);
    let lock = || {
        let mut blocker = running.client();
        blocker.batch_execute("BEGIN; LOCK TABLE wide").unwrap();
        blocker
    };
    let blocker = lock();
    let keys = foreign_keys(&running);
    assert_eq!(keys.unmeasured, 0, "its parent loses no rows");
    drop(blocker);
    lose_one(&running, "parent");
    let _blocker = lock();
    let begun = Instant::now();
    let keys = foreign_keys(&running);
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!((keys.unindexed, keys.unmeasured), (4, 1));
    assert_eq!(tables(&keys), ["parts", "counted", "empty", "wide"]);
    assert_eq!(keys.listed[3].table_bytes, Some(0));
}

#[test]
fn of_many_those_are_measured_that_matter_and_the_others_are_counted() {
    const TABLES: u64 = 310;
    let running = Running::start(binaries(), &SETTINGS);
    run(
        &running,
        &[
            "CREATE TABLE parent (id int PRIMARY KEY)",
            "CREATE TABLE losing (id int PRIMARY KEY)",
        ],
    );
    // A transaction holds the locks of all that it made.
    for first in (1..=TABLES).step_by(50) {
        let last = TABLES.min(first + 49);
        let sql = format!(
            "DO $$ BEGIN FOR i IN {first}..{last} LOOP \
             EXECUTE format('CREATE TABLE t%s (parent int REFERENCES parent)', i); \
             END LOOP; END $$"
        );
        running.client().batch_execute(&sql).unwrap();
    }
    run(
        &running,
        &[
            "CREATE TABLE hurt (parent int REFERENCES losing, filler text)",
            "INSERT INTO hurt SELECT NULL, repeat('x', 900) FROM generate_series(1, 900)",
            "INSERT INTO t305 SELECT NULL FROM generate_series(1, 20000)",
        ],
    );
    // Behind all others in its rows, and before them for its parent.
    run(
        &running,
        &["SELECT pg_stat_reset_single_table_counters('hurt'::regclass)"],
    );
    lose_one(&running, "losing");
    let keys = foreign_keys(&running);
    assert_eq!(keys.unindexed, TABLES + 1);
    assert_eq!((keys.unmeasured, keys.listed.len()), (0, 100));
    let first: Vec<&UnindexedForeignKey> = keys.listed.iter().take(3).collect();
    assert_eq!(&tables(&keys)[..2], ["hurt", "t305"]);
    assert!(first[0].table_bytes > first[1].table_bytes);
    assert!(first[1].table_bytes > first[2].table_bytes);
    assert_eq!(first[2].table_bytes, Some(0));
    // All of them may hurt from now on, and three hundred are measured.
    lose_one(&running, "parent");
    assert_eq!(foreign_keys(&running).unmeasured, TABLES + 1 - 300);
}
