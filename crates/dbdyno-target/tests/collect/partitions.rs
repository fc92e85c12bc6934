//! Partitioned tables: keys, indexes and foreign keys that their partitions have or lack.

use std::thread;
use std::time::Duration;

use dbdyno_model::postgres::{Index, PartitionedIndex, Postgres};
use dbdyno_testing::{Running, every_major};

use crate::facts;

/// It would count what nobody has counted yet.
const SETTINGS: [(&str, &str); 1] = [("autovacuum", "off")];

/// A session reports all that it did when it ends, and the collector of 14 and earlier writes its
/// file twice a second.
fn run(running: &Running, statements: &str) {
    running.client().batch_execute(statements).unwrap();
    thread::sleep(Duration::from_millis(1100));
}

fn index<'a>(told: &'a Postgres, name: &str) -> &'a Index {
    let listed = &told.indexes.value().unwrap().listed;
    let found = listed.iter().find(|index| index.name == name);
    found.unwrap_or_else(|| panic!("{} has no {name}: {listed:?}", told.version))
}

/// A table that is partitioned twice over, with rows on either level, and indexes of every kind.
const INDEXED: &str = "CREATE TABLE t (id int, day int, shop int, note text) \
         PARTITION BY RANGE (day); \
     CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (10); \
     CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM (10) TO (20) PARTITION BY LIST (shop); \
     CREATE TABLE t_2_1 PARTITION OF t_2 FOR VALUES IN (1); \
     CREATE TABLE t_2_2 PARTITION OF t_2 FOR VALUES IN (2); \
     INSERT INTO t SELECT g, g % 20, 1 + g % 2, 'x' FROM generate_series(1, 8000) g; \
     CREATE INDEX shops ON t (shop); \
     CREATE INDEX shops_and_days ON t (shop, day); \
     CREATE INDEX shops_again ON t (shop); \
     CREATE INDEX notes ON t (note); \
     CREATE INDEX clustered ON t (note, id); \
     CREATE INDEX longest ON t (note, id, day); \
     ALTER TABLE t_1 CLUSTER ON t_1_note_id_idx; \
     CREATE INDEX scanned ON t (id); \
     CREATE INDEX unfinished ON ONLY t (day); \
     CREATE INDEX own ON t_1 (shop); \
     ANALYZE t; \
     SET enable_seqscan = off; SET enable_bitmapscan = off; \
     SELECT count(*) FROM (SELECT note FROM t_2_2 WHERE id = 41) s";

#[test]
fn a_partitioned_index_is_told_as_a_whole() {
    for binaries in every_major() {
        let running = Running::start(binaries, &SETTINGS);
        run(&running, INDEXED);
        let told = facts(&mut running.client());
        let indexes = told.indexes.value().unwrap();

        let cover = |name: &str| index(&told, name).covered_by.clone().unwrap();
        for name in ["shops", "shops_again"] {
            let cover = cover(name);
            assert_eq!(cover.index, "shops_and_days");
            assert_eq!(cover.part_of, None);
        }
        assert_eq!(cover("notes").index, "longest");
        // A partition's own index beside a part of one that all partitions have.
        let whole = PartitionedIndex {
            schema: "public".into(),
            name: "shops_and_days".into(),
        };
        assert_eq!(cover("own").part_of, Some(whole));
        assert_eq!(indexes.redundant, 4, "{indexes:?}");

        let notes = index(&told, "notes");
        let parts = notes.parts.as_ref().unwrap();
        assert_eq!((parts.indexes, parts.inserted), (3, 8000));
        assert!(!parts.bound && !notes.partition && notes.scans == 0);
        assert!(notes.pages >= 3 && notes.size_bytes == notes.pages * 8192);
        assert_eq!(notes.entries, None);
        // One scan of one of three parts uses the whole, and what one partition is clustered by is kept.
        let is_kept = |index: &&Index| ["scanned", "clustered"].contains(&index.name.as_str());
        assert_eq!(indexes.listed.iter().find(is_kept), None);

        let unfinished = index(&told, "unfinished");
        assert_eq!(unfinished.building, Some(false));
        assert_eq!(unfinished.parts.as_ref().unwrap().indexes, 0);
        assert!(!unfinished.valid);
        assert_eq!(indexes.invalid, 1);
        let parts = indexes.listed.iter().filter(|index| index.partition);
        assert!(parts.clone().count() > 0);
        assert!(parts.clone().all(|index| index.covered_by.is_none()));
    }
}

