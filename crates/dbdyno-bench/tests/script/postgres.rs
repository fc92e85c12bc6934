//! What every engine does alike, on PostgreSQL, and what is PostgreSQL's own.

use dbdyno_model::connection::Connection;
use dbdyno_testing::{Running, all_binaries, binaries};

use crate::{cases, drive, holds, load, number, unprepared};

const SETTINGS: [(&str, &str); 2] = [("fsync", "off"), ("deadlock_timeout", "10ms")];

#[test]
fn a_script_is_loaded_run_and_checked() {
    for binaries in all_binaries() {
        let running = Running::start(binaries, &SETTINGS);
        cases::bank(&running.database("bank"));
        cases::deadlocks(&running.database("deadlocks"));
        cases::branches(&running.database("branches"));
        cases::failures(&running.database("failures"), "23505");
        cases::refusals(&running.database("refusals"));
        literals(&running.database("literals"));
    }
}

/// NULL, strings and dates of PostgreSQL's own.
fn literals(connection: &Connection) {
    let literals = load(
        connection,
        "-- dbdyno: setup
\\set base -7
CREATE TABLE literal (kind int, n int, t text, d date, maybe int);
INSERT INTO literal VALUES (0, :base, 'setup :base', date '2024-02-28' + :base, NULL);
-- dbdyno: transaction quotes
\\set n random(-100, 100)
INSERT INTO literal (kind, n, t, d) VALUES
    (1, :n, 'it''s :n; ?', date '2024-02-28' + :n::int),
    (2, :n, E'it\\'s :n', NULL),
    (3, :n, $q$it's $$ \":n\"$q$, NULL),
    (4, :n, 'é∑😀 -- /* :n', NULL); -- :n
-- dbdyno: check as-written
SELECT * FROM literal WHERE maybe IS NOT NULL OR d <> date '2024-02-28' + n
    OR kind = 1 AND t <> 'it''s :n; ?' OR kind = 2 AND t <> 'it''s :n'
    OR kind = 3 AND t <> 'it''s $$ \":n\"' OR kind = 4 AND octet_length(t) <> 18;
",
    );
    let (observed, stopped) = drive(connection, &literals, 2);
    assert!(observed.totals(0.0).errors.is_empty());
    let rows = number(connection, "SELECT count(*) FROM literal WHERE kind > 0");
    assert_eq!(4 * stopped.committed, rows as u64);
    let first = "SELECT count(*) FROM literal WHERE t = 'setup :base' AND d = '2024-02-21'";
    assert_eq!(number(connection, first), 1);
    let negative = number(connection, "SELECT count(*) FROM literal WHERE n < 0");
    assert!(negative > 1, "{negative}");
    holds(connection, &literals);
}

#[test]
fn what_is_written_for_mysql_is_refused_with_its_place() {
    let running = Running::start(binaries(), &SETTINGS);
    let error = unprepared(&running.connection(), "SELECT 1;\n SELECT 'it\\'s';");
    assert!(error.to_string().starts_with("load.sql:2:15: "), "{error}");
    assert!(error.hint().unwrap().contains("close it"), "{error}");
}
