//! What every engine has to do alike, in SQL that all of them read.

use dbdyno_bench::workload::{CheckError, When};
use dbdyno_model::connection::Connection;

use crate::{check, drive, holds, load, number, open, script, try_load, unprepared};

const BANK: &str = "\
-- dbdyno: setup
\\set rows 1000
CREATE TABLE digit (n int PRIMARY KEY);
INSERT INTO digit VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
CREATE TABLE account (id bigint PRIMARY KEY, balance decimal(12,2) NOT NULL);
INSERT INTO account SELECT 1 + a.n + 10 * b.n + 100 * c.n, 0 FROM digit a, digit b, digit c;
-- dbdyno: transaction look weight=9
\\set id random_zipfian(1, :rows, 1.1)
SELECT balance FROM account WHERE id = :id;
-- dbdyno: transaction transfer
\\set from random(1, :rows)
\\set to :from % :rows + 1
\\set amount random(-50000, 50000) / 100.0
UPDATE account SET balance = balance - :amount WHERE id = :from;
UPDATE account SET balance = balance + :amount WHERE id = :to;
-- dbdyno: transaction undo
\\set id random(1, :rows)
BEGIN;
UPDATE account SET balance = 1000000 WHERE id = :id;
ROLLBACK;
-- dbdyno: check nothing-lost
SELECT sum(balance) FROM account HAVING sum(balance) <> 0;
-- dbdyno: check all-there
SELECT 'rows', count(*), NULL FROM account HAVING count(*) <> :rows;
";

/// Weights, BEGIN and COMMIT around several statements, an own ROLLBACK, checks that see damage.
pub(crate) fn bank(connection: &Connection) {
    let bank = load(connection, BANK);
    holds(connection, &bank);
    let (observed, _) = drive(connection, &bank, 4);
    let totals = observed.totals(0.0);
    assert!(totals.transactions > 50, "{totals:?}");
    assert!(totals.errors.is_empty(), "{totals:?}");
    assert!(totals.intended_rollbacks > 0, "{totals:?}");
    let latency = observed.latency(0.0);
    let counts: Vec<u64> = latency.per_transaction.iter().map(|it| it.count).collect();
    let share = counts[0] as f64 / counts.iter().sum::<u64>() as f64;
    assert!((0.65..0.95).contains(&share), "{counts:?}");
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    holds(connection, &bank);

    let mut link = open(connection);
    link.run("UPDATE account SET balance = balance + 1.50 WHERE id = 7")
        .unwrap();
    let checks = check(connection, &bank);
    assert_eq!([checks[0].passed, checks[1].passed], [false, true]);
    assert_eq!(checks[0].name, "nothing-lost");
    assert_eq!(checks[0].detail.as_deref(), Some("first row: 1.50"));
    assert!(checks[1].description.ends_with("<> 1000"), "{checks:?}");
    link.run("DELETE FROM account WHERE id = 8").unwrap();
    let detail = check(connection, &bank).remove(1).detail;
    assert_eq!(detail.as_deref(), Some("first row: rows, 999, null"));
}

/// Two rows that are locked in either order.
pub(crate) fn deadlocks(connection: &Connection) {
    let cross = load(
        connection,
        "-- dbdyno: setup
CREATE TABLE two (id int PRIMARY KEY, n bigint);
INSERT INTO two VALUES (0, 0), (1, 0);
-- dbdyno: transaction cross
\\set first random(0, 1)
\\set second 1 - :first
UPDATE two SET n = n + 1 WHERE id = :first;
UPDATE two SET n = n + 1 WHERE id = :second;
",
    );
    let (observed, stopped) = drive(connection, &cross, 4);
    let totals = observed.totals(0.0);
    assert!(totals.retries > 0, "{totals:?}");
    let updates = number(connection, "SELECT sum(n) FROM two");
    assert_eq!(2 * stopped.committed, updates as u64);
}

