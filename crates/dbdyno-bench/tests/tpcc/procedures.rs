//! Routines on the server: made once, refused and removed. What they do is counted with the other modes.

use dbdyno_bench::tpcc::{LoadError, clean, install};
use dbdyno_testing::binaries;

use super::*;

const NAMES: [&str; 5] = [
    "dbdyno_delivery",
    "dbdyno_new_order",
    "dbdyno_order_status",
    "dbdyno_payment",
    "dbdyno_stock_level",
];

/// What there is by names like ours; one that is made again has another oid.
fn routines(connection: &Connection) -> Vec<(String, u32)> {
    let look = "SELECT proname::text, oid FROM pg_proc
        WHERE proname LIKE 'dbdyno%' ORDER BY proname";
    let rows = client(connection).query(look, &[]).unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

fn names(routines: &[(String, u32)]) -> Vec<&str> {
    routines.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn routines_are_made_once_and_removed() {
    let running = start(binaries());
    let connection = running.database("made");
    let config = Config {
        warehouses: 1,
        seed: 1,
        ..Config::default()
    };
    let make = |mode| install(&connection, &config, mode);
    let run = |sql: &str| client(&connection).batch_execute(sql).unwrap();
    make(Mode::Pipelined).unwrap();
    assert!(routines(&connection).is_empty());

    // Who may not make them is told what is missing.
    run("REVOKE CREATE ON SCHEMA public FROM public; CREATE ROLE guest LOGIN");
    let guest = Connection {
        user: "guest".into(),
        ..connection.clone()
    };
    let refused = install(&guest, &config, Mode::Procedures).unwrap_err();
    assert!(
        matches!(&refused, LoadError::Routine { name, .. } if name == "dbdyno_new_order"),
        "{refused:?}"
    );
    assert!(refused.hint().is_some_and(|hint| hint.contains("CREATE")));

    make(Mode::Procedures).unwrap();
    let made = routines(&connection);
    assert_eq!(names(&made), NAMES);
    make(Mode::Procedures).unwrap();
    assert_eq!(routines(&connection), made);

    // What an earlier version has made is replaced, also where it took other arguments.
    run("COMMENT ON FUNCTION dbdyno_payment IS 'dbdyno 0';
         DROP FUNCTION dbdyno_delivery;
         CREATE FUNCTION dbdyno_delivery(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1';
         COMMENT ON FUNCTION dbdyno_delivery IS 'dbdyno 0'");
    make(Mode::Procedures).unwrap();
    let again = routines(&connection);
    assert_eq!(names(&again), NAMES);
    let same = made.iter().zip(&again).map(|(one, other)| one == other);
    assert_eq!(
        same.collect::<Vec<_>>(),
        [false, true, true, false, true],
        "{made:?} {again:?}"
    );

    // Somebody else's is neither replaced nor removed.
    run("CREATE FUNCTION dbdyno_payment(text) RETURNS text LANGUAGE sql AS 'SELECT $1'");
    let refused = make(Mode::Procedures).unwrap_err();
    assert!(
        matches!(&refused, LoadError::RoutineTaken(name) if name == "dbdyno_payment"),
        "{refused:?}"
    );
    assert!(refused.hint().is_some());
    assert!(clean(&connection).unwrap());
    assert_eq!(names(&routines(&connection)), ["dbdyno_payment"]);
    assert!(!clean(&connection).unwrap());
}
