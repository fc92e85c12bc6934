//! What every engine does alike, on the MySQL and MariaDB servers at hand, and what is their own.

use dbdyno_model::connection::Connection;
use dbdyno_testing::{MySql, MySqlBinaries};

use crate::{cases, drive, holds, load, number, open, script, try_load, unprepared};

fn start(binaries: &MySqlBinaries) -> MySql {
    let settings = [
        ("innodb-doublewrite", "0"),
        ("innodb-flush-log-at-trx-commit", "0"),
        ("sync-binlog", "0"),
    ];
    MySql::start(binaries, &settings)
}

/// A new database on the server.
fn database(server: &MySql, name: &str) -> Connection {
    let made = open(&server.connection()).run(&format!("CREATE DATABASE {name}"));
    made.unwrap();
    Connection {
        database: name.into(),
        ..server.connection()
    }
}

#[test]
fn needs_mysql_a_script_is_loaded_run_checked_and_refused() {
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        cases::bank(&database(&server, "bank"));
        cases::deadlocks(&database(&server, "deadlocks"));
        cases::branches(&database(&server, "branches"));
        cases::failures(&database(&server, "failures"), "1062");
        cases::refusals(&database(&server, "refusals"));
        arrives_as_drawn_and_written(&database(&server, "typed"));
        sends_as_text_what_is_not_prepared(&database(&server, "one"));
        refuses_with_the_place(&server.connection());
    }
}

const TYPED: &str = "\
-- dbdyno: setup
\\set base -7
CREATE TABLE typed (
    id bigint AUTO_INCREMENT PRIMARY KEY, kind int NOT NULL, t tinyint, i int, b bigint,
    u bigint unsigned, d decimal(20,4), f double, r float, g double,
    v varchar(80) CHARACTER SET utf8mb4, dated date, timed datetime, maybe int
);
INSERT INTO typed (kind, i, v) VALUES (0, :base, 'setup :base');
-- dbdyno: transaction numbers weight=3
\\set n random(-100, 100)
\\set f :n / 8.0
\\set big :n * 1000000000000
\\set tiny :n * 1e-9
INSERT INTO typed (kind, t, i, b, u, d, f, r, g, v, dated, timed, maybe) VALUES
    (1, :n, :n, :big, :n + 100, :f, :f, :f, :tiny, :n, DATE '2024-02-28' + INTERVAL :n DAY,
     TIMESTAMP '2024-01-01 00:00:00' + INTERVAL :n HOUR, NULL);
SELECT /*+ NO_INDEX_MERGE(typed) */ i, d, f, dated, timed, v, maybe FROM typed WHERE i = :n LIMIT 3;
-- dbdyno: transaction texts
INSERT INTO typed (kind, v) VALUES
    (2, 'it''s \\'quoted\\' :n ?'), (3, \"dou\"\"ble \\\" :n\"), # :n ?
    (4, 'é∑😀 # -- /* :n'); -- :n ?
-- dbdyno: check as-drawn
SELECT * FROM `typed` WHERE kind = 1 AND (
    t <> i OR b <> i * 1000000000000 OR u <> i + 100 OR d <> i / 8 OR f <> i / 8 OR r <> i / 8
    OR abs(g * 1000000000 - i) > 0.000001 OR v + 0 <> i OR maybe IS NOT NULL
    OR dated <> DATE '2024-02-28' + INTERVAL i DAY
    OR timed <> TIMESTAMP '2024-01-01 00:00:00' + INTERVAL i HOUR) LIMIT 1;
";

fn hex(text: &str) -> String {
    let bytes = text.bytes().map(|byte| format!("{byte:02X}"));
    bytes.collect()
}

fn arrives_as_drawn_and_written(connection: &Connection) {
    let typed = load(connection, TYPED);
    let (observed, stopped) = drive(connection, &typed, 3);
    let totals = observed.totals(0.0);
    assert!(totals.errors.is_empty(), "{totals:?}");
    holds(connection, &typed);
    let count = |wanted: &str| {
        let sql = format!("SELECT count(*) FROM typed WHERE {wanted}");
        number(connection, &sql)
    };
    let numbers = count("kind = 1");
    assert_eq!((numbers + count("kind = 2")) as u64, stopped.committed);
    assert!(count("kind = 1 AND i < 0 AND d < 0") > 0);
    for (kind, text) in [
        (0, "setup :base"),
        (2, "it's 'quoted' :n ?"),
        (3, "dou\"ble \" :n"),
        (4, "é∑😀 # -- /* :n"),
    ] {
        let all = count(&format!("kind = {kind}"));
        let same = count(&format!("kind = {kind} AND hex(v) = '{}'", hex(text)));
        assert!(all > 0 && all == same, "{text}: {same} of {all}");
    }
    assert_eq!(count("kind = 0 AND i = -7"), 1);
}

/// What MySQL does not prepare, and MariaDB does: it is sent as text.
const TEXT: &str = "\
-- dbdyno: setup
CREATE TABLE one (id int PRIMARY KEY, n bigint NOT NULL);
INSERT INTO one VALUES (1, 0), (2, 0);
DELIMITER //
CREATE PROCEDURE add_one(IN which int)
BEGIN
    UPDATE one SET n = n + 1 WHERE id = which;
    SELECT n FROM one WHERE id = which;
END //
DELIMITER ;
-- dbdyno: transaction own
START TRANSACTION;
UPDATE one SET n = n + 1 WHERE id = 1;
COMMIT;
-- dbdyno: transaction locked
LOCK TABLES one WRITE;
UPDATE one SET n = n + 1 WHERE id = 1;
UNLOCK TABLES;
-- dbdyno: transaction called
\\set id random(1, 2)
CALL add_one(:id);
";

fn sends_as_text_what_is_not_prepared(connection: &Connection) {
    let (observed, stopped) = drive(connection, &load(connection, TEXT), 3);
    let totals = observed.totals(0.0);
    assert!(totals.errors.is_empty(), "{totals:?}");
    let latency = observed.latency(0.0);
    let counts: Vec<u64> = latency.per_transaction.iter().map(|it| it.count).collect();
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let raised = number(connection, "SELECT sum(n) FROM one");
    assert_eq!(raised as u64, stopped.committed);
}

/// No database is chosen.
fn refuses_with_the_place(nameless: &Connection) {
    let setup = "-- dbdyno: setup\nCREATE TABLE t (id int);\n-- dbdyno: transaction a\nSELECT 1";
    let error = try_load(nameless, &script(setup)).unwrap_err();
    assert!(error.to_string().starts_with("load.sql:2:1: "), "{error}");
    assert!(error.hint().unwrap().contains("database"), "{error}");
    let error = unprepared(nameless, "\\set x 1\nSELECT 1\n  + ? + :x");
    assert!(error.to_string().starts_with("load.sql:3:5: "), "{error}");
    let error = unprepared(nameless, "SELECT '\\';\nSELECT 1");
    assert!(error.to_string().starts_with("load.sql:1:8: "), "{error}");
    let error = unprepared(nameless, "\\set x 1\nCREATE DATABASE a DEFAULT :x");
    assert!(error.to_string().contains("load.sql:2:1: "), "{error}");
}