/// Branches and pauses: one statement of two, and a transaction that goes on after its pause.
pub(crate) fn branches(connection: &Connection) {
    let paths = load(
        connection,
        "-- dbdyno: setup
CREATE TABLE path (id int PRIMARY KEY, hits bigint NOT NULL);
INSERT INTO path VALUES (0, 0), (1, 0), (2, 0);
-- dbdyno: transaction step
\\set coin random(0, 1)
\\if :coin = 1 and :client_id < 2
UPDATE path SET hits = hits + 1 WHERE id = 1;
\\sleep 2 ms
\\elif :coin = 1
UPDATE path SET hits = hits + 1000000 WHERE id = 2;
\\else
UPDATE path SET hits = hits + 1 WHERE id = 0;
\\endif
-- dbdyno: check no-third
SELECT hits FROM path WHERE id = 2 AND hits > 0;
",
    );
    let (observed, stopped) = drive(connection, &paths, 2);
    holds(connection, &paths);
    let hits = |id: u32| {
        number(
            connection,
            &format!("SELECT hits FROM path WHERE id = {id}"),
        )
    };
    let (left, right) = (hits(0), hits(1));
    assert_eq!((left + right) as u64, stopped.committed);
    assert!(left > 0 && right > 0, "{left} {right}");
    // One statement, BEGIN and COMMIT.
    let totals = observed.totals(0.0);
    assert_eq!(
        totals.sent.statements,
        3 * totals.transactions,
        "{totals:?}"
    );
    let slowest = observed.latency(0.0).overall.unwrap().max;
    assert!(slowest >= 2.0, "{slowest}");
}

/// What the server refuses is named with its place: when it is prepared, set up and checked.
pub(crate) fn refusals(connection: &Connection) {
    let error = unprepared(connection, "SELECT 1;\n  SELEC 2;");
    let message = error.to_string();
    assert!(message.starts_with("load.sql:2:3: "), "{message}");
    assert!(message.contains("SELEC"), "{message}");

    for text in [
        "SELECT * FROM nowhere",
        "SELECT nothing FROM (SELECT 1 AS a) AS t",
    ] {
        let error = unprepared(connection, text);
        assert!(error.to_string().starts_with("load.sql:1:1: "), "{error}");
        assert!(error.hint().unwrap().contains("setup"), "{error}");
    }

    let twice = script(
        "-- dbdyno: setup
CREATE TABLE once (id int);
CREATE TABLE once (id int);
-- dbdyno: transaction a
SELECT 1;
-- dbdyno: check no-table
SELECT * FROM nowhere;
",
    );
    let error = try_load(connection, &twice).unwrap_err();
    assert!(error.to_string().starts_with("load.sql:3:1: "), "{error}");
    assert!(error.to_string().contains("exists"), "{error}");
    let error = twice.check(connection, When::AfterRun).unwrap_err();
    assert!(matches!(error, CheckError::Script(_)), "{error}");
    assert!(error.to_string().starts_with("load.sql:7:1: "), "{error}");
    assert!(error.hint().unwrap().contains("setup"), "{error}");
}

/// Errors that are neither deadlocks nor the end of the load.
pub(crate) fn failures(connection: &Connection, code: &str) {
    let again = load(
        connection,
        "-- dbdyno: setup
CREATE TABLE taken (id int PRIMARY KEY, n int);
INSERT INTO taken VALUES (1, 0);
-- dbdyno: transaction again
UPDATE taken SET n = n + 1 WHERE id = 1;
INSERT INTO taken VALUES (1, 0);
",
    );
    let (observed, stopped) = drive(connection, &again, 2);
    let totals = observed.totals(0.0);
    assert_eq!((totals.transactions, stopped.committed), (0, 0));
    assert!(
        totals.errors[code] > 0 && totals.too_many_errors(),
        "{totals:?}"
    );
    assert_eq!(totals.errors.len(), 1, "{totals:?}");
    // What came before the failed statement is rolled back.
    assert_eq!(number(connection, "SELECT n FROM taken"), 0);
}
