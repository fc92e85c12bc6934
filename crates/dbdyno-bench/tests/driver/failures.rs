//! Statements that fail: counted, tried again, or refused with the line they stand in.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dbdyno_bench::driver::{Driver, NoSampler, Options, Until};
use dbdyno_bench::workload::{LoadError, When};

use super::{Fixture, observe, script};

#[test]
fn errors_are_counted_and_deadlocks_tried_again() {
    let fixture = Fixture::start();
    let locks = fixture.load(
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
    let mut driver = fixture.drive(&locks, 4);
    let crossed = observe(&mut driver, 2.0).totals(0.0);
    let stopped = driver.stop().unwrap();
    assert!(crossed.retries > 0, "{crossed:?}");
    assert_eq!(
        2 * stopped.committed,
        fixture.number("SELECT sum(n)::bigint FROM two") as u64
    );

    let twice = fixture.load(
        "-- dbdyno: setup
CREATE TABLE once (id int PRIMARY KEY);
INSERT INTO once VALUES (1);
-- dbdyno: transaction again
INSERT INTO once VALUES (1);
",
    );
    let mut driver = fixture.drive(&twice, 2);
    let failed = observe(&mut driver, 0.5);
    let totals = failed.totals(0.0);
    driver.stop().unwrap();
    assert_eq!(
        (totals.transactions, failed.latency(0.0).overall),
        (0, None)
    );
    assert!(totals.errors["23505"] > 0 && totals.too_many_errors());
    assert!(
        totals.error_messages["23505"].contains("once_pkey"),
        "{totals:?}"
    );
}

#[test]
fn a_script_reaches_every_type_and_says_what_it_cannot() {
    let fixture = Fixture::start();
    let types = fixture.load(
        "-- dbdyno: setup
CREATE TABLE typed (a smallint, b int, c bigint, d real, e float8, f numeric, g text, h varchar, i bool, o oid);
-- dbdyno: transaction all
\\set n random(-9999, 32000)
\\set f :n / 8.0
\\set big :n * 1000000000000
\\set one 1
INSERT INTO typed VALUES (:n, :n, :n, :f, :f, :f, :n, :f, :one, :one);
INSERT INTO typed (c, f) VALUES (:big, :big);
-- dbdyno: check same
SELECT * FROM typed WHERE a <> b OR b <> c OR d <> e OR f <> e::numeric OR g <> a::text OR h::numeric <> f
    OR NOT i OR o <> 1 OR (a IS NULL AND c <> f) LIMIT 1;
",
    );
    let mut driver = fixture.drive(&types, 2);
    let observed = observe(&mut driver, 1.0).totals(0.0);
    driver.stop().unwrap();
    assert!(
        observed.transactions > 10 && observed.errors.is_empty(),
        "{observed:?}"
    );
    let checks = types.check(&fixture.connection(), When::AfterRun).unwrap();
    assert!(checks[0].passed, "{checks:?}");

    let options = Options::default();
    for (text, message, hint) in [
        (
            "SELECT 1;\nSELEC 2;",
            "load.sql:2:1: syntax error at or near \"SELEC\" (42601)",
            "",
        ),
        (
            "SELECT * FROM nowhere",
            "load.sql:1:1: relation \"nowhere\" does not exist (42P01)",
            "setup",
        ),
        (
            "\\set x 1\nSELECT date '2020-01-01' WHERE now()::date > :x",
            "expects a date",
            "compute it",
        ),
    ] {
        let error = Driver::start(&fixture.connection(), &script(text), &options).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(
            hint.is_empty() || error.hint().unwrap().contains(hint),
            "{:?}",
            error.hint()
        );
    }
    let text = "\\set x random(70000, 80000)\nSELECT :x::smallint";
    let mut driver = fixture.drive(&script(text), 1);
    let until = Until::Elapsed(Duration::from_secs(5));
    let error = driver
        .observe(until, &mut NoSampler, &mut |_| ())
        .unwrap_err();
    assert!(
        error.to_string().contains("load.sql:2:1: ") && error.to_string().contains("smallint"),
        "{error}"
    );

    let setup =
        script("-- dbdyno: setup\nCREATE TABLE typed ();\n-- dbdyno: transaction a\nSELECT 1");
    let error = setup
        .load(&fixture.connection(), 1, &|_| (), &AtomicBool::new(false))
        .unwrap_err();
    assert!(matches!(error, LoadError::Script(_)), "{error}");
    assert!(
        error
            .to_string()
            .contains("load.sql:2:1: relation \"typed\" already exists"),
        "{error}"
    );

    let many = Options {
        connections: 50,
        ..Options::default()
    };
    let error = Driver::start(&fixture.connection(), &script("SELECT 1"), &many).unwrap_err();
    assert!(error.hint().unwrap().contains("max_connections"), "{error}");
}
