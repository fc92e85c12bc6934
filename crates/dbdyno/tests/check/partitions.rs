//! Faults of partitioned tables are found, and what is advised mends them.

use crate::schema::sql;
use crate::{Setup, finding, findings};

const PLANTED: &str = "CREATE TABLE t (id int, day int, note text) PARTITION BY RANGE (day); \
     CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (10); \
     CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM (10) TO (20); \
     INSERT INTO t SELECT g, g % 20, 'x' FROM generate_series(1, 1000) g; \
     CREATE INDEX notes ON t (note); \
     CREATE INDEX notes_and_days ON t (note, day); \
     CREATE INDEX unfinished ON ONLY t (id); \
     CREATE INDEX part_1 ON t_1 (id); \
     ALTER INDEX unfinished ATTACH PARTITION part_1";

/// What the advice on keys and on the index that lacks a part says, one statement at a time.
const MENDING: [&str; 9] = [
    "CREATE INDEX CONCURRENTLY part_2 ON t_2 (id)",
    "ALTER INDEX unfinished ATTACH PARTITION part_2",
    "CREATE UNIQUE INDEX CONCURRENTLY key_1 ON t_1 (id, day)",
    "CREATE UNIQUE INDEX CONCURRENTLY key_2 ON t_2 (id, day)",
    "ALTER TABLE t_1 ADD PRIMARY KEY USING INDEX key_1",
    "ALTER TABLE t_2 ADD PRIMARY KEY USING INDEX key_2",
    "ALTER TABLE ONLY t ADD CONSTRAINT t_key PRIMARY KEY (id, day)",
    "ALTER INDEX t_key ATTACH PARTITION key_1",
    "ALTER INDEX t_key ATTACH PARTITION key_2",
];

#[test]
fn what_is_advised_mends_partitioned_tables() {
    let setup = Setup::start(&[("autovacuum", "off")]);
    let mut client = setup.running.client();
    client.batch_execute(PLANTED).unwrap();
    let check = setup.check(&[]);
    for found in sql(finding(&check, "schema.redundant_index")) {
        client
            .batch_execute(found)
            .unwrap_or_else(|error| panic!("{found}: {error}"));
    }
    let lacking = sql(finding(&check, "schema.invalid_index"));
    assert_eq!(lacking.len(), 1, "{check}");
    let listed = format!(
        "SELECT relid::text FROM ({}) lacking",
        lacking[0].trim_end_matches(';')
    );
    let rows = client.query(&listed, &[]).unwrap();
    let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(names, ["t_2"]);
    finding(&check, "schema.primary_key");
    for statement in MENDING {
        client
            .batch_execute(statement)
            .unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    let check = setup.check(&[]);
    for rule in ["invalid_index", "primary_key"] {
        let id = format!("schema.{rule}");
        let left = findings(&check);
        assert!(left.iter().all(|one| one["rule"] != id), "{id}: {check}");
    }
    // The index on id is now the beginning of the key.
    let left = finding(&check, "schema.redundant_index");
    assert!(
        sql(left).contains(&"DROP INDEX public.unfinished;"),
        "{left}"
    );
}