const KEYED: &str = "CREATE TABLE plain (a int); \
     CREATE TABLE keyed (a int PRIMARY KEY) PARTITION BY RANGE (a); \
     CREATE TABLE keyed_1 PARTITION OF keyed FOR VALUES FROM (0) TO (10); \
     CREATE TABLE by_parts (a int) PARTITION BY RANGE (a); \
     CREATE TABLE by_parts_1 PARTITION OF by_parts (PRIMARY KEY (a)) FOR VALUES FROM (0) TO (10); \
     CREATE TABLE bare (a int) PARTITION BY RANGE (a); \
     CREATE TABLE bare_1 PARTITION OF bare FOR VALUES FROM (0) TO (10) PARTITION BY LIST (a); \
     CREATE TABLE bare_1_1 PARTITION OF bare_1 FOR VALUES IN (1); \
     CREATE TABLE bare_2 PARTITION OF bare (PRIMARY KEY (a)) FOR VALUES FROM (10) TO (20); \
     CREATE TABLE empty (a int) PARTITION BY RANGE (a); \
     CREATE FOREIGN DATA WRAPPER nobody; \
     CREATE SERVER nowhere FOREIGN DATA WRAPPER nobody; \
     CREATE TABLE beyond (a int) PARTITION BY RANGE (a); \
     CREATE FOREIGN TABLE beyond_1 PARTITION OF beyond FOR VALUES FROM (0) TO (10) SERVER nowhere; \
     INSERT INTO bare SELECT 1 FROM generate_series(1, 5000); \
     ANALYZE bare_1_1";

#[test]
fn a_partitioned_table_lacks_a_key_where_a_partition_does() {
    for binaries in every_major() {
        let running = Running::start(binaries, &SETTINGS);
        run(&running, KEYED);
        let told = facts(&mut running.client());
        let totals = told.table_totals.value().unwrap();
        assert_eq!(totals.without_primary_key, 1);
        assert_eq!((totals.tables, totals.partitioned), (5, 5));
        assert_eq!(totals.partitioned_without_primary_key, 2);
        let keyless: Vec<(&str, u64)> = totals
            .keyless
            .iter()
            .map(|table| (table.name.as_str(), table.partitions))
            .collect();
        assert_eq!(keyless, [("bare", 2), ("empty", 0)], "{}", told.version);
        assert!(totals.keyless[0].size_bytes > 8192);
        assert_eq!(totals.keyless[1].size_bytes, 0);
    }
}

/// Without a table that holds rows there is no row that could carry a total.
#[test]
fn a_partitioned_table_alone_is_counted() {
    for binaries in every_major() {
        let running = Running::start(binaries, &SETTINGS);
        let alone = "CREATE TABLE alone (a int) PARTITION BY RANGE (a)";
        run(&running, alone);
        let told = facts(&mut running.client());
        let totals = told.table_totals.value().unwrap();
        assert_eq!((totals.tables, totals.partitioned), (0, 1));
        assert_eq!(totals.keyless[0].name, "alone");
    }
}

/// Columns of the partition stand in another order than those of its table.
const REFERRING: &str = "CREATE TABLE parent (id int PRIMARY KEY) PARTITION BY RANGE (id); \
     CREATE TABLE parent_1 PARTITION OF parent FOR VALUES FROM (0) TO (100000); \
     INSERT INTO parent SELECT generate_series(1, 500); \
     CREATE TABLE served (day int, parent int REFERENCES parent) PARTITION BY RANGE (day); \
     CREATE TABLE served_1 (parent int, day int); \
     ALTER TABLE served ATTACH PARTITION served_1 FOR VALUES FROM (0) TO (10); \
     CREATE TABLE served_2 PARTITION OF served FOR VALUES FROM (10) TO (20) \
         PARTITION BY RANGE (day); \
     CREATE TABLE served_2_1 PARTITION OF served_2 FOR VALUES FROM (10) TO (20); \
     CREATE INDEX ON served_1 (parent); \
     CREATE INDEX ON served_2_1 (parent, day); \
     CREATE TABLE half (day int, parent int REFERENCES parent) PARTITION BY RANGE (day); \
     CREATE TABLE half_1 PARTITION OF half FOR VALUES FROM (0) TO (10); \
     CREATE TABLE half_2 PARTITION OF half FOR VALUES FROM (10) TO (20); \
     INSERT INTO half SELECT g % 20, 1 + g % 400 FROM generate_series(1, 20000) g; \
     CREATE INDEX ON half_1 (parent); \
     ANALYZE half_1, half_2; \
     DELETE FROM parent WHERE id > 490";

#[test]
fn a_foreign_key_is_indexed_where_each_partition_has_its_index() {
    for binaries in every_major() {
        let running = Running::start(binaries, &SETTINGS);
        run(&running, REFERRING);
        let told = facts(&mut running.client());
        let keys = told.foreign_keys.value().unwrap();
        assert_eq!((keys.foreign_keys, keys.unindexed), (2, 1), "{keys:?}");
        let half = &keys.listed[0];
        assert_eq!((half.table.as_str(), half.table_bytes), ("half", None));
        // The partition that has an index is not looked through.
        let sql = "SELECT relpages::int8 * 8192 FROM pg_class WHERE relname = 'half_2'";
        let bytes: i64 = running.client().query_one(sql, &[]).unwrap().get(0);
        assert!(bytes > 100_000);
        assert_eq!(half.partition_bytes, u64::try_from(bytes).ok());
        // Deleted from the parent's partition.
        assert_eq!((half.parent.as_str(), half.parent_deleted), ("parent", 10));
        assert!(!half.partly_indexed);
        run(&running, "CREATE INDEX ON half_2 (parent)");
        let told = facts(&mut running.client());
        assert_eq!(told.foreign_keys.value().unwrap().unindexed, 0);
    }
}
